/**
 * Unavailable telemetry on its whole path: ticks carry the silent VMs of all projects of the node,
 * a silent data center raises one incident per rule, and a restart changes nothing, even if the log
 * no longer reaches the last observation.
 */
import { test } from 'tap';
import type { EvaluatorDeps } from '../../actors/alerting/evaluator/evaluator.ts';
import type { IncidentHeldVmsBody } from '../../actors/alerting/incident.ts';
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import { partitionOf } from '../../streams/platform/stream.ts';
import { openAlertingWorld, PROJECT, RULE, START_MS } from '../support/alerting-on-host.ts';

const OTHER = 'other';
const SILENT = {
  metricId: 'telemetry_age_seconds',
  operator: 'GREATER_THAN',
  threshold: 300,
  sustainedSeconds: 0,
};
const vms = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => `vm-${from + i}`);

type Ports = Pick<EvaluatorDeps, 'newest' | 'clockAhead'>;

/** Two projects in two partitions, each with a rule on telemetry, and ticks with the silent VMs. */
async function watching(t: Parameters<typeof openAlertingWorld>[0], ports: Ports = {}) {
  const world = await openAlertingWorld(t);
  world.startRules();
  const running = await world.startEvaluator(undefined, ports);
  const livenessReport = (partition: number, atMs: number) =>
    running.evaluator.livenessReport(partition, atMs);
  for (const project of [PROJECT, OTHER]) await world.saveRule(SILENT, { project });
  await world.until('the rules are applied', () =>
    [PROJECT, OTHER].every((project) => world.rule(RULE, project).value === 'active'),
  );
  world.run((signal) => tick({ ...world, livenessReport }, signal));
  return {
    ...world,
    evaluator: () => running.evaluator,
    async restart() {
      await running.stop();
      Object.assign(running, await world.startEvaluator(undefined, ports));
    },
    /** Rounds of 30 s in which these VMs report. */
    async hear(rounds: number, heard: Readonly<Record<string, readonly string[]>>) {
      for (let i = 0; i < rounds; i++) {
        for (const [project, names] of Object.entries(heard)) {
          if (names.length > 0) await world.cpu(20, names, project);
        }
        await world.pass(30_000, 15_000);
      }
    },
  };
}

type Watching = Awaited<ReturnType<typeof watching>>;

/** Current incidents, with the VMs held by those of data centers. */
function incidentsOf(world: Watching, project = PROJECT) {
  const held = world.host.view(project).records('incidentHeldVms', { limit: 100 }).items;
  return world.incidents(project).map((incident) => {
    const record = held.find(({ id }) => id === incident.id)?.body;
    const { vm, datacenter, heldVmCount, state, startedMs } = incident;
    const names = (record as unknown as IncidentHeldVmsBody | undefined)?.vms;
    const since = (startedMs - START_MS) / 1000;
    return { vm, state, since, ...(datacenter && { datacenter, heldVmCount, names }) };
  });
}

/** Five of eight VMs of two projects fall silent after a minute. */
async function outage(world: Watching): Promise<void> {
  await world.hear(3, { [PROJECT]: vms(1, 4), [OTHER]: vms(5, 8) });
  await world.hear(12, { [PROJECT]: vms(1, 2), [OTHER]: vms(5, 5) });
}

test('EVAL-19: an outage is judged over all projects, and each project is notified of its own VMs', async (t) => {
  t.not(partitionOf(PROJECT), partitionOf(OTHER));
  const world = await watching(t);
  await outage(world);
  const common = { vm: '', state: 'FIRING', since: 360, datacenter: 'DC-1' };
  t.same(incidentsOf(world), [{ ...common, heldVmCount: 2, names: vms(3, 4) }]);
  t.same(incidentsOf(world, OTHER), [{ ...common, heldVmCount: 3, names: vms(6, 8) }]);
  await world.hear(2, { [PROJECT]: vms(1, 4), [OTHER]: vms(5, 7) });
  const ended = { ...common, state: 'RECOVERED' };
  t.match(incidentsOf(world), [{ ...ended, heldVmCount: 2 }]);
  t.match(
    incidentsOf(world, OTHER).toSorted((a, b) => (a.vm < b.vm ? -1 : 1)),
    [ended, { vm: 'vm-8', state: 'FIRING', since: 360 }],
    'the VM that is still silent fires individually',
  );
  t.equal(incidentsOf(world, OTHER)[1]?.datacenter, undefined);
});

