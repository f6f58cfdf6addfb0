/**
 * Rows of sources in storable form: each reading that is cut or left out is named, and the rest is
 * passed on.
 */

import { create, toJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { test } from 'tap';
import type { ObservedRow, ObservedValue } from '../../../actors/telemetry/collectors/collector.ts';
import { storableRows } from '../../../actors/telemetry/collectors/storable-row.ts';
import { RowSchema } from '../../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { rowMessage } from '../../../src/vms/agent/row-message.ts';
import { seriesKey } from '../../../streams/telemetry/samples/batch.ts';
import { anyText } from '../../support/any-text.ts';
import { startRpcWorld } from '../../support/api-in-process.ts';
import { START_MS } from '../../support/host-in-memory.ts';
import { tries } from '../../support/tries.ts';

const CPU = 'svc_vm_cpu_seconds_total';
const FS = 'svc_vm_filesystem_used_bytes';
const mount = (mountpoint: string, value = 1): ObservedValue => [
  seriesKey(FS, { fstype: 'ext4', mountpoint }),
  value,
];

const row = (change: Partial<ObservedRow> = {}): ObservedRow => ({
  vm: 'vm-1',
  displayName: 'web',
  observedMs: START_MS,
  bootId: 'boot',
  sequence: 1,
  vcpus: 2,
  state: 'RUNNING',
  stateReason: '',
  values: [[CPU, 1]],
  ...change,
});

/** Storable form of a single row. */
function fitted(change: Partial<ObservedRow>) {
  const { rows, faults, leftOut } = storableRows([row(change)]);
  const [stored] = rows;
  return { row: stored?.row, named: stored?.row.leftOut ?? [], fault: faults[0], leftOut };
}

test('SRC-16: a storable row is passed on unchanged', async (t) => {
  const observed = row({ values: [[CPU, 0], mount('/'), ['own_series', -1.5]] });
  const { rows, faults, leftOut } = storableRows([observed]);
  t.equal(rows[0]?.row, observed);
  t.same([faults, leftOut], [[], 0]);
});

test('SRC-16: a reading that cannot be stored is left out, counted and named', async (t) => {
  const cases: readonly (readonly [string, ObservedValue, string])[] = [
    ['a long mount path', mount(`/${'m'.repeat(220)}`), 'BAD_LABEL'],
    ['a mount path of two lines', mount('/a\nb'), 'BAD_LABEL'],
    ['a control character', mount('/a\u0007'), 'BAD_LABEL'],
    ['half a surrogate pair', mount('/a\ud800'), 'BAD_LABEL'],
    ['not a number', [CPU, Number.NaN], 'NOT_FINITE'],
    ['an infinite number', [CPU, Number.POSITIVE_INFINITY], 'NOT_FINITE'],
    ['a number above 64 bits', [CPU, 1e308], 'TOO_LARGE'],
    ['a repeated series', mount('/'), 'BAD_SERIES'],
    ['an invalid name', ['cpu seconds', 1], 'BAD_SERIES'],
    ['a key that is not canonical', [`${FS}{b="1",a="2"}`, 1], 'BAD_SERIES'],
    ['a reserved name', ['svc_vm_running', 1], 'RESERVED_NAME'],
    ['a reserved label', [seriesKey('own', { vm: 'x' }), 1], 'RESERVED_NAME'],
  ];
  for (const [name, bad, reason] of cases) {
    const good = [mount('/'), mount('/data')];
    const found = fitted({ values: [...good, bad] });
    t.same(found.row?.values, good, name);
    t.match(found.named, [{ reason }], name);
    t.equal(found.leftOut, 1, name);
    t.match(found.fault, { reason: 'NOT_STORABLE', vm: 'vm-1', message: /VM "web" cannot/ }, name);
  }
});

test('SRC-16: names are cut to a storable length, between code points', async (t) => {
  const displayName = `${'x'.repeat(199)}😀${'y'.repeat(50)}`;
  const found = fitted({ displayName, stateReason: 'a\nb' });
  t.equal(found.row?.displayName, 'x'.repeat(199));
  t.equal(found.row?.stateReason, 'a b', 'a line break is replaced without a report');
  t.match(found.named, [{ series: 'displayName', reason: 'BAD_FIELD', message: /251 characters/ }]);
  t.equal(found.leftOut, 1);
  t.match(fitted({ vcpus: 1.5 }).row, { vcpus: undefined, values: [[CPU, 1]] });
});

test('SRC-16: a whole row is left out only if nothing in it would be true', async (t) => {
  for (const change of [
    { vm: 'my vm' },
    { vm: 'x'.repeat(129) },
    { bootId: 'x'.repeat(201) },
    { observedMs: Number.NaN },
  ]) {
    const found = fitted(change);
    t.equal(found.row, undefined, JSON.stringify(change));
    t.match(found.fault, { reason: 'NOT_STORABLE' });
  }
});

test('SRC-16: series beyond the maximum of a row are cut, and their number is named', async (t) => {
  const many = Array.from({ length: 1_200 }, (_, i) => mount(`/${i}`));
  const found = fitted({ values: many });
  t.equal(found.row?.values.length, 1_000);
  t.equal(found.leftOut, 200);
  t.equal(found.named.length, 20);
  t.match(found.fault?.message, /197 more\./);
  const long = Array.from({ length: 900 }, (_, i) => mount(`/${i}`.padEnd(200, 'é')));
  const kept = fitted({ values: long }).row?.values ?? [];
  const bytes = kept.reduce((sum, [key]) => sum + Buffer.byteLength(key), 0);
  t.ok(kept.length > 300 && bytes <= 160 * 1024, `${kept.length} of ${bytes} bytes`);
});

const text = fc.oneof(
  anyText({ maxLength: 250 }),
  fc.constantFrom('', 'x'.repeat(201), 'a\nb', '\ud800', '\u0000', '\u202e', '/mnt'),
);
const anyRow = fc.record({
  vm: fc.oneof({ weight: 5, arbitrary: fc.constantFrom('vm-1', 'vm-2') }, text),
  displayName: text,
  bootId: fc.oneof({ weight: 5, arbitrary: fc.constant('boot') }, text),
  stateReason: text,
  vcpus: fc.oneof(fc.nat(64), fc.double(), fc.integer()),
  values: fc.array(
    fc.tuple(
      fc.oneof(
        text.map((mountpoint) => seriesKey(FS, { mountpoint })),
        fc.tuple(text, text).map(([label, value]) => seriesKey('own', { [label]: value })),
        text,
        fc.constant(CPU),
      ),
      fc.double(),
    ),
    { maxLength: 6 },
  ),
});

test('SRC-16: the service rejects nothing in a row that a source passes on', async (t) => {
  const world = await startRpcWorld(t);
  const passed = async (changes: readonly Partial<ObservedRow>[]) => {
    const { rows } = storableRows(changes.map((change) => row(change)));
    const sent = rows.map(({ row: one }) => toJson(RowSchema, create(RowSchema, rowMessage(one))));
    const { status, body } = await world.call(
      'WriteSamples',
      { projectName: 'projects/demo', rows: sent },
      { key: world.keys.collector },
    );
    const rejected = (body.rejected ?? []).filter(
      ({ reason }: { readonly reason: string }) => reason !== 'LIMIT_EXCEEDED',
    );
    if (status !== 200 || rejected.length > 0) throw new Error(JSON.stringify(body));
  };
  await fc.assert(fc.asyncProperty(fc.array(anyRow, { maxLength: 4 }), passed), {
    numRuns: tries(300),
  });
});
