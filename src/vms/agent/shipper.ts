/**
 * Shipper of the buffer: sends its batches, oldest first, one at a time. A failed batch is sent
 * again, the same bytes under the same id, after growing pauses with jitter, so that many agents do
 * not return in the same second. A batch that the service rejects is divided until only the
 * rejected row is left; that row alone is dropped.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { Sleep } from '../../../streams/platform/pause.ts';
import { fraction, type Random } from '../../../streams/platform/random.ts';
import type { BufferedBatch, RowBuffer } from './row-buffer.ts';
import type { SendAs, SendBatch, SendOutcome } from './sender.ts';

export interface ShipperOptions {
  readonly buffer: Pick<RowBuffer, 'next' | 'done'>;
  /**
   * Read before each attempt, because it may have been replaced. Throws the errors of reading it.
   */
  readonly enrolment: () => SendAs;
  readonly send: SendBatch;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Called with each outcome, including those of batches that could not be attempted. A refused
   * batch has one row; a larger one is divided first, and its parts have outcomes of their own.
   */
  readonly onOutcome: (batch: BufferedBatch, outcome: SendOutcome) => void;
}

/** Pauses, ms: the first, and the longest while the service is unavailable. */
const RETRY_MS_MIN = 1_000;
const RETRY_MS_MAX = 60_000;
/**
 * Pause while the key is rejected. Only a person can help, and a new enrolment is noticed at once.
 */
const DENIED_MS = 15 * 60_000;

export class Shipper {
  readonly #options: ShipperOptions;
  #failures = 0;
  /** Parts of a batch that was rejected, the next one first. */
  #parts: BufferedBatch[] = [];
  /** The rejected key. */
  #deniedKey: string | undefined;
  readonly #sleep: Sleep;

  constructor(options: ShipperOptions) {
    this.#options = options;
    this.#sleep = new Sleep(options.clock);
  }

  /** To be called when a row was appended, or the enrolment may have changed. */
  notice(): void {
    if (this.#failures === 0 || this.#isReplaced()) this.#sleep.wake();
  }

  /**
   * Sends until `signal`; unsent batches stay in the buffer. Rejects with the errors of the disk.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const batch = this.#parts[0] ?? this.#options.buffer.next();
      const pauseMs = batch ? await this.#offer(batch, signal) : Number.POSITIVE_INFINITY;
      if (pauseMs > 0) await this.#sleep.pause(pauseMs, signal);
    }
  }

  /** Returns the pause before the next attempt, ms; 0 = none. */
  async #offer(batch: BufferedBatch, signal: AbortSignal): Promise<number> {
    const { buffer, onOutcome } = this.#options;
    const outcome = await this.#send(batch, signal);
    // Interrupted by our own stop: no outcome.
    if (signal.aborted && outcome.kind === 'later') return 0;
    if (outcome.kind === 'stored' || outcome.kind === 'refused') {
      this.#failures = 0;
      this.#deniedKey = undefined;
      this.#parts.shift();
      if (outcome.kind === 'refused' && batch.rows.length > 1) {
        this.#parts.unshift(...halvesOf(batch));
        return 0;
      }
      if (this.#parts.length === 0) buffer.done(wholeId(batch));
      onOutcome(batch, outcome);
      return 0;
    }
    onOutcome(batch, outcome);
    return this.#backOff(outcome);
  }

  async #send(batch: BufferedBatch, signal: AbortSignal): Promise<SendOutcome> {
    const { enrolment, send } = this.#options;
    let stored: SendAs;
    try {
      stored = enrolment();
    } catch (error) {
      this.#deniedKey = '';
      return { kind: 'denied', message: error instanceof Error ? error.message : String(error) };
    }
    const outcome = await send(stored, batch, signal);
    if (outcome.kind === 'denied') this.#deniedKey = stored.key;
    return outcome;
  }

  #backOff(outcome: Extract<SendOutcome, { kind: 'denied' | 'later' }>): number {
    const jitter = 0.5 + fraction(this.#options.random);
    const doubled = RETRY_MS_MIN * 2 ** Math.min(this.#failures, 16);
    this.#failures++;
    if (outcome.kind === 'denied') return DENIED_MS * jitter;
    // Never earlier than the service requests. Jitter spreads the agents after that.
    const retryAfterMs = outcome.retryAfterMs ?? 0;
    return retryAfterMs + Math.min(doubled, RETRY_MS_MAX) * jitter;
  }

  #isReplaced(): boolean {
    if (this.#deniedKey === undefined) return false;
    try {
      return this.#options.enrolment().key !== this.#deniedKey;
    } catch {
      return false;
    }
  }
}

/**
 * Both halves of a batch, the same each time that it is divided, so that the service recognises the
 * parts that it has stored by their ids after a crash.
 */
function halvesOf({ id, rows }: BufferedBatch): readonly BufferedBatch[] {
  const middle = Math.ceil(rows.length / 2);
  return [
    { id: `${id}.0`, rows: rows.slice(0, middle) },
    { id: `${id}.1`, rows: rows.slice(middle) },
  ];
}

/** Id of the buffered batch to which a part belongs. */
function wholeId({ id }: BufferedBatch): string {
  return id.split('.', 1)[0] ?? id;
}
