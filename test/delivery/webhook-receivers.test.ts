/**
 * Webhooks against HTTPS receivers that misbehave on purpose: they hang, drip, limit, redirect into
 * a private network, change their address between two look-ups, or present a wrong certificate. All
 * on loopback; three independent methods verify the received requests.
 */
import { createHmac } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { createSecureServer } from 'node:http2';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { type Test, test } from 'tap';
import type { AttemptOutcome } from '../../actors/delivery/notifier-port.ts';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { createHttpExchange } from '../../src/delivery/notify/http/exchange.ts';
import { createResolve } from '../../src/delivery/notify/http/guarded-agent.ts';
import { formatSecret } from '../../src/delivery/notify/webhook/signatures.ts';
import { createWebhookSender } from '../../src/delivery/notify/webhook/webhook.ts';
import type { Resolve } from '../../src/platform/http/dial.ts';
import { systemClock } from '../../streams/platform/clock.ts';

const file = (name: string) =>
  readFileSync(new URL(`../support/certificates/${name}`, import.meta.url));
const ca = file('receiver-ca.pem').toString();
const key = file('receiver.key');
const secretOf = (byte: number) => formatSecret(new Uint8Array(32).fill(byte));
const body = Buffer.from('{"type":"incident.firing","data":{"vm":"Größe \\u0000"}}');

interface Got {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly raw: Buffer;
}

/** A receiver for `hooks.lab` on a loopback address, with one path per misbehaviour. */
async function startReceiver(t: Test, { cert = file('receiver.pem'), host = '127.0.0.1' } = {}) {
  const got: Got[] = [];
  const counts = { connections: 0, bytes: 0 };
  const server: Server = createServer({ key, cert }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { url: path = '', headers } = request;
      got.push({ path, headers: headers as Got['headers'], raw: Buffer.concat(chunks) });
      if (path === '/hang') return;
      if (path === '/drip') {
        const drip = setInterval(() => response.write('.'), 20);
        response.on('close', () => clearInterval(drip));
        response.writeHead(500);
        return;
      }
      if (path === '/reset') {
        request.socket.destroy();
        return;
      }
      const status = path === '/redirect' ? 307 : Number(path.slice(1)) || 204;
      response.writeHead(status, {
        connection: 'close',
        ...(status === 429 && { 'retry-after': '120' }),
        ...(status === 503 && {
          date: 'Thu, 01 Jan 2026 00:00:00 GMT',
          'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT',
        }),
        ...(status === 307 && { location: `https://127.0.0.2:${port()}/stolen` }),
      });
      response.end(status === 500 ? 'the database is down' : undefined);
    });
  });
  server.on('tlsClientError', () => {});
  server.on('connection', (socket: Socket) => {
    counts.connections++;
    socket.on('data', (chunk) => {
      counts.bytes += chunk.length;
    });
  });
  const port = () => (server.address() as AddressInfo).port;
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { got, counts, port };
}

/** Every name resolves to loopback, which the operator allows, unless a test gives addresses. */
function openSender(t: Test, addresses: () => readonly string[] = () => ['127.0.0.1']) {
  const logged: string[] = [];
  let lookUps = 0;
  const resolve: Resolve = (_host, done) => {
    lookUps++;
    done(
      null,
      addresses().map((address) => ({ address, family: 4 })),
    );
  };
  const exchange = createHttpExchange({
    clock: systemClock,
    resolve,
    ca,
    noAddressMs: 0,
    guard: new AddressGuard({ hosts: ['127.0.0.1'], http: false }),
    onNotCalled: (sentence) => void logged.push(sentence),
  });
  t.teardown(() => exchange.close());
  const sender = createWebhookSender({ exchange });
  return {
    logged,
    lookUps: () => lookUps,
    async send(
      url: string,
      { secrets = [secretOf(1)], deadlineMs = 5_000, attemptId = 'att_1' } = {},
    ): Promise<AttemptOutcome> {
      return sender.attempt({
        deliveryId: 'dlv_1',
        attemptId,
        incident: 'inc_1',
        body,
        event: 'incident.firing',
        target: { kind: 'webhook', url, secrets },
        timestampUnix: Math.floor(Date.now() / 1000),
        deadlineElapsedMs: systemClock.elapsed() + deadlineMs,
      });
    },
  };
}

