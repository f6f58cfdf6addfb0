/**
 * Mails notices to people who may not look at them: to a project's owners that a destination of
 * theirs was paused, and who can get in since; to a member what was done to a key of theirs. A notice
 * is mailed once for each time it is raised, though the process dies meanwhile: who was mailed is a
 * record, written after the mails were taken. Somebody whose mail fails is tried again for a day, and
 * keeps no other from being mailed.
 */

import { DELIVERY_LIFETIME_MS } from '../../machines/delivery/retry-schedule.ts';
import type { MembershipContext } from '../../machines/identity/membership.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type Actor, type Commit, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import { activePeople } from '../alerting/eligible.ts';
import type { NoticeBody } from '../alerting/notices.ts';
import { allInstances } from '../alerting/rule-markers.ts';
import { type AccessNotice, type NoticeReader, shownTo } from '../identity/access-notices.ts';
import { noticeMailsOf } from '../identity/notice-mails.ts';
import type { Host, ProjectView } from '../platform/host/host-port.ts';

/** What is mailed; of an `AccessNotice` what is for the one it goes to. */
export type MailedNotice = NoticeBody | AccessNotice;

export interface OwnerMail {
  readonly to: string;
  /** Project id. */
  readonly project: string;
  readonly notice: MailedNotice;
  /** Is it to an owner of the project? */
  readonly isOwner: boolean;
  /** Is it to somebody who was an owner when it happened, and is none any more? */
  readonly wasOwner: boolean;
  /** Names this mail among all: the same for each try. */
  readonly key: string;
}

export interface OwnerNewsDeps {
  readonly host: Host;
  readonly clock: Clock;
  /** false: the server will not take it, now or later. Rejects when another try can help. */
  readonly send: (mail: OwnerMail) => Promise<boolean>;
  readonly onFault: (what: string, error: unknown) => void;
}

/** How often it is looked for something to tell, ms. */
const LOOK_MS = 5_000;
/** Before mails that were not taken are tried again, ms. */
const AGAIN_MS = 60_000;
const PAGE = 500;

const actor: Actor = { kind: 'service', name: 'owner-news' };

