/**
 * Mails that the mail server does not accept, as their requesters see it: the invitation's row for
 * an owner, the recipient's row for an editor, the list of people for the operator.
 */
import { randomUUID } from 'node:crypto';
import { type Test, test } from 'tap';
import { mailProblemOf } from '../../actors/platform/mail-problems.ts';
import { invitationMails } from '../../src/identity/invite-mail.ts';
import { createLog } from '../../src/platform/log.ts';
import { MailQueue } from '../../src/platform/mail/mail-queue.ts';
import { createMailer } from '../../src/platform/mail/mailer.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { startRpcWorld } from '../support/api-in-process.ts';
import { startMailServer } from '../support/mail-server.ts';
import { startRecipientsWorld } from '../support/recipients-with-mail-server.ts';
import { Browser, startSignInWorld } from '../support/sign-in-server.ts';

const PROJECT = 'projects/demo';

async function startInvitations(t: Test) {
  const server = await startMailServer(t);
  const mailer = createMailer({ url: server.url, from: 'svc@svc.example.com' });
  t.teardown(() => mailer.close());
  const queues: MailQueue[] = [];
  const world = await startRpcWorld(t, ({ host, clock, random }) => {
    const log = createLog({ level: 'error', readable: false, clock, write: () => {} });
    const metrics = createMetrics({ clock, version: '1' });
    t.teardown(() => metrics.close());
    const mail = new MailQueue({ mailer, clock, log, metrics });
    queues.push(mail);
    const origin = () => 'https://svc.example.com';
    return { inviteMail: invitationMails({ mail, origin, clock, random }, host) };
  });
  const [queue] = queues;
  if (!queue) throw new Error('The world made no queue');
  const person = await world.signedInAs('demo', 'OWNER');
  const invite = (email: string) => {
    const request = { projectName: PROJECT, requestId: randomUUID(), email, role: 'VIEWER' };
    return world.call('InviteMember', request, { person });
  };
  const problems = async (): Promise<string[]> => {
    const { body } = await world.call('ListInvitations', { projectName: PROJECT }, { person });
    return body.invitations.map((one: { mailProblem?: string }) => one.mailProblem ?? '');
  };
  return { world, server, queue, invite, problems };
}

test('an owner sees the server’s words when it rejects an invitation', async (t) => {
  const { server, queue, invite, problems } = await startInvitations(t);
  server.refusal = { at: 'recipient', status: 550, text: '5.1.1 No such user here' };
  t.equal((await invite('bob@example.org')).body.emailed, true);
  await queue.settled();
  t.same(await problems(), [
    'The mail server rejected the mail. It said: 550 5.1.1 No such user here',
  ]);
  server.refusal = undefined;
  await invite('bob@example.org');
  await queue.settled();
  t.same(await problems(), ['', ''], 'neither the new invitation nor the replaced one');
});

test('an owner sees that an invitation is deferred, until it is accepted', async (t) => {
  const { world, server, queue, invite, problems } = await startInvitations(t);
  server.refusal = { at: 'recipient', status: 450, text: '4.2.0 Greylisted for 300 seconds' };
  await invite('bob@example.org');
  for (const [ms, count] of [
    [0, 1],
    [5_000, 2],
    [90_000, 3],
  ] as const) {
    t.same(await problems(), [''], 'not yet');
    await world.clock.advance(ms);
    while (server.offered.length < count || queue.isSending()) await turn();
  }
  t.same(await problems(), [
    'The mail server has not accepted the mail yet; it is tried again. It said: 450 4.2.0 Greylisted for 300 seconds',
  ]);
  server.refusal = undefined;
  await world.clock.advance(265_000);
  await queue.settled();
  t.same(await problems(), ['']);
  t.equal(server.mails.length, 1);
});

test('an owner sees that the service stopped before a mail was accepted', async (t) => {
  const { server, queue, invite, problems } = await startInvitations(t);
  server.refuseWith = 450;
  await invite('bob@example.org');
  while (server.offered.length < 1 || queue.isSending()) await turn();
  await queue.close();
  t.match(await problems(), [/^The service stopped before/]);
});

test('an editor sees why a verification mail is not accepted', async (t) => {
  const world = await startRecipientsWorld(t);
  await world.member('ada@example.com');
  world.server.refusal = { at: 'content', status: 554, text: '5.7.1 Message looks like spam' };
  const id = await world.mailTo(['ada@example.com']);
  await world.signIn.mail?.settled();
  t.same(world.states(id), { 'ada@example.com': 'invited' }, 'no bounce of the address');
  const [row] = world.host.view('demo').instances('recipient', { limit: 1 }).items;
  const problem = () => mailProblemOf(world.host.view('demo'), `recipients/${row?.instance}`);
  t.match(problem(), 'It said: 554 5.7.1 Message looks like spam');
});

test('the operator sees why a mail to sign in is not accepted', async (t) => {
  const server = await startMailServer(t);
  const world = await startSignInWorld(t, { SVC_SMTP_URL: server.url });
  const ada = await world.person('ada@example.com');
  const problem = () => mailProblemOf(world.host.view(SYSTEM_PROJECT), `people/${ada}`);
  const ask = async () => {
    await new Browser(world).post('/auth/email', { email: 'ada@example.com' });
    await world.signIn.mail?.settled();
  };
  server.refusal = { at: 'recipient', status: 550, text: '5.2.1 Mailbox disabled' };
  await ask();
  t.match(problem(), 'It said: 550 5.2.1 Mailbox disabled');
  server.refusal = undefined;
  await ask();
  t.equal(problem(), '');
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
