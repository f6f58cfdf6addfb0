/**
 * The reader of EVENTS: applies every project's commits to the store, in the stream's order, its
 * own commits like all others. Only here does a writer learn whether its commit counts.
 *
 * The stream is the truth. Each time reading starts, the applier checks that the stream still holds
 * the last message that it has applied. If the stream does not, or if a commit has a format unknown
 * to this program, the node stops applying and deciding, and reports it.
 */
import type { InstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { HistoryMismatch } from '../../../streams/platform/commit/chain.ts';
import {
  CommitCorrupt,
  decodeCommit,
  decodeHeader,
  type EncodedCommit,
  UnknownCommitFormat,
} from '../../../streams/platform/commit/codec.ts';
import type { Commit } from '../../../streams/platform/commit/commit.ts';
import { EVENTS_MISSING, EVENTS_STREAM } from '../../../streams/platform/commit/events.ts';
import type { TimeSlices } from '../../../streams/platform/operators.ts';
import { pause } from '../../../streams/platform/pause.ts';
import {
  type Stream,
  type StreamMessage,
  StreamMissing,
  type StreamRead,
} from '../../../streams/platform/stream.ts';
import type { HostCounters } from './counters.ts';

/** Ports of the applier. */
export interface ApplierOptions {
  readonly stream: Stream;
  readonly store: InstanceStore;
  readonly clock: Clock;
  readonly slices: TimeSlices;
  readonly counters: HostCounters;
}

/** `stopped` needs an operator; everything else is temporary. */
export type ApplierHealth =
  | { readonly state: 'starting' | 'ready' }
  | { readonly state: 'retrying' | 'stopped'; readonly reason: string };

/**
 * Called after a commit has been applied, in the stream's order. An error that it throws is counted
 * and stops nothing.
 */
export type AppliedListener = (applied: { commit: Commit; sequence: number }) => void;

const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 5_000;

/** One per node. It runs until `stop`, and restarts by itself when a read of the stream fails. */
export class Applier {
  readonly position: AppliedPosition;
  readonly #options: ApplierOptions;
  readonly #listeners = new Set<AppliedListener>();
  readonly #own = new Map<string, EncodedCommit>();
  readonly #stop = new AbortController();
  #health: ApplierHealth = { state: 'starting' };
  #read: StreamRead | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ApplierOptions) {
    this.#options = options;
    this.position = new AppliedPosition(options.store.position().applied);
  }

  health(): ApplierHealth {
    return this.#health;
  }

  /**
   * Checks the projection against the stream and catches up with its current content. Rejects with
   * `HistoryMismatch`, `UnknownCommitFormat`, `CommitCorrupt`, or if the stream is unavailable.
   */
  async start(): Promise<void> {
    const { stream, store } = this.#options;
    const state = await stream.state(EVENTS_STREAM);
    try {
      store.bind(state.identity);
      await this.#verifyPosition();
    } catch (error) {
      if (isFatal(error)) this.#fail(error);
      throw error;
    }
    this.#running = this.#run();
    await this.position.waitFor(state.lastSequence, this.#stop.signal);
    if (this.#health.state === 'starting') this.#health = { state: 'ready' };
  }

  /** Ends reading and rejects all waiters. Harmless on a second call. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error('The host is stopped'));
    this.position.fail(this.#stop.signal.reason);
    await this.#read?.close();
    await this.#running;
  }

  onApplied(listener: AppliedListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Avoids decoding a commit of this node when exactly its bytes return. */
  expect(encoded: EncodedCommit): void {
    this.#own.set(encoded.commit.id, encoded);
  }

  unexpect(id: string): void {
    this.#own.delete(id);
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stop.signal.aborted; failures++) {
      const before = this.position.sequence;
      try {
        if (failures > 0) await this.#verifyPosition();
        await this.#follow();
        if (this.#stop.signal.aborted) return;
        throw new Error('Reading EVENTS ended by itself');
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (isFatal(error)) return this.#fail(error);
        this.#options.counters.readFailures++;
        const isMissing = error instanceof StreamMissing;
        this.#health = {
          state: 'retrying',
          reason: isMissing ? EVENTS_MISSING : messageOf(error),
        };
        if (this.position.sequence > before) failures = 0;
      }
      const delayMs = Math.min(RETRY_MS_MIN * 2 ** failures, RETRY_MS_MAX);
      await pause(this.#options.clock, delayMs, this.#stop.signal);
    }
  }

  async #follow(): Promise<void> {
    const { stream, slices } = this.#options;
    const from = { sequence: this.position.sequence + 1 };
    const read = stream.read({ stream: EVENTS_STREAM, from, untilEnd: false });
    this.#read = read;
    try {
      for await (const message of read) {
        if (this.#stop.signal.aborted) return;
        if (message.sequence <= this.position.sequence) continue;
        await this.#take(message);
        if (this.#health.state === 'retrying') this.#health = { state: 'ready' };
        await slices.yieldIfDue();
      }
    } finally {
      await read.close();
    }
  }

  async #take(message: StreamMessage): Promise<void> {
    const { store, counters } = this.#options;
    const encoded = this.#decode(message);
    let outcome = store.apply(encoded, message.sequence);
    if (outcome === 'foreign') {
      await this.#verifyBefore(encoded, message.sequence);
      store.passOver(encoded, message.sequence);
      counters.foreign++;
      outcome = 'superseded';
    } else if (outcome === 'superseded') counters.superseded++;
    if (outcome === 'applied') {
      counters.applied++;
      this.#notify({ commit: encoded.commit, sequence: message.sequence });
    }
    this.position.advance(message.sequence);
  }

  #decode(message: StreamMessage): EncodedCommit {
    const { header } = decodeHeader(message.data);
    const own = this.#own.get(header.id);
    const encoded =
      own && Buffer.compare(own.bytes, message.data) === 0 ? own : decodeCommit(message.data);
    if (message.subject.split('.').at(-1) === header.project) return encoded;
    throw new CommitCorrupt(`Commit ${header.id} of ${header.project} is on ${message.subject}`);
  }

  #notify(applied: Parameters<AppliedListener>[0]): void {
    for (const listener of this.#listeners) {
      try {
        listener(applied);
      } catch {
        // Listeners must not throw; one that does must not keep the others from later commits.
        this.#options.counters.listenerFaults++;
      }
    }
  }

  /** True if the last message applied here is still in the stream, or was removed by retention. */
  async #verifyPosition(): Promise<void> {
    const { stream, store } = this.#options;
    const { applied, appliedHash } = store.position();
    const { identity, firstSequence, lastSequence } = await stream.state(EVENTS_STREAM);
    store.bind(identity);
    if (lastSequence < applied) {
      throw new HistoryMismatch(
        'ahead',
        `This node has applied EVENTS up to ${applied}, the stream ends at ${lastSequence}: NATS has ` +
          'lost its end. Keep this data folder, which has it: docs/operations/damage.md says how to continue',
      );
    }
    if (firstSequence > applied + 1) {
      throw new HistoryMismatch(
        'behind',
        `This node has applied EVENTS up to ${applied}, the stream begins at ${firstSequence}, and ` +
          'the messages in between were removed; start it again, and it takes a snapshot of the others',
      );
    }
    if (applied >= firstSequence) await this.#assertHolds(applied, appliedHash);
  }

  /**
   * Judges a commit that follows one outside our chain: either its writer's history or ours differs
   * from the stream's. Ours is right if the stream still holds, at the same position, the commit
   * that we have instead of the unknown one.
   */
  async #verifyBefore(encoded: EncodedCommit, sequence: number): Promise<void> {
    const { store } = this.#options;
    const { project, number } = encoded.commit;
    const head = store.head(project);
    const ours = store.commit(project, Math.min(number - 1, head.number));
    if (ours) await this.#assertHolds(ours.sequence, ours.hash);
    if (number <= head.number + 1 || !store.position().gapped) return;
    throw new HistoryMismatch(
      'behind',
      `Commit ${number} of ${project} at ${sequence} follows one this node never saw (it has ` +
        `${head.number}), and messages were missing before: move its control.db aside and start it ` +
        'again, and it takes a snapshot of the others',
    );
  }

  async #assertHolds(sequence: number, hash: string): Promise<void> {
    const found = await this.#messageAt(sequence);
    if (found === undefined || decodeHeader(found.data).hash === hash) return;
    throw new HistoryMismatch(
      'diverged',
      `EVENTS holds another commit at ${sequence} than this node has applied: the stream was ` +
        'shortened and written again. Move this control.db aside and keep it, since commits that only ' +
        'it has are in no other place; then start again, and the member takes a snapshot of the others',
    );
  }

  async #messageAt(sequence: number): Promise<StreamMessage | undefined> {
    const { stream } = this.#options;
    const read = stream.read({ stream: EVENTS_STREAM, from: { sequence }, untilEnd: true });
    try {
      for await (const message of read) return message.sequence === sequence ? message : undefined;
      return undefined;
    } finally {
      await read.close();
    }
  }

  #fail(error: Error): void {
    this.#health = { state: 'stopped', reason: error.message };
    this.position.fail(error);
  }
}

