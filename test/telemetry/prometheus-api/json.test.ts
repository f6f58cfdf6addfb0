/**
 * Answers of the PromQL URL as bytes: numbers, envelopes, limits and annotations, compared as text.
 */
import { test } from 'tap';
import type { ResultData } from '../../../src/telemetry/promql/engine/engine.ts';
import { Labels } from '../../../src/telemetry/promql/values.ts';
import {
  type EncodingOptions,
  encodeData,
  encodeError,
  encodeLabelSets,
  encodeResult,
  encodeTexts,
  POINT_BYTES_MAX,
  valueText,
  writeValue,
} from '../../../src/telemetry/query/promql/promql-json.ts';
import { seededRandom } from '../../../streams/platform/random.ts';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const none = { warnings: [], infos: [] };

/** The `data` of a result, as text. */
function dataOf(data: ResultData): string {
  const envelope = text(encodeResult({ data, ...none }));
  const prefix = '{"status":"success","data":';
  if (!envelope.startsWith(prefix)) throw new Error(envelope);
  return envelope.slice(prefix.length, -1);
}

test('a scalar is written as its time and a text without an exponent', async (t) => {
  const rows: readonly [number, string][] = [
    [2, '2'],
    [-0, '-0'],
    [0.5, '0.5'],
    [1e-7, '0.0000001'],
    [-1.25e-9, '-0.00000000125'],
    [1e21, '1000000000000000000000'],
    [1.5e22, '15000000000000000000000'],
    [-1e300, `-1${'0'.repeat(300)}`],
    [5e-324, `0.${'0'.repeat(323)}5`],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
  ];
  for (const [value, expected] of rows) {
    const seen = dataOf({ type: 'scalar', timeMs: 4000, value });
    t.equal(seen, `{"resultType":"scalar","result":[4,"${expected}"]}`);
  }
});

