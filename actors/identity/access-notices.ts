/**
 * Access notices: changes of who has access to a project, for its owners to review. They report
 * that a key, a CI connection or an owner was added, an owner was removed, a connection or service
 * account can do more than before, a credential leaked, or an owner revoked a member's key. Each
 * change is recorded in the decision that makes it, so that no crash loses one; `actors/delivery`
 * mails the notices.
 *
 * Changes are collected, so that making keys cannot flood a mailbox: a notice collects for a
 * minute, and the next one closes ten minutes after it. A leak waits for neither, unless leaks
 * continue: after three notices with leaks, a minute apart, they too are ten minutes apart, until
 * an hour has had none.
 *
 * A member who makes hundreds of changes cannot hide one from the owners. A notice lists 20
 * changes. A more important change displaces a less important one, which is then only counted. A
 * change of owners or trusts that would displace an equal one starts a further notice. Kept notices
 * are overwritten in the same way: the last to go are unmailed ones, and those that list more than
 * keys.
 */
import { DELIVERY_LIFETIME_MS } from '../../machines/delivery/retry-schedule.ts';
import { isAhead } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Draft, ProjectView } from '../platform/host/host-port.ts';
import { oneLine } from '../platform/plain-text.ts';
import { type KeyOwner, memberIdOf, parseOwner } from './grants.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    /** Written by the mailer. The name is that of the first version. */
    ownersTold: StoredNoticeMails;
    accessNotices: { readonly count: number; readonly last?: string };
  }
}

/** Body of a record of kind `notice`. Times are Unix ms. */
export interface AccessNotice {
  readonly kind: 'ACCESS_CHANGED';
  readonly changes: readonly AccessChange[];
  /** Further changes for owners that are not listed. */
  readonly more: number;
  /** Ids of members who have changes that are not listed. */
  readonly moreFor: readonly string[];
  /** Owners removed before the notice was mailed; absent = none. */
  readonly formerOwners?: readonly FormerOwner[];
  readonly raisedMs: number;
  /** Time of the last change. */
  readonly endedMs: number;
  /** Time when it stops collecting and is mailed. */
  readonly closesMs: number;
  /** Time when the previous notice closed; 0 if there was none. */
  readonly beforeMs: number;
  /**
   * Number of consecutive notices with leaks, without a quiet hour, up to this one; absent = none.
   */
  readonly leaks?: { readonly run: number; readonly lastMs: number };
}

/** An owner who lost the role or the membership, and must still learn of changes up to then. */
export interface FormerOwner {
  /** Id of the membership. */
  readonly member: string;
  /** Former owners see changes up to this time as owners do, Unix ms. */
  readonly untilMs: number;
}

/**
 * Subject of a change. `KEY`: a key was made or ended; any member can make hundreds. `LEAK`: a
 * secret leaked and was revoked. `ACCESS`: owners, CI connections and service accounts, changed by
 * owners only.
 */
export type AccessMatter = 'KEY' | 'LEAK' | 'ACCESS';

/** One change in the list of a notice. */
export interface AccessChange {
  readonly atMs: number;
  /** A sentence on one line, without a secret. */
  readonly text: string;
  /** Absent in records of an older version, which count as `ACCESS`. */
  readonly about?: AccessMatter;
  readonly isForOwners: boolean;
  /** Id of a member to notify, owner or not; null = none. */
  readonly member: string | null;
}

/** Time for which the first notice collects, ms. */
const COLLECTED_MS = 60_000;
/** Minimum interval between notices, ms. */
const APART_MS = 600_000;
/** Minimum interval between the first notices with leaks, ms, and the number of these. */
const LEAKS_APART_MS = 60_000;
const SWIFT_LEAKS = 3;
/** After this time without a leak, ms, the count starts again. */
const LEAKS_FORGOTTEN_MS = 3_600_000;
/** Maximum changes that one notice lists. The others are counted. */
export const LISTED_MAX = 20;
/** Maximum ids in `moreFor`, which bounds the record. */
const MORE_FOR_MAX = 100;
/**
 * Kept notices: more than fit into a day at ten minutes apart. A notice waits at most a day to be
 * mailed.
 */
