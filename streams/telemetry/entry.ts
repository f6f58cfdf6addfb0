/**
 * Input and output of the evaluator. A partition's SAMPLES log has three kinds of entry. The fold
 * `(state, entry) -> edges` over them is pure, and live evaluation, restart, replay and preview all
 * run it, so it is always known which samples a rule's revision saw.
 */
import type { RunEvent } from '../../machines/alerting/alert-instance-path.ts';
import type { MissingReason } from '../../machines/alerting/incident.ts';
import type { SampleBatch, VmRef } from './samples/batch.ts';

/** Comparisons of a value with a threshold, by their names in the API. */
export const OPERATORS = [
  'GREATER_THAN',
  'GREATER_THAN_OR_EQUAL',
  'LESS_THAN',
  'LESS_THAN_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
] as const;

/** One of `OPERATORS`. */
export type Operator = (typeof OPERATORS)[number];

/**
 * The part of a rule that the evaluator needs; everything else (name, destinations) is not
 * included.
 */
export interface EvaluationRule {
  readonly project: string;
  /** The rule's id (UUID). */
  readonly rule: string;
  /** Increases with every edit that changes the evaluation, and with each resume after a pause. */
  readonly evaluationRevision: number;
  readonly metricId: string;
  readonly operator: Operator;
  readonly threshold: number;
  readonly sustainedMs: number;
  /** Absent: recovery uses the negation of the condition at `threshold`. */
  readonly recoveryThreshold?: number;
  /** Required time span of good samples, ms; 0 = one good sample recovers. */
  readonly recoveryMs: number;
  /** VM ids; absent = all current and future VMs of the project. */
  readonly vms?: readonly string[];
  /**
   * Time before which observations are not evaluated, Unix ms: set on a resume after a pause, which
   * begins a new run. Absent: stored samples of the last sustainedMs and tolerance are evaluated
   * first.
   */
  readonly fromMs?: number;
}

/**
 * One entry of a partition's SAMPLES log. Their order is decisive: of samples and rules, of ticks
 * and retirements.
 */
export type LogEntry =
  | { readonly kind: 'batch'; readonly batch: SampleBatch }
  /** Time passes: written by the partition's owner as the reference for gaps. Unix ms. */
  | {
      readonly kind: 'tick';
      readonly atMs: number;
      /** Epoch of the lease under which it was written; see `isStale`. Absent = 0. */
      readonly epoch?: number;
      /** Absent: it could not be created, and the last report still applies. */
      readonly livenessReport?: LivenessReport;
    }
  /** From here on these rules are evaluated, and the removed ids no longer. */
  | {
      readonly kind: 'rules';
      readonly atMs: number;
      /** As in a tick. */
      readonly epoch?: number;
      readonly upserts: readonly EvaluationRule[];
      readonly removals: readonly RuleRemoval[];
      /**
       * Maximum number of evaluated instances from here on; a project that was never named has no
       * bound.
       */
      readonly limits?: readonly ProjectInstances[];
      /** Retired VMs: their observations up to `atMs` are only history. */
      readonly retired?: readonly RetiredVm[];
    };

/** An entry that puts rules into force or ends them. */
export type RulesEntry = LogEntry & { readonly kind: 'rules' };

/**
 * True if the entry was written under an earlier lease than an entry before it in the log: another
 * member took over while it was being written, and every reader ignores the entry.
 * @param epoch epoch of the newest lease under which an entry of the partition was written
 */
export function isStale(entry: LogEntry, epoch: number): boolean {
  return entry.kind !== 'batch' && (entry.epoch ?? 0) < epoch;
}

/** VM liveness across all projects: facts that only the partition's owner can see. */
export interface LivenessReport {
  /** All current outages: data centers many of whose VMs fell silent together. */
  readonly outages: readonly Outage[];
  /** VMs of this partition that are new in a data center since the last report. */
  readonly placed: readonly (VmRef & { readonly datacenter: string })[];
  /** VMs of this partition whose rows are currently rejected because their clocks are ahead. */
  readonly clockAhead: readonly VmRef[];
}

/** VMs of one data center that fell silent together: a single event, not one per VM. */
export interface Outage {
  readonly datacenter: string;
  /**
   * Oldest last observation of the VMs that fell silent together, Unix ms. Those of the others are
   * at most `TOGETHER_MS` later.
   */
  readonly sinceMs: number;
  /** The same for other VMs that fell silent together during the outage, oldest first. */
  readonly laterMs?: readonly number[];
}