function isFatal(error: unknown): error is Error {
  return (
    error instanceof HistoryMismatch ||
    error instanceof UnknownCommitFormat ||
    error instanceof CommitCorrupt
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * The position in EVENTS up to which this node has applied commits, and waiting for a later one.
 */

interface Waiter {
  readonly sequence: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Position up to which this node has applied EVENTS, and the waiters for later sequences. */
export class AppliedPosition {
  #sequence: number;
  #failure: unknown;
  readonly #waiters = new Set<Waiter>();

  constructor(sequence: number) {
    this.#sequence = sequence;
  }

  get sequence(): number {
    return this.#sequence;
  }

  /** Advances the position and releases the waiters that it satisfies. */
  advance(sequence: number): void {
    this.#sequence = sequence;
    for (const waiter of this.#waiters) {
      if (waiter.sequence <= sequence) this.#leave(waiter).resolve();
    }
  }

  /** Nothing more will be applied: every waiter, present or future, gets `error`. */
  fail(error: unknown): void {
    this.#failure = error;
    for (const waiter of this.#waiters) this.#leave(waiter).reject(error);
  }

  /** Resolves once `sequence` is applied; rejects with the reason of `signal`, or of `fail`. */
  waitFor(sequence: number, signal: AbortSignal): Promise<void> {
    if (this.#sequence >= sequence) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const abort = (): void => this.#leave(waiter).reject(signal.reason);
      const end = (settle: () => void) => (): void => {
        signal.removeEventListener('abort', abort);
        settle();
      };
      const waiter: Waiter = {
        sequence,
        resolve: end(resolve),
        reject: (error) => end(() => reject(error))(),
      };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  #leave(waiter: Waiter): Waiter {
    this.#waiters.delete(waiter);
    return waiter;
  }
}
