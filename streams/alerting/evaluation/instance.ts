/**
 * One alert instance as the evaluator holds it: soft state, rebuilt from the log. Its timeline is
 * what the observations say; `told` is what machines and people have been told, which late
 * observations do not take back.
 */
import type { MissingReason } from '../../../machines/alerting/incident.ts';
import type { EvaluationRule, InstanceKey, ObservedValue } from '../../telemetry/entry.ts';
import type { Lane } from './lane.ts';
import { emptyTimeline, type Timeline } from './timeline.ts';
import { type RunWindow, thinWindow } from './window.ts';

/** A rule as evaluated from a marker on. */
export interface RuleInForce {
  readonly rule: EvaluationRule;
  /** Observations before it are not this rule's: it was not in force. -Infinity: since ever. */
  readonly sinceMs: number;
  /** Of telemetry: silence is no breach before it; -Infinity: whenever it began. */
  readonly breachFromMs: number;
  /** VM ids; undefined = every VM of the project. */
  readonly vms: ReadonlySet<string> | undefined;
}

/** Something the timeline did at an observation, with what decided it. */
export interface TimelineEvent {
  readonly kind: 'fired' | 'recoverable';
  readonly observedMs: number;
  /** First observation of the run, Unix ms. */
  readonly startedMs: number;
  readonly value: number;
  readonly window: readonly ObservedValue[];
}

/** A firing that was told. */
export interface ToldIncident {
  /** The observation that completed the run. */
  firedMs: number;
  startedMs: number;
  /** Infinity while it is open. */
  recoveredMs: number;
  corrected: boolean;
}

export interface Told {
  /** Oldest first, the last one may be open; closed ones go when nothing can change them. */
  incidents: ToldIncident[];
  /** Time of the last edge: the next one's is greater, whatever order samples come in. */
  lastAtMs: number;
  /** Why the open incident has no data, and since when; undefined: it has. */
  missing: { readonly reason: MissingReason; readonly sinceMs: number } | undefined;
  /** The open incident's rule cannot be evaluated. */
  failed: boolean;
}

/** The last incident of an instance, as its row has it. Times are Unix ms. */
export interface DecidedIncident {
  /** First breaching observation. */
  readonly startedMs: number;
  /** `observedMs` of the edge that fired it. Absent: late samples can no longer correct it. */
  readonly firedMs?: number;
  /** `observedMs` of the edge that ended it. Absent: it is open. */
  readonly recoveredMs?: number;
  readonly dataMissing: boolean;
  /** Why, and since when; default NO_DATA, and since ever. */
  readonly missingReason?: MissingReason;
  readonly missingSinceMs?: number;
  /** Its rule could not be evaluated. */
  readonly evaluatorFailed?: boolean;
  /** Late samples showed it not to have been. */
  readonly corrected?: boolean;
  /** Of a data center: its silent VMs when it fired, as far as they are known by name. */
  readonly heldVms?: readonly string[];
  /** `atMs` of the instance's last edge. Default: the start of the incident. */
  readonly decidedThrough?: number;
}

export interface Instance {
  readonly rule: RuleInForce;
  lane: Lane;
  /** See `RuleInForce.sinceMs`; later where a rule's catch-up had already settled some. */
  sinceMs: number;
  /** Through the observations that late ones can no longer come before. */
  readonly settled: Timeline;
  /** Through the newest observation. */
  readonly current: Timeline;
  /** Values of the run that `settled` is in. */
  window: RunWindow | undefined;
  told: Told | undefined;
  /**
   * What rows say was decided, until the log has come past it: up to there nothing is told, for all
   * of it has been; from there on this is what was told.
   */
  decided: DecidedIncident | undefined;
  /** Of a data center: VMs that its open incident stands for; undefined: there is none. */
  held: Map<string, number> | undefined;
  /** What fired `current`, while that is not told: its run may be forgotten before it is fresh. */
  untold: TimelineEvent | undefined;
  /** Of this entry, not yet reconciled with `told`. */
  events: TimelineEvent[];
  /** The firing that was open before `events`, if any. */
  before: { readonly firedMs: number; readonly startedMs: number } | undefined;
  touched: boolean;
  /** Why the last observation could not be evaluated; undefined: it could. */
  failure: string | undefined;
  /** A late observation came: `events` are all those after this time, computed again. */
  recomputedFromMs: number | undefined;
}

export function createInstance(rule: RuleInForce, lane: Lane): Instance {
  return {
    rule,
    lane,
    sinceMs: rule.sinceMs,
    settled: emptyTimeline(),
    current: emptyTimeline(),
    window: undefined,
    told: undefined,
    decided: undefined,
    held: undefined,
    untold: undefined,
    events: [],
    before: undefined,
    touched: false,
    failure: undefined,
    recomputedFromMs: undefined,
  };
}

export function keyOf({ rule: { rule }, lane }: Instance): InstanceKey {
  const { project, rule: id, evaluationRevision } = rule;
  const { vm, labels, generation } = lane;
  const key = { project, rule: id, evaluationRevision, vm, labels };
  return generation === undefined ? key : { ...key, generation };
}

/** The told incident that is open, if any. */
export function openIncident({ told }: Instance): ToldIncident | undefined {
  const last = told?.incidents.at(-1);
  return last?.recoveredMs === Number.POSITIVE_INFINITY ? last : undefined;
}

/** Do people believe that it fires? Good observations count then, whatever the timeline says. */
export function isOpenInstance(instance: Instance): boolean {
  return instance.decided !== undefined || openIncident(instance) !== undefined;
}

/** Is what was told of its evaluation's health no longer so? */
export function isHealthChanged({ told, failure }: Instance): boolean {
  return told !== undefined && told.failed !== (failure !== undefined);
}

/** What was observed in [fromMs, toMs]: settled values first, then those of the buffer. */
export function observedIn(
  instance: Instance,
  range: { readonly fromMs: number; readonly toMs: number },
): ObservedValue[] {
  const window: ObservedValue[] = [];
  instance.window?.copy(range, window);
  const { lane } = instance;
  for (let i = lane.settledRows; i < lane.rows.length; i++) {
    const observedMs = lane.rows[i]?.row.observedMs ?? 0;
    const value = lane.values[i] ?? Number.NaN;
    if (observedMs < Math.max(range.fromMs, instance.sinceMs) || observedMs > range.toMs) continue;
    if (!Number.isNaN(value)) window.push({ observedMs, value });
  }
  return thinWindow(window);
}

/** Ends an entry: forgets its events, but for the firing that is still to be told. */
export function concludeEntry(instance: Instance): void {
  const { current, events, untold } = instance;
  const isUntold = current.firing && openIncident(instance) === undefined;
  const isCurrent = ({ kind, observedMs }: TimelineEvent): boolean =>
    kind === 'fired' && observedMs === current.firedMs;
  instance.untold = isUntold ? (events.findLast(isCurrent) ?? untold) : undefined;
  instance.events = [];
  instance.before = undefined;
  instance.recomputedFromMs = undefined;
  instance.touched = false;
}

/** Time of the last edge that rows have, Unix ms. */
export function decidedThroughMs({ decidedThrough, startedMs }: DecidedIncident): number {
  return decidedThrough ?? startedMs;
}
