/**
 * Actions on several incidents in one call: one result each, one commit, and never another project.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { type RpcWorld, START_SECONDS, startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { newRule } from '../support/rule-spec.ts';

const PROJECT = 'projects/demo';
const CPU = 'svc_vm_cpu_utilization_pct';

const cpu = (vm: string, secondsAgo: number, value: number) => ({
  vm,
  observedUnixMs: START_MS - secondsAgo * 1000,
  values: [{ series: CPU, value }],
});

/** Incidents of `vm-1`, `vm-2` (both fire) and `vm-3` (recovered), by VM. */
async function startFiring(t: Parameters<typeof startRpcWorld>[0]) {
  const world = await startRpcWorld(t);
  const editor = { person: await world.signedInAs('demo', 'EDITOR') };
  await world.call('SaveAlertRule', newRule(PROJECT));
  await world.write(['vm-1', 'vm-2', 'vm-3'].map((vm) => cpu(vm, 60, 95)));
  await world.write([cpu('vm-3', 30, 5)]);
  const { incidents } = (await world.call('ListIncidents', { projectName: PROJECT })).body;
  const nameOf = (vm: string): string =>
    incidents.find(({ vmName }: { vmName: string }) => vmName.endsWith(vm)).name;
  return { ...world, editor, nameOf };
}

const about = (names: readonly string[], more: object = {}) => ({
  projectName: PROJECT,
  requestId: randomUUID(),
  names,
  ...more,
});

/** Commits of the project so far. */
const commitsOf = (world: Pick<RpcWorld, 'host'>) =>
  new Set(
    world.host
      .view('demo')
      .transitions({ limit: 1000 })
      .items.map(({ sequence }) => sequence),
  ).size;

test('API-33: each incident of a call has its own result, and valid ones are acknowledged', async (t) => {
  const world = await startFiring(t);
  const { call, editor, nameOf } = world;
  const none = `${PROJECT}/incidents/none`;
  const names = [nameOf('vm-1'), nameOf('vm-3'), none, nameOf('vm-2')];
  const before = commitsOf(world);
  const request = about(names, { note: 'ours' });
  const answer = await call('AcknowledgeIncidents', request, editor);
  t.equal(answer.status, 200, JSON.stringify(answer.body));
  t.match(answer.body.results, [
    { name: names[0], errorReason: '', incident: { acknowledged: { note: 'ours' } } },
    { name: names[1], errorReason: 'INVALID_STATE', errorMessage: /has recovered/ },
    { name: none, errorReason: 'NOT_FOUND' },
    { name: names[3], errorReason: '', incident: { acknowledged: { by: /^people\// } } },
  ]);
  t.notOk('incident' in answer.body.results[2], 'the incident does not exist');
  t.equal(commitsOf(world), before + 1, 'in one commit');
  const resent = await call('AcknowledgeIncidents', request, editor);
  t.same(resent.body, answer.body, 'a resend gets the same answer');
  t.equal(commitsOf(world), before + 1, 'it changes nothing');
  const other = await call('AcknowledgeIncidents', { ...request, note: 'x' }, editor);
  t.match(other, { status: 400, reason: 'REQUEST_ID_REUSED' });
});

test('API-33: several incidents are snoozed until the same time, which must be valid', async (t) => {
  const { call, editor, nameOf } = await startFiring(t);
  const names = [nameOf('vm-1'), nameOf('vm-2')];
  const untilUnix = String(START_SECONDS + 3600);
  const { body } = await call('SnoozeIncidents', about(names, { untilUnix }), editor);
  t.match(body.results, [
    { name: names[0], errorReason: '', incident: { snoozedUntilUnix: untilUnix } },
    { name: names[1], errorReason: '', incident: { snoozedUntilUnix: untilUnix } },
  ]);
  for (const seconds of [0, 8 * 86_400]) {
    const late = about(names, { untilUnix: String(START_SECONDS + seconds) });
    const refused = await call('SnoozeIncidents', late, editor);
    t.match(refused, { status: 400, reason: 'INVALID_FIELD', metadata: { field: 'untilUnix' } });
  }
});

test('API-33: a call names a bounded number of distinct incidents in one project', async (t) => {
  const { call, editor, nameOf } = await startFiring(t);
  const name = nameOf('vm-1');
  const many = Array.from({ length: 201 }, (_, i) => `${PROJECT}/incidents/inc_${i}`);
  for (const names of [[], many, [name, name], ['inc_1']]) {
    const answer = await call('AcknowledgeIncidents', about(names), editor);
    t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field: 'names' } });
  }
  const foreign = about([name, 'projects/other/incidents/inc_1']);
  const refused = await call('AcknowledgeIncidents', foreign, editor);
  t.match(refused, { status: 403, reason: 'PROJECT_BOUNDARY' });
  const incident = (await call('GetIncident', { name })).body;
  t.notOk(incident.acknowledged, 'the others are unchanged');
  const note = 'x'.repeat(1001);
  const long = await call('AcknowledgeIncidents', about([name], { note }), editor);
  t.match(long, { status: 400, metadata: { field: 'note' } });
});

test('API-33: 200 incidents are acknowledged once, in commits of bounded size', async (t) => {
  const world = await startFiring(t);
  const vms = Array.from({ length: 200 }, (_, i) => `many-${i}`);
  await world.write(vms.map((vm) => cpu(vm, 30, 95)));
  const { incidents } = (
    await world.call('ListIncidents', { projectName: PROJECT, pageSize: 200, attention: true })
  ).body;
  const names = incidents.map(({ name }: { name: string }) => name);
  t.equal(names.length, 200);
  // Four bytes per character: the maximum size of a note.
  const request = about(names, { note: '🔥'.repeat(1000) });
  const before = commitsOf(world);
  const answer = await world.call('AcknowledgeIncidents', request, world.editor);
  t.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 300));
  t.same(
    answer.body.results.map(({ name }: { name: string }) => name),
    names,
  );
  t.ok(answer.body.results.every(({ errorReason }: { errorReason: string }) => errorReason === ''));
  const after = commitsOf(world);
  t.ok(after > before + 1, 'in several');
  const resent = await world.call('AcknowledgeIncidents', request, world.editor);
  t.same(resent.body, answer.body);
  t.equal(commitsOf(world), after, 'a resend changes nothing');
  const { body } = await world.call('ListTransitions', {
    projectName: PROJECT,
    requestId: request.requestId,
    pageSize: 1000,
  });
  t.equal(body.transitions.length, 200, 'all under the request’s id');
});
