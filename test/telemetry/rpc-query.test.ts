/**
 * Queries on the wire: valid requests, and the points in their answers. Every test checks that a
 * point that was not observed is not in an answer, and that an observed 0 is.
 */
import * as fc from 'fast-check';
import { test } from 'tap';
import {
  type RpcWorld,
  type SampleRow,
  START_SECONDS,
  startRpcWorld,
  VM,
} from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { tries } from '../support/tries.ts';

const DAY = 86_400;
const CPU = 'svc_vm_cpu_utilization_pct';

/** One hour up to the start, in minutes. */
const hour = {
  name: VM,
  metricIds: ['cpu_utilization_pct'],
  startTimeUnix: String(START_SECONDS - 3600),
  endTimeUnix: String(START_SECONDS),
  stepSeconds: 60,
};

const ask = (world: RpcWorld, change: object = {}) =>
  world.call('QueryVMMonitoring', { ...hour, ...change });

/** A row `secondsAgo` before the start. */
function row(secondsAgo: number, cpu?: number, more: Partial<SampleRow> = {}): SampleRow {
  const values = cpu === undefined ? [] : [{ series: CPU, value: cpu }];
  return { observedUnixMs: START_MS - secondsAgo * 1000, state: 'RUNNING', values, ...more };
}

/** Rows every 30 s of the last `seconds`, the newest now. */
function steady(seconds: number, more: Partial<SampleRow> = {}): SampleRow[] {
  return Array.from({ length: seconds / 30 }, (_, i) => row(i * 30, 10, more));
}

interface BadQuery {
  readonly name: string;
  readonly change: object;
  readonly status?: number;
  readonly reason?: string;
  readonly field?: string;
  readonly message: RegExp;
}

const at = (secondsAgo: number) => String(START_SECONDS - secondsAgo);

const badQueries: readonly BadQuery[] = [
  { name: 'no name', change: { name: '' }, field: 'name', message: /projects\/demo\/vms/ },
  { name: 'a name of another kind', change: { name: 'vm-1' }, field: 'name', message: /"vm-1"/ },
  { name: 'no metric', change: { metricIds: [] }, field: 'metricIds', message: /at least one/ },
  {
    name: 'an unknown metric',
    change: { metricIds: ['cpu_utilization_pct', 'cpu'] },
    reason: 'UNKNOWN_METRIC',
    field: 'metricIds',
    message: /"cpu"\. Known metrics: cpu_utilization_pct, memory_used_bytes/,
  },
  { name: 'no step', change: { stepSeconds: 0 }, field: 'stepSeconds', message: /0: .* 30/ },
  { name: 'a step of 29 s', change: { stepSeconds: 29 }, field: 'stepSeconds', message: /29/ },
  { name: 'a negative step', change: { stepSeconds: -60 }, field: 'stepSeconds', message: /-60/ },
  {
    name: 'no start',
    change: { startTimeUnix: undefined },
    field: 'startTimeUnix',
    message: /missing/,
  },
  { name: 'no end', change: { endTimeUnix: undefined }, field: 'endTimeUnix', message: /missing/ },
  {
    name: 'an end before the start',
    change: { endTimeUnix: at(3601) },
    field: 'endTimeUnix',
    message: /before/,
  },
  {
    name: 'a negative time',
    change: { startTimeUnix: '-5' },
    field: 'startTimeUnix',
    message: /-5/,
  },
  {
    name: 'milliseconds for seconds',
    change: { startTimeUnix: String(START_MS), endTimeUnix: String(START_MS) },
    field: 'startTimeUnix',
    message: /milliseconds/,
  },
  {
    name: 'a start in the future',
    change: { startTimeUnix: at(-60), endTimeUnix: at(-120) },
    field: 'startTimeUnix',
    message: /future/,
  },
  {
    name: 'an end before the seven days of retention',
    change: { startTimeUnix: at(8 * DAY), endTimeUnix: at(7 * DAY + 1), stepSeconds: 600 },
    field: 'endTimeUnix',
    message: /7 days/,
  },
  {
    name: 'seven days at 60 s, which are 10,081 points',
    change: { startTimeUnix: at(7 * DAY) },
    reason: 'TOO_MANY_POINTS',
    message: /10081 points/,
  },
  {
    name: 'seven days at 60 s that retention would shorten: counted as requested',
    change: { startTimeUnix: at(9 * DAY) },
    reason: 'TOO_MANY_POINTS',
    message: /more than 10000/,
  },
  {
    name: 'a VM that is not in the project',
    change: { name: 'projects/demo/vms/nobody' },
    status: 404,
    reason: 'NOT_FOUND',
    message: /vms\/nobody/,
  },
  {
    name: 'a VM of another project, whether or not it exists',
    change: { name: 'projects/other/vms/vm-1' },
    status: 403,
    reason: 'PROJECT_BOUNDARY',
    message: /another project/,
  },
];

