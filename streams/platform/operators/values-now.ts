/** Leaving RxJS where everything is at hand: an observable that emits within `subscribe`. */
import type { Observable } from 'rxjs';

/** The values of an observable that waits for nothing. Throws the error that it ends with. */
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
