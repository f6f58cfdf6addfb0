/**
 * Closes parts in reverse order of opening. Each part registers its closer when it opens, so that a
 * failed start and a graceful stop take the same path. Stopping twice is harmless.
 */
import type { Log } from './log.ts';

export class Closers {
  readonly #log: Log;
  readonly #closers: { readonly name: string; readonly close: () => void | Promise<void> }[] = [];
  #closing: Promise<void> | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  add(name: string, close: () => void | Promise<void>): void {
    this.#closers.push({ name, close });
  }

  /** Closes everything, last opened first. Logs a failure and closes the rest. */
  closeAll(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    for (const { name, close } of this.#closers.toReversed()) {
      try {
        await close();
      } catch (error) {
        this.#log.error({ err: error, part: name }, 'A part did not close cleanly');
      }
    }
  }
}
