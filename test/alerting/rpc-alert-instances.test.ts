/**
 * One alert instance over the wire: its current state, the machine path that led there, and the
 * recomputed path over a stretch of history, whether or not it fired.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { type RpcWorld, START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { newRule } from '../support/rule-spec.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const PROJECT = 'projects/demo';

/** CPU above 90 % for a minute. */
async function saveRule(world: RpcWorld, change: object = {}): Promise<string> {
  const { id, ...rule } = newRule(PROJECT, { sustainedSeconds: 60, ...change });
  const answer = await world.call('SaveAlertRule', { id, ...rule });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return `${PROJECT}/alertRules/${id}`;
}

/** One row per pair: seconds ago, and the CPU then. */
const cpu = (...pairs: readonly (readonly [secondsAgo: number, value: number])[]) =>
  pairs.map(([secondsAgo, value]) => ({
    vm: 'vm-1',
    observedUnixMs: START_MS - secondsAgo * 1000,
    values: [{ series: CPU, value }],
  }));

interface Step {
  readonly event: string;
  readonly eventUnixMs: string;
  readonly fromStates: readonly string[];
  readonly toStates: readonly string[];
  readonly source: string;
}

/** Each step as a line; times in seconds ago. */
const lines = (path: readonly Step[]) =>
  path.map(({ event, eventUnixMs, toStates, source }) => {
    const agoSeconds = (START_MS - Number(eventUnixMs)) / 1000;
    return `${event} ${agoSeconds} ${toStates[0]?.replace('alertInstance.', '')} ${source}`;
  });

const of = (ruleName: string) => ({ ruleName, vmName: VM });

test('API-32: an instance that never fired shows the runs in the evaluator', async (t) => {
  const world = await startRpcWorld(t);
  const rule = await saveRule(world, { sustainedSeconds: 600 });
  await world.write(cpu([300, 10], [270, 95], [240, 10], [210, 95]));
  const { body } = await world.call('GetAlertInstance', of(rule));
  t.match(body, { ...of(rule), name: '', state: 'SUSTAINING', dataState: 'MISSING' });
  t.match(body, { sinceUnix: String(START_SECONDS - 210), lastValue: 95 });
  t.same(lines(body.path), [
    'breachStarted 270 sustaining.observed EVALUATOR',
    'breachEnded 240 idle EVALUATOR',
    'breachStarted 210 sustaining.observed EVALUATOR',
    'dataMissing 120 sustaining.missing EVALUATOR',
  ]);
  t.same(body.path[0].fromStates, ['alertInstance.idle']);
  t.notOk('recordedUnixMs' in body.path[0]);
  const { instances } = (await world.call('ListAlertInstances', { projectName: PROJECT })).body;
  t.same(instances, [{ ...body, path: [] }], 'lists have the same data, without the path');
});

test('API-32: a firing instance has a recorded path with a time per step', async (t) => {
  const world = await startRpcWorld(t);
  const rule = await saveRule(world);
  await world.write(cpu([150, 95], [120, 10], [90, 95]));
  await world.write(cpu([60, 95], [30, 95]));
  const { body } = await world.call('GetAlertInstance', of(rule));
  t.match(body, { ...of(rule), state: 'FIRING', sinceUnix: String(START_SECONDS - 90) });
  t.same(lines(body.path), [
    'breachStarted 150 sustaining.observed RECORDED',
    'breachEnded 120 idle RECORDED',
    'breachStarted 90 sustaining.observed RECORDED',
    'sustained 30 firing.attention.unacknowledged RECORDED',
  ]);
  t.ok(body.path.every(({ recordedUnixMs }: { recordedUnixMs: string }) => recordedUnixMs));

  await t.test('the instance is also found by its name', async (t) => {
    t.match(body.name, /^projects\/demo\/alertInstances\/ins_/);
    t.same((await world.call('GetAlertInstance', { name: body.name })).body, body);
  });
  await t.test('events after its recovery follow the recorded ones', async (t) => {
    await world.write(cpu([0, 10]));
    await world.write(cpu([-30, 95]));
    const after = (await world.call('GetAlertInstance', { name: body.name })).body;
    t.match(after, { state: 'SUSTAINING', sinceUnix: String(START_SECONDS + 30) });
    t.same(lines(after.path).slice(4), [
      'recovered 0 idle RECORDED',
      'breachStarted -30 sustaining.observed EVALUATOR',
    ]);
  });
  await t.test('an instance of an edited rule shows its end', async (t) => {
    const [, id = ''] = rule.split('alertRules/');
    const { spec } = (await world.call('GetAlertRule', { name: rule })).body;
    await world.call('SaveAlertRule', {
      projectName: PROJECT,
      id,
      requestId: randomUUID(),
      expectedVersion: '1',
      spec: { ...spec, threshold: 80 },
    });
    await world.settled();
    const ended = (await world.call('GetAlertInstance', { name: body.name })).body;
    t.match(ended, { name: body.name, ...of(rule) });
    t.notOk('lastValue' in ended, 'the evaluator has another instance by now');
    const again = (await world.call('GetAlertInstance', of(rule))).body;
    t.not(again.name, body.name);
  });
});

