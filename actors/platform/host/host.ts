/**
 * The durable interpreter: machines are rows, and every change of one is decided once, here, by
 * `transition()`, committed with its outcome to EVENTS, and applied from there on every node.
 *
 *     submit → committer (one per project): decide on the head → append ─→ EVENTS
 *     view, timers, listeners ← store ← applier: judge by predecessor, upsert ←─┘
 *
 * Deciding, appending and applying are separate even in one process, so that the paths of conflict
 * and of unknown outcome are the same on a laptop as in a cluster.
 */
import type { MachineDefinition } from '../../../machines/platform/definition.ts';
import type {
  EndedInstance,
  EndedPage,
  OldCommit,
} from '../../../sqlite/platform/control/instance-reads.ts';
import type { InstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Actor } from '../../../streams/platform/commit/commit.ts';
import { eventsStream } from '../../../streams/platform/commit/events.ts';
import type { DueTimer } from '../../../streams/platform/commit/projection.ts';
import { TimeSlices } from '../../../streams/platform/operators.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Stream, StreamSpec } from '../../../streams/platform/stream.ts';
import { Applier, type ApplierHealth } from './applier.ts';
import { Committer, type CommitterOptions } from './committer.ts';
import { createCounters, type HostCounters } from './counters.ts';
import { DecisionDraft } from './draft.ts';
import type {
  ChangeAdmission,
  Committed,
  Draft,
  EffectExpander,
  Host,
  Submission,
} from './host-port.ts';
import { typedInstance, typedReads } from './rows.ts';

/**
 * Adapters, machines and the node's name. `expand` turns effects of machines into further steps and
 * records.
 */
export interface HostOptions {
  readonly stream: Stream;
  readonly store: InstanceStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly machines: ReadonlyMap<string, MachineDefinition>;
  readonly expand: EffectExpander;
  /** Name of this node, unique in the deployment: `writer` of its commits. */
  readonly node: string;
  /** Refuses changes beyond the limits of their project. Default: every change may be committed. */
  readonly admission?: ChangeAdmission;
  /**
   * True if this node's clock differs from the cluster's: then a project's time never goes back,
   * because this clock is the one that is behind. Default: never.
   */
  readonly isClockWrong?: () => boolean;
  /** The stream of commits to create or compare. Default: one copy, 30 days. */
  readonly events?: StreamSpec;
}

/** A host with its lifecycle: started once, stopped once. */
export interface RunningHost extends Host {
  /**
   * Creates or checks EVENTS and catches up with it. Rejects with `HistoryMismatch`,
   * `UnknownCommitFormat`, `CommitCorrupt`, `StreamMisconfigured` or `StreamUnavailable`.
   */
  start(): Promise<void>;
  /** Refuses new submissions, settles those accepted, stops reading. Harmless on a second call. */
  stop(): Promise<void>;
  /** For `/readyz`: only `ready` nodes decide. */
  health(): ApplierHealth;
  counters(): Readonly<HostCounters>;
  /**
   * Sends a due timer's event to its instance and removes the timer; `fired: false` if the instance
   * no longer has it.
   */
  fireTimer(timer: DueTimer, by: Actor): Promise<Committed<{ fired: boolean }>>;
  /** The machine's ended instances, in the order of their end. */
  endedBefore(project: string, machine: string, page: EndedPage): EndedInstance[];
  /** The first remaining commits of the project's chain that may be removed, for retention. */
  oldestCommits(project: string, limit: number): OldCommit[];
  /** Time of the latest commit of all projects, Unix ms. */
  latestCommitMs(): number;
  dueTimers(nowMs: number, limit: number, owns?: (project: string) => boolean): DueTimer[];
  nextTimerDueMs(owns?: (project: string) => boolean): number | undefined;
  /** See `InstanceStore.timersSetAfter`. */
  timersSetAfter: InstanceStore['timersSetAfter'];
}

/** The host over its ports; nothing happens before `start`. */
export function createHost(options: HostOptions): RunningHost {
  const { store, machines, stream } = options;
  const slices = new TimeSlices(options.clock);
  const counters = createCounters();
  const applier = new Applier({ ...options, slices, counters });
  const committers = new Committers({ ...options, slices, counters, applier });
  return {
    async start() {
      await stream.ensure(options.events ?? eventsStream());
      await applier.start();
      committers.open();
    },
    async stop() {
      await committers.close();
      await applier.stop();
    },
    health: () => applier.health(),
    counters: () => counters,
    submit: (submission) => committers.submit(submission),
    fireTimer: (timer, by) =>
      committers.submit({
        project: timer.project,
        by,
        decide: (draft) => ({ fired: fire(draft, timer) }),
      }),
    view: (project) => typedReads(machines, store.view(project)),
    changeUse: (project) => store.changeUse(project, options.clock.now()),
    projects: () => store.projects(),
    findInstance(machine, instance) {
      const found = store.findInstance(machine, instance);
      return found && typedInstance(machines, found);
    },
    findInstancesOf: (machine, subject) =>
      store.findInstancesOf(machine, subject).map((found) => typedInstance(machines, found)),
    endedBefore: (project, machine, page) => store.endedBefore(project, machine, page),
    oldestCommits: (project, limit) => store.oldestCommits(project, limit),
    latestCommitMs: () => store.latestCommitMs(),
    dueTimers: (nowMs, limit, owns) => store.dueTimers(nowMs, limit, owns),
    nextTimerDueMs: (owns) => store.nextTimerDueMs(owns),
    timersSetAfter: (sinceMs) => store.timersSetAfter(sinceMs),
    onApplied: (listener) => applier.onApplied(listener),
    appliedSequence: () => applier.position.sequence,
    waitFor: (sequence, signal) => applier.position.waitFor(sequence, signal),
  };
}

function fire(draft: Draft, timer: DueTimer): boolean {
  // Timers belong to the host: its drafts can remove one, other drafts cannot.
  if (!(draft instanceof DecisionDraft)) throw new TypeError('Not a draft of this host');
  return draft.fire(timer) !== undefined;
}

/** The committers of all projects that have written since the start. */
class Committers {
  readonly #options: CommitterOptions;
  readonly #committers = new Map<string, Committer>();
  #open = false;

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  open(): void {
    this.#open = true;
  }

  async close(): Promise<void> {
    this.#open = false;
    for (const committer of this.#committers.values()) await committer.idle();
  }

  async submit<T>(submission: Submission<T>): Promise<Committed<T>> {
    this.#assertReady();
    const { project } = submission;
    let committer = this.#committers.get(project);
    if (committer === undefined) {
      committer = new Committer(project, this.#options);
      this.#committers.set(project, committer);
    }
    // Response of `decide`, or the recorded one: it has the same type in both cases.
    return (await committer.submit(submission)) as Committed<T>;
  }

  #assertReady(): void {
    if (!this.#open) throw new Refusal('NOT_READY', 'This node is starting or stopping');
    if (this.#options.applier.health().state !== 'stopped') return;
    throw new Refusal('NOT_READY', 'This node no longer accepts changes: it has to be restarted');
  }
}
