/**
 * One project's writer on this node. Submissions that arrive while the last commit is in progress
 * are gathered into the next one (an idle project commits at once). It has one append in flight:
 * the successor is decided on top of the applied state.
 *
 * When is an append a success? When the head, as applied from the stream, has reached its number
 * and is one of ours; never before. Until then the same bytes can be appended again at will: two
 * commits with one predecessor cannot both count. Once another commit is the head with that number,
 * ours is void forever, wherever it may still appear, and the batch is decided again under a new
 * commit id (the old one would be taken for a copy). The same rule, and the request ids in it,
 * handle the late arrival of an append that was given up.
 */
import type { InstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import { type Clock, nextTime } from '../../../streams/platform/clock.ts';
import type { EncodedCommit } from '../../../streams/platform/commit/codec.ts';
import { EVENTS_STREAM, eventsSubject } from '../../../streams/platform/commit/events.ts';
import { withDeadline } from '../../../streams/platform/deadline.ts';
import type { TimeSlices } from '../../../streams/platform/operators.ts';
import { pause } from '../../../streams/platform/pause.ts';
import { fraction, type Random, ulid } from '../../../streams/platform/random.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { type Stream, StreamUnavailable } from '../../../streams/platform/stream.ts';
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
import type { ChangeAdmission, Committed } from './host-port.ts';

/** Ports that the writers of all projects share. */
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
  readonly admission?: ChangeAdmission;
  /** See `HostOptions`. */
  readonly isClockWrong?: () => boolean;
}

/**
 * Maximum number of submissions waiting in a project: enough for 10,000 instances that fire at
 * once.
 */
const QUEUE_MAX = 20_000;
/** Consecutive batches lost to other nodes before the caller is refused and may retry. */
const CONFLICTS_MAX = 100;
/** Number of conflicts from which writers pause for a moment, so that they do not stay in step. */
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

