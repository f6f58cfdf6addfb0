/**
 * Resources opened by a measurement, closed in reverse order when it ends or fails. It has the
 * interface of a test's teardown, so the servers and receivers of the tests can be used here.
 */
export interface Scope {
  teardown(end: () => unknown): void;
}

/** Runs `use` and then closes everything it opened. */
export async function withScope<T>(use: (scope: Scope) => Promise<T>): Promise<T> {
  const ends: (() => unknown)[] = [];
  try {
    return await use({ teardown: (end) => void ends.push(end) });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
