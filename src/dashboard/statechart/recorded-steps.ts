/** The recorded path of an instance, as steps to draw. */
import { read } from '../data/call.ts';
import { type Listing, loadPages } from '../data/listing.ts';
import type { Load } from '../data/loaded.ts';
import type { ResponseOf } from '../data/rpc-types.ts';
import type { PathStep } from './instance-path.tsx';

export type Transition = ResponseOf<'AuditService', 'listTransitions'>['transitions'][number];

/** More steps than a person reads; longer paths are marked as truncated. */
const STEPS_MAX = 1_000;

/** Loads the path of an instance, oldest first. @param instanceName `projects/p/deliveries/d` */
export function loadPath(projectName: string, instanceName: string): Load<Listing<Transition>> {
  return ({ signal, onRetry }) =>
    loadPages<Transition>(async (pageToken) => {
      const request = { projectName, instanceName, oldestFirst: true, pageSize: 200, pageToken };
      const answer = await read('AuditService', 'listTransitions', request, { signal, onRetry });
      return { items: answer.transitions, nextPageToken: answer.nextPageToken };
    }, STEPS_MAX);
}

/** A recorded transition as a step of a path. */
export function stepOf(transition: Transition): PathStep {
  const { event, fromStates, toStates, observedUnixMs, atUnixMs, by, byDisplayName } = transition;
  return {
    event,
    fromStates,
    toStates,
    observedMs: observedUnixMs === undefined ? undefined : Number(observedUnixMs),
    decidedMs: Number(atUnixMs),
    by: byDisplayName || by,
  };
}
