/**
 * Fits a row of any source to what can be stored: names are truncated, and readings that cannot be
 * stored are left out, counted and named. Otherwise one guest with a long mount path would
 * invalidate every batch that contains it. The rules are those of `WriteSamples`.
 */
import { Buffer } from 'node:buffer';
import { asOneLine, oneLine } from '../../platform/plain-text.ts';
import { ID } from '../../platform/resource-id.ts';
import type { Rejection } from '../ingest/rejections.ts';
import {
  keyProblem,
  NearestSeries,
  SERIES_BYTES_MAX,
  TEXT_LENGTH_MAX,
  VALUES_MAX,
  valueProblem,
} from '../ingest/series-form.ts';
import {
  type ObservedRow,
  type ObservedValue,
  type SourceFault,
  withAbsences,
} from './collector.ts';

/** A row as it can be stored, and as its source observed it. */
export interface StorableRow {
  readonly row: ObservedRow;
  readonly observed: ObservedRow;
}

/** Storable rows of one round, and a fault for each VM with readings left out. */
export interface StorableRows {
  readonly rows: readonly StorableRow[];
  readonly faults: readonly SourceFault[];
  /** Number of readings and fields that were left out or truncated. */
  readonly leftOut: number;
}

/** Maximum number of left-out readings of a row that are named; the rest are counted. */
const NAMED_MAX = 20;
/** Maximum number of left-out readings repeated in the message of a fault. */
const REPEATED_MAX = 3;
const VM_ID = new RegExp(`^${ID}$`);
const SHOWN_MAX = 100;

/** The rows of a round. Complete rows are returned unchanged. */
export function storableRows(rows: readonly ObservedRow[]): StorableRows {
  const nearest = new NearestSeries();
  const kept: StorableRow[] = [];
  const faults: SourceFault[] = [];
  let leftOut = 0;
  for (const row of rows) {
    const fitted = new RowFit(withAbsences(row), nearest);
    const storable = fitted.row();
    if (storable) kept.push({ row: storable, observed: row });
    leftOut += fitted.leftOut;
    if (fitted.leftOut > 0) faults.push(faultOf(row, fitted));
  }
  return { rows: kept, faults, leftOut };
}

/** One row, and its parts that cannot be stored. */
class RowFit {
  leftOut = 0;
  readonly named: Rejection[] = [];
  readonly #row: ObservedRow;
  readonly #nearest: NearestSeries;

  constructor(row: ObservedRow, nearest: NearestSeries) {
    this.#row = row;
    this.#nearest = nearest;
  }

  /** undefined: no part of it can be stored. */
  row(): ObservedRow | undefined {
    const { vm, bootId, displayName, stateReason, observedMs, vcpus } = this.#row;
    if (!VM_ID.test(vm)) {
      return this.#refuse('BAD_VM_NAME', `${JSON.stringify(oneLine(vm, SHOWN_MAX))} is not an ID.`);
    }
    if (!Number.isFinite(observedMs)) return this.#refuse('NOT_FINITE');
    // Counters without the boot from which they count would look like a continuation.
    if (bootId.length > TEXT_LENGTH_MAX) {
      return this.#refuse('BAD_FIELD', `bootId has ${bootId.length} characters.`);
    }
    const fitted = {
      bootId: bootId.toWellFormed(),
      displayName: this.#text('displayName', displayName),
      stateReason: this.#text('stateReason', stateReason),
      values: this.#values(),
    };
    const hasVcpus = vcpus === undefined || isCount(vcpus);
    if (!hasVcpus) this.#leaveOut({ series: 'vcpus', reason: 'BAD_FIELD' });
    const isSame =
      fitted.bootId === bootId &&
      fitted.displayName === displayName &&
      fitted.stateReason === stateReason;
    if (this.leftOut === 0 && isSame) return this.#row;
    const { vcpus: _, ...rest } = this.#row;
    return {
      ...(hasVcpus ? this.#row : rest),
      ...fitted,
      ...(this.named.length > 0 && { leftOut: this.named }),
    };
  }

  #refuse(reason: Rejection['reason'], message?: string): undefined {
    this.#leaveOut({ series: '', reason, ...(message !== undefined && { message }) });
    return undefined;
  }

  #text(field: 'displayName' | 'stateReason', text: string): string {
    const plain = asOneLine(text);
    if (plain.length <= TEXT_LENGTH_MAX) return plain;
    const message = `${field} has ${text.length} characters. The first ${TEXT_LENGTH_MAX} are sent.`;
    this.#leaveOut({ series: field, reason: 'BAD_FIELD', message });
    const cut = plain.slice(0, TEXT_LENGTH_MAX);
    // Half a surrogate pair at the end is not valid text.
    return cut.isWellFormed() ? cut : cut.slice(0, -1);
  }

  #values(): readonly ObservedValue[] {
    const seen = new Set<string>();
    let bytes = 0;
    return this.#row.values.filter(([key, value]) => {
      const found = this.#problem(key, value, seen);
      if (found) {
        this.#leaveOut({ series: oneLine(key, TEXT_LENGTH_MAX), ...found });
        return false;
      }
      bytes += Buffer.byteLength(key);
      if (seen.size === VALUES_MAX || bytes > SERIES_BYTES_MAX) {
        const message = `The VM has more than ${VALUES_MAX} series, or ${SERIES_BYTES_MAX} bytes of them.`;
        this.#leaveOut({ series: key, reason: 'LIMIT_EXCEEDED', message });
        return false;
      }
      seen.add(key);
      return true;
    });
  }

  #problem(
    key: string,
    value: number,
    seen: ReadonlySet<string>,
  ): Pick<Rejection, 'reason' | 'message'> | undefined {
    const reason = valueProblem(key, value);
    if (reason) return { reason };
    if (seen.has(key))
      return { reason: 'BAD_SERIES', message: 'The series occurs twice in the row.' };
    const problem = keyProblem(key, this.#nearest);
    return problem && { reason: problem.reason, message: problem.message };
  }

  #leaveOut(rejection: Rejection): void {
    this.leftOut++;
    if (this.named.length < NAMED_MAX) this.named.push(rejection);
  }
}

/** Range of the message's field. */
function isCount(vcpus: number): boolean {
  return Number.isInteger(vcpus) && vcpus >= 0 && vcpus < 2 ** 31;
}

/** One message per VM, the same in every round as long as the same readings are left out. */
function faultOf({ vm, displayName }: ObservedRow, { named, leftOut }: RowFit): SourceFault {
  const sentences = named
    .slice(0, REPEATED_MAX)
    .map(({ series, reason, message }) =>
      message === undefined ? `${series || 'the row'}: ${reason}` : message,
    );
  const more = leftOut > sentences.length ? ` ${leftOut - sentences.length} more.` : '';
  const name = JSON.stringify(oneLine(displayName, SHOWN_MAX));
  const message = `readings of VM ${name} cannot be stored and are left out. ${sentences.join(' ')}${more}`;
  return { reason: 'NOT_STORABLE', message, vm: oneLine(vm, SHOWN_MAX) };
}
