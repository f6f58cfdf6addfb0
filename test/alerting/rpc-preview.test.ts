/**
 * `PreviewAlertRule` over the wire: what a rule would have done over stored history, the coverage
 * of that history, and that a preview has no other effect.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { test } from 'tap';
import { samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import {
  type RpcWorld,
  type SampleRow,
  START_SECONDS,
  startRpcWorld,
  VM,
  withThreads,
} from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { cpuSpec } from '../support/rule-spec.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const OTHER = 'projects/demo/vms/vm-2';
const spec = cpuSpec({ sustainedSeconds: 300 });

/** Unix seconds, as the API writes them. */
const ago = (seconds: number) => String(START_SECONDS - seconds);

function preview(
  world: RpcWorld,
  change: object = {},
  request: object = {},
  key = world.keys.write,
) {
  const whole = {
    projectName: 'projects/demo',
    historySeconds: 3600,
    spec: { ...spec, ...change },
    ...request,
  };
  return world.call('PreviewAlertRule', whole, { key });
}

/** Rows every 30 s from `fromAgo` to `toAgo` seconds before now, with the CPU of each second. */
function rows(
  fromAgo: number,
  toAgo: number,
  cpu: (secondsAgo: number) => number | undefined,
  vm = 'vm-1',
): SampleRow[] {
  const all: SampleRow[] = [];
  for (let at = fromAgo; at >= toAgo; at -= 30) {
    const value = cpu(at);
    const observedUnixMs = START_MS - at * 1000;
    const values = value === undefined ? [] : [{ series: CPU, value }];
    all.push({ vm, observedUnixMs, state: 'RUNNING', vcpus: 2, values });
  }
  return all;
}

/** Busy from 2400 to 1800 seconds ago, and since 600 seconds. */
const busyTwice = (at: number) => ((at <= 2400 && at > 1800) || at <= 600 ? 95 : 10);

test('a preview reports when the rule would have fired and recovered', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3600, 0, busyTwice));
  await world.write(rows(3600, 0, () => 20, 'vm-2'));
  t.match(await preview(world), {
    status: 200,
    body: {
      queryStatus: 'OK',
      historyStatus: 'COMPLETE',
      truncated: false,
      evaluatedSamples: '240',
      expectedSamples: '240',
      wouldHaveFired: [
        { vmName: VM, labels: {}, startUnix: ago(2400), endUnix: ago(1800) },
        { vmName: VM, labels: {}, startUnix: ago(600), endUnix: undefined },
      ],
    },
  });
  const longer = await preview(world, { sustainedSeconds: 900 });
  t.same(longer.body.wouldHaveFired, [], 'neither lasted for 15 minutes');
  const chosen = await preview(world, { allVms: false, vmNames: [OTHER], threshold: 15 });
  t.match(chosen.body, { evaluatedSamples: '120', wouldHaveFired: [{ vmName: OTHER }] });
  t.equal(chosen.body.wouldHaveFired.length, 1, 'the VM that was not chosen is not evaluated');
  const paused = await preview(world, { enabled: false });
  t.equal(paused.body.wouldHaveFired.length, 2, 'what it would do once enabled');
});

test('a preview reports what the active rule then decided', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(0, 0, () => 10));
  const id = '00000000-0000-4000-8000-000000000001';
  const request = { id, requestId: id.replace('1', '2'), expectedVersion: '0' };
  const saved = await world.call('SaveAlertRule', {
    projectName: 'projects/demo',
    ...request,
    spec: { ...spec, sustainedSeconds: 60 },
  });
  t.equal(saved.status, 200);
  const cpu = [95, 95, 10, 95, 96, 97, 95, 10, 10, 95, 95, 95, 95];
  for (const value of cpu) {
    await world.clock.advance(30_000);
    await world.write([
      { observedUnixMs: world.clock.now(), values: [{ series: CPU, value }], state: 'RUNNING' },
    ]);
  }
  const { body } = await world.call('ListIncidents', { projectName: 'projects/demo' });
  const incidents = body.incidents.map((one: Record<string, string>) => {
    const { vmName, startedUnix, recoveredUnix } = one;
    return [vmName, startedUnix, recoveredUnix];
  });
  t.equal(incidents.length, 2);
  const firings = (await preview(world, { sustainedSeconds: 60 })).body.wouldHaveFired;
  t.same(
    firings.map((one: Record<string, string>) => [one.vmName, one.startUnix, one.endUnix]),
    incidents.toReversed(),
  );
});

