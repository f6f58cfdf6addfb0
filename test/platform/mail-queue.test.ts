/** Queued mail: its bounds, its retries, and the handling of rejected mails. */
import { type Test, test } from 'tap';
import { inviteMail } from '../../src/identity/invite-mail.ts';
import { createLog } from '../../src/platform/log.ts';
import { type MailJob, type MailOutcome, MailQueue } from '../../src/platform/mail/mail-queue.ts';
import { type Mail, type Mailer, MailFault } from '../../src/platform/mail/mailer.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const mail: Mail = {
  to: 'ada@example.com',
  subject: 'Hello',
  text: 'One line\n',
  messageId: '<1@svc.example.com>',
};

/** A queue over a mailer whose `send` the test supplies. */

function queueOver(t: Test, send: Mailer['send']) {
  const clock = new VirtualClock(0);
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLog({ level: 'debug', readable: false, clock, write });
  const metrics = createMetrics({ clock, version: '1' });
  t.teardown(() => metrics.close());
  const queue = new MailQueue({ mailer: { send, close: () => {} }, clock, log, metrics });
  const outcomes = async () =>
    Object.fromEntries(
      [...(await metrics.text()).matchAll(/outcome="(\w+)"\} (\d+)/g)].map(([, name, n]) => [
        name,
        n,
      ]),
    );
  return { clock, queue, lines, outcomes };
}

