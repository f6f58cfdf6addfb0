/**
 * Deciding incidents again, as the main thread sees it: a question in, an answer out. It is a query
 * like any other: in the same threads, 10 s each.
 */
import type { Clock } from '../../../../streams/platform/clock.ts';

import { withDeadline } from '../query-deadline.ts';
import { withinMemory } from '../thread/memory-refusal.ts';
import type { QueryThreads } from '../thread/query-threads.ts';
import type { Recomputation, RecomputeCall } from './recompute-incident.ts';

export interface IncidentRecomputations {
  /**
   * Throws a `Refusal` (RESPONSE_TOO_LARGE, QUERY_TIMEOUT), or the reason of `signal`.
   */
  recompute(call: RecomputeCall, signal: AbortSignal): Promise<Recomputation>;
}

export interface IncidentRecomputationsDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  readonly clock: Clock;
}

export function createIncidentRecomputations({
  threads,
  clock,
}: IncidentRecomputationsDeps): IncidentRecomputations {
  return {
    async recompute(call, signal) {
      const { project } = call.rule;
      const answer = await withDeadline({ clock, signal }, (ended) =>
        withinMemory(threads.call(project, 'recomputeIncident', () => call, ended)),
      );
      // The threads run our own file, whose method answers so.
      return answer as Recomputation;
    },
  };
}
