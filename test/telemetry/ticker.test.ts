/** Ticks: one per 15 s for every partition that has a project, and none added afterwards. */
import { test } from 'tap';
import { appendEntry, pastEntries, pastMarkers } from '../../actors/telemetry/sample-log.ts';
import { TICK_MS, tick } from '../../actors/telemetry/ticker.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { partitionOf, type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import { openAlertingWorld, START_MS } from '../support/alerting-on-host.ts';
import { submit } from '../support/submit.ts';

test('partitions with a project are ticked, but not the system’s; lost ticks are not repeated', async (t) => {
  const world = await openAlertingWorld(t);
  const ticks = async () => {
    const found: string[] = [];
    for await (const { entry, partition } of pastEntries(world.stream, { sequence: 1 })) {
      if (entry.kind === 'tick') found.push(`${partition} @ ${(entry.atMs - START_MS) / 1000}`);
    }
    return found;
  };
  const projects = ['demo', 'other'];
  t.not(partitionOf('demo'), partitionOf('other'));
  for (const project of projects) await world.saveRule({}, { project });
  await submit(
    world.host,
    { project: '_system' },
    (draft) => void draft.putRecord({ kind: 'note', id: '1', body: {} }),
  );
  let lost = 0;
  const stop = world.run((signal) => tick({ ...world, onLost: () => lost++ }, signal));
  await world.pass(TICK_MS);
  const at = (second: number) => projects.map((each) => `${partitionOf(each)} @ ${second}`);
  t.same((await ticks()).sort(), [...at(0), ...at(15)].sort());
  world.faults.append = () => 'refused';
  await world.pass(TICK_MS);
  world.faults.append = () => undefined;
  await world.pass(TICK_MS);
  t.same((await ticks()).slice(4).sort(), at(45).sort());
  t.equal(lost, 2, 'each lost one is reported');
  await stop();
  await world.pass(TICK_MS);
  t.equal((await ticks()).length, 6);
});

test('a member ticks its shares at once, and first announces that an epoch begins', async (t) => {
  const world = await openAlertingWorld(t);
  for (const project of ['demo', 'other']) await world.saveRule({}, { project });
  const [demo, other] = [partitionOf('demo'), partitionOf('other')];
  const epochs = new Map([[demo, 3]]);
  const listeners = new Set<() => void>();
  const ownership = {
    ...soleOwner,
    epochOf: (partition: number) => epochs.get(partition),
    onChange(listener: () => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const written = async () => {
    const found: string[] = [];
    for await (const { entry, partition } of pastEntries(world.stream, { sequence: 1 })) {
      const { epoch = 0 } = entry.kind === 'batch' ? {} : entry;
      found.push(`${entry.kind} of ${partition === demo ? 'demo' : 'other'} under ${epoch}`);
    }
    return found;
  };
  const stop = world.run((signal) => tick({ ...world, ownership }, signal));
  await world.pass(0);
  t.same(await written(), ['rules of demo under 3', 'tick of demo under 3']);
  epochs.delete(demo);
  epochs.set(other, 8);
  for (const listener of listeners) listener();
  await world.pass(0);
  t.same((await written()).slice(2), ['rules of other under 8', 'tick of other under 8']);
  await world.pass(TICK_MS);
  t.same((await written()).slice(4), ['tick of other under 8'], 'once for each epoch');
  await stop();
  t.equal(listeners.size, 0);
  // A marker of the previous member, which was still on its way.
  const late = { kind: 'rules', atMs: START_MS, upserts: [], removals: [] } as const;
  await appendEntry(world.stream, other, { ...late, epoch: 7 });
  await appendEntry(world.stream, other, { ...late, epoch: 8 });
  const kept: unknown[] = [];
  for await (const { epoch } of pastMarkers(world.stream)) kept.push(epoch);
  t.same(kept, [3, 8, 8], 'a reader of markers alone leaves it out, too');
});

test('an interrupted read of the log resumes at its position, unless it makes no progress', async (t) => {
  const { stream } = await openAlertingWorld(t);
  for (let i = 1; i <= 5; i++) await appendEntry(stream, 7, { kind: 'tick', atMs: i });
  let reads = 0;
  /** Interrupts each read after this many messages. */
  const brokenAfter = (count: number): Stream => ({
    ...stream,
    read: (options) => ({
      async *[Symbol.asyncIterator]() {
        reads++;
        let left = count;
        for await (const message of stream.read(options)) {
          if (left-- === 0) throw new StreamUnavailable('The read broke off', 'unknown');
          yield message;
        }
      },
      close: async () => {},
    }),
  });
  const times: number[] = [];
  for await (const { entry } of pastEntries(brokenAfter(2), { timeMs: 0 }, { partition: 7 })) {
    if (entry.kind === 'tick') times.push(entry.atMs);
  }
  t.same(times, [1, 2, 3, 4, 5], 'each entry once, in order');
  t.equal(reads, 3);
  const stuck = pastEntries(brokenAfter(0), { sequence: 1 });
  await t.rejects(stuck.next(), StreamUnavailable);
  t.equal(reads, 3 + 4, 'it is not retried for ever');
});

test('a partition that a member gets while it ticks others is ticked at once, too', async (t) => {
  const world = await openAlertingWorld(t);
  for (const project of ['demo', 'other']) await world.saveRule({}, { project });
  const [demo, other] = [partitionOf('demo'), partitionOf('other')];
  const epochs = new Map([[demo, 3]]);
  let listener = () => {};
  const ownership = {
    ...soleOwner,
    epochOf: (partition: number) => epochs.get(partition),
    onChange(changed: () => void) {
      listener = changed;
      return () => {};
    },
  };
  // The next lease arrives between the beginning of a round and its end.
  const stream: Stream = {
    ...world.stream,
    append: async (append) => {
      await Promise.resolve();
      if (!epochs.has(other)) {
        epochs.set(other, 8);
        listener();
      }
      return world.stream.append(append);
    },
  };
  const stop = world.run((signal) => tick({ ...world, stream, ownership }, signal));
  await world.pass(0);
  const ticked = new Set<number>();
  for await (const { entry, partition } of pastEntries(world.stream, { sequence: 1 })) {
    if (entry.kind === 'tick') ticked.add(partition);
  }
  t.ok(ticked.has(other), 'it does not wait for the next round');
  await stop();
});
