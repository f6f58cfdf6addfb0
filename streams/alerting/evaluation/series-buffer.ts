/**
 * The observations of one series: one metric (and label set) of one VM, sorted by time, as far back
 * as a late observation is still accepted. All rules that watch the series share its buffer. Older
 * observations settle: each instance's `settled` timeline absorbs them, and the buffer forgets all
 * except the last, which the next rate needs.
 *
 *     rows  [ base | ................ lateness window ................ newest ]
 *             ^ settled through here                current through here ^
 */
import {
  FUTURE_MS,
  GAP_TOLERANCE_MS,
  LATENESS_MS,
  type ObservedValue,
} from '../../telemetry/entry.ts';
import { derive, newDerived, powerOf, reportsState } from '../../telemetry/metrics/derive.ts';
import {
  type BufferedInput,
  type BufferedRow,
  concludeEntry,
  decidedThroughMs,
  type Instance,
  isAgeBuffer,
  isHealthChanged,
  isOpenInstance,
  observedIn,
  openIncident,
  passDecided,
  type SeriesBuffer,
  type Stretch,
  type TimelineEvent,
  takeOver,
} from './instance.ts';
import { rememberFiring, rememberRun, rememberSilence } from './run-events.ts';
import {
  arrive,
  BREACH,
  breachAfter,
  copyTimeline,
  elapse,
  emptyTimeline,
  FIRED,
  GOOD,
  interrupt,
  isBreach,
  NONE,
  RunWindow,
  type StepOutcome,
  step,
  type Timeline,
  UNCHANGED,
  unevaluable,
} from './timeline.ts';

const NOT_SUPPRESSED: readonly Stretch[] = [];

/**
 * Result of offering a row to a buffer. 'tooLate': further behind the newest than `LATENESS_MS`, so
 * it is left to history. 'conflict': its time already has another value, which stays.
 */
export type Placement = 'placed' | 'duplicate' | 'conflict' | 'tooLate' | 'clockBackwards';

/** An empty buffer for one series. Instances are added as rules arrive. */
export function createBuffer(
  of: Pick<SeriesBuffer, 'vm' | 'metricId' | 'labels' | 'generation' | 'derivation'>,
): SeriesBuffer {
  return {
    ...of,
    rows: [],
    values: [],
    settledRows: 0,
    newestMs: Number.NEGATIVE_INFINITY,
    newestValueMs: Number.NEGATIVE_INFINITY,
    receivedMs: Number.NEGATIVE_INFINITY,
    instances: [],
    stale: false,
    suppressed: NOT_SUPPRESSED,
  };
}

/** An observation, and when it was received. */
export interface Arrival {
  readonly input: BufferedInput;
  readonly receivedMs: number;
  /** See `EvaluationState.aheadFromMs`. */
  readonly aheadFromMs?: number;
}

const derived = newDerived();

/** Inserts an observation at its time. `touch` receives the changed instances. */
export function place(
  buffer: SeriesBuffer,
  arrival: Arrival,
  touch: (instance: Instance) => void,
): Placement {
  const { input, receivedMs } = arrival;
  const { observedMs } = input.row;
  if (isAgeBuffer(buffer)) passDecided(buffer, receivedMs);
  if (observedMs > buffer.newestMs) {
    append(buffer, arrival, touch);
    buffer.receivedMs = receivedMs;
    return 'placed';
  }
  if (isClockBackwards(buffer, arrival)) {
    beginAgain(buffer, touch);
    append(buffer, arrival, touch);
    buffer.receivedMs = receivedMs;
    return 'clockBackwards';
  }
  if (observedMs < buffer.newestMs - LATENESS_MS) return 'tooLate';
  return insert(buffer, input);
}

