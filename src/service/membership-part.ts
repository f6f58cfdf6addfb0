/** The part that takes this member's place in its cluster, and gives it up while it cannot act. */
import type { SamplePipeline } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import { sampleProgress } from '../../actors/alerting/evaluator/sample-retention.ts';
import { unfitShares } from '../../actors/platform/host/formats.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import type { Datacenters } from '../../actors/vms/datacenters.ts';
import { Fitness } from '../../streams/platform/membership/fitness.ts';
import { SHARES } from '../../streams/platform/membership/roster.ts';
import { pause } from '../../streams/platform/pause.ts';
import { actingFault } from '../platform/health.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';
import { programVersion } from '../platform/version.ts';

/** Interval of the check whether a new member has caught up, ms. */
const CAUGHT_UP_MS = 100;
/** Interval between checks of whether this member stands down, ms. */
const FITNESS_MS = 250;

/**
 * Puts this member's progress into each of its records, and joins the work of the cluster once it
 * has caught up.
 */
export function membershipPart(parts: {
  readonly base: RoomBase;
  readonly storage: Storage;
  readonly host: RunningHost;
  readonly origin: () => string;
  readonly evaluator: SamplePipeline;
  readonly datacenters: Datacenters;
  readonly delivery: { readonly sends: () => boolean };
}): Part {
  const { host, origin, evaluator, datacenters, delivery } = parts;
  const { clock, health } = parts.base;
  const { member, store, history, keyId } = parts.storage;
  const fitness = new Fitness(clock, () => actingFault(health.look()));
  const standing = () => {
    const barred = unfitShares({ member, store, version: programVersion });
    const standsDown = fitness.standsDown();
    return standsDown === undefined
      ? { unfit: barred, barred }
      : { unfit: SHARES, barred, standsDown };
  };
  return {
    name: 'membership',
    async run(signal) {
      member.report(() => ({
        address: origin() || null,
        applied: host.appliedSequence(),
        ...sampleProgress({ history, pipeline: evaluator }),
        heard: datacenters.ages(),
        ...standing(),
        keyId: keyId(),
        sends: delivery.sends(),
      }));
      while (!evaluator.isCaughtUp() && !signal.aborted) await pause(clock, CAUGHT_UP_MS, signal);
      if (!signal.aborted) member.begin();
      for (let before = fitness.standsDown(); !signal.aborted; ) {
        await pause(clock, FITNESS_MS, signal);
        const now = fitness.standsDown();
        if (now !== before) member.announce();
        before = now;
      }
    },
  };
}
