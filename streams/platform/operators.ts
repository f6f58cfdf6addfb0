/**
 * Operators of our own for pipelines that work in order: value by value without unnecessary waits,
 * in slices of a shared thread, one value at a time through several stages, and out of RxJS at the
 * end.
 *
 * `mapInOrder` is `concatMap` for values most of which need no waiting: a plain result passes at
 * once, without an inner observable. An evaluation folds a million rows a second this way;
 * `concatMap` alone would take as long as the fold.
 */
import { isObservable, Observable, type OperatorFunction, Subject, type Subscription } from 'rxjs';
import type { Clock } from './clock.ts';
import { type PageReader, pagesOf } from './commit/page.ts';

/**
 * Maps each value to a result, or to an observable of results. Results keep the order of the
 * values; values that arrive while an observable is in progress wait for its end.
 */
export function mapInOrder<T, R>(project: (value: T) => R | Observable<R>): OperatorFunction<T, R> {
  return (source) =>
    new Observable<R>((subscriber) => {
      const waiting: T[] = [];
      let underWay: Subscription | undefined;
      let isSourceDone = false;

      const take = (value: T): void => {
        const result = project(value);
        if (isObservable(result)) follow(result);
        else subscriber.next(result);
      };
      const follow = (results: Observable<R>): void => {
        let isDone = false;
        const following = results.subscribe({
          next: (result) => subscriber.next(result),
          error: (error) => subscriber.error(error),
          complete: () => {
            isDone = true;
            // If an observable ends within `subscribe`, the loop that started it continues.
            if (underWay) goOn();
          },
        });
        if (isDone) return;
        underWay = following;
        subscriber.add(following);
      };
      const goOn = (): void => {
        underWay = undefined;
        try {
          while (!underWay && waiting.length > 0) take(waiting.shift() as T);
        } catch (error) {
          subscriber.error(error);
        }
        if (!underWay && isSourceDone) subscriber.complete();
      };

      subscriber.add(
        source.subscribe({
          next: (value) => {
            if (underWay) waiting.push(value);
            else {
              try {
                take(value);
              } catch (error) {
                subscriber.error(error);
              }
            }
          },
          error: (error) => subscriber.error(error),
          complete: () => {
            isSourceDone = true;
            if (!underWay) subscriber.complete();
          },
        }),
      );
    });
}

// Work in small steps that shares its thread: a pacer says when the current turn of the event loop
// is used up, and the work continues in the next one. Without a pacer all of it is done at once.
// The same pipeline therefore runs live, in a replay and in a query thread; only the pacer differs.

/** Each `next()` does a bounded part of the work; the last returns the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Turns of a thread that others need too. */
export interface Pacer {
  /** True when the current turn's time is used up. */
  isSpent(): boolean;
  /** Calls `resume` once in the next turn. @returns a function that cancels it */
  nextTurn(resume: () => void): () => void;
}

/** Work done in one turn before it yields, ms; no block may last 25 ms (API-31). */
const SLICE_MS = 8;

/** One for all work that shares a thread's turns: together they have one slice. */
export class TimeSlices implements Pacer {
  readonly #clock: Clock;
  #startedMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when the current turn's slice is used up. The first call in a turn starts the slice. */
  isSpent(): boolean {
    const now = this.#clock.elapsed();
    if (this.#startedMs === undefined) {
      this.#startedMs = now;
      setImmediate(() => {
        this.#startedMs = undefined;
      });
    }
    return now - this.#startedMs >= SLICE_MS;
  }

  /** Resolves at once, or in a later turn if the slice of this one is used up. */
  async yieldIfDue(): Promise<void> {
    while (this.isSpent()) await nextTurn();
  }

  nextTurn(resume: () => void): () => void {
    const immediate = setImmediate(resume);
    return () => clearImmediate(immediate);
  }
}

/**
 * Every item of a list, each page read in a turn of its own. Commits may be applied in between, so
 * an item is as it was when its page was read.
 */
export async function* itemsInTurns<T>(
  limit: number,
  read: PageReader<T>,
): AsyncGenerator<T, void, undefined> {
  // Also before the first page: many short lists take as long as one large one.
  await nextTurn();
  for (const { items } of pagesOf(limit, read)) {
    yield* items;
    await nextTurn();
  }
}

/** Resolves in the next turn of the event loop, after all work that is already queued. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Maps each value by steps, one value at a time; results keep the order of the values.
 * Unsubscribing ends the work at the end of its turn.
 */
