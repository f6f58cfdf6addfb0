/**
 * Behaviour of the embedded stream alone: group commit, files by stream, a full disk, a locked
 * database, a killed process. The contract that it shares with JetStream is in
 * test/platform/stream-contract.test.ts.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import t, { test } from 'tap';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import {
  type Delivery,
  type Stream,
  type StreamSpec,
  StreamUnavailable,
} from '../../streams/platform/stream.ts';

const LOG: StreamSpec = {
  name: 'LOG',
  subjects: ['log.*'],
  retention: 'log',
  duplicateWindowMs: 60_000,
};

function append(stream: Stream, bytes = 100, messageId?: string) {
  const data = new Uint8Array(bytes).fill(7);
  const id = messageId === undefined ? {} : { messageId };
  return stream.append({ stream: 'LOG', subject: 'log.a', data, ...id });
}

async function texts(stream: Stream): Promise<string[]> {
  const all: string[] = [];
  const read = stream.read({ stream: 'LOG', from: { sequence: 1 }, untilEnd: true });
  for await (const { data } of read) all.push(Buffer.from(data).toString().trim());
  return all;
}

test('DUR-10: concurrent appends share one disk write, and a single one does not wait', async (t) => {
  const storage = `${t.testdir({})}/a.db`;
  const stream = openEmbeddedStream({ storage, clock: systemClock, fsyncDelayMs: 30 });
  await stream.ensure(LOG);
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: 200 }, () => append(stream)));
  const tookMs = performance.now() - startedMs;
  const apartMs = 200 * 30;
  t.ok(tookMs < apartMs / 2, `${Math.round(tookMs)} ms; one by one they take ${apartMs} ms`);
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  for (let i = 0; i < 5; i++) await append(stream);
  clearInterval(timer);
  t.ok(turns >= 5, `other work had ${turns} turns between slow writes`);
  await stream.close();
});

test('streams are stored in files by name, or share an open connection', async (t) => {
  const folder = t.testdir({});
  const clock = new VirtualClock(1_000);
  const storage = (name: string) => `${folder}/${name === 'LOG' ? 'control' : 'samples'}.db`;
  const stream = openEmbeddedStream({ storage, clock });
  await stream.ensure(LOG);
  await stream.ensure({ ...LOG, name: 'SAMPLES_0', subjects: ['samples.*'] });
  await append(stream);
  t.ok(existsSync(`${folder}/control.db`) && existsSync(`${folder}/samples.db`));
  await stream.close();
  const connection = openDatabase({
    path: `${folder}/control.db`,
    synchronous: 'FULL',
    migrations: [{ id: 1, sql: 'CREATE TABLE instance (id TEXT) STRICT' }],
  });
  const shared = openEmbeddedStream({ storage: connection, clock });
  t.match(await shared.state('LOG'), { messages: 1 });
  t.match(await append(shared), { sequence: 2 });
  await shared.close();
  t.ok(connection.open, 'a connection that was passed in stays open');
  connection.close();
});

test('a full file rejects appends, reports it in health, and recovers by itself', async (t) => {
  const path = `${t.testdir({})}/a.db`;
  const clock = new VirtualClock(1_000);
  const connection = openDatabase({ path, synchronous: 'FULL', migrations: [] });
  const stream = openEmbeddedStream({ storage: connection, clock });
  await stream.ensure(LOG);
  t.match(await append(stream, 100, 'before'), { sequence: 1 });
  connection.pragma('max_page_count = 60');
  await t.rejects(append(stream, 1_000_000, 'large'), {
    name: 'StreamUnavailable',
    outcome: 'refused',
    message: /disk is full; free some space/,
  });
  const { health } = { health: () => stream.health() };
  t.match(health(), { state: 'unavailable', reason: /a.db: the disk is full/ });
  t.match(await stream.state('LOG'), { messages: 1, lastSequence: 1 }, 'nothing was stored');
  t.match(await append(stream, 100, 'before'), { kind: 'duplicate', sequence: 1 });
  t.same(health(), { state: 'available' }, 'a write succeeded');
  await t.rejects(append(stream, 1_000_000, 'large'), StreamUnavailable);
  connection.pragma('max_page_count = 100000');
  t.equal(health().state, 'unavailable');
  await clock.advance(1_500);
  t.same(health(), { state: 'available' }, 'the probe found space');
  t.match(await append(stream, 1_000_000, 'large'), { kind: 'appended', sequence: 2 });
  await stream.close();
  connection.close();
});

test('a locked database rejects appends, and serves reads', async (t) => {
  const storage = `${t.testdir({})}/a.db`;
  const clock = new VirtualClock(1_000);
  const stream = openEmbeddedStream({ storage, clock });
  await stream.ensure(LOG);
  await append(stream);
  const consumer = await stream.consume({
    stream: 'LOG',
    durable: 'worker',
    ackWaitMs: 1_000,
    maxAckPending: 5,
  });
  const other = new Database(storage);
  other.exec('BEGIN IMMEDIATE');
  await t.rejects(append(stream), { outcome: 'refused', message: /another connection holds/ });
  t.match(stream.health(), { reason: /another connection holds its lock/ });
  t.equal((await texts(stream)).length, 1);
  const deliveries = consumer[Symbol.asyncIterator]();
  const delivery = (await deliveries.next()).value;
  await t.rejects(async () => delivery?.ack(), StreamUnavailable);
  other.exec('COMMIT');
  other.close();
  await delivery?.ack();
  t.same(stream.health(), { state: 'available' });
  t.match(await append(stream), { sequence: 2 });
  await stream.close();
  const reopened = openEmbeddedStream({ storage, clock });
  const spec = { stream: 'LOG', durable: 'worker', ackWaitMs: 1_000, maxAckPending: 5 };
  const again = (await reopened.consume(spec))[Symbol.asyncIterator]();
  t.match((await again.next()).value, { sequence: 2 }, 'the first one stays acknowledged');
  await reopened.close();
});

test('an invalid append fails alone among those of its turn', async (t) => {
  const stream = openEmbeddedStream({
    storage: `${t.testdir({})}/a.db`,
    clock: new VirtualClock(1_000),
  });
  await stream.ensure(LOG);
  const wrong = { stream: 'LOG', subject: 'log.a', data: 'text' as unknown as Uint8Array };
  const outcomes = await Promise.allSettled([append(stream), stream.append(wrong), append(stream)]);
  t.match(outcomes, [
    { value: { kind: 'appended', sequence: 1 } },
    { status: 'rejected' },
    { value: { kind: 'appended', sequence: 2 } },
  ]);
  t.same(stream.health(), { state: 'available' });
  await stream.close();
});

test('a message past its ack-wait is not redelivered while it is being settled', async (t) => {
  const clock = new VirtualClock(1_000);
  const stream = openEmbeddedStream({ storage: `${t.testdir({})}/a.db`, clock });
  await stream.ensure(LOG);
  for (let i = 0; i < 3; i++) await append(stream);
  const consumer = await stream.consume({
    stream: 'LOG',
    durable: 'worker',
    ackWaitMs: 1_000,
    maxAckPending: 5,
  });
  const iterator = consumer[Symbol.asyncIterator]();
  const out: Delivery[] = [];
  for (let i = 0; i < 3; i++) out.push((await iterator.next()).value as Delivery);
  await clock.advance(1_500);
  await out[1]?.nak(5_000);
  const settled = [out[0]?.ack(), out[2]?.nak(6_000)];
  let again: unknown;
  const next = iterator.next().then(({ value }) => {
    again = value;
  });
  await Promise.all(settled);
  await clock.advance(4_000);
  t.equal(again, undefined, 'neither an acknowledged nor a postponed message is redelivered');
  await clock.advance(1_500);
  t.match(again, { sequence: 2, deliveryCount: 2 });
  await stream.close();
  await next;
});

test('a view into a larger buffer is stored with its own bytes only', async (t) => {
  const stream = openEmbeddedStream({
    storage: `${t.testdir({})}/a.db`,
    clock: new VirtualClock(1_000),
  });
  await stream.ensure(LOG);
  for (const buffer of [new ArrayBuffer(100), new SharedArrayBuffer(100)]) {
    new Uint8Array(buffer).fill(120);
    const data = new Uint8Array(buffer, 10, 5);
    data.set([104, 101, 108, 108, 111]);
    await stream.append({ stream: 'LOG', subject: 'log.a', data });
  }
  t.same(await texts(stream), ['hello', 'hello']);
  await stream.close();
});

test('a live reader receives what the file holds, whoever appended or removed it', async (t) => {
  const storage = `${t.testdir({})}/a.db`;
  const clock = new VirtualClock(1_000);
  const [stream, other] = [
    openEmbeddedStream({ storage, clock }),
    openEmbeddedStream({ storage, clock }),
  ];
  await stream.ensure(LOG);
  const write = (by: Stream, text: string) =>
    by.append({ stream: 'LOG', subject: 'log.a', data: Buffer.from(text), messageId: text });
  const live = stream.read({ stream: 'LOG', from: { sequence: 1 }, untilEnd: false });
  const messages = live[Symbol.asyncIterator]();
  const next = async () => {
    const { sequence, messageId, data, timeMs, subject } = (await messages.next()).value ?? {};
    return `${sequence} ${subject} ${timeMs} ${messageId} ${Buffer.from(data ?? []).toString()}`;
  };
  await write(stream, 'one');
  t.equal(await next(), '1 log.a 1000 one one');
  await write(other, 'two');
  await write(stream, 'three');
  t.equal(await next(), '2 log.a 1000 two two', 'of another connection');
  t.equal(await next(), '3 log.a 1000 three three');
  const wrong = { stream: 'LOG', subject: 'log.a', data: 'text' as unknown as Uint8Array };
  const outcomes = await Promise.allSettled([write(stream, 'four'), stream.append(wrong)]);
  t.match(outcomes, [{ value: { sequence: 4 } }, { status: 'rejected' }]);
  await write(stream, 'five');
  t.equal(await next(), '4 log.a 1000 four four', 'after a rollback');
  t.equal(await next(), '5 log.a 1000 five five');
  for (const text of ['six', 'seven', 'eight']) await write(stream, text);
  await stream.truncate({ stream: 'LOG', belowSequence: 7 });
  t.equal(await next(), '7 log.a 1000 seven seven', 'after a removal');
  t.equal(await next(), '8 log.a 1000 eight eight');
  for (let i = 9; i < 200; i++) await write(stream, `${i}`);
  t.same(await texts(stream), [
    'seven',
    'eight',
    ...Array.from({ length: 191 }, (_, i) => `${i + 9}`),
  ]);
  for (let i = 9; i < 200; i++) t.equal(await next(), `${i} log.a 1000 ${i} ${i}`);
  await live.close();
  await other.close();
  await stream.close();
});

test('a live reader receives the message that replaced a rolled back one', async (t) => {
  const path = `${t.testdir({})}/a.db`;
  const clock = new VirtualClock(1_000);
  const connection = openDatabase({ path, synchronous: 'FULL', migrations: [] });
  const stream = openEmbeddedStream({ storage: connection, clock });
  await stream.ensure(LOG);
  const other = openEmbeddedStream({ storage: path, clock });
  const write = (by: Stream, text: string) =>
    by.append({ stream: 'LOG', subject: 'log.a', data: Buffer.from(text) });
  const live = stream.read({ stream: 'LOG', from: { sequence: 1 }, untilEnd: false });
  const messages = live[Symbol.asyncIterator]();
  const next = async () => {
    const { sequence, data } = (await messages.next()).value ?? {};
    return `${sequence} ${Buffer.from(data ?? []).toString()}`;
  };
  await write(stream, 'one');
  t.equal(await next(), '1 one');
  connection.pragma('max_page_count = 60');
  const outcomes = await Promise.allSettled([write(stream, 'two'), append(stream, 1_000_000)]);
  t.same(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
    'the disk is full, and both share a transaction',
  );
  connection.pragma('max_page_count = 100000');
  t.match(await write(other, 'two of the other'), { sequence: 2 });
  t.match(await write(stream, 'three'), { sequence: 3 });
  t.equal(await next(), '2 two of the other');
  t.equal(await next(), '3 three');
  await live.close();
  await other.close();
  await stream.close();
  connection.close();
});

/** A file system of 2 MiB, or the problem that prevents it. Mounting needs root. */
function mountSmallDisk(): { folder: string; problem?: string } {
  const folder = mkdtempSync(`${tmpdir()}/small-disk-`);
  const mount = spawnSync('/bin/mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]);
  return mount.status === 0 ? { folder } : { folder, problem: 'mounting a small disk needs root' };
}

const { folder, problem } = mountSmallDisk();
t.teardown(() => {
  if (problem === undefined) spawnSync('/bin/umount', [folder]);
  rmdirSync(folder);
});
test(
  'DUR-09: a full disk rejects appends and keeps acknowledged ones',
  problem === undefined || process.env.SVC_TEST_REQUIRE === 'all' ? {} : { skip: problem },
  async (t) => {
    const clock = new VirtualClock(1_000);
    const stream = openEmbeddedStream({ storage: `${folder}/a.db`, clock });
    await stream.ensure(LOG);
    let acknowledged = 0;
    const fill = async () => {
      for (;;) acknowledged = ((await append(stream, 20_000)) as { sequence: number }).sequence;
    };
    await t.rejects(fill(), { name: 'StreamUnavailable', message: /disk is full/ });
    t.ok(acknowledged > 10, `${acknowledged} fitted`);
    t.equal(stream.health().state, 'unavailable');
    const { lastSequence, messages } = await stream.state('LOG');
    t.same({ lastSequence, messages }, { lastSequence: acknowledged, messages: acknowledged });
    t.equal((await texts(stream)).length, acknowledged);
    spawnSync('/bin/mount', ['-o', 'remount,size=8m', folder]);
    t.match(await append(stream, 20_000), { sequence: acknowledged + 1 });
    t.equal(stream.health().state, 'available');
    await stream.close();
  },
);

test('DUR-09: a writer killed at any moment neither loses nor duplicates acknowledged appends', async (t) => {
  const storage = `${t.testdir({})}/a.db`;
  const writer = fileURLToPath(new URL('../support/embedded-stream-writer.ts', import.meta.url));
  const acknowledged: string[] = [];
  for (let round = 0; round < 6; round++) {
    const child = spawn(process.execPath, [writer, storage, String(round)]);
    let output = '';
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint += chunk.toString();
    });
    const target = 40 + round * 57;
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.split('\n').length > target) child.kill('SIGKILL');
    });
    await new Promise((resolve) => child.once('close', resolve));
    t.equal(complaint, '');
    acknowledged.push(...output.split('\n').slice(0, -1));
  }
  const stream = openEmbeddedStream({ storage, clock: systemClock });
  const stored = await texts(stream);
  t.equal(new Set(stored).size, stored.length, 'nothing twice');
  const kept = new Set(stored);
  t.same(
    acknowledged.filter((id) => !kept.has(id)),
    [],
    `all of ${acknowledged.length} are there`,
  );
  t.ok(acknowledged.length > 1_000);
  const state = await stream.state('LOG');
  t.same([state.messages, state.lastSequence], [stored.length, stored.length]);
  await stream.close();
  const database = new Database(storage, { readonly: true });
  t.equal(database.pragma('integrity_check', { simple: true }), 'ok');
  database.close();
});

