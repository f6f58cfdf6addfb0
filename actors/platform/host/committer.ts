/**
 * One project's writer on this node. Gathers what is submitted while the last commit is under way
 * into the next one (an idle project commits at once), and has one append in flight: the successor
 * is decided on top of what is applied.
 *
 * When is an append a success? When the head, as applied from the stream, has come to its number
 * and is one of ours; never before. Until then the same bytes can be appended again at will: two
 * commits with one predecessor cannot both count. Once the head of that number is another's, ours
 * is dead for ever, wherever it may still turn up, and the batch is decided again under a new
 * commit id (the old one would be taken for a copy). A late arrival of an append that was given up
 * is dealt with by the same rule, and by the request ids in it.
 */
import type { InstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { eventsSubject } from '../../../streams/platform/commit/events.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { fraction, type Random, ulid } from '../../../streams/platform/random.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { type Stream, StreamUnavailable } from '../../../streams/platform/stream.ts';
import type { TimeSlices } from '../time-slices.ts';
import type { Applier } from './applier.ts';
import {
  type AnySubmission,
  type Batch,
  decideBatch,
  requestIdReused,
  type Verdict,
} from './batch.ts';
import type { HostCounters } from './counters.ts';
import type { Interpretation } from './draft.ts';
import type { Committed } from './host-port.ts';
import { publishCommit } from './publish.ts';

export interface CommitterOptions extends Interpretation {
  readonly stream: Stream;
  readonly store: InstanceStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly applier: Applier;
  readonly slices: TimeSlices;
  readonly counters: HostCounters;
  /** Name of this node: `writer` of its commits. */
  readonly node: string;
}

/** Submissions waiting in a project at most: 10,000 instances firing at once fit. */
const QUEUE_MAX = 20_000;
/** Batches lost to other nodes in a row before the caller is refused and may retry. */
const CONFLICTS_MAX = 100;
/** From so many conflicts on, writers step aside for a moment, so that they do not keep step. */
const CONFLICTS_AT_ONCE = 2;
const CONFLICT_PAUSE_MS_MAX = 20;

interface Pending {
  readonly submission: AnySubmission;
  readonly resolve: (committed: Committed<unknown>) => void;
  readonly reject: (error: unknown) => void;
}

interface InFlight {
  readonly fingerprint: string;
  readonly committed: Promise<Committed<unknown>>;
}

export class Committer {
  readonly #project: string;
  readonly #options: CommitterOptions;
  readonly #subject: string;
  #queue: Pending[] = [];
  readonly #requests = new Map<string, InFlight>();
  #running: Promise<void> | undefined;

  constructor(project: string, options: CommitterOptions) {
    this.#project = project;
    this.#options = options;
    this.#subject = eventsSubject(project);
  }

  /**
   * Queues a submission; see `Host.submit`. The same request submitted again meanwhile joins the
   * first; throws `Refusal` REQUEST_ID_REUSED for another request with its id, and
   * TOO_MANY_REQUESTS when the queue is full.
   */
  submit(submission: AnySubmission): Promise<Committed<unknown>> {
    const { request } = submission;
    if (request === undefined) return this.#enqueue(submission);
    const key = JSON.stringify([request.scope, request.id]);
    const before = this.#requests.get(key);
    if (before) {
      if (before.fingerprint !== request.fingerprint) throw requestIdReused(request.id);
      return before.committed.then((committed) => ({ ...committed, replayed: true }));
    }
    const committed = this.#enqueue(submission);
    this.#requests.set(key, { fingerprint: request.fingerprint, committed });
    const leave = (): void => void this.#requests.delete(key);
    committed.then(leave, leave);
    return committed;
  }

  /** Resolves once everything submitted so far is settled. */
  async idle(): Promise<void> {
    await this.#running;
  }

  #enqueue(submission: AnySubmission): Promise<Committed<unknown>> {
    if (this.#queue.length >= QUEUE_MAX) {
      this.#options.counters.queueFull++;
      throw new Refusal(
        'TOO_MANY_REQUESTS',
        `Project ${this.#project} has ${QUEUE_MAX} changes waiting: try again in a second`,
      );
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ submission, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // What else is submitted in this very turn belongs into the same commit.
    await Promise.resolve();
    for (let conflicts = 0; this.#queue.length > 0; ) {
      await this.#options.slices.yieldIfDue();
      try {
        conflicts = (await this.#commitNext()) ? 0 : conflicts + 1;
        if (conflicts > 0) await this.#stepAside(conflicts);
      } catch (error) {
        // A fault in committing itself: there is no better answer for anybody in the queue.
        this.#options.counters.decisionFaults++;
        this.#rejectAll(this.#queue.splice(0), error);
      }
    }
    this.#running = undefined;
  }

  /** Commits the next batch. @returns false when another node was faster and it is still queued */
  async #commitNext(): Promise<boolean> {
    const { store, counters } = this.#options;
    const batch = this.#decide();
    const taken = this.#queue.splice(0, batch.verdicts.length);
    if (batch.encoded === undefined) {
      this.#settle(taken, batch, store.lastSequence(this.#project));
      return true;
    }
    let sequence: number | undefined;
    try {
      sequence = await publishCommit({ ...this.#options, subject: this.#subject }, batch.encoded);
    } catch (error) {
      if (error instanceof StreamUnavailable) counters.unavailable++;
      this.#giveUp(taken, batch, error);
      return true;
    }
    if (sequence === undefined) {
      counters.conflicts++;
      this.#queue.unshift(...taken);
      return false;
    }
    counters.commits++;
    counters.decisions += batch.decisions.length;
    this.#settle(taken, batch, sequence);
    return true;
  }

  #decide(): Batch {
    const { store, clock, random, node, machines, expand, slices } = this.#options;
    const head = store.head(this.#project);
    const now = clock.now();
    const context = {
      machines,
      expand,
      head,
      view: store.view(this.#project),
      request: (scope: string, id: string) => store.request(this.#project, scope, id),
      at: Math.max(Math.floor(now), head.at),
      id: ulid(now, random),
      writer: node,
      isSpent: () => slices.isSpent(),
    };
    return decideBatch(context, submissionsOf(this.#queue));
  }

  #settle(taken: readonly Pending[], batch: Batch, sequence: number): void {
    for (const [i, pending] of taken.entries()) {
      const verdict = batch.verdicts[i];
      if (verdict) this.#answer(pending, verdict, sequence);
    }
  }

  #answer({ resolve, reject }: Pending, verdict: Verdict, sequence: number): void {
    if (verdict.kind === 'rejected') {
      if (verdict.fault) this.#options.counters.decisionFaults++;
      reject(verdict.error);
    } else if (verdict.kind === 'replayed') {
      resolve({ answer: verdict.answer, sequence: verdict.sequence, replayed: true });
    } else resolve({ answer: verdict.answer, sequence, replayed: false });
  }

  /** The batch's fate is unknown: only what had been committed before can be answered. */
  #giveUp(taken: readonly Pending[], batch: Batch, error: unknown): void {
    for (const [i, pending] of taken.entries()) {
      const verdict = batch.verdicts[i];
      if (verdict?.kind === 'replayed') this.#answer(pending, verdict, verdict.sequence);
      else pending.reject(error);
    }
  }

  #rejectAll(taken: readonly Pending[], error: unknown): void {
    for (const { reject } of taken) reject(error);
  }

  async #stepAside(conflicts: number): Promise<void> {
    if (conflicts >= CONFLICTS_MAX) {
      const message = `Project ${this.#project} is being changed by other nodes all the time`;
      this.#options.counters.unavailable++;
      this.#rejectAll(this.#queue.splice(0), new StreamUnavailable(message, 'refused'));
      return;
    }
    if (conflicts < CONFLICTS_AT_ONCE) return;
    const { clock, random } = this.#options;
    await pause(clock, fraction(random) * Math.min(2 ** conflicts, CONFLICT_PAUSE_MS_MAX));
  }
}

/** One by one: a batch takes a few hundred of what may be thousands. */
function* submissionsOf(queue: readonly Pending[]): Generator<AnySubmission> {
  for (const pending of queue) yield pending.submission;
}
