/**
 * Replays: their inputs, their results, and their equality with the live service on the same input.
 */
import { join } from 'node:path';
import { test } from 'tap';
import { pastEntries } from '../../actors/telemetry/sample-log.ts';
import {
  formatRecording,
  parseCsv,
  parseRecording,
  parseRules,
  type Recording,
  readRecording,
  replayRecording,
  reportDifference,
  reportText,
  UnreadableRecording,
  UnusableRules,
} from '../../src/testing/index.ts';
import { RECORDING_HEADER, recordingLine } from '../../streams/alerting/recording.ts';
import { openAlertingWorld } from '../support/alerting-on-host.ts';
import { componentPath, needs } from '../support/components.ts';
import {
  cpuRule as cpuLiveRule,
  EvaluationWorld,
  START_MS as LIVE_START,
} from '../support/evaluation-scenario.ts';
import { cpuSpec } from '../support/rule-spec.ts';
import { checkTraces, traceSets } from './replays/trace-reports.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const START = Date.UTC(2026, 0, 1);

const cpuRule = cpuSpec({
  displayName: 'CPU is high',
  sustainedSeconds: 60,
  destinationNames: ['ops'],
});

/** Readings of one VM, every 30 s from the start; null is an empty cell without a row. */
function csv(values: readonly (number | null)[]): Recording {
  const lines = values.flatMap((value, i) => {
    const time = new Date(START + i * 30_000).toISOString();
    return value === null ? [] : [`${time},vm-1,${Number.isNaN(value) ? '' : value}`];
  });
  const text = ['time,vm,cpu', ...lines].join('\n');
  return { kind: 'rows', rows: parseCsv(text, { vm: 'x', name: 'x', series: { cpu: CPU } }) };
}

function rules(...specs: readonly object[]) {
  return parseRules(JSON.stringify(specs));
}

/** Seconds since the start. */
function second(ms: number | null): number | null {
  return ms === null ? null : (ms - START) / 1000;
}

test('a run of breaching readings is one incident, with one firing and one recovery', async (t) => {
  const recording = csv([10, 95, 96, 97, 98, 20]);
  const { incidents, deliveries } = await replayRecording({ recording, rules: rules(cpuRule) });
  const times = incidents.map((one) => [one.startedMs, one.firedMs, one.recoveredMs].map(second));
  t.same(times, [[30, 90, 150]]);
  t.same(
    deliveries.map(({ atMs, event, destination, outcome }) => [
      second(atMs),
      event,
      destination,
      outcome,
    ]),
    [
      [90, 'FIRING', 'ops', 'SENT'],
      [150, 'RECOVERED', 'ops', 'SENT'],
    ],
  );
});

test('silence and empty cells neither fire nor recover', async (t) => {
  const quiet = csv([95, 95, null, null, null, null, 95, Number.NaN]);
  t.same((await replayRecording({ recording: quiet, rules: rules(cpuRule) })).incidents, []);
  const firing = csv([95, 95, 95, ...Array(20).fill(null), 95]);
  const { incidents } = await replayRecording({ recording: firing, rules: rules(cpuRule) });
  t.match(incidents, [{ state: 'FIRING', recoveredMs: null }], 'it still fires after ten minutes');
});

test('reminders continue at the repeat interval, even without observations', async (t) => {
  const recording = csv([95, 95, 95, ...Array(20).fill(null), 10]);
  const repeating = rules({ ...cpuRule, repeatIntervalSeconds: 240 });
  const { deliveries } = await replayRecording({ recording, rules: repeating });
  t.same(
    deliveries.map(({ atMs, event }) => [second(atMs), event]),
    [
      [60, 'FIRING'],
      [300, 'REPEATED'],
      [540, 'REPEATED'],
      [690, 'RECOVERED'],
    ],
  );
});

test('a trace sampled every five minutes is judged by its own interval', async (t) => {
  const lines = [50, 95, 95, 95, 50].map((value, i) => `${START / 1000 + i * 300},${value}`);
  const text = ['timestamp,value', ...lines].join('\n');
  const rows = parseCsv(text, { vm: 'vm-1', name: 'x', series: { value: CPU } });
  const options = {
    recording: { kind: 'rows', rows },
    rules: rules({ ...cpuRule, sustainedSeconds: 600 }),
  } as const;
  t.same(
    (await replayRecording(options)).incidents,
    [],
    'with a 30 s interval each reading is isolated',
  );
  const { incidents } = await replayRecording({ ...options, intervalSeconds: 300 });
  t.same(
    incidents.map(({ startedMs, firedMs, recoveredMs }) =>
      [startedMs, firedMs, recoveredMs].map(second),
    ),
    [[300, 900, 1200]],
  );
});

test('a recorded live run replays to the same incidents', async (t) => {
  const world = await openAlertingWorld(t);
  const destination = await world.addDestination();
  await world.startEvaluator();
  world.startRules();
  world.startTimers();
  await world.saveRule({ destinationNames: [destination], sustainedSeconds: 60 });
  await world.until('it is applied', () => world.rule().value === 'active');
  for (const value of [10, 95, 95, 95, 95, 20, 95, 95, 95, 30]) {
    await world.cpu(value, ['vm-1', 'vm-2']);
    await world.pass(30_000);
  }
  const entries = [];
  for await (const { entry } of pastEntries(world.stream, { sequence: 1 })) entries.push(entry);
  const recorded = parseRecording(formatRecording(entries));
  const { incidents, deliveries } = await replayRecording({
    recording: { kind: 'log', entries: recorded },
    rules: rules({ ...cpuRule, destinationNames: [destination] }),
  });
  const live = world.incidents().map(({ vm, startedMs, state }) => ({ vm, startedMs, state }));
  t.equal(live.length, 4);
  t.same(
    incidents.map(({ vm, startedMs, state }) => ({ vm, startedMs, state })),
    live.toSorted((a, b) => a.startedMs - b.startedMs || (a.vm < b.vm ? -1 : 1)),
  );
  t.equal(deliveries.length, 8, 'each is reported as firing and as recovered');
});