/** Recomputes `current`, from `settled` over the buffer, after late rows arrived. */
export function refresh(buffer: SeriesBuffer, touch: (instance: Instance) => void): void {
  if (!buffer.stale) return;
  buffer.stale = false;
  const settledMs = settledThrough(buffer);
  const firstMs = buffer.rows[0]?.row.observedMs ?? 0;
  // Without a settled row, the time before the first row is unknown.
  const knownAfterMs = buffer.settledRows > 0 ? settledMs : firstMs - 1;
  for (const instance of buffer.instances) {
    const kept = instance.events.filter(({ observedMs }) => observedMs <= settledMs);
    const { settled } = instance;
    if (kept.length === 0) instance.before = settled.firing ? { ...settled } : undefined;
    instance.events = kept;
    instance.recomputedFromMs ??= knownAfterMs;
    copyTimeline(settled, instance.current);
    instance.pastRuns?.forgetOverAfter(settledMs);
    advanceOverBuffer(buffer, instance);
    touch(instance);
  }
}

function advanceOverBuffer(buffer: SeriesBuffer, instance: Instance): void {
  for (let i = buffer.settledRows; i < buffer.rows.length; i++) {
    const row = buffer.rows[i]?.row;
    if (row && isAgeBuffer(buffer)) advanceAge(instance, row);
    else {
      const value = buffer.values[i] ?? Number.NaN;
      advanceReading(instance, { observedMs: row?.observedMs ?? 0, value });
    }
  }
}

/** Time of the last settled observation; -Infinity if there is none. */
export function settledThrough(buffer: SeriesBuffer): number {
  const base = buffer.settledRows > 0 ? buffer.rows[0] : undefined;
  return base?.row.observedMs ?? Number.NEGATIVE_INFINITY;
}

function append(
  buffer: SeriesBuffer,
  { input, aheadFromMs = Number.POSITIVE_INFINITY }: Arrival,
  touch: (instance: Instance) => void,
): void {
  refresh(buffer, touch);
  const { observedMs } = input.row;
  for (const instance of buffer.instances) {
    const { decided } = instance;
    const isPast = decided && observedMs > decidedThroughMs(decided) && observedMs <= aheadFromMs;
    if (isPast && !isAgeBuffer(buffer)) takeOver(instance);
  }
  const value = derive(buffer.derivation, buffer.rows.at(-1), input, derived);
  const beforeMs = buffer.newestMs;
  buffer.rows.push(input);
  buffer.values.push(value);
  buffer.newestMs = observedMs;
  settleBefore(buffer, observedMs - LATENESS_MS);
  if (isAgeBuffer(buffer)) {
    appendAge(buffer, { row: input.row, beforeMs }, touch);
    return;
  }
  if (Number.isNaN(value)) return;
  buffer.newestValueMs = observedMs;
  const observation = { observedMs, value };
  for (const instance of buffer.instances) {
    const { current, reported } = instance;
    if (!advanceReading(instance, observation)) continue;
    const unreported = current.firing && openIncident(instance) === undefined;
    const missing = reported?.missing !== undefined;
    const changed = unreported || missing || isHealthChanged(instance);
    if (changed || instance.events.length > 0) touch(instance);
  }
}

/** Settles observations before `limitMs`, because no late row is accepted before it. */
function settleBefore(buffer: SeriesBuffer, limitMs: number): void {
  while (buffer.rows.length > buffer.settledRows + 1) {
    const next = buffer.rows[buffer.settledRows];
    if (!next || next.row.observedMs >= limitMs) return;
    settle(buffer, next.row, buffer.values[buffer.settledRows] ?? Number.NaN);
    if (buffer.settledRows === 1) {
      buffer.rows.shift();
      buffer.values.shift();
    }
    buffer.settledRows = 1;
  }
}

function settle(buffer: SeriesBuffer, row: BufferedRow, value: number): void {
  const observation = { observedMs: row.observedMs, value };
  for (const instance of buffer.instances) settleInstance(instance, row, observation);
}

/** Advances `settled` by one observation and keeps the values of its run. */
export function settleInstance(
  instance: Instance,
  row: BufferedRow,
  observation: ObservedValue,
): void {
  if (isAgeBuffer(instance.buffer)) settleAge(instance, row);
  else settleReading(instance, observation);
}

