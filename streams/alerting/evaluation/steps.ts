/**
 * Work over every VM of a partition in small steps, so that whoever folds live lets others have
 * their turn in between. The state is changed step by step, each VM whole: until the last step
 * nothing else may be folded into it.
 */

/** Each `next()` does a bounded part of the work; the last returns what it led to. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** All of the work in one turn: where nobody waits for it. */
export function allAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
