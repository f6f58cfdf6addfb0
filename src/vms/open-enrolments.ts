/** Enrolments of VMs, opened: their decisions, with tokens and keys in the form of all secrets. */
import type { Host } from '../../actors/platform/host/host-port.ts';
import { createEnrolments, type Enrolments } from '../../actors/vms/enrolments.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';
import { hashKey, mintSecret, parseSecret } from '../platform/keys.ts';

/** @param options `datacenters`: data centers with expanded monitoring */
export function openEnrolments(options: {
  readonly host: Pick<Host, 'submit' | 'findInstance'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly datacenters: readonly string[];
}): Enrolments {
  const { host, clock, random, datacenters } = options;
  const ports = () => ({ nowMs: clock.now(), random });
  return createEnrolments({
    ...{ host, datacenters },
    secrets: {
      mintToken: (id) => mintSecret('enrol', { ...ports(), id }),
      mintKey: () => mintSecret('vm', ports()),
      parseToken: (text) => parseSecret('enrol', text),
      hash: hashKey,
    },
  });
}
