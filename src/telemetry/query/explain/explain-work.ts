/** What a query thread does for `ExplainIncident`. */
import type { ThreadWork } from '../thread/thread-work.ts';
import { type RecomputeCall, recomputeIncident } from './recompute-incident.ts';

export const explainWork: ThreadWork = ({ history }) => ({
  recomputeIncident: (call: RecomputeCall, isCancelled) => ({
    result: recomputeIncident(history, call, isCancelled),
  }),
});
