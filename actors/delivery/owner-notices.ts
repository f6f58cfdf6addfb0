/**
 * Mails notices to people who may not read them in the project: to owners, that a destination was
 * paused or that access changed; to a member, that one of their keys changed. Each raised notice is
 * mailed once, even across crashes: a record of its recipients is written after the mail server
 * accepted the mails. A failed mail is retried for a day and does not delay other mails.
 */

import { DELIVERY_LIFETIME_MS } from '../../machines/delivery/retry-schedule.ts';
import { type Clock, isAhead } from '../../streams/platform/clock.ts';
import { type Actor, type Commit, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause } from '../../streams/platform/pause.ts';
import { activePeople } from '../alerting/eligible.ts';
import type { NoticeBody } from '../alerting/notices.ts';
import {
  type AccessNotice,
  displayedTo,
  type NoticeReader,
  noticeMailsOf,
  putNoticeMails,
} from '../identity/access-notices.ts';
import type { Host, ProjectView } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';

/**
 * A notice in the form in which it is mailed. An `AccessNotice` has only the changes that its
 * reader may see.
 */
export type MailedNotice = NoticeBody | AccessNotice;

/** One mail of a notice to one person. */
export interface OwnerMail {
  readonly to: string;
  /** Project id. */
  readonly project: string;
  readonly notice: MailedNotice;
  /** The recipient owns the project. */
  readonly isOwner: boolean;
  /** The recipient owned the project at the time of the change, but no longer does. */
  readonly wasOwner: boolean;
  /** Unique key of this mail, the same for each retry. */
  readonly key: string;
}

/** The host with the notices, and the sender of mails. */
export interface OwnerNoticesDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly ownership: Pick<Ownership, 'owns'>;
  /** Resolves with false if the server will never accept it. Rejects if a retry can help. */
  readonly send: (mail: OwnerMail) => Promise<boolean>;
  readonly onFault: (what: string, error: unknown) => void;
}

/** Interval between checks for due notices, ms. */
const POLL_MS = 5_000;
/** Wait before failed mails are retried, ms. */
const RETRY_MS = 60_000;
const PAGE = 500;

const actor: Actor = { kind: 'service', name: 'owner-news' };

/** Mails notices until `signal`. */
export async function notifyOwners(deps: OwnerNoticesDeps, signal: AbortSignal): Promise<void> {
  const notices = new OwnerNotices(deps);
  const undo = deps.host.onApplied(({ commit }) => notices.follow(commit));
  try {
    while (!signal.aborted) {
      await notices.mailDue(signal);
      await pause(deps.clock, POLL_MS, signal);
    }
  } finally {
    undo();
  }
}

interface Raised {
  readonly project: string;
  readonly id: string;
  readonly raisedMs: number;
  readonly body: MailedNotice;
  /** Members already mailed, and members whose mail failed for good. */
  readonly before: { readonly mailed: readonly string[]; readonly failed: readonly string[] };
}

class OwnerNotices {
  readonly #deps: OwnerNoticesDeps;
  /** Projects with notices to mail, and the time when they are due, elapsed ms. */
  readonly #due = new Map<string, number>();
  /** Keys of mails that the server accepted but that are not recorded yet. */
  readonly #taken = new Set<string>();

  constructor(deps: OwnerNoticesDeps) {
    this.#deps = deps;
    for (const project of deps.host.projects()) this.#due.set(project, 0);
  }

  follow({ project, decisions }: Commit): void {
    const records = decisions.flatMap((decision) => decision.records);
    if (records.some(({ kind }) => kind === 'notice')) this.#due.set(project, 0);
  }

