/**
 * Work in small steps that shares its thread: a pacer says when the current turn of the event loop is
 * used up, and the work goes on in the next one. Without a pacer all of it is done at once. So the
 * same pipeline runs live, in a replay and in a query thread; only the pacer differs.
 */
import { Observable, type OperatorFunction } from 'rxjs';
import { mapInOrder } from './map-in-order.ts';

/** Each `next()` does a bounded part of the work; the last returns the result. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Turns of a thread that others need, too. */
export interface Pacer {
  /** True when the current turn's time is used up. */
  isSpent(): boolean;
  /** Calls `resume` once in the next turn. @returns its cancellation */
  nextTurn(resume: () => void): () => void;
}

/**
 * Maps each value by steps, one value at a time, and results come in the order of the values.
 * Unsubscribing ends the work at the end of its turn.
 */
export function mapInSlices<T, R>(
  stepsOf: (value: T) => Steps<R>,
  pacer?: Pacer,
): OperatorFunction<T, R> {
  if (!pacer) return mapInOrder((value) => allAtOnce(stepsOf(value)));
  return mapInOrder((value) => inSlices(stepsOf(value), pacer));
}

/** The result, if this turn is long enough for all of the steps; else an observable of it. */
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
