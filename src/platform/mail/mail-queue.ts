/**
 * Queue of mails, apart from the requests that cause them: the caller is answered at once, and the
 * response time does not reveal whether there was anything to send. Bounded and in memory: a person
 * requests another link if one is lost with the process. Notifications, which must not be lost,
 * have the delivery log.
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
  /** Called when the server permanently rejects the mail. */
  readonly onRefused?: (fault: MailFault) => Promise<void>;
}

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
const AT_ONCE = 2;
/** Waits before the second and the third try, ms: a dropped connection, a server's greylist. */
const RETRY_MS = [5_000, 90_000] as const;

export class MailQueue {
  readonly #deps: MailQueueDeps;
  readonly #mails: ReturnType<Metrics['counter']>;
  readonly #waiting: (Waiting & { readonly run: () => Promise<void> })[] = [];
  readonly #retries = new Map<CancelWakeUp, Waiting>();
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
    this.#waiting.push({ kind, project, run: () => this.#make(job) });
    this.#next();
    return true;
  }

  /**
   * How many more jobs of a kind are accepted for a project now. A project never has more waiting
   * than is left to all others: alone it fills half, and one that asks when the queue is busy finds
   * room.
   */
  room({ kind, project }: Waiting): number {
    if (this.#isClosed) return 0;
    const all = [...this.#waiting, ...this.#retries.values()];
    const ofKind = all.filter((each) => each.kind === kind);
    const free = Math.min(WAITING_MAX - all.length, WAITING_MAX_OF[kind] - ofKind.length);
    if (project === undefined) return Math.max(0, free);
    const ofProject = ofKind.filter((each) => each.project === project).length;
    return Math.max(0, Math.ceil((free - ofProject) / 2));
  }

  /** Counts a mail that is not sent because too many of its kind were requested. */
  recordLimited(kind: MailKind): void {
    this.#mails.inc({ kind, outcome: 'limited' });
    this.#deps.log.warn({ kind, part: 'mail' }, 'A mail is not sent: too many were requested');
  }

  /** Resolves when nothing is in progress. For tests and a graceful stop. */
  settled(): Promise<void> {
    if (this.#underWay() === 0) return Promise.resolve();
    return new Promise((resolve) => void this.#idle.push(resolve));
  }

  /** Drops and counts waiting mails; the one being sent continues until the mailer is closed. */
  close(): void {
    this.#isClosed = true;
    const dropped = this.#waiting.length + this.#retries.size;
    for (const cancel of this.#retries.keys()) cancel();
    this.#retries.clear();
    this.#waiting.length = 0;
    const { log } = this.#deps;
    if (dropped > 0) log.warn({ dropped, part: 'mail' }, 'Mails were dropped at the stop');
    this.#next();
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
    const { mailer, log } = this.#deps;
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
      const waitMs = error.isPermanent || this.#isClosed ? undefined : RETRY_MS[tries];
      const { messageId } = mail;
      log.warn(
        { err: error, kind, messageId, waitMs, part: 'mail' },
        'The mail server did not accept a mail',
      );
      if (waitMs === undefined) this.#mails.inc({ kind, outcome: 'failed' });
      else this.#retryLater(job, waitMs, () => this.#send(job, mail, tries + 1));
      if (error.isPermanent) await this.#reportRefused(job, error);
    }
  }

  async #reportRefused({ kind, onRefused }: MailJob, fault: MailFault): Promise<void> {
    try {
      await onRefused?.(fault);
    } catch (error) {
      this.#deps.log.error(
        { err: error, kind, part: 'mail' },
        'A rejected mail could not be recorded',
      );
    }
  }

  #retryLater({ kind, project }: Waiting, waitMs: number, run: () => Promise<void>): void {
    const cancel = this.#deps.clock.wakeAfter(waitMs, () => {
      this.#retries.delete(cancel);
      this.#waiting.push({ kind, project, run });
      this.#next();
    });
    this.#retries.set(cancel, { kind, project });
  }
}
