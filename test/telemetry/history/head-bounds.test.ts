/**
 * Memory of the head. Rows that leave the head free their memory, no project takes another's share,
 * and rows that do not fit cause an error until they are read from the log.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { test } from 'tap';
import { ColumnView } from '../../../sqlite/telemetry/history/columns/column-view.ts';
import { Head } from '../../../sqlite/telemetry/history/head/head.ts';
import { HeadReader } from '../../../sqlite/telemetry/history/head/head-reader.ts';
import { HistoryView } from '../../../sqlite/telemetry/history/store/history-view.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { BatchBuilder, type Row } from '../../../streams/telemetry/samples/batch.ts';
import { DAY, HOUR, openStore, PARTITION, START } from '../../support/history-from-log.ts';
import type { TextReport } from '../../support/text-hammer.ts';
import { tries } from '../../support/tries.ts';

const MIB = 2 ** 20;

function row(change: Partial<Row> & { readonly observedMs: number }): Row {
  return {
    project: 'demo',
    vm: 'vm',
    sequence: 1,
    boot: '',
    vcpus: 2,
    state: 1,
    stateReason: '',
    series: ['x'],
    values: [1],
    ...change,
  };
}

function batchOf(rows: readonly Row[], receivedMs = START) {
  const builder = new BatchBuilder();
  for (const one of rows) builder.add(one);
  return builder.build(receivedMs);
}

/** Marks all of a head's rows as stored in chunks. */
function flushed(head: Head, sequence: number): void {
  const vms = head.pending();
  head.beginFlush(vms);
  for (const vm of vms) {
    head.endFlush(vm, sequence);
    vm.slab.dropFlushed();
  }
}

test('texts that leave the head free their memory, whatever their content', async (t) => {
  const head = new Head({ flushedSequenceOf: () => 0 });
  let used = 0;
  for (let round = 0; round < 60; round++) {
    for (let i = 1; i <= 200; i++) {
      const sequence = round * 200 + i;
      const texts = {
        boot: `boot ${sequence} ${'x'.repeat(sequence % 190)}`,
        stateReason: `why ${i}`,
      };
      const series = [`x{n="${round}"}`, 'y'];
      const one = row({ observedMs: sequence, ...texts, series, values: [1, 2] });
      head.append(batchOf([one]), { partition: 1, sequence });
    }
    flushed(head, (round + 1) * 200);
    if (round === 9) used = head.bytes.reserved;
  }
  t.equal(
    head.bytes.reserved,
    used,
    `constant from the tenth round to the sixtieth: ${used} bytes`,
  );
  const reader = new HeadReader(head.share);
  const place = reader.find('demo', 'vm');
  t.ok(place);
  if (place === undefined) return;
  const { boot, strings } = reader.read(place).rows;
  t.match(strings[boot.at(-1) ?? 0], /^boot 12000 /);
  head.release(Infinity);
  t.equal(head.bytes.used, 0, 'a VM that left holds no memory');
  t.equal(reader.find('demo', 'vm'), undefined);
  t.same(
    reader.read(place).rows.timesMs.length,
    0,
    'and a reader that remembers its slot does not read it',
  );
});

test('an entry that another VM reuses is not read as the previous one', async (t) => {
  const head = new Head({ flushedSequenceOf: () => 0 });
  const reader = new HeadReader(head.share);
  head.append(batchOf([row({ observedMs: 1, project: 'a', vm: 'v' })]), {
    partition: 1,
    sequence: 1,
  });
  const before = reader.find('a', 'v');
  flushed(head, 1);
  head.release(Infinity);
  head.append(batchOf([row({ observedMs: 2, project: 'b', vm: 'v' })]), {
    partition: 1,
    sequence: 2,
  });
  const after = reader.find('b', 'v');
  t.equal(before?.slot, after?.slot, 'the same entry');
  t.equal(before && reader.read(before).rows.timesMs.length, 0);
  t.equal(after && reader.read(after).rows.timesMs.length, 1);
  t.equal(reader.find('a', 'v'), undefined);
});

