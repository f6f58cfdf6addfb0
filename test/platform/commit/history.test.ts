/**
 * A node and a stream with different histories: the stream was recreated, was shortened by a power
 * loss, or holds messages that the node cannot read.
 */
import { test } from 'tap';
import { encodeCommit, encodeDecision } from '../../../streams/platform/commit/codec.ts';
import { eventsSubject } from '../../../streams/platform/commit/events.ts';
import {
  add,
  type CountingNode,
  countingNode,
  openPlace,
  tester,
} from '../../support/counting-node.ts';
import { FaultyLog } from '../../support/faulty-stream.ts';

async function started(log: FaultyLog, place = openPlace(), name = 'node'): Promise<CountingNode> {
  const node = countingNode({ stream: log.connect(), place, name });
  await node.host.start();
  return node;
}

/** Yields to the event loop until `done` returns true. */
async function until(done: () => boolean): Promise<void> {
  for (let turns = 0; !done(); turns++) {
    if (turns > 10_000) throw new Error('The condition did not become true');
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('DUR-04: a restarted node continues from its position, even on an emptied stream', async (t) => {
  const log = new FaultyLog();
  const place = openPlace();
  const before = await started(log, place);
  await add(before.host, 'demo', 'a');
  await add(before.host, 'other', 'b');
  await before.host.stop();
  log.truncate(3);
  const after = await started(log, place);
  t.teardown(() => after.close());
  t.match(await add(after.host, 'demo', 'a'), { answer: { count: 2 }, sequence: 3 });
  t.equal(
    after.host.counters().appendRetries,
    1,
    'one retry, with expected sequence 0 for the emptied subject',
  );
});

test('DUR-05: a node rejects a stream that was recreated, shortened, or truncated past its position', async (t) => {
  const cases: [string, (log: FaultyLog) => void, string][] = [
    ['recreated', (log) => Object.assign(log, { identity: 'second' }), 'otherStream'],
    ['shortened', (log) => log.shorten(1), 'ahead'],
    ['cut', (log) => log.truncate(4), 'behind'],
  ];
  for (const [name, change, kind] of cases) {
    const log = new FaultyLog();
    const writer = await started(log);
    const place = openPlace();
    const node = await started(log, place);
    await add(writer.host, 'demo', 'a');
    await add(writer.host, 'demo', 'a');
    await until(() => node.host.appliedSequence() === 2);
    await node.host.stop();
    await add(writer.host, 'demo', 'a');
    await add(writer.host, 'demo', 'a');
    await writer.host.stop();
    change(log);
    const again = countingNode({ stream: log.connect(), place });
    await t.rejects(again.host.start(), { name: 'HistoryMismatch', kind }, name);
    t.equal(again.host.health().state, 'stopped');
    await again.close();
  }
});

test('a shortened stream with new messages is detected at the next start', async (t) => {
  const log = new FaultyLog();
  const place = openPlace();
  const lost = await started(log, place);
  await add(lost.host, 'demo', 'a');
  await lost.host.stop();
  log.shorten(0);
  const other = await started(log, openPlace(), 'other');
  t.teardown(() => other.close());
  await add(other.host, 'demo', 'b');
  const again = countingNode({ stream: log.connect(), place });
  t.teardown(() => again.close());
  await t.rejects(again.host.start(), { name: 'HistoryMismatch', kind: 'diverged' });
});

test('DUR-05: a running node stops when its stream contradicts it', async (t) => {
  const log = new FaultyLog();
  const lost = await started(log, openPlace(), 'lost');
  await add(lost.host, 'demo', 'a');
  log.shorten(0);
  const right = await started(log, openPlace(), 'right');
  t.teardown(async () => {
    await right.close();
    await lost.close();
  });
  await add(right.host, 'demo', 'b');
  // The lost node has not noticed, and writes after commits that only it has applied.
  await add(lost.host, 'demo', 'a');
  await until(() => right.host.appliedSequence() === 2);
  t.equal(right.host.counters().foreign, 1);
  t.match(await add(right.host, 'demo', 'b'), { answer: { count: 2 } });
  await until(() => lost.host.health().state === 'stopped');
  t.match(lost.host.health(), { reason: /another commit at 1/ });
  await t.rejects(add(lost.host, 'demo', 'a'), { name: 'Refusal', reason: 'NOT_READY' });
  t.equal(right.host.health().state, 'ready');
});

test('a commit of a newer format, or damage, makes a node unready', async (t) => {
  const about = { id: 'x', project: 'demo', number: 1, predecessor: '', at: 1, writer: 'new' };
  const decision = encodeDecision({ by: tester, steps: [], records: [] });
  const fine = Buffer.from(encodeCommit(about, [decision]).bytes).toString();
  const cases: [string, RegExp][] = [
    [fine.replace('"format":1', '"format":2'), /newer program/],
    [fine.replace('"steps"', '"stops"'), /not what was committed/],
    [fine.replace('"demo"', '"other"'), /is on svc/],
  ];
  for (const [text, reason] of cases) {
    const log = new FaultyLog();
    const node = await started(log);
    const subject = eventsSubject('demo');
    const waiting = node.host.waitFor(1, AbortSignal.timeout(180_000));
    log.store({ stream: 'EVENTS', subject, data: Buffer.from(text) }, false);
    await t.rejects(waiting);
    t.match(node.host.health(), { state: 'stopped', reason });
    await t.rejects(add(node.host, 'demo', 'a'), { name: 'Refusal', reason: 'NOT_READY' });
    t.equal(node.host.appliedSequence(), 0);
    await node.close();
  }
});

test('a node applies a commit of the next version with unknown fields and continues from it', async (t) => {
  const log = new FaultyLog();
  const node = await started(log);
  t.teardown(() => node.close());
  const about = { id: 'x', project: 'demo', number: 1, predecessor: '', at: 1, writer: 'new' };
  const decision = {
    by: { ...tester, tenant: 'north' },
    steps: [],
    records: [{ kind: 'note', id: 'n', body: { text: 'hi' }, labels: ['new'] }],
    reason: 'because',
  };
  const { bytes } = encodeCommit(about, [encodeDecision(decision)]);
  const newer = Buffer.from(bytes).toString().replace('"writer"', '"region":"north","writer"');
  log.store({ stream: 'EVENTS', subject: eventsSubject('demo'), data: Buffer.from(newer) }, false);
  await node.host.waitFor(1, AbortSignal.timeout(180_000));
  t.match(node.host.view('demo').record('note', 'n'), { body: { text: 'hi' } });
  t.match(await add(node.host, 'demo', 'a'), { sequence: 2 }, 'its successor links to its hash');
});
