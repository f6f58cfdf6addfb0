/**
 * Data of the rule preview: its range, the segments of a lane, its counts, the times of traced
 * readings, and the steps of a threshold.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { limitAfterKey, limitStep, roundedLimit } from '../../src/dashboard/charts/limit-steps.ts';
import {
  eventfulFirst,
  firstKnownMs,
  laneCounts,
  laneShapes,
  type PreviewedInstance,
  rangeAtOnce,
  rangeOnRequest,
  traceData,
} from '../../src/dashboard/pages/alerting/rules/preview-data.ts';

const HOUR = 3_600;
const WEEK = 604_800;

test('DASH-19: a preview covers round durations of up to half a million samples', async (t) => {
  for (const [vms, seconds] of [
    [0, WEEK],
    [1, WEEK],
    [24, WEEK],
    [25, 3 * 24 * HOUR],
    [86, 2 * 24 * HOUR],
    [87, 24 * HOUR],
    [200, 12 * HOUR],
    [500, 6 * HOUR],
    [100_000, 900],
  ] as const) {
    t.equal(rangeAtOnce(vms), seconds, `${vms} VMs`);
  }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 16_000 }), (vms) => {
      return (vms * rangeAtOnce(vms)) / 30 <= 500_000 && rangeOnRequest(vms) >= rangeAtOnce(vms);
    }),
  );
  t.equal(rangeOnRequest(400), WEEK, 'the whole week on request');
  t.equal(rangeOnRequest(500), 3 * 24 * HOUR, 'limited by the service');
});

type Segment = readonly [state: 'IDLE' | 'SUSTAINING' | 'FIRING', isMissing: boolean, end: number];

/** Consecutive segments from 0, with ends in ms. */
function instanceOf(segments: readonly Segment[], more: Partial<PreviewedInstance> = {}) {
  return {
    vmName: 'projects/p/vms/v',
    vmDisplayName: 'v',
    labels: {},
    firings: 0,
    segmentsTruncated: false,
    segments: segments.map(([state, isMissing, end], i) => ({
      state,
      dataState: isMissing ? ('MISSING' as const) : ('OBSERVED' as const),
      cause: '',
      startUnixMs: String(segments[i - 1]?.[2] ?? 0),
      endUnixMs: String(end),
    })),
    ...more,
  };
}

const whole = { startMs: 0, endMs: 1_000 };

test('DASH-19: a line has a segment for each state and none where data is missing', async (t) => {
  const lane = instanceOf([
    ['IDLE', false, 200],
    ['SUSTAINING', false, 400],
    ['FIRING', false, 600],
    ['FIRING', true, 800],
    ['FIRING', false, 1_000],
  ]);
  t.same(laneShapes(lane, whole, 100), [
    { kind: 'known', fromPx: 0, toPx: 60 },
    { kind: 'sustaining', fromPx: 20, toPx: 40 },
    { kind: 'firing', fromPx: 40, toPx: 100 },
    { kind: 'missing', fromPx: 60, toPx: 80 },
    { kind: 'known', fromPx: 80, toPx: 100 },
  ]);
});

test('the time before the listed segments is only marked as unlisted', async (t) => {
  const lane = { ...instanceOf([['IDLE', false, 1_000]]), segmentsTruncated: true };
  const [first] = lane.segments;
  const cut = { ...lane, segments: first ? [{ ...first, startUnixMs: '500' }] : [] };
  t.same(laneShapes(cut, whole, 100), [
    { kind: 'unlisted', fromPx: 0, toPx: 50 },
    { kind: 'known', fromPx: 50, toPx: 100 },
  ]);
});

test('DASH-19: a line has no more segments than pixels', async () => {
  const state = fc.constantFrom('IDLE' as const, 'SUSTAINING' as const, 'FIRING' as const);
  const segments = fc.array(fc.tuple(state, fc.boolean(), fc.integer({ min: 1, max: 50 })), {
    maxLength: 300,
  });
  fc.assert(
    fc.property(segments, fc.integer({ min: 10, max: 400 }), (parts, width) => {
      let end = 0;
      const lane = instanceOf(
        parts.map(([condition, isMissing, length]) => {
          end += length;
          return [condition, isMissing, end];
        }),
      );
      const shapes = laneShapes(lane, { startMs: 0, endMs: Math.max(1, end) }, width);
      const isInside = shapes.every(({ fromPx, toPx }) => {
        return fromPx >= 0 && toPx <= width && toPx > fromPx;
      });
      return isInside && shapes.length <= 4 * Math.ceil(width / 3 + 1);
    }),
  );
});