test('rows, texts and series are read as they arrived, whatever is flushed and forgotten', async () => {
  const step = fc.record({
    kind: fc.constantFrom('row', 'row', 'row', 'flush', 'release'),
    vm: fc.constantFrom('a', 'b', 'c'),
    boot: fc.stringMatching(/^[a-z]{0,9}$/),
    reason: fc.constantFrom('', 'ä', 'destroyed', '𝄞 crashed'),
    series: fc.uniqueArray(fc.constantFrom('p', 'q', 'r{x="1"}', 's'), { maxLength: 3 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const head = new Head({ flushedSequenceOf: () => 0 });
      const reader = new HeadReader(head.share);
      const newest = new Map<string, unknown>();
      for (const [i, { kind, vm, boot, reason, series }] of steps.entries()) {
        const sequence = i + 1;
        if (kind === 'flush') flushed(head, sequence);
        else if (kind === 'release') {
          flushed(head, sequence);
          head.release(sequence - 10);
        } else {
          const values = series.map((_, k) => i + k);
          const one = row({
            observedMs: sequence,
            vm,
            boot,
            stateReason: reason,
            series,
            values,
          });
          head.append(batchOf([one]), { partition: 1, sequence });
          newest.set(vm, { boot, reason, series: series.map((key, k) => [key, values[k]]) });
        }
        for (const { vm: id } of head.vms) {
          const place = reader.find('demo', id);
          if (place === undefined) throw new Error(`${id} is not found`);
          const { rows } = reader.read(place, { newest: 1 });
          const read = {
            boot: rows.strings[rows.boot[0] ?? -1],
            reason: rows.strings[rows.stateReason[0] ?? -1],
            series: [...rows.series].map(([key, column]) => [key, column[0]]),
          };
          const sorted = (given: unknown) => JSON.stringify(given, (_, value) => value);
          const expected = newest.get(id) as typeof read;
          expected.series.sort();
          read.series.sort();
          if (sorted(read) !== sorted(expected)) {
            throw new Error(`${id}: ${sorted(read)} for ${sorted(expected)}`);
          }
        }
      }
    }),
    { numRuns: tries(60) },
  );
});

test('a thread that reads while texts and VMs change never reads a wrong one', async (t) => {
  const head = new Head({ flushedSequenceOf: () => 0 });
  const control = new Int32Array(new SharedArrayBuffer(8));
  const entry = new URL('../../support/text-hammer.ts', import.meta.url);
  const worker = new Worker(entry, { workerData: { share: head.share, control } });
  const answer = once(worker, 'message');
  await once(worker, 'online');
  // Bounded by the reader's progress, not by time. The writer's own bound ends a test that hangs.
  for (let i = 1; i <= 400_000 && Atomics.load(control, 1) < 3000; i++) {
    const vm = `vm ${i % 7}`;
    const texts = { boot: `${vm} boot ${Math.floor(i / 40)}`, stateReason: `${vm} why ${i % 90}` };
    const one = row({
      observedMs: i,
      vm,
      ...texts,
      series: [`s{vm="${vm}",n="${i % 3}"}`],
      values: [i],
    });
    head.append(batchOf([one]), { partition: 1, sequence: i });
    if (i % 200 === 0) flushed(head, i);
    if (i % 1000 === 0) head.release(i % 3000 === 0 ? Infinity : i - 4);
  }
  Atomics.store(control, 0, 1);
  const [{ faults, reads, texts }] = (await answer) as [TextReport];
  t.same(faults, []);
  t.ok(reads > 0 && texts > 0, `${reads} reads of ${texts} texts`);
  await worker.terminate();
});

test('a project past its bound is refused, and its neighbours are not', async (t) => {
  const head = new Head({
    flushedSequenceOf: () => 0,
    bytesMax: 8 * MIB,
    projectBytesMax: () => 2 * MIB,
  });
  for (let i = 1; i <= 2000; i++) {
    const one = row({ observedMs: i, project: 'hostile', vm: `vm ${i}`, boot: `boot ${i}` });
    head.append(batchOf([one]), { partition: 1, sequence: i });
  }
  const { used, bound } = head.quota('hostile');
  t.ok(used <= bound && used > bound / 2, `${used} of ${bound} bytes`);
  t.same(
    head.refused().map(({ project }) => project),
    ['hostile'],
  );
  const neighbours = Array.from({ length: 10 }, (_, i) => row({ observedMs: 1, project: `n${i}` }));
  head.append(batchOf(neighbours), { partition: 1, sequence: 3000 });
  t.equal(head.refused().length, 1, 'they fit');
  t.equal(head.vms.filter(({ project }) => project !== 'hostile').length, 10);
});

test('many projects that fill all memory stay within it, and a small project still fits', async (t) => {
  const head = new Head({ flushedSequenceOf: () => 0, bytesMax: 4 * MIB });
  let sequence = 0;
  const fill = (project: string, count: number) => {
    for (let i = 0; i < count; i++) {
      const one = row({ observedMs: ++sequence, project, vm: `vm ${sequence}` });
      head.append(batchOf([one]), { partition: 1, sequence });
    }
  };
  for (let i = 0; i < 8; i++) fill(`hostile ${i}`, 1000);
  const { used, max } = head.bytes;
  t.ok(used <= max && head.counts.refused > 0, `${used} of ${max} bytes`);
  fill('neighbour', 10);
  t.notOk(head.refused().some(({ project }) => project === 'neighbour'));
  t.equal(head.counts.added + head.counts.refused, sequence, 'each row is stored or refused');
});

/**
 * A head of 16 MiB, in which a project has 4 MiB, and a function that adds rows with long labels.
 */
function sharedHead(projectBytes = 4 * MIB) {
  const head = new Head({
    flushedSequenceOf: () => 0,
    bytesMax: 16 * MIB,
    projectBytesMax: () => projectBytes,
  });
  let sequence = 0;
  return {
    head,
    put(project: string, vm: string, label = '') {
      const series = [`x{n="${label}"}`];
      const one = row({ observedMs: ++sequence, project, vm, series });
      head.append(batchOf([one]), { partition: 1, sequence });
    },
  };
}

test('a project within its share of the memory is not refused because others fill it', async (t) => {
  const { head, put } = sharedHead();
  const until = (project: string, bytes: number) => {
    for (let i = 0; i < 5000 && head.quota(project).used < bytes; i++) put(project, `vm ${i}`);
  };
  until('honest', (165 / 256) * 4 * MIB);
  for (let i = 0; i < 20; i++) put(`small ${i}`, 'vm');
  for (let n = 0; n < 3; n++) {
    for (let i = 0; i < 2000; i++) put(`hostile ${n}`, `vm ${i}`, `${i} ${'l'.repeat(1500)}`);
  }
  const { used, bound } = head.quota('honest');
  t.ok(head.bytes.used > 0.75 * head.bytes.max, `${head.bytes.used} bytes are used`);
  t.ok(used < (15 / 16) * bound, `${used} of ${bound} bytes`);
  put('honest', 'vm 1', 'one more');
  put('honest', 'new');
  t.notOk(head.refused().some(({ project }) => project === 'honest'));
});

test('a lone project gets all memory except a reserve', async (t) => {
  const { head, put } = sharedHead(16 * MIB);
  for (let i = 0; i < 5000 && head.bytes.used < 0.76 * head.bytes.max; i++) put('demo', `vm ${i}`);
  const { used, bound } = head.quota('demo');
  t.ok(used < (15 / 16) * bound, `${used} of ${bound} bytes`);
  t.same(head.refused(), []);
});

test('a year of reboots leaves memory constant and everything within retention readable', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START);
  const history = openStore({ folder, clock, headBytesMax: 2 * MIB });
  const vms = 8;
  let reserved = 0;
  let sequence = 0;
  for (let day = 0; day < 365; day++) {
    const rows: Row[] = [];
    for (let hour = 0; hour < 24; hour += 6) {
      for (let n = 0; n < vms; n++) {
        const observedMs = START + day * DAY + hour * HOUR + n;
        const vm = n === 0 ? `replaced ${day}` : `vm ${n}`;
        const boot = `boot ${n} of ${day}/${hour}`;
        const stateReason = `reason ${(day * 24 + hour) % 900}`;
        rows.push(
          row({
            observedMs,
            vm,
            boot,
            stateReason,
            series: [`x{day="${day}"}`, 'y'],
            values: [1, 2],
          }),
        );
      }
    }
    history.append(batchOf(rows, START + day * DAY), {
      partition: PARTITION,
      sequence: ++sequence,
    });
    clock.jump(DAY);
    // As the background does: a flush per hour, upkeep per minute.
    await history.flush();
    history.release();
    if (day % 30 === 29) await history.retain(clock.now());
    if (day === 30) reserved = history.stats().headBytes.reserved;
  }
  const { headBytes, refused, vms: inHead } = history.stats();
  t.equal(headBytes.reserved, reserved, `constant after the first month: ${reserved} bytes`);
  t.equal(refused, 0);
  t.ok(inHead <= vms + 8, `${inHead} VMs are in the head, of 372 ever`);
  const read = history.readNow({
    project: 'demo',
    vm: 'vm 3',
    fromMs: clock.now() - 7 * DAY,
    toMs: 8e15,
  });
  t.equal(read.timesMs.length, 7 * 4);
  t.match(read.strings[read.boot.at(-1) ?? 0], 'boot 3 of 364/18');
  await history.close();
});

