/**
 * Reports of leaked secrets: recognises each text by its form and ends what it opens. What cannot be
 * recognised is said to be so: the signing secret of a webhook has no form of its own, and the link
 * that confirms a mail recipient lets nobody in.
 */

import { type EndedSecret, endLeaked, type FoundSecret } from '../../../actors/identity/leaks.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { hashKey, parseAnySecret } from '../../platform/keys.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { AccessTokens } from './access-tokens.ts';

/** Texts of one report at most: as many keys as fit into 24 KiB, so that a scanner's batch is whole. */
export const LEAKED_TEXTS_MAX = 256;

export interface LeakReports {
  /**
   * Ends each secret that a text is of: at once, everywhere. For each text, in order, what was ended;
   * undefined = nothing that lets anybody in. Rejects with what `Host.submit` rejects with.
   */
  report(by: Actor, texts: readonly string[]): Promise<readonly (EndedSecret | undefined)[]>;
}

export interface LeakReportsOptions {
  readonly host: Pick<Host, 'submit' | 'view' | 'findInstance' | 'findInstancesOf'>;
  readonly clock: Clock;
  readonly tokens: Pick<AccessTokens, 'looksLike' | 'verify'>;
  readonly metrics: Pick<Metrics, 'counter'>;
  readonly log: Log;
}

export function createLeakReports(options: LeakReportsOptions): LeakReports {
  const { host, clock, tokens, metrics, log } = options;
  const reported = metrics.counter('svc_leaked_secrets_total', 'Reported secrets', ['outcome']);
  const end = async (by: Actor, text: string): Promise<EndedSecret | undefined> => {
    const found = await recognise(tokens, text.trim());
    const ended = found && (await endLeaked(host, found, { by, nowMs: clock.now() }));
    reported.inc({ outcome: ended ? `ended_${ended.kind}` : 'nothing' });
    if (ended)
      log.warn({ name: ended.name, by: by.name, part: 'leaks' }, 'A leaked secret was ended');
    return ended;
  };
  return {
    async report(by, texts) {
      const ended = [];
      for (const text of texts) ended.push(await end(by, text));
      return ended;
    },
  };
}

async function recognise(
  tokens: LeakReportsOptions['tokens'],
  text: string,
): Promise<FoundSecret | undefined> {
  if (tokens.looksLike(text)) {
    try {
      const { project, connection, tokenEpoch } = await tokens.verify(text);
      return { kind: 'token', project, connection, tokenEpoch };
    } catch (error) {
      // One that is over, or not ours, lets nobody in.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }
  const parsed = parseAnySecret(text);
  if (!parsed || parsed.kind === 'verify') return undefined;
  const { id, kind } = parsed;
  const hash = hashKey(text);
  switch (kind) {
    case 'pk':
    case 'sk':
    case 'col':
    case 'vm':
      return { kind: 'key', id, hash };
    default:
      return { kind, id, hash };
  }
}
