/**
 * Label sets that change: devices, mounts and whole kinds of readings appear and disappear, and a
 * VM is recreated under its old id. An unobserved value is in no chunk, no row and no point,
 * wherever the rows are stored.
 */
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { Chunk } from '../../../../sqlite/telemetry/history/chunk/chunk-codec.ts';
import {
  HISTORY_FILE,
  openHistoryFileForReading,
} from '../../../../sqlite/telemetry/history/history-file.ts';
import type { History } from '../../../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../../../streams/platform/clock.ts';
import { queryMetric } from '../../../../streams/telemetry/metrics/query.ts';
import { BatchBuilder } from '../../../../streams/telemetry/samples/batch.ts';
import {
  batchOf,
  DAY,
  everything,
  HOUR,
  openStore,
  PARTITION,
  START,
} from '../../../support/history-from-log.ts';

const STEP = 30_000;
/** Noon of yesterday, a day that can be merged. */
const NOON = -DAY;

/** Checks the same rows in memory, in hourly chunks, and merged into a day. */
async function everywhere(
  folder: string,
  parts: readonly ((history: History) => void)[],
  look: (history: History, title: string) => void | Promise<void>,
): Promise<void> {
  const inMemory = openStore({ folder: join(folder, 'memory') });
  for (const part of parts) part(inMemory);
  await look(inMemory, 'in memory');
  await inMemory.close();
  const history = openStore({ folder: join(folder, 'disk') });
  for (const part of parts) {
    part(history);
    await history.flush();
  }
  await look(history, 'in chunks');
  await history.retain(START + DAY);
  await look(history, 'merged');
  await history.close();
}

let sequence = 0;

function append(history: History, at: number, values: Readonly<Record<string, number>>): void {
  history.append(batchOf({ at, values }), { partition: PARTITION, sequence: ++sequence });
}

/** Indexes with a value in the column of each series. */
function observed(history: History, names?: readonly string[]) {
  const rows = history.readNow({ ...everything, vm: 'a', ...(names && { names }) });
  return Object.fromEntries(
    [...rows.series].map(([key, column]) => [
      key,
      [...column.keys()].filter((i) => !Number.isNaN(column[i])),
    ]),
  );
}

test('a mount that changes its type is two series, each with its own observations', async (t) => {
  const key = (type: string) => `svc_vm_filesystem_used_bytes{fstype="${type}",mountpoint="/"}`;
  const rows = (from: number, count: number, type: string) => (history: History) => {
    for (let i = from; i < from + count; i++) append(history, NOON + i * STEP, { [key(type)]: i });
  };
  await everywhere(
    t.testdir(),
    [rows(0, 3, 'ext4'), rows(3, 2, 'ext4'), rows(5, 3, 'xfs'), rows(8, 2, 'ext4')],
    (history, title) => {
      const wanted = { [key('ext4')]: [0, 1, 2, 3, 4, 8, 9], [key('xfs')]: [5, 6, 7] };
      t.same(observed(history), wanted, title);
      t.same(observed(history, ['svc_vm_filesystem_used_bytes']), wanted, `${title}, by name`);
      t.same(observed(history, ['svc_vm_load1']), {}, `${title}, of another name`);
      const request = { ...everything, vm: 'a', fromMs: START + NOON + 5 * STEP };
      const cut = history.readNow({ ...request, toMs: START + NOON + 7 * STEP });
      t.same([...cut.series.keys()], [key('xfs')], `${title}: a range has only its own series`);
    },
  );
});

test('readings that are switched on and off leave no column behind', async (t) => {
  const folder = t.testdir();
  const history = openStore({ folder });
  const basic = { svc_vm_cpu_seconds_total: 5 };
  const expanded = { ...basic, svc_vm_load1: 0.5, svc_vm_load5: 0.25 };
  for (const [hour, values] of [basic, expanded, basic, basic].entries()) {
    for (let i = 0; i < 10; i++) append(history, NOON + hour * HOUR + i * STEP, values);
    await history.flush();
  }
  const database = openHistoryFileForReading(join(folder, HISTORY_FILE));
  const widths = () =>
    database
      .prepare<[], { data: Buffer }>('SELECT data FROM chunks ORDER BY id')
      .all()
      .map(({ data }) => new Chunk(data).seriesIds().length);
  t.same(widths(), [1, 3, 1, 1], 'a chunk has the columns observed in it');
  const on = Array.from({ length: 10 }, (_, i) => 10 + i);
  const wanted = {
    svc_vm_cpu_seconds_total: Array.from({ length: 40 }, (_, i) => i),
    svc_vm_load1: on,
    svc_vm_load5: on,
  };
  t.same(observed(history), wanted);
  await history.retain(START + DAY);
  t.same(widths(), [3]);
  t.same(observed(history), wanted, 'merged: absent while it was off');
  database.close();
  await history.close();
});

