/**
 * One alert instance in the evaluator, and the buffer of the series that it watches: soft state,
 * rebuilt from the log. Each instance's `current` timeline follows the observations. `reported`
 * holds what machines and users were notified of, which late observations do not revert.
 *
 * A rebuilt state also has rows: `decided` is the last incident that an instance's row knows. Edges
 * up to that decision have been committed before and are not repeated. Once the log has passed it,
 * the row's incident becomes the reported one (`takeOver`).
 */
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import type { EvaluationRule, InstanceKey, ObservedValue } from '../../telemetry/entry.ts';
import type { Derivation } from '../../telemetry/metrics/catalogue.ts';
import type { InputRow, ObservedRow } from '../../telemetry/metrics/derive.ts';
import type { PastRuns } from './past-runs.ts';
import { emptyTimeline, type RunWindow, type Timeline, thinWindow } from './timeline.ts';

/** A rule that is active from a marker on. */
export interface RuleInForce {
  readonly rule: EvaluationRule;
  /**
   * Observations before this time do not count, because the rule was not active then. -Infinity:
   * all of them count.
   */
  sinceMs: number;
  /** For rules on telemetry: silence is no breach before this time. -Infinity: it always is. */
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
 * The reported state of an instance, as stored in commits and visible to users. Late observations
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
 * True if a reported incident is open, so that good observations count whatever the timeline says.
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
  const isInLog = isAge
    ? instance.buffer.rows.some(({ row }) => row.observedMs <= firedMs)
    : seen.some((one) => one.firedMs === firedMs);
  const corrected = decided.corrected === true || !isInLog;
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
 * Takes over every decision in rows that was made before the log grew past the part read so far.
 * The rest of the log cannot repeat these. Otherwise a late sample would be mistaken for one that
 * was folded before.
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
