/**
 * Rules on a real host: saved rules are applied through the log, outdated instances are retired,
 * and no recovery is ever invented.
 */
import { test } from 'tap';
import type { IncidentBody, IncidentWindowBody } from '../../actors/alerting/incident.ts';
import { retireInstances } from '../../actors/alerting/rule-instances.ts';
import { keepRules } from '../../actors/alerting/rule-keeper.ts';
import { validateRuleSpec } from '../../actors/alerting/rule-spec.ts';
import { pastEntries, SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { instanceIdOf } from '../../streams/alerting/evaluation/notification-diff.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import {
  type AlertingWorld,
  by,
  freshRequest,
  openAlertingWorld,
  PROJECT,
  RULE,
  ruleSpec,
  START_MS,
} from '../support/alerting-on-host.ts';
import { submit } from '../support/submit.ts';

/** A world that stores and evaluates rules. */
async function evaluating(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  world.startRules();
  await world.startEvaluator();
  return world;
}

async function saved(world: AlertingWorld, ...save: Parameters<AlertingWorld['saveRule']>) {
  await world.saveRule(...save);
  await world.until('the rule is applied', () => world.rule().value !== 'pendingApplication');
}

/** CPU of vm-1 every 30 s, `count` times; time advances by 30 s after each. */
async function observe(world: AlertingWorld, value: number, count: number) {
  for (let i = 0; i < count; i++) {
    await world.cpu(value);
    await world.pass(30_000);
  }
}

function windowOf(world: AlertingWorld, incident: Pick<IncidentBody, 'id'> | undefined) {
  const record = world.host.view(PROJECT).record('incidentWindow', incident?.id ?? '');
  return (record?.body as IncidentWindowBody | undefined)?.window ?? [];
}

const uuid = (n: number) => `7b0c5a0e-6d2a-4a55-9a53-${String(n).padStart(12, '0')}`;

test('a saved rule is marked in the log, and active once the marker is evaluated', async (t) => {
  const world = await openAlertingWorld(t);
  await world.saveRule();
  t.match(world.rule(), { value: 'pendingApplication', context: { appliedVersion: 0 } });
  world.startRules();
  await world.settle();
  t.equal(world.rule().value, 'pendingApplication', 'a marker alone applies nothing');
  await world.startEvaluator();
  await world.until('it is applied', () => world.rule().value === 'active');
  t.match(world.rule().context, { version: 1, appliedVersion: 1, evaluationRevision: 1 });
});

test('concurrent saves cannot exceed the limits', async (t) => {
  const world = await openAlertingWorld(t);
  const rules = await Promise.allSettled(
    Array.from({ length: 30 }, (_, i) => world.saveRule({}, { id: uuid(i) })),
  );
  t.equal(rules.filter(({ status }) => status === 'fulfilled').length, 20);
  t.match(rules.at(-1), { reason: { reason: 'LIMIT_EXCEEDED', metadata: { limit: '20' } } });
  await world.deleteRule('1', uuid(0));
  await world.saveRule({}, { id: uuid(99) });
  const hooks = await Promise.allSettled(Array.from({ length: 9 }, () => world.addDestination()));
  t.equal(hooks.filter(({ status }) => status === 'fulfilled').length, 5);
  t.equal(world.sealed.size, 10, 'sealed values of the rejected ones are deleted');
  await world.saveRule({}, { project: 'other' });
});

test('a save on an older version is rejected with the current one', async (t) => {
  const world = await openAlertingWorld(t);
  await world.saveRule();
  const save = (expectedVersion: string) =>
    world.alerting.saveRule({
      project: PROJECT,
      by,
      request: freshRequest(),
      id: RULE,
      expectedVersion,
      spec: ruleSpec(),
    });
  const stale = (currentVersion: string) => ({
    name: 'Refusal',
    reason: 'STALE_VERSION',
    metadata: { currentVersion },
  });
  await t.rejects(save('0'), stale('1'));
  const both = await Promise.allSettled([save('1'), save('1')]);
  t.same(
    both.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  );
  t.match(both[1], { reason: stale('2') });
  const missing = { project: PROJECT, by, id: uuid(5), spec: ruleSpec() };
  await t.rejects(
    world.alerting.saveRule({ ...missing, request: freshRequest(), expectedVersion: '3' }),
    { name: 'Refusal', reason: 'NOT_FOUND' },
  );
  await t.rejects(world.deleteRule('1'), stale('2'));
  await world.deleteRule('2');
  await t.rejects(save('3'), { name: 'Refusal', reason: 'INVALID_STATE' });
  await t.rejects(world.deleteRule('3'), { name: 'Refusal', reason: 'NOT_FOUND' });
});

