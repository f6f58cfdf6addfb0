/**
 * Batches and log entries as bytes: they are decoded bit for bit, whatever their rows, and damaged
 * bytes are rejected as a whole. Properties run over batches that a builder can make.
 */
import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { test } from 'tap';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import {
  decodeBatch,
  decodeEntry,
  encodeBatch,
  encodeEntry,
} from '../../streams/telemetry/entry-codec.ts';
import {
  BatchBuilder,
  type Row,
  type SampleBatch,
  VM_STATES,
} from '../../streams/telemetry/samples/batch.ts';
import { ByteReader, DamagedBytes } from '../../streams/telemetry/samples/byte-reader.ts';
import { ByteWriter } from '../../streams/telemetry/samples/byte-writer.ts';
import { fleetRows } from '../support/fleet.ts';
import { tries } from '../support/tries.ts';

const uuid = fc.uuid();
const word = fc.oneof(uuid, fc.string({ unit: 'grapheme', maxLength: 12 }));
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
/** Values that careless codecs lose: signed zero, subnormals, the limits of exact integers. */
const hard = fc.constantFrom(
  ...[0, -0, 5e-324, -5e-324, 2 ** 53, -(2 ** 53), 2 ** 53 - 1, 1.7976931348623157e308],
  ...[0.1, 0.1 + 0.2, 1 / 3, 99.9, -0.05, 1e-9, 4294967295, 4294967296, 4294967297, 1e21],
);
const value = fc.oneof(
  finite,
  hard,
  fc.integer().map((n) => n / 10),
  fc.maxSafeInteger(),
);
const names = ['svc_vm_load1', 'svc_vm_running', 'custom', 'svc_vm_disk_read_bytes_total'];
/** Well-formed labels of known names, and texts that only resemble them. */
const labels = fc.oneof(
  fc.constantFrom('', '{device="vda"}', '{mountpoint="/",fstype="ext4"}', '{device="a,b"}', '{}'),
  fc.constantFrom(
    '{device="}',
    '{device=""}',
    '{device="a\\"b"}',
    '{device="a"',
    '{other="x"}',
    '{',
  ),
  fc.string({ unit: 'grapheme', maxLength: 9 }).map((value) => `{device="${value}"}`),
);
const seriesKey = fc
  .tuple(fc.constantFrom(...names), labels)
  .map(([name, labels]) => name + labels);

const row: fc.Arbitrary<Row> = fc.uniqueArray(seriesKey, { maxLength: 6 }).chain((series) =>
  fc.record({
    project: fc.constantFrom('demo', 'other'),
    vm: word,
    observedMs: fc.oneof(fc.integer({ min: 0, max: 2 ** 48 }), finite),
    sequence: fc.oneof(fc.nat(), fc.maxSafeNat()),
    boot: word,
    vcpus: fc.oneof(fc.constant(Number.NaN), fc.nat(512), finite),
    state: fc.nat(VM_STATES.length - 1),
    stateReason: word,
    series: fc.constant(series),
    values: fc.array(value, { minLength: series.length, maxLength: series.length }),
  }),
);
const rows = fc.array(row, { maxLength: 30 });

/** Reason of a decoder's refusal, or another error that it threw. */
function reasonOf(decode: () => unknown): unknown {
  try {
    return decode();
  } catch (error) {
    return error instanceof DamagedBytes ? error.reason : error;
  }
}

function built(list: readonly Row[], receivedMs = 1_700_000_000_000): SampleBatch {
  const builder = new BatchBuilder();
  for (const one of list) builder.add(one);
  return builder.build(receivedMs);
}

/** Rows of a batch as plain objects, for a strict comparison: -0 is not 0, NaN is NaN. */
function rowsOf(batch: SampleBatch): unknown[] {
  return Array.from({ length: batch.count }, (_, i) => ({
    ref: batch.vms[batch.vm[i] ?? -1],
    series: batch.layouts[batch.layout[i] ?? -1]?.series,
    times: [batch.observedMs[i] ?? 0, batch.sequence[i] ?? 0, batch.vcpus[i] ?? 0],
    state: batch.state[i],
    boot: batch.strings[batch.boot[i] ?? -1],
    reason: batch.strings[batch.stateReason[i] ?? -1],
    values: Array.from(batch.values.subarray(batch.valueOffset[i], batch.valueOffset[i + 1])),
  }));
}

test('a batch of any rows is decoded bit for bit', async (t) => {
  fc.assert(
    fc.property(rows, finite, (list, receivedMs) => {
      const batch = built(list, receivedMs);
      const again = decodeBatch(encodeBatch(batch));
      return (
        Object.is(again.receivedMs, batch.receivedMs) &&
        isDeepStrictEqual(rowsOf(again), rowsOf(batch))
      );
    }),
    { numRuns: tries(300) },
  );
  t.pass('300 batches');
  const empty = decodeBatch(encodeBatch(built([])));
  t.equal(empty.count, 0, 'an empty batch, too');
});

test('any double written as a number is read as the same double', async (t) => {
  fc.assert(
    fc.property(fc.array(fc.oneof(value, fc.constant(Number.NaN)), { maxLength: 40 }), (list) => {
      const writer = new ByteWriter(1);
      for (const one of list) writer.number(one);
      const reader = new ByteReader(writer.view());
      const same = list.every((one) => Object.is(reader.number(), one));
      reader.assertEnd();
      return same;
    }),
    { numRuns: tries(2000) },
  );
  t.pass('2000 lists of numbers');
});