/** Tells what there is to tell until `signal`. */
export async function tellOwners(deps: OwnerNewsDeps, signal: AbortSignal): Promise<void> {
  const news = new OwnerNews(deps);
  const undo = deps.host.onApplied(({ commit }) => news.notice(commit));
  try {
    while (!signal.aborted) {
      await news.tell(signal);
      await pause(deps.clock, LOOK_MS, signal);
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
  /** Members that no more mail is for. */
  readonly before: { readonly told: readonly string[]; readonly untold: readonly string[] };
}

class OwnerNews {
  readonly #deps: OwnerNewsDeps;
  /** Projects to look at, and not before when, elapsed ms. */
  readonly #due = new Map<string, number>();
  /** Keys of mails that were taken, and are not in a record yet. */
  readonly #taken = new Set<string>();

  constructor(deps: OwnerNewsDeps) {
    this.#deps = deps;
    for (const project of deps.host.projects()) this.#due.set(project, 0);
  }

  notice({ project, decisions }: Commit): void {
    const records = decisions.flatMap((decision) => decision.records);
    if (records.some(({ kind }) => kind === 'notice')) this.#due.set(project, 0);
  }

  async tell(signal: AbortSignal): Promise<void> {
    const { clock, host } = this.#deps;
    for (const [project, fromMs] of [...this.#due]) {
      if (signal.aborted) return;
      if (clock.elapsed() < fromMs) continue;
      this.#due.delete(project);
      if (project === SYSTEM_PROJECT) continue;
      let isOver = true;
      let waitMs = AGAIN_MS;
      for (const raised of unfinished(host.view(project))) {
        if (signal.aborted) return;
        const closesInMs = closeOf(raised.body) - clock.now();
        if (closesInMs > 0) waitMs = Math.min(waitMs, closesInMs);
        if (closesInMs > 0 || !(await this.#tryOne(raised))) isOver = false;
      }
      // Not where another notice was raised meanwhile: that one is not to wait.
      if (!isOver && !this.#due.has(project)) this.#due.set(project, clock.elapsed() + waitMs);
    }
  }

  /** Tells one notice as far as it goes now; true: nothing of it is left to do. */
  async #tryOne(raised: Raised): Promise<boolean> {
    try {
      return await this.#tellOne(raised);
    } catch (error) {
      this.#deps.onFault(`telling the owners of ${raised.project}`, error);
      return false;
    }
  }

  async #tellOne({ project, id, raisedMs, body, before }: Raised): Promise<boolean> {
    const { clock, host, onFault } = this.#deps;
    const isLate = clock.now() - raisedMs >= DELIVERY_LIFETIME_MS;
    const told = new Set(before.told);
    const untold = new Set(before.untold);
    let isOver = true;
    const keyOf = (member: string) => `${id}.${raisedMs}.${member}`;
    // Read again: an owner may have been removed while other notices were mailed.
    const now = host.view(project).record('notice', id)?.body as MailedNotice | undefined;
    const latest = now?.raisedMs === raisedMs ? now : body;
    for (const { member, to, notice, isOwner, wasOwner } of readersOf(host, project, latest)) {
      if (told.has(member) || untold.has(member)) continue;
      const mail = { to, project, notice, isOwner, wasOwner, key: keyOf(member) };
      const result = isLate ? 'never' : await this.#send(mail, member);
      if (result === 'taken') told.add(member);
      if (result === 'never') untold.add(member);
      if (result === 'later') isOver = false;
      if (isLate) onFault(`telling ${member}`, new Error('No mail was taken within a day'));
    }
    const after = { raisedMs, isOver, told: [...told], untold: [...untold] };
    if (
      isOver ||
      after.told.length + after.untold.length > before.told.length + before.untold.length
    ) {
      await host.submit({
        ...{ project, by: actor },
        decide: (draft) => draft.putRecord({ kind: 'ownersTold', id, body: after }),
      });
    }
    for (const member of told) this.#taken.delete(keyOf(member));
    return isOver;
  }

  /** One mail to one owner; what keeps it from being taken is counted. */
  async #send(mail: OwnerMail, member: string): Promise<'taken' | 'later' | 'never'> {
    const { onFault, send } = this.#deps;
    if (this.#taken.has(mail.key)) return 'taken';
    try {
      if (await send(mail)) {
        this.#taken.add(mail.key);
        return 'taken';
      }
      onFault(`telling ${member}`, new Error('The mail server takes no such mail'));
      return 'never';
    } catch (error) {
      onFault(`telling ${member}`, error);
      return 'later';
    }
  }
}

/** Until when a notice collects more: it is not mailed before, Unix ms. */
function closeOf(notice: MailedNotice): number {
  return notice.kind === 'ACCESS_CHANGED' ? notice.closesMs : 0;
}

/** Notices of pauses that last, and of access, of which not everybody has been mailed. */
function unfinished(view: ProjectView): Raised[] {
  const found: Raised[] = [];
  let after: string | undefined;
  do {
    const page = view.records('notice', { limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { project, id, body } of page.items) {
      const notice = body as unknown as MailedNotice;
      const isPause = notice.kind === 'DESTINATION_PAUSED' && notice.endedMs === null;
      if (!isPause && notice.kind !== 'ACCESS_CHANGED') continue;
      const { raisedMs } = notice;
      const { isOver, told, untold } = noticeMailsOf(view, id, raisedMs);
      if (!isOver) found.push({ project, id, raisedMs, body: notice, before: { told, untold } });
    }
    after = page.next;
  } while (after !== undefined);
  return found;
}

/**
 * Who a notice is for and can be written to: who has a proven address and may sign in. A change of
 * access is also for those who were owners when it was made and are none by now: whoever can add an
 * owner can remove another before the mail is due.
 */
function readersOf(host: Host, project: string, body: MailedNotice) {
  const isPersonActive = activePeople(host);
  return allInstances(host.view(project), 'membership').flatMap(({ instance, value, context }) => {
    const { role, email, person } = context as unknown as MembershipContext;
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
  if (body.kind === 'ACCESS_CHANGED') return shownTo(body, reader);
  return reader.isOwner ? body : undefined;
}
