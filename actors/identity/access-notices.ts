/**
 * What changed about who can get into a project: a key, a CI connection or an owner was added, an
 * owner was removed, a connection or service account can do more than before, a credential leaked,
 * an owner ended a member's key. Each change is noted in the decision that makes
 * it, so that no crash loses one; `actors/delivery/owner-notices.ts` mails what is noted.
 *
 * Changes are collected into notices, so that nobody can fill a mailbox by making keys: a notice
 * collects for a minute, and the next one closes ten minutes after it. A leak waits for neither,
 * unless leaks come again and again: after three notices with leaks, a minute apart, they are ten
 * minutes apart too, until an hour has had none.
 *
 * Nothing that a member can do by the hundred hides what an owner must see. A notice lists 20 changes;
 * one that weighs more takes the place of one that weighs less, which is counted instead, and what
 * would displace its equal where owners and trusts are concerned goes into a further notice. So do
 * notices themselves: those that are not mailed yet, and those that list more than keys, are
 * overwritten last.
 */
import { DELIVERY_LIFETIME_MS } from '../../machines/delivery/retry-schedule.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Draft, ProjectView } from '../platform/host/host-port.ts';
import { oneLine } from '../platform/one-line.ts';
import { type KeyOwner, memberIdOf, parseOwner } from './names.ts';
import { noticeMailsOf } from './notice-mails.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    accessNotices: { readonly count: number; readonly last?: string };
  }
}

/** Body of a record of kind `notice`. Times are Unix ms. */
export interface AccessNotice {
  readonly kind: 'ACCESS_CHANGED';
  readonly changes: readonly AccessChange[];
  /** Further changes for owners that are not listed. */
  readonly more: number;
  /** Ids of members for whom changes are not listed. */
  readonly moreFor: readonly string[];
  /** Who ceased to be an owner before the notice was mailed; absent = nobody. */
  readonly formerOwners?: readonly FormerOwner[];
  readonly raisedMs: number;
  /** Of the last change: it tells of moments, and none of them lasts. */
  readonly endedMs: number;
  /** From then on it is mailed and collects nothing more. */
  readonly closesMs: number;
  /** When the notice before it closed; 0 = there was none. */
  readonly beforeMs: number;
  /** Notices with leaks without a quiet hour between them, up to this one; absent = none. */
  readonly leaks?: { readonly run: number; readonly lastMs: number };
}

export interface FormerOwner {
  /** Id of the membership. */
  readonly member: string;
  /** Of changes until then they hear as owners do, Unix ms. */
  readonly untilMs: number;
}

/**
 * What a change is about. `KEY`: a key was made or ended; any member makes hundreds. `LEAK`: a secret
 * leaked and was ended. `ACCESS`: owners, CI connections and service accounts; owners alone make these.
 */
export type AccessMatter = 'KEY' | 'LEAK' | 'ACCESS';

export interface AccessChange {
  readonly atMs: number;
  /** A sentence, on one line; no secret. */
  readonly text: string;
  /** Absent in records of an older version: it counts as `ACCESS`. */
  readonly about?: AccessMatter;
  readonly isForOwners: boolean;
  /** Id of a member who is to hear of it, owner or not; null = none. */
  readonly member: string | null;
}

/** How long the first notice collects, ms. */
const COLLECTED_MS = 60_000;
/** From one notice to the next, ms. */
const APART_MS = 600_000;
/** The same of the first notices with leaks, and how many these are. */
const LEAKS_APART_MS = 60_000;
const SWIFT_LEAKS = 3;
/** After so long without a leak, ms, the next one is a first one again. */
const LEAKS_FORGOTTEN_MS = 3_600_000;
export const LISTED_MAX = 20;
/** Members of a project are at most so many; more than that is not worth a record's bytes. */
const MORE_FOR_MAX = 100;
/**
 * Notices that are kept: more than a day has at ten minutes apart, for so long a notice waits to be
 * mailed.
 */
export const KEPT = 200;
const TEXT_CHARS_MAX = 500;

const WEIGHT: Readonly<Record<AccessMatter, number>> = { KEY: 0, LEAK: 1, ACCESS: 2 };

/** Record: how many notices of this kind there were, and the id of the last. */
const COUNT = 'accessNotices';

interface Placed {
  readonly id: string;
  readonly notice: AccessNotice;
}

/** Notes a change in the decision that makes it. Of `_system`, which has no owners, none is. */
export function noteAccessChange(
  draft: Draft,
  change: Omit<AccessChange, 'atMs' | 'about'> & { readonly about: AccessMatter },
): void {
  if (draft.project === SYSTEM_PROJECT) return;
  const noted = { ...change, atMs: draft.at, text: oneLine(change.text, TEXT_CHARS_MAX) };
  const last = lastNotice(draft);
  const isOpen = last !== undefined && draft.at < last.notice.closesMs;
  const isFull = isOpen && change.about === 'ACCESS' && !hasLighter(last.notice, 'ACCESS');
  const { id, notice } = isOpen && !isFull ? last : begun(draft, last?.notice);
  put(draft, id, added(change.about === 'LEAK' ? hastened(notice, draft.at) : notice, noted));
}

/**
 * Keeps somebody who has just ceased to be an owner among the readers of the notices that are not
 * mailed yet. In the decision that ends it, after the change itself was noted.
 */
export function keepFormerOwner(draft: Draft, member: string): void {
  for (const { id, notice } of keptNotices(draft)) {
    if (isMailed(draft, id, notice)) continue;
    const others = (notice.formerOwners ?? []).filter((each) => each.member !== member);
    put(draft, id, { ...notice, formerOwners: [...others, { member, untilMs: draft.at }] });
  }
}