  async mailDue(signal: AbortSignal): Promise<void> {
    const { clock, host, ownership } = this.#deps;
    for (const [project, fromMs] of [...this.#due]) {
      if (signal.aborted) return;
      // Still due, in case this member starts to act for it.
      if (!ownership.owns(project)) continue;
      if (clock.elapsed() < fromMs) continue;
      this.#due.delete(project);
      if (project === SYSTEM_PROJECT) continue;
      let isOver = true;
      let waitMs = RETRY_MS;
      for (const raised of unfinished(host.view(project))) {
        if (signal.aborted) return;
        const nowMs = clock.now();
        const closesInMs = isAhead(raised.raisedMs, nowMs) ? 0 : closeOf(raised.body) - nowMs;
        if (closesInMs > 0) waitMs = Math.min(waitMs, closesInMs);
        if (closesInMs > 0 || !(await this.#tryOne(raised))) isOver = false;
      }
      // A notice raised during this run must not wait for the retry.
      if (!isOver && !this.#due.has(project)) this.#due.set(project, clock.elapsed() + waitMs);
    }
  }

  /** Mails one notice to as many members as possible now. Resolves with true when it is done. */
  async #tryOne(raised: Raised): Promise<boolean> {
    try {
      return await this.#mailOne(raised);
    } catch (error) {
      this.#deps.onFault(`mailing the owners of ${raised.project}`, error);
      return false;
    }
  }

  async #mailOne({ project, id, raisedMs, body: raised, before }: Raised): Promise<boolean> {
    const { clock, host, onFault } = this.#deps;
    const isLate = clock.now() - raisedMs >= DELIVERY_LIFETIME_MS;
    const mailed = new Set(before.mailed);
    const failed = new Set(before.failed);
    let isOver = true;
    const keyOf = (member: string) => `${id}.${raisedMs}.${member}`;
    // Read again, because an owner may have been removed while other notices were mailed.
    const now = host.view(project).record('notice', id)?.body;
    const latest = now?.raisedMs === raisedMs ? now : raised;
    for (const { member, to, notice, isOwner, wasOwner } of readersOf(host, project, latest)) {
      if (mailed.has(member) || failed.has(member)) continue;
      const mail = { to, project, notice, isOwner, wasOwner, key: keyOf(member) };
      const result = isLate ? 'never' : await this.#send(mail, member);
      if (result === 'taken') mailed.add(member);
      if (result === 'never') failed.add(member);
      if (result === 'later') isOver = false;
      if (isLate)
        onFault(`mailing ${member}`, new Error('The mail server accepted no mail within a day'));
    }
    const doneBefore = before.mailed.length + before.failed.length;
    if (isOver || mailed.size + failed.size > doneBefore) {
      const mails = { id, raisedMs, isOver, mailed: [...mailed], failed: [...failed] };
      await host.submit({
        project,
        by: actor,
        decide: (draft) => putNoticeMails(draft, mails),
      });
    }
    for (const member of mailed) this.#taken.delete(keyOf(member));
    return isOver;
  }

  /** Sends one mail to one member, and reports failures. */
  async #send(mail: OwnerMail, member: string): Promise<'taken' | 'later' | 'never'> {
    const { onFault, send } = this.#deps;
    if (this.#taken.has(mail.key)) return 'taken';
    try {
      if (await send(mail)) {
        this.#taken.add(mail.key);
        return 'taken';
      }
      onFault(`mailing ${member}`, new Error('The mail server rejected the mail'));
      return 'never';
    } catch (error) {
      onFault(`mailing ${member}`, error);
      return 'later';
    }
  }
}

/** Time until which a notice collects changes before it is mailed, Unix ms. */
function closeOf(notice: MailedNotice): number {
  return notice.kind === 'ACCESS_CHANGED' ? notice.closesMs : 0;
}

/** Notices about destinations that receive nothing. */
const BROKEN: ReadonlySet<string> = new Set(['DESTINATION_PAUSED', 'MESSAGES_REFUSED']);

/** Notices of lasting pauses and rejections, and of access changes that have not been mailed to everyone yet. */
function unfinished(view: ProjectView): Raised[] {
  const found: Raised[] = [];
  for (const { project, id, body } of itemsOf(PAGE, (page) => view.records('notice', page))) {
    const notice = body;
    const isBroken = BROKEN.has(notice.kind) && notice.endedMs === null;
    if (!isBroken && notice.kind !== 'ACCESS_CHANGED') continue;
    const { raisedMs } = notice;
    const { isOver, mailed, failed } = noticeMailsOf(view, id, raisedMs);
    if (!isOver) found.push({ project, id, raisedMs, body: notice, before: { mailed, failed } });
  }
  return found;
}

/**
 * The members to mail a notice to: those with a verified address who may sign in. A change of
 * access also goes to owners removed since, because someone who can add an owner could remove
 * another one before the mail.
 */
function readersOf(host: Host, project: string, body: MailedNotice) {
  const isPersonActive = activePeople(host);
  return allInstances(host.view(project), 'membership').flatMap(({ instance, value, context }) => {
    const { role, email, person } = context;
    const isOwner = value === 'active' && role === 'OWNER';
    const wasOwner = !isOwner && hasLostIn(body, instance);
    if ((value !== 'active' && !wasOwner) || email === '' || !isPersonActive(person)) return [];
    const notice = noticeFor(body, { member: instance, isOwner });
    return notice ? [{ member: instance, to: email, notice, isOwner, wasOwner }] : [];
  });
}

function hasLostIn(body: MailedNotice, id: string): boolean {
  if (body.kind !== 'ACCESS_CHANGED') return false;
  return body.formerOwners?.some(({ member }) => member === id) ?? false;
}

function noticeFor(body: MailedNotice, reader: NoticeReader): MailedNotice | undefined {
  if (body.kind === 'ACCESS_CHANGED') return displayedTo(body, reader);
  return reader.isOwner ? body : undefined;
}