test('API-32: the same machine draws any stretch of history, fired or not', async (t) => {
  const world = await startRpcWorld(t);
  const rule = await saveRule(world);
  await world.write(cpu([600, 10], [570, 95], [540, 10], [510, 95], [480, 95]));
  await world.write(cpu([300, 95], [270, 95], [240, 95], [210, 10], [60, 10], [30, 10], [0, 10]));
  const stretch = {
    startTimeUnix: String(START_SECONDS - 600),
    endTimeUnix: String(START_SECONDS),
  };
  const { body } = await world.call('ExplainAlertInstance', { ...of(rule), ...stretch });
  t.match(body, { ...of(rule), labels: {}, condition: { threshold: 90, sustainedSeconds: 60 } });
  t.same(lines(body.path), [
    'breachStarted 570 sustaining.observed RECOMPUTED',
    'breachEnded 540 idle RECOMPUTED',
    'breachStarted 510 sustaining.observed RECOMPUTED',
    'dataMissing 390 sustaining.missing RECOMPUTED',
    'breachStarted 300 sustaining.observed RECOMPUTED',
    'sustained 240 firing.attention.unacknowledged RECOMPUTED',
    'recovered 210 idle RECOMPUTED',
  ]);
  const ago = (unixMs: string) => (START_MS - Number(unixMs)) / 1000;
  t.same(
    body.segments.map((segment: Record<string, string>) => [
      `${segment.state} ${segment.dataState} ${segment.cause}`,
      ago(`${segment.startUnixMs}`),
      ago(`${segment.endUnixMs}`),
    ]),
    [
      ['IDLE OBSERVED ', 600, 570],
      ['SUSTAINING OBSERVED breachStarted', 570, 540],
      ['IDLE OBSERVED breachEnded', 540, 510],
      ['SUSTAINING OBSERVED breachStarted', 510, 390],
      ['SUSTAINING MISSING dataMissing', 390, 300],
      ['SUSTAINING OBSERVED dataObserved', 300, 240],
      ['FIRING OBSERVED sustained', 240, 210],
      ['IDLE OBSERVED recovered', 210, 120],
      ['IDLE MISSING dataMissing', 120, 60],
      ['IDLE OBSERVED dataObserved', 60, 0],
    ],
  );
  t.equal(body.samples.length, 11, 'the initial segment precedes it');
  t.match(body.samples[0], { value: 95, breaches: true });
  t.same(
    body.gaps.map((gap: Record<string, string>) => [
      ago(`${gap.startUnixMs}`),
      ago(`${gap.endUnixMs}`),
      gap.tolerated,
    ]),
    [
      [480, 300, false],
      [210, 60, false],
    ],
  );
});