function insert(buffer: SeriesBuffer, input: BufferedInput): Placement {
  const { observedMs } = input.row;
  let at = buffer.rows.length;
  while (at > 0 && (buffer.rows[at - 1]?.row.observedMs ?? 0) > observedMs) at--;
  const same = buffer.rows[at - 1];
  if (same && same.row.observedMs === observedMs) {
    return isSameReading(buffer, same, input) ? 'duplicate' : 'conflict';
  }
  buffer.rows.splice(at, 0, input);
  buffer.values.splice(at, 0, derive(buffer.derivation, buffer.rows[at - 1], input, derived));
  const next = buffer.rows[at + 1];
  if (next) buffer.values[at + 1] = derive(buffer.derivation, input, next, derived);
  const newest = isAgeBuffer(buffer)
    ? buffer.rows.findLastIndex(({ row }) => powerOf(row) !== 'STOPPED')
    : buffer.values.findLastIndex((value) => !Number.isNaN(value));
  buffer.newestValueMs = buffer.rows[newest]?.row.observedMs ?? buffer.newestValueMs;
  buffer.stale = true;
  return 'placed';
}

function isSameReading(buffer: SeriesBuffer, first: BufferedInput, second: BufferedInput): boolean {
  if (isAgeBuffer(buffer)) return true;
  if (reportsState(buffer.derivation) && first.row.state !== second.row.state) return false;
  if (buffer.derivation.from === 'utilization' && !Object.is(first.row.vcpus, second.row.vcpus)) {
    return false;
  }
  if (first.input.keys.join() !== second.input.keys.join()) return false;
  return first.input.slots.every((slot, i) =>
    Object.is(first.row.values[slot], second.row.values[second.input.slots[i] ?? -1]),
  );
}

/**
 * True if a clock went back: the service's if the newest row would be rejected now, the source's if
 * a later row of the same boot was observed earlier. A row of another boot counts as too late,
 * until the known boot has been silent for longer than the tolerance.
 */
function isClockBackwards(buffer: SeriesBuffer, { input, receivedMs }: Arrival): boolean {
  const newest = buffer.rows.at(-1)?.row;
  const { boot, sequence, observedMs } = input.row;
  if (!newest || observedMs === newest.observedMs) return false;
  if (buffer.newestMs > receivedMs + FUTURE_MS) return true;
  if (boot === newest.boot) return sequence > newest.sequence;
  if (boot === '' || observedMs >= buffer.newestMs - LATENESS_MS) return false;
  const knownBoot = buffer.rows.some(({ row }) => row.boot === boot);
  return !knownBoot && receivedMs - buffer.receivedMs > GAP_TOLERANCE_MS;
}

/** The clock went back: all observations settle, and no run continues across it. */
function beginAgain(buffer: SeriesBuffer, touch: (instance: Instance) => void): void {
  refresh(buffer, touch);
  for (const instance of buffer.instances) {
    const incident = openIncident(instance);
    interrupt(instance.current);
    // Earlier firings have no place in the new time, because all observations follow them.
    if (incident) {
      incident.firedMs = Number.NEGATIVE_INFINITY;
      instance.current.firedMs = Number.NEGATIVE_INFINITY;
    } else instance.current.firing = false;
    if (instance.reported) instance.reported.incidents = incident ? [incident] : [];
    copyTimeline(instance.current, instance.settled);
    instance.pastRuns = undefined;
    instance.window = undefined;
    // The rule was already active before the clock went back.
    instance.sinceMs = Number.NEGATIVE_INFINITY;
  }
  buffer.rows.length = 0;
  buffer.values.length = 0;
  buffer.settledRows = 0;
  buffer.newestValueMs = Number.NEGATIVE_INFINITY;
}

// Advances one instance by one observation. `timeline.ts` interprets the sorted observations; here
// the result becomes events of the instance, and the values of a run are kept.
//
//     rule on a reading       each value is a step of the timeline
//     rule on telemetry age   time advances to each observation, which then ends the silence
//
// Silence that only time has proven is reported by ticks (`telemetry-silence.ts`) and not kept
// here, because a later observation may disprove it.

/**
 * Advances `current` by one observation; false if it could have no effect. A rule that cannot be
 * evaluated affects no other rule: its instance stays unchanged, with the reason in `failure`.
 */
