/**
 * Partitions that are evaluated apart from the others: after a fault of their evaluation, or because
 * they alone had no checkpoint at the start. Each is rebuilt from its own checkpoint, or from rows and
 * the log, by a reader of its own, and then joins the others. The others continue meanwhile.
 *
 *     fault ─▶ wait ─▶ restore ─▶ evaluate its entries of the log ─▶ join the log's reader
 *               ▲ longer each time                │ fault
 *               └─────────────────────────────────┘
 *
 * The log's reader passes over the entries of a partition that is apart. It joins between two of
 * them, when it has evaluated every entry that the reader passed over.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { pause } from '../../../streams/platform/pause.ts';
import type { Stream } from '../../../streams/platform/stream.ts';
import type { PlacedEntry } from '../../../streams/telemetry/entry-codec.ts';
import { pastEntries } from '../../telemetry/sample-log.ts';

/** A partition whose evaluation failed. */
export interface PartitionFault {
  readonly partition: number;
  readonly error: unknown;
  /** Time until it is rebuilt, ms. */
  readonly waitMs: number;
}

/** A partition that is apart. */
export interface PartitionApart {
  readonly partition: number;
  /** The last fault; undefined: it had no checkpoint at the start. */
  readonly fault: string | undefined;
}

/** A partition's restored state. */
export interface RestoredState {
  /** First entry of the log that it needs. */
  readonly from: number;
  /** Everything decided in its rows is in the log up to here. */
  readonly decidedThrough: number;
}

export interface PartitionRebuildsDeps {
  readonly clock: Clock;
  readonly stream: Stream;
  /**
   * Replaces everything held about the partition by its checkpoint or, without one, by its rows.
   */
  readonly restore: (partition: number) => Promise<RestoredState>;
  /** Called when its log has been read through `decidedThrough`. */
  readonly begin: (partition: number) => Promise<void>;
  /** Evaluates one entry and decides its edges. Rejects on a fault. */
  readonly evaluate: (placed: PlacedEntry, signal: AbortSignal) => Promise<void>;
  /** Called when it joins, with its last entry; undefined: it had none. */
  readonly onJoined: (partition: number, last: PlacedEntry | undefined) => void;
  /** Called with each fault, before the wait. Absent: a fault ends the evaluation of all partitions. */
  readonly onFault?: (fault: PartitionFault) => void;
}

interface Apart {
  fault: string | undefined;
  /** Last entry that has been evaluated. */
  through: number;
  /** Last entry that the log's reader has passed over. */
  passedThrough: number;
}

/** Wait after the first fault of a partition, ms; doubles with each further one up to the maximum. */
const WAIT_MS = 1_000;
const WAIT_MS_MAX = 60_000;
/** Time without a fault that clears earlier ones, ms. */
const HEALTHY_MS = 2 * WAIT_MS_MAX;

/** Rebuilds partitions, one at a time, because each reads from disk as fast as it can. */
export class PartitionRebuilds {
  readonly #deps: PartitionRebuildsDeps;
  readonly #apart = new Map<number, Apart>();
  readonly #joinedThrough = new Map<number, number>();
  readonly #faults = new Map<number, { readonly count: number; readonly atMs: number }>();
  #turn: Promise<unknown> = Promise.resolve();
  #start: (partition: number, apart: Apart) => void = () => {};

  constructor(deps: PartitionRebuildsDeps) {
    this.#deps = deps;
  }

  /** Forgets all of them. */
  clear(): void {
    this.#apart.clear();
    this.#joinedThrough.clear();
  }

  /** Takes a partition without a checkpoint. Called before `run`. */
  addMissing(partition: number, passedThrough: number): void {
    this.#apart.set(partition, { fault: undefined, through: 0, passedThrough });
  }

  /**
   * Takes a partition that failed at this entry. Throws the error if nothing handles faults.
   * @param through the last entry of the partition that was evaluated, or an earlier one
   */
  interrupt({ partition, sequence }: PlacedEntry, error: unknown, through: number): void {
    const apart = { fault: undefined, through, passedThrough: sequence };
    this.#report(partition, apart, error);
    this.#apart.set(partition, apart);
    this.#start(partition, apart);
  }