export const KEPT = 200;
const TEXT_CHARS_MAX = 500;

const WEIGHT: Readonly<Record<AccessMatter, number>> = { KEY: 0, LEAK: 1, ACCESS: 2 };

/** Record with the number of notices, and the id of the last. */
const COUNT = 'accessNotices';

interface Placed {
  readonly id: string;
  readonly notice: AccessNotice;
}

/**
 * Records a change in the decision that makes it. Does nothing in `_system`, which has no owners.
 */
export function recordAccessChange(
  draft: Draft,
  change: Omit<AccessChange, 'atMs' | 'about'> & { readonly about: AccessMatter },
): void {
  if (draft.project === SYSTEM_PROJECT) return;
  const noted = { ...change, atMs: draft.at, text: oneLine(change.text, TEXT_CHARS_MAX) };
  const last = lastNotice(draft);
  // One that was raised while the clock was ahead is closed, and mailed.
  const isOpen =
    last !== undefined &&
    draft.at < last.notice.closesMs &&
    !isAhead(last.notice.raisedMs, draft.at);
  const isFull = isOpen && change.about === 'ACCESS' && !hasLighter(last.notice, 'ACCESS');
  const { id, notice } = isOpen && !isFull ? last : begun(draft, last?.notice);
  put(draft, id, added(change.about === 'LEAK' ? hastened(notice, draft.at) : notice, noted));
}

/**
 * Keeps a removed owner among the readers of notices that have not been mailed yet. Call it in the
 * decision that removes them, after the change itself was recorded.
 */
export function keepFormerOwner(draft: Draft, member: string): void {
  for (const { id, notice } of keptNotices(draft)) {
    if (isMailed(draft, id, notice)) continue;
    const others = (notice.formerOwners ?? []).filter((each) => each.member !== member);
    put(draft, id, { ...notice, formerOwners: [...others, { member, untilMs: draft.at }] });
  }
}

/** A new notice, stored in place of the least important one. */
function begun(draft: Draft, last: AccessNotice | undefined): Placed {
  const { at } = draft;
  // A full notice continues in the next one, which is mailed with it.
  const isEarlier = last !== undefined && !isAhead(last.raisedMs, at);
  const isFull = isEarlier && at < last.closesMs;
  const closedMs = isEarlier ? last.closesMs : 0;
  const beforeMs = isFull ? last.beforeMs : closedMs;
  const closesMs = isFull ? last.closesMs : Math.max(at + COLLECTED_MS, beforeMs + APART_MS);
  const isQuiet = !last?.leaks || at - last.leaks.lastMs >= LEAKS_FORGOTTEN_MS;
  const leaks = isQuiet ? {} : { leaks: last.leaks };
  const id = sparedId(draft);
  const count = Number(draft.record(COUNT, COUNT)?.body.count ?? 0);
  draft.putRecord({ kind: COUNT, id: COUNT, body: { count: count + 1, last: id } });
  return {
    id,
    notice: {
      kind: 'ACCESS_CHANGED',
      changes: [],
      more: 0,
      moreFor: [],
      raisedMs: at,
      endedMs: at,
      closesMs,
      beforeMs,
      ...leaks,
    },
  };
}

/** The notice with another leak: it closes at once, or as soon as the previous one allows. */
function hastened(notice: AccessNotice, at: number): AccessNotice {
  const { closesMs, beforeMs, raisedMs, leaks } = notice;
  const isFirst = !leaks || leaks.lastMs < raisedMs;
  const run = (leaks?.run ?? 0) + (isFirst ? 1 : 0);
  const apartMs = run <= SWIFT_LEAKS ? LEAKS_APART_MS : APART_MS;
  return {
    ...notice,
    closesMs: Math.min(closesMs, Math.max(at, beforeMs + apartMs)),
    leaks: { run, lastMs: at },
  };
}

