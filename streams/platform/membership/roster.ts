/**
 * The roster: members and leases by the stream `CLUSTER`, and what follows from them. A pure fold
 * of the stream's rows and of the time for which this member has watched them; it appends nothing
 * and has no clock. Only the newest rows count, never their history, so a member that joins, or
 * misses some rows, reaches the same result.
 *
 * A member is live until its row says that it has ended. It writes that itself when it leaves. If
 * it falls silent, another member writes it, after it has seen no newer row for 5 s, by a row that
 * must follow that very one. A member that has renewed its row is therefore never declared dead.
 * One that was declared dead continues in a new life, and the leases of the old one have no owner.
 */

import { SYSTEM_PROJECT } from '../commit/commit.ts';
import { PARTITIONS, partitionOf, type StreamMessage, type StreamSpec } from '../stream.ts';
import { isPositions, type Positions, positionAt } from './positions.ts';

/** A table: one row per member and one per lease. */
export const clusterSpec: StreamSpec = {
  name: 'CLUSTER',
  subjects: ['svc.cluster.>'],
  retention: 'log',
  lastOfSubject: true,
  duplicateWindowMs: 60_000,
  whenMissing: 'replace',
};

/** Age of a row at which its member is declared dead, ms of the watcher's time. */
export const LIVE_MS = 5_000;
/**
 * Time without a renewed record after which a member stops acting, ms: before another takes over.
 */
export const ACT_MS = 4_000;
/** Difference of a calendar clock from the stream's above which the member may not decide, ms. */
export const CLOCK_REFUSED_MS = 10_000;

/** Unit of a lease: a partition of projects, or the pseudo-project `_system`. */
export type Share = number | typeof SYSTEM_PROJECT;

/** All shares, in a fixed order. */
export const SHARES: readonly Share[] = [...Array(PARTITIONS).keys(), SYSTEM_PROJECT];

/** The share that a project belongs to. */
export function shareOf(project: string): Share {
  return project === SYSTEM_PROJECT ? SYSTEM_PROJECT : partitionOf(project);
}

/** Facts that stay the same for a member's life. None of them is a secret. */
export interface MemberFacts {
  /** Unique among all starts of all processes. */
  readonly node: string;
  readonly host: string;
  readonly pid: number;
  /** Unix ms. */
  readonly startedMs: number;
  readonly version: string;
  /**
   * Token that only one living process can hold, here the lock of its data folder: another member
   * with the same lock has certainly ended. Absent if that cannot be known.
   */
  readonly lock?: string;
}

/** Facts that change from record to record. */
export interface MemberProgress {
  /** Address for clients; null: unknown, as before it listens. */
  readonly address: string | null;
  /** Position in EVENTS up to which it has applied. */
  readonly applied: number;
  /**
   * Position in SAMPLES up to which it has decided everything that it acts for: the lowest of
   * `decidedOf`, for programs that know one number for all partitions.
   */
  readonly decided: number;
  /** The same for each partition. Absent in records of older programs: `decided` is of all. */
  readonly decidedOf?: Positions;
  /** Position in SAMPLES from which it still needs the log: the lowest of `floors`. */
  readonly floor: number;
  /** The same for each partition. Absent in records of older programs: `floor` is of all. */
  readonly floors?: Positions;
  /** Time since rows of data centers arrived here, ms. */
  readonly heard: Readonly<Record<string, number>>;
  /**
   * Shares for which another member acts if one can: those of `barred`, and all while it stands
   * down.
   */
  readonly unfit: readonly Share[];
  /** Id of the master key in its key file; absent in records of older programs. */
  readonly keyId?: string;
  /** Shares that hold rows of a newer program, for which it must never act. */
  readonly barred?: readonly Share[];
  /**
   * A sentence that says which fault keeps it from acting, while it stands down. It keeps a share,
   * or takes one without an owner, only if no member is better. Contains no details of its host.
   */
  readonly standsDown?: string;
  /** True if it sends due attempts: it has the role, and reaches receivers. */
  readonly sends?: boolean;
}

/** `joining`: catching up. `acting`: taking its part. `gone`: it has stopped and no longer acts. */
export type MemberState = 'joining' | 'acting' | 'gone';

export interface MemberRecord extends MemberFacts, MemberProgress {
  readonly state: MemberState;
  /** Rises each time it was declared dead and returned: a lease belongs to one life. */
  readonly life: number;
  /** Member that declared it dead; absent: it reports its own end. */
  readonly declaredBy?: string;
  /** Number of the record. */
  readonly turn: number;
  /** Its calendar time at this record, Unix ms. */
  readonly clockMs: number;
  /** Minimum lead of its calendar clock over the stream's, ms; negative: behind. */
  readonly clockAheadMs: number;
  /** Position in `CLUSTER` known to it at this record, which says nothing about later leases. */
  readonly knows: number;
}

