/** Storage of an instance's past runs below firing, and the events that they become. */
import type { RunEvent } from '../../../machines/alerting/alert-instance-path.ts';
import { GAP_TOLERANCE_MS } from '../../telemetry/entry.ts';

/** A stretch that has ended. Times are Unix ms. */
export interface PastStretch {
  /** First breaching observation. */
  readonly startMs: number;
  /** Last observation before a gap; NaN before the first one. */
  readonly gapSinceMs: number;
  /** The observation that showed its end. */
  readonly overMs: number;
  /**
   * True if that observation did not breach, so that the run ended with it. Otherwise the run
   * starts again with it.
   */
  readonly isEnd: boolean;
}

/** Maximum stretches. Beyond it, the oldest are dropped. */
const STRETCHES_MAX = 8;
/** Numbers per stretch: `startMs`, `gapSinceMs`, `overMs`, and 1 for an end. */
const WIDTH = 4;

/**
 * Past runs of one instance below firing. They are stored as plain numbers, because 10,000
 * instances may flap. They become events of the machine on request, and when the instance fires.
 *
 * A run is stored in stretches. A gap beyond the tolerance ends a stretch; the observation after it
 * starts the next one, or ends the run.
 */
export class PastRuns {
  /** Oldest stretch first. */
  readonly #numbers: number[] = [];

  /** @param stretch later than all earlier ones */
  add({ startMs, gapSinceMs, overMs, isEnd }: PastStretch): void {
    this.#numbers.push(startMs, gapSinceMs, overMs, isEnd ? 1 : 0);
    const excess = this.#numbers.length - STRETCHES_MAX * WIDTH;
    if (excess > 0) this.#numbers.splice(0, excess);
  }

  /** Forgets the stretches that had not ended at `timeMs`. */
  forgetOverAfter(timeMs: number): void {
    while ((this.#numbers.at(2 - WIDTH) ?? timeMs) > timeMs) this.#numbers.length -= WIDTH;
  }

  /** Forgets the stretches that had begun at `timeMs`. */
  forgetBegunBy(timeMs: number): void {
    const numbers = this.#numbers;
    let count = 0;
    while (count < numbers.length && (numbers[count] ?? 0) <= timeMs) count += WIDTH;
    if (count > 0) numbers.splice(0, count);
  }

  /** The stretches, oldest first. */
  stretches(): PastStretch[] {
    const stretches: PastStretch[] = [];
    for (let i = 0; i < this.#numbers.length; i += WIDTH) {
      const [startMs = 0, gapSinceMs = 0, overMs = 0, isEnd] = this.#numbers.slice(i, i + WIDTH);
      stretches.push({ startMs, gapSinceMs, overMs, isEnd: isEnd === 1 });
    }
    return stretches;
  }

  /** Events of the stretches that began in the range, both ends exclusive; oldest first. */
  events({ afterMs, beforeMs }: { readonly afterMs: number; readonly beforeMs: number }) {
    const events: RunEvent[] = [];
    for (let i = 0; i < this.#numbers.length; i += WIDTH) {
      const startMs = this.#numbers[i] ?? 0;
      if (startMs <= afterMs || startMs >= beforeMs) continue;
      const [gapSinceMs = 0, overMs = 0, isEnd] = this.#numbers.slice(i + 1, i + WIDTH);
      events.push(startEvent(startMs));
      if (!Number.isNaN(gapSinceMs)) events.push(gapEvent(gapSinceMs));
      if (isEnd === 1) events.push({ type: 'breachEnded', eventMs: overMs });
    }
    return events;
  }
}

/** The event of a run that starts at `eventMs`, Unix ms. */
export function startEvent(eventMs: number): RunEvent {
  return { type: 'breachStarted', eventMs };
}

/** No observation since `sinceMs`, Unix ms. It is a gap from the end of the tolerance on. */
export function gapEvent(sinceMs: number): RunEvent {
  return { type: 'dataMissing', eventMs: sinceMs + GAP_TOLERANCE_MS, sinceMs, reason: 'NO_DATA' };
}
