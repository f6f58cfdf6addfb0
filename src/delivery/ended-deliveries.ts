/**
 * Counts deliveries that have ended. The counter of attempts does not show this: a failed attempt
 * may be followed by a successful one, while a delivery that failed or expired reached no
 * recipient.
 */
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import type { Metrics } from '../platform/metrics.ts';

/** Final states of a delivery, as its machine names them. */
const OUTCOMES = ['sent', 'suppressed', 'failed', 'expired'] as const;

export interface EndedDeliveriesDeps {
  readonly host: Pick<Host, 'onApplied' | 'view'>;
  readonly ownership: Pick<Ownership, 'owns'>;
  readonly metrics: Pick<Metrics, 'counter'>;
  /** Each kind starts at zero, so that a first failure is an increase. */
  readonly kinds: readonly string[];
}

/**
 * Counts commits from now on. All members apply each commit, but only the member that acts for the
 * project counts it, so that the sum over members is right. Returns a function that stops counting.
 */
export function countEndedDeliveries(deps: EndedDeliveriesDeps): () => void {
  const { host, ownership, metrics, kinds } = deps;
  const ended = metrics.counter(
    'svc_deliveries_ended_total',
    'Ended deliveries; failed and expired ones reached no recipient',
    ['kind', 'outcome'],
  );
  for (const kind of kinds) for (const outcome of OUTCOMES) ended.inc({ kind, outcome }, 0);
  return host.onApplied(({ commit: { decisions, project } }) => {
    if (!ownership.owns(project)) return;
    for (const { machine, final, to, context } of decisions.flatMap(({ steps }) => steps)) {
      if (machine !== 'delivery' || !final) continue;
      const destination = host.view(project).instance('destination', String(context.destination));
      ended.inc({ kind: destination?.context.kind ?? 'none', outcome: String(to) });
    }
  });
}
