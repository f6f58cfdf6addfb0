/**
 * Input and output of the evaluator. A partition's SAMPLES log has three kinds of entry. The fold
 * `(state, entry) -> edges` over them is pure, and live evaluation, restart, replay and preview run
 * the same one: it is always known which samples a rule's revision saw.
 */
import type { RunEvent } from '../../machines/alerting/alert-instance-path.ts';
import type { MissingReason } from '../../machines/alerting/incident.ts';
import type { SampleBatch, VmRef } from './samples/batch.ts';

/** Comparisons of a value with a threshold, under their names in the API. */
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

/** What the evaluator needs of a rule; everything else of it (name, destinations) is not here. */
export interface EvaluationRule {
  readonly project: string;
  /** The rule's id (UUID). */
  readonly rule: string;
  /** Rises with every edit that changes what is evaluated, and with each resume after a pause. */
  readonly evaluationRevision: number;
  readonly metricId: string;
  readonly operator: Operator;
  readonly threshold: number;
  readonly sustainedMs: number;
  /** Absent: recovery uses the negation of the condition at `threshold`. */
  readonly recoveryThreshold?: number;
  /** Good samples must span so much; 0 = one good sample recovers. */
  readonly recoveryMs: number;
  /** VM ids; absent = all current and future VMs of the project. */
  readonly vms?: readonly string[];
  /**
   * Observations before it are not evaluated, Unix ms: set on a resume after a pause, which begins
   * a new run. Absent: stored samples of the last sustainedMs and tolerance are caught up.
   */
  readonly fromMs?: number;
}

/**
 * One entry of a partition's SAMPLES log. Their order decides: of samples and rules, of ticks and
 * retirements.
 */
export type LogEntry =
  | { readonly kind: 'batch'; readonly batch: SampleBatch }
  /** Time passes: written by the partition's owner, what gaps are measured against. Unix ms. */
  | {
      readonly kind: 'tick';
      readonly atMs: number;
      /** Epoch of the lease under which it was written; see `isStale`. Absent = 0. */
      readonly epoch?: number;
      /** Absent: it could not be made, and the last report still holds. */
      readonly livenessReport?: LivenessReport;
    }
  /** From here on these rules are evaluated, and those ids no longer. */
  | {
      readonly kind: 'rules';
      readonly atMs: number;
      /** As a tick's. */
      readonly epoch?: number;
      readonly upserts: readonly EvaluationRule[];
      readonly removals: readonly RuleRemoval[];
      /** Instances that may be evaluated from here on; a project never named has no bound. */
      readonly limits?: readonly ProjectInstances[];
      /** Retired VMs: observations of them up to `atMs` are history alone. */
      readonly retired?: readonly RetiredVm[];
    };

/** An entry that puts rules in force, or ends them. */
export type RulesEntry = LogEntry & { readonly kind: 'rules' };

/**
 * Was it written under an earlier lease than an entry before it in the log? Its writer was on its way
 * when another member took over: the entry counts for nobody.
 * @param epoch of the newest lease under which an entry of the partition was written
 */
export function isStale(entry: LogEntry, epoch: number): boolean {
  return entry.kind !== 'batch' && (entry.epoch ?? 0) < epoch;
}

/** VM liveness across all projects: facts that only the partition's owner can see, across all VMs. */
export interface LivenessReport {
  /** Data centers many of whose VMs fell silent together; all that are so now. */
  readonly outages: readonly Outage[];
  /** VMs of this partition that are new in a data center since the last report. */
  readonly placed: readonly (VmRef & { readonly datacenter: string })[];
  /** VMs of this partition whose rows are refused now: their clocks are ahead. */
  readonly clockAhead: readonly VmRef[];
}

/** VMs of one data center that fell silent together, which is one event and not one for each VM. */
export interface Outage {
  readonly datacenter: string;
  /**
   * Oldest of the last observations of those that fell silent together, Unix ms. The others' lie no
   * more than `TOGETHER_MS` behind it.
   */
  readonly sinceMs: number;
  /** The same of others that fell silent together while it lasted, oldest first. */
  readonly laterMs?: readonly number[];
}

/** Ends the evaluation of a rule. */
export interface RuleRemoval {
  readonly project: string;
  readonly rule: string;
  /**
   * The last revision that it ends: markers can come late or twice, and one that was resumed since
   * goes on. Absent in markers of an older version: whichever is in force.
   */
  readonly evaluationRevision?: number;
}

/** A project's quota of instances, from this place of the log on. */
export interface ProjectInstances {
  readonly project: string;
  /** How many of the project's instances are evaluated at most. */
  readonly instances: number;
}

/** A VM that is gone. Its rows up to `atMs` still belong to it, and are evaluated no more. */
export interface RetiredVm {
  readonly project: string;
  readonly vm: string;
  /** How often the VM was retired, this time included: rows after it belong to a new VM. */
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
  /** How often the VM was retired before it came back. Absent: never. */
  readonly generation?: number;
}

/** One observed value of the rule's metric: what a deciding window is made of. */
export interface ObservedValue {
  readonly observedMs: number;
  readonly value: number;
}

/** A change that machines must know. Everything between edges is soft state of the evaluator. */
export type Edge = EdgeBase &
  (
    | {
        readonly kind: 'fired';
        /** First breaching observation of the run, Unix ms. */
        readonly startedMs: number;
        /** What led to it below firing, oldest first: its run is the last one to begin. */
        readonly run: readonly RunEvent[];
        /** The observed samples that decided it, oldest first, thinned to at most 512. */
        readonly window: readonly ObservedValue[];
        /** false: a late sample completed a run that ended in the past; record, do not notify. */
        readonly notify: boolean;
        /** A condition of a whole data center: which, and its silent VMs. `key.vm` is '' then. */
        readonly held?: { readonly datacenter: string; readonly vms: readonly string[] };
      }
    | {
        readonly kind: 'recovered';
        readonly window: readonly ObservedValue[];
        /** false: the same entry fires the instance again; only that final transition notifies. */
        readonly notify?: false;
      }
    /** Firing, and no observation since `sinceMs`, for `reason`. Never leads to recovery. */
    | {
        readonly kind: 'dataMissing';
        readonly sinceMs: number;
        readonly reason: MissingReason;
      }
    | { readonly kind: 'dataObserved' }
    /** A firing data center's condition, and none of the VMs that it holds is left: no recovery. */
    | { readonly kind: 'retired' }
    /** Firing, and its rule cannot be evaluated, for `reason`. Never leads to recovery. */
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
   * Event time (Unix ms) at which it is decided: the newest observation then, or some of a ms later,
   * so that times of one instance's edges grow strictly. The instance's `decidedThrough` compares it.
   * Of rules on telemetry, which time decides: the time of the entry in the log that decided it.
   */
  readonly atMs: number;
  /** The observation that decided it, Unix ms, where there is one; earlier than `atMs` when late. */
  readonly observedMs?: number;
  /** Value observed at the decision, where there is one. */
  readonly value?: number;
}

/** Gap tolerance: three sampling intervals of 30 s. */
export const GAP_TOLERANCE_MS = 90_000;

/** VMs whose last observations lie no further apart fell silent together, ms. */
export const TOGETHER_MS = 120_000;

/**
 * How far behind the watermark of its own series a late sample may be and still change decisions,
 * ms; one beyond it is too late for alerting. See EVAL-05.
 */
export const LATENESS_MS = 300_000;

/** How far ahead of the receiver's clock a sample may be before it is refused. */
export const FUTURE_MS = 60_000;

/** Hosted retention of history. */
export const RETENTION_MS = 7 * 86_400_000;
