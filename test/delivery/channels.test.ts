/**
 * The whole service sends a test notification through every channel: to a webhook, to three chats
 * simulated by a server on loopback, and through a real mail server.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Test, test } from 'tap';
import { startCliWorld } from '../support/cli-against-service.ts';
import { bodyOf, headerOf, startMailServer } from '../support/mail-server.ts';
import { parseMail } from '../support/mime.ts';
import { until } from '../support/program.ts';

const OWNER = 'owner@example.test';
/** Each service's answer when it accepts a message, by path. */
const ANSWERS: Readonly<Record<string, readonly [status: number, text: string]>> = {
  '/webhook': [204, ''],
  '/slack': [200, 'ok'],
  '/teams?sig=a%2Fb': [202, ''],
  '/discord?wait=true': [200, '{"id":"1"}'],
};

async function startServices(t: Test) {
  const got = new Map<string, Record<string, unknown>>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      got.set(path, JSON.parse(Buffer.concat(chunks).toString()));
      const [status, text] = ANSWERS[path] ?? [404, ''];
      response.writeHead(status).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { got, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

test('a test notification arrives through every channel of the service', async (t) => {
  const mails = await startMailServer(t);
  const { got, origin } = await startServices(t);
  const world = await startCliWorld(t, {
    SVC_SMTP_URL: mails.url,
    SVC_SMTP_FROM: 'svc@example.test',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  await world.svc(['admin', 'project', 'create', 'acme', '--owner', OWNER]);
  await world.signIn();
  const env = { SVC_PROJECT: 'acme' };
  const svc = (...args: string[]) => world.svc(args, { env });
  const idOf = ({ stdout, stderr }: { stdout: string; stderr: string }): string =>
    /destinations\/(dst_\w+)/.exec(stdout + stderr)?.[1] ?? '';
  const create = (kind: string, url: string) =>
    world.svc(['destinations', 'create', '--kind', kind, '--name', `A ${kind}`, '--url', '-'], {
      env,
      input: `${origin}${url}\n`,
    });
  /** Sends a test and waits for its outcome. */
  const tested = async (destination: string) => {
    const { stdout, stderr } = await svc('destinations', 'test', destination);
    const delivery = stdout.trim();
    t.equal(/^dlv_\w+$/.test(delivery), true, stderr.slice(0, 60));
    let displayed = '';
    await until('it was sent', async () => {
      displayed = (await svc('deliveries', 'show', delivery)).stdout;
      return /SENT|FAILED|WAITING/.test(displayed) ? displayed : undefined;
    });
    t.match(displayed, /^state +SENT$/m);
    return delivery;
  };

  await tested(idOf(await create('webhook', '/webhook')));
  t.match(got.get('/webhook'), { type: 'test', data: { incidentName: '' } });
  await tested(idOf(await create('slack', '/slack')));
  t.match(got.get('/slack'), { text: /^Test notification/, blocks: [{ type: 'header' }] });
  await tested(idOf(await create('teams', '/teams?sig=a%2Fb')));
  t.match(got.get('/teams?sig=a%2Fb'), { type: 'message', attachments: [{}] });
  await tested(idOf(await create('discord', '/discord')));
  t.match(got.get('/discord?wait=true'), { embeds: [{}], allowed_mentions: { parse: [] } });

  const made = await svc(
    ...['destinations', 'create', '--kind', 'email', '--name', 'Us', '--recipient', OWNER],
  );
  const requested = await until('the mail came', () => mails.mails[0]);
  const link = new URL(/^http\S+$/m.exec(bodyOf(requested))?.[0] ?? '');
  const body = new URLSearchParams({ token: link.hash.slice(1) });
  await fetch(link.origin + link.pathname, {
    method: 'POST',
    body,
    headers: { origin: link.origin },
  });
  const delivery = await tested(idOf(made));
  const mail = await until('the notification came', () => mails.mails[1]);
  t.same(mail.to, [OWNER]);
  t.match(headerOf(mail, 'message-id'), new RegExp(`^<${delivery}@`));
  t.match(headerOf(mail, 'list-unsubscribe'), /^<http.*\/v1\/recipients\/unsubscribe\?code=/);
  t.match(parseMail(mail.source).find('text/plain')?.text(), /No alert has fired/);
});
