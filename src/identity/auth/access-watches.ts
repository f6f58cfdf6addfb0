/**
 * Watches of open responses: each is checked again when a row that it depends on changes, and when
 * its time ends, so that a response does not outlive the access of its caller (API-17).
 */
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { IdentityRows, RowKey } from './identity-rows.ts';

/** Returns the time when access ends, Unix ms. Throws a `Refusal` once it has ended. */
export type AccessCheck = () => number;

interface Watch {
  readonly check: AccessCheck;
  readonly onLost: (why: Refusal) => void;
  /** Rows that the last check read. Only their changes can change its result. */
  rows: ReadonlySet<RowKey>;
  endsMs: number;
}

/** Half of the second within which an open response must end (API-17). */
const TICK_MS = 500;

export class Watches {
  readonly #clock: Clock;
  readonly #identities: IdentityRows;
  readonly #watches = new Set<Watch>();
  readonly #byRow = new Map<RowKey, Set<Watch>>();
  /** No later than the earliest end of all checks. */
  #nextEndMs = Number.POSITIVE_INFINITY;
  #cancelTick: CancelWakeUp | undefined;

  constructor(options: { readonly clock: Clock; readonly identities: IdentityRows }) {
    this.#clock = options.clock;
    this.#identities = options.identities;
  }

  /** Calls `onLost` once, when `check` throws, now or later. Returns a function that stops it. */
  add(check: AccessCheck, onLost: (why: Refusal) => void): () => void {
    const watch: Watch = { check, onLost, rows: new Set(), endsMs: 0 };
    this.#watches.add(watch);
    this.#check(watch);
    if (this.#watches.size > 0) this.#cancelTick ??= this.#tickLater();
    return () => this.#remove(watch);
  }

  /** To be called with the rows that a commit changed. */
  changed(rows: ReadonlySet<RowKey>): void {
    if (this.#watches.size === 0) return;
    const affected = new Set<Watch>();
    for (const row of rows) for (const watch of this.#byRow.get(row) ?? []) affected.add(watch);
    for (const watch of affected) this.#check(watch);
  }

  close(): void {
    this.#cancelTick?.();
    this.#watches.clear();
    this.#byRow.clear();
  }

  #check(watch: Watch): void {
    this.#forgetRows(watch);
    try {
      const { answer, rows } = this.#identities.recording(watch.check);
      watch.rows = rows;
      watch.endsMs = answer;
    } catch (error) {
      this.#remove(watch);
      watch.onLost(asRefusal(error));
      return;
    }
    this.#nextEndMs = Math.min(this.#nextEndMs, watch.endsMs);
    for (const row of watch.rows) {
      const watching = this.#byRow.get(row) ?? new Set();
      watching.add(watch);
      this.#byRow.set(row, watching);
    }
  }

  #remove(watch: Watch): void {
    this.#watches.delete(watch);
    this.#forgetRows(watch);
    if (this.#watches.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
  }

  #forgetRows(watch: Watch): void {
    for (const row of watch.rows) {
      const watching = this.#byRow.get(row);
      watching?.delete(watch);
      if (watching?.size === 0) this.#byRow.delete(row);
    }
    watch.rows = new Set();
  }

  /** Ticks instead of one wake-up at the end, because calendar time may jump. */
  #tickLater(): CancelWakeUp {
    return this.#clock.wakeAfter(TICK_MS, () => {
      this.#cancelTick = undefined;
      this.#endByClock();
      if (this.#watches.size > 0) this.#cancelTick ??= this.#tickLater();
    });
  }

  #endByClock(): void {
    const nowMs = this.#clock.now();
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const watch of [...this.#watches]) {
      if (nowMs >= watch.endsMs) this.#check(watch);
      else this.#nextEndMs = Math.min(this.#nextEndMs, watch.endsMs);
    }
  }
}

/** Any other error leaves the access unknown, so the response ends too. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal('NOT_READY', 'Access could not be checked. Send the request again');
}