test('a run that began before the window counts as far back as a saved rule would look', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(600, 0, () => 95));
  const short = await preview(world, {}, { historySeconds: 60 });
  t.match(short.body, {
    historyStatus: 'COMPLETE',
    evaluatedSamples: '2',
    expectedSamples: '2',
    wouldHaveFired: [{ startUnix: ago(60 + 300 + 90) }],
  });
  const week = 604_800;
  await world.write(rows(week - 60, week - 1800, () => 95, 'vm-2'));
  await world.clock.advance(900_000);
  const change = { allVms: false, vmNames: [OTHER] };
  const whole = await preview(world, change, { historySeconds: week });
  const reason = 'samples older than retention may still be on disk, and are ignored';
  t.match(whole.body.wouldHaveFired, [{ startUnix: ago(week - 900) }], reason);
});

test('each mount is evaluated separately and named by its labels', async (t) => {
  const world = await startRpcWorld(t);
  const mount = (mountpoint: string, used: number) =>
    [
      ['svc_vm_filesystem_used_bytes', used],
      ['svc_vm_filesystem_size_bytes', 100],
    ].map(([series, value]) => ({
      series: String(series),
      value: Number(value),
      labels: { mountpoint, fstype: 'ext4' },
    }));
  const stored = rows(3600, 0, () => undefined).map((row, i) => ({
    ...row,
    values: [...mount('/', 50), ...(i >= 60 ? mount('/data', 99) : [])],
  }));
  await world.write(stored);
  const { body } = await preview(world, { metricId: 'filesystem_used_pct' });
  t.match(body, {
    evaluatedSamples: '120',
    expectedSamples: '120',
    wouldHaveFired: [
      { vmName: VM, labels: { mountpoint: '/data', fstype: 'ext4' }, startUnix: ago(1800) },
    ],
  });
  t.equal(body.wouldHaveFired.length, 1);
});

test('missing data is reported as such, never as zero, a firing or a recovery', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3600, 0, (at) => (at >= 2400 || at < 600 ? 95 : undefined)));
  const below = { operator: 'LESS_THAN', threshold: 50, sustainedSeconds: 0 };
  t.match((await preview(world, below)).body, {
    queryStatus: 'OK',
    historyStatus: 'COMPLETE',
    wouldHaveFired: [],
    evaluatedSamples: '60',
    expectedSamples: '120',
  });
  const { body } = await preview(world);
  t.match(body.wouldHaveFired, [{ startUnix: ago(3600), endUnix: undefined }]);
  t.equal(body.wouldHaveFired.length, 1, 'half an hour of silence ended no firing');

  await world.write(rows(600, 0, () => 95, 'vm-2'));
  t.match(
    (await preview(world, { allVms: false, vmNames: [OTHER] })).body,
    { historyStatus: 'PARTIAL', evaluatedSamples: '21', expectedSamples: '21' },
    'a VM is expected to report since it is known',
  );
  t.match((await preview(world)).body, { historyStatus: 'PARTIAL', queryStatus: 'OK' });
  t.match((await preview(world, { metricId: 'memory_used_bytes' })).body, {
    historyStatus: 'NONE',
    queryStatus: 'OK',
    wouldHaveFired: [],
    evaluatedSamples: '0',
    expectedSamples: '141',
  });
});

test('a project without VMs has no history', async (t) => {
  const world = await startRpcWorld(t);
  t.match((await preview(world)).body, {
    queryStatus: 'OK',
    historyStatus: 'NONE',
    wouldHaveFired: [],
    evaluatedSamples: '0',
    expectedSamples: '0',
  });
});

/** Damages the chunks of a VM, or of all. */
function damage(world: RpcWorld, vm = '%'): void {
  const file = new Database(world.history.share.path);
  file
    .prepare(
      `UPDATE chunks SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB)
       WHERE vm IN (SELECT id FROM vms WHERE vm LIKE ?)`,
    )
    .run(vm);
  file.close();
}

test('API-01: unreadable history makes a preview PARTIAL or FAILED, not quiet', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3600, 0, busyTwice));
  await world.write(rows(3600, 0, busyTwice, 'vm-2'));
  await world.history.flush();
  damage(world, 'vm-1');
  const { body } = await preview(world);
  t.match(body, { queryStatus: 'PARTIAL', historyStatus: 'PARTIAL', expectedSamples: '121' });
  const names = body.wouldHaveFired.map((one: { vmName: string }) => one.vmName);
  t.same(names, [OTHER, OTHER]);
  t.match(world.lines.join(), /"vms":1.*"vm":"vm-1".*Chunk \d+/, 'the log says which');
  damage(world, 'vm-2');
  t.match(await preview(world), {
    status: 200,
    body: { queryStatus: 'FAILED', historyStatus: 'NONE', wouldHaveFired: [] },
  });
});