/** Lets started work continue as far as it can without time. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

const job: MailJob = { kind: 'sign-in', make: async () => mail };
const temporary = () => new MailFault('not now', { isPermanent: false, status: 451 });

test('a mail that is temporarily rejected twice is retried with the same id', async (t) => {
  const sent: (string | undefined)[] = [];
  let refusals = 2;
  const { clock, queue, outcomes } = queueOver(t, async ({ messageId }) => {
    sent.push(messageId);
    if (refusals-- > 0) throw temporary();
  });
  queue.add(job);
  await settle();
  await clock.advance(4_999);
  t.equal(sent.length, 1);
  await clock.advance(1);
  t.equal(sent.length, 2);
  await settle();
  await clock.advance(90_000);
  await queue.settled();
  t.same(sent, [mail.messageId, mail.messageId, mail.messageId]);
  t.same(await outcomes(), { sent: '1' });
});

test('a permanently rejected mail is dropped, counted, and logged without its text', async (t) => {
  for (const [error, tries] of [
    [temporary, 7],
    [() => new MailFault('never', { isPermanent: true, status: 550 }), 1],
  ] as const) {
    let count = 0;
    const { clock, queue, outcomes, lines } = queueOver(t, async () => {
      count++;
      throw error();
    });
    queue.add({ ...job, make: async () => ({ ...mail, text: 'planted link' }) });
    for (let i = 0; i < 7; i++) {
      await settle();
      await clock.advance(3 * 3_600_000);
    }
    await queue.settled();
    t.equal(count, tries);
    t.same(await outcomes(), { failed: '1' });
    t.equal(
      lines.filter((line) => line.includes('The mail server did not accept a mail')).length,
      tries,
    );
    t.notOk(lines.some((line) => line.includes('planted') || line.includes('ada@')));
  }
});

test('the queue is bounded, sends two at a time, and drops the rest on stop', async (t) => {
  const held: (() => void)[] = [];
  const { queue, outcomes, lines } = queueOver(
    t,
    () => new Promise<void>((resolve) => void held.push(resolve)),
  );
  const taken = Array.from({ length: 205 }, () => queue.add(job));
  t.equal(taken.filter((isTaken) => isTaken).length, 202);
  await settle();
  t.equal(held.length, 2);
  t.same(await outcomes(), { dropped: '3' });
  await queue.close();
  t.equal(queue.add(job), false);
  for (const release of held) release();
  await queue.settled();
  t.same(await outcomes(), { dropped: '4', sent: '2' });
  t.ok(lines.some((line) => line.includes('"dropped":200')));
});

test('invitations leave half of the queue to sign-ins', async (t) => {
  const { queue, outcomes } = queueOver(t, () => new Promise<void>(() => {}));
  const invitation: MailJob = { ...job, kind: 'invitation' };
  const invited = Array.from({ length: 205 }, () => queue.add(invitation));
  t.equal(invited.filter((isTaken) => isTaken).length, 102, 'two of them are being sent');
  t.ok(Array.from({ length: 100 }, () => queue.add(job)).every((isTaken) => isTaken));
  t.equal(queue.add(job), false);
  t.match(await outcomes(), { dropped: /^\d+$/ });
});

test('a project may queue at most as many mails as it leaves free for others', async (t) => {
  const { queue } = queueOver(t, () => new Promise<void>(() => {}));
  const takenOf = (project: string) =>
    Array.from({ length: 205 }, () => queue.add({ ...job, kind: 'verification', project })).filter(
      (isTaken) => isTaken,
    ).length;
  t.equal(queue.room({ kind: 'verification', project: 'p1' }), 50);
  t.same(['p1', 'p2', 'p3'].map(takenOf), [52, 25, 13], 'two of the first project are being sent');
  t.equal(queue.room({ kind: 'verification', project: 'p4' }), 6);
  t.equal(queue.room({ kind: 'verification', project: 'p1' }), 0);
});

test('a mail that no longer applies when its turn comes is not sent', async (t) => {
  const { queue, outcomes } = queueOver(t, async () => {});
  queue.add({ ...job, isCurrent: () => false });
  await queue.settled();
  t.same(await outcomes(), { nothing_to_send: '1' });
});

test('a retry that throws is counted and logged like a first attempt', async (t) => {
  let tries = 0;
  const { clock, queue, outcomes, lines } = queueOver(t, async () => {
    tries++;
    throw temporary();
  });
  queue.add({
    ...job,
    isCurrent() {
      if (tries > 0) throw new Error('the database is locked');
      return true;
    },
  });
  await settle();
  await clock.advance(5_000);
  await queue.settled();
  t.equal(tries, 1);
  t.same(await outcomes(), { failed: '1' });
  t.ok(lines.some((line) => line.includes('the database is locked')));
});

test('a permanent rejection is reported once; a failed report is logged', async (t) => {
  const reported: MailOutcome[] = [];
  const never = new MailFault('never', { isPermanent: true, status: 550, step: 'recipient' });
  let refuse: () => MailFault = temporary;
  const { clock, queue, outcomes, lines } = queueOver(t, async () => {
    throw refuse();
  });
  const onOutcome = async (outcome: MailOutcome): Promise<void> => {
    reported.push(outcome);
    throw new Error('The stream is away');
  };
  queue.add({ ...job, onOutcome });
  await settle();
  t.same(reported, [], 'not reported while a retry may succeed');
  refuse = () => never;
  await clock.advance(5_000);
  await queue.settled();
  t.same(reported, [{ kind: 'refused', fault: never }]);
  t.same(await outcomes(), { failed: '1' });
  t.ok(lines.some((line) => line.includes('The outcome of a mail could not be recorded')));
});

const HOUR_MS = 3_600_000;
/** A server that accepts a mail only after this much time, as postgrey does after 300 s. */
function greylist(clock: { now(): number }, ms: number) {
  return async () => {
    if (clock.now() < ms) throw temporary();
  };
}

test('a greylist is waited out for four hours, and its end is reported', async (t) => {
  for (const [waitMs, sentMs] of [
    [300_000, 360_000],
    [15 * 60_000, 20 * 60_000],
    [50 * 60_000, HOUR_MS],
    [3 * HOUR_MS, 4 * HOUR_MS],
    [5 * HOUR_MS, undefined],
  ] as const) {
    const over: { send: Mailer['send'] } = { send: async () => {} };
    const { clock, queue, outcomes } = queueOver(t, (one) => over.send(one));
    over.send = greylist(clock, waitMs);
    const reported: [number, string][] = [];
    queue.add({
      ...job,
      kind: 'invitation',
      onOutcome: async ({ kind }) => void reported.push([clock.now(), kind]),
    });
    await settle();
    for (const ms of [5, 90, 265, 840, 2_400, 10_800]) {
      await clock.advance(ms * 1_000);
      await settle();
    }
    const end = sentMs === undefined ? [4 * HOUR_MS, 'given-up'] : [sentMs, 'accepted'];
    t.same(reported, [[95_000, 'deferred'], end]);
    t.same(await outcomes(), sentMs === undefined ? { failed: '1' } : { sent: '1' });
  }
});