test('a rule that names a missing resource is rejected with the field', async (t) => {
  const world = await openAlertingWorld(t);
  const invalid = (field: string) => ({
    name: 'Refusal',
    reason: 'INVALID_FIELD',
    metadata: { field },
  });
  const ofVms = (vmNames: string[]) => world.saveRule({ allVms: false, vmNames });
  await t.rejects(ofVms([`projects/${PROJECT}/vms/vm-1`]), invalid('spec.vmNames'));
  await world.cpu(10);
  await t.rejects(ofVms(['projects/other/vms/vm-1']), invalid('spec.vmNames'));
  await ofVms([`projects/${PROJECT}/vms/vm-1`]);
  const hook = await world.addDestination();
  const ofHooks = (destinationNames: string[]) => world.saveRule({ destinationNames });
  await t.rejects(ofHooks([`${hook}x`]), invalid('spec.destinationNames'));
  await ofHooks([hook]);
  const id = hook.slice(hook.lastIndexOf('/') + 1);
  await world.destinations.delete({ project: PROJECT, by, request: freshRequest(), id });
  const other = world.saveRule({ destinationNames: [hook] }, { id: uuid(1) });
  await t.rejects(other, invalid('spec.destinationNames'));
});

test('a rule that names a deleted destination can still be paused and edited', async (t) => {
  const world = await openAlertingWorld(t);
  const [gone, hook] = [await world.addDestination(), await world.addDestination()];
  await world.saveRule({ destinationNames: [gone] });
  const id = gone.slice(gone.lastIndexOf('/') + 1);
  await world.destinations.delete({ project: PROJECT, by, request: freshRequest(), id });
  await world.saveRule({ destinationNames: [gone], enabled: false });
  await world.saveRule({ destinationNames: [gone, hook] });
  t.match(world.rule().context, { version: 3, spec: { destinationNames: [gone, hook] } });
  await world.saveRule({ destinationNames: [hook] });
  await t.rejects(world.saveRule({ destinationNames: [gone, hook] }), {
    name: 'Refusal',
    reason: 'INVALID_FIELD',
    metadata: { field: 'spec.destinationNames' },
  });
});

test('an edit of the evaluation retires firing instances, sends no recovery, and fires again', async (t) => {
  const world = await evaluating(t);
  const hook = await world.addDestination();
  await saved(world, { destinationNames: [hook] });
  await observe(world, 95, 4);
  t.match(world.incidents(), [{ state: 'FIRING' }]);
  await saved(world, { destinationNames: [hook], threshold: 80 });
  await world.until('the old one is retired', () => world.incidents()[0]?.state === 'RETIRED');
  await world.until('the new one fires', () => world.incidents().length === 2);
  const [old, next] = world.incidents();
  t.match(old, { state: 'RETIRED', retireReason: 'RULE_CHANGED', recoveredMs: null });
  t.match(next, { state: 'FIRING', startedMs: START_MS }, 'at once, from stored samples');
  t.match(next, { firedMs: world.clock.now(), ruleVersion: 2, threshold: 80 });
  t.same(
    world.deliveries().map(({ event, incident }) => [event, incident]),
    [
      ['FIRING', old?.id],
      ['FIRING', next?.id],
    ],
    'no recovery is notified',
  );
});

test('a rename keeps firing instances; decisions delayed while it was pending are made afterwards', async (t) => {
  const world = await evaluating(t);
  await saved(world);
  await observe(world, 95, 2);
  // The marker of the rename cannot be written yet, so the rule stays pending.
  world.faults.append = ({ subject }) => (subject.endsWith('.rules') ? 'refused' : undefined);
  await world.saveRule({ displayName: 'Another name' });
  await observe(world, 95, 2);
  t.equal(world.rule().value, 'pendingApplication');
  t.same(world.incidents(), [], 'nothing is notified while it is pending');
  world.faults.append = () => undefined;
  await world.pass(1_000);
  await world.until('it is applied', () => world.rule().value === 'active');
  await world.until('it fires', () => world.incidents().length === 1);
  t.match(world.incidents(), [{ startedMs: START_MS, ruleDisplayName: 'Another name' }]);
  const before = world.live('alertInstance');
  await saved(world, { displayName: 'A third name' });
  await world.settle();
  t.same(world.live('alertInstance'), before);
  t.match(world.rule().context, { version: 3, evaluationRevision: 1 });
});

