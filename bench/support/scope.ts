/**
 * What a measurement opens, ended in reverse when it is over, whether it came to an end or failed.
 * The same shape as a test's teardown, so that the tests' own servers and receivers serve here.
 */
export interface Scope {
  teardown(end: () => unknown): void;
}

/** Runs `use` and then ends everything it opened. */
export async function withScope<T>(use: (scope: Scope) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  try {
    return await use({ teardown: (end) => void ends.push(end) });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
