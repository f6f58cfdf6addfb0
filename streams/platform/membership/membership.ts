/**
 * A member of a cluster: it says that it is there, holds leases, and knows who else is there. Every
 * member follows the same rows (`roster.ts`); of two that write one lease the stream takes the first.
 *
 * A lease gives liveness only. Its owner acts under it for 4 s from the moment at which it *sent* the
 * last record of its own that it has read back, which shows that it knows the leases up to there, too.
 * Others declare it dead after they have watched that record stand still for 5 s, by a row that must
 * follow it; and it cannot write another one then without noticing. What makes a paused owner harmless
 * that wakes up in between is the predecessor in each commit, and the epoch in each entry of the sample
 * log.
 */
import type { Clock } from '../clock.ts';
import { SYSTEM_PROJECT } from '../commit/commit.ts';
import { EVENTS_STREAM } from '../commit/events.ts';
import { unlessAborted } from '../deadline.ts';
import { pause, Sleep } from '../pause.ts';
import {
  type Stream,
  type StreamMessage,
  StreamMisconfigured,
  StreamUnavailable,
} from '../stream.ts';
import {
  ACT_MS,
  CLOCK_REFUSED_MS,
  clusterSpec,
  encodeRow,
  type LeaseChange,
  leaseSubject,
  type MemberFacts,
  type MemberProgress,
  type MemberRecord,
  type MemberState,
  type MemberView,
  memberSubject,
  Roster,
  SHARES,
  type Share,
  shareOf,
} from './roster.ts';

/** A member renews its record so often, ms. */
const RENEW_MS = 1_000;
/** A member that has not read its own record back for so long renews it only so often, ms. */
const UNREAD_MS = 12_000;
/** Members have to be the same for so long before a live owner hands a lease over, ms. */
const SETTLED_MS = 3_000;
/** Between two looks at who has fallen silent, ms. */
const LOOK_MS = 250;
/** Records of members that ended so long ago are removed, ms. */
const FORGOTTEN_MS = 3_600_000;
const RETRY_MS = 250;
/** A row whose answer takes longer is written again, ms: before its member may act no more. */
const ANSWER_MS = 1_000;
/** Between two looks whether what was missed has been applied, ms. */
const CATCH_UP_MS = 50;
/** Calendar and elapsed time drift apart by less between two records, ms. */
const CLOCK_SET_MS = 500;

export interface MembershipOptions {
  /** A member reads and writes its rows on this one, whatever its other parts may do. */
  readonly stream: Stream;
  readonly clock: Clock;
  readonly self: MemberFacts;
  /** Counts what the stream did not take; it is tried again. */
  readonly onLost?: (error: unknown) => void;
}

/**
 * What a member asks before it acts for a project: ticks, markers, edges, timers, retention, mails to
 * owners. It asks again each time, because a lease may end at any moment.
 */
export interface Ownership {
  /** Does this member act for the project (or `_system`) now? */
  owns(project: string): boolean;
  /** Epoch of the lease under which it acts for the partition; undefined: it does not act. */
  epochOf(partition: number): number | undefined;
  /** Position in SAMPLES up to which the owner of the partition has decided; undefined: not known. */
  decidedBy(partition: number): number | undefined;
  /** Calls `listener` when this member has begun or ended to act for something. Returns its undo. */
  onChange(listener: () => void): () => void;
}

/** What a process knows of its cluster, and what it may do in it. */
export interface Membership extends Ownership {
  readonly node: string;
  /** No other process can share its streams. */
  readonly isAlone: boolean;
  /** Every member known, those that ended within the last hour too. */
  members(): readonly MemberView[];
  /** How far the calendar clock is ahead of the stream's, at least, ms; negative: behind. */
  clockAheadMs(): number;
  /**
   * Why this member may not vouch for a credential, nor decide anything: it could not renew its
   * record, so a revocation may have passed it by; or its clock is wrong. undefined: it may.
   */
  refusal(): string | undefined;
  /** From here on each record says what `progress` returns. */
  report(progress: () => MemberProgress): void;
  /** It has caught up and takes its part from here on. */
  begin(): void;
  /** Renews the record at once: others wait for what it says. */
  announce(): void;
  /**
   * Resolves when every live member has applied EVENTS up to `sequence`: at once healthy, after 5 s
   * when one has fallen silent. Rejects with the signal's reason, or when the stream is out of reach.
   */
  untilApplied(sequence: number, signal: AbortSignal): Promise<void>;
  /** How long ago rows of data centers arrived at other members, ms. */
  heardElsewhere(): ReadonlyMap<string, number>;
  /** Positions in SAMPLES from which the live members still need the log. */
  floors(): readonly number[];
  /** Hands everything over. Call it when nothing acts any more. */
  leave(): Promise<void>;
}

