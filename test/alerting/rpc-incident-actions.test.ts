/**
 * Actions on incidents over the wire, the timeline that records them, and the explanation of why an
 * incident fired, over real history, query threads and evaluator.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import type { IncidentBody } from '../../actors/alerting/incident.ts';
import {
  endNotice,
  type NoticeKind,
  type NoticeSubject,
  raiseNotice,
} from '../../actors/alerting/notices.ts';
import type { Draft, EventOf } from '../../actors/platform/host/host-port.ts';
import { type RpcWorld, START_SECONDS, startRpcWorld, VM } from '../support/api-in-process.ts';
import { openStream } from '../support/connect-stream.ts';
import { DAY_MS, START_MS } from '../support/host-in-memory.ts';
import { newRule } from '../support/rule-spec.ts';
import { submit } from '../support/submit.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const PROJECT = 'projects/demo';

/** A rule on CPU above 90 % for a minute. */
async function saveRule(world: RpcWorld, spec: object = {}) {
  const { id, ...rule } = newRule(PROJECT, { sustainedSeconds: 60, ...spec });
  const answer = await world.call('SaveAlertRule', { id, ...rule });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return id;
}

/** Observations this many seconds ago, by default of `vm-1`. */
const cpu = (secondsAgo: number, value: number, vm = 'vm-1') => ({
  vm,
  observedUnixMs: START_MS - secondsAgo * 1000,
  values: [{ series: CPU, value }],
});

async function firing(world: RpcWorld): Promise<string> {
  const { incidents } = (await world.call('ListIncidents', { projectName: PROJECT })).body;
  return incidents[0]?.name ?? '';
}

const act = (name: string, more: object = {}) => ({ name, requestId: randomUUID(), ...more });

