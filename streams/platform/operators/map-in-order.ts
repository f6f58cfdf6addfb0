/**
 * `concatMap` for values most of which need no waiting: a plain result passes at once, without an
 * inner observable. An evaluation folds a million rows a second this way; `concatMap` alone would
 * take as long as the fold.
 */
import { isObservable, Observable, type OperatorFunction, type Subscription } from 'rxjs';

/**
 * Maps each value to a result, or to an observable of results. Results come in the order of the
 * values; values that arrive while an observable is under way wait for its end.
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
            // An observable that ends within `subscribe` lets the loop that began it go on.
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
