/**
 * Decides which query gets a thread and which one yields. Fairness counts the thread time that
 * projects used recently. A pure structure: it reads no clock, and the times passed in never
 * decrease.
 *
 * - Order: the project that used the least is next (start-time fair queueing).
 * - Reserve: queries of projects with high usage leave one thread to the others.
 * - A query that has run on this thread for `RUN_MS` while another project with low usage waits is
 *   moved: it restarts on one of the other threads, at most once.
 * - If all of those are held, and a project that holds none has waited for `RUN_MS`, the query of
 *   the project with the highest usage is ended, if it exceeds the other's by the time of two
 *   queries.
 */
import { QUERY_MS_MAX, RUN_MS, SLICE_MS } from './limits.ts';

/** Half-life of a project's used time, ms: three of the longest queries. */
const HALF_LIFE_MS = 3 * QUERY_MS_MAX;
/**
 * Excess usage over the waiting project from which a query is ended, ms: two of the longest
 * queries. Projects with equal demand differ by less, so they end nothing.
 */
const EXCESS_MS = 2 * QUERY_MS_MAX;
/** Recent usage up to this is low, ms: two slices. */
const LITTLE_MS = 2 * SLICE_MS;
/** Usage is also low if the project with the highest usage used this many times as much. */
const LITTLE_FACTOR = 4;
/** Number of records from which idle projects are swept. */
const RECORDS_SWEPT_FROM = 256;

/** A query that waits for a thread, or holds one. */
export interface Turn<T> {
  readonly project: string;
  readonly payload: T;
}

/** How a query yields: `moved` restarts by itself, `ended` is rejected. */
export type GivenUp = 'moved' | 'ended';

interface Entry<T> extends Turn<T> {
  waitsSinceMs: number;
  startedMs: number;
  /** It occupies one of the threads that heavy queries may use. */
  isHeavy: boolean;
  wasMoved: boolean;
  givenUp: GivenUp | undefined;
  /** Its caller disconnected: it never waits again. */
  isGone: boolean;
}

/** Threads held, waiting queries and usage of one project. */
class Usage<T> {
  readonly running = new Set<Entry<T>>();
  /** Oldest first; moved ones precede those that never ran. */
  readonly moved = new Set<Entry<T>>();
  readonly fresh = new Set<Entry<T>>();
  #usedMs = 0;
  #atMs = 0;
  #passMs = 0;

  get isIdle(): boolean {
    return this.running.size === 0 && !this.isWaiting;
  }

  get isWaiting(): boolean {
    return this.moved.size + this.fresh.size > 0;
  }

  /** Recently used thread time, ms, including running queries; halved every `HALF_LIFE_MS`. */
  usedMs(nowMs: number): number {
    return this.#endedMs(nowMs) + this.#runningMs(nowMs);
  }

  /**
   * Position in the order: thread time used while the project had demand, ms, including running
   * queries.
   */
  passMs(nowMs: number): number {
    return this.#passMs + this.#runningMs(nowMs);
  }

  /** An idle project with new demand keeps at most one slice of unused time. */
  resume(leastPassMs: number): void {
    this.#passMs = Math.max(this.#passMs, leastPassMs - SLICE_MS);
  }

  /** Counts the time of a query that has ended. */
  end(entry: Entry<T>, nowMs: number): void {
    this.running.delete(entry);
    const ranMs = nowMs - entry.startedMs;
    this.#passMs += ranMs;
    this.#usedMs = this.#endedMs(nowMs) + ranMs;
    this.#atMs = nowMs;
  }

  #endedMs(nowMs: number): number {
    return this.#usedMs * 2 ** ((this.#atMs - nowMs) / HALF_LIFE_MS);
  }

  #runningMs(nowMs: number): number {
    let runningMs = 0;
    for (const { startedMs } of this.running) runningMs += nowMs - startedMs;
    return runningMs;
  }
}

/** Turns on the threads of one kind. */
export class ThreadTurns<T> {
  readonly #threads: number;
  #ready: number;
  readonly #projects = new Map<string, Usage<T>>();
  readonly #running = new Set<Entry<T>>();
  #waiting = 0;

  constructor(threads: number) {
    this.#threads = threads;
    this.#ready = threads;
  }

  /** Threads that queries may get now; the others have not started yet. Default all, at least 1. */
  set ready(count: number) {
    this.#ready = count;
  }

  /** Projects with recorded demand that have not been swept. */
  get projects(): number {
    return this.#projects.size;
  }

