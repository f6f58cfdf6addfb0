/**
 * Snapshots of the projection: a joining member gets the state of the others on every kind of
 * stream, and a snapshot that EVENTS cannot continue is never used. A member is a store in a file
 * and a host, on one stream with the member that wrote the snapshot.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { newerFormats, newerShares, programFormats } from '../../actors/platform/host/formats.ts';
import { SnapshotKeeper } from '../../actors/platform/snapshots.ts';
import {
  PROJECTION_SCHEMA,
  storedPosition,
  takeControlSnapshot,
} from '../../sqlite/platform/backup/control-snapshot.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { silentLog } from '../../src/platform/log.ts';
import { joinFromSnapshot } from '../../src/service/joining.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { EVENTS_STREAM } from '../../streams/platform/commit/events.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import {
  newestSnapshot,
  readSnapshot,
  SNAPSHOTS_STREAM,
  type SnapshotFacts,
  snapshotsStream,
  unusable,
  writeSnapshot,
} from '../../streams/platform/snapshots.ts';
import { partitionOf, type Stream } from '../../streams/platform/stream.ts';
import { componentPath, needs } from '../support/components.ts';
import { counter } from '../support/counter-machine.ts';
import {
  add,
  type CountingNode,
  countingNode,
  openPlace,
  projectionOf,
} from '../support/counting-node.ts';
import { natsServerFor, natsServerVersions } from '../support/nats-server.ts';

interface Member extends CountingNode {
  readonly controlPath: string;
  keeper(clock?: VirtualClock): SnapshotKeeper;
  stop(): Promise<void>;
}

/** Joins and starts a member, which ends with the test. */
async function startMember(t: Test, stream: Stream, folder: string): Promise<Member> {
  const controlPath = join(folder, 'control.db');
  await joinFromSnapshot({ stream, controlPath, log: silentLog });
  const place = openPlace(controlPath);
  const node = countingNode({ stream, place, name: folder });
  await node.host.start();
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await node.close();
    place.database.close();
  };
  t.teardown(stop);
  const keeper = (clock?: VirtualClock) =>
    new SnapshotKeeper({
      stream,
      clock: clock ?? systemClock,
      random: systemRandom,
      ownership: soleOwner,
      source: {
        schema: PROJECTION_SCHEMA,
        take: (signal) => takeControlSnapshot({ controlPath, clock: systemClock, signal }),
      },
      node: 'node-test',
      appliedSequence: () => node.host.appliedSequence(),
    });
  return { ...node, controlPath, keeper, stop };
}

const signal = AbortSignal.timeout(180_000);

async function joining(t: Test, stream: Stream) {
  const folder = t.testdir({ first: {}, second: {}, third: {} });
  const first = await startMember(t, stream, join(folder, 'first'));
  for (let i = 0; i < 20; i++) await add(first.host, 'demo', `counter-${i}`);
  const old = await startMember(t, stream, join(folder, 'third'));
  await old.stop();
  const written = await first.keeper().write(signal);
  if (written === 'superseded') throw new Error('There is no other writer');
  t.equal(written.position.applied, 20);
  t.match(written.machineVersions, { delivery: Number });
  await add(first.host, 'demo', 'counter-0');
  await stream.truncate({ stream: EVENTS_STREAM, belowSequence: 21 });

  const second = await startMember(t, stream, join(folder, 'second'));
  t.equal(
    projectionOf(second.database),
    projectionOf(first.database),
    'it has the state of the first',
  );
  t.match(await add(second.host, 'demo', 'counter-1'), { answer: { count: 2 } }, 'and continues');

  await add(first.host, 'demo', 'counter-2');
  const again = await first.keeper().write(signal);
  t.not(again === 'superseded' ? '' : again.id, written.id);
  const { messages } = await stream.state(SNAPSHOTS_STREAM);
  t.equal(messages, (again === 'superseded' ? 0 : again.chunks) + 1, 'the older one is removed');
  await stream.truncate({ stream: EVENTS_STREAM, belowSequence: 23 });

  const third = await startMember(t, stream, join(folder, 'third'));
  t.equal(projectionOf(third.database), projectionOf(first.database), 'away for too long, rebuilt');
  const aside = storedPosition(`${third.controlPath}.before-snapshot`);
  t.ok(aside && aside.applied === 20, 'its old state is set aside');
  t.same(
    readdirSync(join(folder, 'first')).filter((name) => !/^control\.db(-wal|-shm)?$/.test(name)),
    [],
    'no temporary file remains',
  );
}

test('DUR-19: members join by a snapshot on embedded streams', async (t) => {
  const stream = openEmbeddedStream({ storage: ':memory:', clock: systemClock });
  t.teardown(() => stream.close());
  await joining(t, stream);
});