/** Ends the evaluation of a rule. */
export interface RuleRemoval {
  readonly project: string;
  readonly rule: string;
  /**
   * The last revision that it ends: markers can be late or duplicated, and a rule resumed since
   * then continues. Absent in markers of an older version: the revision in force.
   */
  readonly evaluationRevision?: number;
}

/** A project's quota of instances, from this position of the log on. */
export interface ProjectInstances {
  readonly project: string;
  /** Maximum number of evaluated instances of the project. */
  readonly instances: number;
}

/**
 * A VM that no longer exists. Its rows up to `atMs` still belong to it, but are no longer
 * evaluated.
 */
export interface RetiredVm {
  readonly project: string;
  readonly vm: string;
  /** Number of retirements of the VM, including this one: later rows belong to a new VM. */
  readonly generation: number;
  /** Unix ms. */
  readonly atMs: number;
}

/** Identity of an alert instance. `labels` is the canonical label part of a series key, or ''. */
export interface InstanceKey {
  readonly project: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly vm: string;
  readonly labels: string;
  /** Number of retirements of the VM before it reappeared. Absent: none. */
  readonly generation?: number;
}

/** One observed value of the rule's metric: an element of a deciding window. */
export interface ObservedValue {
  readonly observedMs: number;
  readonly value: number;
}

/** A change that machines must receive. Everything between edges is soft state of the evaluator. */
export type Edge = EdgeBase &
  (
    | {
        readonly kind: 'fired';
        /** First breaching observation of the run, Unix ms. */
        readonly startedMs: number;
        /** Events below firing that led to it, oldest first: its run is the last one to begin. */
        readonly run: readonly RunEvent[];
        /** The observed samples that decided it, oldest first, thinned to at most 512. */
        readonly window: readonly ObservedValue[];
        /** false: a late sample completed a run that ended in the past; record, do not notify. */
        readonly notify: boolean;
        /**
         * The data center and its silent VMs, for a condition of a whole data center. `key.vm` is
         * '' then.
         */
        readonly held?: { readonly datacenter: string; readonly vms: readonly string[] };
      }
    | {
        readonly kind: 'recovered';
        readonly window: readonly ObservedValue[];
        /** false: the same entry fires the instance again; only that final transition notifies. */
        readonly notify?: false;
      }
    /**
     * The instance is firing and has had no observation since `sinceMs`, for `reason`. Never leads
     * to recovery.
     */
    | {
        readonly kind: 'dataMissing';
        readonly sinceMs: number;
        readonly reason: MissingReason;
      }
    | { readonly kind: 'dataObserved' }
    /** A firing condition of a data center has none of its VMs left: no recovery. */
    | { readonly kind: 'retired' }
    /**
     * The instance is firing and its rule cannot be evaluated, for `reason`. Never leads to
     * recovery.
     */
    | { readonly kind: 'evaluatorFailed'; readonly reason: string }
    | { readonly kind: 'evaluatorHealthy' }
    /** A firing that late samples disprove; no notification is retracted. */
    | {
        readonly kind: 'corrected';
        /** Start of the incident, as reported. */
        readonly startedMs: number;
      }
  );

interface EdgeBase {
  readonly key: InstanceKey;
  /**
   * Event time of the decision, Unix ms: the newest observation at that time, or fractions of a ms
   * later, so that the times of one instance's edges increase strictly. The instance's
   * `decidedThrough` is compared with it. For rules on telemetry, which time decides: the time of
   * the deciding log entry.
   */
  readonly atMs: number;
  /** The deciding observation, Unix ms, if any; earlier than `atMs` if it was late. */
  readonly observedMs?: number;
  /** Value observed at the decision, if any. */
  readonly value?: number;
}

/** Gap tolerance: three sampling intervals of 30 s. */
export const GAP_TOLERANCE_MS = 90_000;

/** Maximum distance of the last observations of VMs that fell silent together, ms. */
export const TOGETHER_MS = 120_000;

/**
 * A sample further behind the watermark of its own series than this, ms, is too late for alerting
 * and changes no decision. See EVAL-05.
 */
export const LATENESS_MS = 300_000;

/** A sample further ahead of the receiver's clock than this, ms, is rejected. */
export const FUTURE_MS = 60_000;

/** Samples are stored within minutes of their observation; later ones are few. */
const STORED_WITHIN_MS = 10 * 60_000;

/** Time in which nearly all samples of an entry were observed, by the time of its storage; Unix ms. */
export function observationRange(storedMs: number) {
  return { fromMs: storedMs - STORED_WITHIN_MS, toMs: storedMs + FUTURE_MS };
}

/**
 * Shortest retention of history, and the age up to which a row is stored, ms. An operator may keep
 * history for longer.
 */
export const RETENTION_MS = 7 * 86_400_000;
