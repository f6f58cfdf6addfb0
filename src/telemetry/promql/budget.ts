/**
 * The budget of one evaluation: memory, samples and cancellation. Operators check it as they work:
 * before they take memory, and at least once per series. So no query outlives its client, and none
 * exceeds its budget.
 */
import { PromqlError } from './errors.ts';

/**
 * Limits of one evaluation. Exceeding either throws `PromqlError` execution, with the limit in its
 * message.
 */
export interface BudgetLimits {
  /** Maximum memory of columns and samples alive at once, bytes. */
  readonly bytesMax: number;
  /**
   * Maximum number of samples read over the whole evaluation; overlapping windows count each time.
   */
  readonly samplesMax: number;
}

/** The reason to stop; undefined = continue. */
export type Interrupted = () => 'timeout' | 'canceled' | undefined;

const MESSAGES = {
  timeout: 'query timed out in expression evaluation',
  canceled: 'query was canceled in expression evaluation',
};
/** Samples between two checks of `interrupted`: a fraction of a millisecond of work. */
const CHECK_EVERY = 50_000;
/** Cost of processing one label set, in samples. */
const SAMPLES_A_WORK = 10;

/**
 * Counts what an evaluation uses. One instance per query: operators take memory before they
 * allocate it and return what they free. The peak is the most that was alive at once.
 */
export class Budget {
  readonly #limits: BudgetLimits;
  readonly #interrupted: Interrupted;
  #bytes = 0;
  #bytesPeak = 0;
  #samples = 0;
  #unchecked = 0;

  constructor(limits: BudgetLimits, interrupted: Interrupted = () => undefined) {
    this.#limits = limits;
    this.#interrupted = interrupted;
  }

  /** Samples read so far. */
  get samples(): number {
    return this.#samples;
  }

  /** Memory in use now, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Peak of the memory in use so far, bytes. */
  get bytesPeak(): number {
    return this.#bytesPeak;
  }

  /** Throws `PromqlError` timeout or canceled. */
  check(): void {
    this.#unchecked = 0;
    const reason = this.#interrupted();
    if (reason !== undefined) throw new PromqlError(reason, MESSAGES[reason]);
  }

  /**
   * Counts samples and checks for interruption periodically. Throws `PromqlError` execution beyond
   * the limit.
   */
  takeSamples(count: number): void {
    this.#samples += count;
    this.#unchecked += count;
    if (this.#samples > this.#limits.samplesMax) {
      const message = `query processing would read more than ${this.#limits.samplesMax} samples: use a shorter range, a larger step or fewer series`;
      throw new PromqlError('execution', message);
    }
    if (this.#unchecked >= CHECK_EVERY) this.check();
  }

  /**
   * Counts work on `count` series, or comparisons of two, that reads no samples: sorting and
   * grouping hundreds of thousands take seconds. Checks for interruption periodically.
   */
  takeWork(count = 1): void {
    this.#unchecked += count * SAMPLES_A_WORK;
    if (this.#unchecked >= CHECK_EVERY) this.check();
  }

  /** Takes memory before it is allocated. Throws `PromqlError` execution beyond the limit. */
  takeBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > this.#bytesPeak) this.#bytesPeak = this.#bytes;
    if (this.#bytes <= this.#limits.bytesMax) return;
    const message = `query processing would need more than ${this.#limits.bytesMax} bytes of memory: use a shorter range, a larger step or fewer series`;
    throw new PromqlError('execution', message);
  }

  /** Releases memory that is no longer used. */
  releaseBytes(count: number): void {
    this.#bytes -= count;
  }
}
