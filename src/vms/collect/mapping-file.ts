/**
 * Mapping file of a fleet, read again whenever its text has changed. A faulty mapping is reported,
 * and the previous one stays in use.
 */
import { readFileSync } from 'node:fs';
import {
  type Mapping,
  parseMapping,
  UnusableMapping,
} from '../../../actors/telemetry/collectors/fleet/mapping.ts';
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';

/** Interval between checks for changes of the file, ms. */
const CHECK_MS = 5_000;

/** Throws `UnusableMapping`, also if the file cannot be read. */
export function readMapping(path: string): Mapping {
  return parseMapping(textOf(path));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnusableMapping([`the mapping cannot be read: ${why}`]);
  }
}

export interface MappingWatchOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly onMapping: (mapping: Mapping) => void;
  /** Called once for each text that cannot be used. */
  readonly onFault: (problems: readonly string[]) => void;
}

/** Follows a mapping file. */
export class MappingWatch {
  /** The mapping in use. */
  readonly first: Mapping;
  readonly #options: MappingWatchOptions;
  #text: string;
  #problems: readonly string[] = [];
  #cancel: CancelWakeUp = () => {};

  /** Throws `UnusableMapping`, because nothing can start without a mapping. */
  constructor(options: MappingWatchOptions) {
    this.#options = options;
    this.#text = textOf(options.path);
    this.first = parseMapping(this.#text);
    this.#wait();
  }

  /** Problems of the current file; empty if it is in use. */
  problems(): readonly string[] {
    return this.#problems;
  }

  /** Reads the file now. */
  reload(): void {
    const { path, onMapping, onFault } = this.#options;
    let text = '';
    try {
      text = textOf(path);
      if (text === this.#text) return;
      onMapping(parseMapping(text));
      this.#problems = [];
    } catch (error) {
      if (!(error instanceof UnusableMapping)) throw error;
      if (error.problems.join() === this.#problems.join()) return;
      this.#problems = error.problems;
      onFault(error.problems);
    } finally {
      this.#text = text;
    }
  }

  close(): void {
    this.#cancel();
  }

  #wait(): void {
    this.#cancel = this.#options.clock.wakeAfter(CHECK_MS, () => {
      this.reload();
      this.#wait();
    });
  }
}
