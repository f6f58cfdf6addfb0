/**
 * Charts: no line crosses a gap, a single value is a dot, an absent reading is not zero, and the
 * browser's own clock shifts nothing. Responses are formatted as by the API.
 */
import fc from 'fast-check';
import { test } from 'tap';
import {
  domainOf,
  position,
  roundMarks,
  timeMarks,
  valueAt,
} from '../../src/dashboard/charts/axis.ts';
import { gapAt, type HistoryAnswer, historyData } from '../../src/dashboard/charts/history-data.ts';
import { parseRange, STEPS_SECONDS, stepFor } from '../../src/dashboard/charts/range.ts';
import { nearestStep, windowData } from '../../src/dashboard/charts/window-data.ts';
import { formatReading } from '../../src/dashboard/messages/format.ts';

const START = 1_763_900_000;

type Value = number | null;

/** A response with one series, and a value or none for each step. */
function answerOf(values: readonly Value[], more: Partial<HistoryAnswer> = {}): HistoryAnswer {
  const points = values.flatMap((value, i) =>
    value === null ? [] : [{ timeUnix: String(START + i * 30), value }],
  );
  return {
    startTimeUnix: String(START),
    endTimeUnix: String(START + (values.length - 1) * 30),
    stepSeconds: 30,
    series: [{ metricId: 'cpu', unit: 'percent', labels: {}, points }],
    ...more,
  };
}

function qualityWith(gaps: { startUnix: string; endUnix: string; reason: string }[]) {
  return {
    quality: {
      state: 'PARTIAL' as const,
      datacenterState: 'LIVE',
      expectedSamples: '0',
      observedSamples: '0',
      gaps,
      metrics: [],
      reasons: [],
      impossible: [],
    },
  };
}

test('absent steps are null, and zero stays zero', async (t) => {
  const { columns, times } = historyData(answerOf([0, null, null, 7]), 'cpu');
  t.same(columns[0]?.values, [0, null, null, 7]);
  t.same(times, [START, START + 30, START + 60, START + 90]);
});

test('values without neighbours are dots, also at the edges', async (t) => {
  const cases = [
    { values: [1, null, 2, null, 3], lone: [0, 2, 4] },
    { values: [1, 2, null, 3], lone: [3] },
    { values: [1, 2, 3], lone: [] },
    { values: [5], lone: [0] },
    { values: [null, null], lone: [] },
  ];
  for (const { values, lone } of cases) {
    t.same(historyData(answerOf(values), 'cpu').columns[0]?.lone, lone, JSON.stringify(values));
  }
});

test('every value is drawn, in a line or as a dot', async () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.double({ noNaN: true })), { minLength: 1 }), (values) => {
      const column = historyData(answerOf(values), 'cpu').columns[0];
      if (column === undefined) return false;
      return column.values.every((value, i) => {
        const isLone = column.lone.includes(i);
        const hasNeighbour = [i - 1, i + 1].some((j) => (column.values[j] ?? null) !== null);
        return value === null ? !isLone : isLone !== hasNeighbour;
      });
    }),
  );
});

test('bounds and step are those of the response, whatever was requested', async (t) => {
  const answer = answerOf([1, 2, 3], { stepSeconds: 900, endTimeUnix: String(START + 1_800) });
  answer.series[0]?.points.forEach((point, i) => {
    point.timeUnix = String(START + i * 900);
  });
  const data = historyData(answer, 'cpu');
  t.equal(data.stepSeconds, 900);
  t.same(data.columns[0]?.values, [1, 2, 3]);
  t.same(data.times, [START, START + 900, START + 1_800]);
});

test('a point outside the bounds is dropped', async (t) => {
  const answer = answerOf([1, 2]);
  answer.series[0]?.points.push({ timeUnix: String(START + 600), value: 9 });
  answer.series[0]?.points.push({ timeUnix: String(START - 600), value: 9 });
  t.same(historyData(answer, 'cpu').columns[0]?.values, [1, 2]);
});