/** A new notice, in the place of the one that can best be spared. */
function begun(draft: Draft, last: AccessNotice | undefined): Placed {
  const { at } = draft;
  // A full one goes on in the next, which is mailed with it.
  const isFull = last !== undefined && at < last.closesMs;
  const beforeMs = isFull ? last.beforeMs : (last?.closesMs ?? 0);
  const closesMs = isFull ? last.closesMs : Math.max(at + COLLECTED_MS, beforeMs + APART_MS);
  const isQuiet = !last?.leaks || at - last.leaks.lastMs >= LEAKS_FORGOTTEN_MS;
  const leaks = isQuiet ? {} : { leaks: last.leaks };
  const id = sparedId(draft);
  const count = Number(draft.record(COUNT, COUNT)?.body.count ?? 0);
  draft.putRecord({ kind: COUNT, id: COUNT, body: { count: count + 1, last: id } });
  return {
    id,
    notice: {
      ...{ kind: 'ACCESS_CHANGED', changes: [], more: 0, moreFor: [] },
      ...{ raisedMs: at, endedMs: at, closesMs, beforeMs, ...leaks },
    },
  };
}

/** The notice with another leak: it closes at once, or after the one before it as far as it must. */
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

/** Has the notice room for such a change, or lists it one that weighs less? */
function hasLighter({ changes }: AccessNotice, about: AccessMatter): boolean {
  if (changes.length < LISTED_MAX) return true;
  return changes.some((each) => weightOf(each) < WEIGHT[about]);
}

/** With the change listed in place of the latest of the lightest ones, or counted. */
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
    ...{ ...after, changes, more: more + (isForOwners ? 1 : 0) },
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
  // An older version went round 100 places and kept the count alone.
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

/** Has everybody been mailed it who will be? Without a mail server nobody is: a day is enough. */
function isMailed(draft: Draft, id: string, { raisedMs }: AccessNotice): boolean {
  return draft.at - raisedMs >= DELIVERY_LIFETIME_MS || noticeMailsOf(draft, id, raisedMs).isOver;
}

/** A free place; otherwise that of the mailed, lightest, oldest notice, in this order. */
function sparedId(draft: Draft): string {
  const kept = keptNotices(draft);
  if (kept.length < KEPT) {
    const taken = new Set(kept.map(({ id }) => id));
    for (let place = 0; ; place++) if (!taken.has(placeId(place))) return placeId(place);
  }
  const ranked = kept.map(({ id, notice }) => ({
    ...{ id, raisedMs: notice.raisedMs, waits: isMailed(draft, id, notice) ? 0 : 1 },
    weight: Math.max(...notice.changes.map(weightOf)),
  }));
  ranked.sort((a, b) => a.waits - b.waits || a.weight - b.weight || a.raisedMs - b.raisedMs);
  return ranked[0]?.id ?? placeId(0);
}

function put(draft: Draft, id: string, body: AccessNotice): void {
  const sort = String(body.raisedMs).padStart(15, '0');
  draft.putRecord({ kind: 'notice', id, body: { ...body }, sort });
}

/** Who reads a notice. */
export interface NoticeReader {
  /** Id of the reader's membership. */
  readonly member: string;
  readonly isOwner: boolean;
}

/** The notice as one reader may see it; undefined: there is nothing in it for them. */
export function shownTo(notice: AccessNotice, reader: NoticeReader): AccessNotice | undefined {
  const former = notice.formerOwners?.find(({ member }) => member === reader.member);
  const untilMs = reader.isOwner ? Number.POSITIVE_INFINITY : (former?.untilMs ?? 0);
  const isFor = ({ atMs, isForOwners, member }: AccessChange): boolean =>
    (isForOwners && atMs <= untilMs) || member === reader.member;
  const changes = notice.changes.filter(isFor);
  // Counted ones have no time: some of them may be of later.
  const more = untilMs > 0 ? notice.more : 0;
  const moreFor = notice.moreFor.filter((member) => member === reader.member);
  if (changes.length === 0 && more === 0 && moreFor.length === 0) return undefined;
  return { ...notice, changes, more, moreFor };
}

/** Its changes as sentences, the oldest first. */
export function sentencesOf({ changes, more, moreFor }: AccessNotice): string[] {
  const others = more > 0 ? String(more) : 'Some';
  const isMore = more > 0 || moreFor.length > 0;
  return [...changes.map(({ text }) => text), ...(isMore ? [`${others} further changes`] : [])];
}

/** Somebody, for people to read: a member's name beside that of the person; others by name alone. */
export function shownActor(view: Pick<ProjectView, 'instance' | 'project'>, by: string): string {
  const person = /^people\/(.+)$/.exec(by)?.[1];
  if (person === undefined) return by;
  return shownAs(view, 'membership', memberIdOf(view.project, person), by);
}

/** The owner of a key, by its resource name, for people to read. */
export function shownOwner(view: Pick<ProjectView, 'instance'>, name: string): string {
  const owner = parseOwner(name);
  return owner ? shownAs(view, owner.machine, owner.id, name) : name;
}

function shownAs(
  view: Pick<ProjectView, 'instance'>,
  machine: KeyOwner['machine'],
  id: string,
  name: string,
): string {
  const displayName = view.instance(machine, id)?.context.displayName;
  return typeof displayName === 'string' ? `${displayName} (${name})` : name;
}
