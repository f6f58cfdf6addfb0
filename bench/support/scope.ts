/**
 * Resources that a measurement opens, closed in reverse order when it ends or fails. It has the
 * shape of a test's teardown, so that the tests' own servers and receivers serve here.
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
