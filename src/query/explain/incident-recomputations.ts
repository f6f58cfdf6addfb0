/**
 * Deciding incidents again, as the main thread sees it: a question in, an answer out. It is a query
 * like any other: behind the same gate, in the same threads, 10 s each.
 */
import type { QueryGate } from '../query-gate.ts';
import { withinMemory } from '../thread/memory-refusal.ts';
import type { QueryThreads } from '../thread/query-threads.ts';
import type { Recomputation, RecomputeCall } from './recompute-incident.ts';

export interface IncidentRecomputations {
  /**
   * Throws a `Refusal` (RESPONSE_TOO_LARGE, QUERY_TIMEOUT, TOO_MANY_REQUESTS), or the reason of
   * `signal`.
   */
  recompute(call: RecomputeCall, signal: AbortSignal): Promise<Recomputation>;
}

export interface IncidentRecomputationsDeps {
  readonly threads: Pick<QueryThreads, 'call'>;
  /** Of all queries of a project, whatever they are asked through. */
  readonly gate: QueryGate;
}

export function createIncidentRecomputations({
  threads,
  gate,
}: IncidentRecomputationsDeps): IncidentRecomputations {
  return {
    async recompute(call, signal) {
      const { project } = call.rule;
      const answer = await gate.run(project, signal, (ended) =>
        withinMemory(threads.call(project, 'recomputeIncident', () => call, ended)),
      );
      // The threads run our own file, whose method answers so.
      return answer as Recomputation;
    },
  };
}
