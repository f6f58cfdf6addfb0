/**
 * `svc destinations` against the whole service: a webhook with its secret, a chat whose URL never
 * appears on a command line, and mail whose recipient confirms with a browser.
 */
import { test } from 'tap';
import { joinCliWorld, startCliWorld } from '../support/cli-against-service.ts';
import { bodyOf, startMailServer } from '../support/mail-server.ts';
import { until } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';

const OWNER = 'owner@example.test';
const SLACK = 'https://hooks.slack.com/services/T0/B0/aSecretOfSlack1234';
const ID = /destinations\/(dst_\w+)/;

test('svc destinations', async (t) => {
  const server = await startMailServer(t);
  const receiver = await startReceiver(t);
  const world = await startCliWorld(t, {
    SVC_SMTP_URL: server.url,
    SVC_SMTP_FROM: 'svc@example.test',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  await world.svc(['admin', 'project', 'create', 'acme', '--owner', OWNER]);
  await world.signIn();
  const svc = (...args: string[]) =>
    world.svc(['destinations', ...args], { env: { SVC_PROJECT: 'acme' } });
  const idOf = ({ stdout, stderr }: { stdout: string; stderr: string }): string =>
    ID.exec(stdout + stderr)?.[1] ?? '';
  let hook = '';

  await t.test(
    'a webhook prints its secret alone on standard output, with instructions on standard error',
    async (t) => {
      const ran = await svc(
        'create',
        '--kind',
        'webhook',
        '--name',
        'Pager',
        '--url',
        receiver.url,
      );
      t.equal(ran.code, 0, ran.stderr);
      t.match(ran.stdout, /^whsec_[0-9A-Za-z+/=]{44}\n$/);
      t.match(ran.stderr, /Store the secret at the receiver/);
      t.match(ran.stderr, /^kind +webhook$/m);
      t.notMatch(ran.stderr, /\/hook/, 'no URL');
      hook = idOf(ran);
      t.match(
        (await svc('list')).stdout,
        new RegExp(`^Pager +webhook +127.0.0.1:\\d+ …hook +ACTIVE .*${hook}$`, 'm'),
      );
    },
  );

  await t.test('test messages are signed, with both secrets during a rotation', async (t) => {
    const tested = await svc('test', hook);
    t.match(tested, { code: 0, stdout: /^dlv_\w+\n$/ });
    t.equal(tested.stderr, `See the outcome: svc deliveries show ${tested.stdout}`);
    await until('it arrived', () => receiver.received[0]);
    const rotated = await svc('rotate-secret', hook, '--overlap', '1h');
    t.match(rotated, { code: 0, stdout: /^whsec_/, stderr: /^old secret until +\d{4}-/m });
    await svc('test', hook);
    await until('another arrived', () => receiver.received[1]);
    const [first, second] = receiver.received;
    t.equal(first?.headers['webhook-signature']?.split(' ').length, 1);
    t.equal(second?.headers['webhook-signature']?.split(' ').length, 2);
    if (second) receiver.verify(second, rotated.stdout.trim());
    const at0 = await svc('rotate-secret', hook, '--overlap', '0', '--json');
    t.match(at0.json, {
      secretAvailable: true,
      destination: { secretOverlapEndsUnix: undefined },
    });
    t.match(await svc('rotate-secret', hook, '--overlap', '25h'), {
      code: 1,
      stderr: /overlapSeconds/,
    });
  });

  await t.test('a paused destination sends nothing and shows the reason', async (t) => {
    const paused = await svc('pause', hook, '--reason', 'Night shift has no pager');
    t.match(paused.stdout, /^state +PAUSED\nwhy +Night shift has no pager$/m, paused.stderr);
    t.match(await svc('test', hook), {
      code: 1,
      stderr: /INVALID_STATE: The destination is paused: Night shift/,
    });
    t.match(await svc('pause', hook), { code: 1, stderr: /already paused/ });
    t.match((await svc('resume', hook)).stdout, /^state +ACTIVE$/m);
    t.match(await svc('resume', hook), {
      code: 1,
      stderr: /INVALID_STATE: The destination is not paused/,
    });
  });

  await t.test('the group wait is shown and can be changed', async (t) => {
    t.match((await svc('show', hook)).stdout, /^group wait +none: one message per incident$/m);
    const changed = await svc('update', hook, '--group-wait', '1m');
    t.match(
      changed.stdout,
      /^group wait +60 s for further incidents of the rule$/m,
      changed.stderr,
    );
    t.match(await svc('update', hook, '--group-wait', '6m'), {
      code: 1,
      stderr: /groupWaitSeconds/,
    });
    t.equal((await svc('update', hook, '--group-wait', '0')).code, 0);
  });

  await t.test(
    'DASH-12: a failing destination shows how long it has failed, until an attempt is accepted',
    async (t) => {
      const displayed = async () => (await svc('show', hook)).stdout;
      t.notMatch(await displayed(), /failing since/);
      receiver.answer(500);
      await svc('test', hook);
      await until(
        'the delivery fails',
        async () => /^failing since +\d{4}-/m.test(await displayed()) || undefined,
      );
      t.match(await displayed(), /^last delivery +WAITING \d{4}-/m);
      t.match(await displayed(), /^last error +\S+/m);
      t.match((await svc('list')).stdout, /WAITING +\d{4}-/, 'with each destination of the list');
      receiver.answer(204);
      await svc('test', hook);
      await until('it works', async () => !/failing since/.test(await displayed()) || undefined);
      t.match((await svc('show', hook, '--json')).json, { failingSinceUnix: undefined });
    },
  );

  await t.test('a chat’s URL is read from standard input and never shown', async (t) => {
    const asArgument = await svc('create', '--kind', 'slack', '--name', 'Team', '--url', SLACK);
    t.match(asArgument, { code: 2, stderr: /is a secret/ });
    const args = ['destinations', 'create', '--kind', 'slack', '--name', 'Team', '--url', '-'];
    const env = { SVC_PROJECT: 'acme' };
    const ran = await world.svc(args, { env, input: `${SLACK}\n` });
    t.match(ran, { code: 0, stdout: /^sends to +hooks.slack.com …1234$/m });
    const wrong = await world.svc(args, { env, input: 'https://example.com/services/T0/B0/x' });
    t.match(wrong, { code: 1, stderr: /INVALID_FIELD: A Slack URL/ });
    const teams = args.map((arg) => (arg === 'slack' ? 'teams' : arg));
    const retired = await world.svc(teams, {
      env,
      input: 'https://x.webhook.office.com/webhookb2/y',
    });
    t.match(retired, { code: 1, stderr: /Microsoft has retired webhook.office.com/ });
    t.match(await svc('rotate-secret', idOf(ran)), {
      code: 1,
      stderr: /has no signing secret/,
    });
    t.match(await svc('verify', idOf(ran)), { code: 1, stderr: /needs no verification/ });
    t.match(await svc('delete', idOf(ran)), { code: 0, stdout: /^Deleted / });
    t.notOk(world.lines.some((line) => line.includes('aSecretOfSlack')));
    t.notOk(world.printed.some((text) => text.includes('aSecretOfSlack')));
  });

  await t.test('mail is sent to confirmed recipients only', async (t) => {
    const stranger = await svc(
      'create',
      '--kind',
      'email',
      '--name',
      'Us',
      '--recipient',
      'eve@x.example',
    );
    t.match(stranger, { code: 1, stderr: /RECIPIENT_NOT_MEMBER[\s\S]*eve@x\.example/ });
    const ran = await svc('create', '--kind', 'email', '--name', 'Us', '--recipient', OWNER);
    t.match(ran.stdout, /^owner@example\.test +INVITED +yes/m, ran.stderr);
    const id = idOf(ran);
    t.match(await svc('test', id), { code: 1, stderr: /none has confirmed/ });
    await until('the mail came', () => server.mails[0]);
    t.match(await svc('verify', id), { code: 0, stderr: /^Sending 1 mail$/m });
    await until('another came', () => server.mails[1]);
    const [mail] = server.mails.slice(-1);
    const link = new URL(/^http\S+$/m.exec(mail ? bodyOf(mail) : '')?.[0] ?? '');
    const pressed = await fetch(link.origin + link.pathname, {
      method: 'POST',
      body: new URLSearchParams({ token: link.hash.slice(1) }),
      headers: { origin: link.origin },
    });
    t.equal(pressed.status, 200);
    t.match((await svc('show', id)).stdout, /^owner@example\.test +VERIFIED +yes +\d{4}-/m);
    t.match((await svc('list')).stdout, /email +1 of 1 recipients/);
    t.match(await svc('update', id, '--name', 'All of us'), { stdout: /^name +All of us$/m });
    t.match((await svc('show', id, '--json')).json.email.recipients, [
      { address: OWNER, state: 'VERIFIED', isMember: true },
    ]);
  });
});

test('without a mail server, mail is rejected with the setting to change', async (t) => {
  const world = await joinCliWorld(t, 'no-mail');
  const owner = world.emailOf('owner');
  await world.svc(['admin', 'project', 'create', 'no-mail', '--owner', owner]);
  await world.signIn();
  const args = ['destinations', 'create', '--kind', 'email', '--name', 'Us', '--recipient', owner];
  t.match(await world.svc(args, { env: { SVC_PROJECT: 'no-mail' } }), {
    code: 1,
    stderr: /INVALID_STATE: .*SVC_SMTP_URL/,
  });
});
