/**
 * Reads one source at regular times and passes its rows to the sink, reduced to what can be stored.
 * Detects VMs that the source no longer lists.
 *
 * Ticks are at multiples of the interval plus a phase per source, so that collectors do not all
 * read in the same second. Rounds never overlap: a slow source misses ticks, and a missed tick is
 * skipped, never caught up. The first round runs at the start.
 *
 * While the sink rejects rows of a project, they wait in a bounded queue of that project with their
 * own times. Reading continues, and so do the rows of other projects. Offering a row twice is
 * harmless: ingest ignores repeats.
 */

import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import { withinTime } from '../../../streams/platform/deadline.ts';
import type { ObservedRow, RowSink, Source, SourceFault } from './collector.ts';
import { type StorableRow, storableRows } from './storable-row.ts';

/** A reported fault, with its source and duration. */
export interface CollectorFault extends SourceFault {
  readonly source: string;
  /** First seen in the current streak, Unix ms. */
  readonly sinceMs: number;
  /** Last seen, Unix ms. */
  readonly atMs: number;
  /** Number of consecutive occurrences; 1 = new, worth a log line. */
  readonly times: number;
}

/** A source, the sink for its rows, and the interval between rounds. */
export interface CollectorOptions {
  readonly project: string;
  /** Project of a row as observed by the source. Default: `project`. */
  readonly projectOf?: (row: ObservedRow) => string;
  readonly source: Source;
  readonly sink: RowSink;
  readonly clock: Clock;
  readonly intervalMs: number;
  /** VMs that the source has reported, for `Absences`; absent: VMs are never retired. */
  readonly knownVms?: () => ReadonlyMap<string, number>;
  /** Called for each occurrence of a fault; must not throw. */
  readonly onFault: (fault: CollectorFault) => void;
  /** Stops the collector, like `stop()`. */
  readonly signal?: AbortSignal;
}

interface CollectorStatus {
  readonly source: string;
  readonly rounds: number;
  readonly skippedTicks: number;
  /** Rows that the sink accepted. */
  readonly deliveredRows: number;
  readonly waitingRows: number;
  readonly droppedRows: number;
  /** Readings left out because they cannot be stored. */
  readonly leftOutReadings: number;
  readonly faultCount: number;
  /** Time of the last round with at least one row, Unix ms. */
  readonly lastRowMs?: number;
  /** Current faults, oldest first; empty = healthy. For `/readyz`. */
  readonly faults: readonly CollectorFault[];
  /**
   * VMs with readings currently left out, oldest first. They are not faults of the source: a guest
   * chooses the names of its mounts and must not hide real faults.
   */
  readonly notStorable: readonly CollectorFault[];
}

/**
 * Maximum number of queued rounds of a project, ten minutes at 30 s: older rows are beyond the
 * evaluator's lateness bound and of use only to history.
 */
const WAITING_ROUNDS_MAX = 20;
/** Longest wait of `stop()` for a sink or source that does not return, ms. */
const STOP_WAIT_MS = 5_000;
/** Tolerance for a wake-up that is early by the calendar clock, ms. */
const TICK_EARLY_MS = 5;

/** Starts at once. Throws nothing later: every error is a fault. */
export function startCollector(options: CollectorOptions): Collector {
  const collector = new Collector(options);
  collector.start();
  return collector;
}

/** Rows of one project waiting for the sink, one array per round, oldest first. */
interface RowQueue {
  readonly rounds: (readonly ObservedRow[])[];
  delivery: Promise<void> | undefined;
}