test('rows that did not fit make reads fail until they are read from the log', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder });
  history.boundProjects({ of: (project) => ({ headBytes: project === 'demo' ? 24_000 : MIB }) });
  const log = Array.from({ length: 600 }, (_, i) =>
    batchOf([row({ observedMs: START + i }), row({ observedMs: START + i, project: 'other' })]),
  );
  for (const [i, batch] of log.entries()) {
    history.append(batch, { partition: PARTITION, sequence: i + 1 });
  }
  const [refused] = history.refused();
  t.match(refused, { project: 'demo', lastSequence: 600 });
  t.equal(history.stats().incompleteProjects, 1);
  const view = new HistoryView(history.share);
  const columns = new ColumnView({ share: history.share, cacheBytesMax: MIB });
  const all = { vm: 'vm', fromMs: START, toMs: START + 1000 };
  const at = { vm: 'vm', atMs: START + 1000, notBeforeMs: START };
  const reads: Readonly<Record<string, (project: string) => unknown>> = {
    read: (project) => view.read({ project, ...all }),
    recent: (project) => view.recent({ project, vm: 'vm', fromMs: START }),
    newest: (project) => view.newest(project, 'vm', START + 1000),
    newestTime: (project) => view.newestTime({ project, ...at }),
    'an unknown VM': (project) => view.newest(project, 'nobody', START + 1000),
    columns: (project) => columns.missing.whole(project, all.fromMs, all.toMs, () => 1),
  };
  const incomplete = { name: 'HistoryError', reason: 'INCOMPLETE', retryable: true };
  for (const [name, read] of Object.entries(reads)) {
    t.throws(() => read('demo'), incomplete, name);
    t.doesNotThrow(() => read('other'), name);
  }
  await t.rejects(history.read({ project: 'demo', ...all }), incomplete);
  const { timesMs } = await history.read({ project: 'demo', ...all, mayLackRows: true });
  t.ok(timesMs.length > 0 && timesMs.length < 600, 'the readable rows, if the caller allows it');
  t.equal(
    view.read({ project: 'demo', ...all, toMs: START + 10 }).timesMs.length,
    11,
    'stored rows are read',
  );
  t.equal(
    history.takeAgain('demo', log[599] as never, { partition: PARTITION, sequence: 1 }),
    true,
  );

  // As the sample pipeline does, with flushes in between.
  let rounds = 0;
  for (; history.refused().length > 0 && rounds < 50; rounds++) {
    await history.flush();
    const from = history.refused()[0]?.firstSequence ?? 0;
    t.ok(history.floor(PARTITION) <= from, 'the floor waits for rows that are not stored');
    history.release();
    for (let sequence = from; sequence <= 600; sequence++) {
      const batch = log[sequence - 1] as (typeof log)[number];
      if (!history.takeAgain('demo', batch, { partition: PARTITION, sequence })) break;
    }
  }
  t.same(history.refused(), [], `all rows are stored after ${rounds} rounds`);
  t.equal(view.read({ project: 'demo', ...all }).timesMs.length, 600);
  await history.flush();
  t.equal(history.floor(PARTITION), 601);
  history.release();
  t.equal(view.read({ project: 'demo', ...all }).timesMs.length, 600, 'from chunks too');
  t.equal(view.newestTime({ project: 'demo', ...at }), START + 599);
  view.close();
  columns.close();
  await history.close();
  const restarted = openStore({ folder });
  t.equal(
    restarted.readNow({ project: 'demo', ...all }).timesMs.length,
    600,
    'and after a restart',
  );
  await restarted.close();
});
