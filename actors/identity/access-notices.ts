/**
 * What changed about who can get into a project: a key, a CI connection or an owner was added, a
 * credential leaked, an owner ended a member's key. Each change is noted in the decision that makes
 * it, so that no crash loses one; `actors/delivery/owner-news.ts` mails what is noted.
 *
 * Changes are collected into notices, so that nobody can fill a mailbox by making keys: a notice
 * collects for a minute, and the next one closes ten minutes after it. A leak waits for neither; two
 * notices with leaks are a minute apart. Of a notice's changes 20 are listed and the others counted.
 */
import { SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import type { Draft, ProjectView } from '../host-port.ts';
import { oneLine } from '../one-line.ts';
import { memberIdOf, parseOwner } from './names.ts';

/** Body of a record of kind `notice`. Times are Unix ms. */
export interface AccessNotice {
  readonly kind: 'ACCESS_CHANGED';
  readonly changes: readonly AccessChange[];
  /** Further changes for owners that are not listed. */
  readonly more: number;
  /** Ids of members for whom changes are not listed. */
  readonly moreFor: readonly string[];
  readonly raisedMs: number;
  /** Of the last change: it tells of moments, and none of them lasts. */
  readonly endedMs: number;
  /** From then on it is mailed and collects nothing more. */
  readonly closesMs: number;
  /** When the notice before it closed; 0 = there was none. */
  readonly beforeMs: number;
}

export interface AccessChange {
  readonly atMs: number;
  /** A sentence, on one line; no secret. */
  readonly text: string;
  readonly isForOwners: boolean;
  /** Id of a member who is to hear of it, owner or not; null = none. */
  readonly member: string | null;
}

/** How long the first notice collects, ms. */
const COLLECTED_MS = 60_000;
/** From one notice to the next, ms. */
const APART_MS = 600_000;
const LEAKS_APART_MS = 60_000;
export const LISTED_MAX = 20;
/** Members of a project are at most so many; more than that is not worth a record's bytes. */
const MORE_FOR_MAX = 100;
/** Notices that are kept: those of 16 hours of changes without an end. */
const KEPT = 100;
const TEXT_CHARS_MAX = 500;

/** Record: how many notices of this kind there were. */
const COUNT = 'accessNotices';

/** Notes a change in the decision that makes it. Of `_system`, which has no owners, none is. */
export function noteAccessChange(
  draft: Draft,
  change: Omit<AccessChange, 'atMs'> & { readonly isLeak?: boolean },
): void {
  if (draft.project === SYSTEM_PROJECT) return;
  const { isLeak = false, text, ...rest } = change;
  const noted = { ...rest, atMs: draft.at, text: oneLine(text, TEXT_CHARS_MAX) };
  const count = Number(draft.record(COUNT, COUNT)?.body.count ?? 0);
  const last = noticeIn(draft, count);
  if (last && draft.at < last.closesMs) {
    const closesMs = isLeak
      ? Math.min(last.closesMs, closeOfLeak(draft, last.beforeMs))
      : last.closesMs;
    put(draft, count, { ...added(last, noted), closesMs });
    return;
  }
  const beforeMs = last?.closesMs ?? 0;
  const closesMs = isLeak
    ? closeOfLeak(draft, beforeMs)
    : Math.max(draft.at + COLLECTED_MS, beforeMs + APART_MS);
  const times = { raisedMs: draft.at, endedMs: draft.at, closesMs, beforeMs };
  const empty = { kind: 'ACCESS_CHANGED', changes: [], more: 0, moreFor: [], ...times } as const;
  put(draft, count + 1, added(empty, noted));
  draft.putRecord({ kind: COUNT, id: COUNT, body: { count: count + 1 } });
}

function closeOfLeak({ at }: Draft, beforeMs: number): number {
  return Math.max(at, beforeMs + LEAKS_APART_MS);
}

function added(notice: AccessNotice, change: AccessChange): AccessNotice {
  const endedMs = change.atMs;
  const { changes, more, moreFor } = notice;
  if (changes.length < LISTED_MAX) return { ...notice, endedMs, changes: [...changes, change] };
  const { member, isForOwners } = change;
  const isNew = member !== null && !moreFor.includes(member) && moreFor.length < MORE_FOR_MAX;
  return {
    ...{ ...notice, endedMs, more: more + (isForOwners ? 1 : 0) },
    moreFor: isNew ? [...moreFor, member] : moreFor,
  };
}

function idOf(count: number): string {
  return `access-changed-${count % KEPT}`;
}

function noticeIn(draft: Draft, count: number): AccessNotice | undefined {
  // Records with such ids are written here alone.
  return draft.record('notice', idOf(count))?.body as AccessNotice | undefined;
}

function put(draft: Draft, count: number, body: AccessNotice): void {
  const sort = String(body.raisedMs).padStart(15, '0');
  draft.putRecord({ kind: 'notice', id: idOf(count), body: { ...body }, sort });
}

/** Who reads a notice. */
export interface NoticeReader {
  /** Id of the reader's membership. */
  readonly member: string;
  readonly isOwner: boolean;
}

/** The notice as one reader may see it; undefined: there is nothing in it for them. */
export function shownTo(notice: AccessNotice, reader: NoticeReader): AccessNotice | undefined {
  const isFor = ({ isForOwners, member }: AccessChange): boolean =>
    (isForOwners && reader.isOwner) || member === reader.member;
  const changes = notice.changes.filter(isFor);
  const more = reader.isOwner ? notice.more : 0;
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
  machine: string,
  id: string,
  name: string,
): string {
  const displayName = view.instance(machine, id)?.context.displayName;
  return typeof displayName === 'string' ? `${displayName} (${name})` : name;
}