test('silence during a firing is missing data, never a recovery', async (t) => {
  const world = await startRpcWorld(t);
  const rule = await saveRule(world);
  await world.write(cpu([600, 95], [570, 95], [540, 95], [60, 95]));
  const stretch = {
    startTimeUnix: String(START_SECONDS - 601),
    endTimeUnix: String(START_SECONDS),
  };
  const { body } = await world.call('ExplainAlertInstance', { ...of(rule), ...stretch });
  t.same(
    body.segments.map(({ state, dataState }: Record<string, string>) => `${state} ${dataState}`),
    ['IDLE MISSING', 'SUSTAINING OBSERVED', 'FIRING OBSERVED', 'FIRING MISSING', 'FIRING OBSERVED'],
  );
  const [, , missing, observed] = body.path;
  t.match(missing, {
    event: 'dataMissing',
    toStates: [/./, /./, 'alertInstance.firing.data.missing'],
  });
  t.match(observed, { event: 'dataObserved' });
});

test('invalid fields are rejected by name', async (t) => {
  const world = await startRpcWorld(t);
  const ruleName = await saveRule(world);
  await world.write(cpu([0, 10]));
  const name = `${PROJECT}/alertInstances/none`;
  const now = String(START_SECONDS);
  const cases: readonly (readonly [method: string, request: object, answer: object])[] = [
    ['GetAlertInstance', {}, { status: 400, metadata: { field: 'ruleName' } }],
    ['GetAlertInstance', { name }, { status: 404 }],
    ['GetAlertInstance', { name, ruleName }, { status: 400, metadata: { field: 'name' } }],
    ['GetAlertInstance', { ruleName }, { status: 400, metadata: { field: 'vmName' } }],
    ['GetAlertInstance', { ruleName, vmName: `${PROJECT}/vms/none` }, { status: 404 }],
    ['GetAlertInstance', { ...of(ruleName), labels: { a: 'b' } }, { status: 404 }],
    [
      'GetAlertInstance',
      { ruleName, vmName: 'projects/other/vms/vm-1' },
      { status: 403, reason: 'PROJECT_BOUNDARY' },
    ],
    ['ExplainAlertInstance', of(ruleName), { metadata: { field: 'endTimeUnix' } }],
    [
      'ExplainAlertInstance',
      { ...of(ruleName), startTimeUnix: String(START_SECONDS - 86_401), endTimeUnix: now },
      { status: 400, metadata: { field: 'endTimeUnix' } },
    ],
    [
      'ExplainAlertInstance',
      { ...of(ruleName), startTimeUnix: now, endTimeUnix: String(START_SECONDS + 100) },
      { status: 400, metadata: { field: 'endTimeUnix' } },
    ],
    [
      'ExplainAlertInstance',
      {
        ...of(ruleName),
        startTimeUnix: String(START_SECONDS - 700_000),
        endTimeUnix: String(START_SECONDS - 690_000),
      },
      { status: 400, metadata: { field: 'startTimeUnix' } },
    ],
  ];
  for (const [method, request, answer] of cases) {
    t.match(await world.call(method, request), answer, JSON.stringify(request));
  }
});

test('API-36: a run reports when it will fire, except while data is missing', async (t) => {
  const world = await startRpcWorld(t);
  const rule = await saveRule(world, { sustainedSeconds: 600 });
  await world.write(cpu([120, 95], [60, 95]));
  const { body } = await world.call('GetAlertInstance', of(rule));
  t.match(body, { state: 'SUSTAINING', dataState: 'OBSERVED' });
  t.equal(body.firesAtUnix, String(START_SECONDS - 120 + 600));
  const list = async () =>
    (await world.call('ListAlertInstances', { projectName: PROJECT })).body.instances;
  t.match(await list(), [{ firesAtUnix: body.firesAtUnix }]);
  await world.clock.advance(120_000);
  await world.write([{ vm: 'vm-2', observedUnixMs: START_MS + 120_000, values: [] }]);
  const [first] = await list();
  t.match(first, { state: 'SUSTAINING', dataState: 'MISSING' });
  t.notOk('firesAtUnix' in first, 'a gap promotes nothing');
});