test('outages and retired VMs of a live log replay unchanged', async (t) => {
  const telemetry = { metricId: 'telemetry_age_seconds', threshold: 300, sustainedMs: 0 };
  const world = new EvaluationWorld([cpuLiveRule(telemetry)]);
  const vms = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const placed = vms.map((vm) => ({ project: 'demo', vm, datacenter: 'DC-1' }));
  // Five of seven fall silent. In the live run this is no outage, because their data center has
  // many other VMs.
  for (let at = 0; at <= 900; at += 15) {
    world.tick(at, { outages: [], placed: at === 0 ? placed : [], clockAhead: [] });
    if (at % 30 === 0) world.rows((at <= 150 ? vms : ['f', 'g']).map((vm) => ({ at, vm, cpu: 1 })));
    if (at === 600) {
      const retired = [{ project: 'demo', vm: 'a', generation: 1, atMs: LIVE_START + at * 1000 }];
      world.entry({
        kind: 'rules',
        atMs: LIVE_START + at * 1000,
        upserts: [],
        removals: [],
        retired,
      });
    }
  }
  const lines = world.log.flatMap((entry) => recordingLine(entry, 'demo') ?? []);
  const recorded = parseRecording([RECORDING_HEADER, ...lines].join('\n'));
  t.same(
    world.log
      .flatMap((entry) => recordingLine(entry, 'other') ?? [])
      .filter((line) => !/^{"tick/.test(line)),
    [],
    'another project is not notified of it',
  );
  const { incidents } = await replayRecording({
    recording: { kind: 'log', entries: recorded },
    rules: rules({ ...cpuRule, ...telemetry, sustainedSeconds: 0, sustainedMs: undefined }),
  });
  t.same(
    incidents.map(({ vm, state }) => [vm, state]),
    [['a', 'RETIRED'], ...['b', 'c', 'd', 'e'].map((vm) => [vm, 'FIRING'])],
  );
});

test('an invalid replay input is reported with its position', async (t) => {
  const options = { vm: 'vm-1', name: 'a.csv' };
  t.throws(() => parseCsv('when,cpu\n1,2', options), /a\.csv: .*time column/);
  t.throws(() => parseCsv('time,cpu\nnoon,2', options), /a\.csv, line 2, column 1: "noon"/);
  t.throws(() => parseCsv('time,cpu\n1,much', options), /a\.csv, line 2, column 2: "much" of cpu/);
  t.throws(() => readRecording('/no/such/file'), UnreadableRecording);
  t.throws(() => rules({ ...cpuRule, treshold: 5 }), /Rule 1: .*treshold/);
  t.throws(() => rules({ ...cpuRule, metricId: 'nothing' }), UnusableRules);
  await t.rejects(
    replayRecording({ recording: { kind: 'rows', rows: [] }, rules: rules(cpuRule) }),
    /The recording is empty/,
  );
  await t.rejects(
    replayRecording({
      recording: csv([1]),
      rules: rules({ ...cpuRule, metricId: 'disk_read_bytes_per_second' }),
      intervalSeconds: 300,
    }),
    /a rate depends on time/,
  );
});

test('API-43: a CSV with a reserved column is rejected with the nearest name', async (t) => {
  const folder = t.testdir({
    'near.csv': 'time,vm,svc_vm_cpu_second_total\n1,a,2\n',
    'derived.csv': 'time,vm,svc_vm_running\n1,a,1\n',
    'own.csv': `time,vm,own,${CPU}\n1,a,1,2\n`,
    'huge.csv': `time,vm,own,svc_vm_memory_free_bytes\n1,a,1e300,1e308\n`,
  });
  const read = (name: string) => () => readRecording(join(folder, name));
  t.throws(read('near.csv'), /column svc_vm_cpu_second_total.*svc_vm_cpu_seconds_total\?/);
  t.throws(read('derived.csv'), /column svc_vm_running: .*field state/);
  t.match(read('own.csv')(), { kind: 'rows' });
  t.throws(read('huge.csv'), /column svc_vm_memory_free_bytes: 1e\+308\. .*2\^64/);
});

test('times without a zone are UTC, and large numbers are milliseconds', async (t) => {
  const text = `time,cpu\n2026-01-01 00:00:00,1\n${START / 1000},2\n${START},3`;
  const rows = parseCsv(text, { vm: 'vm-1', name: 'x' });
  t.same(
    rows.map(({ observedMs }) => observedMs),
    [START, START, START],
  );
});

test('an unexpected report shows its first differing line', async (t) => {
  const result = await replayRecording({ recording: csv([95, 95, 95]), rules: rules(cpuRule) });
  const text = reportText(result);
  t.equal(reportDifference(text, text), '');
  t.match(reportDifference(text.replace('FIRING', 'RECOVERED'), text), /^line 4\n- .*\n\+ /);
});

for (const set of traceSets.filter(({ isSmall }) => isSmall)) {
  test(
    `${set.name}: the incidents equal those in the report`,
    needs('shared folder'),
    async (t) => {
      t.equal(await checkTraces(set, `${componentPath('shared folder')}/data/traces`), '');
    },
  );
}