/** A running collector; `startCollector` makes one. */
export class Collector {
  readonly #options: CollectorOptions;
  readonly #abort = new AbortController();
  readonly #faults = new Map<string, CollectorFault>();
  /** Queues of projects with waiting rows. */
  readonly #queues = new Map<string, RowQueue>();
  readonly #counts = {
    rounds: 0,
    skippedTicks: 0,
    deliveredRows: 0,
    droppedRows: 0,
    leftOutReadings: 0,
    faultCount: 0,
  };
  readonly #absences: Absences;
  #lastRowMs: number | undefined;
  #cancelTick: CancelWakeUp = () => {};
  #round: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#absences = new Absences(options.clock);
  }

  start(): void {
    const { signal } = this.#options;
    if (signal?.aborted) return void this.stop();
    signal?.addEventListener('abort', () => void this.stop(), { once: true });
    this.#round = this.#runRound();
  }

  /**
   * Ends the current round, offers waiting rows one last time and closes the source. May be called
   * repeatedly.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  status(): CollectorStatus {
    const waiting = [...this.#queues.values()].flatMap(({ rounds }) => rounds);
    const faults = [...this.#faults.values()].sort((a, b) => a.sinceMs - b.sinceMs);
    return {
      source: this.#options.source.name,
      ...this.#counts,
      waitingRows: waiting.reduce((sum, rows) => sum + rows.length, 0),
      ...(this.#lastRowMs !== undefined && { lastRowMs: this.#lastRowMs }),
      faults: faults.filter(({ reason }) => reason !== 'NOT_STORABLE'),
      notStorable: faults.filter(({ reason }) => reason === 'NOT_STORABLE'),
    };
  }

  async #stop(): Promise<void> {
    this.#cancelTick();
    this.#abort.abort();
    const ending = async (): Promise<void> => {
      await this.#round;
      await this.#deliver();
      await this.#options.source.close();
    };
    await withinTime(this.#options.clock, STOP_WAIT_MS, ending());
  }

  async #runRound(): Promise<void> {
    const { clock, intervalMs, source } = this.#options;
    const startedElapsedMs = clock.elapsed();
    const tickDelayMs = delayToTick(clock.now(), intervalMs, phaseOf(source.name, intervalMs));
    const reading = await this.#read();
    const { listed } = reading;
    const { rows, leftOut, faults: lacking } = storableRows(reading.rows);
    const faults = [...reading.faults, ...lacking];
    this.#counts.rounds += 1;
    this.#counts.leftOutReadings += leftOut;
    // Faults of a project's rows end when the sink accepts rows of it.
    const before = this.#endFaults(undefined);
    if (rows.length > 0) this.#take(rows);
    // A read interrupted by our own stop is not a fault of the source.
    if (this.#abort.signal.aborted) return;
    for (const fault of faults) this.#report(fault, before);
    void this.#deliver();
    if (listed) await this.#retireGone(listed, before);
    const lateMs = clock.elapsed() - startedElapsedMs - tickDelayMs;
    if (lateMs >= 0) this.#counts.skippedTicks += 1 + Math.floor(lateMs / intervalMs);
    const next = delayToTick(clock.now(), intervalMs, phaseOf(source.name, intervalMs));
    this.#cancelTick = clock.wakeAfter(next, () => {
      this.#round = this.#runRound();
    });
  }

  /**
   * The next complete listing repeats VMs that are not recorded now.
   *
   * @param before faults of the previous round
   */
  async #retireGone(
    listed: ReadonlySet<string>,
    before: ReadonlyMap<string, CollectorFault>,
  ): Promise<void> {
    const { project, sink, knownVms } = this.#options;
    if (!sink.retire || !knownVms) return;
    const { gone, doubt } = this.#absences.take(listed, knownVms());
    if (doubt) {
      const message = `${doubt.missing} of ${doubt.known} known VMs are not listed, so none was retired: restore them, or retire them with "svc admin vms retire ${project || 'PROJECT'} VM"`;
      this.#report({ reason: 'LISTING_DOUBTED', message }, before);
    }
    if (gone.length === 0) return;
    try {
      await sink.retire(project, gone);
    } catch (error) {
      const message = `VMs that no longer exist were not retired: ${error}`;
      this.#report({ reason: 'SINK_FAILED', message }, before);
    }
  }

  async #read(): ReturnType<Source['read']> {
    try {
      return await this.#options.source.read(this.#abort.signal);
    } catch (error) {
      return { rows: [], faults: [{ reason: 'SOURCE_FAILED', message: String(error) }] };
    }
  }

  #take(rows: readonly StorableRow[]): void {
    const { clock, project, projectOf = () => project } = this.#options;
    this.#lastRowMs = clock.now();
    for (const [of, some] of Map.groupBy(rows, ({ observed }) => projectOf(observed))) {
      const stored = some.map(({ row }) => row);
      this.#enqueue(of, stored);
    }
  }

  #enqueue(project: string, rows: readonly ObservedRow[]): void {
    const queue = this.#queues.get(project) ?? { rounds: [], delivery: undefined };
    this.#queues.set(project, queue);
    queue.rounds.push(rows);
    if (queue.rounds.length <= WAITING_ROUNDS_MAX) return;
    // The oldest may be on its way to the sink right now; the one after it is not.
    const [dropped = []] = queue.rounds.splice(queue.delivery ? 1 : 0, 1);
    this.#counts.droppedRows += dropped.length;
    const message = `dropped ${dropped.length} rows of ${project}: the sink has rejected rows for too long`;
    this.#report({ reason: 'ROWS_DROPPED', message, project });
  }

  /** Offers the waiting rows of each project independently. */
  async #deliver(): Promise<void> {
    const deliveries = [...this.#queues].map(([project, queue]) => {
      queue.delivery ??= this.#drain(project, queue).finally(() => {
        queue.delivery = undefined;
        if (queue.rounds.length === 0) this.#queues.delete(project);
      });
      return queue.delivery;
    });
    await Promise.all(deliveries);
  }

  /** Oldest rows first, one call at a time; stops at the first rejection. */
  async #drain(project: string, { rounds }: RowQueue): Promise<void> {
    for (let rows = rounds[0]; rows; rows = rounds[0]) {
      try {
        await this.#options.sink.observe(project, rows);
      } catch (error) {
        const message = `rows of ${project} were not stored: ${error}`;
        this.#report({ reason: 'SINK_FAILED', message, project });
        return;
      }
      rounds.shift();
      this.#counts.deliveredRows += rows.length;
      this.#endFaults(project);
    }
  }

  /** @param earlier faults that just ended: a fault seen again continues its streak */
  #report(fault: SourceFault, earlier: ReadonlyMap<string, CollectorFault> = this.#faults): void {
    const { clock, source, onFault } = this.#options;
    const key = `${fault.reason} ${fault.vm ?? ''} ${fault.project ?? ''}`;
    const before = earlier.get(key);
    const atMs = clock.now();
    const sinceMs = before?.sinceMs ?? atMs;
    const reported = {
      ...fault,
      source: source.name,
      sinceMs,
      atMs,
      times: (before?.times ?? 0) + 1,
    };
    this.#faults.set(key, reported);
    this.#counts.faultCount += 1;
    onFault(reported);
  }

  /**
   * @param project project of the rows concerned; undefined: faults that concern no project's rows
   */
  #endFaults(project: string | undefined): ReadonlyMap<string, CollectorFault> {
    const ended = new Map([...this.#faults].filter(([, fault]) => fault.project === project));
    for (const key of ended.keys()) this.#faults.delete(key);
    return ended;
  }
}

