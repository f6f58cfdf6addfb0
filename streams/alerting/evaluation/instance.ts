/**
 * One alert instance in the evaluator, and the buffer of the series that it watches: soft state,
 * rebuilt from the log. Each instance's `current` timeline follows the observations. `reported`
 * holds what machines and users were notified of, which late observations do not revert.
 *
 * A rebuilt state also has rows: `decided` is the last incident that an instance's row knows. Edges
 * up to that decision have been committed before and are not repeated. Once the log has passed it,
 * the row's incident becomes the reported one (`takeOver`).
 */
import type { ObservedEvent, RunEvent } from '../../../machines/alerting/alert-instance-path.ts';
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import {
  type EvaluationRule,
  GAP_TOLERANCE_MS,
  type InstanceKey,
  LATENESS_MS,
  type ObservedValue,
} from '../../telemetry/entry.ts';
import type { Derivation } from '../../telemetry/metrics/catalogue.ts';
import type { InputRow, ObservedRow } from '../../telemetry/metrics/derive.ts';
import {
  BREACH,
  breachAfter,
  emptyTimeline,
  GOOD,
  type RunWindow,
  type Timeline,
  thinWindow,
} from './timeline.ts';

/** A rule, as evaluated from a marker on. */
export interface RuleInForce {
  readonly rule: EvaluationRule;
  /**
   * Observations before it do not count for this rule, which was not active then. -Infinity: from
   * the beginning.
   */
  sinceMs: number;
  /** For telemetry: silence is no breach before this time; -Infinity: whenever it began. */
  breachFromMs: number;
  /** VM ids; undefined = every VM of the project. */
  readonly vms: ReadonlySet<string> | undefined;
}

/** A change of the timeline at an observation, with the samples that decided it. */
export interface TimelineEvent {
  readonly kind: 'fired' | 'recoverable';
  readonly observedMs: number;
  /** First observation of the run, Unix ms. */
  readonly startedMs: number;
  readonly value: number;
  readonly window: readonly ObservedValue[];
}

/** A firing that was reported. */
export interface ReportedIncident {
  /** The observation that completed the run. */
  firedMs: number;
  startedMs: number;
  /** Infinity while it is open. */
  recoveredMs: number;
  corrected: boolean;
}

/**
 * The reported state of an instance, known to commits and through them to users. Late observations
 * change the truth, but not this.
 */
export interface Reported {
  /**
   * Oldest first; the last one may be open. Closed ones are removed when nothing can change them
   * anymore.
   */
  incidents: ReportedIncident[];
  /** Time of the last edge. The next one's is greater, in whatever order samples arrive. */
  lastAtMs: number;
  /** The reason why the open incident has no data, and since when; undefined if it has data. */
  missing: { readonly reason: MissingReason; readonly sinceMs: number } | undefined;
  /** True if the open incident's rule cannot be evaluated. */
  failed: boolean;
}

/** The last incident of an instance, from its row. Times are Unix ms. */
export interface DecidedIncident {
  /** First breaching observation. */
  readonly startedMs: number;
  /** `observedMs` of the edge that fired it. Absent: late samples can no longer correct it. */
  readonly firedMs?: number;
  /** `observedMs` of the edge that ended it. Absent: it is open. */
  readonly recoveredMs?: number;
  readonly dataMissing: boolean;
  /** Reason and start of the missing data; default NO_DATA, without a known start. */
  readonly missingReason?: MissingReason;
  readonly missingSinceMs?: number;
  /** True if its rule could not be evaluated. */
  readonly evaluatorFailed?: boolean;
  /** True if late samples disproved it. */
  readonly corrected?: boolean;
  /** For a data center: its silent VMs when it fired, if known by name. */
  readonly heldVms?: readonly string[];
  /** `atMs` of the instance's last edge. Default: the start of the incident. */
  readonly decidedThrough?: number;
}

/** A row as stored in buffers. */
export interface BufferedRow extends ObservedRow {
  /** The source's counter of rows since its boot. */
  readonly sequence: number;
}