/** Verifies by hand, as in docs/webhooks.md: returns the ids if any V2 value is of the secret. */
function verifyV2({ headers, raw }: Got, secret: string) {
  const fields = (headers['svc-signature-v2'] ?? '').split(',').map((field) => field.split('='));
  const value = (name: string) => fields.find(([each]) => each === name)?.[1] ?? '';
  const signed = `v2.${value('id')}.${value('att')}.${value('t')}.`;
  const hmac = createHmac('sha256', Buffer.from(secret.slice(6), 'base64'));
  const expected = hmac.update(signed).update(raw).digest('hex');
  const isSigned = fields.some(([name, hex]) => name === 'v2' && hex === expected);
  return isSigned ? { delivery: value('id'), attempt: value('att') } : undefined;
}

function legacyOf(secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

test('HOOK-01, HOOK-03: every request is verified by the library, by hand and by the legacy signature', async (t) => {
  const { got, port } = await startReceiver(t);
  const { send } = openSender(t);
  const url = `https://hooks.lab:${port()}/204`;
  const [old, current] = [secretOf(1), secretOf(2)];
  t.match(await send(url, { secrets: [old] }), { kind: 'accepted', httpStatus: 204 });
  t.match(await send(url, { secrets: [current, old], attemptId: 'att_2' }), { kind: 'accepted' });
  t.match(await send(url, { secrets: [current], attemptId: 'att_3' }), { kind: 'accepted' });
  const verifies = (message: Got, secret: string): boolean => {
    try {
      new Webhook(secret).verify(message.raw.toString(), { ...message.headers });
      return true;
    } catch {
      return false;
    }
  };
  const seen = got.map((message) => ({
    old: verifies(message, old),
    current: verifies(message, current),
    byHand: [verifyV2(message, old)?.attempt, verifyV2(message, current)?.attempt],
    legacy: [legacyOf(old), legacyOf(current)].indexOf(message.headers['svc-signature'] ?? ''),
  }));
  t.same(seen, [
    { old: true, current: false, byHand: ['att_1', undefined], legacy: 0 },
    // During an overlap both keys sign, and the legacy signature uses the previous one.
    { old: true, current: true, byHand: ['att_2', 'att_2'], legacy: 0 },
    // After an immediate rotation the older one no longer signs.
    { old: false, current: true, byHand: [undefined, 'att_3'], legacy: 1 },
  ]);
  for (const { raw, headers } of got) {
    t.same(raw, body, 'the bytes as stored');
    t.equal(headers['webhook-id'], 'dlv_1');
    t.equal(headers['accept-encoding'], 'identity');
    t.notOk(JSON.stringify(headers).includes(current.slice(6)), 'no secret is sent');
  }
});

test('HOOK-16: each answer and each silence has its own outcome', async (t) => {
  const { port } = await startReceiver(t);
  const elsewhere = await startReceiver(t, { host: '127.0.0.2' });
  const { send } = openSender(t);
  const cases: readonly (readonly [path: string, outcome: object, deadlineMs?: number])[] = [
    ['500', { kind: 'failed', unknown: false, httpStatus: 500, excerpt: 'the database is down' }],
    ['404', { kind: 'failed', unknown: false, httpStatus: 404 }],
    ['408', { kind: 'failed', unknown: false, httpStatus: 408 }],
    ['429', { kind: 'failed', httpStatus: 429, slows: true, retryAfterMs: 120_000 }],
    ['502', { kind: 'failed', httpStatus: 502, slows: true }],
    ['503', { kind: 'failed', httpStatus: 503, slows: true, retryAfterMs: 90_000 }],
    ['504', { kind: 'failed', httpStatus: 504, slows: true }],
    ['410', { kind: 'refused', httpStatus: 410, pauseDestination: true }],
    ['redirect', { kind: 'failed', httpStatus: 307, error: /not followed/ }],
    ['hang', { kind: 'failed', unknown: true }, 300],
    ['drip', { kind: 'failed', unknown: false, httpStatus: 500 }, 300],
    ['reset', { kind: 'failed', unknown: true }],
  ];
  for (const [path, outcome, deadlineMs = 5_000] of cases) {
    const startedMs = systemClock.elapsed();
    t.match(await send(`https://hooks.lab:${port()}/${path}`, { deadlineMs }), outcome, path);
    t.ok(systemClock.elapsed() - startedMs < deadlineMs + 2_000, `${path} ends in time`);
  }
  for (const path of ['500', '404', '408', '204']) {
    const outcome = await send(`https://hooks.lab:${port()}/${path}`);
    t.notOk('slows' in outcome, `${path} does not slow its destination`);
  }
  t.equal(elsewhere.counts.connections, 0, "nothing was sent to the redirect's target");
});

test('HOOK-17: a name with changing addresses is judged by the dialled address', async (t) => {
  const { port, got } = await startReceiver(t);
  const inside = await startReceiver(t, { host: '127.0.0.2' });
  let answers = [['127.0.0.1'], ['127.0.0.2']];
  const { send, logged, lookUps } = openSender(t, () => answers.shift() ?? ['127.0.0.2']);
  const url = (at: { port(): number }) => `https://hooks.lab:${at.port()}/204`;
  t.match(await send(url({ port })), { kind: 'accepted' }, 'public at the first look-up');
  t.equal(lookUps(), 1, 'one look-up, whose answer is dialled');
  const error =
    'The host name has no address that may be called. Fix the URL or the DNS records of the name';
  t.match(await send(url(inside)), { kind: 'failed', unknown: false, error });
  answers = [['127.0.0.1', '127.0.0.2']];
  t.match(await send(url(inside)), { kind: 'failed', error }, 'one private address among others');
  t.match(logged, [/hooks\.lab resolves to 127\.0\.0\.2/, /hooks\.lab resolves to 127\.0\.0\.2/]);
  t.same([inside.counts.connections, got.length], [0, 1]);
});

test('a wrong, expired or unknown certificate gets no request', async (t) => {
  const valid = await startReceiver(t);
  const expired = await startReceiver(t, { cert: file('receiver-expired.pem') });
  const { send } = openSender(t);
  const failure = (why: string) => ({
    kind: 'failed',
    unknown: false,
    error: `TLS: ${why}. Fix the URL or the certificate`,
  });
  const another = failure('the certificate is for another host name');
  t.same(await send(`https://other.lab:${valid.port()}/204`), another);
  const ended = failure('the certificate has expired');
  t.same(await send(`https://hooks.lab:${expired.port()}/204`), ended);
  const guard = new AddressGuard({ hosts: ['127.0.0.1'], http: false });
  const resolve: Resolve = (_host, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
  const untrusting = createHttpExchange({ clock: systemClock, guard, resolve });
  const unknown = await untrusting.post({
    url: `https://hooks.lab:${valid.port()}/204`,
    headers: {},
    body,
    deadlineElapsedMs: systemClock.elapsed() + 5_000,
  });
  const stranger = failure('the certificate authority is not trusted');
  t.same(unknown, { kind: 'unanswered', outcome: stranger });
  await untrusting.close();
  t.same([...valid.got, ...expired.got], [], 'no request reached them');
});

test('a receiver without TLS counts as not notified', async (t) => {
  const plain = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  });
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  t.teardown(() => plain.close());
  const { port } = plain.address() as AddressInfo;
  const outcome = await openSender(t).send(`https://hooks.lab:${port}/204`);
  t.match(outcome, { kind: 'failed', unknown: false });
});