test('a truncated list of firings is marked', async (t) => {
  const world = await startRpcWorld(t);
  const flapping = (at: number) => ((at / 30) % 2 === 0 ? 95 : 10);
  for (const vm of ['vm-1', 'vm-2']) {
    const stored = rows(36_000, 0, flapping, vm);
    await world.write(stored.slice(0, 600));
    await world.write(stored.slice(600));
  }
  const change = { sustainedSeconds: 0 };
  const { body } = await preview(world, change, { historySeconds: 36_000 });
  t.equal(body.truncated, true);
  t.equal(body.wouldHaveFired.length, 1_000);
  t.match(body, { evaluatedSamples: '2400', expectedSamples: '2400' }, 'all of it was evaluated');
  const shorter = await preview(world, change, { historySeconds: 3600 });
  t.match(shorter.body, { truncated: false, wouldHaveFired: { length: 122 } });
});

test('API-01: a preview commits, logs and sends nothing', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3600, 0, busyTwice));
  const samples = async () => (await world.stream.state(samplesSpec.name)).lastSequence;
  const before = { applied: world.host.appliedSequence(), samples: await samples() };
  const answer = await preview(world);
  t.equal(answer.body.wouldHaveFired.length, 2);
  await world.settled();
  t.same({ applied: world.host.appliedSequence(), samples: await samples() }, before);
  t.equal(world.positions.sequenceOf(String(answer.headers['svc-sequence'])), before.applied);
  for (const method of ['ListAlertRules', 'ListAlertInstances', 'ListIncidents']) {
    const { body } = await world.call(method, { projectName: 'projects/demo' });
    const [list] = Object.values(body).filter(Array.isArray);
    t.same(list, [], method);
  }
});

test('an invalid preview is rejected by its field, as a save rejects it', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(60, 0, () => 10));
  const cases: readonly (readonly [field: string | undefined, change: object, request?: object])[] =
    [
      ['spec', {}, { spec: undefined }],
      ['historySeconds', {}, { historySeconds: undefined }],
      ['historySeconds', {}, { historySeconds: -1 }],
      ['historySeconds', {}, { historySeconds: 604_801 }],
      ['spec.operator', { operator: undefined }],
      ['spec.operator', { operator: 'GREATR_THAN' }],
      ['spec.threshold', { threshold: undefined }],
      ['spec.operator', { metricId: 'telemetry_age_seconds', operator: 'LESS_THAN' }],
      ['spec.threshold', { metricId: 'telemetry_age_seconds', threshold: 29 }],
      ['spec.recoveryThreshold', { metricId: 'telemetry_age_seconds', recoveryThreshold: 0 }],
      ['spec.sustainedSeconds', { sustainedSeconds: 86_401 }],
      ['spec.vmNames', { allVms: false }],
      ['vmName', { allVms: undefined, vmName: [VM] }],
      ['sustainedSecs', { sustainedSecs: 300 }],
      ['spec.sustainedSeconds', { sustainedSeconds: null }],
      ['spec.vmNames', { vmNames: [VM] }],
      ['spec.vmNames', { allVms: false, vmNames: [VM, OTHER] }],
      ['spec.vmNames', { allVms: false, vmNames: ['vm-1'] }],
      ['spec.vmNames', { allVms: false, vmNames: ['projects/demo/vms/x/vm-1'] }],
      ['spec.vmNames', { allVms: false, vmNames: ['projects/dem0/vms/vm-1'] }],
      ['traceVmName', {}, { traceVmName: OTHER }],
      ['traceVmName', {}, { traceVmName: 'projects/dem0/vms/vm-1' }],
    ];
  for (const [field, change, request] of cases) {
    const answer = await preview(world, change, request);
    const name = JSON.stringify(request ?? change);
    t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field } }, name);
  }
  const unknown = await preview(world, { metricId: 'telemetry_age' });
  t.match(unknown, { status: 400, reason: 'UNKNOWN_METRIC' });
  const boundary = await preview(world, {}, { projectName: 'projects/other' });
  t.match(boundary, { status: 403, reason: 'PROJECT_BOUNDARY' });
  const read = { key: world.keys.read };
  const request = { projectName: 'projects/demo', historySeconds: 604_800 };
  const destinationNames = ['projects/demo/destinations/none'];
  const unlooked = { ...request, spec: { ...spec, destinationNames } };
  const reader = await world.call('PreviewAlertRule', unlooked, read);
  t.equal(reader.status, 200, 'a reader learns nothing about destinations');
});