const NOTHING_YET: MemberProgress = {
  address: null,
  applied: 0,
  decided: 0,
  floor: 0,
  heard: {},
  unfit: [],
};

/**
 * Joins the cluster on this stream, and returns once the member is on the roster. From then on no
 * revocation is acknowledged that it has not applied. Throws what the stream throws.
 */
export async function joinCluster(options: MembershipOptions): Promise<Membership> {
  await options.stream.ensure(clusterSpec);
  const member = new Member(options);
  await member.join();
  return member;
}

class Member implements Membership {
  readonly isAlone = false;
  readonly #options: MembershipOptions;
  readonly #roster: Roster;
  readonly #stop = new AbortController();
  readonly #renewal: Sleep;
  readonly #changed: Sleep;
  readonly #listeners = new Set<() => void>();
  #running: Promise<unknown> = Promise.resolve();
  #progress: () => MemberProgress = () => NOTHING_YET;
  #state: MemberState = 'joining';
  /** Elapsed time at which the last record was sent that has come back on the roster. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** True once a record of its own has come back. */
  #wasLive = false;
  /** Elapsed time at which a row of its own was last read. */
  #readMs: number;
  #turn = 0;
  /** When the records were sent that have not come back, elapsed ms, by their turn. */
  readonly #sent = new Map<number, number>();
  #isDue = false;
  #life = 1;
  /** Its row may have been removed: the next record is written as the first. */
  #isForgotten = false;
  /** Position of its last record that is known to be stored. */
  #lastWritten = 0;
  /**
   * Shares that this member is handing over, with the position of the lease that it gives up. It acts
   * for them no more, until it reads what became of them: a row whose answer was lost may be stored.
   */
  readonly #given = new Map<Share, number>();
  /** How far the calendar clock was ahead when it was last compared, and its times then. */
  #compared: { readonly aheadMs: number; readonly nowMs: number; readonly elapsedMs: number };
  /** Lapses after which it has not caught up yet. */
  #behind = 0;
  #decided: Pick<MemberRecord, 'decided' | 'knows'> = { decided: 0, knows: 0 };
  #fault = 'it has not been able to say that it is still there';
  /** Who was live at the last look, and since when nothing has changed. */
  #liveNodes = '';
  #settledSinceMs: number;
  #owned = '';
  /** Version of the roster at the last look. */
  #lookedAt = -1;
  /** What `#owned` followed from then; empty: it has to be looked at again. */
  #standing = '';

  constructor(options: MembershipOptions) {
    this.#options = options;
    this.#roster = new Roster(options.self);
    this.#renewal = new Sleep(options.clock);
    this.#changed = new Sleep(options.clock);
    this.#settledSinceMs = options.clock.elapsed();
    const { clock } = options;
    this.#readMs = clock.elapsed();
    this.#compared = { aheadMs: 0, nowMs: clock.now(), elapsedMs: clock.elapsed() };
  }

  get node(): string {
    return this.#options.self.node;
  }

  async join(): Promise<void> {
    await this.#renew();
    this.#running = Promise.all([this.#follow(), this.#keepRenewing(), this.#keepLooking()]);
    await this.#known(this.#lastWritten);
  }

  owns = (project: string): boolean => this.#holds(shareOf(project));

  epochOf = (partition: number): number | undefined =>
    this.#holds(partition) ? this.#roster.lease(partition)?.epoch : undefined;

  onChange = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  members(): readonly MemberView[] {
    return this.#roster.members(this.#elapsed());
  }

  clockAheadMs(): number {
    const { clock } = this.#options;
    const { aheadMs, nowMs, elapsedMs } = this.#compared;
    // Somebody may have set the clock since.
    const setMs = clock.now() - nowMs - (clock.elapsed() - elapsedMs);
    return Math.abs(setMs) < CLOCK_SET_MS ? aheadMs : aheadMs + setMs;
  }

