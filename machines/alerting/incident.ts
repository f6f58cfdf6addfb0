/**
 * The incident: one span of firing of an alert instance, and the arithmetic that changes it. It is
 * kept in the instance's context (the last one stays there after its end), apart from the chart so
 * that the chart reads as a story.
 */
import type { RetireReason } from '../platform/effects.ts';

/**
 * Why a series is silent: unknown, its VM was stopped by its owner, its samples are refused because
 * the VM's clock is ahead, or its whole data center is silent.
 */
export type MissingReason = 'NO_DATA' | 'VM_STOPPED' | 'CLOCK_AHEAD' | 'DATACENTER_STALE';

/** All times are Unix ms; null = has not happened, or was not observed. */
export interface Incident {
  readonly id: string;
  /** 1 for the instance's first incident. */
  readonly ordinal: number;
  /** First breaching observation of the run. */
  readonly startedMs: number;
  /** Time of the decision; later than the samples' time if the evaluator was late. */
  readonly firedMs: number;
  /** The observations that fired it, and that ended it (null: it is open, or was retired). */
  readonly firedObservedMs: number;
  readonly recoveredObservedMs: number | null;
  /** Value observed at the last decision (the firing, then the recovery), and its time. */
  readonly value: number | null;
  readonly valueMs: number | null;
  /** false: fired and recovered in the past; recorded without a notification. */
  readonly notify: boolean;
  readonly recoveredMs: number | null;
  readonly retiredMs: number | null;
  readonly retireReason: RetireReason | null;
  readonly acknowledged: Acknowledgement | null;
  readonly snoozedUntilMs: number | null;
  /** Last observation before the current gap; null = data is observed. */
  readonly dataMissingSinceMs: number | null;
  /** Why nothing is observed; null = data is observed. */
  readonly dataMissingReason: MissingReason | null;
  /** Why the evaluator cannot decide; null = it can. */
  readonly evaluatorError: string | null;
  /** Late samples disproved it; sent notifications are not corrected. */
  readonly correctedAfterNotification: boolean;
  /** Number of reminders so far. */
  readonly repeats: number;
}

/** Who has acknowledged the incident, when, and with which note. */
export interface Acknowledgement {
  readonly by: string;
  readonly atMs: number;
  readonly note: string;
}

/** Facts of a firing from the evaluator. */
export interface Firing {
  /** Unix ms of the commit. */
  readonly at: number;
  /**
   * Event time of the decision, Unix ms: later than that of the deciding sample if that arrived
   * late.
   */
  readonly eventMs: number;
  readonly startedMs: number;
  readonly incidentId: string;
  readonly value: number | null;
  /** Observation time of the deciding sample, Unix ms; absent: `eventMs`. */
  readonly observedMs?: number;
  readonly notify: boolean;
}

/** A fresh incident: the acknowledgement and snooze of the previous one do not carry over. */
export function openIncident(firing: Firing, ordinal: number): Incident {
  const { observedMs = firing.eventMs } = firing;
  return {
    id: firing.incidentId,
    ordinal,
    startedMs: firing.startedMs,
    firedMs: firing.at,
    firedObservedMs: observedMs,
    recoveredObservedMs: null,
    value: firing.value,
    valueMs: firing.value === null ? null : observedMs,
    notify: firing.notify,
    recoveredMs: null,
    retiredMs: null,
    retireReason: null,
    acknowledged: null,
    snoozedUntilMs: null,
    dataMissingSinceMs: null,
    dataMissingReason: null,
    evaluatorError: null,
    correctedAfterNotification: false,
    repeats: 0,
  };
}

/**
 * Ends it by observed good samples. Snooze and gap end with it; the acknowledgement stays recorded.
 */
export function recoverIncident(
  incident: Incident,
  recovery: { at: number; eventMs: number; value: number | null; observedMs?: number },
): Incident {
  const { at, eventMs, value, observedMs = eventMs } = recovery;
  const observed = value === null ? {} : { value, valueMs: observedMs };
  return { ...incident, ...observed, ...ended, recoveredMs: at, recoveredObservedMs: observedMs };
}

/** Ends it without a recovery: its rule or its VM is no longer the same. */
export function retireIncident(
  incident: Incident,
  { at, reason }: { at: number; reason: RetireReason },
): Incident {
  return { ...incident, ...ended, retiredMs: at, retireReason: reason };
}

const ended = {
  snoozedUntilMs: null,
  dataMissingSinceMs: null,
  dataMissingReason: null,
  evaluatorError: null,
} as const;