test('hundreds of short-lived interfaces do not retain memory', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START);
  const history = openStore({ folder, clock });
  const perHour = 60;
  const name = (n: number) => `svc_vm_network_receive_bytes_total{interface="veth${n}"}`;
  let mostBytes = 0;
  let mostNames = 0;
  // Nine days with 60 interfaces per hour, of which two are up at a time; the fixed one is always
  // up.
  for (let hour = 0; hour < 9 * 24; hour++) {
    for (let i = 0; i < perHour; i++) {
      const n = hour * perHour + i;
      const values = { 'eth{n="0"}': n, [name(n)]: 1, [name(n + 1)]: 2 };
      append(history, hour * HOUR + i * 60_000, values);
    }
    await clock.advance(HOUR);
    mostBytes = Math.max(mostBytes, history.stats().headBytes.used);
    await history.flush();
    if (hour % 12 === 11) {
      await history.retain(clock.now());
      mostNames = Math.max(mostNames, (await history.stored()).seriesKeys);
    }
  }
  // An hour's rows of 60 columns each, twice: those being flushed, and pages not yet released.
  t.ok(mostBytes < 2 * 60 * 70 * 8 + 3 * 4096, `memory: at most ${mostBytes} bytes`);
  t.ok(mostNames <= 8.6 * 24 * perHour + 2, `${mostNames} names: those within retention`);
  const { seriesKeys } = await history.stored();
  t.ok(seriesKeys >= 7 * 24 * perHour, 'no fewer names');
  const last = 9 * 24 * perHour;
  const rows = await history.read({ ...everything, vm: 'a' });
  t.equal(rows.timesMs.length, 7 * 24 * perHour);
  for (const n of [last - 7 * 24 * perHour + 1, last - 5000, last - 1]) {
    const column = rows.series.get(name(n)) ?? new Float64Array(0);
    const values = [...column].filter((value) => !Number.isNaN(value));
    t.same(values, [2, 1], `veth${n} has its two readings`);
  }
  t.equal(rows.series.has(name(last - 7 * 24 * perHour - 5)), false, 'older ones are removed');
  await history.close();
});

/** Rows of a VM that is destroyed and recreated: another boot, counters from 0. */
function life(boot: string, fromAt: number, count: number, firstSeconds: number) {
  return (history: History): void => {
    const builder = new BatchBuilder();
    for (let i = 0; i < count; i++) {
      builder.add({
        project: 'demo',
        vm: 'a',
        observedMs: START + fromAt + i * STEP,
        sequence: i,
        boot,
        vcpus: 2,
        state: 1,
        stateReason: '',
        series: ['svc_vm_cpu_seconds_total', 'svc_vm_disk_read_bytes_total{device="vda"}'],
        values: [firstSeconds + i * 6, firstSeconds * 100 + i * 3000],
      });
    }
    history.append(builder.build(START + fromAt + count * STEP), {
      partition: PARTITION,
      sequence: ++sequence,
    });
  };
}

function metric(t: Test, history: History, metricId: string, startAt: number, endAt: number) {
  const columns = history.readNow({ ...everything, vm: 'a' });
  const range = { startMs: START + startAt, endMs: START + endAt, stepMs: STEP };
  const answer = queryMetric({ columns, metricId, ...range });
  const [series] = answer.series;
  t.ok(series, `${metricId} has points`);
  return {
    points: (series?.points ?? []).map(({ timeMs, value }) => [(timeMs - START) / STEP, value]),
    gaps: answer.gaps,
  };
}

test('a VM recreated under its id restarts its counters without a bridge', async (t) => {
  const at = (n: number) => NOON + n * STEP;
  await everywhere(
    t.testdir(),
    // Rows 0 to 9, five minutes without rows, rows 20 to 29; then two consecutive lives, the second
    // of which does not report its boot.
    [
      life('first', at(0), 10, 1000),
      life('second', at(20), 10, 0),
      life('third', at(30), 5, 3),
      life('', at(35), 5, 0),
    ],
    (history, title) => {
      const whole = [1, 2, 3, 4, 5, 6, 7, 8, 9, 21, 22, 23, 24, 25, 26, 27, 28, 29];
      const places = [...whole, 30, 31, 32, 33, 34, 36, 37, 38, 39];
      for (const [metricId, value, sinceBoot] of [
        ['cpu_utilization_pct', 10, 5],
        ['disk_read_bytes_per_second', 100, 10],
      ] as const) {
        const { points, gaps } = metric(t, history, metricId, at(1), at(39));
        t.same(
          points.map(([place = 0, found]) => [place - NOON / STEP, found]),
          // After a reported boot, the increase is the count since that boot.
          places.map((place) => [place, place === 30 ? sinceBoot : value]),
          `${title}: ${metricId} has no point in the gap or after an unreported reset`,
        );
        t.ok(
          gaps.some((gap) => gap.reason === 'NO_SAMPLES'),
          `${title}: the gap is reported with its cause`,
        );
      }
      const { boot, strings, timesMs } = history.readNow({ ...everything, vm: 'a' });
      t.equal(timesMs.length, 30, `${title}: both lives are one history`);
      const boots = [...boot].map((code) => strings[code]);
      t.same([boots[9], boots[10], boots[20]], ['first', 'second', 'third'], title);
    },
  );
});

test('a VM under a new id is another VM: neither has rows of the other', async (t) => {
  const history = openStore({ folder: t.testdir() });
  for (const [i, vm] of ['old', 'old', 'new', 'new'].entries()) {
    history.append(batchOf({ at: i * STEP, values: { x: i }, vm }), {
      partition: PARTITION,
      sequence: i + 1,
    });
    if (i % 2 === 1) await history.flush();
  }
  const valuesOf = (vm: string) => [
    ...(history.readNow({ ...everything, vm }).series.get('x') ?? []),
  ];
  t.same(
    [valuesOf('old'), valuesOf('new')],
    [
      [0, 1],
      [2, 3],
    ],
  );
  await history.close();
});