test('STATE-03: an editor acknowledges, snoozes and unsnoozes a firing incident', async (t) => {
  const world = await startRpcWorld(t);
  const editor = await world.signedInAs('demo', 'EDITOR');
  const person = { person: editor };
  await saveRule(world);
  await world.write([cpu(60, 95), cpu(30, 95), cpu(0, 95)]);
  const name = await firing(world);
  const untilUnix = String(START_SECONDS + 3600);

  await t.test('a watcher receives each action', async (t) => {
    const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
    const path = '/svc.monitoring.v1.AlertService/WatchIncidents';
    const headers = { authorization: `Bearer ${world.keys.read}` };
    const watch = await openStream(url, path, { projectName: PROJECT }, headers);
    t.teardown(() => watch.close());
    await watch.received(1);
    t.match(watch.messages, [{ kind: 'SNAPSHOT', incidents: [{ name }] }]);
    await world.call('AcknowledgeIncident', act(name, { note: 'mine' }), person);
    await watch.received(2);
    t.match(watch.messages[1], {
      kind: 'CHANGES',
      incidents: [{ acknowledged: { note: 'mine' } }],
    });
    await world.call('SnoozeIncident', act(name, { untilUnix }), person);
    await watch.received(3);
    t.match(watch.messages[2], { incidents: [{ snoozedUntilUnix: untilUnix }] });
  });
  await t.test('each action returns the incident with its timeline, oldest first', async (t) => {
    const { status, body } = await world.call('UnsnoozeIncident', act(name), person);
    t.equal(status, 200, JSON.stringify(body));
    t.match(body, { name, state: 'FIRING', acknowledged: { by: /^people\//, note: 'mine' } });
    t.notOk('snoozedUntilUnix' in body);
    const events = body.timeline.map(({ event }: { event: string }) => event);
    t.same(events, ['sustained', 'acknowledged', 'snoozed', 'unsnoozed']);
    t.match(body.timeline[0], {
      by: 'evaluator',
      detail: /^Fired: cpu_utilization_pct above 90 % for 60 s, since .* UTC, last 95 %$/,
    });
    t.match(body.timeline[1], { by: /^people\//, detail: /: mine$/ });
  });
  await t.test(
    'callers with credentials see only the kind of each actor, as in the audit',
    async (t) => {
      const { timeline } = (await world.call('GetIncident', { name }, { key: world.keys.read }))
        .body;
      t.match(timeline[1], { event: 'acknowledged', by: 'human' });
    },
  );
  await t.test('an exact resend changes nothing, and another body is rejected', async (t) => {
    const request = act(name, { note: 'again' });
    const before = (await world.call('AcknowledgeIncident', request, person)).body;
    t.same((await world.call('AcknowledgeIncident', request, person)).body, before);
    const other = { ...request, note: 'other' };
    t.match(await world.call('AcknowledgeIncident', other, person), {
      reason: 'REQUEST_ID_REUSED',
    });
  });
  await t.test('invalid actions are rejected with a readable message', async (t) => {
    const refused = async (method: string, request: object, expected: object) =>
      t.match(await world.call(method, request, person), expected);
    const past = act(name, { untilUnix: String(START_SECONDS) });
    await refused('SnoozeIncident', past, {
      reason: 'INVALID_FIELD',
      metadata: { field: 'untilUnix' },
    });
    const far = act(name, { untilUnix: String(START_SECONDS + 7 * 86_400 + 60) });
    await refused('SnoozeIncident', far, {
      reason: 'INVALID_FIELD',
      metadata: { field: 'untilUnix' },
    });
    const huge = act(name, { untilUnix: '9223372036854775807' });
    await refused('SnoozeIncident', huge, { reason: 'INVALID_FIELD' });
    await refused('AcknowledgeIncident', { name, note: '' }, { metadata: { field: 'requestId' } });
    await refused('AcknowledgeIncident', act(`${PROJECT}/incidents/none`), { status: 404 });
    const elsewhere = act('projects/other/incidents/x');
    await refused('UnsnoozeIncident', elsewhere, { reason: 'PROJECT_BOUNDARY' });
    world.clock.jump(30_000);
    await world.write([cpu(-30, 5)]);
    const over = { status: 400, reason: 'INVALID_STATE' };
    await refused('AcknowledgeIncident', act(name), over);
    await refused('UnsnoozeIncident', act(name), over);
    const { body } = await world.call('GetIncident', { name });
    t.match(body.timeline.at(-1), { event: 'recovered', detail: 'Recovered: observed 5 %' });
  });
  await t.test('a timeline contains only its own incident', async (t) => {
    world.clock.jump(90_000);
    await world.write([cpu(-60, 99), cpu(-90, 99), cpu(-120, 99)]);
    const next = await firing(world);
    t.not(next, name);
    const eventsOf = async (one: string) =>
      (await world.call('GetIncident', { name: one })).body.timeline.map(
        ({ event }: { event: string }) => event,
      );
    t.same(await eventsOf(next), ['sustained']);
    t.equal((await eventsOf(name)).at(-1), 'recovered');
  });
});

test('missing-data causes and retirements reach watchers and the timeline', async (t) => {
  const world = await startRpcWorld(t);
  const rule = await saveRule(world);
  await world.write([cpu(60, 95), cpu(30, 95), cpu(0, 95)]);
  const name = await firing(world);
  const id = name.slice(name.lastIndexOf('/') + 1);
  const record = world.host.view('demo').record('incident', id);
  const { alertInstance } = (record?.body ?? {}) as unknown as IncidentBody;
  const send = (eventOf: (at: number) => EventOf<'alertInstance'>) =>
    submit(world.host, { project: 'demo' }, (draft) =>
      draft.send('alertInstance', alertInstance, eventOf(draft.at)),
    );
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const path = '/svc.monitoring.v1.AlertService/WatchIncidents';
  const headers = { authorization: `Bearer ${world.keys.read}` };
  const watch = await openStream(url, path, { projectName: PROJECT }, headers);
  t.teardown(() => watch.close());
  await watch.received(1);
  const missing = { type: 'dataMissing', sinceMs: START_MS, eventMs: START_MS + 90_000 } as const;
  await send((at) => ({ ...missing, reason: 'VM_STOPPED', at }));
  const laterMs = START_MS + 120_000;
  await send((at) => ({ ...missing, reason: 'DATACENTER_STALE', eventMs: laterMs, at }));
  await send((at) => ({ type: 'evaluatorFailed', reason: 'out of memory', at }));
  await world.call('DeleteAlertRule', {
    name: `${PROJECT}/alertRules/${rule}`,
    requestId: randomUUID(),
    expectedVersion: '1',
  });
  await watch.received(5);
  t.match(
    watch.messages.slice(1).flatMap(({ incidents }) => incidents),
    [
      { state: 'FIRING', dataState: 'MISSING', dataMissingReason: 'VM_STOPPED' },
      { dataMissingSinceUnix: String(START_SECONDS), dataMissingReason: 'DATACENTER_STALE' },
      { state: 'FIRING', evaluatorError: 'out of memory' },
      { state: 'RETIRED', retireReason: 'RULE_DELETED', retiredUnix: String(START_SECONDS) },
    ],
  );
  const { timeline, ...retired } = (await world.call('GetIncident', { name })).body;
  t.notOk('recoveredUnix' in retired, 'no recovery is manufactured');
  t.match(
    timeline.map(({ detail }: { detail: string }) => detail),
    [
      /^Fired/,
      /because the owner stopped the VM; it still fires$/,
      /because the whole data center is silent; it still fires$/,
      /^The evaluator cannot decide \(out of memory\)/,
      /^Retired because its rule was deleted; this is not a recovery$/,
    ],
  );
});

test('a long timeline is shortened to its beginning and its end', async (t) => {
  const world = await startRpcWorld(t);
  await saveRule(world);
  await world.write([cpu(60, 95), cpu(30, 95), cpu(0, 95)]);
  const name = await firing(world);
  const id = name.slice(name.lastIndexOf('/') + 1);
  const record = world.host.view('demo').record('incident', id);
  const { alertInstance } = (record?.body ?? {}) as unknown as IncidentBody;
  for (let i = 0; i < 300; i++) {
    await submit(world.host, { project: 'demo' }, (draft) => {
      const at = draft.at;
      draft.send('alertInstance', alertInstance, {
        type: 'snoozed',
        untilMs: at + 60_000,
        by: '',
        at,
      });
      draft.send('alertInstance', alertInstance, { type: 'unsnoozed', by: '', at });
    });
    world.clock.jump(1000);
  }
  const { timeline } = (await world.call('GetIncident', { name })).body;
  t.equal(timeline.length, 500);
  t.equal(timeline[0].event, 'sustained');
  const left = timeline.findIndex(({ event }: { event: string }) => event === 'leftOut');
  t.equal(left, 100);
  t.match(timeline[left].detail, /^Events between .* are omitted here/);
  t.equal(timeline.at(-1).event, 'unsnoozed');
  const times = timeline.map(({ atUnix }: { atUnix: string }) => Number(atUnix));
  t.same(
    times,
    times.toSorted((a: number, b: number) => a - b),
  );
});

test('API-18: ExplainIncident shows the deciding samples and whether history still agrees', async (t) => {
  const world = await startRpcWorld(t);
  await saveRule(world, { sustainedSeconds: 150, recoveryThreshold: 80, recoverySeconds: 60 });
  await world.write([cpu(330, 10), cpu(150, 91), cpu(120, 92), cpu(60, 95), cpu(30, 96)]);
  await world.write([cpu(0, 97)]);
  const name = await firing(world);
  const explain = async () => (await world.call('ExplainIncident', { name })).body;

  await t.test(
    'an explanation shows each sample, with its gaps and the condition of that time',
    async (t) => {
      const body = await explain();
      t.match(body.incident, { name, timeline: [{ event: 'sustained' }] });
      t.match(body.condition, {
        metricId: 'cpu_utilization_pct',
        unit: 'percent',
        operator: 'GREATER_THAN',
        threshold: 90,
        sustainedSeconds: 150,
        recoveryThreshold: 80,
        recoverySeconds: 60,
        gapToleranceSeconds: 90,
      });
      t.same(
        body.window.map(({ value, breaches }: { value: number; breaches: boolean }) => [
          value,
          breaches,
        ]),
        [91, 92, 95, 96, 97].map((value) => [value, true]),
      );
      const at = (secondsAgo: number) => String(START_MS - secondsAgo * 1000);
      t.same(body.gaps, [
        { startUnixMs: at(330), endUnixMs: at(150), tolerated: false },
        { startUnixMs: at(120), endUnixMs: at(60), tolerated: true },
      ]);
      t.match(body.recomputation, {
        status: 'AGREES',
        startedUnixMs: at(150),
        firedObservedUnixMs: at(0),
      });
      t.match(
        body.summary,
        /^cpu_utilization_pct was above 90 % in each of 5 samples from .* to .* UTC; the rule requires 2 min 30 s\. A gap of up to 60 s did not interrupt that, because 90 s are tolerated\. Nothing was observed for 3 min before .* Stored samples lead to the same decision\.$/,
      );
    },
  );
  await t.test('an edit of the rule does not change the earlier explanation', async (t) => {
    const { rules } = (await world.call('ListAlertRules', { projectName: PROJECT })).body;
    const [{ name: ruleName, spec, version }] = rules;
    const id = ruleName.slice(ruleName.lastIndexOf('/') + 1);
    const edit = { id, requestId: randomUUID(), expectedVersion: version };
    const { recoveryThreshold: _, ...rest } = spec;
    const edited = { projectName: PROJECT, ...edit, spec: { ...rest, threshold: 99 } };
    t.match(await world.call('SaveAlertRule', edited), { status: 200 });
    t.match((await explain()).condition, { threshold: 90, recoveryThreshold: 80 });
  });
  await t.test('a late sample makes history differ', async (t) => {
    await world.write([cpu(90, 20)]);
    const { recomputation, summary } = await explain();
    t.match(recomputation, { status: 'DIFFERS', detail: /do not lead to a firing by/ });
    t.match(summary, /do not lead to a firing/);
  });
  await t.test('samples older than history are not evaluated again', async (t) => {
    world.clock.jump(8 * DAY_MS);
    const { recomputation, window, summary } = await explain();
    t.match(recomputation, {
      status: 'NOT_POSSIBLE',
      detail: /older than the retention of history/,
    });
    t.equal(window.length, 5, 'the deciding samples are stored with the incident');
    t.match(summary, /It cannot be evaluated again/);
  });
  await t.test('names of other projects are rejected, as in every method', async (t) => {
    const other = await world.call('ExplainIncident', { name: 'projects/other/incidents/x' });
    t.match(other, { reason: 'PROJECT_BOUNDARY' });
    t.match(await world.call('ExplainIncident', { name: `${PROJECT}/incidents/none` }), {
      status: 404,
    });
  });
});

test('a data center’s incident is explained as far as possible', async (t) => {
  const world = await startRpcWorld(t);
  const rule = await saveRule(world, { metricId: 'telemetry_age_seconds', threshold: 120 });
  const vms = ['vm-1', 'vm-2'];
  await world.write([...vms.map((vm) => cpu(600, 10, vm)), cpu(0, 10, 'vm-3')]);
  const body: IncidentBody = {
    id: 'inc_dc',
    alertInstance: 'ins_dc',
    rule,
    ruleVersion: 1,
    ruleDisplayName: 'Silent',
    severity: 'CRITICAL',
    metricId: 'telemetry_age_seconds',
    operator: 'GREATER_THAN',
    threshold: 120,
    sustainedSeconds: 60,
    vm: '',
    labels: '{datacenter="DC-1"}',
    state: 'FIRING',
    startedMs: START_MS - 60_000,
    firedMs: START_MS,
    recoveredMs: null,
    retiredMs: null,
    retireReason: null,
    value: 180,
    valueMs: START_MS,
    dataMissingSinceMs: null,
    acknowledged: null,
    snoozedUntilMs: null,
    correctedAfterNotification: false,
    datacenter: 'DC-1',
    heldVmCount: 2,
  };
  const put = (held: readonly string[]) =>
    submit(world.host, { project: 'demo' }, (draft) => {
      draft.putRecord({ kind: 'incident', id: 'inc_dc', body });
      draft.putRecord({
        kind: 'incidentHeldVms',
        id: 'inc_dc',
        body: { datacenter: 'DC-1', vms: held, count: held.length },
      });
    });
  await put(vms);
  const name = `${PROJECT}/incidents/inc_dc`;
  const got = (await world.call('GetIncident', { name })).body;
  t.match(got, { vmName: '', datacenter: 'DC-1', heldVmCount: '2' });
  t.same(got.heldVms, [VM, `${PROJECT}/vms/vm-2`]);
  const listed = (await world.call('ListIncidents', { projectName: PROJECT })).body.incidents;
  t.match(listed[0], { datacenter: 'DC-1', heldVms: [], timeline: [] }, 'lists omit them');
  for (const [vm, found] of [
    ['vm-2', 1],
    ['vm-3', 0],
  ] as const) {
    const of = { projectName: PROJECT, vmName: `${PROJECT}/vms/${vm}` };
    const { incidents } = (await world.call('ListIncidents', of)).body;
    t.equal(incidents.length, found, `${vm}: the incident that holds the VM is listed for it`);
  }
  const explained = (await world.call('ExplainIncident', { name })).body;
  t.match(explained, {
    window: [],
    recomputation: {
      status: 'AGREES',
      detail: 'No samples of the 2 checked silent VMs are stored for the 90 s before the decision',
    },
    summary: /^2 VMs of data center DC-1, silent together, had sent nothing for 2 min at/,
  });
  await put([...vms, 'vm-3']);
  t.match((await world.call('ExplainIncident', { name })).body.recomputation, {
    status: 'DIFFERS',
    detail: /Samples of 1 of the 3 checked silent VMs are stored/,
  });
});

test('notices are listed newest first, with their subjects', async (t) => {
  const world = await startRpcWorld(t);
  const notice = (kind: NoticeKind, collection: NoticeSubject['collection']) => ({
    kind,
    subject: { collection, id: 'x' },
    text: `${kind} text`,
  });
  const decide = (change: (draft: Draft) => void) =>
    submit(world.host, { project: 'demo' }, (draft) => change(draft));
  await decide((draft) => raiseNotice(draft, notice('INSTANCE_LIMIT', 'alertRules')));
  world.clock.jump(60_000);
  await decide((draft) => raiseNotice(draft, notice('DESTINATION_PAUSED', 'destinations')));
  await decide((draft) => endNotice(draft, notice('INSTANCE_LIMIT', 'alertRules')));
  const list = (more: object = {}) =>
    world.call('ListNotices', { projectName: PROJECT, ...more }, { key: world.keys.read });
  const { notices } = (await list()).body;
  t.match(notices, [
    { kind: 'DESTINATION_PAUSED', subjectName: `${PROJECT}/destinations/x` },
    {
      kind: 'INSTANCE_LIMIT',
      subjectName: `${PROJECT}/alertRules/x`,
      text: 'INSTANCE_LIMIT text',
      raisedUnix: String(START_SECONDS),
      endedUnix: String(START_SECONDS + 60),
    },
  ]);
  t.notOk('endedUnix' in notices[0], 'it lasts');
  const first = (await list({ pageSize: 1 })).body;
  t.equal(first.notices.length, 1);
  world.clock.jump(60_000);
  await decide((draft) => raiseNotice(draft, notice('READINGS_REFUSED', 'projects')));
  t.match((await list()).body.notices[0], { kind: 'READINGS_REFUSED', subjectName: PROJECT });
  t.match((await list({ pageToken: first.nextPageToken })).body.notices, [
    { kind: 'INSTANCE_LIMIT' },
  ]);
});
