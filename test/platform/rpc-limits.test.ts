/** The limits of reading (LIMIT-01 to LIMIT-07, LIMIT-20). */
import { test } from 'tap';
import { partitionOf } from '../../streams/platform/stream.ts';
import { BatchBuilder } from '../../streams/telemetry/samples/batch.ts';
import { type RpcWorld, START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';

const DAY = 86_400;
const at = (secondsAgo: number) => String(START_SECONDS - secondsAgo);

const ask = (world: RpcWorld, change: object) =>
  world.call('QueryVMMonitoring', {
    name: VM,
    metricIds: ['memory_total_bytes'],
    startTimeUnix: at(3600),
    endTimeUnix: at(0),
    stepSeconds: 60,
    ...change,
  });

/** One row of `memory_total_bytes` for each of these seconds before the start. */
const loads = (...secondsAgo: number[]) =>
  secondsAgo.map((ago) => ({
    observedUnixMs: START_MS - ago * 1000,
    values: [{ series: 'svc_vm_memory_total_bytes', value: ago }],
  }));

test('LIMIT-01: hosted retention is 7 days to the second, even if chunks hold more', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(loads(7 * DAY, 7 * DAY - 30, 7 * DAY - 60, 0));
  await world.history.flush();
  const request = { startTimeUnix: at(8 * DAY), endTimeUnix: at(6 * DAY), stepSeconds: 1800 };
  const fresh = (await ask(world, request)).body;
  t.equal(fresh.startTimeUnix, at(7 * DAY));
  t.same(
    fresh.series[0].points[0],
    { timeUnix: at(7 * DAY), value: 7 * DAY },
    'the oldest is kept',
  );
  await world.clock.advance(30_000);
  const later = (await ask(world, request)).body;
  t.equal(later.startTimeUnix, at(7 * DAY - 30));
  const [first, second] = later.series[0].points;
  t.same(first, { timeUnix: at(7 * DAY - 30), value: 7 * DAY - 30 }, 'older ones are not returned');
  t.same(second, { timeUnix: at(7 * DAY - 1830), value: 7 * DAY - 60 });
  t.same(later.quality.gaps[0].startUnix, at(7 * DAY - 60), 'nor do they count as missing');
  await world.clock.advance(7 * DAY * 1000);
  const silent = await ask(world, { startTimeUnix: at(-6 * DAY), endTimeUnix: at(-7 * DAY) });
  t.match(silent.body.quality, { state: 'NO_DATA' });
  t.notOk('lastObservedUnix' in silent.body.quality, 'data that is not kept is unknown');
});

test('LIMIT-01: an operator may keep history for longer than 7 days', async (t) => {
  const retentionMs = 30 * DAY * 1000;
  const world = await startRpcWorld(t, undefined, undefined, { retentionMs });
  await world.write(loads(6 * DAY));
  await world.history.flush();
  await world.clock.advance(10 * DAY * 1000);
  await world.history.retain(world.clock.now());
  const range = { startTimeUnix: at(7 * DAY), endTimeUnix: at(5 * DAY), stepSeconds: 86_400 };
  const { body } = await ask(world, range);
  t.same(body.series[0].points, [{ timeUnix: at(6 * DAY), value: 6 * DAY }]);
  t.equal(body.quality.lastObservedUnix, at(6 * DAY));
  const before = await ask(world, { startTimeUnix: at(30 * DAY), endTimeUnix: at(25 * DAY) });
  t.match(before, { status: 400, body: { message: /is before the 30 days of history/ } });
  await world.clock.advance(15 * DAY * 1000);
  await world.history.retain(world.clock.now());
  const later = await ask(world, range);
  t.notOk('lastObservedUnix' in later.body.quality, 'nor for longer than that');
});

test('LIMIT-02: quality expects one sample every 30 seconds', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(loads(0, 30, 60, 120));
  const { quality } = (await ask(world, { startTimeUnix: at(120) })).body;
  t.match(quality, { expectedSamples: '6', observedSamples: '4' });
});

test('LIMIT-04: the minimum range step is 30 seconds', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(loads(0));
  t.match(await ask(world, { stepSeconds: 29 }), { status: 400, reason: 'INVALID_FIELD' });
  t.match(await ask(world, { stepSeconds: 30 }), { status: 200, body: { stepSeconds: 30 } });
});