function advanceReading(instance: Instance, observation: ObservedValue): boolean {
  const { current, rule } = instance;
  try {
    const quiet = current.phase === NONE && !current.firing && !isOpenOrReported(instance);
    if (quiet && !isBreach(rule.rule, observation.value)) return false;
    advance(instance, observation);
    instance.failure = undefined;
  } catch (error) {
    recordFailure(instance, error);
  }
  return true;
}

/** Records the reason why an observation could not be evaluated. */
export function recordFailure(instance: Instance, error: unknown): void {
  instance.failure = error instanceof Error ? error.message : String(error);
}

/** Advances `current` by one observation and records the result. */
function advance(instance: Instance, observation: ObservedValue): void {
  if (Number.isNaN(observation.value) || observation.observedMs < instance.sinceMs) return;
  const { current, events } = instance;
  const open = isOpenInstance(instance);
  const { firing, firedMs, startedMs } = current;
  const outcome = stepCurrent(instance, observation, open);
  if (outcome === UNCHANGED) return;
  if (events.length === 0 && instance.recomputedFromMs === undefined) {
    instance.before = firing ? { firedMs, startedMs } : undefined;
  }
  events.push(eventOf(instance, outcome, observation));
}

/** Advances `current` by one value, and keeps a run that ends with it. */
export function stepCurrent(
  instance: Instance,
  observation: ObservedValue,
  tracksGood: boolean,
): StepOutcome {
  const { current, rule } = instance;
  const { phase, startMs, lastMs, firing, firedMs, startedMs } = current;
  const outcome = step(current, rule.rule, observation, tracksGood);
  if (firing) {
    if (!current.firing) rememberFiring(instance, { startedMs, firedMs }, observation.observedMs);
  } else if (phase === BREACH && (current.phase !== BREACH || current.startMs !== startMs)) {
    rememberRun(instance, { startMs, lastMs }, observation.observedMs);
  }
  return outcome;
}

function eventOf(
  instance: Instance,
  outcome: StepOutcome,
  { observedMs, value }: ObservedValue,
): TimelineEvent {
  const { startMs } = instance.current;
  return {
    kind: outcome === FIRED ? 'fired' : 'recoverable',
    observedMs,
    startedMs: startMs,
    value,
    window: observedIn(instance, { fromMs: startMs, toMs: observedMs }),
  };
}

/** Advances `settled` by one observation and keeps the values of its run. */
function settleReading(instance: Instance, observation: ObservedValue): void {
  // A rule that could not be evaluated when an observation arrived is not evaluated again.
  if (Number.isNaN(observation.value) || instance.failure !== undefined) return;
  try {
    stepSettled(instance, observation);
  } catch (error) {
    recordFailure(instance, error);
  }
}

function stepSettled(instance: Instance, observation: ObservedValue): void {
  const { observedMs, value } = observation;
  const { settled, rule } = instance;
  const quiet = settled.phase === NONE && !settled.firing && !isOpenOrReported(instance);
  if ((quiet && !isBreach(rule.rule, value)) || observedMs < instance.sinceMs) return;
  const open = isOpenInstance(instance);
  step(settled, rule.rule, observation, open);
  if (!keepsValues(settled, open)) {
    instance.window = undefined;
    return;
  }
  if (instance.window === undefined || settled.startMs === observedMs) {
    instance.window = new RunWindow();
  }
  instance.window.add(observedMs, value);
}

/** Keeps the values of a run that may still fire or be reported, and of one that may recover. */
function keepsValues({ phase }: Timeline, open: boolean): boolean {
  return phase === GOOD || (phase === BREACH && !open);
}

function isOpenOrReported({ reported, decided }: Instance): boolean {
  return reported !== undefined || decided !== undefined;
}

/** Adds an observation newer than all others. `beforeMs` is the time of the newest of those. */
function appendAge(
  buffer: SeriesBuffer,
  { row, beforeMs }: { readonly row: BufferedRow; readonly beforeMs: number },
  touch: (instance: Instance) => void,
): void {
  if (powerOf(row) !== 'STOPPED') buffer.newestValueMs = row.observedMs;
  for (const instance of buffer.instances) {
    const open = openIncident(instance);
    // The firing was reported when time had reached or passed this observation.
    if (open && open.firedMs >= row.observedMs) instance.recomputedFromMs ??= beforeMs;
    advanceAge(instance, row);
    if (open || instance.events.length > 0) touch(instance);
  }
}

