/**
 * Tells a project's owners by mail that a destination of theirs was paused: whoever relies on it may
 * not look at notices. A notice is told once for each time it is raised, though the process dies
 * meanwhile: that it was told is a record, written after the mails were taken.
 */
import type { MembershipContext } from '../../machines/membership.ts';
import { DELIVERY_LIFETIME_MS } from '../../machines/retry-schedule.ts';
import type { Clock } from '../../streams/clock.ts';
import { type Actor, type Commit, SYSTEM_PROJECT } from '../../streams/commit/commit.ts';
import { pause } from '../../streams/pause.ts';
import { activePeople } from '../alerting/eligible.ts';
import type { NoticeBody } from '../alerting/notices.ts';
import { allInstances } from '../alerting/rule-markers.ts';
import type { Host, ProjectView } from '../host-port.ts';

export interface OwnerMail {
  readonly to: string;
  /** Project id. */
  readonly project: string;
  readonly notice: NoticeBody;
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
  readonly body: NoticeBody;
}

class OwnerNews {
  readonly #deps: OwnerNewsDeps;
  /** Projects to look at, and not before when, elapsed ms. */
  readonly #due = new Map<string, number>();
  /** Keys of mails that were taken, of notices not yet recorded as told. */
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
    const nowMs = this.#deps.clock.elapsed();
    for (const [project, fromMs] of [...this.#due]) {
      if (signal.aborted) return;
      if (nowMs < fromMs) continue;
      this.#due.delete(project);
      if (project === SYSTEM_PROJECT) continue;
      try {
        for (const raised of untold(this.#deps.host.view(project))) await this.#tellOne(raised);
      } catch (error) {
        this.#due.set(project, nowMs + AGAIN_MS);
        this.#deps.onFault(`telling the owners of ${project}`, error);
      }
    }
  }

  async #tellOne({ project, id, body }: Raised): Promise<void> {
    const { clock, host, onFault } = this.#deps;
    const isLate = clock.now() - body.raisedMs >= DELIVERY_LIFETIME_MS;
    const keys: string[] = [];
    for (const { member, to } of isLate ? [] : ownersOf(host, project)) {
      const key = `${id}.${body.raisedMs}.${member}`;
      keys.push(key);
      if (this.#taken.has(key)) continue;
      const isTaken = await this.#deps.send({ to, project, notice: body, key });
      if (!isTaken) onFault(`telling ${member}`, new Error('The mail server takes no such mail'));
      this.#taken.add(key);
    }
    await host.submit({
      ...{ project, by: actor },
      decide: (draft) =>
        draft.putRecord({ kind: 'ownersTold', id, body: { raisedMs: body.raisedMs } }),
    });
    for (const key of keys) this.#taken.delete(key);
  }
}

/** Notices of pauses that last, and of which the owners have not been told. */
function untold(view: ProjectView): Raised[] {
  const found: Raised[] = [];
  let after: string | undefined;
  do {
    const page = view.records('notice', { limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { project, id, body } of page.items) {
      const notice = body as unknown as NoticeBody;
      if (notice.kind !== 'DESTINATION_PAUSED' || notice.endedMs !== null) continue;
      const isTold = view.record('ownersTold', id)?.body.raisedMs === notice.raisedMs;
      if (!isTold) found.push({ project, id, body: notice });
    }
    after = page.next;
  } while (after !== undefined);
  return found;
}

/** Owners that can be written to: who has an address and may sign in. */
function ownersOf(host: Host, project: string): { member: string; to: string }[] {
  const isPersonActive = activePeople(host);
  return allInstances(host.view(project), 'membership').flatMap(({ instance, value, context }) => {
    const { role, email, person } = context as unknown as MembershipContext;
    const isOwner = value === 'active' && role === 'OWNER' && email !== '';
    return isOwner && isPersonActive(person) ? [{ member: instance, to: email }] : [];
  });
}
