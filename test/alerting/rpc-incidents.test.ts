/** Reads of alerting over the wire: incidents, instances, and the path that led there. */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { cpuSpec, newRule } from '../support/rule-spec.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const PROJECT = 'projects/demo';

const spec = cpuSpec({ threshold: 50 });

/** A save of a new rule, unless `change` says otherwise. */
function save(change: object = {}, specChange: object = {}) {
  return { ...newRule(PROJECT, { ...spec, ...specChange }), ...change };
}

const cpu = (secondsAgo: number, value: number, vm = 'vm-1') => ({
  vm,
  observedUnixMs: START_MS - secondsAgo * 1000,
  values: [{ series: CPU, value }],
});

test('incidents, instances and transitions are read over the wire', async (t) => {
  const world = await startRpcWorld(t);
  await world.write([cpu(60, 10), cpu(60, 10, 'vm-2'), { vm: 'vm-3', observedUnixMs: START_MS }]);
  const request = save();
  await world.call('SaveAlertRule', request);
  await world.write([cpu(0, 90)]);
  const ruleName = `${PROJECT}/alertRules/${request.id}`;
  const list = (method: string, more: object = {}) =>
    world.call(method, { projectName: PROJECT, ...more });

  await t.test('an incident is returned as it was decided', async (t) => {
    const { incidents } = (await list('ListIncidents')).body;
    t.equal(incidents.length, 1);
    const [incident] = incidents;
    t.match(incident, {
      ruleName,
      ruleVersion: '1',
      ruleDisplayName: 'CPU',
      vmName: VM,
      labels: {},
      severity: 'WARNING',
      state: 'FIRING',
      dataState: 'OBSERVED',
      value: 90,
      metricId: 'cpu_utilization_pct',
      operator: 'GREATER_THAN',
      threshold: 50,
      startedUnix: String(START_SECONDS),
      firedUnix: String(START_SECONDS),
      correctedAfterNotification: false,
    });
    for (const field of ['recoveredUnix', 'snoozedUntilUnix', 'acknowledged']) {
      t.notOk(field in incident, `${field} has not happened`);
    }
    const { timeline, ...got } = (await world.call('GetIncident', { name: incident.name })).body;
    t.same({ ...got, timeline: [] }, incident, 'except for the timeline, which lists omit');
    t.match(timeline, [{ event: 'sustained' }]);
    t.match(await world.call('GetIncident', { name: `${PROJECT}/incidents/none` }), {
      status: 404,
    });
  });
  await t.test('filters list the matching incidents', async (t) => {
    const count = async (filter: object) =>
      (await list('ListIncidents', filter)).body.incidents.length;
    t.equal(await count({ state: 'FIRING', ruleName, vmName: VM }), 1);
    t.equal(await count({ state: 'RECOVERED' }), 0);
    t.equal(await count({ vmName: `${PROJECT}/vms/vm-2` }), 0);
    t.equal(await count({ startTimeUnix: String(START_SECONDS + 1) }), 0);
    t.equal(await count({ endTimeUnix: String(START_SECONDS) }), 1);
    const other = await list('ListIncidents', { ruleName: 'projects/other/alertRules/x' });
    t.match(other, { status: 403, reason: 'PROJECT_BOUNDARY' });
    const backwards = { startTimeUnix: '10', endTimeUnix: '5' };
    t.match(await list('ListIncidents', backwards), { metadata: { field: 'endTimeUnix' } });
  });
  await t.test('instances are listed for every VM, fired or not, page by page', async (t) => {
    const first = (await list('ListAlertInstances', { pageSize: 1 })).body;
    t.match(first.instances, [{ ruleName, vmName: VM, state: 'FIRING', lastValue: 90 }]);
    const rest = (await list('ListAlertInstances', { pageToken: first.nextPageToken })).body;
    t.match(rest.instances, [
      { vmName: `${PROJECT}/vms/vm-2`, state: 'IDLE', dataState: 'OBSERVED' },
    ]);
    t.notOk('sinceUnix' in rest.instances[0]);
    t.equal(rest.nextPageToken, '');
    for (const position of ['x', '[]', '["vm-1","r","",null]']) {
      const text = JSON.stringify(['alertInstances', position]);
      const pageToken = Buffer.from(text).toString('base64url');
      const answer = await list('ListAlertInstances', { pageToken });
      t.match(answer, { status: 400, metadata: { field: 'pageToken' } }, position);
    }
    const other = { ruleName: `${PROJECT}/alertRules/${randomUUID()}` };
    t.same((await list('ListAlertInstances', other)).body.instances, []);
  });
  await t.test('missing data is shown as such and recovers nothing', async (t) => {
    await world.write([cpu(-30, 20, 'vm-2')]);
    const { incidents } = (await list('ListIncidents', { state: 'FIRING' })).body;
    t.equal(incidents.length, 1);
  });
  await t.test(
    'API-22: an instance’s path is its recorded transitions, newest first',
    async (t) => {
      const { transitions } = (await list('ListTransitions', { machine: 'alertRule' })).body;
      t.equal(transitions[0].event, 'applied');
      t.match(transitions.at(-1), {
        instance: request.id,
        fromJson: '',
        toJson: '"pendingApplication"',
      });
      const named = (await list('ListTransitions', { instanceName: ruleName })).body.transitions;
      t.same(named, transitions);
      const firing = (await list('ListTransitions', { machine: 'alertInstance' })).body.transitions;
      const instanceDisplayName = 'CPU on vm-1';
      t.match(firing[0], { event: 'sustained', by: /evaluator/, instanceDisplayName });
      t.match(firing[0].toJson, /firing/);
    },
  );
});
