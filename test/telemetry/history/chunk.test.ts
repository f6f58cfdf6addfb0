/**
 * Chunks are decoded bit for bit, whatever their columns; one series is decoded without the others;
 * damaged chunks are rejected. Columns have the shapes that the codec treats differently:
 * constants, decimals, counters with resets, noise, gaps.
 */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { test } from 'tap';
import { Chunk, encodeChunk } from '../../../sqlite/telemetry/history/chunk/chunk-codec.ts';
import { readColumn, writeColumn } from '../../../sqlite/telemetry/history/chunk/column-codec.ts';
import { statisticsOf } from '../../../sqlite/telemetry/history/chunk/statistics.ts';
import { noRows, type VmRows } from '../../../sqlite/telemetry/history/rows.ts';
import { ByteReader, DamagedBytes } from '../../../streams/telemetry/samples/byte-reader.ts';
import { ByteWriter } from '../../../streams/telemetry/samples/byte-writer.ts';
import { tries } from '../../support/tries.ts';

const hard = fc.constantFrom(
  ...[0, -0, 5e-324, -5e-324, 2 ** 53, -(2 ** 53), 2 ** 53 - 1, Number.MAX_VALUE, 1e300],
  ...[0.1, 0.1 + 0.2, 1 / 3, 99.9, -0.05, 1e-9, 4294967295, 4294967296, 123456789.12345679],
);
const double = fc.double({ noNaN: true, noDefaultInfinity: true });
const count = { minLength: 1, maxLength: 400 };

/** A counter that is sometimes reset, in units of `unit`. */
const counter = fc
  .tuple(
    fc.constantFrom(1, 512, 4096, 0.01, 1e-9),
    fc.maxSafeNat(),
    fc.array(fc.nat(5000), { minLength: 1, maxLength: 400 }),
  )
  .map(([unit, start, steps]) => {
    let at = start % 1e9;
    return steps.map((step) => {
      at = step === 0 ? 0 : at + step;
      return at * unit;
    });
  });
const values = fc.oneof(
  fc.array(double, count),
  fc.array(hard, count),
  fc.array(fc.oneof(hard, double), count),
  fc.array(
    fc.integer({ min: -1000, max: 1000 }).map((n) => n / 10),
    count,
  ),
  fc.array(fc.maxSafeInteger(), count),
  fc.tuple(fc.oneof(hard, double), fc.integer({ min: 1, max: 400 })).map(fill),
  counter,
);
function fill([value, length]: [number, number]): number[] {
  return new Array<number>(length).fill(value);
}

/** A column with gaps: NaN where the mask (repeated) is false, with at least one value. */
const column = fc.tuple(values, fc.array(fc.boolean(), { maxLength: 9 })).map(([list, mask]) => {
  const holed = list.map((value, i) => ((mask[i % mask.length] ?? true) ? value : Number.NaN));
  return Float64Array.from(holed.every(Number.isNaN) ? list : holed);
});

function roundTrip(list: Float64Array): Float64Array {
  const writer = new ByteWriter(1);
  writeColumn(writer, list);
  const reader = new ByteReader(writer.view());
  const again = readColumn(reader, list.length);
  reader.assertEnd();
  return again;
}

test('columns at the bound of exact integers are read back bit for bit', async (t) => {
  const max = Number.MAX_SAFE_INTEGER;
  const bounds = [
    [0, 2 ** 53, 0],
    [0, -(2 ** 53), 0],
    [2 ** 53, 2 ** 53 - 1, 2 ** 53 - 2],
    [0, max, 0],
    [-max, max, 0],
    [2 ** 53 + 2, 1, 0.5],
  ];
  for (const list of bounds)
    t.strictSame(roundTrip(Float64Array.from(list)), Float64Array.from(list));
});

test('any column is read back bit for bit, with absent values absent', async (t) => {
  fc.assert(
    fc.property(column, (list) => isDeepStrictEqual(roundTrip(list), list)),
    { numRuns: tries(3000) },
  );
  t.throws(() => writeColumn(new ByteWriter(), Float64Array.of(Number.NaN)), RangeError);
});

test('steady readings of a day take less than 1.5 bytes each', async (t) => {
  const size = (make: (i: number) => number) => {
    const writer = new ByteWriter();
    writeColumn(
      writer,
      Float64Array.from({ length: 2880 }, (_, i) => make(i)),
    );
    return writer.length / 2880;
  };
  const noise = (i: number) => Math.abs(Math.sin(i * 12.9898) * 43758.5453) % 1;
  t.ok(size(() => 17179869184) < 0.01, 'a constant');
  t.ok(size((i) => Math.round(200 + 40 * noise(i)) / 10) < 1, 'a gauge with one decimal');
  t.ok(size((i) => i * 1_000_000 + Math.floor(noise(i) * 100)) < 1, 'a counter');
  t.ok(size((i) => Math.floor(noise(i) * 200) * 4096) < 1.2, 'pages of 4 KiB');
});

