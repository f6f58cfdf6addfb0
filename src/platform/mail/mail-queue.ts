/**
 * Queue of mails, apart from the requests that cause them: the caller is answered at once, and the
 * response time does not reveal whether there was anything to send. Bounded and in memory, because
 * its mails contain secrets that are in no file of the service: a mail that waits at the stop is
 * dropped, and its requester is notified. Notifications, which must not be lost, have the delivery
 * log.
 *
 * A mail that the server defers is tried for four hours. Greylists accept the second try after 1 to
 * 60 minutes, and servers that are replaced are away for an hour or two.
 */
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { type Mail, type Mailer, MailFault } from './mailer.ts';

export type MailKind = 'sign-in' | 'invitation' | 'verification';

export interface MailJob {
  readonly kind: MailKind;
  /** Project whose members the mail is for; undefined if it belongs to none. */
  readonly project?: string;
  /** Makes the mail at its turn; undefined = nothing to send. */
  readonly make: () => Promise<Mail | undefined>;
  /** Called before each attempt: false = the mail is out of date. */
  readonly isCurrent?: () => boolean;
  /** Time after which the mail is useless, Unix ms. It is not tried again after that. */
  readonly worksUntilMs?: () => number;
  /** Called with what becomes of the mail; for `deferred`, another call follows. */
  readonly onOutcome?: (outcome: MailOutcome) => Promise<void>;
}

export type MailOutcome =
  | { readonly kind: 'accepted' }
  /** Not accepted for a minute and a half. */
  | { readonly kind: 'deferred'; readonly fault: MailFault }
  /** Permanently rejected. */
  | { readonly kind: 'refused'; readonly fault: MailFault }
  /** Not accepted by the last try. */
  | { readonly kind: 'given-up'; readonly fault: MailFault }
  /** Not accepted before the service stopped. */
  | { readonly kind: 'dropped' };

export interface MailQueueDeps {
  readonly mailer: Mailer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** About 100 KB; at two per second, the mail of a minute and a half. */
const WAITING_MAX = 200;
/** Share of the queue for one kind of mail: many invitations must not delay sign-in links. */
const WAITING_MAX_OF: Readonly<Record<MailKind, number>> = {
  'sign-in': WAITING_MAX,
  invitation: 100,
  verification: 100,
};
interface Waiting {
  readonly kind: MailKind;
  readonly project?: string | undefined;
}
interface Turn extends Waiting {
  readonly job: MailJob;
  readonly run: () => Promise<void>;
}
interface Retry extends Waiting {
  readonly job: MailJob;
  /** It waits longer than a minute and a half. */
  readonly isLater: boolean;
}
const AT_ONCE = 2;
const MINUTE_MS = 60_000;
/**
 * Waits before the second and each further try, ms: a dropped connection, a short greylist; then 6
 * and 20 minutes, 1 and 4 hours after the first try, for longer ones and for a server that is away.
 */
const RETRY_MS = [
  5_000,
  90_000,
  6 * MINUTE_MS - 95_000,
  14 * MINUTE_MS,
  40 * MINUTE_MS,
  180 * MINUTE_MS,
] as const;
/** Tries after which the requester is notified that the mail is deferred. */
const TOLD_AFTER = 3;
/** Mails that wait longer than a minute and a half have places of their own. About 2 MB. */
const LATER_MAX = 600;
const LATER_MAX_OF_KIND = 300;

export class MailQueue {
  readonly #deps: MailQueueDeps;
  readonly #mails: ReturnType<Metrics['counter']>;
  readonly #waiting: Turn[] = [];
  readonly #retries = new Map<CancelWakeUp, Retry>();
  #running = 0;
  #isClosed = false;
  #idle: (() => void)[] = [];