  /** True if the log's reader must pass over this entry. */
  takes({ partition, sequence }: PlacedEntry): boolean {
    const apart = this.#apart.get(partition);
    if (apart === undefined) return sequence <= (this.#joinedThrough.get(partition) ?? 0);
    apart.passedThrough = Math.max(apart.passedThrough, sequence);
    return true;
  }

  has(partition: number): boolean {
    return this.#apart.has(partition);
  }

  /** Position through which a partition that is apart has been evaluated; undefined: it is not. */
  throughOf(partition: number): number | undefined {
    return this.#apart.get(partition)?.through;
  }

  /** The lowest position of all that are apart; Infinity: none is apart. */
  through(): number {
    return Math.min(...[...this.#apart.values()].map(({ through }) => through));
  }

  list(): readonly PartitionApart[] {
    return [...this.#apart].map(([partition, { fault }]) => ({ partition, fault }));
  }

  /** Runs until `signal`, and ends when no work is in progress. Rejects if nothing handles a fault. */
  async run(signal: AbortSignal): Promise<void> {
    const working = new Set<Promise<void>>();
    const { promise: failed, reject } = Promise.withResolvers<void>();
    this.#start = (partition, apart) => {
      const work = this.#rebuild(partition, apart, signal).catch(reject);
      working.add(work);
      void work.finally(() => working.delete(work));
    };
    for (const [partition, apart] of this.#apart) this.#start(partition, apart);
    try {
      await Promise.race([failed, pause(this.#deps.clock, Number.POSITIVE_INFINITY, signal)]);
    } finally {
      this.#start = () => {};
      if (signal.aborted) await Promise.all(working);
    }
  }

  async #rebuild(partition: number, apart: Apart, signal: AbortSignal): Promise<void> {
    for (let waitMs = apart.fault === undefined ? 0 : this.#waitOf(partition); ; ) {
      if (waitMs > 0) await pause(this.#deps.clock, waitMs, signal);
      const attempt = this.#turn.then(async () => {
        if (!signal.aborted) await this.#attempt(partition, apart, signal);
      });
      this.#turn = attempt.catch(() => {});
      try {
        await attempt;
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#report(partition, apart, error);
        waitMs = this.#waitOf(partition);
      }
    }
  }

  async #attempt(partition: number, apart: Apart, signal: AbortSignal): Promise<void> {
    const { stream, restore, begin, evaluate } = this.#deps;
    const { from, decidedThrough } = await restore(partition);
    apart.through = from - 1;
    apart.passedThrough = Math.max(apart.passedThrough, decidedThrough);
    let last: PlacedEntry | undefined;
    let isBegun = false;
    do {
      const { passedThrough } = apart;
      const first = { sequence: apart.through + 1 };
      const isRead = apart.through >= passedThrough;
      for await (const placed of isRead ? [] : pastEntries(stream, first, { partition })) {
        if (signal.aborted) return;
        if (!isBegun && placed.sequence > decidedThrough) {
          isBegun = true;
          await begin(partition);
        }
        await evaluate(placed, signal);
        if (signal.aborted) return;
        last = placed;
        apart.through = placed.sequence;
      }
      // The log had all of these, except what has been truncated.
      apart.through = Math.max(apart.through, passedThrough);
      if (!isBegun) await begin(partition);
      isBegun = true;
    } while (apart.through < apart.passedThrough);
    // At once: the reader may pass over another entry in any later turn.
    this.#apart.delete(partition);
    this.#joinedThrough.set(partition, apart.through);
    this.#deps.onJoined(partition, last);
  }

  /** Throws the error if nothing handles faults. */
  #report(partition: number, apart: Apart, error: unknown): void {
    const { clock, onFault } = this.#deps;
    if (!onFault) throw error;
    const before = this.#faults.get(partition);
    const atMs = clock.elapsed();
    const isRepeated = before !== undefined && atMs - before.atMs < HEALTHY_MS;
    this.#faults.set(partition, { count: isRepeated ? before.count + 1 : 1, atMs });
    apart.fault = error instanceof Error ? error.message : String(error);
    onFault({ partition, error, waitMs: this.#waitOf(partition) });
  }

  #waitOf(partition: number): number {
    const { count } = this.#faults.get(partition) ?? { count: 1 };
    return Math.min(WAIT_MS * 2 ** (count - 1), WAIT_MS_MAX);
  }
}