/** Owner of a share. Epochs of a share rise with each change of its owner. */
export interface Lease {
  readonly owner: string;
  /** Life of the owner; see `MemberRecord.life`. */
  readonly life: number;
  readonly epoch: number;
}

interface Heard {
  readonly record: MemberRecord;
  /** Position in `CLUSTER`, and the stream's time, Unix ms. */
  readonly sequence: number;
  readonly storedMs: number;
  /** The watcher's elapsed time at which it arrived here, ms. */
  readonly heardMs: number;
}

interface HeldLease extends Lease {
  readonly sequence: number;
}

/**
 * `unreachable`: it has not renewed its record, and others act in its place. One whose data folder
 * has a later member is `gone`. `unfit`: it stands down.
 */
export type MemberStatus = MemberState | 'unreachable' | 'unfit';

/** A member in its current state. */
export interface MemberView extends MemberRecord {
  readonly status: MemberStatus;
  readonly shares: readonly Share[];
  /** Time of the last record that it wrote itself, by the stream's clock, Unix ms. */
  readonly seenMs: number;
}

/** A lease to write, after the one at `sequence` (0: there is none). */
export interface LeaseChange extends Lease {
  readonly share: Share;
  readonly sequence: number;
}

export class Roster {
  readonly #node: string;
  readonly #lock: string | undefined;
  readonly #members = new Map<string, Heard>();
  readonly #leases = new Map<Share, HeldLease>();
  #sequence = 0;
  #streamMs = Number.NEGATIVE_INFINITY;
  #version = 0;
  /** Version at which there was nothing to write, for each value of `isSettled`. */
  readonly #nothingAt = new Map<boolean, number>();

  /** @param self the member that watches; its lock ends older members of the same data folder */
  constructor(self: Pick<MemberFacts, 'node' | 'lock'>) {
    this.#node = self.node;
    this.#lock = self.lock;
  }

  /** Position in `CLUSTER` up to which the roster has read. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Rises with every change that leases and plans depend on; a plain renewal changes nothing. */
  get version(): number {
    return this.#version;
  }

  /**
   * Takes the next message. Rows that this version cannot read are skipped. @returns the member's
   * record, if it was one
   */
  take(message: StreamMessage, elapsedMs: number): MemberRecord | undefined {
    const { subject, sequence, timeMs, data } = message;
    this.#sequence = sequence;
    this.#streamMs = Math.max(this.#streamMs, timeMs);
    const [, , table, row = ''] = subject.split('.');
    const body = parse(data);
    if (table === 'members' && isRecord(body)) {
      const before = this.#members.get(row)?.record;
      if (before === undefined || !isStanding(before, body)) this.#version++;
      this.#members.set(row, { record: body, sequence, storedMs: timeMs, heardMs: elapsedMs });
      return body;
    }
    if (table === 'leases') {
      this.#version++;
      const share = row === SYSTEM_PROJECT ? SYSTEM_PROJECT : Number(row);
      const { owner, life, epoch } = isLease(body) ? body : this.#nobodys();
      this.#leases.set(share, { owner, life, epoch, sequence });
    }
    return undefined;
  }

  /** Replaces a lease that cannot be read or does not exist: anyone may write the next one. */
  #nobodys(): Lease {
    // Above the epochs in existing entries, even if the table was lost and recreated.
    return { owner: '', life: 0, epoch: Math.floor(this.#streamMs / 1000) };
  }

  /** The lease, if its owner is live and in the life that it was written for. */
  lease(share: Share): Lease | undefined {
    const lease = this.#leases.get(share);
    const owner = lease && this.#members.get(lease.owner)?.record;
    return owner && owner.state !== 'gone' && owner.life === lease.life ? lease : undefined;
  }

  /** Position of the last row of a lease, 0 if there is none. */
  leaseSequence(share: Share): number {
    return this.#leases.get(share)?.sequence ?? 0;
  }

  /** The same lease again for this member, if it still holds it. */
  renewal(share: Share): LeaseChange | undefined {
    const lease = this.lease(share);
    if (lease?.owner !== this.#node) return undefined;
    return { ...lease, share, epoch: lease.epoch + 1, sequence: this.leaseSequence(share) };
  }

  /** All known members, by start time. */
  members(elapsedMs: number): MemberView[] {
    const shares = Map.groupBy(SHARES, (share) => this.lease(share)?.owner);
    const views = [...this.#members.values()].map((heard) => ({
      ...heard.record,
      status: this.#isSilent(heard, elapsedMs) ? this.#ended(heard.record) : livingStatus(heard),
      shares: shares.get(heard.record.node) ?? [],
      seenMs: seenMs(heard),
    }));
    return views.sort((a, b) => a.startedMs - b.startedMs || (a.node < b.node ? -1 : 1));
  }

