/**
 * Previews that leave out quiet rows against previews that fold every row: arbitrary histories of
 * long quiet and breaching stretches, with gaps, absent and impossible readings, reboots, resizes,
 * power states and devices that appear and disappear, for every operator. Both must be equal in
 * everything that they report.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { previewVm } from '../../streams/alerting/evaluation/preview.ts';
import { quietRows } from '../../streams/alerting/evaluation/quiet-rows.ts';
import { type EvaluationRule, OPERATORS } from '../../streams/telemetry/entry.ts';
import type { VmColumns } from '../../streams/telemetry/samples/columns.ts';
import { cpuRule, START_MS } from '../support/evaluation-scenario.ts';
import { occurrences, tries } from '../support/tries.ts';

const OPTIONS = { seed: 20_261_129, numRuns: tries(2_000) };
const STEP_MS = 30_000;

/** Rows of one kind, one after another. */
interface Stretch {
  readonly rows: number;
  /** Reading of two devices or mounts: below, between or above the thresholds, or an odd one. */
  readonly levels: readonly [number, number];
  /** Intervals before its first row. */
  readonly gap: number;
  readonly state: number;
  readonly reason: number;
  readonly vcpus: number;
  readonly boot: number;
}

const LEVELS = [
  10,
  10,
  10,
  10,
  10,
  50,
  50,
  90,
  95,
  0,
  -5,
  250,
  Number.NaN,
  Number.POSITIVE_INFINITY,
];
const level = fc.constantFrom(...LEVELS);

const stretch: fc.Arbitrary<Stretch> = fc.record({
  rows: fc.constantFrom(1, 1, 2, 3, 4, 8, 12, 20, 40),
  levels: fc.tuple(level, level),
  gap: fc.constantFrom(1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 30),
  state: fc.constantFrom(...Array<number>(20).fill(1), 0, 0, 2, 3, 3, 4),
  reason: fc.nat(3),
  vcpus: fc.constantFrom(2, 2, 2, 2, 2, 4, Number.NaN),
  boot: fc.constantFrom(1, 1, 1, 1, 2, 0),
});

/** Series of a metric, from the readings of two devices. A counter adds them up. */
interface Kind {
  readonly metricId: string;
  readonly series: Readonly<
    Record<string, (reading: readonly [number, number], i: number) => number>
  >;
  readonly isCounter?: true;
}

const kinds: readonly Kind[] = [
  { metricId: 'cpu_utilization_pct', series: { svc_vm_cpu_utilization_pct: ([one]) => one } },
  {
    metricId: 'cpu_utilization_pct',
    series: { svc_vm_cpu_seconds_total: ([one]) => one * 0.6 },
    isCounter: true,
  },
  {
    metricId: 'disk_read_bytes_per_second',
    series: {
      'svc_vm_disk_read_bytes_total{device="vda"}': ([one]) => one * 30,
      'svc_vm_disk_read_bytes_total{device="vdb"}': ([, other]) => other * 30,
    },
    isCounter: true,
  },
  {
    metricId: 'filesystem_used_pct',
    series: {
      'svc_vm_filesystem_used_bytes{mountpoint="/"}': ([one]) => one,
      'svc_vm_filesystem_size_bytes{mountpoint="/"}': (_, i) => (i % 37 === 5 ? Number.NaN : 100),
      'svc_vm_filesystem_used_bytes{mountpoint="/a"}': ([, other]) => other,
      'svc_vm_filesystem_size_bytes{mountpoint="/a"}': () => 100,
    },
  },
  {
    metricId: 'memory_used_pct',
    series: {
      svc_vm_memory_total_bytes: () => 100,
      svc_vm_memory_free_bytes: ([one]) => 100 - one,
    },
  },
  { metricId: 'vm_running', series: { svc_vm_load1: ([one]) => one } },
  { metricId: 'unexpected_stop', series: { svc_vm_load1: ([one]) => one } },
];