/** Advances `current` by one observation and records the effects. */
function advanceAge(instance: Instance, row: BufferedRow): void {
  const { current, rule, events } = instance;
  instance.failure = unevaluable(rule.rule);
  if (instance.failure !== undefined) return;
  const { firing, firedMs, startedMs } = current;
  const record = (event: TimelineEvent): void => {
    if (events.length === 0 && instance.recomputedFromMs === undefined) {
      instance.before = firing ? { firedMs, startedMs } : undefined;
    }
    events.push(event);
  };
  const silentFromMs = silenceBegun(instance, row.observedMs);
  if (passTo(instance, current, row.observedMs)) record(firedByAge(instance));
  const fired = current.firing
    ? { startedMs: current.startedMs, firedMs: current.firedMs }
    : undefined;
  if (!fired && silentFromMs !== undefined) {
    rememberSilence(instance, silentFromMs, row.observedMs);
  }
  if (!arrive(current, rule.rule, observationOf(row), isOpenInstance(instance))) return;
  if (fired) rememberFiring(instance, fired, row.observedMs);
  const { startMs } = current;
  record({
    kind: 'recoverable',
    observedMs: row.observedMs,
    startedMs: startMs,
    value: 0,
    window: [],
  });
}

/** Time when the silence before an observation began to breach; undefined if it did not. */
function silenceBegun(instance: Instance, observedMs: number): number | undefined {
  const { current, rule, sinceMs } = instance;
  if (current.firing || current.phase !== GOOD || observedMs < sinceMs) return undefined;
  const { startMs } = breachAfter(current, rule.rule, rule.breachFromMs);
  return observedMs > startMs ? startMs : undefined;
}

/** Advances `settled` by one observation. */
function settleAge(instance: Instance, row: BufferedRow): void {
  instance.failure = unevaluable(instance.rule.rule);
  if (instance.failure !== undefined) return;
  passTo(instance, instance.settled, row.observedMs);
  arrive(instance.settled, instance.rule.rule, observationOf(row), isOpenInstance(instance));
}

/** An instance joins a buffer that others watch. Only the buffer's observations count. */
export function followFromBase(instance: Instance): void {
  const { buffer, settled, current } = instance;
  copyTimeline(emptyTimeline(), settled);
  copyTimeline(settled, current);
  instance.pastRuns = undefined;
  for (const [i, { row }] of buffer.rows.entries()) {
    if (i >= buffer.settledRows) advanceAge(instance, row);
    else {
      settleAge(instance, row);
      copyTimeline(settled, current);
    }
  }
  // A firing that recovered before the instance joined is not an incident of it.
  concludeEntry(instance);
}

/** The event of a firing that time alone has caused in `current`. */
export function firedByAge({ current }: Instance): TimelineEvent {
  const { firedMs, startedMs, lastMs } = current;
  const value = (firedMs - lastMs) / 1000;
  return { kind: 'fired', observedMs: firedMs, startedMs, value, window: [] };
}

/** Advances time to an observation. Suppressed silence is no firing unless it was reported. */
function passTo(instance: Instance, timeline: Timeline, observedMs: number): boolean {
  // Earlier observations do not belong to the rule. It starts with the last observation before.
  if (observedMs < instance.sinceMs) return false;
  const { rule, breachFromMs } = instance.rule;
  const { dueMs } = breachAfter(timeline, rule, breachFromMs);
  const isSuppressed = instance.buffer.suppressed.some(
    ({ fromMs, untilMs }) => dueMs >= fromMs && dueMs < untilMs,
  );
  const isReported = (): boolean =>
    instance.reported?.incidents.some(({ firedMs }) => firedMs === dueMs) === true;
  if (isSuppressed && !isReported()) return false;
  return elapse(timeline, { rule, breachFromMs }, observedMs);
}

function observationOf(row: BufferedRow) {
  return { observedMs: row.observedMs, reported: powerOf(row) };
}