/**
 * Milliseconds from `nowMs` to the next tick; ticks are at k * interval + phase. A tick only a
 * moment away is the one for which a slightly early timer has just fired, so the one after it
 * counts.
 */
export function delayToTick(nowMs: number, intervalMs: number, phaseMs: number): number {
  const sinceTick = (((nowMs - phaseMs) % intervalMs) + intervalMs) % intervalMs;
  const delayMs = intervalMs - sinceTick;
  return delayMs < TICK_EARLY_MS ? delayMs + intervalMs : delayMs;
}

/**
 * Offset of a source's ticks within the interval: derived from its name (FNV-1a), always the same.
 */
export function phaseOf(name: string, intervalMs: number): number {
  let hash = 0x811c9dc5;
  for (const char of name) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return hash % intervalMs;
}

/** Time between the first complete listing without a VM and the one that proves it gone, ms. */
const ABSENT_MS = 60_000;
/**
 * If more than this share of the known VMs, and at least this number, are missing at once, none is
 * retired.
 */
const DOUBTED_SHARE = 0.3;
const DOUBTED_VMS = 5;

/** Result of a complete listing. */
export interface Absent {
  /** VMs that it proves gone; repeated until they are no longer known. */
  readonly gone: readonly string[];
  /** Set if so many of the known VMs are missing that the listing proves nothing. */
  readonly doubt?: { readonly missing: number; readonly known: number };
}

/** VMs that a source no longer lists, and since when. Only complete listings count. */
export class Absences {
  readonly #clock: Clock;
  /** Time at which each was first missed, elapsed ms. */
  readonly #missedSince = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Processes a complete listing.
   *
   * @param known VMs that the source has reported, perhaps before a restart, with the time at which
   * another sender last reported each, elapsed ms; -Infinity: never
   */
  take(listed: ReadonlySet<string>, known: ReadonlyMap<string, number>): Absent {
    const now = this.#clock.elapsed();
    for (const vm of this.#missedSince.keys()) {
      if (listed.has(vm) || !known.has(vm)) this.#missedSince.delete(vm);
    }
    const absent = [...known].filter(([vm]) => !listed.has(vm));
    const missing = absent.filter(
      ([vm, heardMs]) => heardMs < (this.#missedSince.get(vm) ?? now - ABSENT_MS),
    ).length;
    const isMany = missing >= DOUBTED_VMS && missing > DOUBTED_SHARE * known.size;
    if (isMany || (missing > 0 && absent.length === known.size)) {
      return { gone: [], doubt: { missing, known: known.size } };
    }
    const gone: string[] = [];
    for (const [vm, heardMs] of absent) {
      const since = this.#missedSince.get(vm) ?? now;
      this.#missedSince.set(vm, since);
      if (now - since >= ABSENT_MS && heardMs < since) gone.push(vm);
    }
    return { gone };
  }
}
