/**
 * Which query gets a thread, and which one makes room. Fairness counts the thread time that projects
 * used lately. A pure structure: it reads no clock, and the times handed in never decrease.
 *
 * - Order: the project that used the least is next (start-time fair queueing).
 * - Room: queries of projects that used much leave one thread to the others.
 * - A query that has run on this thread for `RUN_MS`, while another project that used little waits,
 *   is moved: it starts again on one of the other threads, at most once.
 * - If those are all held, and a project that holds none has waited for `RUN_MS`, the query of the
 *   project that used the most is ended, if that is more by the time of two queries.
 */
import { QUERY_MS_MAX, RUN_MS, SLICE_MS } from './limits.ts';

/** Time in which half of a project's used time is forgotten, ms: three of the longest queries. */
const HALF_LIFE_MS = 3 * QUERY_MS_MAX;
/**
 * How much more a project must have used than the one that waits before its query is ended, ms: two
 * of the longest queries. Projects that ask for the same differ by less, so they end nothing.
 */
const EXCESS_MS = 2 * QUERY_MS_MAX;
/** A project that used no more than this lately used little, ms: two slices. */
const LITTLE_MS = 2 * SLICE_MS;
/** It also used little if the project that used the most used this many times as much. */
const LITTLE_FACTOR = 4;
/** Idle projects are looked through once there are so many records. */
const RECORDS_SWEPT_FROM = 256;

/** A query that waits for a thread, or holds one. */
export interface Turn<T> {
  readonly project: string;
  readonly payload: T;
}

/** How a query makes room: `moved` starts again by itself, `ended` is refused. */
export type GivenUp = 'moved' | 'ended';

interface Entry<T> extends Turn<T> {
  waitsSinceMs: number;
  startedMs: number;
  /** It takes one of the threads that heavy queries may have. */
  isHeavy: boolean;
  wasMoved: boolean;
  givenUp: GivenUp | undefined;
  /** Its caller has gone: it never waits again. */
  isGone: boolean;
}

/** What one project holds, asks for and has used. */
class Usage<T> {
  readonly running = new Set<Entry<T>>();
  /** Oldest first; moved ones go before those that never ran. */
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

  /** Thread time used lately, ms, with what runs now: half of it is forgotten in `HALF_LIFE_MS`. */
  usedMs(nowMs: number): number {
    return this.#endedMs(nowMs) + this.#runningMs(nowMs);
  }

  /** Place in the order: all thread time used while it asked for any, ms, with what runs now. */
  passMs(nowMs: number): number {
    return this.#passMs + this.#runningMs(nowMs);
  }

  /** An idle project that asks again keeps no more than one slice of what it did not use. */
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

/** Turns at the threads of one kind. */
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

  /** Threads that queries may get now: others have not started yet. Default all, at least 1. */
  set ready(count: number) {
    this.#ready = count;
  }

  /** Projects that asked for a thread, but for those that were forgotten. */
  get projects(): number {
    return this.#projects.size;
  }

  /** Queries that wait for a thread. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Threads that are held, by queries that were given up and have not stopped included. */
  get running(): number {
    return this.#running.size;
  }

  /** Puts a query into the line of its project. */
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
   * The caller of a query has gone. True if the query waits, or was moved and would wait again: it
   * never starts then. False if it runs.
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

  /** The next query to start, if one may: it holds a thread from now on. */
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

  /** The next one for the threads that every query may have. */
  #nextHeavy(nowMs: number) {
    if (this.#heavy() >= this.#heavyMax) return undefined;
    return this.#first(nowMs, ({ running, moved, fresh }) => {
      return running.size < this.#heavyMax ? (first(moved) ?? first(fresh)) : undefined;
    });
  }

  /** The thread of a query is free again. A query that was moved waits again. */
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

  /** A query that is to make room now. It holds its thread until `end` is called. */
  giveUp(nowMs: number): { readonly turn: Turn<T>; readonly how: GivenUp } | undefined {
    if (this.#waiting === 0) return undefined;
    const entry = this.#toMove(nowMs) ?? this.#toEnd(nowMs);
    if (entry === undefined) return undefined;
    entry.givenUp = entry.isHeavy ? 'ended' : 'moved';
    return { turn: entry, how: entry.givenUp };
  }

  /** Time after which `giveUp` may answer something else, ms; undefined = nothing waits. */
  lookAgainMs(nowMs: number): number | undefined {
    if (this.#waiting === 0) return undefined;
    let leastMs = RUN_MS;
    for (const { startedMs } of this.#running) {
      const leftMs = startedMs + RUN_MS - nowMs;
      if (leftMs > 0 && leftMs < leastMs) leastMs = leftMs;
    }
    return leastMs;
  }

  /** Threads that heavy queries may hold together, and that one project may hold. */
  get #heavyMax(): number {
    return Math.max(1, this.#threads - 1);
  }

  #heavy(): number {
    let count = 0;
    for (const { isHeavy } of this.#running) if (isHeavy) count++;
    return count;
  }

  /** The next one of a project that used little. */
  #nextLittle(nowMs: number, littleMs: number) {
    return this.#first(nowMs, ({ running, fresh }, usedMs) => {
      return running.size < this.#heavyMax && usedMs <= littleMs ? first(fresh) : undefined;
    });
  }

  /** A query that has held the thread of those who used little long enough, while one waits. */
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

  /** A query of this kind has been given up and still holds its thread. */
  #isStopping(isHeavy: boolean): boolean {
    for (const entry of this.#running) {
      if (entry.givenUp !== undefined && entry.isHeavy === isHeavy) return true;
    }
    return false;
  }

  /** Of the queries that have run long enough, the one whose project used the most. */
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

  /** Of the waiting projects with an entry to pick, the first in order. */
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

  /** Of the projects that hold or want threads; 0 = there are none. */
  #leastPassMs(nowMs: number): number {
    let leastMs = Infinity;
    for (const usage of this.#projects.values()) {
      if (!usage.isIdle) leastMs = Math.min(leastMs, usage.passMs(nowMs));
    }
    return leastMs === Infinity ? 0 : leastMs;
  }

  /** Most that a project used if it used little, ms. */
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

  /** Forgets projects that used nothing lately. */
  #sweep(nowMs: number): void {
    for (const [project, usage] of this.#projects) {
      if (usage.isIdle && usage.usedMs(nowMs) < 1) this.#projects.delete(project);
    }
  }
}

function first<E>(entries: ReadonlySet<E>): E | undefined {
  return entries.values().next().value;
}