test('A query that cannot be answered', async (t) => {
  const world = await startRpcWorld(t);
  await world.write([row(0, 1)]);
  for (const { name, change, status = 400, reason, field, message } of badQueries) {
    await t.test(`${name} is refused`, async (t) => {
      const answer = await ask(world, change);
      t.equal(answer.status, status);
      t.equal(answer.reason, reason ?? 'INVALID_FIELD');
      t.equal(answer.metadata.field, field);
      t.match(answer.body.message, message);
    });
  }
  t.same(world.lines, []);
});

test('the bounds in use are returned', async (t) => {
  const world = await startRpcWorld(t);
  await world.write([row(0, 1)]);
  const bounds = async (start: number, end: number, stepSeconds: number) => {
    const request = { startTimeUnix: at(start), endTimeUnix: at(end), stepSeconds };
    const { body } = await ask(world, request);
    const seconds = (time: string) => START_SECONDS - Number(time);
    return [seconds(body.startTimeUnix), seconds(body.endTimeUnix), body.stepSeconds];
  };
  t.same(await bounds(3600, 0, 60), [3600, 0, 60], 'as requested');
  t.same(await bounds(3600, 3600, 60), [3600, 3600, 60], 'one point');
  t.same(await bounds(3600, -900, 60), [3600, 0, 60], 'the end clamped to now');
  t.same(await bounds(100, 0, 60), [100, 40, 60], 'the end at the last point');
  t.same(await bounds(8 * DAY, 0, 1800), [7 * DAY, 0, 1800], 'the start clamped to retention');
  t.same(await bounds(599_940, 0, 60), [599_940, 0, 60], '10,000 points');
  t.match(await ask(world, { startTimeUnix: at(600_000) }), { reason: 'TOO_MANY_POINTS' });
});

test('Points and quality', async (t) => {
  await t.test(
    'API-10: an observed 0 is answered as 0, and unobserved values are left out',
    async (t) => {
      const world = await startRpcWorld(t);
      await world.write([row(180, 0), row(60, 7)]);
      const { body } = await ask(world, {
        startTimeUnix: at(240),
        metricIds: ['cpu_utilization_pct', 'memory_used_bytes'],
      });
      t.same(body.series, [
        {
          metricId: 'cpu_utilization_pct',
          unit: 'percent',
          labels: {},
          points: [
            { timeUnix: at(180), value: 0 },
            { timeUnix: at(60), value: 7 },
          ],
        },
      ]);
      t.match(body.quality, { state: 'PARTIAL', observedSamples: '2', lastObservedUnix: at(60) });
      t.match(body.quality.metrics, [
        { metricId: 'cpu_utilization_pct', state: 'PARTIAL', reason: '' },
        { metricId: 'memory_used_bytes', state: 'NO_DATA', reason: 'NOT_REPORTED_BY_GUEST' },
      ]);
    },
  );
  await t.test('a full, fresh range is LIVE', async (t) => {
    const world = await startRpcWorld(t);
    await world.write(steady(3660));
    const { quality, series } = (await ask(world)).body;
    t.match(quality, { state: 'LIVE', gaps: [], reasons: [], datacenterState: 'LIVE' });
    t.equal(quality.expectedSamples, quality.observedSamples);
    t.equal(series[0].points.length, 61);
  });
  await t.test('a gap makes it PARTIAL, and is listed with its bounds', async (t) => {
    const world = await startRpcWorld(t);
    await world.write(steady(3660).filter((_, i) => i < 20 || i > 40));
    const { quality } = (await ask(world)).body;
    t.equal(quality.state, 'PARTIAL');
    t.same(quality.gaps, [{ startUnix: at(41 * 30), endUnix: at(19 * 30), reason: 'NO_SAMPLES' }]);
  });
  await t.test('MEAS-05: old samples are STALE, even in a full range', async (t) => {
    const world = await startRpcWorld(t);
    await world.write(steady(3660));
    await world.clock.advance(90_000);
    t.equal((await ask(world)).body.quality.state, 'LIVE', '90 s are within the tolerance');
    await world.clock.advance(1);
    t.equal((await ask(world)).body.quality.state, 'STALE');
  });
  await t.test(
    'MEAS-09: samples of a stale data center are STALE at once and stay readable',
    async (t) => {
      const world = await startRpcWorld(t);
      await world.write(steady(3660));
      world.datacenterStates.set('DC-1', 'stale');
      const { quality, series } = (await ask(world)).body;
      t.match(quality, {
        state: 'STALE',
        datacenterState: 'STALE',
        reasons: ['DATACENTER_STALE'],
        metrics: [{ state: 'STALE', reason: 'DATACENTER_STALE' }],
      });
      t.equal(series[0].points.length, 61);
    },
  );
  await t.test('an empty range is NO_DATA, without a series', async (t) => {
    const world = await startRpcWorld(t);
    await world.write([row(0, 5)]);
    const range = { startTimeUnix: at(7200), endTimeUnix: at(3600) };
    const { quality, series } = (await ask(world, range)).body;
    t.match(quality, { state: 'NO_DATA', observedSamples: '0', lastObservedUnix: at(0) });
    t.same(series, []);
  });
  await t.test(
    'MEAS-04: metrics that the guest does not report or that are off are listed by name',
    async (t) => {
      const world = await startRpcWorld(t);
      await world.write(steady(3660));
      const metricIds = ['filesystem_used_pct', 'load_1m'];
      const { quality } = (await ask(world, { metricIds })).body;
      t.match(quality, {
        state: 'NO_DATA',
        metrics: [{ reason: 'NOT_REPORTED_BY_GUEST' }, { reason: 'EXPANDED_MONITORING_OFF' }],
        reasons: ['NOT_REPORTED_BY_GUEST', 'EXPANDED_MONITORING_OFF'],
      });
    },
  );
  await t.test('MEAS-04: each mount is a series of its own', async (t) => {
    const world = await startRpcWorld(t);
    const values = ['/', '/data'].flatMap((mountpoint, i) => [
      { series: 'svc_vm_filesystem_used_bytes', labels: { mountpoint }, value: i * 25 },
      { series: 'svc_vm_filesystem_size_bytes', labels: { mountpoint }, value: 100 },
    ]);
    await world.write([row(0, undefined, { values })]);
    const { series } = (await ask(world, { metricIds: ['filesystem_used_pct'] })).body;
    t.same(
      series.map(({ labels, points }: { labels: object; points: object[] }) => [labels, points]),
      [
        [{ mountpoint: '/' }, [{ timeUnix: at(0), value: 0 }]],
        [{ mountpoint: '/data' }, [{ timeUnix: at(0), value: 25 }]],
      ],
    );
  });
});

