/**
 * Mail: the sign-in link, sent through a real mail server on 127.0.0.1, and the secrets and effects
 * that a request for one must not have. Then the mailer and its queue alone.
 */
import { type Test, test } from 'tap';
import { parseEmailAddress } from '../../actors/platform/email-address.ts';
import {
  invitationLetter,
  signInLetter,
  verificationLetter,
} from '../../src/platform/mail/letters.ts';
import {
  bounceReason,
  createMailer,
  type Mail,
  MailFault,
  transportOptions,
} from '../../src/platform/mail/mailer.ts';
import { withoutDescriptors } from '../support/few-descriptors.ts';
import { bodyOf, headerOf, startMailServer } from '../support/mail-server.ts';
import { until } from '../support/program.ts';
import { type Answer, Browser, startSignInWorld } from '../support/sign-in-server.ts';

const mail: Mail = {
  to: 'ada@example.com',
  subject: 'Hello',
  text: 'One line\n',
  messageId: '<1@svc.example.com>',
};

/** A service that sends mail to a server of the test. */
async function start(t: Test) {
  const server = await startMailServer(t);
  const world = await startSignInWorld(t, {
    SVC_SMTP_URL: server.url,
    SVC_SMTP_FROM: 'Monitoring <svc@example.com>',
  });
  return { ...world, server, settled: async () => world.signIn.mail?.settled() };
}

test('a person who requests a link gets it by mail and signs in with it once', async (t) => {
  const world = await start(t);
  await world.person('ada@example.com');
  const browser = new Browser(world);
  t.match((await browser.get('/auth/sign-in')).text, /name="email"/);
  const answer = await browser.post('/auth/email', { email: ' Ada@Example.COM ' });
  t.equal(answer.status, 202);
  await world.settled();
  const [taken] = world.server.mails;
  if (!taken) throw new Error('No mail was accepted');
  t.same(taken.to, ['ada@example.com']);
  t.equal(taken.from, 'svc@example.com');
  t.equal(headerOf(taken, 'from'), 'Monitoring <svc@example.com>');
  t.equal(headerOf(taken, 'auto-submitted'), 'auto-generated');
  t.match(headerOf(taken, 'content-type'), /^text\/plain; charset=utf-8$/);
  t.match(headerOf(taken, 'message-id'), /^<[0-9A-Z]{26}@127\.0\.0\.1>$/);
  const link = /^http\S+$/m.exec(bodyOf(taken))?.[0] ?? '';
  const { origin, pathname, search, hash } = new URL(link);
  t.same([origin, pathname, search], [world.origin, '/auth/link', '']);
  const other = new Browser(world);
  t.equal((await other.post('/auth/link', { token: hash.slice(1) })).status, 303);
  t.equal((await other.post('/auth/link', { token: hash.slice(1) })).status, 401);
  t.match(bodyOf(taken), /within 15 minutes/);
  t.notOk(world.logged.some((line) => line.includes(hash.slice(-49)) || line.includes('ada@')));
  t.match(await world.metrics(), /svc_mails_total\{kind="sign-in",outcome="sent"\} 1/);
});

test('the answer and its timing do not reveal whether an address is known', async (t) => {
  const server = await startMailServer(t);
  const requested = Promise.withResolvers<void>();
  const world = await startSignInWorld(t, { SVC_SMTP_URL: server.url }, (people) => ({
    ...people,
    async linkByEmail(email) {
      await requested.promise;
      return people.linkByEmail(email);
    },
  }));
  await world.person('ada@example.com');
  const displayed = ({ status, text, headers }: Answer) => {
    const named = Object.fromEntries(headers);
    return { status, text, headers: { ...named, date: '', 'x-request-id': '' } };
  };
  const browser = new Browser(world);
  const known = displayed(await browser.post('/auth/email', { email: 'ada@example.com' }));
  t.equal(known.status, 202);
  for (const email of [
    'eve@example.com',
    'no address',
    'ada@example.com\r\nBcc: eve@example.com',
  ]) {
    t.same(displayed(await browser.post('/auth/email', { email })), known, email);
  }
  requested.resolve();
  await world.signIn.mail?.settled();
  t.same(server.offered, ['ada@example.com']);
});