function columnsOf(stretches: readonly Stretch[], { series, isCounter }: Kind): VmColumns {
  const rows = stretches.flatMap((one) =>
    Array.from({ length: one.rows }, (_, i) => ({ ...one, gap: i === 0 ? one.gap : 1 })),
  );
  let atMs = START_MS;
  const timesMs = Float64Array.from(rows, ({ gap }, i) => {
    atMs += gap * STEP_MS;
    return atMs + (i % 3) * 400;
  });
  const columns = Object.entries(series).map(([key, of]) => {
    let total = 1e6;
    const column = Float64Array.from(rows, ({ levels, gap }, i) => {
      const reading = of(levels, i);
      if (!isCounter || !Number.isFinite(reading)) return reading;
      total = Math.max(0, total + reading * gap);
      return total;
    });
    return [key, column] as const;
  });
  return {
    timesMs,
    series: new Map(columns),
    vcpus: Float64Array.from(rows, ({ vcpus }) => vcpus),
    state: Uint8Array.from(rows, ({ state }) => state),
    boot: Uint32Array.from(rows, ({ boot }) => boot),
    stateReason: Uint32Array.from(rows, ({ reason }) => [0, 0, 3, 4][reason] ?? 0),
    strings: ['', 'boot-1', 'boot-2', 'shutdown', 'destroyed'],
    conflicted: new Uint8Array(rows.length),
    conflicts: 0,
  };
}

const rules = fc.record({
  operator: fc.constantFrom(...OPERATORS),
  threshold: fc.constantFrom(0, 1, 10, 50, 80, 80, 80, 90),
  recoveryThreshold: fc.constantFrom(undefined, undefined, 0, 20, 50, 90),
  sustainedMs: fc.constantFrom(0, 60_000, 300_000, 1_800_000),
  recoveryMs: fc.constantFrom(0, 0, 60_000, 600_000),
});

test('a preview that leaves out quiet rows equals one that folds every row', (t) => {
  const seen = { firings: 0, ended: 0, rows: 0, leftOut: 0 };
  const history = fc.record({
    kind: fc.constantFrom(...kinds),
    stretches: fc.array(stretch, { minLength: 1, maxLength: 14, size: 'max' }),
    spec: rules,
    windowAt: fc.nat(120),
    withPaths: fc.boolean(),
    restMs: fc.constantFrom(0, 60_000, 3_600_000),
  });
  fc.assert(
    fc.property(history, ({ kind, stretches, spec, windowAt, withPaths, restMs }) => {
      const { recoveryThreshold, ...of } = spec;
      const rule: EvaluationRule = cpuRule({
        metricId: kind.metricId,
        ...of,
        ...(recoveryThreshold !== undefined && { recoveryThreshold }),
      });
      const columns = columnsOf(stretches, kind);
      const { timesMs } = columns;
      const fromMs = (timesMs[Math.min(windowAt, timesMs.length - 1)] ?? START_MS) - 1;
      const toMs = (timesMs.at(-1) ?? START_MS) + restMs;
      const vm = 'vm-1';
      const options = { rule, vm, columns, fromMs, toMs, checkpoint: () => {}, withPaths };
      const quiet = quietRows({ rule, columns, withInstances: withPaths });
      assert.ok(quiet);
      const after = quiet.after.bind(quiet);
      quiet.after = (i, instances) => {
        const next = after(i, instances);
        seen.leftOut += next - i - 1;
        return next;
      };
      seen.rows += timesMs.length;
      const wanted = previewVm(options);
      const found = previewVm({ ...options, quiet });
      const plain = ({ paths, ...rest }: typeof found) => ({
        ...rest,
        paths: [...paths].map(([labels, { samples: _, ...path }]) => ({ labels, ...path })),
      });
      assert.deepEqual(plain(found), plain(wanted));
      seen.firings += wanted.firings.length;
      seen.ended += wanted.firings.filter(({ endedMs }) => endedMs !== undefined).length;
    }),
    OPTIONS,
  );
  t.ok(seen.firings > occurrences(400), `${seen.firings} firings`);
  t.ok(seen.ended > occurrences(60), `${seen.ended} of them ended`);
  t.ok(seen.leftOut > seen.rows / 10, `${seen.leftOut} of ${seen.rows} rows left out`);
  t.end();
});