function weightOf({ about = 'ACCESS' }: AccessChange): number {
  return WEIGHT[about];
}

/** True if the notice can list the change, possibly in place of a less important one. */
function hasLighter({ changes }: AccessNotice, about: AccessMatter): boolean {
  if (changes.length < LISTED_MAX) return true;
  return changes.some((each) => weightOf(each) < WEIGHT[about]);
}

/**
 * The notice with the change. The change displaces the latest of the least important ones, or is
 * only counted.
 */
function added(notice: AccessNotice, change: AccessChange): AccessNotice {
  const all = [...notice.changes, change];
  const after = { ...notice, endedMs: change.atMs };
  if (all.length <= LISTED_MAX) return { ...after, changes: all };
  const lightest = Math.min(...all.map(weightOf));
  const place = all.findLastIndex((each) => weightOf(each) === lightest);
  const changes = all.filter((_, i) => i !== place);
  const { isForOwners, member } = all[place] ?? change;
  const { more, moreFor } = notice;
  const isNew = member !== null && !moreFor.includes(member) && moreFor.length < MORE_FOR_MAX;
  return {
    ...after,
    changes,
    more: more + (isForOwners ? 1 : 0),
    moreFor: isNew ? [...moreFor, member] : moreFor,
  };
}

function placeId(place: number): string {
  return `access-changed-${place}`;
}

function noticeIn(draft: Draft, id: string): AccessNotice | undefined {
  const body = draft.record('notice', id)?.body;
  return body?.kind === 'ACCESS_CHANGED' ? body : undefined;
}

function lastNotice(draft: Draft): Placed | undefined {
  const body = draft.record(COUNT, COUNT)?.body;
  if (!body) return undefined;
  // An older version used 100 slots in turn and stored only the count.
  const id = typeof body.last === 'string' ? body.last : placeId(Number(body.count) % 100);
  const notice = noticeIn(draft, id);
  return notice && { id, notice };
}

function keptNotices(draft: Draft): Placed[] {
  return Array.from({ length: KEPT }, (_, place) => placeId(place)).flatMap((id) => {
    const notice = noticeIn(draft, id);
    return notice ? [{ id, notice }] : [];
  });
}

/** True if no mail is left to send. Without a mail server, that is after a day. */
function isMailed(draft: Draft, id: string, { raisedMs }: AccessNotice): boolean {
  return draft.at - raisedMs >= DELIVERY_LIFETIME_MS || noticeMailsOf(draft, id, raisedMs).isOver;
}

/**
 * A free slot; otherwise that of a notice that is mailed, unimportant and old, compared in this
 * order.
 */
function sparedId(draft: Draft): string {
  const kept = keptNotices(draft);
  if (kept.length < KEPT) {
    const taken = new Set(kept.map(({ id }) => id));
    for (let place = 0; ; place++) if (!taken.has(placeId(place))) return placeId(place);
  }
  const ranked = kept.map(({ id, notice }) => ({
    id,
    raisedMs: notice.raisedMs,
    waits: isMailed(draft, id, notice) ? 0 : 1,
    weight: Math.max(...notice.changes.map(weightOf)),
  }));
  ranked.sort((a, b) => a.waits - b.waits || a.weight - b.weight || a.raisedMs - b.raisedMs);
  return ranked[0]?.id ?? placeId(0);
}

function put(draft: Draft, id: string, body: AccessNotice): void {
  const sort = String(body.raisedMs).padStart(15, '0');
  draft.putRecord({ kind: 'notice', id, body: { ...body }, sort });
}

/** Reader of a notice. */
export interface NoticeReader {
  /** Id of the reader's membership. */
  readonly member: string;
  readonly isOwner: boolean;
}