test('a name in a letter to strangers does not become a link', async (t) => {
  const name = 'Prize: https://evil.example/win or WWW.evil.example';
  const about = { origin: 'https://svc.example.com', token: 'x', nowMs: 0, expiresMs: 900_000 };
  const letters = [
    invitationLetter({ ...about, projectDisplayName: name, invitedBy: name }),
    verificationLetter({ ...about, projectDisplayName: name, destinationDisplayName: name }),
  ];
  for (const { subject, text } of letters) {
    t.match(subject, 'Prize: https: //evil.example/win or WWW. evil.example');
    t.equal([...text.matchAll(/:\/\//g)].length, 1, 'the only link of the letter');
    t.notMatch(text, /www\.\S/i);
  }
});

test('an address cannot inject a header, a list or a command', async (t) => {
  const world = await start(t);
  await world.person('ada@example.com');
  for (const text of [
    'ada@example.com\r\nBcc: eve@example.com',
    'ada@example.com\nTo: eve@example.com',
    'ada@example.com,eve@example.com',
    'ada@example.com;eve@example.com',
    '<ada@example.com>',
    'Ada <ada@example.com>',
    '"a b"@example.com',
    'ada@example.com> NOTIFY=NEVER',
    'ada@exam\u0000ple.com',
    'ada@[127.0.0.1]',
    'ada@example..com',
    '@example.com',
    'ada@',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'e'.repeat(250)}.com`,
    '\u212Aate@example.com',
  ]) {
    t.equal(parseEmailAddress(text), undefined, JSON.stringify(text));
  }
  // Each counts against the five requests per address.
  const browser = new Browser(world);
  for (const email of ['ada@example.com\r\nBcc: e@x.y', 'ada@example.com,e@x.y', 'Ada <e@x.y>']) {
    t.equal((await browser.post('/auth/email', { email })).status, 202);
  }
  await world.settled();
  t.same(world.server.offered, []);
  t.match(await world.metrics(), /svc_sign_in_refusals_total\{cause="no_address"\} 3/);
});

test('mails are limited per sender and per recipient', async (t) => {
  const server = await startMailServer(t);
  const world = await startSignInWorld(t, {
    SVC_SMTP_URL: server.url,
    SVC_TRUSTED_PROXY: '127.0.0.1',
  });
  await world.person('ada@example.com');
  const ask = (from: string, email = 'ada@example.com') =>
    new Browser(world).send('/auth/email', {
      json: { email },
      headers: { 'x-forwarded-for': from },
    });
  for (let i = 0; i < 8; i++) t.equal((await ask(`192.0.2.${i}`)).status, 202);
  await world.signIn.mail?.settled();
  t.equal(server.mails.length, 3);
  t.match(await world.metrics(), /svc_sign_in_refusals_total\{cause="mails_to_one"\} 5/);
  for (let i = 0; i < 5; i++) t.equal((await ask('198.51.100.1', `a${i}@b.c`)).status, 202);
  const refused = await ask('198.51.100.1', 'b@b.c');
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '60');
});

test('without a mail server there is no form, and a request gets an explanation', async (t) => {
  const world = await startSignInWorld(t);
  const browser = new Browser(world);
  t.notMatch((await browser.get('/auth/sign-in')).text, /name="email"/);
  t.equal((await browser.post('/auth/email', { email: 'ada@example.com' })).status, 404);
});

test('a silent or unreachable mail server does not delay requests', async (t) => {
  const world = await start(t);
  world.server.isSilent = true;
  await world.person('ada@example.com');
  const browser = new Browser(world);
  t.equal((await browser.post('/auth/email', { email: 'ada@example.com' })).status, 202);
  await until('the server is asked', () => (world.server.offered.length > 0 ? true : undefined));
  t.equal((await browser.get('/auth/sign-in')).status, 200);
  t.match(await world.metrics(), /svc_mails_waiting 1/);
  await world.stop();
  await until('the connection ends', () => (world.server.connections === 0 ? true : undefined));
  t.match(
    await world.metrics(),
    /svc_mails_waiting 0/,
    'the stop of the service is not delayed either',
  );
});

test('the mailer distinguishes permanent from temporary rejections, and reveals nothing of the mail', async (t) => {
  const server = await startMailServer(t, { password: 'planted p@ss:word' });
  const mailer = createMailer({ url: server.url, from: 'svc@example.com' });
  t.teardown(() => mailer.close());
  await mailer.send(mail);
  t.same(server.logins, ['svc']);
  t.same(
    server.mails.map((taken) => headerOf(taken, 'message-id')),
    [mail.messageId],
  );
  const fault = async (to = mail.to) => {
    const error = await mailer.send({ ...mail, to }).catch((refused: unknown) => refused);
    if (!(error instanceof MailFault)) throw new Error(`Not refused: ${String(error)}`);
    t.notMatch(JSON.stringify([error, error.message]), /ada@example|planted/);
    return { status: error.status, isPermanent: error.isPermanent };
  };
  server.refuseWith = 550;
  t.same(await fault(), { status: 550, isPermanent: true });
  server.refuseWith = 451;
  t.same(await fault(), { status: 451, isPermanent: false });
  const wrong = createMailer({ url: server.url.replace('planted', 'other'), from: 'a@b.c' });
  const error = await wrong.send(mail).catch((refused: unknown) => refused);
  wrong.close();
  t.ok(error instanceof MailFault);
  t.notMatch(String(error), /p@ss/);
  const nobody = createMailer({ url: 'smtp://127.0.0.1:1', from: 'a@b.c' });
  const away = await nobody.send(mail).catch((refused: unknown) => refused);
  nobody.close();
  t.match(away, { isPermanent: false, status: undefined });
});

test('the greeting names a domain, even on a machine whose name has no dot', async (t) => {
  const server = await startMailServer(t);
  const { url } = server;
  for (const about of [
    { from: 'svc@example.com' },
    { from: 'Monitor <svc@mail.example.com>' },
    { from: 'svc@example.com', name: 'monitor.example.net' },
  ]) {
    const mailer = createMailer({ url, ...about });
    t.teardown(() => mailer.close());
    await mailer.send(mail);
  }
  t.same(server.greetings, ['example.com', 'mail.example.com', 'monitor.example.net']);
});

test('a mail client that failed to load is loaded for the next mail', async (t) => {
  // A mailer that is closed while it sends leaves nothing behind that could end the process.
  const { without, after } = await withoutDescriptors('mail');
  t.match(without, Array(2).fill(/ERR_INVALID_PACKAGE_CONFIG|EMFILE/));
  t.match(after, [/ECONNREFUSED/, /EABORT/], 'it connects to the server');
});

test('an address beyond ASCII is sent only to a server with SMTPUTF8', async (t) => {
  const [old, modern] = [await startMailServer(t, { hidesUtf8: true }), await startMailServer(t)];
  const addresses = ['zoë@example.org', 'ada@bücher.example', 'пётр@пример.example'];
  const sendAll = async ({ url }: { readonly url: string }) => {
    const mailer = createMailer({ url, from: 'svc@example.com' });
    t.teardown(() => mailer.close());
    const faults: (string | undefined)[] = [];
    for (const to of addresses) {
      const fault = await mailer.send({ ...mail, to }).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (fault instanceof MailFault) t.ok(fault.isBounce() && fault.isPermanent);
      faults.push(fault instanceof MailFault ? bounceReason(fault) : undefined);
    }
    return faults;
  };
  const reason = /letters beyond ASCII before the @.*offers no SMTPUTF8/;
  t.match(await sendAll(old), [reason, undefined, reason]);
  t.same(
    old.mails.map(({ to }) => to),
    [['ada@bücher.example']],
    'a domain has an ASCII form',
  );
  t.same(old.offered, ['ada@bücher.example'], 'the others are not offered');
  t.same(await sendAll(modern), [undefined, undefined, undefined]);
  t.equal(modern.mails.length, 3);
});

test('values inserted into a mail cannot leave their position', async (t) => {
  const server = await startMailServer(t);
  const mailer = createMailer({ url: server.url, from: 'svc@example.com' });
  t.teardown(() => mailer.close());
  await mailer.send({
    ...mail,
    subject: 'Hello\r\nBcc: eve@example.com\r\n\r\nBody',
    text: '.\r\nQUIT\r\nfile:///etc/hostname\r\n',
  });
  const [taken] = server.mails;
  if (!taken) throw new Error('No mail was accepted');
  t.same(taken.to, ['ada@example.com']);
  t.equal(headerOf(taken, 'bcc'), undefined);
  t.match(headerOf(taken, 'subject'), /^Hello\s+Bcc: eve@example.com\s+Body$/);
  t.match(bodyOf(taken), /^\.\nQUIT\nfile:\/\/\/etc\/hostname/);
});

test('mails and a password are sent over TLS only, unless the server is on this machine', async (t) => {
  for (const [url, expected] of [
    ['smtp://u:p@mail.example.com', { port: 587, secure: false, requireTLS: true }],
    ['smtp://mail.example.com:25', { port: 25, secure: false, requireTLS: true }],
    ['smtp://127.0.0.1:25', { port: 25, secure: false, requireTLS: false }],
    ['smtps://u:p@mail.example.com', { port: 465, secure: true, requireTLS: false }],
    ['smtp://u:p@[::1]:2525', { port: 2525, host: '::1', requireTLS: false }],
    ['smtp://u%40x:p%3A%2F@localhost', { auth: { user: 'u@x', pass: 'p:/' }, requireTLS: false }],
  ] as const) {
    t.match(transportOptions(url), {
      ...expected,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  }
});

test('letters are short, state how long their link works, and contain no injected lines', async (t) => {
  const link = { origin: 'https://svc.example.com', token: 'svc_link_1_x', nowMs: 0 };
  const { subject, text } = signInLetter({ ...link, expiresMs: 900_000 });
  t.equal(subject, 'Sign in to svc.example.com');
  t.match(text, '\n\nhttps://svc.example.com/auth/link#svc_link_1_x\n\n');
  t.match(text, 'within 15 minutes');
  const invitation = invitationLetter({
    ...link,
    expiresMs: 7 * 86_400_000,
    projectDisplayName: 'Demo\r\nBcc: eve@example.com\u2028\u0000',
    invitedBy: `Ada\n\nhttps://evil.example ${'x'.repeat(500)}`,
  });
  t.equal(invitation.subject, 'Invitation to Demo Bcc: eve@example.com on svc.example.com');
  t.match(invitation.text, 'within 7 days');
  t.ok(invitation.text.length < 600);
  t.equal(
    /^https:.*$/m.exec(invitation.text)?.[0],
    'https://svc.example.com/auth/link#svc_link_1_x',
  );
  t.match(invitation.text, /^Ada https: \/\/evil\.example x+ invites you/);
  t.match(signInLetter({ ...link, expiresMs: 86_400_000 }).text, 'within 24 hours');
});

/** A queue over a mailer of the test, on a virtual clock. */
