/**
 * The host as its callers see it: how a change is decided and committed, and how its results are
 * read. The host (`host.ts`) implements it over the committer and the instance store.
 */
import type { MachineName } from '../../../machines/audit/registry.ts';
import type { Effect } from '../../../machines/platform/effects.ts';
import type { ChangeUse } from '../../../streams/platform/commit/change-use.ts';
import type {
  Actor,
  ChainStart,
  Commit,
  InstanceStep,
} from '../../../streams/platform/commit/commit.ts';
import type { DueTimer } from '../../../streams/platform/commit/projection.ts';
import type { Refusal } from '../../../streams/platform/refusal.ts';
import type {
  EventOf,
  InputOf,
  Instance,
  ProjectReads,
  ProjectView,
  RecordKind,
  RecordWrite,
} from './rows.ts';

export type {
  DeliveryFilter,
  DueTimer,
  IncidentFilter,
  IncidentStatus,
  ListOptions,
  Page,
  RecordedTransition,
  TransitionFilter,
} from '../../../streams/platform/commit/projection.ts';
export {
  type ContextOf,
  type EventOf,
  type InputOf,
  type Instance,
  isRecordOf,
  type ProjectReads,
  type ProjectRecord,
  type ProjectView,
  type RecordBodies,
  type RecordKind,
  type RecordWrite,
  recordsOf,
} from './rows.ts';

/** A decision in progress: reads see the earlier changes of the same decision. */
export interface Draft extends ProjectView {
  /** Time of the commit, Unix ms; to be used in events. */
  readonly at: number;
  /** Creates an instance: runs `initialTransition` with `input`. Throws if the id is taken. */
  start<M extends MachineName>(machine: M, instance: string, input: InputOf<M>): StepOutcome<M>;
  /**
   * Runs `transition`. An event that the state does not accept changes nothing: `changed: false`.
   */
  send<M extends MachineName>(machine: M, instance: string, event: EventOf<M>): StepOutcome<M>;
  /** False for a row that a newer program has written: `send` would throw NOT_READY. */
  canMove(machine: MachineName, instance: string): boolean;
  putRecord<K extends RecordKind>(change: RecordWrite<K>): void;
  /** Removes an ended instance's row; its transitions stay. Throws for one that is not final. */
  forget(machine: MachineName, instance: string): void;
  /**
   * Removes the project's commits up to this one, and their transitions. At most once per decision.
   */
  truncate(start: ChainStart): void;
}

/**
 * Result of sending an event; `changed` is false if the machine has no transition for it in its
 * state.
 */
export interface StepOutcome<M extends MachineName = MachineName> {
  readonly instance: Instance<M>;
  readonly changed: boolean;
  /** The machine's effects, already expanded in this decision; for tests and logs. */
  readonly effects: readonly Effect[];
}

/** Client's request id with the digest of its body; see `Submission.request`. */
export interface RequestKey {
  readonly scope: string;
  readonly id: string;
  readonly fingerprint: string;
}

/** One change, decided at the head of its project. */
export interface Submission<T> {
  readonly project: string;
  readonly by: Actor;
  /**
   * true: it creates a credential. If an audit sink is required, it is held back like changes by
   * people, whatever the kind of `by`.
   */
  readonly makesCredential?: boolean;
  /** Makes an exact resend get the same response; see `Decision.request`. */
  readonly request?: RequestKey;
  /**
   * Decides synchronously, on the project's head. May run again after a conflict. Throw a `Refusal`
   * to refuse: no part of the decision is committed. If the submission has a `request`, the
   * returned response must be JSON and hold no secret.
   */
  decide(draft: Draft): T;
}

/** A change that is decided but not yet committed, as seen by admission. */
export interface ProposedChange {
  /** The caller that submitted it. The same object when it is decided again. */
  readonly submission: Pick<Submission<unknown>, 'by' | 'request'>;
  /** The project, including the proposed change. */
  readonly view: ProjectView;
  /** Time of the commit, Unix ms. */
  readonly at: number;
  readonly steps: readonly InstanceStep[];
  /** Its use of the project's daily limits. */
  readonly use: ChangeUse;
  /** Use of the project on this day, including earlier changes of the batch. */
  readonly used: ChangeUse;
}

/** Whether a change may be committed; called for each, so it must be cheap and synchronous. */
export interface ChangeAdmission {
  /** Undefined: the change may be committed. */
  refusalOf(change: ProposedChange): Refusal | undefined;
}

/** Response of a decision whose commit is durable and applied on this node. */
export interface Committed<T> {
  readonly answer: T;
  /** Position in EVENTS: `svc-sequence`. */
  readonly sequence: number;
  /** true: the request had already been committed; `answer` is the recorded one. */
  readonly replayed: boolean;
}

/** Expands an effect, inside the decision, into further steps and records. */
export type EffectExpander = (effect: Effect, source: Instance, draft: Draft) => void;

/**
 * The one way in which state changes. Reads see the state applied here, which may be a moment
 * behind other nodes.
 */
export interface Host {
  /**
   * Resolves once the decision's commit is durable and applied here. Throws the `Refusal` that
   * `decide` threw, `RequestIdReused`, or `StreamUnavailable` (nothing acknowledged; resend the
   * same request).
   */
  submit<T>(submission: Submission<T>): Promise<Committed<T>>;
  view(project: string): ProjectReads;
  /** Changes of callers in the project today, as applied here. */
  changeUse(project: string): ChangeUse;
  /** Every project that has a commit, `_system` included. */
  projects(): readonly string[];
  /** Any project's instance by its globally unique id, e.g. to look up credentials. */
  findInstance<M extends MachineName>(machine: M, instance: string): Instance<M> | undefined;
  /**
   * Instances of every project that are not in a final state: memberships of a person, by the
   * person's id, or invitations to an address. In the order of their projects.
   */
  findInstancesOf<M extends 'membership' | 'invitation'>(
    machine: M,
    subject: string,
  ): readonly Instance<M>[];
  /** Timers due at `nowMs`, earliest first, at most `limit`. */
  dueTimers(nowMs: number, limit: number): readonly DueTimer[];
  /** Earliest due time of any timer, Unix ms. */
  nextTimerDueMs(): number | undefined;
  /**
   * Calls `listener` after each commit has been applied, in order; it must not throw. Returns a
   * function that removes it.
   */
  onApplied(listener: (applied: { commit: Commit; sequence: number }) => void): () => void;
  /** Position in EVENTS up to which this node has applied. */
  appliedSequence(): number;
  /** Resolves once this node has applied `sequence` (read your writes). Rejects on `signal`. */
  waitFor(sequence: number, signal: AbortSignal): Promise<void>;
}
