/** Webhooks through the operator's egress proxy: who sees what, and whose fault a failure is. */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { createHttpExchange } from '../../src/delivery/notify/http/exchange.ts';
import type { Resolve } from '../../src/platform/http/dial.ts';
import { type Clock, systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';

const file = (name: string) =>
  readFileSync(new URL(`../support/certificates/${name}`, import.meta.url));
const ca = file('receiver-ca.pem').toString();
const identity = { key: file('receiver.key'), cert: file('receiver.pem') };

/** No name is known here, as in a network whose only way out is the proxy. */
const nowhere: Resolve = (_host, done) =>
  done(Object.assign(new Error('queryA'), { code: 'ENOTFOUND' }), []);
const loopback: Resolve = (_host, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);

interface SenderOptions {
  readonly proxyUrl: string;
  readonly passwordFile?: string;
  readonly denied?: readonly string[];
  readonly hosts?: readonly string[];
  readonly resolve?: Resolve;
  readonly clock?: Clock;
}

function openSender(t: Test, options: SenderOptions) {
  const { proxyUrl: url, passwordFile = null, denied = [], hosts = [], clock } = options;
  const logged: string[] = [];
  const exchange = createHttpExchange({
    clock: clock ?? systemClock,
    guard: new AddressGuard({ hosts, denied, http: true, ownNetworks: () => [] }),
    resolve: options.resolve ?? nowhere,
    ca,
    noAddressMs: 0,
    keepAliveMs: 1,
    onNotCalled: (sentence) => void logged.push(sentence),
    proxy: { url, passwordFile, resolve: loopback, ca, ...(clock && { clock }) },
  });
  t.teardown(() => exchange.close());
  const send = async (to: string, body = '{"secret":"body"}') => {
    const deadlineElapsedMs = (clock ?? systemClock).elapsed() + 20_000;
    const request = { url: to, headers: {}, body: Buffer.from(body), deadlineElapsedMs };
    const exchanged = await exchange.post(request);
    return exchanged.kind === 'answered' ? exchanged : exchanged.outcome;
  };
  return { logged, send };
}

/** A receiver for `hooks.lab` with TLS, which answers 200 `got`. */
async function startReceiver(t: Test, { tls = true } = {}) {
  const bodies: string[] = [];
  const listener: Parameters<typeof createServer>[1] = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { connection: 'close' }).end('got');
    });
  };
  const server = tls ? createSecureServer(identity, listener) : createServer(listener);
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { bodies, port: (server.address() as AddressInfo).port };
}

test('HOOK-17: a webhook passes the proxy with TLS from end to end', async (t) => {
  const receiver = await startReceiver(t);
  for (const scheme of ['http', 'https'] as const) {
    const proxy = await startConnectProxy(t, scheme === 'https' ? { tls: identity } : {});
    const proxyUrl = `${scheme}://us%40er:p%25ss@hooks.lab:${proxy.port}`;
    const { send } = openSender(t, { proxyUrl });
    t.match(await send(`https://hooks.lab:${receiver.port}/path`), { httpStatus: 200 }, scheme);
    const authorization = `Basic ${Buffer.from('us@er:p%ss').toString('base64')}`;
    t.same(proxy.requested, [{ target: `hooks.lab:${receiver.port}`, authorization }]);
    t.equal(proxy.plain(), 0);
    t.notMatch(proxy.passed(), /secret|path/, 'the proxy reads nothing of the request');
  }
  t.same(receiver.bodies, ['{"secret":"body"}', '{"secret":"body"}']);
});

test('HOOK-17: plain http to an allowed host also uses CONNECT', async (t) => {
  const receiver = await startReceiver(t, { tls: false });
  const proxy = await startConnectProxy(t);
  const proxyUrl = `http://127.0.0.1:${proxy.port}`;
  const { send } = openSender(t, { proxyUrl, hosts: ['hooks.lan', '127.0.0.1'] });
  t.match(await send(`http://hooks.lan:${receiver.port}/`), { httpStatus: 200 });
  t.match(await send(`http://127.0.0.1:${receiver.port}/`), { httpStatus: 200 });
  const targets = proxy.requested.map(({ target }) => target);
  t.same(targets, [`hooks.lan:${receiver.port}`, `127.0.0.1:${receiver.port}`]);
  t.equal(proxy.requested[0]?.authorization, undefined);
});

test('the password of the proxy is read from its file for each connection', async (t) => {
  const passwordFile = join(t.testdir({}), 'password');
  writeFileSync(passwordFile, 'first\n');
  const receiver = await startReceiver(t);
  const proxy = await startConnectProxy(t);
  const { send } = openSender(t, { proxyUrl: `http://svc@127.0.0.1:${proxy.port}`, passwordFile });
  const url = `https://hooks.lab:${receiver.port}/`;
  await send(url);
  writeFileSync(passwordFile, 'second');
  await send(url);
  writeFileSync(passwordFile, '');
  await send(url);
  const logins = proxy.requested.map(({ authorization = '' }) =>
    Buffer.from(authorization.slice('Basic '.length), 'base64').toString(),
  );
  t.same(logins, ['svc:first', 'svc:second', 'svc:second']);
});