test('more samples than a thread can evaluate are rejected before any is read', async (t) => {
  const world = await startRpcWorld(t);
  const fleet = Array.from({ length: 500 }, (_, i) => rows(0, 0, () => 10, `vm-${i}`)[0]);
  await world.write(fleet as SampleRow[]);
  const answer = await preview(world, {}, { historySeconds: 604_800 });
  t.match(answer, {
    status: 400,
    reason: 'TOO_MANY_POINTS',
    body: { message: /500 VMs .* at most 600000 seconds \(166 hours\) .* at most 496 VMs/ },
    metadata: {
      points: '10080000',
      limit: '10000000',
      historySecondsMax: '600000',
      vmsMax: '496',
    },
  });
  const narrowed = await preview(world, {}, { historySeconds: 600_000 });
  t.equal(narrowed.status, 200, 'the suggested history is accepted');
  const chosen = fleet.slice(0, 496).map((row) => `projects/demo/vms/${row?.vm}`);
  const fewer = { allVms: false, vmNames: chosen };
  t.equal((await preview(world, fewer, { historySeconds: 604_800 })).status, 200, 'and the VMs');
  t.match(await preview(world), { status: 200, body: { evaluatedSamples: '500' } });
});

test('previews are limited like queries: 10 s each, with the same concurrency', async (t) => {
  const signals: AbortSignal[] = [];
  const world = await startRpcWorld(t, (deps) =>
    withThreads(deps, (signal) => {
      signals.push(signal);
      return new Promise(() => {});
    }),
  );
  await world.write(rows(0, 0, () => 10));
  // Bodies of 128 calls of one caller may be in flight.
  const keys = [world.keys.read, world.keys.write];
  const requested = Array.from({ length: 270 }, (_, i) => preview(world, {}, {}, keys[i % 2]));
  t.match(await Promise.race(requested), { status: 429, reason: 'TOO_MANY_REQUESTS' });
  while (signals.length < 8) await nextTurn();
  await nextTurn();
  t.equal(signals.length, 8);
  await world.clock.advance(10_000);
  // Some may get the slots of calls that time out, at the last moment of their wait.
  await world.clock.advance(10_000);
  const answers = await Promise.all(requested);
  const timedOut = answers.filter(({ reason }) => reason === 'QUERY_TIMEOUT');
  t.ok(timedOut.length >= 8);
  t.equal(timedOut.length, signals.length, 'all running calls');
  t.match(timedOut[0], { status: 504, body: { message: /longer than 10 seconds/ } });
  t.ok(signals.every((signal) => signal.aborted));
});

test('a preview evaluates a VM for as long as it existed', async (t) => {
  const world = await startRpcWorld(t);
  const silence = { metricId: 'telemetry_age_seconds', threshold: 300, sustainedSeconds: 0 };
  const by = { kind: 'service', name: 'test' } as const;
  const retire = () => retireVms(world.host, { project: 'demo', by, vms: ['vm-1'] });
  await world.write(rows(1800, 0, () => 95));
  await world.write(rows(1800, 0, () => 95, 'vm-2'));
  await retire();
  const retiredMs = world.clock.now();
  await world.clock.advance(1_200_000);
  const ofVm = async (change: object) => {
    const { body } = await preview(world, change);
    return body.wouldHaveFired.filter((one: { vmName: string }) => one.vmName === VM);
  };
  t.same(await ofVm(silence), [], 'its later silence causes no alert');
  const end = String(Math.floor(retiredMs / 1000));
  t.match(await ofVm({}), [{ startUnix: ago(1800), endUnix: end }], 'its alerts end with it');
  const named = await preview(world, { allVms: false, vmNames: [VM] });
  t.equal(named.status, 400, 'rejected as a save is');

  await world.write([
    { vm: 'vm-1', observedUnixMs: world.clock.now(), state: 'RUNNING', vcpus: 2, values: [] },
  ]);
  t.same(await ofVm(silence), [], 'after its return, it was not silent before');
  t.same(await ofVm({}), [], 'earlier observations of the VM do not count');
  await world.clock.advance(30_000);
  await retire();
  await world.clock.advance(3_600_000);
  const { body } = await preview(world, silence);
  t.equal(body.expectedSamples, '120', 'only vm-2: the other was retired before the window');
});

interface Segment {
  readonly state: string;
  readonly dataState: string;
  readonly startUnixMs: string;
  readonly endUnixMs: string;
}