test('EVAL-19: fewer than five silent VMs, or at most 30 %, each get their own incident', async (t) => {
  const world = await watching(t);
  await world.hear(3, { [PROJECT]: vms(1, 10), [OTHER]: vms(11, 18) });
  await world.hear(12, { [PROJECT]: vms(1, 5), [OTHER]: vms(11, 18) });
  const found = incidentsOf(world).map(({ vm, state }) => `${vm} ${state}`);
  t.same(
    found.sort(),
    ['vm-10', ...vms(6, 9)].map((vm) => `${vm} FIRING`),
    '5 of 18',
  );
});

test('EVAL-19: a fresh row from any of its VMs recovers an outage’s incident', async (t) => {
  const world = await watching(t);
  await world.hear(3, { [PROJECT]: vms(1, 2), [OTHER]: vms(5, 12) });
  await world.hear(14, { [OTHER]: vms(5, 5) });
  const held = { vm: '', state: 'FIRING', since: 360, datacenter: 'DC-1', heldVmCount: 2 };
  t.match(incidentsOf(world), [held]);
  await world.hear(3, { [OTHER]: vms(5, 12) });
  t.match(incidentsOf(world, OTHER), [{ state: 'RECOVERED' }]);
  t.match(
    incidentsOf(world),
    [held],
    'VMs of another project do not affect it, and it is reported once',
  );
  await world.restart();
  await world.hear(30, { [OTHER]: vms(5, 12) });
  t.match(incidentsOf(world), [held], 'for its whole duration');
  await world.hear(1, { [PROJECT]: vms(1, 1), [OTHER]: vms(5, 12) });
  const alone = { vm: 'vm-2', state: 'FIRING', since: 360 };
  t.match(incidentsOf(world), [{ ...held, state: 'RECOVERED' }, alone], 'the other is alone then');
  await world.hear(2, { [PROJECT]: vms(1, 2), [OTHER]: vms(5, 12) });
  t.match(incidentsOf(world), [{ state: 'RECOVERED' }, { state: 'RECOVERED' }]);
});

test('EVAL-19: retiring VMs in an outage causes no recovery', async (t) => {
  const world = await watching(t);
  const retire = (names: readonly string[]) =>
    retireVms(world.host, { project: PROJECT, by: { kind: 'human', name: 'ada' }, vms: names });
  await world.hear(3, { [PROJECT]: vms(1, 8) });
  await world.hear(14, { [PROJECT]: vms(1, 2) });
  const held = { vm: '', state: 'FIRING', since: 360, datacenter: 'DC-1', heldVmCount: 6 };
  t.match(incidentsOf(world), [held]);
  await retire(vms(4, 8));
  await world.hear(3, { [PROJECT]: vms(1, 2) });
  t.match(incidentsOf(world), [held], 'one of three is still silent, and none was heard');
  await retire(['vm-3']);
  await world.hear(3, { [PROJECT]: vms(1, 2) });
  const gone = { state: 'RETIRED', retireReason: 'VM_DELETED', recoveredMs: null };
  t.match(world.incidents(), [gone]);
  await world.restart();
  await world.hear(3, { [PROJECT]: [...vms(1, 2), ...vms(11, 16)] });
  t.match(world.incidents(), [gone], 'a restart does not report it again');
  await world.hear(14, { [PROJECT]: vms(1, 2) });
  t.match(
    incidentsOf(world),
    [{ state: 'RETIRED' }, { ...held, since: 1050 }],
    'the next outage is reported',
  );
  await world.restart();
  await world.hear(2, { [PROJECT]: [...vms(1, 2), ...vms(11, 16)] });
  t.match(incidentsOf(world), [{ state: 'RETIRED' }, { state: 'RECOVERED' }], 'and ends');
});

test('EVAL-19: a VM that fails on its own during an outage has its own incident', async (t) => {
  const world = await watching(t);
  await world.hear(3, { [PROJECT]: vms(1, 10) });
  await world.hear(14, { [PROJECT]: vms(1, 5) });
  t.match(incidentsOf(world), [{ vm: '', heldVmCount: 5 }]);
  await world.hear(14, { [PROJECT]: vms(1, 4) });
  const alone = { vm: 'vm-5', state: 'FIRING', since: 30 * 16 + 300 };
  t.match(incidentsOf(world), [{ vm: '', state: 'FIRING' }, alone]);
  await world.hear(2, { [PROJECT]: vms(1, 5) });
  t.match(incidentsOf(world), [
    { vm: '', state: 'FIRING' },
    { ...alone, state: 'RECOVERED' },
  ]);
});