export function mapInSlices<T, R>(
  stepsOf: (value: T) => Steps<R>,
  pacer?: Pacer,
): OperatorFunction<T, R> {
  if (!pacer) return mapInOrder((value) => allAtOnce(stepsOf(value)));
  return mapInOrder((value) => inSlices(stepsOf(value), pacer));
}

/** The result, if this turn is long enough for all steps; otherwise an observable of it. */
export function inSlices<R>(steps: Steps<R>, pacer?: Pacer): R | Observable<R> {
  if (!pacer) return allAtOnce(steps);
  const first = turn(steps, pacer);
  if (first) return first.result;
  return new Observable<R>((subscriber) => {
    const resume = (): void => {
      try {
        const last = turn(steps, pacer);
        if (!last) cancel = pacer.nextTurn(resume);
        else {
          subscriber.next(last.result);
          subscriber.complete();
        }
      } catch (error) {
        subscriber.error(error);
      }
    };
    let cancel = pacer.nextTurn(resume);
    return () => cancel();
  });
}

/** All of the work in one turn. */
export function allAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** Steps until the turn is spent. @returns the result, once there is one */
function turn<R>(steps: Steps<R>, pacer: Pacer): { readonly result: R } | undefined {
  do {
    const { done, value } = steps.next();
    if (done) return { result: value };
  } while (!pacer.isSpent());
  return undefined;
}

// Backpressure within a pipeline: several stages that must not overlap, because they share state or
// because the last of them waits for something. `concatMap` over an inner pipeline would do the
// same, but assemble the stages again for each value.

/** Exceptions to the rule that every value passes through the stages. */
export interface Admission<T> {
  /**
   * Called when it is the value's turn. False: the value passes no stage and has no result. Absent:
   * every value passes.
   */
  admits?(value: T): boolean;
  /**
   * Takes the value whose stages failed. It has no result, and the stages are assembled again for
   * the next one. Throws to end the whole pipeline. Absent: the first failure ends it.
   */
  recover?(value: T, error: unknown): void;
}

/**
 * Admits a value to `stages` once they have emitted for the previous one; others wait, in order.
 * The stages emit exactly once for each value.
 */
export function oneAtATime<T, R>(
  stages: OperatorFunction<T, R>,
  { admits, recover }: Admission<T> = {},
): OperatorFunction<T, R> {
  return (source) =>
    new Observable<R>((subscriber) => {
      let entrance = new Subject<T>();
      let waiting: T[] = [];
      let first = 0;
      let current: T | undefined;
      let isBusy = false;
      let isAdmitting = false;
      let isSourceDone = false;

      const admit = (): void => {
        // Stages that emit at once return here: the loop continues, and the stack does not grow.
        if (isAdmitting) return;
        isAdmitting = true;
        while (!isBusy && first < waiting.length) {
          const value = waiting[first++] as T;
          if (first === waiting.length) {
            waiting = [];
            first = 0;
          }
          if (admits?.(value) === false) continue;
          current = value;
          isBusy = true;
          entrance.next(value);
        }
        isAdmitting = false;
        if (!isBusy && isSourceDone) entrance.complete();
      };
      const fail = (error: unknown): void => {
        try {
          if (!recover || !isBusy) throw error;
          recover(current as T, error);
        } catch (reason) {
          subscriber.error(reason);
          return;
        }
        assemble();
        isBusy = false;
        admit();
      };
      const assemble = (): void => {
        entrance = new Subject<T>();
        subscriber.add(
          entrance.pipe(stages).subscribe({
            next: (result) => {
              subscriber.next(result);
              isBusy = false;
              admit();
            },
            error: fail,
            complete: () => subscriber.complete(),
          }),
        );
      };

      assemble();
      subscriber.add(
        source.subscribe({
          next: (value) => {
            waiting.push(value);
            admit();
          },
          error: (error) => subscriber.error(error),
          complete: () => {
            isSourceDone = true;
            admit();
          },
        }),
      );
    });
}

// Leaving RxJS where all values are available.

/**
 * The values of an observable that emits all of them within `subscribe`. Throws the error that it
 * ends with.
 */
export function valuesNow<T>(source: Observable<T>): T[] {
  const values: T[] = [];
  let end: 'complete' | { readonly error: unknown } | undefined;
  source.subscribe({
    next: (value) => void values.push(value),
    error: (error: unknown) => {
      end = { error };
    },
    complete: () => {
      end = 'complete';
    },
  });
  if (end === undefined) throw new Error('The observable waits for something');
  if (end !== 'complete') throw end.error;
  return values;
}
