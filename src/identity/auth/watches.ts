/**
 * Who must be told when access ends while an answer stays open. Nothing is asked again and again:
 * an applied commit wakes those whose rows it has changed, and one look a tick at the earliest end
 * of them all finds those that end by the clock.
 */
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { IdentityRows, RowKey } from './identity-rows.ts';

/** What is asked again: throws a `Refusal` once access has ended; answers its next end, Unix ms. */
export type AccessCheck = () => number;

interface Watch {
  readonly check: AccessCheck;
  readonly onLost: (why: Refusal) => void;
  /** The rows that the last check has read: only a change of one of them can change its answer. */
  rows: ReadonlySet<RowKey>;
  endsMs: number;
}

/** Half of the second within which an open answer must end (API-17). */
const TICK_MS = 500;

export class Watches {
  readonly #clock: Clock;
  readonly #identities: IdentityRows;
  readonly #watches = new Set<Watch>();
  readonly #byRow = new Map<RowKey, Set<Watch>>();
  /** Not after the earliest end of any. */
  #nextEndMs = Number.POSITIVE_INFINITY;
  #cancelTick: CancelWakeUp | undefined;

  constructor(options: { readonly clock: Clock; readonly identities: IdentityRows }) {
    this.#clock = options.clock;
    this.#identities = options.identities;
  }

  /** Calls `onLost` once, when `check` throws its `Refusal`: now, or later. Returns its undo. */
  add(check: AccessCheck, onLost: (why: Refusal) => void): () => void {
    const watch: Watch = { check, onLost, rows: new Set(), endsMs: 0 };
    this.#watches.add(watch);
    this.#check(watch);
    if (this.#watches.size > 0) this.#cancelTick ??= this.#tickLater();
    return () => this.#remove(watch);
  }

  /** A commit has changed these rows. */
  changed(rows: ReadonlySet<RowKey>): void {
    if (this.#watches.size === 0) return;
    const concerned = new Set<Watch>();
    for (const row of rows) for (const watch of this.#byRow.get(row) ?? []) concerned.add(watch);
    for (const watch of concerned) this.#check(watch);
  }

  close(): void {
    this.#cancelTick?.();
    this.#watches.clear();
    this.#byRow.clear();
  }

  #check(watch: Watch): void {
    this.#forgetRows(watch);
    try {
      const { answer, rows } = this.#identities.noting(watch.check);
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

  /** By ticks rather than by one wake-up at the end: calendar time may jump. */
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

/** A check that fails otherwise cannot tell that access holds: the answer ends too. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal('NOT_READY', 'It could not be asked whether access still holds: ask again');
}