/** The part of the notice that the reader may see; undefined if absent. */
export function displayedTo(notice: AccessNotice, reader: NoticeReader): AccessNotice | undefined {
  const former = notice.formerOwners?.find(({ member }) => member === reader.member);
  const untilMs = reader.isOwner ? Number.POSITIVE_INFINITY : (former?.untilMs ?? 0);
  const isFor = ({ atMs, isForOwners, member }: AccessChange): boolean =>
    (isForOwners && atMs <= untilMs) || member === reader.member;
  const changes = notice.changes.filter(isFor);
  // Counted changes have no time, so some of them may be later.
  const more = untilMs > 0 ? notice.more : 0;
  const moreFor = notice.moreFor.filter((member) => member === reader.member);
  if (changes.length === 0 && more === 0 && moreFor.length === 0) return undefined;
  return { ...notice, changes, more, moreFor };
}

/** The notice's changes as sentences, oldest first. */
export function sentencesOf({ changes, more, moreFor }: AccessNotice): string[] {
  const others = more > 0 ? String(more) : 'Some';
  const isMore = more > 0 || moreFor.length > 0;
  return [...changes.map(({ text }) => text), ...(isMore ? [`${others} further changes`] : [])];
}

/** Name of an actor for users: a member's display name and resource name, or the resource name. */
export function displayedActor(
  view: Pick<ProjectView, 'instance' | 'project'>,
  by: string,
): string {
  const person = /^people\/(.+)$/.exec(by)?.[1];
  if (person === undefined) return by;
  return displayedAs(view, 'membership', memberIdOf(view.project, person), by);
}

/** Name of a key's owner for users. */
export function displayedOwner(view: Pick<ProjectView, 'instance'>, name: string): string {
  const owner = parseOwner(name);
  return owner ? displayedAs(view, owner.machine, owner.id, name) : name;
}

function displayedAs(
  view: Pick<ProjectView, 'instance'>,
  machine: KeyOwner['machine'],
  id: string,
  name: string,
): string {
  const displayName = view.instance(machine, id)?.context.displayName;
  return typeof displayName === 'string' ? `${displayName} (${name})` : name;
}

/** Progress of a notice's mails as it is stored, under the id of the notice. Members are ids. */
interface StoredNoticeMails {
  /** `raisedMs` of its notice, Unix ms. */
  readonly raisedMs: number;
  /**
   * True if no more mails are tried. Absent in records of an older version, which wrote them at the
   * end.
   */
  readonly isOver?: boolean;
  /** Members whose mail server accepted the mail. */
  readonly told?: readonly string[];
  /** Members whose mail was rejected, or not accepted within a day. */
  readonly untold?: readonly string[];
}

/** Progress of the mails of a notice. Members are ids. */
export interface NoticeMails {
  /** True if no more mails are tried. */
  readonly isOver: boolean;
  /** Members whose mail server accepted the mail. */
  readonly mailed: readonly string[];
  /** Members whose mail was rejected, or not accepted within a day. */
  readonly failed: readonly string[];
}

/** Progress of the mails of the notice that was raised at `raisedMs`. */
export function noticeMailsOf(
  view: Pick<ProjectView, 'record'>,
  id: string,
  raisedMs: number,
): NoticeMails {
  const record = view.record('ownersTold', id)?.body;
  if (record?.raisedMs !== raisedMs) return { isOver: false, mailed: [], failed: [] };
  const { isOver = true, told = [], untold = [] } = record;
  return { isOver, mailed: told, failed: untold };
}

/** Stores the progress of the mails of the notice that was raised at `raisedMs`. */
export function putNoticeMails(
  draft: Pick<Draft, 'putRecord'>,
  { id, raisedMs, isOver, mailed, failed }: NoticeMails & { id: string; raisedMs: number },
): void {
  const body = { raisedMs, isOver, told: mailed, untold: failed };
  draft.putRecord({ kind: 'ownersTold', id, body });
}