test('a mail is not retried after the end of its link', async (t) => {
  const { clock, queue } = queueOver(t, async () => {
    throw temporary();
  });
  const reported: string[] = [];
  queue.add({
    ...job,
    worksUntilMs: () => 15 * 60_000,
    onOutcome: async ({ kind }) => void reported.push(kind),
  });
  await settle();
  for (const ms of [5, 90, 265]) {
    await clock.advance(ms * 1_000);
    await settle();
  }
  t.same(reported, ['deferred', 'given-up'], 'after the try at 6 minutes');
  await queue.settled();
});

test('mails to a server that is down for hours leave room for others', async (t) => {
  const { clock, queue } = queueOver(t, async () => {
    throw temporary();
  });
  const ended: string[] = [];
  const onOutcome: MailJob['onOutcome'] = async ({ kind }) => void ended.push(kind);
  const fill = async (kind: MailJob['kind'], count: number) => {
    for (let n = 0; n < count; n++) queue.add({ ...job, kind, onOutcome });
    for (const ms of [0, 5_000, 90_000]) {
      await clock.advance(ms);
      for (let n = 0; n < count; n++) await settle();
    }
  };
  for (let n = 0; n < 4; n++) await fill('invitation', 90);
  t.equal(ended.filter((kind) => kind === 'deferred').length, 300);
  t.equal(ended.filter((kind) => kind === 'given-up').length, 60, 'beyond the share of a kind');
  t.equal(queue.room({ kind: 'invitation' }), 100);
  t.equal(queue.room({ kind: 'sign-in' }), 200);
  ended.length = 0;
  await queue.close();
  t.same(new Set(ended), new Set(['dropped']));
  t.equal(ended.length, 300, 'each requester is notified at the stop');
});

test('only a rejected recipient counts as bounced', async (t) => {
  const refused = (status: number, more: object = {}) =>
    new MailFault('', { isPermanent: true, status, step: 'recipient', ...more }).isBounce();
  t.same(
    [550, 551, 553, 521].map((status) => refused(status)),
    [true, true, true, true],
  );
  t.same(
    [552, 530].map((status) => refused(status)),
    [false, false],
  );
  t.equal(refused(550, { step: 'sender' }), false);
  t.equal(refused(550, { answer: '550 5.7.1 Relaying denied' }), false, 'a policy');
  t.equal(refused(550, { answer: '550 5.1.1 No such user' }), true);
});

test('a mail that cannot be composed is counted, and later mails are sent', async (t) => {
  const { queue, outcomes } = queueOver(t, async () => {});
  queue.add({ kind: 'invitation', make: () => Promise.reject(new Error('the stream is away')) });
  queue.add({ kind: 'invitation', make: async () => undefined });
  queue.add(job);
  await queue.settled();
  t.same(await outcomes(), { failed: '1', nothing_to_send: '1', sent: '1' });
});

test('invitations are limited per address and per project', async (t) => {
  const sent: string[] = [];
  const { clock, queue, outcomes } = queueOver(t, async ({ to }) => void sent.push(to));
  const random = { bytes: (count: number) => new Uint8Array(count) };
  const send = inviteMail({
    mail: queue,
    origin: () => 'https://svc.example.com',
    clock,
    random,
    isOpen: () => true,
    record: async () => {},
  });
  const invite = (email: string, project = 'web') =>
    send({
      email,
      project,
      invitation: email,
      token: 'svc_inv_1_x',
      expiresMs: 1_000,
      projectDisplayName: 'Web',
      invitedBy: 'Ada',
    });
  const toOne = Array.from({ length: 10 }, (_, n) => invite('victim@example.org', `p${n}`));
  t.same(toOne, [...Array(3).fill(true), ...Array(7).fill(false)], 'across all projects');
  await queue.settled();
  let ofProject = 0;
  for (let n = 0; n < 80; n++) {
    if (invite(`n${n}@example.org`)) ofProject++;
    await queue.settled();
  }
  t.equal(ofProject, 50);
  t.equal(invite('n@example.org', 'other'), true, 'other projects are not affected');
  await queue.settled();
  t.same(await outcomes(), { sent: '54', limited: '37' });
  t.equal(sent.length, 54);
  await clock.advance(300_000);
  t.equal(invite('victim@example.org'), true, 'later again');
  await queue.settled();
});
