/**
 * Mails on their way, apart from the requests that ask for them: who asks is answered at once, and
 * whether there was anything to send is not to be told from the time it took. Bounded, in memory: a
 * link that is lost with the process is asked for again. What must not be lost (notifications) has
 * the delivery log.
 */
import type { CancelWakeUp, Clock } from '../../streams/clock.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import { type Mail, type Mailer, MailFault } from './mailer.ts';

export type MailKind = 'sign-in' | 'invitation';

export interface MailJob {
  readonly kind: MailKind;
  /** Makes the mail when its turn comes; undefined = there is nothing to send. */
  readonly make: () => Promise<Mail | undefined>;
}

export interface MailQueue {
  /** Takes a job. false: the queue is full, and the job is dropped and counted. Never waits. */
  add(job: MailJob): boolean;
  /** Resolves when nothing is under way. For tests and a graceful stop. */
  settled(): Promise<void>;
  /** Drops what waits, counted; what is being sent goes on until the mailer is closed. */
  close(): void;
}

export interface MailQueueDeps {
  readonly mailer: Mailer;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Some 100 KB; at two a second this is the mail of a minute and a half. */
const WAITING_MAX = 200;
const AT_ONCE = 2;
/** Waits before the second and the third try, ms: a dropped connection, a server's greylist. */
const RETRY_MS = [5_000, 90_000] as const;

export function createMailQueue({ mailer, clock, log, metrics }: MailQueueDeps): MailQueue {
  const mails = metrics.counter('svc_mails_total', 'Mails asked for', ['kind', 'outcome']);
  const waiting: (() => Promise<void>)[] = [];
  const retries = new Set<CancelWakeUp>();
  let running = 0;
  let isClosed = false;
  let idle: (() => void)[] = [];
  metrics.gauge('svc_mails_waiting', 'Mails not yet sent', [], (gauge) =>
    gauge.set(waiting.length + running + retries.size),
  );

  function next(): void {
    while (running < AT_ONCE) {
      const run = waiting.shift();
      if (!run) break;
      running++;
      void run().finally(() => {
        running--;
        next();
      });
    }
    if (running > 0 || waiting.length > 0 || retries.size > 0) return;
    for (const tell of idle) tell();
    idle = [];
  }

  async function make({ kind, make: makeMail }: MailJob): Promise<void> {
    try {
      const mail = await makeMail();
      if (mail) await send(kind, mail, 0);
      else mails.inc({ kind, outcome: 'nothing_to_send' });
    } catch (error) {
      mails.inc({ kind, outcome: 'failed' });
      log.error({ err: error, kind, part: 'mail' }, 'A mail could not be made');
    }
  }

  async function send(kind: MailKind, mail: Mail, tries: number): Promise<void> {
    try {
      await mailer.send(mail);
      mails.inc({ kind, outcome: 'sent' });
    } catch (error) {
      if (!(error instanceof MailFault)) throw error;
      const waitMs = error.isPermanent || isClosed ? undefined : RETRY_MS[tries];
      const { messageId } = mail;
      log.warn({ err: error, kind, messageId, waitMs, part: 'mail' }, 'A mail was not taken');
      if (waitMs === undefined) mails.inc({ kind, outcome: 'failed' });
      else retryLater(waitMs, () => send(kind, mail, tries + 1));
    }
  }

  function retryLater(waitMs: number, again: () => Promise<void>): void {
    const cancel = clock.wakeAfter(waitMs, () => {
      retries.delete(cancel);
      waiting.push(again);
      next();
    });
    retries.add(cancel);
  }

  return {
    add(job) {
      if (isClosed || waiting.length + retries.size >= WAITING_MAX) {
        mails.inc({ kind: job.kind, outcome: 'dropped' });
        log.warn({ kind: job.kind, part: 'mail' }, 'A mail was dropped: too many are waiting');
        return false;
      }
      waiting.push(() => make(job));
      next();
      return true;
    },
    settled: () =>
      running + waiting.length + retries.size === 0
        ? Promise.resolve()
        : new Promise((resolve) => void idle.push(resolve)),
    close() {
      isClosed = true;
      const dropped = waiting.length + retries.size;
      for (const cancel of retries) cancel();
      retries.clear();
      waiting.length = 0;
      if (dropped > 0) log.warn({ dropped, part: 'mail' }, 'Mails were dropped by the stop');
      next();
    },
  };
}