  constructor(deps: MailQueueDeps) {
    this.#deps = deps;
    const { metrics } = deps;
    this.#mails = metrics.counter('svc_mails_total', 'Requested mails', ['kind', 'outcome']);
    metrics.gauge('svc_mails_waiting', 'Mails not yet sent', [], (gauge) =>
      gauge.set(this.#underWay()),
    );
  }

  /** Adds a job. false: the queue is full, and the job is dropped and counted. Never waits. */
  add(job: MailJob): boolean {
    const { kind, project } = job;
    if (this.room(job) === 0) {
      this.#mails.inc({ kind, outcome: 'dropped' });
      this.#deps.log.warn({ kind, part: 'mail' }, 'A mail was dropped: too many are waiting');
      return false;
    }
    this.#waiting.push({ kind, project, job, run: () => this.#make(job) });
    this.#next();
    return true;
  }

  /**
   * Number of further jobs of a kind that are accepted for a project now. A project never has more
   * waiting than is left to all others: alone it fills half, and one that asks when the queue is
   * busy finds room.
   */
  room(one: Waiting): number {
    if (this.#isClosed) return 0;
    const soon = [...this.#retries.values()].filter(({ isLater }) => !isLater);
    const bounds = { max: WAITING_MAX, maxOfKind: WAITING_MAX_OF[one.kind] };
    return roomFor(one, [...this.#waiting, ...soon], bounds);
  }

  /** The same for mails that wait longer, so that they leave the places of others free. */
  #roomLater(one: Waiting): number {
    const later = [...this.#retries.values()].filter(({ isLater }) => isLater);
    return roomFor(one, later, { max: LATER_MAX, maxOfKind: LATER_MAX_OF_KIND });
  }

  /** Counts a mail that is not sent because too many of its kind were requested. */
  recordLimited(kind: MailKind): void {
    this.#mails.inc({ kind, outcome: 'limited' });
    this.#deps.log.warn({ kind, part: 'mail' }, 'A mail is not sent: too many were requested');
  }

  /** True while a mail is being made or sent. */
  isSending(): boolean {
    return this.#running > 0;
  }

  /** Resolves when nothing is in progress. For tests and a graceful stop. */
  settled(): Promise<void> {
    if (this.#underWay() === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idle.push(resolve));
  }

  /**
   * Drops, reports and counts waiting mails; the one being sent continues until the mailer is
   * closed.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const dropped = [...this.#waiting, ...this.#retries.values()].map(({ job }) => job);
    for (const cancel of this.#retries.keys()) cancel();
    this.#retries.clear();
    this.#waiting.length = 0;
    const { log } = this.#deps;
    if (dropped.length > 0) {
      log.warn({ dropped: dropped.length, part: 'mail' }, 'Mails were dropped at the stop');
    }
    this.#next();
    await Promise.all(dropped.map((job) => this.#report(job, { kind: 'dropped' })));
  }

  #underWay(): number {
    return this.#waiting.length + this.#running + this.#retries.size;
  }

  #next(): void {
    while (this.#running < AT_ONCE) {
      const next = this.#waiting.shift();
      if (!next) break;
      this.#running++;
      void next
        .run()
        .catch((error: unknown) => this.#recordFault(next.kind, error))
        .finally(() => {
          this.#running--;
          this.#next();
        });
    }
    if (this.#underWay() > 0) return;
    for (const resolve of this.#idle) resolve();
    this.#idle = [];
  }

  async #make(job: MailJob): Promise<void> {
    const mail = await job.make();
    if (mail) await this.#send(job, mail, 0);
    else this.#mails.inc({ kind: job.kind, outcome: 'nothing_to_send' });
  }

  /** Handles any fault of a first attempt or a retry, except the server's rejection. */
  #recordFault(kind: MailKind, error: unknown): void {
    this.#mails.inc({ kind, outcome: 'failed' });
    this.#deps.log.error({ err: error, kind, part: 'mail' }, 'A mail could not be made');
  }

  async #send(job: MailJob, mail: Mail, tries: number): Promise<void> {
    const { mailer } = this.#deps;
    const { kind, isCurrent = () => true } = job;
    if (!isCurrent()) {
      this.#mails.inc({ kind, outcome: 'nothing_to_send' });
      return;
    }
    try {
      await mailer.send(mail);
      this.#mails.inc({ kind, outcome: 'sent' });
    } catch (error) {
      if (!(error instanceof MailFault)) throw error;
      await this.#handleFault(job, mail, { fault: error, tries: tries + 1 });
      return;
    }
    await this.#report(job, { kind: 'accepted' });
  }

  async #handleFault(
    job: MailJob,
    mail: Mail,
    { fault, tries }: { readonly fault: MailFault; readonly tries: number },
  ): Promise<void> {
    const { kind } = job;
    const waitMs = fault.isPermanent ? undefined : this.#waitMs(job, tries);
    const { messageId } = mail;
    this.#deps.log.warn(
      { err: fault, kind, messageId, waitMs, part: 'mail' },
      'The mail server did not accept a mail',
    );
    if (waitMs !== undefined) {
      this.#retryLater(job, waitMs, () => this.#send(job, mail, tries));
      if (tries === TOLD_AFTER) await this.#report(job, { kind: 'deferred', fault });
      return;
    }
    this.#mails.inc({ kind, outcome: 'failed' });
    await this.#report(job, { kind: fault.isPermanent ? 'refused' : 'given-up', fault });
  }

  /** undefined: the mail is not tried again. */
  #waitMs(job: MailJob, tries: number): number | undefined {
    const waitMs = RETRY_MS[tries - 1];
    if (waitMs === undefined || this.#isClosed) return undefined;
    const { worksUntilMs = () => Number.POSITIVE_INFINITY } = job;
    if (this.#deps.clock.now() + waitMs >= worksUntilMs()) return undefined;
    return isLater(waitMs) && this.#roomLater(job) === 0 ? undefined : waitMs;
  }

  async #report({ kind, onOutcome }: MailJob, outcome: MailOutcome): Promise<void> {
    try {
      await onOutcome?.(outcome);
    } catch (error) {
      this.#deps.log.error(
        { err: error, kind, part: 'mail' },
        'The outcome of a mail could not be recorded',
      );
    }
  }

  #retryLater(job: MailJob, waitMs: number, run: () => Promise<void>): void {
    const { kind, project } = job;
    const cancel = this.#deps.clock.wakeAfter(waitMs, () => {
      this.#retries.delete(cancel);
      this.#waiting.push({ kind, project, job, run });
      this.#next();
    });
    this.#retries.set(cancel, { kind, project, job, isLater: isLater(waitMs) });
  }
}

function isLater(waitMs: number): boolean {
  return waitMs > RETRY_MS[1];
}

function roomFor(
  { kind, project }: Waiting,
  all: readonly Waiting[],
  { max, maxOfKind }: { readonly max: number; readonly maxOfKind: number },
): number {
  const ofKind = all.filter((each) => each.kind === kind);
  const free = Math.min(max - all.length, maxOfKind - ofKind.length);
  if (project === undefined) return Math.max(0, free);
  const ofProject = ofKind.filter((each) => each.project === project).length;
  return Math.max(0, Math.ceil((free - ofProject) / 2));
}
