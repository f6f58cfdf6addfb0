/**
 * Backpressure within a pipeline: several stages that must not overlap, because they share a state
 * or because the last of them waits for something. `concatMap` over an inner pipeline would do the
 * same, and assemble the stages again for each value.
 */
import { Observable, type OperatorFunction, Subject } from 'rxjs';

/**
 * Lets a value into `stages` once they have emitted for the one before it; others wait, in order. The
 * stages emit exactly once for each value.
 */
export function oneAtATime<T, R>(stages: OperatorFunction<T, R>): OperatorFunction<T, R> {
  return (source) =>
    new Observable<R>((subscriber) => {
      const entrance = new Subject<T>();
      let waiting: T[] = [];
      let first = 0;
      let isBusy = false;
      let isAdmitting = false;
      let isSourceDone = false;

      const admit = (): void => {
        // Stages that emit at once come back here: the loop goes on, the stack does not grow.
        if (isAdmitting) return;
        isAdmitting = true;
        while (!isBusy && first < waiting.length) {
          const value = waiting[first++] as T;
          if (first === waiting.length) {
            waiting = [];
            first = 0;
          }
          isBusy = true;
          entrance.next(value);
        }
        isAdmitting = false;
        if (!isBusy && isSourceDone) entrance.complete();
      };

      subscriber.add(
        entrance.pipe(stages).subscribe({
          next: (result) => {
            subscriber.next(result);
            isBusy = false;
            admit();
          },
          error: (error) => subscriber.error(error),
          complete: () => subscriber.complete(),
        }),
      );
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