test('HOOK-06, LIMIT-16: a webhook body over 1 MiB is the service’s fault and is not sent', async (t) => {
  const { counts, port } = await startReceiver(t);
  const guard = new AddressGuard({ hosts: ['127.0.0.1'], http: false });
  const exchange = createHttpExchange({ clock: systemClock, guard, ca });
  const large = createWebhookSender({ exchange }).attempt({
    deliveryId: 'dlv_1',
    attemptId: 'att_1',
    incident: '',
    event: 'test',
    timestampUnix: 0,
    target: { kind: 'webhook', url: `https://127.0.0.1:${port()}/`, secrets: [secretOf(1)] },
    body: Buffer.alloc(1024 * 1024 + 1),
    deadlineElapsedMs: Number.POSITIVE_INFINITY,
  });
  await t.rejects(large, /more than 1 MiB/);
  await exchange.close();
  t.equal(counts.connections, 0);
});

test('hanging endpoints delay no other one on the same host', async (t) => {
  const { got, port } = await startReceiver(t);
  const { send } = openSender(t);
  const hanging = Array.from({ length: 40 }, () =>
    send(`https://hooks.lab:${port()}/hang`, { deadlineMs: 1_500 }),
  );
  const untilMs = systemClock.elapsed() + 1_000;
  while (got.length < 40 && systemClock.elapsed() < untilMs) await immediate();
  t.match(await send(`https://hooks.lab:${port()}/204`, { deadlineMs: 1_000 }), {
    kind: 'accepted',
  });
  t.match(await Promise.all(hanging), Array(40).fill({ kind: 'failed', unknown: true }));
});