test('a pause retires instances, and a resume begins a new run, even on a replay', async (t) => {
  const world = await evaluating(t);
  await saved(world);
  await observe(world, 95, 3);
  await saved(world, { enabled: false });
  await world.until('it is retired', () => world.live('alertInstance').length === 0);
  t.match(world.incidents(), [{ state: 'RETIRED', retireReason: 'RULE_PAUSED' }]);
  await observe(world, 95, 3);
  const resumedMs = world.clock.now();
  await saved(world);
  await observe(world, 95, 2);
  t.equal(world.incidents().length, 1, 'samples of the pause do not count');
  await observe(world, 95, 2);
  t.match(world.incidents()[1], { state: 'FIRING', startedMs: resumedMs });
  const markers = [];
  for await (const { entry } of pastEntries(world.stream, { sequence: 1 }, { kind: 'rules' })) {
    markers.push(entry);
  }
  t.match(markers.at(-1), { upserts: [{ evaluationRevision: 3, fromMs: resumedMs }] });
});

test('a deletion retires instances, and its missing marker is written after a crash', async (t) => {
  const world = await evaluating(t);
  await saved(world);
  await observe(world, 95, 3);
  await world.deleteRule();
  await world.until('it is retired', () => world.live('alertInstance').length === 0);
  t.match(world.incidents(), [{ state: 'RETIRED', retireReason: 'RULE_DELETED' }]);
  t.same(world.live('alertRule'), []);
});

test('the next start writes the last marker of a deleted rule', async (t) => {
  const world = await openAlertingWorld(t);
  const stopRules = world.startRules();
  const { evaluator } = await world.startEvaluator();
  await saved(world);
  await stopRules();
  await world.deleteRule();
  await observe(world, 95, 1);
  t.equal(evaluator.instances(PROJECT).length, 1);
  world.startRules();
  await world.until('it is not evaluated', () => evaluator.instances(PROJECT).length === 0);
});

test('a rule deleted while no rule keeper ran ends, even if the log has lost it', async (t) => {
  const world = await openAlertingWorld(t);
  const stopRules = world.startRules();
  const { evaluator } = await world.startEvaluator();
  await saved(world);
  await observe(world, 95, 1);
  await stopRules();
  const { lastSequence } = await world.stream.state(SAMPLES_STREAM);
  await world.stream.truncate({ stream: SAMPLES_STREAM, belowSequence: lastSequence + 1 });
  await world.deleteRule();
  t.equal(evaluator.instances(PROJECT).length, 1, 'a running evaluator still follows it');
  const stop = world.startRules();
  await world.until('it is not evaluated', () => evaluator.instances(PROJECT).length === 0);
  await stop();
  const { lastSequence: marked } = await world.stream.state(SAMPLES_STREAM);
  world.startRules();
  await world.pass(1_000);
  const after = await world.stream.state(SAMPLES_STREAM);
  t.equal(after.lastSequence, marked, 'an existing marker is not written again');
});

test('DUR-13: a project acquired during a scan of others is scanned too', async (t) => {
  const world = await openAlertingWorld(t);
  await world.saveRule();
  let isOwn = false;
  let notify = () => {};
  const ownership = {
    ...soleOwner,
    owns: () => isOwn,
    onChange(listener: () => void) {
      notify = listener;
      return () => {};
    },
  };
  // The lease is learned of during the scan of other projects.
  const projects = () => {
    queueMicrotask(() => {
      if (isOwn) return;
      isOwn = true;
      notify();
    });
    return world.host.projects();
  };
  const host = { ...world.host, projects };
  world.run((signal) => keepRules({ ...world, host, ownership }, signal));
  await world.startEvaluator();
  await world.until('it is applied', () => world.rule().value === 'active');
});

test('an incident records its deciding samples and the rule at that time', async (t) => {
  const world = await evaluating(t);
  await saved(world, { operator: 'GREATER_THAN_OR_EQUAL', threshold: 95 });
  await observe(world, 95, 3);
  const firedMs = START_MS + 60_000;
  const [incident] = world.incidents();
  t.match(incident, {
    alertInstance: world.live('alertInstance')[0]?.instance,
    rule: RULE,
    ruleVersion: 1,
    ruleDisplayName: 'CPU is high',
    severity: 'WARNING',
    operator: 'GREATER_THAN_OR_EQUAL',
    threshold: 95,
    sustainedSeconds: 60,
    vm: 'vm-1',
    labels: '',
    state: 'FIRING',
    startedMs: START_MS,
    firedMs,
    value: 95,
    valueMs: firedMs,
    recoveredMs: null,
    retiredMs: null,
  });
  const window = [0, 30_000, 60_000].map((ms) => ({ observedMs: START_MS + ms, value: 95 }));
  t.same(windowOf(world, incident), window);
  t.notOk(JSON.stringify(incident).includes('window'), 'lists of incidents omit it');
  t.notOk(JSON.stringify(world.live('alertInstance')).includes('window'), 'kept once');
  await saved(world, { operator: 'GREATER_THAN_OR_EQUAL', threshold: 95, displayName: 'New' });
  await observe(world, 20, 1);
  const recovered = { state: 'RECOVERED', value: 20, valueMs: START_MS + 90_000 };
  t.match(world.incidents(), [{ ...recovered, ruleDisplayName: 'CPU is high' }]);
  t.same(windowOf(world, incident), window, 'it stays');
});

