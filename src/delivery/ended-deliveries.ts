/**
 * The counter of deliveries that have ended, beside the one of attempts: a failed attempt may be made
 * up for by the next one, while a delivery that failed or expired reached nobody.
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
  /** Each of them counts from zero, so that a first failure is an increase. */
  readonly kinds: readonly string[];
}

/**
 * Follows the commits from now on. All members apply each commit, and the one that acts for the project
 * counts it, so that the sum over members is right. Returns its undo.
 */
export function countEndedDeliveries(deps: EndedDeliveriesDeps): () => void {
  const { host, ownership, metrics, kinds } = deps;
  const ended = metrics.counter(
    'svc_deliveries_ended_total',
    'Deliveries that have ended; failed and expired ones reached no recipient',
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