test('API-07, LIMIT-05: a series has at most 10,000 points, both ends counted', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(loads(0));
  const points = (count: number, more: object = {}) =>
    ask(world, { startTimeUnix: at((count - 1) * 30), stepSeconds: 30, ...more });
  t.equal((await points(10_000)).status, 200);
  const refused = await points(10_001);
  t.match(refused, { status: 400, reason: 'TOO_MANY_POINTS' });
  t.same(refused.metadata, { points: '10001', limit: '10000', stepSecondsMin: '31' });
  const narrowed = await points(10_001, { stepSeconds: 31 });
  t.equal(narrowed.status, 200, 'the suggested step is accepted');
  const week = await ask(world, { startTimeUnix: at(7 * DAY) });
  t.equal(week.metadata.points, '10081', 'a week at 60 s; it is not downsampled silently');
});

test('LIMIT-07: a response has at most 4 MiB, and a larger one is refused with advice', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(loads(0));
  const rows = 9_999;
  const builder = new BatchBuilder();
  const mounts = Array.from({ length: 12 }, (_, i) => `{mountpoint="/${i}"}`);
  for (let i = rows - 1; i > 0; i--) {
    builder.add({
      project: 'demo',
      vm: 'vm-1',
      observedMs: START_MS - i * 60_000,
      sequence: 0,
      boot: '',
      vcpus: 2,
      state: 1,
      stateReason: '',
      series: mounts.map((labels) => `svc_vm_filesystem_used_bytes${labels}`),
      values: mounts.map((_, mount) => 1_234_567_890 + mount),
    });
  }
  const position = { partition: partitionOf('demo'), sequence: 1_000_000 };
  world.history.append(builder.build(START_MS), position);
  const metricIds = ['filesystem_used_bytes'];
  const few = { startTimeUnix: at(7_000 * 60), metricIds };
  const fits = await ask(world, few);
  t.equal(fits.status, 200);
  const bytes = Number(fits.headers['content-length']);
  t.ok(bytes > 3.5 * 2 ** 20 && bytes <= 4 * 2 ** 20, `${bytes} bytes`);
  const all = { startTimeUnix: at((rows - 1) * 60), metricIds };
  const answer = await ask(world, all);
  t.match(answer, { status: 400, reason: 'RESPONSE_TOO_LARGE' });
  t.notOk('series' in answer.body);
  t.match(answer.body.message, /ask for|narrow|fewer|shorter|larger/i, 'advice for the caller');
});

test('ERR-02: a request that exceeds the limit of points, expression or response size is refused as a whole', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(loads(0, 30));
  const long = await ask(world, { startTimeUnix: at(10_000 * 30), stepSeconds: 30 });
  t.match(long, { status: 400, reason: 'TOO_MANY_POINTS', metadata: { limit: '10000' } });
  t.notOk('series' in long.body, 'not even a part of it');
  const narrower = await ask(world, { startTimeUnix: at(9_999 * 30), stepSeconds: 30 });
  t.equal(narrower.status, 200);
});

test('LIMIT-20: an inventory page has 50 VMs by default and at most 1,000', async (t) => {
  const world = await startRpcWorld(t);
  const name = (i: number) => `vm-${String(i).padStart(4, '0')}`;
  const vms = Array.from({ length: 1_100 }, (_, i) => ({ ...loads(0)[0], vm: name(i) }));
  await world.write(vms.map((row) => ({ observedUnixMs: START_MS, ...row })));
  const page = async (request: object) => {
    const requested = { projectName: 'projects/demo', inventoryOnly: true, ...request };
    return (await world.call('ListVMMonitoring', requested)).body;
  };
  t.equal((await page({})).vms.length, 50);
  t.equal((await page({ pageSize: 7 })).vms.length, 7);
  const most = await page({ pageSize: 5_000 });
  t.equal(most.vms.length, 1_000);
  const rest = await page({ pageSize: 5_000, pageToken: most.nextPageToken });
  t.equal(rest.vms.length, 100);
  t.equal(rest.nextPageToken, '');
});