for (const version of natsServerVersions) {
  test(`DUR-19: members join by a snapshot on ${version}`, needs(version), async (t) => {
    const program = componentPath(version);
    const server = await natsServerFor(t, { program });
    const stream = await openJetStream({ url: server.url, clock: systemClock });
    t.teardown(() => stream.close());
    await t.test('joining', (t) => joining(t, stream));
  });
}

/** A stream with a member that has written a snapshot at 2, with EVENTS up to 3. */
async function snapshotAt2(t: Test) {
  const stream = openEmbeddedStream({ storage: ':memory:', clock: systemClock });
  t.teardown(() => stream.close());
  const folder = t.testdir({ first: {}, second: {} });
  const first = await startMember(t, stream, join(folder, 'first'));
  for (const id of ['a', 'b']) await add(first.host, 'demo', id);
  const manifest = await first.keeper().write(signal);
  if (manifest === 'superseded') throw new Error('There is no other writer');
  await add(first.host, 'demo', 'c');
  const second = join(folder, 'second');
  const join2 = () =>
    joinFromSnapshot({ stream, controlPath: join(second, 'control.db'), log: silentLog });
  return { stream, first, manifest, second, join: join2 };
}

/** Replaces the newest manifest. */
async function replaceManifest(stream: Stream, manifest: object): Promise<void> {
  await stream.append({
    stream: SNAPSHOTS_STREAM,
    subject: 'svc.snapshots.latest',
    data: new TextEncoder().encode(JSON.stringify(manifest)),
  });
}

test('DUR-19: a snapshot without its tail is never used', async (t) => {
  const { stream, second, join: joinIt } = await snapshotAt2(t);
  await stream.truncate({ stream: EVENTS_STREAM, belowSequence: 4 });
  await t.rejects(joinIt(), {
    kind: 'behind',
    message: /ends at 2, and EVENTS begins at 4: its tail is gone: run "svc admin snapshot"/,
  });
  t.same(readdirSync(second), [], 'nothing was created');
});

test('without a snapshot the error names the command that helps', async (t) => {
  const { stream, manifest, join: joinIt } = await snapshotAt2(t);
  await stream.truncate({ stream: EVENTS_STREAM, belowSequence: 2 });
  const belowSequence = manifest.firstSequence + 10;
  await stream.truncate({ stream: SNAPSHOTS_STREAM, belowSequence });
  await t.rejects(joinIt(), {
    message: /there is no snapshot: run "svc admin snapshot" on a running member/,
  });
});

test('DUR-19: a snapshot that differs from its manifest is rejected and leaves nothing behind', async (t) => {
  const { stream, manifest, second, join: joinIt } = await snapshotAt2(t);
  await stream.truncate({ stream: EVENTS_STREAM, belowSequence: 2 });
  const cases: [string, object, RegExp][] = [
    ['digest', { sha256: '0'.repeat(64) }, /its SHA-256 differs/],
    ['chunks', { chunks: manifest.chunks + 1 }, /has 1 of 2 chunks: it was replaced/],
    ['position', { position: { ...manifest.position, applied: 1 } }, /but the file in it is at 2/],
    ['hash', { position: { ...manifest.position, hash: 'x' } }, /but the file in it is at 2/],
  ];
  for (const [name, changed, message] of cases) {
    await replaceManifest(stream, { ...manifest, ...changed });
    await t.rejects(joinIt(), { name: 'SnapshotBroken', message }, name);
    t.same(readdirSync(second), [], name);
  }
});

