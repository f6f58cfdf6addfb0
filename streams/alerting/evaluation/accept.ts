/**
 * Deciding twice is a no-op: ids are hashes of what they stand for, and an edge that was decided
 * before (a restart reads the log again from its floor) is recognised by its time.
 */

import { createHash } from 'node:crypto';
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import type { Edge, InstanceKey } from '../../telemetry/entry.ts';

/** The past of an alert instance according to its row; all zero without a row. */
export interface DecidedInstance {
  /** Number of incidents it has had. */
  readonly ordinal: number;
  /** Time of the last edge applied, `Edge.atMs`. */
  readonly decidedThrough: number;
  /** Is its last incident open? */
  readonly firing: boolean;
  /** Start of its last incident, Unix ms; absent: a correction is not checked against it. */
  readonly startedMs?: number;
  /** Is the open incident marked as without data? Absent: the machine knows what to ignore. */
  readonly dataMissing?: boolean;
  /** Why; absent: not compared. */
  readonly missingReason?: MissingReason;
  /** Is the open incident marked as not evaluated? Absent: the machine knows what to ignore. */
  readonly evaluatorFailed?: boolean;
}

/** The incident of an accepted edge; `ordinal` counts from 1. */
export interface AcceptedEdge {
  readonly ordinal: number;
  readonly incidentId: string;
}

/**
 * The incident that `edge` opens or moves; undefined when the edge has been decided before, or
 * does not follow from the instance's state.
 */
export function acceptEdge(instance: DecidedInstance, edge: Edge): AcceptedEdge | undefined {
  if (edge.atMs <= instance.decidedThrough || !follows(instance, edge)) return undefined;
  const opens = edge.kind === 'fired';
  const ordinal = opens ? instance.ordinal + 1 : instance.ordinal;
  return { ordinal, incidentId: incidentIdOf(edge.key, ordinal) };
}

function follows({ ordinal, firing, ...row }: DecidedInstance, edge: Edge): boolean {
  switch (edge.kind) {
    case 'fired':
      return !firing;
    case 'recovered':
    case 'retired':
      return firing;
    case 'dataMissing':
      return firing && (row.dataMissing !== true || isOther(row.missingReason, edge.reason));
    case 'dataObserved':
      return firing && row.dataMissing !== false;
    case 'evaluatorFailed':
      return firing && row.evaluatorFailed !== true;
    case 'evaluatorHealthy':
      return firing && row.evaluatorFailed !== false;
    case 'corrected':
      // It may come after the recovery, but must be about the incident that the row has.
      return ordinal > 0 && (row.startedMs ?? edge.startedMs) === edge.startedMs;
  }
}

function isOther(known: MissingReason | undefined, reported: MissingReason): boolean {
  return known !== undefined && known !== reported;
}

/** Id of an alert instance: the same key is the same instance, on every node and after a restart. */
export function instanceIdOf(key: InstanceKey): string {
  return `ins_${digest(keyParts(key))}`;
}

/** Id of an instance's incident. Late samples can move its start, never its id. */
export function incidentIdOf(key: InstanceKey, ordinal: number): string {
  return `inc_${digest([...keyParts(key), ordinal])}`;
}

function keyParts({ project, rule, evaluationRevision, vm, labels, generation }: InstanceKey) {
  const parts = [project, rule, evaluationRevision, vm, labels];
  return generation === undefined ? parts : [...parts, `generation ${generation}`];
}

/** 128 bits of SHA-256 over the parts as JSON, so that no two lists of parts read the same. */
function digest(parts: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);
}
