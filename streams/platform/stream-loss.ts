/**
 * Losses from using an existing stream instead of the requested one. Both adapters check it before
 * they append to a stream of another creator; more than requested is not a fault.
 */
import type { StreamSpec } from './stream.ts';

/** One phrase per loss; empty if the existing stream keeps at least as much. */
export function streamLosses(existing: StreamSpec, wanted: StreamSpec): string[] {
  const losses: string[] = [];
  if (existing.retention !== wanted.retention) {
    losses.push(`retention is ${existing.retention}, required is ${wanted.retention}`);
  }
  if ((existing.lastOfSubject ?? false) !== (wanted.lastOfSubject ?? false)) {
    const kept = (spec: StreamSpec) =>
      spec.lastOfSubject ? 'the newest message' : 'every message';
    losses.push(`of a subject it keeps ${kept(existing)}, required is ${kept(wanted)}`);
  }
  const missing = wanted.subjects.filter((subject) => !existing.subjects.includes(subject));
  if (missing.length > 0) {
    losses.push(`subjects are ${existing.subjects.join(', ')}, missing is ${missing.join(', ')}`);
  }
  const forEver = Number.POSITIVE_INFINITY;
  if ((existing.maxAgeMs ?? forEver) < (wanted.maxAgeMs ?? forEver)) {
    const needed = wanted.maxAgeMs === undefined ? 'no limit' : `${wanted.maxAgeMs} ms`;
    losses.push(`age limit is ${existing.maxAgeMs} ms, required is ${needed}`);
  }
  if (existing.duplicateWindowMs < wanted.duplicateWindowMs) {
    losses.push(
      `duplicate window is ${existing.duplicateWindowMs} ms, ` +
        `required is ${wanted.duplicateWindowMs} ms`,
    );
  }
  return losses;
}