  /** Queries that wait for a thread. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Threads in use, including those of yielding queries that have not stopped yet. */
  get running(): number {
    return this.#running.size;
  }

  /** Enqueues a query of a project. */
  add(project: string, payload: T, nowMs: number): Turn<T> {
    const entry: Entry<T> = {
      project,
      payload,
      waitsSinceMs: nowMs,
      startedMs: 0,
      isHeavy: false,
      wasMoved: false,
      givenUp: undefined,
      isGone: false,
    };
    const usage = this.#usageOf(project, nowMs);
    if (usage.isIdle) usage.resume(this.#leastPassMs(nowMs));
    usage.fresh.add(entry);
    this.#waiting++;
    return entry;
  }

  /**
   * Called when the caller of a query has disconnected. True if the query waits, or was moved and
   * would wait again: it never starts then. False if it runs.
   */
  leave(turn: Turn<T>): boolean {
    const entry = turn as Entry<T>;
    const usage = this.#projects.get(entry.project);
    if (usage?.fresh.delete(entry) || usage?.moved.delete(entry)) {
      this.#waiting--;
      return true;
    }
    entry.isGone = true;
    return entry.givenUp === 'moved';
  }

  /** The next query to start, if any may: it holds a thread from now on. */
  start(nowMs: number): Turn<T> | undefined {
    if (this.#running.size >= this.#ready) return undefined;
    const littleMs = this.#littleMs(nowMs);
    const next = this.#nextHeavy(nowMs) ?? this.#nextLittle(nowMs, littleMs);
    if (next === undefined) return undefined;
    const { usage, entry } = next;
    entry.isHeavy = entry.wasMoved || next.usedMs > littleMs;
    entry.startedMs = nowMs;
    usage.fresh.delete(entry);
    usage.moved.delete(entry);
    usage.running.add(entry);
    this.#running.add(entry);
    this.#waiting--;
    return entry;
  }

  /** The next query for the threads that every query may use. */
  #nextHeavy(nowMs: number) {
    if (this.#heavy() >= this.#heavyMax) return undefined;
    return this.#first(nowMs, ({ running, moved, fresh }) => {
      return running.size < this.#heavyMax ? (first(moved) ?? first(fresh)) : undefined;
    });
  }

  /** Frees the thread of a query. A query that was moved waits again. */
  end(turn: Turn<T>, nowMs: number): void {
    const entry = turn as Entry<T>;
    if (!this.#running.delete(entry)) return;
    const usage = this.#usageOf(entry.project, nowMs);
    usage.end(entry, nowMs);
    if (entry.givenUp !== 'moved' || entry.isGone) return;
    entry.givenUp = undefined;
    entry.wasMoved = true;
    entry.waitsSinceMs = nowMs;
    usage.moved.add(entry);
    this.#waiting++;
  }

  /** A query that must yield now. It holds its thread until `end` is called. */
  giveUp(nowMs: number): { readonly turn: Turn<T>; readonly how: GivenUp } | undefined {
    if (this.#waiting === 0) return undefined;
    const entry = this.#toMove(nowMs) ?? this.#toEnd(nowMs);
    if (entry === undefined) return undefined;
    entry.givenUp = entry.isHeavy ? 'ended' : 'moved';
    return { turn: entry, how: entry.givenUp };
  }

  /** Time after which `giveUp` may return something else, ms; undefined = nothing waits. */
  lookAgainMs(nowMs: number): number | undefined {
    if (this.#waiting === 0) return undefined;
    let leastMs = RUN_MS;
    for (const { startedMs } of this.#running) {
      const leftMs = startedMs + RUN_MS - nowMs;
      if (leftMs > 0 && leftMs < leastMs) leastMs = leftMs;
    }
    return leastMs;
  }

  /** Maximum number of threads for heavy queries together, and for one project. */
  get #heavyMax(): number {
    return Math.max(1, this.#threads - 1);
  }

  #heavy(): number {
    let count = 0;
    for (const { isHeavy } of this.#running) if (isHeavy) count++;
    return count;
  }

  /** The next query of a project with low usage. */
  #nextLittle(nowMs: number, littleMs: number) {
    return this.#first(nowMs, ({ running, fresh }, usedMs) => {
      return running.size < this.#heavyMax && usedMs <= littleMs ? first(fresh) : undefined;
    });
  }

