/**
 * Signatures against the published vector and the Standard Webhooks library; the sender against
 * receivers that hang, redirect, drip, answer 10 GB or are in a private network. Receivers are real
 * servers on loopback, allowed by name.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { test } from 'tap';
import type { AttemptOutcome, Channel, UrlTarget } from '../../actors/delivery/notifier-port.ts';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import {
  createHttpExchange,
  type HttpExchangeDeps,
} from '../../src/delivery/notify/http/exchange.ts';
import { formatSecret, signatureHeaders } from '../../src/delivery/notify/webhook/signatures.ts';
import { createWebhookSender } from '../../src/delivery/notify/webhook/webhook.ts';
import type { Resolve } from '../../src/platform/http/dial.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { codeBlock } from '../support/code-blocks.ts';

const body = Buffer.from('{"type":"incident.firing","data":{"vm":"vm_1","value":93.5}}');
const secret = formatSecret(Uint8Array.from({ length: 32 }, (_, i) => i));
const previous = formatSecret(Uint8Array.from({ length: 32 }, () => 7));
const vector = {
  deliveryId: 'dlv_01K0000000000000000000000A',
  attemptId: 'att_01K0000000000000000000000B',
  timestampUnix: 1767225600,
  body,
  secrets: [secret],
};

test('HOOK-05, HOOK-08: the three signatures agree with the published vector', async (t) => {
  t.same(signatureHeaders(vector), {
    'webhook-id': vector.deliveryId,
    'webhook-timestamp': '1767225600',
    'webhook-signature': 'v1,WG+0Udb6zkIo8eWAz6hUSiwOH+zdSsvLBJd169X+sx4=',
    'svc-delivery-id': vector.deliveryId,
    'svc-attempt-id': vector.attemptId,
    'svc-signature-v2':
      `t=1767225600,id=${vector.deliveryId},att=${vector.attemptId},` +
      'v2=2ebfe462cd5ac9bdad3038ef74ee6b9daaf45a646f3601ef255a668f2a6c1d5a',
    'svc-signature': 'sha256=bf668765a8223992905c65fc520f5f57b2a8d7a6eca39dc95778a7b3a6374d74',
  });
});

test('HOOK-09: the receiver in docs/webhooks.md verifies the published vector', async (t) => {
  const code = codeBlock('webhooks.md', '// verify-webhook.js');
  const { verifyWebhook } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  const headers = signatureHeaders({ ...vector, secrets: [previous, secret] });
  const { deliveryId, attemptId, timestampUnix } = vector;
  const verify = (more: { raw?: Buffer; key?: string; now?: number } = {}) =>
    verifyWebhook(more.raw ?? body, headers, more.key ?? secret, more.now ?? timestampUnix);
  t.same(verify(), { deliveryId, attemptId });
  t.same(verify({ key: previous, now: timestampUnix + 300 }), { deliveryId, attemptId });
  t.equal(verify({ now: timestampUnix + 301 }), undefined, 'too old');
  t.equal(verify({ raw: Buffer.from('{}') }), undefined, 'another body');
  t.equal(verify({ key: formatSecret(new Uint8Array(32)) }), undefined, 'another secret');
  t.equal(verifyWebhook(body, {}, secret, timestampUnix), undefined, 'no signature');
});

test('EVENT-10: both secrets sign during an overlap, the legacy signature uses the previous one', async (t) => {
  const timestampUnix = Math.floor(Date.now() / 1000);
  const both = signatureHeaders({ ...vector, timestampUnix, secrets: [secret, previous] });
  const onlyPrevious = signatureHeaders({ ...vector, timestampUnix, secrets: [previous] });
  for (const key of [secret, previous]) {
    t.ok(new Webhook(key).verify(body.toString(), both), 'a receiver with either secret verifies');
  }
  t.throws(() => new Webhook(secret).verify('{}', both), 'another body is rejected');
  t.equal(both['svc-signature'], onlyPrevious['svc-signature']);
  t.equal(both['svc-signature-v2']?.match(/v2=/g)?.length, 2);
  t.throws(() => signatureHeaders({ ...vector, secrets: [] }), RangeError);
  t.throws(() => signatureHeaders({ ...vector, secrets: [secret, previous, secret] }), RangeError);
});

test('HOOK-01: a 2xx answer accepts the delivery, with its body and headers unchanged', async (t) => {
  const got: { headers?: object; body?: string } = {};
  const outcome = await sendTo(t, async (request, response) => {
    got.headers = request.headers;
    got.body = await text(request);
    response.writeHead(202).end();
  });
  t.same(outcome, { kind: 'accepted', httpStatus: 202 });
  t.equal(got.body, body.toString());
  t.match(got.headers, { 'svc-event': 'incident.firing', 'content-length': String(body.length) });
});

test('HOOK-16: an answer’s status determines the outcome', async (t) => {
  const cases = [
    { status: 500, outcome: { kind: 'failed', unknown: false, httpStatus: 500, excerpt: 'sorry' } },
    { status: 404, outcome: { kind: 'failed', unknown: false, httpStatus: 404 } },
    { status: 302, outcome: { kind: 'failed', httpStatus: 302, error: /Enter the final URL/ } },
    { status: 429, outcome: { kind: 'failed', httpStatus: 429, retryAfterMs: 7000 } },
    { status: 410, outcome: { kind: 'refused', httpStatus: 410, pauseDestination: true } },
  ];
  for (const { status, outcome } of cases) {
    const headers = { location: 'http://127.0.0.1:1/', 'retry-after': '7' };
    const seen = await sendTo(t, (_request, response) =>
      response.writeHead(status, headers).end('sorry'),
    );
    t.match(seen, outcome, `status ${status}`);
  }
});

test('HOOK-14: a hanging or dripping receiver ends at the deadline with an unknown outcome', async (t) => {
  const hanging = await sendTo(t, () => {}, { deadlineMs: 300 });
  t.match(hanging, { kind: 'failed', unknown: true, error: /No response/ });
  const dripping = await sendTo(
    t,
    (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    },
    { deadlineMs: 300 },
  );
  t.match(dripping, { kind: 'accepted', httpStatus: 200 }, 'its status had been received');
});

test('HOOK-14: at most 16 KiB of an endless answer are read, and 4 KiB kept', async (t) => {
  let written = 0;
  const outcome = await sendTo(t, (_request, response) => {
    response.writeHead(500);
    const pour = (): void => {
      while (!response.destroyed && written < 2 ** 30) {
        written += 65_536;
        if (!response.write('x'.repeat(65_536))) {
          response.once('drain', pour);
          return;
        }
      }
    };
    pour();
  });
  t.match(outcome, { kind: 'failed', httpStatus: 500 });
  t.equal(outcome.kind === 'failed' && outcome.excerpt?.length, 4096);
  t.ok(written < 64 * 2 ** 20, `the receiver sent ${written} bytes`);
});

test('HOOK-17: a name with one private address among public ones is not called', async (t) => {
  let called = false;
  const logged: string[] = [];
  const addresses = ['93.184.216.34', '127.0.0.1'].map((address) => ({ address, family: 4 }));
  const resolve: Resolve = (_host, done) => done(null, addresses);
  const sender = strictSender(resolve, (sentence) => void logged.push(sentence));
  const server = await listen(t, () => {
    called = true;
  });
  const outcome = await sender.attempt(request(`https://hooks.example:${port(server)}/`));
  const error =
    'The host name has no address that may be called. Fix the URL or the DNS records of the name';
  t.same(
    outcome,
    { kind: 'failed', unknown: false, error },
    'the answer does not reveal the address',
  );
  t.match(logged, [/hooks\.example resolves to 127\.0\.0\.1/], 'the log does');
  t.equal(called, false);
  await sender.close();
});

test('HOOK-17: a public name whose socket connects elsewhere gets no request byte', async (t) => {
  let bytes = 0;
  const server = await listen(t, () => {});
  server.on('connection', (socket) => socket.on('data', (chunk) => (bytes += chunk.length)));
  // The guard accepts the resolved address and rejects the socket's, as with a rebinding proxy.
  const guard = new AddressGuard({ hosts: [], http: true });
  let requested = 0;
  guard.refuseUrl = () => undefined;
  guard.refuseAddress = () =>
    requested++ === 0 ? undefined : 'the socket is at a private address';
  const resolve: Resolve = (_host, done) => done(null, [{ address: '127.0.0.1', family: 4 }]);
  const sender = openSender({ guard, clock: systemClock, resolve, noAddressMs: 0 });
  const outcome = await sender.attempt(request(`http://hooks.example:${port(server)}/`));
  t.match(outcome, { kind: 'failed', error: /no address that may be called. Fix the URL/ });
  t.equal(bytes, 0);
  await sender.close();
});

test('a URL that is no longer allowed is retried, since it can be fixed', async (t) => {
  const sender = strictSender((_host, done) => done(null, []));
  const outcome = await sender.attempt(request('https://10.0.0.1/'));
  const error = "The URL's host is not a public address. Fix the URL";
  t.same(outcome, { kind: 'failed', unknown: false, error });
  await sender.close();
});

test('an endless series of interim answers is abandoned, a few are accepted', async (t) => {
  const answering = async (interim: number) => {
    let sent = 0;
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        const pour = (): void => {
          if (socket.destroyed) return;
          if (sent >= interim) {
            socket.end('HTTP/1.1 204 No Content\r\n\r\n');
            return;
          }
          socket.write('HTTP/1.1 103 Early Hints\r\n\r\n');
          sent++;
          setImmediate(pour);
        };
        pour();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => server.close());
    const sender = lenientSender();
    const { port } = server.address() as AddressInfo;
    const outcome = await sender.attempt(request(`http://127.0.0.1:${port}/`, 2_000));
    await sender.close();
    return outcome;
  };
  t.match(await answering(3), { kind: 'accepted', httpStatus: 204 });
  const given = {
    kind: 'failed',
    unknown: true,
    error: 'The endpoint sends too many interim responses (1xx)',
  };
  t.match(await answering(Number.POSITIVE_INFINITY), given);
});

test('the service, not the receiver, decides how long a connection is kept', async (t) => {
  const server = await listen(t, (_request, response) => response.writeHead(204).end());
  // Sent to clients in each answer: `keep-alive: timeout=600`.
  server.keepAliveTimeout = 600_000;
  const closed = new Promise<string>((resolve) =>
    server.on('connection', (socket) => socket.on('close', () => resolve('closed'))),
  );
  const guard = new AddressGuard({ hosts: ['127.0.0.1'], http: true });
  const sender = openSender({ guard, clock: systemClock, keepAliveMs: 50 });
  t.match(await sender.attempt(request(`http://127.0.0.1:${port(server)}/`)), { kind: 'accepted' });
  const late = new Promise<string>((resolve) =>
    systemClock.wakeAfter(10_000, () => resolve('open')),
  );
  t.equal(await Promise.race([closed, late]), 'closed');
  await sender.close();
});

test('an unreachable receiver counts as not notified, and a late attempt is not sent', async (t) => {
  const server = await listen(t, () => {});
  const url = `http://127.0.0.1:${port(server)}/`;
  await new Promise((resolve) => server.close(resolve));
  const sender = lenientSender();
  const error = 'Connection refused';
  t.same(await sender.attempt(request(url)), { kind: 'failed', unknown: false, error });
  const late = { ...request(url), deadlineElapsedMs: systemClock.elapsed() - 1 };
  t.match(await sender.attempt(late), {
    kind: 'failed',
    unknown: false,
    ours: true,
    error: /before the request was sent/,
  });
  await sender.close();
});

type Test = { teardown(fn: () => unknown): unknown };

async function sendTo(
  t: Test,
  listener: RequestListener,
  { deadlineMs = 5_000 } = {},
): Promise<AttemptOutcome> {
  const server = await listen(t, listener);
  const sender = lenientSender();
  try {
    return await sender.attempt(request(`http://127.0.0.1:${port(server)}/hook`, deadlineMs));
  } finally {
    await sender.close();
  }
}

/** A sender with an exchange of its own, which is closed with it. */
function openSender(deps: HttpExchangeDeps): Channel<UrlTarget> {
  const exchange = createHttpExchange(deps);
  return { ...createWebhookSender({ exchange }), close: () => exchange.close() };
}

function lenientSender() {
  const guard = new AddressGuard({ hosts: ['127.0.0.1'], http: true });
  return openSender({ guard, clock: systemClock });
}

function strictSender(resolve: Resolve, onNotCalled: (sentence: string) => void = () => {}) {
  const guard = new AddressGuard({ hosts: [], http: false });
  return openSender({ guard, clock: systemClock, resolve, onNotCalled, noAddressMs: 0 });
}

function request(url: string, deadlineMs = 5_000): Parameters<Channel<UrlTarget>['attempt']>[0] {
  const { secrets, ...signed } = vector;
  return {
    ...signed,
    event: 'incident.firing',
    target: { kind: 'webhook', url, secrets },
    incident: 'inc_1',
    deadlineElapsedMs: systemClock.elapsed() + deadlineMs,
  };
}

async function listen(t: Test, listener: RequestListener): Promise<Server> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

function port(server: Server): number {
  return (server.address() as AddressInfo).port;
}

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