test('10,000 instances are retired in small commits', async (t) => {
  const world = await openAlertingWorld(t);
  await world.saveRule();
  const count = 10_000;
  const key = (i: number) => ({
    project: PROJECT,
    rule: RULE,
    evaluationRevision: 1,
    vm: `vm-${i}`,
    labels: '',
  });
  for (let start = 0; start < count; start += 250) {
    await submit(world.host, { project: PROJECT, by }, (draft) => {
      for (let i = start; i < start + 250; i++) {
        draft.start('alertInstance', instanceIdOf(key(i)), { at: draft.at, ...key(i) });
      }
    });
  }
  const sizes: number[] = [];
  world.host.onApplied(({ commit }) => {
    sizes.push(commit.decisions.reduce((sum, { steps }) => sum + steps.length, 0));
  });
  await world.deleteRule();
  t.equal(await retireInstances(world.host, PROJECT, RULE), count);
  t.equal(world.live('alertInstance').length, 0);
  t.ok(Math.max(...sizes) <= 500);
  t.equal(await retireInstances(world.host, PROJECT, RULE), 0, 'a second run finds none');
});

test('an incident’s deciding samples are stored beside it, and later commits do not repeat them', async (t) => {
  const world = await evaluating(t);
  const vms = Array.from({ length: 40 }, (_, i) => `vm-${i}`);
  await saved(world, { sustainedSeconds: 3_000 });
  const write = (minute: number) =>
    world.ingest.write({
      project: PROJECT,
      batchId: '',
      rows: vms.flatMap((vm) =>
        Array.from({ length: 10 }, (_, i) => {
          const observedMs = world.clock.now() + i * 5_000;
          return {
            vm,
            observedMs,
            sequence: minute * 10 + i,
            boot: 'b',
            vcpus: Number.NaN,
            state: 1,
            stateReason: '',
            series: ['svc_vm_cpu_utilization_pct'],
            values: [90.123456789 + i],
          };
        }),
      ),
    });
  for (let minute = 0; minute < 62; minute++) {
    await write(minute);
    await world.pass(50_000);
  }
  await world.until('all fire', () => world.incidents().length === vms.length);
  const haveWindows = () => world.incidents().every((each) => windowOf(world, each).length > 300);
  t.ok(haveWindows());
  const later: string[] = [];
  world.host.onApplied(({ commit }) => later.push(JSON.stringify(commit)));
  await saved(world, { enabled: false });
  await world.until('all are retired', () => world.live('alertInstance').length === 0);
  t.ok(haveWindows(), 'with their windows');
  t.notOk(later.some((commit) => commit.includes('"window"')));
});

test('HOOK-27: a runbook is printable text and an http or https link', async (t) => {
  const save = (more: { runbookText?: string; runbookUrl?: string }) =>
    validateRuleSpec({
      ...ruleSpec(),
      operator: 'GREATER_THAN',
      severity: 'WARNING',
      labels: {},
      recoveryThreshold: undefined,
      recoverySeconds: undefined,
      runbookText: '',
      runbookUrl: '',
      ...more,
    });
  t.notOk('runbookText' in save({}) || 'runbookUrl' in save({}), 'no link is absent');
  const runbook = { runbookText: 'One.\nTwo.', runbookUrl: 'https://r.example.com/a?b=c#d' };
  t.match(save(runbook), runbook);
  for (const runbookText of ['x'.repeat(2_001), 'a\u202eb', 'a\u0000']) {
    t.throws(() => save({ runbookText }), /runbookText/, JSON.stringify(runbookText.slice(0, 9)));
  }
  const links = [
    'javascript:alert(1)',
    'r.example.com',
    'https://a b/',
    'https://me:x@r.example.com',
  ];
  for (const runbookUrl of [...links, 'https://', `https://r/${'x'.repeat(500)}`]) {
    t.throws(() => save({ runbookUrl }), /runbookUrl/, runbookUrl.slice(0, 30));
  }
});
