/**
 * What callers of the host see: how a change is decided and committed, and how its results are
 * read. The host (`host.ts`) implements it over the committer and the instance store.
 */
import type { StateValueJson } from '../machines/definition.ts';
import type { Effect } from '../machines/effects.ts';
import type { Actor, Commit, RecordChange, TimerRow } from '../streams/commit/commit.ts';

/** A machine instance as the projection has it. */
export interface Instance {
  readonly machine: string;
  readonly version: number;
  readonly instance: string;
  readonly project: string;
  readonly value: StateValueJson;
  readonly context: Readonly<Record<string, unknown>>;
  readonly timers: readonly TimerRow[];
  readonly final: boolean;
  /** Unix ms of the first and of the last step. */
  readonly createdMs: number;
  readonly updatedMs: number;
}

export interface StoredRecord {
  readonly project: string;
  readonly kind: string;
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly sort: string;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** Pass back as `after`; absent on the last page. Valid while things come and go. */
  readonly next?: string;
}

export interface ListOptions {
  readonly limit: number;
  readonly after?: string;
  /** Default false: ascending. */
  readonly descending?: boolean;
}

/** One row of the audit: what the log recorded of a step. */
export interface RecordedTransition {
  /** Position in EVENTS. */
  readonly sequence: number;
  readonly atMs: number;
  readonly by: Actor;
  readonly machine: string;
  readonly instance: string;
  readonly event: Readonly<Record<string, unknown>>;
  readonly from: StateValueJson | null;
  readonly to: StateValueJson;
}

/** Reads of one project's projection: synchronous, consistent within one turn of the event loop. */
export interface ProjectView {
  readonly project: string;
  instance(machine: string, instance: string): Instance | undefined;
  instances(machine: string, options: ListOptions & { final?: boolean }): Page<Instance>;
  record(kind: string, id: string): StoredRecord | undefined;
  records(kind: string, options: ListOptions): Page<StoredRecord>;
  countInstances(machine: string, options: { final: boolean }): number;
  transitions(
    options: ListOptions & { machine?: string; instance?: string },
  ): Page<RecordedTransition>;
}

/** A decision being made: reads see the changes made before them in the same decision. */
export interface Draft extends ProjectView {
  /** Time of the commit, Unix ms: the time to put in events. */
  readonly at: number;
  /** Creates an instance: runs `initialTransition` with `input`. Throws when the id is taken. */
  start(machine: string, instance: string, input: Readonly<Record<string, unknown>>): StepOutcome;
  /** Runs `transition`. An event that the state does not take changes nothing: `changed: false`. */
  send(
    machine: string,
    instance: string,
    event: { type: string; at: number } & Readonly<Record<string, unknown>>,
  ): StepOutcome;
  putRecord(change: RecordChange): void;
}

export interface StepOutcome {
  readonly instance: Instance;
  readonly changed: boolean;
  /** The machine's effects, already expanded in this decision; told for tests and logs. */
  readonly effects: readonly Effect[];
}

export interface Submission<T> {
  readonly project: string;
  readonly by: Actor;
  /** Makes an exact resend answer the same; see `Decision.request`. */
  readonly request?: { readonly scope: string; readonly id: string; readonly fingerprint: string };
  /**
   * Decides, synchronously, from the head. May run again after a conflict. Throw a `Refusal` to
   * refuse: nothing of the decision is committed. The returned answer must be JSON when the
   * submission has a `request`, and hold no secret.
   */
  decide(draft: Draft): T;
}

export interface Committed<T> {
  readonly answer: T;
  /** Position in EVENTS: `svc-sequence`. */
  readonly sequence: number;
  /** true: the request had been committed before; `answer` is the recorded one. */
  readonly replayed: boolean;
}

/** What expands an effect, inside the decision, into further steps and records. */
export type EffectExpander = (effect: Effect, source: Instance, draft: Draft) => void;

export interface Host {
  /**
   * Resolves once the decision's commit is durable and applied here. Throws the `Refusal` that
   * `decide` threw, `RequestIdReused`, or `StreamUnavailable` (nothing acknowledged; resend the
   * same request).
   */
  submit<T>(submission: Submission<T>): Promise<Committed<T>>;
  view(project: string): ProjectView;
  /** Every project that has a commit, `_system` included. */
  projects(): readonly string[];
  /** Any project's instance by its globally unique id: credentials are looked up this way. */
  findInstance(machine: string, instance: string): Instance | undefined;
  /** Timers due at `nowMs`, earliest first, at most `limit`. */
  dueTimers(nowMs: number, limit: number): readonly DueTimer[];
  /** Earliest due time of any timer, Unix ms. */
  nextTimerDueMs(): number | undefined;
  /** Called after each commit has been applied, in order; must not throw. Returns its undo. */
  onApplied(listener: (applied: { commit: Commit; sequence: number }) => void): () => void;
  /** Position in EVENTS up to which this node has applied. */
  appliedSequence(): number;
  /** Resolves once this node has applied `sequence` (read your writes). Rejects on `signal`. */
  waitFor(sequence: number, signal: AbortSignal): Promise<void>;
}

export interface DueTimer extends TimerRow {
  readonly project: string;
  readonly machine: string;
  readonly instance: string;
}