/** The writer of one project. Submissions wait here in their order, up to a bound. */
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
   * Queues a submission; see `Host.submit`. A repetition of a queued request joins the first.
   * Throws `Refusal` REQUEST_ID_REUSED for another request with its id, and TOO_MANY_REQUESTS if
   * the queue is full.
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
    // Other submissions of this very turn belong in the same commit.
    await Promise.resolve();
    for (let conflicts = 0; this.#queue.length > 0; ) {
      await this.#options.slices.yieldIfDue();
      try {
        conflicts = (await this.#commitNext()) ? 0 : conflicts + 1;
        if (conflicts > 0) await this.#stepAside(conflicts);
      } catch (error) {
        // A fault in committing itself: no one in the queue can get a better response.
        this.#options.counters.decisionFaults++;
        this.#rejectAll(this.#queue.splice(0), error);
      }
    }
    this.#running = undefined;
  }

  /** Commits the next batch. @returns false if another node was faster and it is still queued */
  async #commitNext(): Promise<boolean> {
    const { store, counters } = this.#options;
    const before = store.head(this.#project).at;
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
    if (batch.encoded.commit.at < before) counters.setBacks++;
    counters.decisions += batch.decisions.length;
    this.#settle(taken, batch, sequence);
    return true;
  }

  #decide(): Batch {
    const { store, clock, random, node, machines, expand, slices, admission } = this.#options;
    const head = store.head(this.#project);
    const now = clock.now();
    const isWrong = this.#options.isClockWrong?.() === true;
    const at = isWrong ? Math.max(Math.floor(now), head.at) : nextTime(head.at, Math.floor(now));
    const context = {
      machines,
      expand,
      head,
      view: store.view(this.#project),
      request: (scope: string, id: string) => store.request(this.#project, scope, id),
      at,
      id: ulid(now, random),
      writer: node,
      isSpent: () => slices.isSpent(),
      ...(admission && { admission }),
      used: () => store.changeUse(this.#project, at),
    };
    return store.reading(() => decideBatch(context, submissionsOf(this.#queue)));
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

  /** The outcome of the batch is unknown: only requests committed earlier can be answered. */
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
      const message = `Project ${this.#project} is being changed by other nodes continuously`;
      this.#options.counters.unavailable++;
      this.#rejectAll(this.#queue.splice(0), new StreamUnavailable(message, 'refused'));
      return;
    }
    if (conflicts < CONFLICTS_AT_ONCE) return;
    const { clock, random } = this.#options;
    await pause(clock, fraction(random) * Math.min(2 ** conflicts, CONFLICT_PAUSE_MS_MAX));
  }
}

/** Yields them one by one: a batch takes a few hundred of possibly thousands. */
function* submissionsOf(queue: readonly Pending[]): Generator<AnySubmission> {
  for (const pending of queue) yield pending.submission;
}

// Adds one commit to the chain, or finds out that it cannot be added: appends, repeats the same
// bytes while the outcome is unknown, and decides by the commits that the applier has read. The
// expected sequence spares the stream a late commit; it decides nothing.

/** Ports for appending one commit. */
export interface PublishOptions {
  readonly stream: Stream;
  readonly store: InstanceStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly applier: Applier;
  readonly counters: HostCounters;
  readonly subject: string;
}

/** Time for which a commit is pursued before its submitters get an unknown outcome, ms. */
const PURSUE_MS = 10_000;
/** Wait for the first response, ms; each further one is twice as long. */
const ANSWER_MS_MIN = 1_500;
const RETRY_MS_MIN = 5;
const RETRY_MS_MAX = 1_000;

/**
 * The commit's position in EVENTS once it is applied here, or undefined if another commit has taken
 * its number forever. Throws `StreamUnavailable` if neither could be found out in time: the commit
 * may still appear, and is then judged like any other.
 */
async function publishCommit(
  options: PublishOptions,
  encoded: EncodedCommit,
): Promise<number | undefined> {
  const { clock, applier } = options;
  applier.expect(encoded);
  try {
    const limit = { ms: PURSUE_MS };
    return await withDeadline(clock, limit, (overdue) => pursue(options, encoded, overdue));
  } finally {
    applier.unexpect(encoded.commit.id);
  }
}

async function pursue(
  options: PublishOptions,
  encoded: EncodedCommit,
  overdue: AbortSignal,
): Promise<number | undefined> {
  const { store, clock, random, counters } = options;
  const { project } = encoded.commit;
  let expected: number | undefined = store.lastSequence(project);
  let silence: StreamUnavailable | undefined;
  for (let tries = 0; ; tries++) {
    if (tries > 0) counters.appendRetries++;
    const answerMs = ANSWER_MS_MIN * 2 ** tries;
    const answer = await append(options, encoded, { expected, answerMs });
    if (answer instanceof StreamUnavailable) {
      if (silence?.outcome !== 'unknown') silence = answer;
      const delayMs = Math.min(RETRY_MS_MIN * 2 ** tries, RETRY_MS_MAX);
      await pause(clock, delayMs * (0.5 + fraction(random)), overdue);
    } else {
      await applied(options, answer.sequence, overdue);
      // Refused although this node has seen everything: a subject emptied by retention expects 0.
      const last = store.lastSequence(project);
      if (!answer.stored) expected = tries > 0 ? undefined : answer.first > last ? 0 : last;
    }
    const fate = fateOf(store, encoded);
    if (fate !== undefined) return fate.sequence;
    if (answer instanceof StreamUnavailable ? overdue.aborted : answer.stored) {
      const why = silence?.message ?? 'the stream says it is stored, but does not hold it';
      const message = `Nothing is known of commit ${encoded.commit.id}: ${why}`;
      throw new StreamUnavailable(message, silence?.outcome ?? 'unknown');
    }
  }
}

/** The stream's response, and the sequence up to which the caller must read to interpret it. */
interface Answer {
  readonly stored: boolean;
  readonly sequence: number;
  /** First sequence that the stream still has; requested only if it did not store. */
  readonly first: number;
}

/** One append; the stream's silence is a possible result. */
async function append(
  { stream, subject }: PublishOptions,
  { bytes, commit }: EncodedCommit,
  { expected, answerMs }: { readonly expected: number | undefined; readonly answerMs: number },
): Promise<Answer | StreamUnavailable> {
  try {
    const outcome = await stream.append({
      stream: EVENTS_STREAM,
      subject,
      data: bytes,
      messageId: commit.id,
      answerMs,
      ...(expected === undefined ? {} : { expectedLastSubjectSequence: expected }),
    });
    if ('sequence' in outcome) return { stored: true, sequence: outcome.sequence, first: 0 };
    const state = await stream.state(EVENTS_STREAM);
    return { stored: false, sequence: state.lastSequence, first: state.firstSequence };
  } catch (error) {
    if (error instanceof StreamUnavailable) return error;
    throw error;
  }
}

async function applied(
  { applier }: PublishOptions,
  sequence: number,
  overdue: AbortSignal,
): Promise<void> {
  try {
    await applier.position.waitFor(sequence, overdue);
  } catch (cause) {
    const message = `EVENTS could not be read up to ${sequence}, where a commit may be`;
    throw new StreamUnavailable(message, 'unknown', { cause });
  }
}

/**
 * Undefined: still open. With a sequence: the commit counts, at that position. Without a sequence:
 * another commit has its number.
 */
function fateOf(
  store: InstanceStore,
  { commit }: EncodedCommit,
): { readonly sequence: number | undefined } | undefined {
  const taken = store.commit(commit.project, commit.number);
  return taken && { sequence: taken.id === commit.id ? taken.sequence : undefined };
}