/** State, data state and end of each segment, in seconds before now. */
const brief = (segments: readonly Segment[]) =>
  segments.map(({ state, dataState, endUnixMs }) => {
    return `${state} ${dataState} ${(START_MS - Number(endUnixMs)) / 1000}`;
  });

test('API-01: a preview’s trace equals the path of ExplainAlertInstance', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3600, 0, (at) => (at > 1200 || at < 900 ? busyTwice(at) : undefined)));
  const id = '00000000-0000-4000-8000-000000000001';
  const saved = await world.call('SaveAlertRule', {
    projectName: 'projects/demo',
    id,
    requestId: id.replace('1', '2'),
    expectedVersion: '0',
    spec,
  });
  t.equal(saved.status, 200);
  const { body } = await preview(world, {}, { traceVmName: VM });
  const explained = await world.call('ExplainAlertInstance', {
    ruleName: saved.body.name,
    vmName: VM,
    startTimeUnix: ago(3600),
    endTimeUnix: ago(0),
  });
  t.equal(explained.status, 200);
  const { ruleName, ruleDisplayName, path, ...readings } = explained.body;
  t.match({ ruleName, ruleDisplayName }, { ruleName: saved.body.name, ruleDisplayName: 'CPU' });
  t.ok(path.length > 0);
  t.match(body.trace, { ...readings, ruleName: '', ruleDisplayName: '', path: [] });
  t.same(brief(body.trace.segments), [
    'IDLE OBSERVED 2400',
    'SUSTAINING OBSERVED 2100',
    'FIRING OBSERVED 1800',
    'IDLE OBSERVED 1140',
    'IDLE MISSING 870',
    'IDLE OBSERVED 600',
    'SUSTAINING OBSERVED 300',
    'FIRING OBSERVED 0',
  ]);
  t.equal(body.trace.samples.length, 109);
  t.match(body, { startUnixMs: String(START_MS - 3_600_000), endUnixMs: String(START_MS) });
  const whole = await preview(world, {}, { traceVmName: VM, historySeconds: 604_800 });
  const [first] = whole.body.trace.segments;
  t.match(first, { dataState: 'MISSING', startUnixMs: String(START_MS - 86_400_000) });
});

test('API-01: a preview lists each series with its segments, firing ones first', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3600, 0, () => 20));
  await world.write(rows(3600, 0, (at) => (at >= 2400 || at < 600 ? 95 : undefined), 'vm-2'));
  await world.write(rows(3600, 0, () => undefined, 'vm-3'));
  t.same((await preview(world)).body.instances, [], 'only on request');
  const { body } = await preview(world, {}, { withInstances: true });
  t.match(body, {
    instances: [
      { vmName: OTHER, firings: 1, segmentsTruncated: false },
      { vmName: VM, firings: 0, segmentsTruncated: false },
    ],
    instancesOmitted: '0',
    unknownVms: '1',
    unknownVmNames: ['projects/demo/vms/vm-3'],
  });
  t.equal(body.instances.length, 2, 'no data of the third VM');
  t.same(
    brief(body.instances[0].segments),
    [
      'IDLE OBSERVED 3600',
      'SUSTAINING OBSERVED 3300',
      'FIRING OBSERVED 2310',
      'FIRING MISSING 570',
      'FIRING OBSERVED 0',
    ].slice(1),
  );
  t.same(brief(body.instances[1].segments), ['IDLE OBSERVED 0']);
  const explained = await preview(world, {}, { withInstances: true, traceVmName: OTHER });
  t.same(explained.body.trace.segments, body.instances[0].segments, 'one fold gives one answer');
});

test('API-01: a preview’s list of instances is bounded and counts the omitted ones', async (t) => {
  const world = await startRpcWorld(t);
  const fleet = Array.from({ length: 205 }, (_, i) => rows(0, 0, () => 10, `vm-${i}`)[0]);
  await world.write(fleet as SampleRow[]);
  await world.write(rows(3600, 0, (at) => ((at / 30) % 2 === 0 ? 95 : 10), 'vm-204'));
  const request = { withInstances: true };
  const { body } = await preview(world, { sustainedSeconds: 0 }, request);
  t.equal(body.instances.length, 200);
  t.match(body, { instancesOmitted: '5' });
  const [first] = body.instances;
  t.match(first, { vmName: 'projects/demo/vms/vm-204', firings: 60, segmentsTruncated: true });
  t.equal(first.segments.length, 100);
  t.equal(first.segments.at(-1).endUnixMs, body.endUnixMs, 'the newest are listed');
});
