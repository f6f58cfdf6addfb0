/**
 * Wrong pairing codes: five lock their source out of that verification for ten minutes, and nobody
 * else. A lock of the verification itself would be a stranger's means to end it.
 *
 * The lock keeps noise down; the code itself is what cannot be guessed. It has 43 characters of 62,
 * 256 bits. A million guesses a second, from as many sources as there are, would be 2^31 within the
 * 30 minutes of a verification: one of 2^225 finds it. So no bound over all sources is needed, and
 * it is harmless that counts are in memory, end with the process, and that the oldest go first.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../../streams/platform/clock.ts';
import { APART_MS } from './refusal-notes.ts';

export const WRONG_CODES_MAX = 5;
/** From the last wrong code on, ms. */
const LOCK_MS = 10 * 60_000;
/** Sources and verifications that are remembered, each; a few MB. */
const KEPT_MAX = 10_000;

interface Tries {
  readonly codes: number;
  /** Of elapsed time, ms. */
  readonly lastMs: number;
}

interface Unnoted {
  readonly codes: number;
  readonly notedMs: number;
}

export class WrongCodes {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** By verification and source, in the order of their last wrong code. */
  readonly #tries = new Map<string, Tries>();
  /** By verification, in the order of the last note. */
  readonly #unnoted = new Map<string, Unnoted>();

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
  }

  /** How long the source has to wait before another try counts, ms; 0: it need not. */
  waitMs(setupId: string, source: string): number {
    const tries = this.#triesOf(keyOf(setupId, source));
    if (tries.codes < WRONG_CODES_MAX) return 0;
    return tries.lastMs + LOCK_MS - this.#clock.elapsed();
  }

  /** Counts a wrong code. */
  add(setupId: string, source: string): void {
    const key = keyOf(setupId, source);
    const codes = this.#triesOf(key).codes + 1;
    putLast(this.#tries, key, { codes, lastMs: this.#clock.elapsed() });
  }

  /**
   * How many wrong codes of a verification are to be noted with this one; 0: not now, they wait for
   * a later one. A note is a commit, and strangers must not fill the audit: one a minute.
   */
  takeForNote(verification: string): number {
    const nowMs = this.#clock.elapsed();
    const before = this.#unnoted.get(verification);
    const codes = (before?.codes ?? 0) + 1;
    if (before && nowMs < before.notedMs + APART_MS) {
      this.#unnoted.set(verification, { ...before, codes });
      return 0;
    }
    putLast(this.#unnoted, verification, { codes: 0, notedMs: nowMs });
    return codes;
  }

  #triesOf(key: string): Tries {
    const nowMs = this.#clock.elapsed();
    const tries = this.#tries.get(key);
    return tries && nowMs < tries.lastMs + LOCK_MS ? tries : { codes: 0, lastMs: nowMs };
  }
}

/** Of one length, whatever a stranger calls a verification. */
function keyOf(setupId: string, source: string): string {
  return hash('sha256', JSON.stringify([setupId, source]));
}

function putLast<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= KEPT_MAX) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
