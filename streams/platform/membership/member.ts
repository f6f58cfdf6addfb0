/**
 * A member of a cluster: it reports that it is alive, holds leases, and knows the other members.
 * Every member follows the same rows (`roster.ts`); if two write one lease, the stream accepts the
 * first.
 *
 * A lease gives liveness only. Its owner acts under it for 4 s after it *sent* its last record that
 * it has read back, which also shows that it knows the leases up to there. Others declare it dead
 * after they have seen no newer record for 5 s, by a row that must follow its last one; after that
 * it cannot write another record without noticing. Each commit names its predecessor, and each
 * entry of the sample log its epoch, so a paused owner that wakes up in between cannot commit.
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
import type { Membership } from './membership.ts';
import {
  ACT_MS,
  CLOCK_REFUSED_MS,
  clusterSpec,
  encodeRow,
  type LeaseChange,
  LIVE_MS,
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

/** Interval between renewals of a member's record, ms. */
const RENEW_MS = 1_000;
/** Renewal interval of a member that has not read its own record back for this long, ms. */
const UNREAD_MS = 12_000;
/** Time for which the members must be unchanged before a live owner hands a lease over, ms. */
const SETTLED_MS = 3_000;
/** Interval between checks for silent members, ms. */
const LOOK_MS = 250;
/** Age at which records of ended members are removed, ms. */
const FORGOTTEN_MS = 3_600_000;
const RETRY_MS = 250;
/**
 * Time without a response after which a row is written again, ms; shorter than the time after which
 * the member must stop acting.
 */
const ANSWER_MS = 1_000;
/** Interval between checks whether missed commits have been applied, ms. */
const CATCH_UP_MS = 50;
/** Maximum drift between calendar and elapsed time from one record to the next, ms. */
const CLOCK_SET_MS = 500;

export interface MembershipOptions {
  /** Stream for the member's rows, whatever the state of its other parts. */
  readonly stream: Stream;
  readonly clock: Clock;
  readonly self: MemberFacts;
  /** Counts writes that the stream did not accept; they are retried. */
  readonly onLost?: (error: unknown) => void;
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
 * Joins the cluster on this stream, and returns once the member is on the roster. From then on, no
 * revocation is acknowledged before this member has applied it. Throws the errors of the stream.
 */
export async function joinCluster(options: MembershipOptions): Promise<Membership> {
  const { identity } = await options.stream.ensure(clusterSpec);
  const member = new Member(options, identity);
  await member.join();
  return member;
}

class Member implements Membership {
  readonly isAlone = false;
  readonly #options: MembershipOptions;
  /** Identity of the stream `CLUSTER`. */
  #table: string;
  #roster: Roster;
  readonly #stop = new AbortController();
  readonly #renewal: Sleep;
  readonly #changed: Sleep;
  readonly #listeners = new Set<() => void>();
  #running: Promise<unknown> = Promise.resolve();
  #progress: () => MemberProgress = () => NOTHING_YET;
  #state: MemberState = 'joining';
  /** Elapsed time at which the newest record that came back was sent. */
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** True once it has read one of its own records. */
  #wasLive = false;
  /** Elapsed time at which a row of its own was last read. */
  #readMs: number;
  #turn = 0;
  /** Send times of its unread records, elapsed ms, by turn. */
  readonly #sent = new Map<number, number>();
  #isDue = false;
  #life = 1;
  /** true: its row may have been removed, so the next record is written as the first. */
  #isForgotten = false;
  /** Position of its newest record that is known to be stored. */
  #lastWritten = 0;
  /**
   * Shares that this member is handing over, with the position of the old lease. It no longer acts
   * for them until it reads the outcome: a row without a response may be stored.
   */
  readonly #given = new Map<Share, number>();
  /** Lead of the calendar clock at the last comparison, and the times then. */
  #compared: { readonly aheadMs: number; readonly nowMs: number; readonly elapsedMs: number };
  /** Number of lapses after which it has not yet caught up. */
  #behind = 0;
  #decided: Pick<MemberRecord, 'decided' | 'decidedOf' | 'knows'> = { decided: 0, knows: 0 };
  #fault = 'it could not report that it is still there';
  /** Live members at the last check, and when they last changed. */
  #liveNodes = '';
  #settledSinceMs: number;
  /** Elapsed time since which it follows another `CLUSTER`. */
  #replacedMs = Number.NEGATIVE_INFINITY;
  #owned = '';
  /** Version of the roster at the last check. */
  #lookedAt = -1;
  /** Basis of the current `#owned`; empty: it must be computed again. */
  #standing = '';