  refusal(): string | undefined {
    if (this.#state === 'gone') return 'This member has left its cluster';
    if (this.#isClockWrong()) {
      const aheadMs = this.clockAheadMs();
      const seconds = Math.round(Math.abs(aheadMs) / 1000);
      const side = aheadMs > 0 ? 'ahead of' : 'behind';
      return (
        `The clock of this machine is ${seconds} s ${side} the clock of NATS: it decides nothing ` +
        'until they agree. Set the clock, e.g. with NTP'
      );
    }
    if (this.#behind > 0) return 'This member was cut off, and reads what has happened meanwhile';
    if (!this.#isLapsed()) return undefined;
    return `This member may have been replaced, and acts no more until it knows: ${this.#fault}`;
  }

  #isClockWrong(): boolean {
    return Math.abs(this.clockAheadMs()) > CLOCK_REFUSED_MS;
  }

  report(progress: () => MemberProgress): void {
    this.#progress = progress;
  }

  begin(): void {
    this.#state = 'acting';
    this.announce();
  }

  announce(): void {
    this.#isDue = true;
    this.#renewal.wake();
  }

  async untilApplied(sequence: number, signal: AbortSignal): Promise<void> {
    // Whoever joined before the commit is on the roster up to here; who joins later reads the commit.
    const { lastSequence } = await this.#options.stream.state(clusterSpec.name);
    await unlessAborted(signal, this.#known(lastSequence));
    while (this.#lagging(sequence)) {
      await this.#changed.pause(LOOK_MS, signal);
      signal.throwIfAborted();
    }
  }

  decidedBy(partition: number): number | undefined {
    return this.#roster.decidedBy(partition);
  }

  heardElsewhere(): ReadonlyMap<string, number> {
    return this.#roster.heardElsewhere(this.#elapsed());
  }

  floors(): readonly number[] {
    return this.#roster.live().map(({ floor }) => floor);
  }

  async leave(): Promise<void> {
    if (this.#state === 'gone') return;
    this.#state = 'gone';
    this.#stop.abort(new Error('This member has left its cluster'));
    this.#renewal.wake();
    this.#changed.wake();
    await this.#running;
    await this.#write().catch(ignoreUnavailable);
  }

  #elapsed(): number {
    return this.#options.clock.elapsed();
  }

  #holds(share: Share): boolean {
    return this.#mayAct() && this.#isOwn(share);
  }

  #mayAct(): boolean {
    return this.#state === 'acting' && this.refusal() === undefined;
  }

  /** Is its lease this member's, and not being handed over? */
  #isOwn(share: Share): boolean {
    const lease = this.#roster.lease(share);
    const isOwn = lease?.owner === this.node && lease.life === this.#life;
    return isOwn && !this.#given.has(share);
  }

