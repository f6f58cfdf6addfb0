/** Traces as a source, on a virtual clock, and properties of real traces (EVAL-23, EVAL-24). */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import t, { test } from 'tap';
import { parseTrace } from '../../../actors/telemetry/collectors/bitbrains.ts';
import type { ObservedRow } from '../../../actors/telemetry/collectors/collector.ts';
import { startCollector } from '../../../actors/telemetry/collectors/loop.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import { componentPath, needs } from '../../support/components.ts';
import { createReplaySource } from '../../support/replay-source.ts';

const never = new AbortController().signal;
const START_MS = Date.UTC(2013, 6, 14, 22);
const CSV = `Timestamp [ms];\tCPU cores;\tCPU capacity provisioned [MHZ];\tCPU usage [MHZ];\tCPU usage [%]
${START_MS / 1000};\t2;\t5200;\t5876.0;\t113.0;\t4096.0;\t0.0;\t1.0;\t2.0;\t3.0;\t4.0
${START_MS / 1000 + 300};\t4;\t10400;\t10.4;\t0.1;\t4096.0;\t1024.0;\t1.0;\t2.0;\t3.0;\t4.0
garbage
${START_MS / 1000 + 600};\t4;\t10400;\tNaN;\tNaN;\t4096.0;\tInfinity;\t1.0;\t2.0;\t3.0;\t4.0
${START_MS / 1000 + 900};\t0;\t0.0;\t0.0;\t97.0;\t4096.0;\t1024.0;\t1.0;\t2.0;\t3.0;\t4.0
`;

test('a trace gives percent, memory and capacity as written, and nothing made up', async (t) => {
  const { rows, skippedLines } = parseTrace(CSV, 'vm-1');
  t.equal(skippedLines, 1);
  t.match(rows[0], { vm: 'vm-1', observedMs: START_MS, vcpus: 2, state: 'RUNNING' });
  t.same(rows[0]?.values, [
    ['svc_vm_cpu_utilization_pct', 113],
    ['svc_vm_memory_total_bytes', 4_194_304],
    ['svc_vm_memory_used_bytes', 0],
  ]);
  t.equal(rows[1]?.vcpus, 4, 'a resize follows the row');
  t.same(rows[2]?.values, [['svc_vm_memory_total_bytes', 4_194_304]], 'NaN is not a reading');
  t.match(rows[3], { state: 'STOPPED', values: [] }, 'off: its left-over 97 % is not a reading');
  t.notOk(rows[3] && 'vcpus' in rows[3]);
});

test('a replay plays at its speed, with recorded times, and keeps gaps', async (t) => {
  const clock = new VirtualClock(1_000);
  const { rows } = parseTrace(CSV, 'vm-1');
  const other = rows.map((row) => ({ ...row, vm: 'vm-2' }));
  const source = createReplaySource({ clock, recordings: [rows, other], speed: 10 });
  const read = async (): Promise<string[]> =>
    (await source.read(never)).rows.map((row) => `${row.vm} ${(row.observedMs - START_MS) / 1000}`);
  t.same(await read(), ['vm-1 0', 'vm-2 0']);
  t.same(await read(), []);
  await clock.advance(29_999);
  t.same(await read(), []);
  await clock.advance(30_001);
  t.same(await read(), ['vm-1 300', 'vm-2 300', 'vm-1 600', 'vm-2 600']);
  t.equal(source.remaining(), 2);

  const shifted = createReplaySource({
    clock,
    recordings: [rows],
    speed: Infinity,
    fromMs: START_MS + 1,
    shiftMs: 5,
    rowsMax: 2,
  });
  const times = async () =>
    (await shifted.read(never)).rows.map((row) => row.observedMs - START_MS);
  t.same([await times(), await times(), await times()], [[300_005, 600_005], [900_005], []]);
  t.throws(() => createReplaySource({ clock, recordings: [], speed: 0 }), RangeError);
  const nothing = createReplaySource({ clock, recordings: [], speed: 1 });
  t.same(await nothing.read(never), { rows: [], faults: [] });
});

/** Plays a folder's trace of one VM through the loop, one row per 300 s of the clock. */
async function play(folder: string, vms: readonly number[]): Promise<ObservedRow[]> {
  const traces = `${componentPath('shared folder')}/data/traces/bitbrains-rnd/${folder}`;
  const recordings = vms.map((vm) => {
    const text = gunzipSync(readFileSync(`${traces}/${vm}.csv.gz`)).toString();
    return parseTrace(text, `vm-${vm}`).rows;
  });
  const clock = new VirtualClock(START_MS);
  const source = createReplaySource({ clock, recordings, speed: 1 });
  const rows: ObservedRow[] = [];
  const collector = startCollector({
    project: 'demo',
    source,
    sink: { observe: async (_, given) => void rows.push(...given) },
    clock,
    intervalMs: 300_000,
    onFault: (fault) => t.fail(fault.message),
  });
  await new Promise<void>((resolve) => void setImmediate(resolve));
  await clock.advance(8 * 86_400_000 + 600_000);
  await collector.stop();
  t.equal(source.remaining(), 0);
  return rows;
}

test('a real trace keeps its outage and its resizes', needs('shared folder'), async (t) => {
  const rows = await play('2013-07-14_8d', [286]);
  const gaps = rows.map((row, i) => row.observedMs - (rows[i - 1] ?? row).observedMs);
  t.ok(Math.max(...gaps) > 30 * 3_600_000, 'silent for 30 h: no row was made up');
  const vcpus = rows.map((row) => row.vcpus).filter((now, i, all) => now !== all[i - 1]);
  t.same(vcpus, [2, 1]);
  t.ok(rows.every((row) => row.values.every(([, value]) => Number.isFinite(value))));
});

test(
  'EVAL-23: frozen rows of a running VM arrive as observed, each with its time',
  needs('shared folder'),
  async (t) => {
    const rows = await play('2013-09-16_8d', [37]);
    t.ok(rows.length > 2_000);
    t.equal(new Set(rows.map((row) => JSON.stringify(row.values))).size, 1, 'bit-identical');
    t.equal(new Set(rows.map((row) => row.observedMs)).size, rows.length, 'new times');
    t.ok(rows.every((row) => row.state === 'RUNNING'));
  },
);

test(
  'EVAL-24: a powered-off VM that repeats its last row is reported as off',
  needs('shared folder'),
  async (t) => {
    const rows = await play('2013-07-14_8d', [122]);
    const off = rows.findIndex((row) => row.state === 'STOPPED');
    t.equal(new Date(rows[off]?.observedMs ?? 0).toISOString().slice(0, 13), '2013-07-16T08');
    const after = rows.slice(off);
    t.ok(after.every((row) => row.state === 'STOPPED' && row.values.length === 0));
    t.ok(new Set(after.map((row) => row.observedMs)).size < after.length, 'it does repeat times');
  },
);
