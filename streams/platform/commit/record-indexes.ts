/**
 * By which fields records are found, besides their id: declared for each kind, as machines declare
 * theirs. The projection writes them into columns once for each record, because expressions over
 * the JSON of a body are evaluated again for every index and every write.
 */
import type { IncidentStatus, StoredRecord } from './projection.ts';

/** Index columns of a record, in the order in which the projection has them. */
export const RECORD_INDEXES = ['status', 'severity', 'rule', 'vm', 'place'] as const;

/** Value of each index column; null: the record is not found by it. */
export type RecordIndexValues = Readonly<Record<(typeof RECORD_INDEXES)[number], string | null>>;

/** Index values of a record. Of a kind that is found by its id alone, all are null. */
export function recordIndexValues({ kind, body }: Pick<StoredRecord, 'kind' | 'body'>) {
  return indexesOf[kind]?.(body) ?? NOT_INDEXED;
}

const NOT_INDEXED: RecordIndexValues = {
  ...{ status: null, severity: null, rule: null, vm: null, place: null },
};

const indexesOf: Readonly<Record<string, (body: StoredRecord['body']) => RecordIndexValues>> = {
  // All but the status stay as they are for the incident's life.
  incident: (body) => ({
    status: statusOf(body),
    severity: textOf(body.severity),
    rule: textOf(body.rule),
    vm: textOf(body.vm),
    place: textOf(body.datacenter ?? body.vmDatacenter),
  }),
};

/** An open incident's status says whether somebody has taken notice. */
function statusOf({ state, acknowledged, snoozedUntilMs }: StoredRecord['body']) {
  if (state !== 'FIRING') return textOf(state);
  // Bodies of older programs lack fields that have not happened.
  const isAcknowledged = (acknowledged ?? null) !== null;
  const isSnoozed = (snoozedUntilMs ?? null) !== null;
  if (isAcknowledged)
    return (isSnoozed ? 'ACKNOWLEDGED_SNOOZED' : 'ACKNOWLEDGED') satisfies IncidentStatus;
  return (isSnoozed ? 'SNOOZED' : 'FIRING') satisfies IncidentStatus;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
