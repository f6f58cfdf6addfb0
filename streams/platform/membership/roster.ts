/**
 * The roster: what the stream `CLUSTER` says of members and leases, and what follows from it. A pure
 * fold of the stream's rows and of the time for which this member has watched them; it appends nothing
 * and has no clock. What counts follows from the newest rows alone, never from their history: a member
 * that joins, or misses some, comes to the same.
 *
 * A member is live until its row says that it is gone. It says so itself when it leaves; of one that
 * falls silent another member says it, after it has watched the row stand still for 5 s, by a row that
 * must follow that very one. A member that has renewed its row meanwhile is therefore never declared
 * dead. One that was goes on in a new life, and the leases of the old one are nobody's.
 */

import { SYSTEM_PROJECT } from '../commit/commit.ts';
import { PARTITIONS, partitionOf, type StreamMessage, type StreamSpec } from '../stream.ts';

/** A table: a row for each member, and one for each lease. */
export const clusterSpec: StreamSpec = {
  name: 'CLUSTER',
  subjects: ['svc.cluster.>'],
  retention: 'log',
  lastOfSubject: true,
  duplicateWindowMs: 60_000,
};

/** A member whose row stands still for so long is declared dead, ms of the watcher's time. */
const LIVE_MS = 5_000;
/** A member that could not renew its record for so long acts no more: before anybody takes over, ms. */
export const ACT_MS = 4_000;
/** A calendar clock that differs by more from the stream's may not decide anything, ms. */
export const CLOCK_REFUSED_MS = 10_000;

/** What is leased: a partition of projects, or the pseudo-project `_system`. */
export type Share = number | typeof SYSTEM_PROJECT;

/** All of them, in a fixed order. */
export const SHARES: readonly Share[] = [...Array(PARTITIONS).keys(), SYSTEM_PROJECT];

/** The share that a project belongs to. */
export function shareOf(project: string): Share {
  return project === SYSTEM_PROJECT ? SYSTEM_PROJECT : partitionOf(project);
}

/** What stays the same for a member's life. Nothing in it is a secret. */
export interface MemberFacts {
  /** Unlike any other start's, of any process. */
  readonly node: string;
  readonly host: string;
  readonly pid: number;
  /** Unix ms. */
  readonly startedMs: number;
  readonly version: string;
  /**
   * What only one living process can hold, here the lock of its data folder: another member with the
   * own one has certainly ended. Absent where that cannot be known.
   */
  readonly lock?: string;
}

/** What changes from record to record. */
export interface MemberProgress {
  /** Where clients reach it; null: not known, as before it listens. */
  readonly address: string | null;
  /** Position in EVENTS up to which it has applied. */
  readonly applied: number;
  /** Position in SAMPLES up to which it has decided everything that it acts for. */
  readonly decided: number;
  /** Position in SAMPLES from which it still needs the log. */
  readonly floor: number;
  /** How long ago rows of data centers arrived here, ms. */
  readonly heard: Readonly<Record<string, number>>;
  /** Shares that hold rows of a newer program: it must not act for them. */
  readonly unfit: readonly Share[];
}

/**
 * `joining`: it catches up. `acting`: it takes its part. `gone`: it has stopped, and acts no more.
 */
export type MemberState = 'joining' | 'acting' | 'gone';

export interface MemberRecord extends MemberFacts, MemberProgress {
  readonly state: MemberState;
  /** Rises each time it was declared dead and came back: a lease belongs to one life. */
  readonly life: number;
  /** The member that declared it dead; absent: it says for itself that it is gone. */
  readonly declaredBy?: string;
  /** Counts its records. */
  readonly turn: number;
  /** Its calendar time when it wrote this, Unix ms. */
  readonly clockMs: number;
  /** How far its calendar clock is ahead of the stream's, at least, ms; negative: behind. */
  readonly clockAheadMs: number;
  /** Position in `CLUSTER` that it knew when it wrote this: of leases written later it says nothing. */
  readonly knows: number;
}

/** Who acts for a share. Epochs of a share rise with each change of its owner. */
export interface Lease {
  readonly owner: string;
  /** Of the owner; see `MemberRecord.life`. */
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

/** A member as it is now. */
export interface MemberView extends MemberRecord {
  /**
   * `unreachable`: it has not said that it is still there, and others act in its place. One whose data
   * folder has a later member is `gone`.
   */
  readonly status: MemberState | 'unreachable';
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
  /** At which version there was nothing to write, for each answer to `isSettled`. */
  readonly #nothingAt = new Map<boolean, number>();

  /** @param self the member that watches; its lock ends older members of the same data folder */
  constructor(self: Pick<MemberFacts, 'node' | 'lock'>) {
    this.#node = self.node;
    this.#lock = self.lock;
  }

  /** Position in `CLUSTER` up to which it was read. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Rises with everything that leases and plans depend on: a record that only goes on changes nothing. */
  get version(): number {
    return this.#version;
  }