test('a receiver that only speaks HTTP/2 is bounded like the others', async (t) => {
  let written = 0;
  const server = createSecureServer({ key, cert: file('receiver.pem') }, (request, response) => {
    if (request.url === '/hang') return;
    if (request.url !== '/endless') {
      response.writeHead(204).end();
      return;
    }
    response.on('error', () => {});
    response.writeHead(500);
    const pour = (): void => {
      while (!response.stream.destroyed && written < 2 ** 28) {
        written += 65_536;
        if (!response.write('x'.repeat(65_536))) {
          response.once('drain', pour);
          return;
        }
      }
    };
    pour();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { send } = openSender(t);
  const url = `https://hooks.lab:${(server.address() as AddressInfo).port}`;
  const hanging = send(`${url}/hang`, { deadlineMs: 500 });
  t.match(await send(`${url}/endless`), { kind: 'failed', excerpt: /^x{4096}$/ });
  t.ok(written < 2 ** 24, `it sent ${written} bytes`);
  t.match(await send(`${url}/ok`), { kind: 'accepted', httpStatus: 204 }, 'beside one that hangs');
  t.match(await hanging, { kind: 'failed', unknown: true });
});

/** A name server on loopback: `there.example` is at 192.0.2.7, `hang.example` gets no answer. */
async function startNameServer(t: Test): Promise<string> {
  const server = createSocket('udp4');
  server.on('message', (query, { port, address }) => {
    const name = query.subarray(12).toString('latin1');
    if (name.includes('hang')) return;
    const isA = query.readUInt16BE(query.indexOf(0, 12) + 1) === 1;
    const questionSection = query.subarray(12, query.indexOf(0, 12) + 5);
    const head = Buffer.from(query.subarray(0, 12));
    const found = isA && name.includes('there') ? 1 : 0;
    // Answer, recursion available; 3 means that the name does not exist.
    head.writeUInt16BE(name.includes('there') ? 0x81_80 : 0x81_83, 2);
    for (const [place, count] of [1, found, 0, 0].entries())
      head.writeUInt16BE(count, 4 + 2 * place);
    const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7]);
    server.send(Buffer.concat([head, questionSection, ...(found ? [record] : [])]), port, address);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return `127.0.0.1:${server.address().port}`;
}

test('names whose servers never answer delay no other name', async (t) => {
  const servers = [await startNameServer(t)];
  const resolve = createResolve({ isAllowedName: (host) => host === 'localhost', servers });
  const ask = (host: string) =>
    new Promise<unknown>((done) =>
      resolve(host, (error, addresses) => done(error?.code ?? addresses)),
    );
  const startedMs = systemClock.elapsed();
  const hanging = Array.from({ length: 16 }, (_, i) => ask(`hang.${i}.example`));
  t.same(await ask('there.example'), [{ address: '192.0.2.7', family: 4 }]);
  t.equal(await ask('nowhere.example'), 'ENOTFOUND');
  t.match(await ask('localhost'), [{ family: Number }], 'as the system resolves it');
  t.ok(systemClock.elapsed() - startedMs < 600, 'before the first try of one of the others ended');
  t.same(new Set(await Promise.all(hanging)), new Set(['ETIMEOUT']));
  t.ok(systemClock.elapsed() - startedMs < 3_500, 'within the time of a connection');
});
