/**
 * The EVENTS stream: one log of all projects' commits, a replication log kept for 30 days (the
 * projection is complete in itself, so a longer tail would have no use).
 */
import { partitionOf, type StreamSpec } from '../stream.ts';

/** Name of the stream that carries commits. */
export const EVENTS_STREAM = 'EVENTS';

/** Message for the operator when the stream is missing on NATS. */
export const EVENTS_MISSING =
  'EVENTS is missing on NATS. Keep the data folders: run "svc admin restore-events" on the member that ' +
  'has applied most, or restore a backup with "svc restore"';

const RETENTION_MS = 30 * 86_400_000;
// Longer than a writer repeats an append. A copy stored even later is skipped, because its
// predecessor is no longer the head.
const DUPLICATE_WINDOW_MS = 120_000;

/** The EVENTS stream of a deployment. */
export function eventsStream(): StreamSpec {
  return {
    name: EVENTS_STREAM,
    subjects: ['svc.events.*.*'],
    retention: 'log',
    maxAgeMs: RETENTION_MS,
    duplicateWindowMs: DUPLICATE_WINDOW_MS,
  };
}

/**
 * Subject of a project's commits. Throws if the id cannot be one token of a subject
 * (`svc.events.<partition>.<project>`).
 */
export function eventsSubject(project: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(project)) {
    throw new Error(
      `Project id ${JSON.stringify(project)} cannot be a subject: use A-Z a-z 0-9 _ -`,
    );
  }
  return `svc.events.${partitionOf(project)}.${project}`;
}
