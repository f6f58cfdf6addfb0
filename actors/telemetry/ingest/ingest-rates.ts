/**
 * Write rates of a project: samples and request bytes a second, a token bucket each. A bucket holds
 * ten seconds' worth: rows that a sender kept through an outage arrive faster than they were
 * observed, and no project occupies the disk and the main thread alone. A write is accepted or
 * refused whole; a refusal says after how many seconds it can be retried.
 */
import type { Clock } from '../../../streams/platform/clock.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { ProjectLimits } from '../../platform/project-limits.ts';

/** Size of a bucket, in seconds of its rate. */
const BURST_SECONDS = 10;
/** Longest wait that a refusal names: the operator may give the project more meanwhile. */
const RETRY_AFTER_SECONDS_MAX = 600;

type RateName = 'samplesPerSecond' | 'ingestBytesPerSecond';

const WORDS: Readonly<Record<RateName, string>> = {
  samplesPerSecond: 'samples',
  ingestBytesPerSecond: 'bytes',
};

export interface IngestRatesOptions {
  readonly clock: Pick<Clock, 'elapsed'>;
  readonly limits: (project: string) => Pick<ProjectLimits, RateName>;
  /** Called for each refused write. */
  readonly onRefusal?: (limit: RateName) => void;
}

export class IngestRates {
  readonly #options: IngestRatesOptions;
  readonly #meters: Readonly<Record<RateName, Map<string, Meter>>> = {
    samplesPerSecond: new Map(),
    ingestBytesPerSecond: new Map(),
  };

  constructor(options: IngestRatesOptions) {
    this.#options = options;
  }

  /** Checks before a body is read. Throws a `Refusal` TOO_MANY_REQUESTS; counts nothing. */
  checkBytes(project: string, bytes: number): void {
    this.#check('ingestBytesPerSecond', project, bytes);
  }

  /** Counts an accepted body. */
  spendBytes(project: string, bytes: number): void {
    this.#meter('ingestBytesPerSecond', project).spend(bytes);
  }

  /** Reverts the count of a body that did not arrive. */
  returnBytes(project: string, bytes: number): void {
    this.#meter('ingestBytesPerSecond', project).giveBack(bytes);
  }

  /**
   * Checks and counts samples before a write is stored. Throws a `Refusal` TOO_MANY_REQUESTS,
   * counting nothing.
   */
  takeSamples(project: string, count: number): void {
    this.#check('samplesPerSecond', project, count);
    this.#meter('samplesPerSecond', project).spend(count);
  }

  /** Current rate of the project, per second, on average over the last ten seconds, rounded. */
  used(project: string): Record<RateName, number> {
    return {
      samplesPerSecond: this.#meter('samplesPerSecond', project).rate(),
      ingestBytesPerSecond: this.#meter('ingestBytesPerSecond', project).rate(),
    };
  }

  #check(name: RateName, project: string, amount: number): void {
    const perSecond = this.#options.limits(project)[name];
    const waitMs = this.#meter(name, project).waitMs(amount, perSecond);
    if (waitMs === 0) return;
    this.#options.onRefusal?.(name);
    const seconds = Math.min(Math.ceil(waitMs / 1000), RETRY_AFTER_SECONDS_MAX);
    throw new Refusal(
      'TOO_MANY_REQUESTS',
      `projects/${project} writes more than ${perSecond} ${WORDS[name]} a second: keep this batch and send it again in ${seconds} s, or ask the operator for more`,
      { limit: name, retryAfterSeconds: String(seconds) },
    );
  }

  #meter(name: RateName, project: string): Meter {
    const meters = this.#meters[name];
    let meter = meters.get(project);
    if (meter === undefined) {
      meter = new Meter(this.#options.clock);
      meters.set(project, meter);
    }
    return meter;
  }
}

/** One bucket, and what went through it lately. */
class Meter {
  readonly #clock: Pick<Clock, 'elapsed'>;
  /** Amount taken and not yet refilled; the bucket is empty when it equals its size. */
  #spent = 0;
  #filledAtMs: number;
  /** Of the ten seconds that began last, and of those before. */
  #window = { startMs: 0, amount: 0, before: 0 };

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#clock = clock;
    this.#filledAtMs = clock.elapsed();
    this.#window.startMs = this.#filledAtMs;
  }

  /**
   * Time until this much may be taken, ms; 0 = now. More than a bucket holds may be taken when it
   * is full.
   */
  waitMs(amount: number, perSecond: number): number {
    this.#fill(perSecond);
    const size = perSecond * BURST_SECONDS;
    const missing = this.#spent + Math.min(amount, size) - size;
    if (perSecond === 0) return Number.POSITIVE_INFINITY;
    return missing <= 0 ? 0 : (missing / perSecond) * 1000;
  }

  spend(amount: number): void {
    this.#spent += amount;
    this.#turnWindow();
    this.#window.amount += amount;
  }

  giveBack(amount: number): void {
    this.#spent = Math.max(0, this.#spent - amount);
    this.#window.amount = Math.max(0, this.#window.amount - amount);
  }

  rate(): number {
    const share = this.#turnWindow() / (BURST_SECONDS * 1000);
    const { amount, before } = this.#window;
    return Math.round((amount + before * (1 - share)) / BURST_SECONDS);
  }

  #fill(perSecond: number): void {
    const nowMs = this.#clock.elapsed();
    this.#spent = Math.max(0, this.#spent - ((nowMs - this.#filledAtMs) / 1000) * perSecond);
    this.#filledAtMs = nowMs;
  }

  /** Begins another window if this one is over. @returns the time since its start, ms */
  #turnWindow(): number {
    const windowMs = BURST_SECONDS * 1000;
    const nowMs = this.#clock.elapsed();
    const sinceMs = nowMs - this.#window.startMs;
    if (sinceMs < windowMs) return sinceMs;
    const before = sinceMs < 2 * windowMs ? this.#window.amount : 0;
    const startMs = nowMs - (sinceMs % windowMs);
    this.#window = { startMs, amount: 0, before };
    return nowMs - startMs;
  }
}
