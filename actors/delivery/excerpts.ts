/**
 * What endpoints answered, as their channels redacted it: kept beside the rows, never in a commit,
 * so that it can be deleted. Several are one write to disk, within a second; a crash takes those of
 * that second with it, and nothing is decided by them.
 */
import type { CancelWakeUp, Clock } from '../../streams/platform/clock.ts';

const WAIT_MS = 1_000;
const TOGETHER_MAX = 64;

export interface AnswerExcerpt {
  readonly deliveryId: string;
  readonly attemptId: string;
  readonly excerpt: string;
}

export interface ExcerptsDeps {
  readonly clock: Clock;
  /** Keeps several in one write. */
  readonly keep: (excerpts: readonly AnswerExcerpt[]) => void;
  /** What could not be kept is lost. */
  readonly onFault: (what: string, error: unknown) => void;
}

export class Excerpts {
  readonly #deps: ExcerptsDeps;
  #waiting: AnswerExcerpt[] = [];
  #cancel: CancelWakeUp | undefined;

  constructor(deps: ExcerptsDeps) {
    this.#deps = deps;
  }

  /** Keeps the excerpt soon; an empty one is none. */
  add(excerpt: AnswerExcerpt): void {
    if (excerpt.excerpt === '') return;
    this.#waiting.push(excerpt);
    if (this.#waiting.length >= TOGETHER_MAX) this.flush();
    else this.#cancel ??= this.#deps.clock.wakeAfter(WAIT_MS, () => this.flush());
  }

  /** Keeps now what waits: before the process ends. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const excerpts = this.#waiting;
    this.#waiting = [];
    if (excerpts.length === 0) return;
    try {
      this.#deps.keep(excerpts);
    } catch (error) {
      this.#deps.onFault(`keeping ${excerpts.length} excerpts of answers`, error);
    }
  }
}