test('a value in a vector has an exponent of at least two digits, below 1e-6 and from 1e21', async (t) => {
  const rows: readonly [number, string][] = [
    [0, '0'],
    [-0, '-0'],
    [-1.5, '-1.5'],
    [0.1 + 0.2, '0.30000000000000004'],
    [1e-6, '0.000001'],
    [1e-7, '1e-07'],
    [-1.5e-7, '-1.5e-07'],
    [1.5e-10, '1.5e-10'],
    [5e-324, '5e-324'],
    [1e20, '100000000000000000000'],
    [1e21, '1e+21'],
    [1e100, '1e+100'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
  ];
  for (const [value, expected] of rows) {
    const samples = [{ labels: Labels.empty, value }];
    const seen = dataOf({ type: 'vector', timeMs: 600_123, samples });
    const item = `{"metric":{},"value":[600.123,"${expected}"]}`;
    t.equal(seen, `{"resultType":"vector","result":[${item}]}`);
  }
});

test('a matrix has each series once with its labels, its own times, and escaped texts', async (t) => {
  const series = [
    { labels: { __name__: 'up', vm: 'a"b\\c\n' }, times: [1000, 2500, 3000], values: [1, 2, 3] },
    { labels: { vm: 'ü' }, times: [1000, 2000, 3000.0], values: [4, Number.NaN, 5] },
    { labels: { vm: 'z' }, times: [500, 3000, 4001], values: [6, 7, 8] },
    { labels: {}, times: [], values: [] },
  ].map(({ labels, times, values }) => ({
    labels: Labels.fromRecord(labels),
    timesMs: Float64Array.from(times),
    values: Float64Array.from(values),
  }));
  t.equal(
    dataOf({ type: 'matrix', series }),
    '{"resultType":"matrix","result":[' +
      '{"metric":{"__name__":"up","vm":"a\\"b\\\\c\\n"},"values":[[1,"1"],[2.5,"2"],[3,"3"]]},' +
      '{"metric":{"vm":"ü"},"values":[[1,"4"],[2,"NaN"],[3,"5"]]},' +
      '{"metric":{"vm":"z"},"values":[[0.5,"6"],[3,"7"],[4.001,"8"]]},' +
      '{"metric":{},"values":[]}]}',
  );
});

test('empty results are empty lists, and texts are texts', async (t) => {
  t.equal(
    dataOf({ type: 'vector', timeMs: 0, samples: [] }),
    '{"resultType":"vector","result":[]}',
  );
  t.equal(dataOf({ type: 'matrix', series: [] }), '{"resultType":"matrix","result":[]}');
  t.equal(
    dataOf({ type: 'string', timeMs: -1500, value: 'a"b' }),
    '{"resultType":"string","result":[-1.5,"a\\"b"]}',
  );
  t.equal(text(encodeTexts([])), '{"status":"success","data":[]}');
  t.equal(text(encodeLabelSets([])), '{"status":"success","data":[]}');
  t.equal(text(encodeData({})), '{"status":"success","data":{}}');
  t.equal(
    text(encodeError('bad_data', 'invalid "x"')),
    '{"status":"error","errorType":"bad_data","error":"invalid \\"x\\""}',
  );
});

test('JSON of any depth is written; shallow JSON as JSON.stringify writes it', async (t) => {
  const shallow = { a: [1, null, 'é"', [], {}], b: { c: true, d: [{ e: -0.5 }] } };
  t.equal(text(encodeData(shallow)), `{"status":"success","data":${JSON.stringify(shallow)}}`);
  let deep: unknown = 1;
  for (let i = 0; i < 20_000; i++) deep = { lhs: deep, rhs: [] };
  const encoded = text(encodeData(deep));
  const around = '{"status":"success","data":1}'.length;
  t.equal(encoded.length, around + 20_000 * '{"lhs":,"rhs":[]}'.length);
  t.throws(() => encodeData(deep, { bytesMax: 100_000 }), /exceed 100000 bytes/);
});

test('a limit keeps the first elements and reports the rest, for every kind of list', async (t) => {
  const labels = ['a', 'b', 'c'].map((vm) => Labels.fromRecord({ vm }));
  const samples = labels.map((each) => ({ labels: each, value: 1 }));
  const points = { timesMs: new Float64Array([0]), values: new Float64Array([1]) };
  const series = labels.map((each) => ({ labels: each, ...points }));
  const encoders: readonly ((options: EncodingOptions) => Uint8Array)[] = [
    (options) => encodeTexts(['a', 'b', 'c'], options),
    (options) => encodeLabelSets(labels, options),
    (options) => encodeResult({ data: { type: 'vector', timeMs: 0, samples }, ...none }, options),
    (options) => encodeResult({ data: { type: 'matrix', series }, ...none }, options),
  ];
  for (const encode of encoders) {
    const cut = JSON.parse(text(encode({ limit: 2 })));
    t.equal((cut.data.result ?? cut.data).length, 2);
    t.same(cut.warnings, ['results truncated due to limit']);
    for (const limit of [0, 3, 4]) {
      const whole = JSON.parse(text(encode({ limit })));
      t.equal((whole.data.result ?? whole.data).length, 3);
      t.notOk('warnings' in whole);
    }
  }
});

test('there are at most ten warnings and infos each, and the service’s own are never omitted', async (t) => {
  const made = (kind: string, count: number) =>
    Array.from({ length: count }, (_, i) => `PromQL ${kind}: ${i}`);
  const data: ResultData = { type: 'vector', timeMs: 0, samples: [] };
  const few = { data, warnings: made('warning', 10), infos: [] };
  t.same(JSON.parse(text(encodeResult(few))).warnings, few.warnings);
  const many = { data, warnings: made('warning', 12), infos: made('info', 11) };
  const seen = JSON.parse(text(encodeResult(many, { notices: ['stale'] })));
  const [first, ...others] = seen.warnings;
  t.equal(first, 'stale');
  t.equal(others.length, 9);
  t.equal(others.at(-1), '4 more warning annotations omitted');
  t.equal(seen.infos.length, 10);
  t.equal(seen.infos.at(-1), '2 more info annotations omitted');
  const notices = made('notice', 12);
  const warnings = JSON.parse(text(encodeResult(many, { notices }))).warnings;
  t.same(warnings, [...notices, '12 more warning annotations omitted']);
});

test('an answer past the size limit is refused before it is built', async (t) => {
  const timesMs = Float64Array.from({ length: 10_000 }, (_, i) => i * 30_000);
  const values = timesMs.map((_, i) => i / 7);
  const series = Array.from({ length: 1000 }, (_, i) => {
    return { labels: Labels.fromRecord({ vm: `vm-${i}` }), timesMs, values };
  });
  const refused = (encode: () => unknown, bytes: number) => {
    const message = new RegExp(`exceed ${bytes} bytes`);
    t.throws(encode, { name: 'PromqlError', kind: 'execution', message });
  };
  refused(() => encodeResult({ data: { type: 'matrix', series }, ...none }), 4 * 1024 * 1024);
  refused(() => encodeTexts(['ü'.repeat(40)], { bytesMax: 100 }), 100);
  const exact = encodeTexts(['abc']).length;
  t.equal(encodeTexts(['abc'], { bytesMax: exact }).length, exact);
  refused(() => encodeTexts(['abc'], { bytesMax: exact - 1 }), exact - 1);
});

test('text in chunks of any size is complete, in UTF-8', async (t) => {
  const values = Array.from({ length: 3000 }, (_, i) => `${'é€😀'.repeat(i % 7)}${i}`);
  t.same(JSON.parse(text(encodeTexts(values))).data, values);
});

test('every value is written alike as bytes and as text', async (t) => {
  const random = seededRandom(11);
  const bits = new DataView(new ArrayBuffer(8));
  const anyDouble = () => {
    random.bytes(8).forEach((byte, i) => {
      bits.setUint8(i, byte);
    });
    return bits.getFloat64(0);
  };
  const edges = [0, -0, 0.001, 0.0005, 0.999, 0.9995, 1e-7, 1e9, 999_999_999, 1e12, 1e15, 2 ** 53];
  const near = edges.flatMap((value) => [value, -value, value + 1, value - 1, value + 0.125]);
  const others = Array.from({ length: 20_000 }, (_, i) => {
    const size = 10 ** (i % 18);
    const [high = 0, low = 0] = random.bytes(2);
    const value = ((high * 256 + low) / 65_537) * size;
    return [anyDouble(), value, Math.round(value), Math.round(value * 100) / 100, value / 1000];
  });
  const bytes = new Uint8Array(POINT_BYTES_MAX);
  const wrong = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    ...near,
    ...others.flat(),
  ].filter((value) => {
    const end = writeValue(bytes, 0, value);
    return text(bytes.subarray(0, end)) !== `${valueText(value)}"]`;
  });
  t.same(wrong, []);
});

test('bytes that are not UTF-8 become U+FFFD, as in Prometheus', async (t) => {
  const value = 'a\udcff\ud83d';
  t.equal(
    JSON.parse(text(encodeResult({ data: { type: 'string', timeMs: 0, value }, ...none }))).data
      .result[1],
    'a\ufffd\ufffd',
  );
  t.notMatch(text(encodeResult({ data: { type: 'string', timeMs: 0, value }, ...none })), /\\ud/);
  t.notMatch(text(encodeError('execution', `invalid label ${value}`)), /\\ud/);
  t.notMatch(text(encodeData({ [value]: [value] })), /\\ud/);
});