  constructor(options: MembershipOptions, table: string) {
    this.#options = options;
    this.#table = table;
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
    // The clock may have been set since.
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
        `The clock of this machine is ${seconds} s ${side} the clock of NATS: this member decides nothing ` +
        'until they agree. Set the clock, e.g. with NTP'
      );
    }
    if (this.#behind > 0) return 'This member was cut off and is reading what happened meanwhile';
    if (!this.#isLapsed()) return undefined;
    return `This member may have been replaced, and does not act until it knows: ${this.#fault}`;
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
    // Members that joined before the commit are on the roster up to here; later ones read the
    // commit.
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

  floorsOf(partition: number): readonly number[] {
    return this.#roster.floorsOf(partition);
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

  /** True if this member has the lease and is not handing it over. */
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
      // A member that reads nothing back for long stops acting: its row gets no renewals, so others
      // act.
      const isUnread = this.#elapsed() - this.#readMs > UNREAD_MS;
      const everyMs = isUnread ? UNREAD_MS : RENEW_MS;
      if (!this.#isDue || isUnread) await this.#renewal.pause(everyMs, signal);
      if (!signal.aborted) await this.#renew().catch((error: unknown) => this.#lost(error));
    }
  }

  /**
   * Writes the next record, after its last one. If that is no longer the last, an earlier one has
   * arrived after all, or the member was declared dead: the newer row is about to be read. Or it
   * was dead for so long that its row was removed, and starts again.
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
    const { decided, decidedOf, ...progress } = this.#progress();
    const isActing = this.refusal() === undefined && this.#given.size === 0;
    // Otherwise it owns leases under which it does not act: it has not decided what belongs to
    // them.
    if (isActing) {
      const knows = this.#roster.sequence;
      this.#decided = { decided, knows, ...(decidedOf && { decidedOf }) };
    }
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
          this.#recordGiven();
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
      await this.#openTable().catch((error: unknown) => this.#lost(error));
    }
  }

  /** If `CLUSTER` was deleted, it is recreated, and its members join it as at first. */
  async #openTable(): Promise<void> {
    const { stream, self } = this.#options;
    if (this.#stop.signal.aborted) return;
    const { identity } = await stream.ensure(clusterSpec);
    if (identity === this.#table) return;
    this.#table = identity;
    this.#roster = new Roster(self);
    this.#lookedAt = -1;
    this.#life++;
    this.#lastWritten = 0;
    this.#isForgotten = false;
    this.#decided = { decided: 0, knows: 0 };
    this.#given.clear();
    this.#sent.clear();
    this.#renewedMs = Number.NEGATIVE_INFINITY;
    this.#replacedMs = this.#elapsed();
    this.#look();
    this.announce();
  }

  /** Handles its own record, as read from the stream. */
  #renewed(record: MemberRecord, { timeMs, sequence }: StreamMessage): void {
    const { clock } = this.#options;
    const { turn, clockMs } = record;
    this.#lastWritten = Math.max(this.#lastWritten, sequence);
    // It renews seldom, or is about to: every member was stopped, or CLUSTER was unavailable.
    if (clock.elapsed() - this.#readMs > UNREAD_MS) this.announce();
    this.#readMs = clock.elapsed();
    if (record.declaredBy !== undefined) {
      this.#life = record.life + 1;
      this.#renewedMs = Number.NEGATIVE_INFINITY;
      this.announce();
      return;
    }
    // Others may have continued without it and acknowledged that a key is revoked. Not before the
    // first record: earlier commits of EVENTS are read at the start.
    if (this.#wasLive && this.#isLapsed())
      void this.#catchUp().catch((error: unknown) => this.#lost(error));
    this.#wasLive = true;
    this.#renewedMs = this.#sent.get(turn) ?? this.#renewedMs;
    for (const before of this.#sent.keys()) if (before <= turn) this.#sent.delete(before);
    // It was stored between its sending and now, so the clocks differ by at least this.
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
   * Declares silent members dead, unless they have returned. The last known row of one may not be in
   * the stream: a nats-server that was killed restores rows of members that ended long ago
   * (nats-server issue 8505). A row that has to be the only one of its member then repeats the end.
   * If the member has a newer row, which a slow reader may not see before the next one replaces it,
   * the stream refuses both.
   */
  async #declareDead(): Promise<void> {
    if (this.refusal() !== undefined) return;
    for (const { record, sequence } of this.#roster.silent(this.#elapsed())) {
      const ended: MemberRecord = { ...record, state: 'gone' };
      const dead: MemberRecord = { ...ended, declaredBy: this.node };
      const subject = memberSubject(record.node);
      const { kind } = await this.#append(subject, dead, sequence);
      if (kind === 'wrongLastSequence') await this.#append(subject, ended, 0);
    }
  }

  /** Updates the live members and this member's shares, and notifies listeners of a change. */
  #look(): void {
    const { version } = this.#roster;
    if (version !== this.#lookedAt) this.#recordLive();
    this.#lookedAt = version;
    const standing = `${version} ${this.#life} ${this.#mayAct()}`;
    if (standing === this.#standing && this.#given.size === 0) return;
    // Once the handover is subtracted, the basis may be the same although it holds less.
    this.#standing = this.#given.size === 0 ? standing : '';
    const owned = SHARES.filter((share) => this.#holds(share))
      .map((share) => `${share}/${this.#roster.lease(share)?.epoch}`)
      .join();
    if (owned === this.#owned) return;
    this.#owned = owned;
    for (const listener of [...this.#listeners]) listener();
  }

  #recordLive(): void {
    const live = this.#roster.live();
    const nodes = live.map(({ node, state }) => `${node} ${state}`).join();
    if (nodes === this.#liveNodes) return;
    this.#liveNodes = nodes;
    this.#settledSinceMs = this.#elapsed();
    this.#changed.wake();
  }

  async #writeLeases(): Promise<void> {
    const isRefused = this.refusal() !== undefined;
    // With a wrong clock it acts for no share, but can still hand over its shares.
    if (this.#state !== 'acting' || (isRefused && !this.#isClockWrong())) return;
    const elapsedMs = this.#elapsed();
    // Until then another member may act under a lease of the previous table.
    if (elapsedMs - this.#replacedMs < LIVE_MS) return;
    const isSettled = elapsedMs - this.#settledSinceMs >= SETTLED_MS;
    const planned = this.#roster.plan(isSettled);
    const changes = isRefused
      ? planned.filter(({ owner }) => owner !== this.node)
      : [...planned, ...this.#reverted(planned, isSettled)];
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

  /** Cancels handovers that no longer apply: a row of its own decides against the previous one. */
  #reverted(planned: readonly LeaseChange[], isSettled: boolean): LeaseChange[] {
    if (!isSettled) return [];
    const shares = new Set(planned.map(({ share }) => share));
    const left = [...this.#given.keys()].filter((share) => !shares.has(share));
    return left.flatMap((share) => this.#roster.renewal(share) ?? []);
  }

  /** Forgets a handover once a later row of the share has been read. */
  #recordGiven(): void {
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