test('minimum and maximum exist only if the response has them', async (t) => {
  t.equal(historyData(answerOf([1, 2]), 'cpu').columns[0]?.least, undefined);
  const answer = answerOf([1, null, 3]);
  answer.series[0]?.points.forEach((point) => {
    point.min = 0;
    point.max = 4;
  });
  t.match(historyData(answer, 'cpu').columns[0], { least: [0, null, 0], greatest: [4, null, 4] });
});

test('a stale VM shows the time of its last reading and the reason of the gap', async (t) => {
  const gap = {
    startUnix: String(START + 30),
    endUnix: String(START + 9_999),
    reason: 'NO_SAMPLES',
  };
  const data = historyData(answerOf([5, 6, null, null, null], qualityWith([gap])), 'cpu');
  t.same(data.last, { timeUnix: START + 30, value: 6 });
  t.same(data.gaps, [{ startUnix: START + 30, endUnix: START + 120, reason: 'NO_SAMPLES' }]);
  t.equal(gapAt(data.gaps, START + 30), undefined, 'there is no last reading');
  t.equal(gapAt(data.gaps, START + 60)?.reason, 'NO_SAMPLES');
});

test('the last reading is not later than a gap that begins within its step', async (t) => {
  const gap = {
    startUnix: String(START + 19),
    endUnix: String(START + 9_999),
    reason: 'NO_SAMPLES',
  };
  const data = historyData(answerOf([5, 6, null, null], qualityWith([gap])), 'cpu');
  t.same(data.last, { timeUnix: START + 19, value: 6 });
  const late = historyData(answerOf([5, 6, null]), 'cpu');
  t.same(
    late.last,
    { timeUnix: START + 30, value: 6 },
    'a reading that is not due yet is not a gap',
  );
});

test('the age of readings has no gaps, because it is known without readings', async (t) => {
  const gap = { startUnix: String(START), endUnix: String(START + 60), reason: 'NO_SAMPLES' };
  const answer = answerOf([1, 31, 61], qualityWith([gap]));
  for (const series of answer.series) series.metricId = 'telemetry_age_seconds';
  t.same(historyData(answer, 'telemetry_age_seconds').gaps, []);
});

test('a series is named by its mount, or else by its labels', async (t) => {
  const cases = [
    { labels: {}, name: '' },
    { labels: { device: 'vda' }, name: 'vda' },
    { labels: { fstype: 'ext4', mountpoint: '/var' }, name: '/var (ext4)' },
    { labels: { mountpoint: '/' }, name: '/' },
  ];
  for (const { labels, name } of cases) {
    const answer = answerOf([1]);
    for (const series of answer.series) series.labels = labels;
    t.equal(historyData(answer, 'cpu').columns[0]?.name, name);
  }
});

test('a response without series has times but no values', async (t) => {
  const data = historyData(answerOf([null, null], { series: [] }), 'cpu');
  t.match(data, { columns: [], last: undefined });
  t.equal(data.times.length, 2);
});

test('the smallest step with at most 720 points is requested', async (t) => {
  const cases = [
    { hours: 0.25, step: 30 },
    { hours: 5.99, step: 30 },
    { hours: 6, step: 60 },
    { hours: 24, step: 300 },
    { hours: 48, step: 300 },
    { hours: 168, step: 900 },
  ];
  for (const { hours, step } of cases) t.equal(stepFor(hours * 3_600), step, `${hours} h`);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 604_800 }), (seconds) => {
      const step = stepFor(seconds);
      const smaller = STEPS_SECONDS.filter((each) => each < step);
      const points = (of: number): number => Math.floor(seconds / of) + 1;
      return points(step) <= 720 && smaller.every((each) => points(each) > 720);
    }),
  );
});

test('a range is read from the address', async (t) => {
  const now = 1_764_000_000.7;
  const of = (query: string) => parseRange(new URLSearchParams(query), now);
  t.same(of(''), { startUnix: 1_763_996_400, endUnix: 1_764_000_000, isLive: true });
  t.match(of('range=6h'), { startUnix: 1_763_978_400, isLive: true });
  t.same(of('from=100&to=200'), { startUnix: 100, endUnix: 200, isLive: false });
  t.match(of('range=nonsense'), { startUnix: 1_763_996_400 });
  t.match(of('from=200&to=100'), { isLive: true }, 'a reversed range is invalid');
  t.match(of('from=1e3&to=2e3'), { isLive: true });
  t.match(of('from=0&to=1000000'), { startUnix: 395_200 }, 'at most seven days');
});

