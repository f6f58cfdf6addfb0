/**
 * The cost of a flood to a project that asks little: its times alone, its times beside the flood,
 * and the verdict. The bound is relative to the quiet times of the same run, so it holds on any
 * machine.
 */
import type { WireAnswer } from './wire.ts';

const WARM_UP_REQUESTS = 5;

/** An answered request. */
export interface Timed {
  readonly tookMs: number;
  readonly answer: WireAnswer;
}

/** Times of one project in one run, in the order of its requests. */
export interface Delays {
  readonly quiet: readonly Timed[];
  readonly beside: readonly Timed[];
}

export interface Pace {
  /** Number of requests in the quiet measurement. */
  readonly quietCount: number;
  /** Interval between requests, ms. A slow answer delays no later request. */
  readonly everyMs: number;
  readonly floodMs: number;
}

/**
 * Measures the quiet times, then the times while `flood` runs. `flood` starts before the first
 * request and gets a signal to stop. Both run once before that, so that threads have started and
 * loaded their code.
 */
export async function measureDelays(
  ask: () => Promise<WireAnswer>,
  flood: (isOver: () => boolean) => Promise<void>,
  { quietCount, everyMs, floodMs }: Pace,
): Promise<Delays> {
  await flood(onceOver());
  for (let i = 0; i < WARM_UP_REQUESTS; i++) await ask();
  const quiet = await requestedSteadily(ask, everyMs, (sent) => sent >= quietCount);
  const endMs = performance.now() + floodMs;
  const isOver = () => performance.now() >= endMs;
  const flooding = flood(isOver);
  const beside = await requestedSteadily(ask, everyMs, isOver);
  await flooding;
  return { quiet, beside };
}

/** Returns true from the second call on. */
function onceOver(): () => boolean {
  let requested = 0;
  return () => requested++ > 0;
}

async function requestedSteadily(
  ask: () => Promise<WireAnswer>,
  everyMs: number,
  isOver: (sent: number) => boolean,
): Promise<Timed[]> {
  const underWay: Promise<Timed>[] = [];
  while (!isOver(underWay.length)) {
    const beganMs = performance.now();
    underWay.push(ask().then((answer) => ({ tookMs: performance.now() - beganMs, answer })));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return await Promise.all(underWay);
}

/** The time within which the given share of the requests was answered, ms. */
function percentile(timed: readonly Timed[], share: number): number {
  const times = timed.map(({ tookMs }) => tookMs).sort((a, b) => a - b);
  return times[Math.ceil(times.length * share) - 1] ?? 0;
}

/**
 * Why the flood delayed the project too long; undefined if it did not. The 99th percentile must be
 * within twice the quiet one plus one slice.
 */
export function delayProblem({ quiet, beside }: Delays, sliceMs: number): string | undefined {
  const boundMs = 2 * percentile(quiet, 0.99) + sliceMs;
  const isMs = percentile(beside, 0.99);
  if (isMs <= boundMs) return undefined;
  return `the p99 beside the flood is ${isMs.toFixed(0)} ms, more than twice the quiet one plus a slice: ${boundMs.toFixed(0)} ms`;
}

/** The times as text. */
export function displayedDelays({ quiet, beside }: Delays): string {
  const displayed = (timed: readonly Timed[]) =>
    `p50 ${percentile(timed, 0.5).toFixed(1)} ms, p99 ${percentile(timed, 0.99).toFixed(1)} ms of ${timed.length}`;
  return `quiet ${displayed(quiet)}; beside ${displayed(beside)}`;
}