  /** A query that has run long enough on the thread for low usage, while such a project waits. */
  #toMove(nowMs: number): Entry<T> | undefined {
    if (this.#running.size < this.#ready || this.#isStopping(false)) return undefined;
    const entry = this.#mostUsed(nowMs, ({ isHeavy }) => !isHeavy);
    if (entry === undefined) return undefined;
    const littleMs = this.#littleMs(nowMs);
    const other = this.#first(nowMs, (usage, usedMs) => {
      const isOther = !usage.running.has(entry) && usage.running.size < this.#heavyMax;
      return isOther && usedMs <= littleMs ? first(usage.fresh) : undefined;
    });
    return other && entry;
  }

  /** A query of a project that has used far more than one that has waited long enough. */
  #toEnd(nowMs: number): Entry<T> | undefined {
    if (this.#heavy() < this.#heavyMax || this.#isStopping(true)) return undefined;
    const littleMs = this.#littleMs(nowMs);
    const next = this.#first(nowMs, (usage, usedMs) => {
      if (usage.running.size > 0) return undefined;
      const needsHeavy = this.#threads === 1 || usedMs > littleMs;
      const entry = first(usage.moved) ?? (needsHeavy ? first(usage.fresh) : undefined);
      return entry !== undefined && nowMs - entry.waitsSinceMs >= RUN_MS ? entry : undefined;
    });
    if (next === undefined) return undefined;
    const fromMs = next.usedMs + EXCESS_MS;
    return this.#mostUsed(nowMs, ({ isHeavy, project }) => {
      return isHeavy && this.#usageOf(project, nowMs).usedMs(nowMs) >= fromMs;
    });
  }

  /** True if a query of this kind yields and still holds its thread. */
  #isStopping(isHeavy: boolean): boolean {
    for (const entry of this.#running) {
      if (entry.givenUp !== undefined && entry.isHeavy === isHeavy) return true;
    }
    return false;
  }

  /** Among the queries that have run long enough, the one whose project used the most. */
  #mostUsed(nowMs: number, isMeant: (entry: Entry<T>) => boolean): Entry<T> | undefined {
    let most: { readonly entry: Entry<T>; readonly usedMs: number } | undefined;
    for (const entry of this.#running) {
      const hasRun = nowMs - entry.startedMs >= RUN_MS;
      if (entry.givenUp !== undefined || !hasRun || !isMeant(entry)) continue;
      const usedMs = this.#usageOf(entry.project, nowMs).usedMs(nowMs);
      if (most === undefined || usedMs > most.usedMs) most = { entry, usedMs };
    }
    return most?.entry;
  }

  /** The first in order of the waiting projects with an entry to pick. */
  #first(nowMs: number, pick: (usage: Usage<T>, usedMs: number) => Entry<T> | undefined) {
    let best: { usage: Usage<T>; entry: Entry<T>; passMs: number; usedMs: number } | undefined;
    for (const usage of this.#projects.values()) {
      if (!usage.isWaiting) continue;
      const passMs = usage.passMs(nowMs);
      if (best !== undefined && passMs >= best.passMs) continue;
      const usedMs = usage.usedMs(nowMs);
      const entry = pick(usage, usedMs);
      if (entry !== undefined) best = { usage, entry, passMs, usedMs };
    }
    return best;
  }

  /** Minimum over the projects that hold or want threads; 0 if there are none. */
  #leastPassMs(nowMs: number): number {
    let leastMs = Infinity;
    for (const usage of this.#projects.values()) {
      if (!usage.isIdle) leastMs = Math.min(leastMs, usage.passMs(nowMs));
    }
    return leastMs === Infinity ? 0 : leastMs;
  }

  /** Upper bound of low usage, ms. */
  #littleMs(nowMs: number): number {
    let mostMs = 0;
    for (const usage of this.#projects.values()) mostMs = Math.max(mostMs, usage.usedMs(nowMs));
    return Math.max(LITTLE_MS, mostMs / LITTLE_FACTOR);
  }

  #usageOf(project: string, nowMs: number): Usage<T> {
    const known = this.#projects.get(project);
    if (known !== undefined) return known;
    if (this.#projects.size >= RECORDS_SWEPT_FROM) this.#sweep(nowMs);
    const usage = new Usage<T>();
    this.#projects.set(project, usage);
    return usage;
  }

  /** Drops the records of projects without recent usage. */
  #sweep(nowMs: number): void {
    for (const [project, usage] of this.#projects) {
      if (usage.isIdle && usage.usedMs(nowMs) < 1) this.#projects.delete(project);
    }
  }
}

function first<E>(entries: ReadonlySet<E>): E | undefined {
  return entries.values().next().value;
}