/** One row with the readings of one series. */
export interface BufferedInput extends InputRow {
  readonly row: BufferedRow;
}

/**
 * The newest observations of one series, and the instances that watch it; see `series-buffer.ts`.
 */
export interface SeriesBuffer {
  readonly vm: string;
  readonly metricId: string;
  readonly labels: string;
  /** See `InstanceKey.generation`. */
  readonly generation?: number;
  readonly derivation: Derivation;
  /** Sorted by `row.observedMs`, one row per time; the first `settledRows` (0 or 1) are settled. */
  readonly rows: BufferedInput[];
  /** Derived value of each row; NaN if there is none. */
  readonly values: number[];
  settledRows: number;
  /** Newest observation, and newest with a value, Unix ms; -Infinity before the first. */
  newestMs: number;
  newestValueMs: number;
  /** Time when the newest was received, Unix ms. */
  receivedMs: number;
  instances: Instance[];
  /** A late row arrived, so `current` of its instances must be recomputed. */
  stale: boolean;
  /** Telemetry age only: silence that becomes due within these stretches does not fire. */
  suppressed: readonly Stretch[];
}

/** A span of time, its end exclusive, Unix ms. */
export interface Stretch {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A rule on one series: its timelines, and what was reported. */
export interface Instance {
  readonly rule: RuleInForce;
  buffer: SeriesBuffer;
  /**
   * See `RuleInForce.sinceMs`; later if a rule's catch-up had already settled some observations.
   */
  sinceMs: number;
  /** Through the observations that late ones can no longer precede. */
  readonly settled: Timeline;
  /** Through the newest observation. */
  readonly current: Timeline;
  /** Values of the run that `settled` is in. */
  window: RunWindow | undefined;
  reported: Reported | undefined;
  /**
   * The last incident of the instance's row, until the log has passed it. Up to there, nothing is
   * reported again; from there on, it is the reported one.
   */
  decided: DecidedIncident | undefined;
  /** Data centers only: VMs that the open incident represents; undefined if none is open. */
  held: Map<string, number> | undefined;
  /**
   * The event that fired `current`, until it is reported, because its run may be forgotten before
   * it is fresh.
   */
  unreported: TimelineEvent | undefined;
  /** Newest past runs below firing; undefined for most instances, which never had one. */
  pastRuns: PastRuns | undefined;
  /** Events of this entry, not yet reconciled with `reported`. */
  events: TimelineEvent[];
  /** The firing that was open before `events`, if any. */
  before: { readonly firedMs: number; readonly startedMs: number } | undefined;
  touched: boolean;
  /** The reason why the last observation could not be evaluated; undefined if it could. */
  failure: string | undefined;
  /** A late observation arrived: `events` has all events after this time, recomputed. */
  recomputedFromMs: number | undefined;
}

/**
 * A new instance of a rule on a buffer's series, idle, with nothing reported. The caller adds it to
 * the buffer.
 */
export function createInstance(rule: RuleInForce, buffer: SeriesBuffer): Instance {
  return {
    rule,
    buffer,
    sinceMs: rule.sinceMs,
    settled: emptyTimeline(),
    current: emptyTimeline(),
    window: undefined,
    reported: undefined,
    decided: undefined,
    held: undefined,
    unreported: undefined,
    pastRuns: undefined,
    events: [],
    before: undefined,
    touched: false,
    failure: undefined,
    recomputedFromMs: undefined,
  };
}

/**
 * The identity of an instance, by which its row is found. If the VM was never retired, the
 * generation is absent, as in old rows.
 */
export function keyOf({ rule: { rule }, buffer }: Instance): InstanceKey {
  const { project, rule: id, evaluationRevision } = rule;
  const { vm, labels, generation } = buffer;
  const key = { project, rule: id, evaluationRevision, vm, labels };
  return generation === undefined ? key : { ...key, generation };
}

/** The reported incident that is open, if any. */
export function openIncident({ reported }: Instance): ReportedIncident | undefined {
  const last = reported?.incidents.at(-1);
  return last?.recoveredMs === Number.POSITIVE_INFINITY ? last : undefined;
}

/**
 * True if an incident is open as reported, so that good observations count, whatever the timeline.
 */
export function isOpenInstance(instance: Instance): boolean {
  return instance.decided !== undefined || openIncident(instance) !== undefined;
}

/** True if evaluator health changed since it was last reported. */
export function isHealthChanged({ reported, failure }: Instance): boolean {
  return reported !== undefined && reported.failed !== (failure !== undefined);
}

/** Values observed in [fromMs, toMs]: settled values first, then those of the buffer. */
export function observedIn(
  instance: Instance,
  range: { readonly fromMs: number; readonly toMs: number },
): ObservedValue[] {
  const window: ObservedValue[] = [];
  instance.window?.copy(range, window);
  const { buffer } = instance;
  for (let i = buffer.settledRows; i < buffer.rows.length; i++) {
    const observedMs = buffer.rows[i]?.row.observedMs ?? 0;
    const value = buffer.values[i] ?? Number.NaN;
    if (observedMs < Math.max(range.fromMs, instance.sinceMs) || observedMs > range.toMs) continue;
    if (!Number.isNaN(value)) window.push({ observedMs, value });
  }
  return thinWindow(window);
}

/** Ends an entry: forgets its events, except a firing that must still be reported. */
export function concludeEntry(instance: Instance): void {
  const { current, events, unreported } = instance;
  const isUnreported = current.firing && openIncident(instance) === undefined;
  const isCurrent = ({ kind, observedMs }: TimelineEvent): boolean =>
    kind === 'fired' && observedMs === current.firedMs;
  instance.unreported = isUnreported ? (events.findLast(isCurrent) ?? unreported) : undefined;
  instance.events = [];
  instance.before = undefined;
  instance.recomputedFromMs = undefined;
  instance.touched = false;
}

/** Time of the last edge that rows have, Unix ms. */
export function decidedThroughMs({ decidedThrough, startedMs }: DecidedIncident): number {
  return decidedThrough ?? startedMs;
}

/** The log has passed the row's last decision, so the row's incident becomes the reported one. */
export function takeOver(instance: Instance): void {
  const { decided, current, settled } = instance;
  if (!decided) return;
  instance.decided = undefined;
  const { startedMs, firedMs = startedMs } = decided;
  const isAge = instance.buffer.derivation.from === 'age';
  const recoveredMs = decided.recoveredMs ?? Number.POSITIVE_INFINITY;
  const before = instance.reported?.incidents ?? [];
  const seen = before.filter((one) => one.firedMs <= recoveredMs && firedMs <= one.recoveredMs);
  // The log can disprove only firings that it shows itself.
  const isShown = isAge
    ? instance.buffer.rows.some(({ row }) => row.observedMs <= firedMs)
    : seen.some((one) => one.firedMs === firedMs);
  const corrected = decided.corrected === true || !isShown;
  instance.reported = {
    incidents: [
      ...before.filter((one) => one.recoveredMs < startedMs),
      { startedMs, firedMs, recoveredMs, corrected },
    ],
    lastAtMs: decidedThroughMs(decided),
    missing: missingOf(decided),
    failed: decided.evaluatorFailed === true,
  };
  const isOpen = decided.recoveredMs === undefined && decided.corrected !== true;
  // Telemetry age fires by time, so its timeline follows from the observations alone.
  if (!isOpen || seen.length > 0 || isAge) return;
  for (const timeline of [settled, current]) {
    if (!timeline.firing) Object.assign(timeline, { firing: true, firedMs, startedMs });
  }
}

function missingOf({
  dataMissing,
  missingReason,
  missingSinceMs,
}: DecidedIncident): Reported['missing'] {
  if (!dataMissing) return undefined;
  return {
    reason: missingReason ?? 'NO_DATA',
    sinceMs: missingSinceMs ?? Number.NEGATIVE_INFINITY,
  };
}

/**
 * Takes over the decisions in rows once the log has passed them. Edges of telemetry age have the
 * time of their entry in the log, so that this is known exactly.
 */
export function passDecided({ instances }: SeriesBuffer, nowMs: number): void {
  for (const instance of instances) {
    const { decided } = instance;
    if (decided && nowMs > decidedThroughMs(decided)) takeOver(instance);
  }
}

/**
 * Takes over everything that rows had decided when the log was as long as it has been read by now,
 * because none of it can still follow. Otherwise a late sample would be mistaken for one that was
 * folded before.
 */
export function endReplay(buffers: Iterable<SeriesBuffer>): void {
  for (const buffer of buffers) {
    if (!isAgeBuffer(buffer)) for (const instance of buffer.instances) takeOver(instance);
  }
}

/**
 * True for a buffer whose value is the age of the newest observation, which rules on missing
 * telemetry watch.
 */
export function isAgeBuffer({ derivation }: Pick<SeriesBuffer, 'derivation'>): boolean {
  return derivation.from === 'age';
}

// Edges below firing: the effects of observations, or of their absence, on a run that has not
// fired. Each is an event of the instance's machine with its own time. The events are created only
// when the machine is run over them: on request, and when the instance fires.
//
//     first breach                -> breachStarted
//     gap beyond the tolerance    -> dataMissing, at the end of the tolerance; the first
//     observation
//                                    after it starts the run again, or ends it
//     observation, no breach      -> breachEnded
//
// The timeline has the start of the current run. The instance keeps its newest past runs
// (`past-runs.ts`) until its machine has recorded an incident after them.

/** Maximum events of an instance. Beyond it, the oldest runs are omitted. Some are recorded. */
const RUN_EVENTS_MAX = 16;

/** Keeps a run below firing that an observation ended, or started again after a gap. */
export function rememberRun(
  instance: Instance,
  { startMs, lastMs }: Pick<Timeline, 'startMs' | 'lastMs'>,
  overMs: number,
): void {
  const gapSinceMs = overMs - lastMs > GAP_TOLERANCE_MS ? lastMs : Number.NaN;
  remember(instance, { startMs, gapSinceMs, overMs, isEnd: instance.current.phase !== BREACH });
}

/**
 * Keeps a firing that an observation ended, unless it was reported, because its machine records
 * that.
 */
export function rememberFiring(
  instance: Instance,
  { startedMs: startMs, firedMs }: Pick<Timeline, 'startedMs' | 'firedMs'>,
  overMs: number,
): void {
  if (openIncident(instance)?.firedMs === firedMs) return;
  remember(instance, { startMs, gapSinceMs: Number.NaN, overMs, isEnd: true });
}

/** Keeps a silence that an observation ended before it fired; time alone had started the breach. */
export function rememberSilence(instance: Instance, startMs: number, overMs: number): void {
  remember(instance, { startMs, gapSinceMs: Number.NaN, overMs, isEnd: true });
}

function remember(instance: Instance, stretch: PastStretch): void {
  instance.pastRuns ??= new PastRuns();
  instance.pastRuns.add(stretch);
}

/** Drops the runs before the end of the last incident, which its machine has recorded. */
export function forgetRecorded({ pastRuns, reported }: Instance): void {
  const last = pastRuns && reported?.incidents.at(-1);
  if (last) pastRuns.forgetBegunBy(last.recoveredMs);
}

/**
 * The events that led to the firing just reported: those of the run that began at `startedMs`, and
 * of runs shortly before it that ended without firing. Earlier runs are excluded, so that an
 * evaluator rebuilt from its log finds the same.
 */
export function runBefore(instance: Instance, startedMs: number): readonly RunEvent[] {
  const { pastRuns, reported, current, buffer } = instance;
  const started = startEvent(startedMs);
  // Runs before a silence that time alone has proven may be older than the log.
  const isSilent = isAgeBuffer(buffer) && current.lastMs < startedMs;
  if (!pastRuns || isSilent) return [started];
  const afterMs = reported?.incidents.at(-2)?.recoveredMs ?? Number.NEGATIVE_INFINITY;
  const events = newest([...pastRuns.events({ afterMs, beforeMs: startedMs }), started]);
  const first = events.findIndex(
    ({ eventMs }, i) =>
      eventMs >= startedMs - LATENESS_MS && (i === 0 || events[i - 1]?.type === 'breachEnded'),
  );
  return first < 0 ? [started] : events.slice(first);
}

/** The instance's events as of `nowMs`, from its open incident, or from its newest runs. */
export function eventsOf(instance: Instance, nowMs: number): readonly ObservedEvent[] {
  const { decided, reported, buffer } = instance;
  const incident = decided ?? reported?.incidents.at(-1);
  const recoveredMs = incident?.recoveredMs ?? Number.POSITIVE_INFINITY;
  if (incident && recoveredMs === Number.POSITIVE_INFINITY) {
    return [startEvent(incident.startedMs), sustained(incident)];
  }
  const events = pastEvents(instance, incident ? recoveredMs : Number.NEGATIVE_INFINITY);
  const startMs = runStart(instance, nowMs);
  if (startMs === undefined) return newest(events);
  const newestEvents = newest([...events, startEvent(startMs)]);
  const lastMs = buffer.newestValueMs;
  const isGap = !isAgeBuffer(buffer) && nowMs - lastMs > GAP_TOLERANCE_MS;
  return isGap ? [...newestEvents, gapEvent(lastMs)] : newestEvents;
}

/** Events of past runs that began after `afterMs`, oldest first. */
export function pastEvents({ pastRuns }: Instance, afterMs: number): readonly RunEvent[] {
  return pastRuns?.events({ afterMs, beforeMs: Number.POSITIVE_INFINITY }) ?? [];
}

/** Start of the current run; undefined if absent. */
function runStart({ current, rule, buffer }: Instance, nowMs: number): number | undefined {
  // A firing of the past that is not reported yet. Fresh data decides whether it still fires.
  if (current.firing) return current.startedMs;
  if (current.phase === BREACH) return current.startMs;
  if (!isAgeBuffer(buffer) || current.phase !== GOOD) return undefined;
  const { startMs } = breachAfter(current, rule.rule, rule.breachFromMs);
  return nowMs > startMs ? startMs : undefined;
}

/** The newest complete runs that fit into the bound. */
function newest(events: readonly RunEvent[]): readonly RunEvent[] {
  if (events.length <= RUN_EVENTS_MAX) return events;
  const oldest = events.length - RUN_EVENTS_MAX;
  return events.slice(events.findIndex(({ type }, i) => i >= oldest && type === 'breachStarted'));
}

/** Covers the condition only. The row decides who is notified, and of what. */
function sustained(incident: { startedMs: number; firedMs?: number }): ObservedEvent {
  const { startedMs, firedMs = startedMs } = incident;
  return {
    type: 'sustained',
    eventMs: firedMs,
    startedMs,
    incidentId: '',
    value: null,
    notify: false,
    repeatIntervalMs: 0,
  };
}

/** A stretch that has ended. Times are Unix ms. */
export interface PastStretch {
  /** First breaching observation. */
  readonly startMs: number;
  /** Last observation before a gap; NaN if there was none. */
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
class PastRuns {
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
function startEvent(eventMs: number): RunEvent {
  return { type: 'breachStarted', eventMs };
}

/** No observation since `sinceMs`, Unix ms. It is a gap from the end of the tolerance on. */
function gapEvent(sinceMs: number): RunEvent {
  return { type: 'dataMissing', eventMs: sinceMs + GAP_TOLERANCE_MS, sinceMs, reason: 'NO_DATA' };
}