test('DUR-28: messages and ids follow a clock that was set back', async (t) => {
  const HOUR_MS = 3_600_000;
  const startMs = 1_700_000_000_000;
  const clock = new VirtualClock(startMs);
  const stream = openEmbeddedStream({ storage: `${t.testdir({})}/a.db`, clock });
  t.teardown(() => stream.close());
  await stream.ensure({ ...LOG, maxAgeMs: 2 * HOUR_MS });
  await append(stream);
  clock.jump(30_000);
  await append(stream);
  clock.jump(HOUR_MS);
  await append(stream, 100, 'ahead');
  clock.jump(-HOUR_MS);
  t.match(await append(stream, 100, 'ahead'), { kind: 'duplicate' }, 'a resend is recognised');
  await append(stream);
  clock.jump(10_000);
  await append(stream);
  const read = async (timeMs: number): Promise<number[]> => {
    const found: number[] = [];
    const messages = stream.read({ stream: 'LOG', from: { timeMs }, untilEnd: true });
    for await (const { sequence } of messages) found.push(sequence);
    return found;
  };
  const times: number[] = [];
  for await (const { timeMs } of stream.read({
    stream: 'LOG',
    from: { sequence: 1 },
    untilEnd: true,
  })) {
    times.push(timeMs - startMs);
  }
  t.same(times, [0, 30_000, 30_000 + HOUR_MS, 30_000, 40_000]);
  t.same(await read(startMs + 1), [2, 3, 4, 5]);
  const late = await read(startMs + 35_000);
  t.ok(late.includes(5), 'nothing of the present is left out');
  clock.jump(60_000);
  t.match(await append(stream, 100, 'ahead'), { kind: 'appended' }, 'its window is over');
});