test('appending two batches to one builder equals adding all their rows', async (t) => {
  fc.assert(
    fc.property(rows, rows, (first, second) => {
      const builder = new BatchBuilder();
      builder.append(built(first));
      builder.append(built(second));
      return isDeepStrictEqual(rowsOf(builder.build(1)), rowsOf(built([...first, ...second])));
    }),
    { numRuns: tries(100) },
  );
  const builder = new BatchBuilder();
  const series = ['a', 'b'];
  const plain = { project: 'p', vm: 'v', observedMs: 1, sequence: 1, boot: '', stateReason: '' };
  const one: Row = { ...plain, vcpus: 2, state: 1, series, values: [1, 2] };
  builder.add(one);
  const first = builder.build(1);
  builder.add({ ...one, series: ['a', 'b'] });
  t.equal(
    first.layouts[0],
    builder.build(2).layouts[0],
    'equal layouts are one object from then on',
  );
  t.throws(() => builder.add({ ...one, values: [1, Number.NaN] }), /not finite/);
  t.throws(() => builder.add({ ...one, values: [1] }), /1 values for 2 series/);
  t.equal(builder.build(3).count, 0, 'a refused row leaves nothing behind');
});

test('truncated or altered bytes are rejected with a reason, never read in part', async (t) => {
  const [fleet] = fleetRows({ vms: 20, fromMs: 1e12, toMs: 1e12 + 1, stepMs: 30_000, seed: 1 });
  const small = built([
    {
      project: 'demo',
      vm: '5bd1e995-0000-4000-8000-00000000000a',
      observedMs: 1e12,
      sequence: 9,
      boot: '',
      vcpus: 2,
      state: 1,
      stateReason: 'paused by user',
      series: ['svc_vm_load1', 'x{a="b"}'],
      values: [0.25, 1e-300],
    },
  ]);
  for (const batch of [small, fleet ?? small]) {
    const bytes = encodeBatch(batch);
    let refused = 0;
    for (let length = 0; length < bytes.length; length++) {
      t.throws(() => decodeBatch(bytes.subarray(0, length)), DamagedBytes);
    }
    for (let at = 0; at < bytes.length; at++) {
      const altered = Uint8Array.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8));
      try {
        decodeBatch(altered);
      } catch (error) {
        t.ok(error instanceof DamagedBytes, `byte ${at}: ${error}`);
        refused++;
      }
    }
    t.equal(refused, bytes.length, 'every altered byte is detected');
    t.equal(
      reasonOf(() => decodeBatch(Uint8Array.of(...bytes, 0))),
      'CHECKSUM',
    );
    t.equal(
      reasonOf(() => decodeBatch(Uint8Array.of(9, ...bytes.subarray(1)))),
      'VERSION',
    );
  }
  t.throws(() => encodeBatch({ ...small, values: Float64Array.of(1, Number.NaN) }), RangeError);
});

test('a builder counts the bytes of each text once, until it builds', async (t) => {
  const builder = new BatchBuilder();
  const series = ['x{device="é"}', 'y'];
  const plain = { project: 'demo', observedMs: 1, sequence: 1, vcpus: 2, state: 1 };
  const row = { ...plain, vm: 'vm-1', boot: 'b', stateReason: '', series, values: [1, 2] };
  t.equal(builder.textBytes, 0);
  builder.add(row);
  // The keys are counted with the separators between them.
  const once = Buffer.byteLength(`demovm-1b${series.join('\n')}`);
  t.equal(builder.textBytes, once);
  builder.add({ ...row, series: [...series] });
  t.equal(builder.textBytes, once);
  builder.add({ ...row, vm: 'vm-2', stateReason: 'ö', series: ['z'], values: [3] });
  t.equal(builder.textBytes, once + Buffer.byteLength('vm-2öz'));
  builder.build(1);
  t.equal(builder.textBytes, 0);
  builder.add(row);
  t.equal(builder.textBytes, once, 'even for a known layout');
});

test('a single row of one VM takes less than 200 bytes, ids and names included', async (t) => {
  const [batch] = fleetRows({ vms: 1, fromMs: 1e12, toMs: 1e12 + 1, stepMs: 30_000, seed: 3 });
  if (batch === undefined) throw new Error('The fleet gave no batch');
  const bytes = encodeEntry({ kind: 'batch', batch }).length;
  t.ok(bytes < 200, `${bytes} bytes for 13 samples`);
});

test('every kind of log entry is decoded equal, and an unknown kind is rejected', async (t) => {
  const batch = built([]);
  const rule = {
    project: 'demo',
    rule: 'r',
    evaluationRevision: 2,
    metricId: 'cpu_utilization_pct',
    operator: 'GREATER_THAN' as const,
    threshold: 90.5,
    sustainedMs: 300_000,
    recoveryMs: 0,
  };
  const removals = [{ project: 'demo', rule: 'gone' }];
  const entries: LogEntry[] = [
    { kind: 'batch', batch },
    { kind: 'tick', atMs: 1_700_000_000_123 },
    {
      kind: 'tick',
      atMs: 1_700_000_000_124,
      livenessReport: {
        outages: [{ datacenter: 'DC-1', sinceMs: 1_700_000_000_000 }],
        placed: [{ project: 'demo', vm: 'vm-ä', datacenter: 'DC-1' }],
        clockAhead: [{ project: 'demo', vm: 'vm-2' }],
      },
    },
    { kind: 'rules', atMs: 5, upserts: [rule, { ...rule, vms: ['a', 'b'] }], removals },
  ];
  for (const entry of entries) {
    const bytes = encodeEntry(entry);
    t.same(decodeEntry(bytes), entry);
    for (let length = 0; length < bytes.length; length++) {
      t.throws(() => decodeEntry(bytes.subarray(0, length)), DamagedBytes);
    }
  }
  t.equal(
    reasonOf(() => decodeEntry(Uint8Array.of(77, 0))),
    'VERSION',
  );
});