test('EVAL-19: an outage that spreads in steps stays one incident', async (t) => {
  const world = await watching(t);
  await world.hear(3, { [PROJECT]: vms(1, 16) });
  await world.hear(14, { [PROJECT]: vms(1, 10) });
  const held = { vm: '', state: 'FIRING', datacenter: 'DC-1' };
  t.match(incidentsOf(world), [held], 'six of sixteen');
  await world.hear(14, { [PROJECT]: vms(1, 4) });
  t.match(incidentsOf(world), [held]);
  t.equal(incidentsOf(world).length, 1, 'six more of the remaining ten');
  await world.hear(2, { [PROJECT]: vms(1, 15) });
  const ended = incidentsOf(world).map(({ vm, state }) => `${vm} ${state}`);
  t.same(
    ended.sort(),
    [' RECOVERED', 'vm-16 FIRING'],
    'VMs that are still silent are reported then',
  );
});

test('EVAL-18: a restart at any moment of an outage changes nothing', async (t) => {
  const undisturbed = await watching(t);
  await outage(undisturbed);
  await undisturbed.hear(2, { [PROJECT]: vms(1, 4), [OTHER]: vms(5, 7) });
  const world = await watching(t);
  let restarts = 0;
  await world.hear(3, { [PROJECT]: vms(1, 4), [OTHER]: vms(5, 8) });
  for (const [rounds, heard] of [
    [12, { [PROJECT]: vms(1, 2), [OTHER]: vms(5, 5) }],
    [2, { [PROJECT]: vms(1, 4), [OTHER]: vms(5, 7) }],
  ] as const) {
    for (let i = 0; i < rounds; i++) {
      await world.restart();
      restarts++;
      await world.hear(1, heard);
    }
  }
  t.ok(restarts >= 14);
  const ids = (of: Watching, project: string) =>
    of.incidents(project).map(({ id, state }) => `${id} ${state}`);
  for (const project of [PROJECT, OTHER]) {
    t.same(incidentsOf(world, project), incidentsOf(undisturbed, project));
    t.same(ids(world, project), ids(undisturbed, project));
  }
});

test('EVAL-18: a VM silent since before the log’s floor is still known', async (t) => {
  const lastMs = START_MS + 60_000;
  const columns = {
    timesMs: Float64Array.of(lastMs),
    series: new Map(),
    vcpus: Float64Array.of(2),
    state: Uint8Array.of(1),
    boot: Uint32Array.of(0),
    stateReason: Uint32Array.of(0),
    strings: [''],
    conflicted: new Uint8Array(1),
    conflicts: 0,
  };
  const newest: Ports['newest'] = (project, vm) =>
    project === PROJECT && vm === 'vm-2'
      ? { observedMs: lastMs, state: 1, vcpus: 2, columns }
      : undefined;
  const world = await watching(t, { newest });
  await world.hear(3, { [PROJECT]: vms(1, 2) });
  await world.hear(6, { [PROJECT]: vms(1, 1) });
  const { lastSequence } = await world.stream.state(SAMPLES_STREAM);
  await world.stream.truncate({ stream: SAMPLES_STREAM, belowSequence: lastSequence });
  await world.restart();
  await world.hear(2, { [PROJECT]: vms(1, 1) });
  t.same(incidentsOf(world), [], 'its age reaches five minutes only then');
  await world.hear(4, { [PROJECT]: vms(1, 1) });
  t.same(incidentsOf(world), [{ vm: 'vm-2', state: 'FIRING', since: 360 }]);
  const before = world.incidents();
  await world.restart();
  await world.hear(2, { [PROJECT]: vms(1, 1) });
  t.same(world.incidents(), before, 'it is reported once');
  await world.hear(1, { [PROJECT]: vms(1, 2) });
  t.match(incidentsOf(world), [{ vm: 'vm-2', state: 'RECOVERED' }]);
});

test('EVAL-16: a rule saved while a VM is silent fires from the true moment', async (t) => {
  const world = await watching(t);
  await world.hear(3, { [PROJECT]: vms(1, 2) });
  await world.hear(60, { [PROJECT]: vms(1, 1) });
  t.same(incidentsOf(world), [{ vm: 'vm-2', state: 'FIRING', since: 360 }]);
  await world.saveRule({ ...SILENT, threshold: 600 });
  await world.hear(1, { [PROJECT]: vms(1, 1) });
  t.same(incidentsOf(world), [
    { vm: 'vm-2', state: 'RETIRED', since: 360 },
    { vm: 'vm-2', state: 'FIRING', since: 660 },
  ]);
  await world.saveRule({ ...SILENT, threshold: 600, enabled: false });
  await world.hear(1, { [PROJECT]: vms(1, 1) });
  await world.saveRule({ ...SILENT, threshold: 600 });
  await world.hear(1, { [PROJECT]: vms(1, 1) });
  t.same(
    incidentsOf(world)
      .map(({ state, since }) => `${state} ${since}`)
      .at(-1),
    `FIRING ${30 * 65}`,
    'a resume counts from then on',
  );
});