test('DUR-19: a snapshot of another cluster or of a newer program is not used', async (t) => {
  const { stream, manifest, second, join: joinIt } = await snapshotAt2(t);
  await stream.truncate({ stream: EVENTS_STREAM, belowSequence: 2 });
  const { position } = manifest;
  const cases: [object, RegExp][] = [
    [{ position: { ...position, identity: 'other' } }, /was made from another EVENTS \(other/],
    [{ position: { ...position, applied: 9 } }, /and EVENTS at 3: EVENTS lost its end/],
    [{ commitFormat: 99 }, /written by a newer program \(commits of format 99\)/],
    [{ machineVersions: { delivery: 99 } }, /newer program \(machine delivery 99\)/],
    [{ schema: 99 }, /newer program \(schema 99 of control\.db\)/],
  ];
  for (const [changed, message] of cases) {
    await replaceManifest(stream, { ...manifest, ...changed });
    await t.rejects(joinIt(), { kind: 'behind', message });
    t.same(readdirSync(second), []);
  }
});

test('if EVENTS is complete, a member joins despite an unusable snapshot', async (t) => {
  const { stream, manifest, first, second } = await snapshotAt2(t);
  await replaceManifest(stream, { ...manifest, commitFormat: 99 });
  const member = await startMember(t, stream, second);
  t.equal(projectionOf(member.database), projectionOf(first.database));
});

test('DUR-19: one of two concurrent writers wins, and the other leaves nothing readable', async (t) => {
  const stream = openEmbeddedStream({ storage: ':memory:', clock: systemClock });
  t.teardown(() => stream.close());
  const facts = (id: string): SnapshotFacts => ({
    id,
    createdMs: 1,
    writer: 'node',
    schema: 1,
    bytes: 3,
    commitFormat: 1,
    machineVersions: {},
    position: { identity: 'i', applied: 1, hash: 'h' },
  });
  const fast = async function* () {
    yield Buffer.alloc(300 * 1024, 2);
  };
  const slow = async function* () {
    yield Buffer.alloc(300 * 1024, 1);
    await writeSnapshot(stream, facts('fast'), fast());
  };
  t.equal(await writeSnapshot(stream, facts('slow'), slow()), 'superseded');
  const newest = await newestSnapshot(stream);
  t.match(newest, { id: 'fast', chunks: 2, compressedBytes: 300 * 1024 });
  if (newest === undefined) throw new Error('No snapshot');
  const parts: Buffer[] = [];
  for await (const part of readSnapshot(stream, newest)) parts.push(Buffer.from(part));
  t.ok(Buffer.concat(parts).equals(Buffer.alloc(300 * 1024, 2)), 'complete and in order');
  const gone = { ...newest, id: 'slow' };
  await t.rejects(
    async () => {
      for await (const _ of readSnapshot(stream, gone));
    },
    { name: 'SnapshotBroken' },
  );
});

test('only the owner writes snapshots, daily and after many commits', async (t) => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const stream = openEmbeddedStream({ storage: ':memory:', clock });
  t.teardown(() => stream.close());
  await stream.ensure(snapshotsStream());
  let [applied, taken, owned] = [1, 0, false];
  const keeper = new SnapshotKeeper({
    stream,
    clock,
    random: systemRandom,
    node: 'node',
    ownership: { owns: () => owned },
    appliedSequence: () => applied,
    source: {
      schema: 1,
      take: async () => {
        taken++;
        return {
          position: { identity: 'i', applied, hash: 'h' },
          bytes: 1,
          content: async function* () {
            yield new Uint8Array(1);
          },
          discard: () => {},
        };
      },
    },
  });
  const end = new AbortController();
  const running = keeper.run(end.signal);
  const after = async (ms: number) => {
    for (let left = ms; left > 0; left -= 60_000) {
      await turns();
      await clock.advance(60_000);
    }
    await turns();
    return taken;
  };
  t.equal(await after(120_000), 0, 'not without ownership');
  owned = true;
  t.equal(await after(120_000), 1, 'the first at once');
  applied = 9_000;
  t.equal(await after(600_000), 1);
  applied = 10_001;
  t.equal(await after(60_000), 2, 'after 10,000 commits');
  applied++;
  t.equal(await after(23 * 3_600_000), 2);
  t.equal(await after(2 * 3_600_000), 3, 'after a day');
  t.equal(await after(48 * 3_600_000), 3, 'no snapshot without new commits');
  end.abort();
  await running;
});

async function turns(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

test('DUR-21: a member detects formats and rows too new for it', async (t) => {
  t.ok(programFormats().commitFormat >= 1);
  const ours = { commitFormat: 1, machineVersions: { counter: counter.version } };
  t.same(newerFormats(ours, ours), []);
  t.same(newerFormats({ commitFormat: 2, machineVersions: { counter: 99, odd: 1 } }, ours), [
    'commits of format 2',
    'machine counter 99',
    'machine odd 1',
  ]);
  const stream = openEmbeddedStream({ storage: ':memory:', clock: systemClock });
  t.teardown(() => stream.close());
  const newer = { ...counter, version: counter.version + 1 };
  const node = countingNode({ stream, machine: newer });
  t.teardown(() => node.close());
  await node.host.start();
  await add(node.host, 'demo', 'a');
  const partition = partitionOf('demo');
  t.same([...newerShares(node.store, ours)], [partition], 'too new in one partition only');
  const theirs = { ...ours, machineVersions: { counter: newer.version } };
  t.equal(newerShares(node.store, theirs).size, 0, 'new enough');
});

test('reasons why a snapshot cannot be continued', async (t) => {
  const events = { identity: 'i', firstSequence: 5, lastSequence: 9 };
  const at = (applied: number, identity = 'i') =>
    unusable({ id: 'x', position: { identity, applied, hash: '' } }, events);
  t.equal(at(4), undefined, 'its successor is the first commit that is kept');
  t.equal(at(9), undefined);
  t.match(at(3), /its tail is gone/);
  t.match(at(10), /lost its end/);
  t.match(at(5, 'j'), /another EVENTS/);
});