test('HOOK-17: the rules of the guard apply before the proxy is asked', async (t) => {
  const proxy = await startConnectProxy(t);
  const proxyUrl = `http://127.0.0.1:${proxy.port}`;
  const resolve: Resolve = (host, done) => {
    if (host === 'unknown.example') return nowhere(host, done);
    const address = host === 'denied.example' ? '8.8.8.8' : '10.1.2.3';
    done(null, [{ address, family: 4 }]);
  };
  const denied = ['8.8.8.0/24', 'evil.example'];
  const { send, logged } = openSender(t, { proxyUrl, denied, resolve });
  const notReached = {
    kind: 'failed',
    unknown: false,
    error: 'The egress proxy did not reach the host. Fix the URL or the DNS records of the name',
  };
  const refused = { kind: 'failed', unknown: false };
  t.match(await send('https://evil.example/'), { ...refused, error: /does not allow/ });
  t.match(await send('https://8.8.8.8/'), { ...refused, error: /does not allow/ });
  t.match(await send('https://10.0.0.1/'), { ...refused, error: /not a public address/ });
  t.match(await send('http://public.example/'), { ...refused, error: /begin with https/ });
  t.same(await send('https://inside.example/'), notReached, 'a private address that we know');
  t.same(await send('https://denied.example/'), notReached, 'a denied address that we know');
  t.same(await send('https://a.localhost./'), notReached, 'loopback wherever it is resolved');
  t.same(proxy.requested, [], 'the proxy has seen none of them');
  t.match(logged.join(), /inside\.example resolves to 10\.1\.2\.3.*SVC_WEBHOOK_DENY/s);
  proxy.answer(503);
  t.same(await send('https://unknown.example/'), notReached, 'a name that no one knows');
  t.equal(proxy.requested.length, 1);
  t.match(logged.at(-1), /unknown\.example by the egress proxy: status 503/);
});

test('a proxy fault is named, and is not attributed to the receiver', async (t) => {
  const proxy = await startConnectProxy(t);
  const { send } = openSender(t, { proxyUrl: `http://127.0.0.1:${proxy.port}` });
  const fault = (what: string) => ({
    kind: 'failed',
    unknown: false,
    ours: true,
    error: `The egress proxy of this service ${what}`,
  });
  const cases = [
    [407, 'rejects the login of this service'],
    [405, 'does not offer CONNECT'],
    [500, 'failed'],
    ['close', 'closed the connection without an answer'],
    [{ raw: 'SSH-2.0-OpenSSH\r\n\r\n' }, 'sends no HTTP'],
    [{ raw: 'x'.repeat(20_000) }, 'sends no HTTP'],
  ] as const;
  for (const [answer, what] of cases) {
    proxy.answer(answer);
    t.same(await send('https://hooks.lab/'), fault(what), what);
  }
  for (const status of [403, 404, 502, 503, 504]) {
    proxy.answer(status);
    const outcome = await send('https://hooks.lab/');
    t.match(outcome, { kind: 'failed', error: /did not reach the host/ });
    t.notMatch(outcome, { ours: true }, `${status} is the receiver's`);
  }
  const gone = createTcpServer();
  await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
  const { port } = gone.address() as AddressInfo;
  await new Promise((resolve) => gone.close(resolve));
  const away = openSender(t, { proxyUrl: `http://127.0.0.1:${port}` });
  t.same(await away.send('https://hooks.lab/'), fault('cannot be reached'));
  const untrusted = await startConnectProxy(t, { tls: identity });
  const wrong = openSender(t, { proxyUrl: `https://other.lab:${untrusted.port}` });
  t.same(await wrong.send('https://hooks.lab/'), fault('has no TLS that this service trusts'));
});

test('a receiver’s fault behind the proxy is still the receiver’s', async (t) => {
  const receiver = await startReceiver(t);
  const proxy = await startConnectProxy(t);
  const { send } = openSender(t, { proxyUrl: `http://127.0.0.1:${proxy.port}` });
  const outcome = await send(`https://other.lab:${receiver.port}/`);
  t.match(outcome, { kind: 'failed', error: /certificate is for another host name/ });
  t.notMatch(outcome, { ours: true });
});

test('a silent proxy is at fault only while it answers no one', async (t) => {
  const clock = new VirtualClock(0);
  const receiver = await startReceiver(t);
  const proxy = await startConnectProxy(t);
  const { send } = openSender(t, { proxyUrl: `http://127.0.0.1:${proxy.port}`, clock });
  const untilRequested = async (count: number): Promise<void> => {
    while (proxy.requested.length < count) await immediate();
  };
  proxy.answer('hang');
  const alone = send('https://hooks.lab/');
  await untilRequested(1);
  await clock.advance(5_000);
  t.match(await alone, { ours: true, error: /egress proxy of this service does not answer/ });
  const hanging = send('https://hangs.example/');
  await untilRequested(2);
  proxy.answer(undefined);
  t.match(await send(`https://hooks.lab:${receiver.port}/`), { httpStatus: 200 });
  await clock.advance(5_000);
  const outcome = await hanging;
  t.match(outcome, { kind: 'failed', error: /did not reach the host/ });
  t.notMatch(outcome, { ours: true });
});