test('positions and values convert both ways, and tick marks are round', async (t) => {
  const scale = { from: 100, to: 200, fromPx: 50, toPx: 850 };
  t.equal(position(scale, 150), 450);
  t.equal(valueAt(scale, 450), 150);
  t.equal(valueAt(scale, -40), 100, 'never beyond the ends');
  t.equal(position({ ...scale, to: 100 }, 100), 450, 'a single time is in the middle');
  t.same(roundMarks(0, 100, 4, 'percent'), [0, 50, 100]);
  t.same(roundMarks(0.1, 0.42, 4, 'load'), [0.1, 0.2, 0.3, 0.4]);
  const [kibibyte, gibibyte] = [1024, 1024 ** 3];
  const rates = roundMarks(57_000, 104_000, 4, 'bytes_per_second');
  t.same(rates, [60 * kibibyte, 80 * kibibyte, 100 * kibibyte], 'round in their displayed unit');
  const sizes = roundMarks(1.2 * gibibyte, 1.285 * gibibyte, 5, 'bytes');
  t.same(
    sizes.map((size) => formatReading(size, 'bytes', { locale: 'en', timeZone: 'UTC' })),
    ['1.2 GiB', '1.22 GiB', '1.24 GiB', '1.26 GiB', '1.28 GiB'],
  );
  t.same(timeMarks(10_000, 190_000, 4), [60_000, 120_000, 180_000]);
});

test('the value axis covers all values with a margin, and percentages stay within 0 to 100', async (t) => {
  t.same(domainOf([0, 100], 'percent'), [0, 100]);
  const [least, greatest] = domainOf([20, 40], 'bytes');
  t.ok(least < 20 && greatest > 40);
  t.same(domainOf([5, 5], 'load').map(Math.sign), [1, 1], 'equal values still have an axis');
});

const CONDITION = {
  metricId: 'cpu',
  unit: 'percent',
  operator: 'GREATER_THAN' as const,
  threshold: 90,
  sustainedSeconds: 60,
  gapToleranceSeconds: 90,
};

function sampleAt(seconds: number, value: number) {
  return { observedUnixMs: String(seconds * 1_000), value, breaches: value > 90 };
}

test('each gap in the window ends the line, even a tolerated one', async (t) => {
  const gap = (from: number, to: number, tolerated: boolean) => ({
    startUnixMs: String(from * 1_000),
    endUnixMs: String(to * 1_000),
    tolerated,
  });
  const data = windowData({
    condition: CONDITION,
    samples: [0, 30, 100, 130, 400, 430].map((at) => sampleAt(at, 95)),
    gaps: [gap(30, 100, true), gap(130, 400, false)],
    startedMs: 400_000,
    firedMs: 460_000,
  });
  t.same(
    data.lines.map((line) => line.map(({ ms }) => ms / 1_000)),
    [
      [0, 30],
      [100, 130],
      [400, 430],
    ],
  );
  t.same(
    data.spans.map(({ kind }) => kind),
    ['tolerated', 'gap', 'sustained'],
  );
  t.match(data, { startMs: 0, endMs: 460_000 }, 'the axis reaches to the end of the span');
});

test('the window covers both thresholds, even far from its samples', async (t) => {
  const data = windowData({
    condition: { ...CONDITION, recoveryThreshold: 20 },
    samples: [sampleAt(0, 95)],
    gaps: [],
  });
  t.ok(data.least < 20 && data.greatest > 95);
});

test('a window without samples, fired by missing data, can be drawn', async (t) => {
  const data = windowData({ condition: CONDITION, samples: [], gaps: [] });
  t.same(data.marks, []);
  t.ok(data.endMs > data.startMs && data.greatest > data.least);
});

test('the slider selects the nearest step, and the last of simultaneous steps', async (t) => {
  const steps = [0, 100, 100, 100, 300];
  t.equal(nearestStep(steps, 40), 0);
  t.equal(nearestStep(steps, 120), 3);
  t.equal(nearestStep(steps, 999), 4);
});