test('EVAL-09: an incident names a fast clock as its cause', async (t) => {
  const ahead = [{ project: PROJECT, vm: 'vm-2' }];
  const world = await watching(t, { clockAhead: () => ahead });
  await world.hear(3, { [PROJECT]: vms(1, 2) });
  await world.hear(12, { [PROJECT]: vms(1, 1) });
  t.match(world.incidents(), [{ vm: 'vm-2', dataMissingReason: 'CLOCK_AHEAD' }]);
});

const HOUR_MS = 3_600_000;

/** Firing incidents: the hour that the clock skipped leaves recovered ones, without notification. */
function firingOf(world: Watching, project = PROJECT) {
  return incidentsOf(world, project).filter(({ state }) => state === 'FIRING');
}

test('EVAL-09, EVAL-19: an outage is detected after a clock that was ahead is set back', async (t) => {
  const world = await watching(t);
  const all = { [PROJECT]: vms(1, 4), [OTHER]: vms(5, 8) };
  await world.hear(3, all);
  world.clock.jump(HOUR_MS);
  await world.hear(1, all);
  world.clock.jump(-HOUR_MS);
  const stepMs = world.clock.now();
  await world.hear(14, { [PROJECT]: vms(1, 2), [OTHER]: vms(5, 5) });
  const state = { vm: '', state: 'FIRING', datacenter: 'DC-1' };
  t.match(firingOf(world), [{ ...state, heldVmCount: 2, names: vms(3, 4) }]);
  t.match(firingOf(world, OTHER), [{ ...state, heldVmCount: 3, names: vms(6, 8) }]);
  const since = firingOf(world)[0]?.since ?? 0;
  const silentMs = START_MS + since * 1000 - stepMs;
  t.ok(silentMs > 0 && silentMs <= 330_000, `${silentMs} ms after the step`);
  await world.hear(3, all);
  t.same(firingOf(world), []);
});

test('EVAL-09, EVAL-18: a restart after the clock was set back does not wait', async (t) => {
  const world = await watching(t);
  const all = { [PROJECT]: vms(1, 2), [OTHER]: [] };
  await world.hear(3, all);
  world.clock.jump(HOUR_MS);
  await world.hear(2, all);
  // One VM falls silent and fires while the clock is ahead.
  await world.hear(13, { [PROJECT]: vms(1, 1) });
  t.match(firingOf(world), [{ vm: 'vm-2' }]);
  world.clock.jump(-HOUR_MS);
  await world.restart();
  await world.hear(1, {});
  t.match(firingOf(world), [{ vm: 'vm-2' }], 'no row came');
  await world.hear(3, all);
  t.same(firingOf(world), []);
  await world.hear(14, { [PROJECT]: vms(2, 2) });
  t.match(firingOf(world), [{ vm: 'vm-1' }], 'and the other one fires in time');
});

test('EVAL-09, EVAL-18: a restart recovers nothing from samples before the step', async (t) => {
  const world = await openAlertingWorld(t);
  world.startRules();
  const first = await world.startEvaluator();
  await world.saveRule({ sustainedSeconds: 0 });
  await world.until('the rule is applied', () => world.rule(RULE).value === 'active');
  const states = () =>
    world
      .incidents()
      .map(({ vm, state }) => `${vm} ${state}`)
      .sort();
  const cpu = async (value: number, names: readonly string[]) => {
    await world.cpu(value, names);
    await world.pass(5_000, 5_000);
  };
  world.clock.jump(HOUR_MS);
  await cpu(20, ['vm-1', 'vm-2']);
  await cpu(95, ['vm-2']);
  await cpu(20, ['vm-1']);
  world.clock.jump(-HOUR_MS);
  await cpu(95, ['vm-1', 'vm-2']);
  const both = ['vm-1 FIRING', 'vm-2 FIRING'];
  t.same(states(), both);
  await first.stop();
  await world.startEvaluator();
  await world.pass(5_000, 5_000);
  t.same(states(), both, 'the earlier good samples are no recovery');
  await cpu(20, ['vm-1', 'vm-2']);
  t.same(states(), ['vm-1 RECOVERED', 'vm-2 RECOVERED']);
});
