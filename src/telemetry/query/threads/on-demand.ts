/** Methods of a thread whose code is loaded by the first call that needs it. */

import type {
  SlowThreadMethod,
  ThreadMethod,
} from '../../../../sqlite/telemetry/history/threads/supervised-thread.ts';

/**
 * Methods loaded by `load` when the first of them is called. A failed load fails only its own call:
 * the next call loads again.
 */
export function onDemand(
  names: readonly string[],
  load: () => Promise<Readonly<Record<string, ThreadMethod>>>,
): Readonly<Record<string, SlowThreadMethod>> {
  let loaded: ReturnType<typeof load> | undefined;
  const called = (name: string): SlowThreadMethod => {
    return async (argument, isCancelled) => {
      loaded ??= load().catch((error: unknown) => {
        loaded = undefined;
        throw error;
      });
      const method = (await loaded)[name];
      if (method === undefined) throw new Error(`The loaded module has no method ${name}`);
      return method(argument, isCancelled);
    };
  };
  return Object.fromEntries(names.map((name) => [name, called(name)]));
}