test('DASH-19: gaps after the first reading and runs that did not fire are counted', async (t) => {
  const lane = instanceOf(
    [
      ['IDLE', true, 100_000],
      ['IDLE', false, 200_000],
      ['SUSTAINING', false, 300_000],
      ['IDLE', false, 400_000],
      ['IDLE', true, 460_000],
      ['SUSTAINING', false, 500_000],
      ['SUSTAINING', true, 520_000],
      ['FIRING', true, 530_000],
      ['FIRING', false, 600_000],
    ],
    { firings: 1 },
  );
  t.same(laneCounts(lane), {
    firings: 1,
    runs: 1,
    gaps: 2,
    gapSeconds: 90,
    isAtLeast: false,
    state: 'FIRING',
  });
  t.equal(firstKnownMs(lane), 100_000);
  t.equal(firstKnownMs(instanceOf([['IDLE', true, 100]])), undefined, 'there is no data for it');
  const quiet = instanceOf([['IDLE', false, 1_000]]);
  const gap = instanceOf([
    ['IDLE', false, 10],
    ['IDLE', true, 20],
    ['IDLE', false, 30],
  ]);
  t.same(eventfulFirst([quiet, gap, lane]), [lane, gap, quiet]);
});

test('DASH-19: readings are drawn at their observation times, and no line crosses a gap', async (t) => {
  const sample = (ms: number, value: number) => ({
    observedUnixMs: String(ms),
    value,
    breaches: false,
  });
  const gap = (from: number, to: number, tolerated: boolean) => ({
    startUnixMs: String(from),
    endUnixMs: String(to),
    tolerated,
  });
  const { segments } = instanceOf([['IDLE', false, 700_000]]);
  const trace = {
    ruleName: '',
    ruleDisplayName: '',
    vmName: 'projects/p/vms/v',
    vmDisplayName: 'v',
    labels: {},
    path: [],
    segments,
    samples: [sample(100_000, 0), sample(130_000, 2), sample(190_000, 3), sample(500_000, 4)],
    gaps: [
      gap(0, 100_000, false),
      gap(130_000, 190_000, true),
      gap(190_000, 500_000, false),
      gap(500_000, 700_000, false),
    ],
  };
  const data = traceData(trace, 0, { unit: 'percent', reason: 'none' });
  t.same(data.times, [0, 50, 100, 130, 160, 190, 345, 500, 600, 700]);
  t.same(data.columns[0]?.values, [null, null, 0, 2, null, 3, null, 4, null, null]);
  t.same(data.columns[0]?.lone, [5, 7], 'a single value is a dot');
  t.same(
    data.gaps.map(({ startUnix, endUnix }) => [startUnix, endUnix]),
    [
      [0, 100],
      [190, 500],
      [500, 700],
    ],
    'tolerated gaps are not hatched',
  );
  t.same(data.last, { timeUnix: 500, value: 4 });
  const later = traceData(trace, 100_000, { unit: 'percent', reason: 'none' });
  t.equal(later.times[0], 100, 'earlier readings are dropped');
  const none = traceData({ ...trace, samples: [] }, 0, { unit: '', reason: '' });
  t.same(none.columns, []);
  t.equal(none.last, undefined);
});

test('a threshold moves in round steps, about a hundred per chart', async (t) => {
  t.equal(limitStep({ least: 0, greatest: 100 }), 1);
  t.equal(limitStep({ least: 12, greatest: 98 }), 1);
  t.equal(limitStep({ least: 0, greatest: 5 }), 0.1);
  t.equal(limitStep({ least: 3, greatest: 3 }), 1);
  const domain = { least: 0, greatest: 100 };
  t.equal(roundedLimit(90.4, domain), 90);
  t.equal(limitAfterKey('ArrowUp', 90, domain), 91);
  t.equal(limitAfterKey('ArrowDown', 92.5, domain), 92, 'from between two steps to the next one');
  t.equal(limitAfterKey('PageUp', 90, domain), 100);
  t.equal(limitAfterKey('PageDown', 90, domain), 80);
  t.equal(limitAfterKey('ArrowRight', 0.2, { least: 0, greatest: 8 }), 0.3);
  t.equal(limitAfterKey('a', 90, domain), undefined);
});