test('MEAS-06: answers contain only observed points', async (t) => {
  const world = await startRpcWorld(t);
  let vm = 0;
  const readings = fc.array(
    fc.record({
      secondsAgo: fc.integer({ min: 0, max: 7200 }),
      value: fc.integer({ min: 0, max: 100 }),
      hasValue: fc.boolean(),
    }),
    { maxLength: 40 },
  );
  const query = fc.record({
    start: fc.integer({ min: 60, max: 7200 }),
    length: fc.integer({ min: 0, max: 3600 }),
    step: fc.integer({ min: 30, max: 900 }),
  });
  await fc.assert(
    fc.asyncProperty(readings, query, async (sent, { start, length, step }) => {
      const name = `vm-${vm++}`;
      const byTime = new Map(sent.map((each) => [each.secondsAgo, each]));
      const rows = [...byTime.values()].map(({ secondsAgo, value, hasValue }) =>
        row(secondsAgo, hasValue ? value : undefined, { vm: name }),
      );
      await world.write([...rows, row(9000, undefined, { vm: name })]);
      const end = Math.max(0, start - length);
      const range = { startTimeUnix: at(start), endTimeUnix: at(end), stepSeconds: step };
      const { body } = await ask(world, { ...range, name: `projects/demo/vms/${name}` });
      const reported = (body.series[0]?.points ?? []).map(
        (point: { timeUnix: string; value: number }) => [Number(point.timeUnix), point.value],
      );
      t.same(reported, expectedPoints([...byTime.values()], { start, end, step }), 'step by step');
    }),
    { numRuns: tries(60), seed: 11 },
  );
});

/**
 * The oracle. For each step (t - step, t]: the mean of the values observed in it, each weighted by
 * the seconds since the previous one (30 if there is none, or it is too old). A step without a
 * value has no point.
 */
function expectedPoints(
  sent: readonly { secondsAgo: number; value: number; hasValue: boolean }[],
  { start, end, step }: { start: number; end: number; step: number },
): [number, number][] {
  const points: [number, number][] = [];
  const weightOf = (ago: number): number => {
    const before = sent.filter((each) => each.hasValue && each.secondsAgo > ago);
    const seconds = Math.min(...before.map((each) => each.secondsAgo)) - ago;
    return seconds <= 90 ? seconds : 30;
  };
  for (let ago = start; ago >= end; ago -= step) {
    const inside = sent.filter(
      (each) => each.hasValue && each.secondsAgo >= ago && each.secondsAgo < ago + step,
    );
    if (inside.length === 0) continue;
    const weights = inside.map(({ secondsAgo }) => weightOf(secondsAgo));
    const sum = inside.reduce((total, { value }, i) => total + value * (weights[i] ?? 0), 0);
    points.push([START_SECONDS - ago, sum / weights.reduce((total, weight) => total + weight, 0)]);
  }
  return points;
}