const text = fc.oneof(fc.uuid(), fc.string({ unit: 'grapheme', maxLength: 9 }));
const vmRows: fc.Arbitrary<VmRows> = fc
  .tuple(column, fc.array(column, { maxLength: 3 }), fc.uniqueArray(text, { maxLength: 3 }))
  .chain(([first, others, texts]) => {
    const rows = first.length;
    const strings = ['', ...texts.filter((one) => one !== '')];
    const code = (max: number) => fc.array(fc.nat(max), { minLength: rows, maxLength: rows });
    return fc.tuple(code(4), code(strings.length - 1), code(1)).map(([state, boot, conflicted]) => {
      const series = new Map([['a', first]]);
      for (const [i, other] of others.entries()) {
        const cut = Float64Array.from({ length: rows }, (_, row) => other[row] ?? Number.NaN);
        series.set(`b{n="${i}"}`, cut);
      }
      const timesMs = Float64Array.from(state, (step, i) => 1.7e12 + i * 30_000 + step);
      const vcpus = Float64Array.from(state, (one) => (one === 0 ? Number.NaN : one));
      return {
        timesMs,
        series,
        vcpus,
        strings,
        state: Uint8Array.from(state),
        boot: Uint32Array.from(boot),
        stateReason: Uint32Array.from(boot).reverse(),
        conflicted: Uint8Array.from(conflicted),
        conflicts: conflicted.filter((bit) => bit === 1).length,
      };
    });
  });

/** A dictionary like the store's. */
function dictionary() {
  const keys: string[] = [];
  const idOf = (key: string) => (keys.includes(key) ? keys.indexOf(key) : keys.push(key) - 1);
  return { idOf, keyOf: (id: number) => keys[id] };
}

test('any rows of a VM are read back unchanged, and one series is read without the others', async (t) => {
  fc.assert(
    fc.property(vmRows, (rows) => {
      const { idOf, keyOf } = dictionary();
      const chunk = new Chunk(encodeChunk(rows, idOf));
      const again = chunk.rows(keyOf);
      const series = [...rows.series].filter(([, list]) => !list.every(Number.isNaN));
      const one = chunk.rows((id) => (keyOf(id) === 'a' ? 'a' : undefined));
      return (
        isDeepStrictEqual(again, { ...rows, series: new Map(series) }) &&
        isDeepStrictEqual([...one.series], [['a', rows.series.get('a')]])
      );
    }),
    { numRuns: tries(500) },
  );
  t.throws(() => encodeChunk(noRows(), () => 0), RangeError, 'no rows make no chunk');
});

test('statistics equal those of the decoded values, in short and in long chunks', async (t) => {
  for (const length of [5, 600]) {
    const list = Float64Array.from({ length }, (_, i) => (i % 7 === 3 ? Number.NaN : (i % 50) / 8));
    const zeros = new Uint32Array(length);
    const rows: VmRows = {
      ...noRows(),
      timesMs: list.map((_, i) => i),
      vcpus: list,
      series: new Map([['a', list]]),
      state: new Uint8Array(length),
      boot: zeros,
      stateReason: zeros,
      conflicted: new Uint8Array(length),
    };
    const chunk = new Chunk(encodeChunk(rows, () => 7));
    t.same(chunk.statistics(7), statisticsOf(list));
    t.equal(chunk.statistics(8), undefined);
    t.equal(chunk.values(8), undefined);
  }
  const { resets, count, sum } = statisticsOf(Float64Array.of(5, 3, Number.NaN, 4, 1));
  t.same({ resets, count, sum }, { resets: 2, count: 4, sum: 13 });
});

test('a chunk that is truncated or altered in one bit is rejected', async (t) => {
  const sample = fc.sample(vmRows, { numRuns: 5, seed: 11 });
  for (const rows of sample) {
    const bytes = encodeChunk(rows, dictionary().idOf);
    for (let at = 0; at < bytes.length; at += 1 + Math.floor(bytes.length / 500)) {
      const altered = Uint8Array.from(bytes);
      altered[at] = (altered[at] ?? 0) ^ (1 << (at % 8));
      t.throws(() => new Chunk(altered), DamagedBytes);
      t.throws(() => new Chunk(bytes.subarray(0, at)), DamagedBytes);
    }
  }
});
