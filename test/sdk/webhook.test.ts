/**
 * The SDK's tools for a receiver of webhooks: verification of signatures against vectors computed
 * by another language, the bound on the body, and the store of delivery ids, also across processes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { runInNewContext } from 'node:vm';
import Database from 'better-sqlite3';
import { test } from 'tap';
import { signatureHeaders } from '../../src/delivery/notify/webhook/signatures.ts';
import {
  DEDUPLICATION_MS_MIN,
  openSqliteDeduplicator,
  readWebhookBody,
  verifyWebhook,
  WebhookRefused,
} from '../../src/sdk/index.ts';
import { verifyWebhook as verifyAnywhere } from '../../src/sdk/webhook.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import {
  bodyOf,
  headersOf,
  type ReceivedVector,
  webhookVectors,
} from '../support/webhook-vectors.ts';

function outcome(vector: ReceivedVector, headers = headersOf(vector) as never): object {
  const now = new Date(vector.nowUnix * 1000 + 999);
  try {
    return { verified: verifyWebhook(bodyOf(vector), headers, vector.secrets, { now }) };
  } catch (error) {
    if (!(error instanceof WebhookRefused)) throw error;
    return { error: error.reason };
  }
}

test('EVENT-08, HOOK-04: every vector is verified or rejected with its reason', async (t) => {
  t.ok(webhookVectors.received.length > 50, 'the vectors are there');
  for (const vector of webhookVectors.received) {
    const { verified, error } = vector;
    const expected = error === undefined ? { verified } : { error };
    t.same(outcome(vector), expected, vector.name);
    // Fetch's headers reject or strip line ends.
    if (vector.headers.some(([, value]) => value.includes('\n'))) continue;
    const fetched = new Headers(vector.headers.map(([name, value]) => [name, value]));
    t.same(outcome(vector, fetched as never), expected, `${vector.name}, with Fetch's headers`);
  }
});

test('EVENT-08, HOOK-04: Web Crypto verifies and rejects the same vectors', async (t) => {
  for (const vector of webhookVectors.received) {
    const now = new Date(vector.nowUnix * 1000 + 999);
    const headers = headersOf(vector) as never;
    const result = await verifyAnywhere(bodyOf(vector), headers, vector.secrets, { now }).then(
      (verified) => ({ verified }),
      (error: WebhookRefused) => ({ error: error.reason }),
    );
    t.same(result, outcome(vector), vector.name);
  }
});

test('a body that is not raw is rejected with a hint', async (t) => {
  const [vector] = webhookVectors.sent;
  if (!vector) throw new Error('No vector');
  const { body, headers, secrets } = vector;
  const bytes = Buffer.from(body);
  for (const [passed, message] of [
    [JSON.parse(body), /a parsed body: pass the bytes/],
    [undefined, /undefined: pass the bytes/],
    [null, /null: pass the bytes/],
    [Uint8Array.from(bytes).buffer, /new Uint8Array\(body\)/],
    [new Uint16Array(4), /Uint16Array/],
    [new DataView(new ArrayBuffer(4)), /DataView/],
    [7, /Number/],
  ] as const) {
    const expected = { name: 'WebhookRefused', reason: 'BODY_NOT_RAW', message };
    t.throws(() => verifyWebhook(passed as never, headers, secrets), expected);
    await t.rejects(verifyAnywhere(passed as never, headers, secrets), expected);
  }
  const foreign = runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] });
  const now = new Date(vector.timestampUnix * 1000);
  t.match(verifyWebhook(foreign, headers, secrets, { now }), { deliveryId: vector.deliveryId });
  for (const [passed, message] of [
    [undefined, /undefined/],
    [{ type: 'test' }, /a parsed body/],
    [Readable.from(['text']).setEncoding('utf8'), /a stream of text/],
  ] as const) {
    await t.rejects(readWebhookBody(passed as never), { name: 'WebhookRefused', message });
  }
  const read = Readable.from([bytes]);
  for await (const chunk of read) t.ok(chunk);
  await t.rejects(readWebhookBody(read), { name: 'WebhookRefused', message: /was read before/ });
  const fetched = new Request('http://127.0.0.1/', { method: 'POST', body });
  t.same(await readWebhookBody(fetched.body), bytes);
  const busy = new Request('http://127.0.0.1/', { method: 'POST', body });
  busy.body?.getReader();
  await t.rejects(readWebhookBody(busy.body), { name: 'WebhookRefused', reason: 'BODY_NOT_RAW' });
  const stream = new Blob([bytes]).stream();
  const old = { locked: false, getReader: () => stream.getReader() };
  t.same(await readWebhookBody(old as never), bytes, 'a stream that cannot be iterated');
});

test('HOOK-04, LIMIT-17: the clock window is 5 minutes in both directions, to the second', async (t) => {
  const [vector] = webhookVectors.sent;
  if (!vector) throw new Error('No vector');
  const after = (seconds: number) => () => {
    const now = new Date((vector.timestampUnix + seconds) * 1000);
    verifyWebhook(vector.body, vector.headers, vector.secrets, { now });
  };
  for (const seconds of [-300, 0, 300]) t.doesNotThrow(after(seconds), `${seconds} s`);
  t.throws(after(301), new WebhookRefused('TIMESTAMP_TOO_OLD', ''));
  t.throws(after(-301), new WebhookRefused('TIMESTAMP_TOO_NEW', ''));
});

test('no refusal reveals a secret, a signature or the body', async (t) => {
  for (const vector of webhookVectors.received.filter(({ error }) => error)) {
    const now = new Date(vector.nowUnix * 1000);
    const words = [...vector.secrets.map((secret) => secret.slice(6, 30)), 'incident.firing'];
    try {
      verifyWebhook(bodyOf(vector), headersOf(vector), vector.secrets, { now });
      t.fail(vector.name);
    } catch (error) {
      const { message } = error as Error;
      t.ok(message.length > 10 && message.length < 200, vector.name);
      for (const word of words) t.notOk(word && message.includes(word), `${vector.name}: ${word}`);
      t.notMatch(message, /[0-9a-f]{32}/, `${vector.name}: no signature`);
    }
  }
});

test('the sender’s signatures equal the vectors, and verify', async (t) => {
  for (const { headers, ...attempt } of webhookVectors.sent) {
    const body = Buffer.from(attempt.body);
    const made = signatureHeaders({ ...attempt, body });
    t.same(made, headers);
    const now = new Date(attempt.timestampUnix * 1000);
    for (const secret of attempt.secrets) {
      t.equal(verifyWebhook(body, made, secret, { now }).attemptId, attempt.attemptId);
    }
  }
});

test('a single secret, a body as text and the system clock are accepted', async (t) => {
  const [vector] = webhookVectors.sent;
  if (!vector) throw new Error('No vector');
  const old = () => verifyWebhook(vector.body, vector.headers, vector.secrets[0] ?? '');
  t.throws(old, new WebhookRefused('TIMESTAMP_TOO_OLD', ''), 'the vector is of 2026-01-01');
  const now = new Date(vector.timestampUnix * 1000);
  t.match(verifyWebhook(vector.body, vector.headers, vector.secrets[0] ?? '', { now }), {
    deliveryId: vector.deliveryId,
  });
  const never = { now: new Date(Number.NaN) };
  t.throws(() => verifyWebhook(vector.body, vector.headers, vector.secrets, never), {
    name: 'WebhookRefused',
  });
});

test('EVENT-07, LIMIT-16: at most 1 MiB of a webhook body is read, even of an endless request', async (t) => {
  const outcomes: unknown[] = [];
  const server = createServer(async (request, response) => {
    try {
      outcomes.push((await readWebhookBody(request)).byteLength);
    } catch (error) {
      outcomes.push((error as WebhookRefused).reason);
    }
    response.writeHead(413, { connection: 'close' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const mib = 'x'.repeat(2 ** 20);
  await fetch(url, { method: 'POST', body: mib });
  await fetch(url, { method: 'POST', body: `${mib}x` });
  let poured = 0;
  const endless = new ReadableStream({
    pull(controller) {
      poured += 65_536;
      if (poured > 2 ** 28) controller.close();
      else controller.enqueue(new Uint8Array(65_536));
    },
  });
  // The receiver answers and disconnects, which a client may see as either.
  await fetch(url, { method: 'POST', body: endless, duplex: 'half' } as RequestInit).catch(
    () => {},
  );
  t.same(outcomes, [2 ** 20, 'BODY_TOO_LARGE', 'BODY_TOO_LARGE']);
  t.ok(poured < 2 ** 26, `the client sent ${poured} bytes`);
  t.equal((await readWebhookBody(null)).byteLength, 0, 'a Fetch request without a body');
});

test('EVENT-09, HOOK-09: a delivery id is claimed once for at least 24 h 10 min, restarts included', async (t) => {
  const path = join(t.testdir(), 'deliveries.db');
  const clock = new VirtualClock(1_767_225_600_000);
  const first = openSqliteDeduplicator({ path, clock });
  t.equal(first.claim('dlv_a'), true);
  t.equal(first.claim('dlv_a'), false);
  t.equal(first.claim('dlv_b'), true);
  first.release('dlv_b');
  first.close();
  await clock.advance(DEDUPLICATION_MS_MIN);
  const second = openSqliteDeduplicator({ path, clock });
  t.equal(second.claim('dlv_a'), false, 'as long as retries can arrive');
  t.equal(second.claim('dlv_b'), true, 'a released id can be claimed again');
  await clock.advance(3_600_000);
  t.equal(second.claim('dlv_a'), true, 'then it is deleted');
  second.close();
  const short = () => openSqliteDeduplicator({ path, clock, rememberMs: DEDUPLICATION_MS_MIN - 1 });
  t.throws(short, RangeError);
});

test('expired ids are deleted from disk', async (t) => {
  const database = new Database(':memory:');
  t.teardown(() => database.close());
  const clock = new VirtualClock(0);
  const deduplicator = openSqliteDeduplicator({ database, clock });
  for (let i = 0; i < 500; i++) deduplicator.claim(`dlv_${i}`);
  await clock.advance(26 * 3_600_000);
  for (let i = 0; i < 10; i++) deduplicator.claim(`dlv_later_${i}`);
  const count = () => database.prepare('SELECT count(*) FROM webhook_deliveries').pluck().get();
  t.equal(count(), 10);
  deduplicator.close();
  t.equal(count(), 10, 'a database that was passed in stays open');
});

test('a database of node:sqlite takes claims too', async (t) => {
  const database = new DatabaseSync(':memory:');
  t.teardown(() => database.close());
  const deduplicator = openSqliteDeduplicator({ database });
  t.equal(deduplicator.claim('dlv_a'), true);
  t.equal(deduplicator.claim('dlv_a'), false);
  deduplicator.release('dlv_a');
  t.equal(deduplicator.claim('dlv_a'), true);
});

test('a claim is rolled back with the transaction of its failed work', async (t) => {
  const database = new Database(':memory:');
  t.teardown(() => database.close());
  const deduplicator = openSqliteDeduplicator({ database });
  const failing = database.transaction(() => {
    t.equal(deduplicator.claim('dlv_a'), true);
    throw new Error('the disk is full');
  });
  t.throws(failing, /full/);
  t.equal(deduplicator.claim('dlv_a'), true);
});

test('exactly one of several concurrent processes claims each id', async (t) => {
  const path = join(t.testdir(), 'deliveries.db');
  const program = `
    const { openSqliteDeduplicator } = await import(${JSON.stringify(
      new URL('../../src/sdk/delivery-deduplicator.ts', import.meta.url).href,
    )});
    const deduplicator = openSqliteDeduplicator({ path: ${JSON.stringify(path)} });
    const won = [];
    for (let i = 0; i < 200; i++) if (deduplicator.claim('dlv_' + i)) won.push(i);
    process.stdout.write(JSON.stringify(won));
  `;
  const children = [0, 1, 2].map(() =>
    spawn(process.execPath, ['--input-type=module', '-e', program], {
      timeout: 600_000,
      killSignal: 'SIGKILL',
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const won = await Promise.all(
    children.map(async (child) => {
      const [output] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      return JSON.parse(output) as number[];
    }),
  );
  t.same(
    won.flat().sort((a, b) => a - b),
    Array.from({ length: 200 }, (_, i) => i),
  );
});
