/**
 * Paths of stages. A stage completes its input for the next one, or ends the path with a result. A
 * path is assembled in one function, with its stages in order, and each stage is tested alone.
 */

/** Ends a path before its last stage. */
export class Ended<R> {
  readonly result: R;

  constructor(result: R) {
    this.result = result;
  }
}

/** Resolves with the input of the next stage, or with the end of the path. */
export type Stage<Input, Next, R> = (input: Input) => Promise<Next | Ended<R>>;

/** A path of three stages. The last one always gives the result. */
export function pathOf<A, B, C, R>(
  first: Stage<A, B, R>,
  second: Stage<B, C, R>,
  last: (input: C) => Promise<R>,
): (input: A) => Promise<R> {
  return async (input) => {
    const one = await first(input);
    if (one instanceof Ended) return one.result;
    const two = await second(one);
    if (two instanceof Ended) return two.result;
    return last(two);
  };
}