  /**
   * Takes the next message. Rows that this version cannot read are left out. @returns the member's
   * record, where it was one
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

  /** In the place of a lease that cannot be read, or is not there: anybody may write the next one. */
  #nobodys(): Lease {
    // Above the epochs that entries bear already, of a table that was lost and made again too.
    return { owner: '', life: 0, epoch: Math.floor(this.#streamMs / 1000) };
  }

  /** The lease, where its owner is live and in the life that it was written for. */
  lease(share: Share): Lease | undefined {
    const lease = this.#leases.get(share);
    const owner = lease && this.#members.get(lease.owner)?.record;
    return owner && owner.state !== 'gone' && owner.life === lease.life ? lease : undefined;
  }

  /** Position of the last row of a lease, 0 where there is none. */
  leaseSequence(share: Share): number {
    return this.#leases.get(share)?.sequence ?? 0;
  }

  /** The lease once more for this member, where it still holds it. */
  renewal(share: Share): LeaseChange | undefined {
    const lease = this.lease(share);
    if (lease?.owner !== this.#node) return undefined;
    return { ...lease, share, epoch: lease.epoch + 1, sequence: this.leaseSequence(share) };
  }

  /** All that are known, by the time of their start. */
  members(elapsedMs: number): MemberView[] {
    const shares = Map.groupBy(SHARES, (share) => this.lease(share)?.owner);
    const views = [...this.#members.values()].map((heard) => ({
      ...heard.record,
      status: this.#isSilent(heard, elapsedMs) ? this.#ended(heard.record) : heard.record.state,
      shares: shares.get(heard.record.node) ?? [],
      seenMs: seenMs(heard),
    }));
    return views.sort((a, b) => a.startedMs - b.startedMs || (a.node < b.node ? -1 : 1));
  }

  /** Records of the members that are live, the watcher's own among them. */
  live(): MemberRecord[] {
    const records = [...this.#members.values()].map(({ record }) => record);
    return records.filter(({ state }) => state !== 'gone');
  }

  /** Live members that have fallen silent, with the places of the rows that stand still. */
  silent(elapsedMs: number): { readonly record: MemberRecord; readonly sequence: number }[] {
    return [...this.#members.values()].filter(
      (heard) => heard.record.state !== 'gone' && this.#isSilent(heard, elapsedMs),
    );
  }

  /** Forgets those whose last records are older than that, ms; returns where they stand. */
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
   * Position in SAMPLES up to which the owner of a share has decided; undefined while it has not said
   * so under its present lease.
   */
  decidedBy(share: Share): number | undefined {
    const owner = this.lease(share)?.owner;
    const record = owner && this.#members.get(owner)?.record;
    return record && record.knows >= this.leaseSequence(share) ? record.decided : undefined;
  }

  /**
   * How long ago rows of data centers arrived at the other members, at least, ms. What one has heard
   * stays true when it is gone.
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
   * The leases that this member is to write: it claims what nobody holds and it comes first for, and
   * hands over, when `isSettled`, what another comes first for. Equal for every watcher of the same
   * rows, so that two rarely write the same lease; where they do, the stream takes the first.
   */
  plan(isSettled: boolean): LeaseChange[] {
    // Asked four times a second, with an answer that rarely changes.
    if (this.#nothingAt.get(isSettled) === this.#version) return [];
    const changes = this.#changes(isSettled);
    if (changes.length === 0) this.#nothingAt.set(isSettled, this.#version);
    return changes;
  }

  #changes(isSettled: boolean): LeaseChange[] {
    const fit = this.live().filter(isFit);
    const isFitItself = fit.some(({ node }) => node === this.#node);
    const changes: LeaseChange[] = [];
    for (const share of SHARES) {
      const held = this.lease(share);
      const first = firstFor(share, fit);
      if (first === undefined || first.node === held?.owner) continue;
      const mayHandOver = held?.owner === this.#node && (isSettled || !isFitItself);
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

  /** Has its row stood still for too long? An older process of the same data folder has ended. */
  #isSilent({ record, heardMs }: Heard, elapsedMs: number): boolean {
    if (record.declaredBy !== undefined) return true;
    if (record.state === 'gone' || record.node === this.#node) return false;
    const isPredecessor = this.#lock !== undefined && record.lock === this.#lock;
    return isPredecessor || elapsedMs - heardMs >= LIVE_MS;
  }
}

/** A row that declares it dead is not its own: it repeats its last one, with the times of that. */
function seenMs({ record, storedMs }: Heard): number {
  return record.declaredBy === undefined ? storedMs : record.clockMs - record.clockAheadMs;
}

/** May it act at all, if it is live? */
function isFit({ state, clockAheadMs }: MemberRecord): boolean {
  return state === 'acting' && Math.abs(clockAheadMs) <= CLOCK_REFUSED_MS;
}

/** Does it say the same as before of what leases depend on? */
function isStanding(before: MemberRecord, after: MemberRecord): boolean {
  return (
    before.state === after.state &&
    before.life === after.life &&
    isFit(before) === isFit(after) &&
    before.unfit.join() === after.unfit.join()
  );
}

/** Rendezvous hashing (Thaler and Ravishankar 1998): a member that comes or goes moves only its own. */
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

/** FNV-1a with the last mixing steps of MurmurHash3, so that similar names spread. */
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
  const numbers = [startedMs, turn, life, clockMs, clockAheadMs, applied, decided, floor, knows];
  return (
    typeof fields.node === 'string' &&
    STATES.includes(fields.state) &&
    numbers.every((number) => typeof number === 'number' && Number.isFinite(number)) &&
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