  #lagging(sequence: number): boolean {
    const live = this.#roster.live();
    return live.some(({ node, applied }) => node !== this.node && applied < sequence);
  }

  /** Resolves once the roster has read `CLUSTER` up to `sequence`. */
  async #known(sequence: number): Promise<void> {
    while (this.#roster.sequence < sequence && !this.#stop.signal.aborted) {
      await this.#changed.pause(LOOK_MS, this.#stop.signal);
    }
  }

  async #keepRenewing(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Who reads nothing back for long acts no more: its row stands still, so that others do.
      const isUnread = this.#elapsed() - this.#readMs > UNREAD_MS;
      const everyMs = isUnread ? UNREAD_MS : RENEW_MS;
      if (!this.#isDue || isUnread) await this.#renewal.pause(everyMs, signal);
      if (!signal.aborted) await this.#renew().catch((error: unknown) => this.#lost(error));
    }
  }

  /**
   * Writes the next record, after its last one. Where that is not the last any more, an earlier one has
   * arrived after all, or it was declared dead: what came is about to be read. Or it has been dead for
   * so long that its row was removed, and begins again.
   */
  async #renew(): Promise<void> {
    this.#isDue = false;
    const written = await this.#write();
    if (written === undefined) {
      const isUnread = this.#elapsed() - this.#readMs > UNREAD_MS;
      this.#isForgotten = isUnread && !this.#isForgotten && this.#lastWritten > 0;
    } else {
      this.#lastWritten = Math.max(this.#lastWritten, written);
      if (this.#isForgotten) this.#life++;
      this.#isForgotten = false;
    }
  }

  async #write(): Promise<number | undefined> {
    const { self } = this.#options;
    this.#turn++;
    this.#sent.set(this.#turn, this.#elapsed());
    const progress = this.#progress();
    const isActing = this.refusal() === undefined && this.#given.size === 0;
    // Else some leases are its own under which it does not act: it has not decided what is theirs.
    if (isActing) this.#decided = { decided: progress.decided, knows: this.#roster.sequence };
    const record: MemberRecord = {
      ...self,
      ...progress,
      ...this.#decided,
      state: this.#state,
      life: this.#isForgotten ? this.#life + 1 : this.#life,
      turn: this.#turn,
      clockMs: this.#options.clock.now(),
      clockAheadMs: this.clockAheadMs(),
    };
    const last = this.#isForgotten ? 0 : this.#lastWritten;
    const outcome = await this.#append(memberSubject(this.node), record, last);
    return outcome.kind === 'appended' ? outcome.sequence : undefined;
  }

  #append(subject: string, row: Parameters<typeof encodeRow>[0], last: number) {
    return this.#options.stream.append({
      stream: clusterSpec.name,
      subject,
      data: encodeRow(row),
      answerMs: ANSWER_MS,
      expectedLastSubjectSequence: last,
    });
  }

  /** Reads the roster for as long as the member is in the cluster. */
  async #follow(): Promise<void> {
    const { stream, clock } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const from = { sequence: this.#roster.sequence + 1 };
      const read = stream.read({ stream: clusterSpec.name, from, untilEnd: false });
      const close = (): void => void read.close();
      signal.addEventListener('abort', close, { once: true });
      try {
        for await (const message of read) {
          const record = this.#roster.take(message, clock.elapsed());
          if (record?.node === this.node) this.#renewed(record, message);
          this.#noteGiven();
          this.#look();
          this.#changed.wake();
          if (signal.aborted) return;
        }
      } catch (error) {
        this.#lost(error);
      } finally {
        signal.removeEventListener('abort', close);
        await read.close();
      }
      await pause(clock, RETRY_MS, signal);
    }
  }

  /** Takes note of a record of its own that has come back. */
  #renewed(record: MemberRecord, { timeMs, sequence }: StreamMessage): void {
    const { clock } = this.#options;
    const { turn, clockMs } = record;
    this.#lastWritten = Math.max(this.#lastWritten, sequence);
    // It renews seldom, or is about to: everybody was stopped, or CLUSTER was away.
    if (clock.elapsed() - this.#readMs > UNREAD_MS) this.announce();
    this.#readMs = clock.elapsed();
    if (record.declaredBy !== undefined) {
      this.#life = record.life + 1;
      this.#renewedMs = Number.NEGATIVE_INFINITY;
      this.announce();
      return;
    }
    // Others may have gone on without it since, and acknowledged that a key is revoked. Not before the
    // first: what is in EVENTS by then is read at the start.
    if (this.#wasLive && this.#isLapsed())
      void this.#catchUp().catch((error: unknown) => this.#lost(error));
    this.#wasLive = true;
    this.#renewedMs = this.#sent.get(turn) ?? this.#renewedMs;
    for (const before of this.#sent.keys()) if (before <= turn) this.#sent.delete(before);
    // It was stored between its sending and now: so much at least the clocks differ.
    const nowMs = clock.now();
    const aheadMs = timeMs < clockMs ? clockMs - timeMs : Math.min(0, nowMs - timeMs);
    this.#compared = { aheadMs, nowMs, elapsedMs: clock.elapsed() };
  }

  #isLapsed(): boolean {
    return this.#elapsed() - this.#renewedMs >= ACT_MS;
  }

  /** Vouches for nothing until it has applied what EVENTS has now. */
  async #catchUp(): Promise<void> {
    const { clock, stream } = this.#options;
    const { signal } = this.#stop;
    this.#behind++;
    try {
      let through: number | undefined;
      while (!signal.aborted && !(this.#progress().applied >= (through ?? Infinity))) {
        try {
          through ??= (await stream.state(EVENTS_STREAM)).lastSequence;
        } catch (error) {
          this.#lost(error);
        }
        await pause(clock, CATCH_UP_MS, signal);
      }
    } finally {
      this.#behind--;
    }
  }

  async #keepLooking(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await pause(clock, LOOK_MS, signal);
      if (signal.aborted) return;
      this.#look();
      await this.#declareDead().catch((error: unknown) => this.#lost(error));
      await this.#writeLeases().catch((error: unknown) => this.#lost(error));
      if (this.owns(SYSTEM_PROJECT))
        await this.#forget().catch((error: unknown) => this.#lost(error));
    }
  }

  /**
   * Declares silent members dead, unless they have come back. A silent member's row that is not the last
   * one of its subject, and that no later row follows, is not in the stream: a nats-server that was killed
   * restores rows that were removed before (nats-server issue 8505). Such a member is dropped.
   */
  async #declareDead(): Promise<void> {
    if (this.refusal() !== undefined) return;
    const { stream } = this.#options;
    const passed: { readonly node: string; readonly sequence: number }[] = [];
    for (const { record, sequence } of this.#roster.silent(this.#elapsed())) {
      const dead: MemberRecord = { ...record, state: 'gone', declaredBy: this.node };
      const outcome = await this.#append(memberSubject(record.node), dead, sequence);
      if (outcome.kind === 'wrongLastSequence') passed.push({ node: record.node, sequence });
    }
    if (passed.length === 0) return;
    const { lastSequence } = await stream.state(clusterSpec.name);
    await this.#known(lastSequence);
    for (const { node, sequence } of passed) this.#roster.drop(node, sequence);
  }

  /** Notes who is live and what this member holds, and says so when that has changed. */
  #look(): void {
    const { version } = this.#roster;
    if (version !== this.#lookedAt) this.#noteLive();
    this.#lookedAt = version;
    const standing = `${version} ${this.#life} ${this.#mayAct()}`;
    if (standing === this.#standing && this.#given.size === 0) return;
    // Without what is being handed over it may stand as before, and hold less.
    this.#standing = this.#given.size === 0 ? standing : '';
    const owned = SHARES.filter((share) => this.#holds(share))
      .map((share) => `${share}/${this.#roster.lease(share)?.epoch}`)
      .join();
    if (owned === this.#owned) return;
    this.#owned = owned;
    for (const listener of [...this.#listeners]) listener();
  }

  #noteLive(): void {
    const live = this.#roster.live();
    const nodes = live.map(({ node, state }) => `${node} ${state}`).join();
    if (nodes === this.#liveNodes) return;
    this.#liveNodes = nodes;
    this.#settledSinceMs = this.#elapsed();
    this.#changed.wake();
  }

  async #writeLeases(): Promise<void> {
    const isRefused = this.refusal() !== undefined;
    // By a wrong clock it acts for nothing, and can still give to others what it holds.
    if (this.#state !== 'acting' || (isRefused && !this.#isClockWrong())) return;
    const elapsedMs = this.#elapsed();
    const isSettled = elapsedMs - this.#settledSinceMs >= SETTLED_MS;
    const planned = this.#roster.plan(isSettled);
    const changes = isRefused
      ? planned.filter(({ owner }) => owner !== this.node)
      : [...planned, ...this.#takenBack(planned, isSettled)];
    if (changes.length === 0) return;
    for (const { share, owner, sequence } of changes) {
      if (owner !== this.node) this.#given.set(share, sequence);
    }
    this.#look();
    const { stream } = this.#options;
    const outcomes = await Promise.allSettled(
      changes.map(({ share, sequence, ...row }) =>
        this.#append(leaseSubject(share), row, sequence),
      ),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') this.#lost(outcome.reason);
    const { lastSequence } = await stream.state(clusterSpec.name);
    await this.#known(lastSequence);
  }

  /** What was to be handed over and is no more: a row of its own decides against the one before. */
  #takenBack(planned: readonly LeaseChange[], isSettled: boolean): LeaseChange[] {
    if (!isSettled) return [];
    const shares = new Set(planned.map(({ share }) => share));
    const left = [...this.#given.keys()].filter((share) => !shares.has(share));
    return left.flatMap((share) => this.#roster.renewal(share) ?? []);
  }

  /** Forgets what was handed over, once a later row of it has been read. */
  #noteGiven(): void {
    for (const [share, sequence] of this.#given) {
      if (this.#roster.leaseSequence(share) > sequence) this.#given.delete(share);
    }
  }

  async #forget(): Promise<void> {
    const { stream } = this.#options;
    for (const { node, sequence } of this.#roster.forget(FORGOTTEN_MS)) {
      const belowSequence = sequence + 1;
      const subject = memberSubject(node);
      await stream.truncate({ stream: clusterSpec.name, subject, belowSequence });
    }
  }

  #lost(error: unknown): void {
    if (!(error instanceof StreamUnavailable || error instanceof StreamMisconfigured)) throw error;
    this.#fault = error.message;
    this.#options.onLost?.(error);
  }
}

function ignoreUnavailable(error: unknown): void {
  if (error instanceof StreamUnavailable || error instanceof StreamMisconfigured) return;
  throw error;
}