  /** Records of the live members, including the watcher's own. */
  live(): MemberRecord[] {
    const records = [...this.#members.values()].map(({ record }) => record);
    return records.filter(({ state }) => state !== 'gone');
  }

  /** Live members that have fallen silent, with the positions of their last rows. */
  silent(elapsedMs: number): { readonly record: MemberRecord; readonly sequence: number }[] {
    return [...this.#members.values()].filter(
      (heard) => heard.record.state !== 'gone' && this.#isSilent(heard, elapsedMs),
    );
  }

  /** Forgets members whose last records are older than that, ms; returns their positions. */
  forget(afterMs: number): { readonly node: string; readonly sequence: number }[] {
    const old = [...this.#members.values()].filter(
      ({ record, storedMs }) => record.state === 'gone' && this.#streamMs - storedMs > afterMs,
    );
    return old.map(({ record: { node }, sequence }) => {
      this.#members.delete(node);
      this.#version++;
      return { node, sequence };
    });
  }

  /** Drops the member if its newest row is still the one at `sequence`. */
  drop(node: string, sequence: number): void {
    if (this.#members.get(node)?.sequence !== sequence) return;
    this.#members.delete(node);
    this.#version++;
  }

  /**
   * Position in SAMPLES up to which the owner of a partition has decided its entries; undefined
   * until it has reported one under its current lease.
   */
  decidedBy(partition: number): number | undefined {
    const owner = this.lease(partition)?.owner;
    const record = owner && this.#members.get(owner)?.record;
    if (!record || record.knows < this.leaseSequence(partition)) return undefined;
    const { decided, decidedOf } = record;
    return decidedOf ? positionAt(decidedOf, partition) : decided;
  }

  /** Positions in SAMPLES from which the live members still need the log of a partition. */
  floorsOf(partition: number): number[] {
    return this.live().map(({ floor, floors }) => (floors ? positionAt(floors, partition) : floor));
  }

  /**
   * Minimum time since rows of data centers arrived at the other members, ms. A member's report
   * stays valid when it ends.
   */
  heardElsewhere(elapsedMs: number): Map<string, number> {
    const ages = new Map<string, number>();
    for (const heard of this.#members.values()) {
      if (heard.record.node === this.#node) continue;
      // A watcher that has just joined reads rows of any age.
      const ageMs = Math.max(elapsedMs - heard.heardMs, this.#streamMs - seenMs(heard));
      for (const [datacenter, agoMs] of Object.entries(heard.record.heard)) {
        const sinceMs = agoMs + ageMs;
        ages.set(datacenter, Math.min(sinceMs, ages.get(datacenter) ?? Number.POSITIVE_INFINITY));
      }
    }
    return ages;
  }

  /**
   * Leases for this member to write. It claims those without an owner for which it ranks first and,
   * if `isSettled`, hands over those for which another member does. The same for every watcher of
   * the same rows, so two members rarely write the same lease; if they do, the stream accepts the
   * first.
   */
  plan(isSettled: boolean): LeaseChange[] {
    // Called four times a second with a result that rarely changes.
    if (this.#nothingAt.get(isSettled) === this.#version) return [];
    const changes = this.#changes(isSettled);
    if (changes.length === 0) this.#nothingAt.set(isSettled, this.#version);
    return changes;
  }

  #changes(isSettled: boolean): LeaseChange[] {
    const fit = this.live().filter(isFit);
    const own = fit.find(({ node }) => node === this.#node);
    const isReleasing = own === undefined || own.standsDown !== undefined;
    const changes: LeaseChange[] = [];
    for (const share of SHARES) {
      const held = this.lease(share);
      const first = firstFor(share, fit) ?? lastResort(share, fit, held);
      if (first === undefined || first.node === held?.owner) continue;
      const mayHandOver = held?.owner === this.#node && (isSettled || isReleasing);
      if (held ? !mayHandOver : first.node !== this.#node) continue;
      const { epoch, sequence } = this.#leases.get(share) ?? { ...this.#nobodys(), sequence: 0 };
      changes.push({ share, owner: first.node, life: first.life, epoch: epoch + 1, sequence });
    }
    return changes;
  }

  #ended({ lock, startedMs }: MemberRecord): 'gone' | 'unreachable' {
    const isSucceeded = [...this.#members.values()].some(
      ({ record }) => record.lock === lock && record.startedMs > startedMs,
    );
    return lock !== undefined && isSucceeded ? 'gone' : 'unreachable';
  }

  /** True if its row is too old. An older process of the same data folder has ended. */
  #isSilent({ record, heardMs }: Heard, elapsedMs: number): boolean {
    if (record.declaredBy !== undefined) return true;
    if (record.state === 'gone' || record.node === this.#node) return false;
    const isPredecessor = this.#lock !== undefined && record.lock === this.#lock;
    return isPredecessor || elapsedMs - heardMs >= LIVE_MS;
  }
}

/** A row that declares it dead is not its own: it repeats the member's last one, with its times. */
function seenMs({ record, storedMs }: Heard): number {
  return record.declaredBy === undefined ? storedMs : record.clockMs - record.clockAheadMs;
}

function livingStatus({ record }: Heard): MemberStatus {
  const { state, standsDown } = record;
  return state === 'acting' && standsDown !== undefined ? 'unfit' : state;
}

/** True if it may act at all, provided that it is live. */
function isFit({ state, clockAheadMs }: MemberRecord): boolean {
  return state === 'acting' && Math.abs(clockAheadMs) <= CLOCK_REFUSED_MS;
}

/** True if it is unchanged in everything that leases depend on. */
function isStanding(before: MemberRecord, after: MemberRecord): boolean {
  return (
    before.state === after.state &&
    before.life === after.life &&
    isFit(before) === isFit(after) &&
    before.unfit.join() === after.unfit.join() &&
    before.standsDown === after.standsDown
  );
}

/**
 * Rendezvous hashing (Thaler and Ravishankar 1998): a member that joins or leaves moves only its
 * own shares.
 */
function firstFor(share: Share, fit: readonly MemberRecord[]): MemberRecord | undefined {
  let first: { readonly record: MemberRecord; readonly weight: number } | undefined;
  for (const record of fit) {
    const { node, unfit } = record;
    if (unfit.includes(share)) continue;
    const weight = weightOf(`${share} ${node}`);
    const isFirst =
      first === undefined ||
      weight > first.weight ||
      (weight === first.weight && node > first.record.node);
    if (isFirst) first = { record, weight };
  }
  return first?.record;
}

/**
 * Where every member that may act stands down, its owner keeps a share, and one without an owner
 * goes to the first of them: a member that may recover is better than none.
 */
function lastResort(
  share: Share,
  fit: readonly MemberRecord[],
  held: Lease | undefined,
): MemberRecord | undefined {
  const standingDown = fit
    .filter(({ standsDown, barred = [] }) => standsDown !== undefined && !barred.includes(share))
    .map((record) => ({ ...record, unfit: [] }));
  const holder = standingDown.find(({ node }) => node === held?.owner);
  return holder ?? firstFor(share, standingDown);
}

/** FNV-1a with the final mixing steps of MurmurHash3, so that similar names spread. */
function weightOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Subject of a member's row. */
export function memberSubject(node: string): string {
  return `svc.cluster.members.${node}`;
}

/** Subject of a lease's row. */
export function leaseSubject(share: Share): string {
  return `svc.cluster.leases.${share}`;
}

export function encodeRow(row: MemberRecord | Lease): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(row));
}

function parse(data: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(data));
  } catch {
    return undefined;
  }
}

const STATES: readonly unknown[] = ['joining', 'acting', 'gone'] satisfies MemberState[];

function isRecord(value: unknown): value is MemberRecord {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Partial<Record<keyof MemberRecord, unknown>>;
  const { startedMs, turn, life, clockMs, clockAheadMs, applied, decided, floor, knows } = fields;
  const { decidedOf, floors } = fields;
  const numbers = [startedMs, turn, life, clockMs, clockAheadMs, applied, decided, floor, knows];
  return (
    typeof fields.node === 'string' &&
    STATES.includes(fields.state) &&
    numbers.every((number) => typeof number === 'number' && Number.isFinite(number)) &&
    [decidedOf, floors].every((positions) => positions === undefined || isPositions(positions)) &&
    typeof fields.heard === 'object' &&
    fields.heard !== null &&
    Array.isArray(fields.unfit)
  );
}

function isLease(value: unknown): value is Lease {
  if (typeof value !== 'object' || value === null) return false;
  const { owner, life, epoch } = value as Partial<Record<keyof Lease, unknown>>;
  return typeof owner === 'string' && Number.isSafeInteger(life) && Number.isSafeInteger(epoch);
}
