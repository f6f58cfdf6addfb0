/**
 * `ReplayAlertRule` over the wire. Its notifications are compared with those that the real
 * evaluator, timers and deliverer made of the same samples as they arrived; only the endpoint is
 * simulated. Then its rejections, the visibility of its parts, and that a replay has no other
 * effect.
 */

import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { delivererPart } from '../../actors/delivery/deliverer.ts';
import { deliveriesSpec } from '../../actors/delivery/due-attempts.ts';
import { runTimers } from '../../actors/platform/host/timers.ts';
import { samplesSpec } from '../../actors/telemetry/sample-log.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import { ReadCancelled } from '../../sqlite/telemetry/history/history-error.ts';
import { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import { createContents } from '../../src/delivery/notify/contents.ts';
import { limitsOf, renderers } from '../../src/delivery/notify/kinds.ts';
import { type RuleReplayRequest, replayRule } from '../../src/replay/rule-replay.ts';
import { withQueryDeadline } from '../../src/telemetry/query/threads/query-threads.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import {
  ORIGIN,
  type RpcWorld,
  type SampleRow,
  startRpcWorld,
  type WorldParts,
} from '../support/api-in-process.ts';
import { cpuSpec } from '../support/rule-spec.ts';
import { sealedIn } from '../support/sealed-in-memory.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const PROJECT = 'projects/demo';
const vmName = (vm: string) => `${PROJECT}/vms/${vm}`;

const spec = cpuSpec({ sustainedSeconds: 300, repeatIntervalSeconds: 600 });

interface Notification {
  readonly atUnix: string;
  readonly event: string;
  readonly vmName: string;
  readonly destinationName?: string;
  readonly destinationDisplayName?: string;
  readonly outcome: string;
  readonly reason: string;
  readonly body?: string;
}

async function webhook(world: RpcWorld, url = 'https://hooks.example.com/a'): Promise<string> {
  const { body } = await world.call('CreateDestination', {
    projectName: PROJECT,
    requestId: randomUUID(),
    destination: { displayName: 'Hook', webhook: { url } },
  });
  return body.destination.name;
}

function replay(world: RpcWorld, change: object, request: object = {}, key = world.keys.write) {
  const whole = { projectName: PROJECT, historySeconds: 3600, spec: { ...spec, ...change } };
  return world.call('ReplayAlertRule', { ...whole, ...request }, { key });
}

/** A row of a VM, observed now; without a value, the metric was not observed. */
function row(world: RpcWorld, vm: string, value: number | undefined): SampleRow {
  const values = value === undefined ? [] : [{ series: CPU, value }];
  return { vm, observedUnixMs: world.clock.now(), state: 'RUNNING', vcpus: 2, values };
}

/** Waits until all pending work has settled. */
async function rest(world: RpcWorld): Promise<void> {
  await world.settled();
  for (let turn = 0; turn < 40; turn++) await nextTurn();
}

const STEP_MS = 15_000;

/** Time passes with a row of each VM every 30 s; `undefined` sends no row. */
async function live(
  world: RpcWorld,
  seconds: number,
  cpuAt: Readonly<Record<string, (second: number) => number | undefined>>,
): Promise<void> {
  for (let second = 0; second < seconds; second += 30) {
    const rows = Object.entries(cpuAt).flatMap(([vm, cpu]) => {
      const value = cpu(second);
      return value === undefined ? [] : [row(world, vm, value)];
    });
    if (rows.length > 0) await world.write(rows);
    for (let step = 0; step < 2; step++) {
      await rest(world);
      await world.clock.advance(STEP_MS);
    }
  }
  await rest(world);
}

/** A world whose ticker, timers and deliverer run too; every endpoint accepts. */
async function startLive(t: Test) {
  const parts: { evaluator?: WorldParts['evaluator'] } = {};
  const world = await startRpcWorld(t, ({ evaluator }) => {
    parts.evaluator = evaluator;
    return {};
  });
  const { host, stream, clock, secrets, sealedValues } = world;
  await stream.ensure(deliveriesSpec);
  const bodies = new Map<string, string>();
  const onFault = (_: unknown, error: unknown) => {
    throw error;
  };
  const sealed = sealedIn(sealedValues);
  const deliverer = delivererPart({
    host,
    stream,
    clock,
    random: seededRandom(3),
    onFault,
    notifier: {
      sendsTo: () => true,
      limitsOf,
      close: () => Promise.resolve(),
      attempt({ deliveryId, body }) {
        bodies.set(`${PROJECT}/deliveries/${deliveryId}`, Buffer.from(body).toString('utf8'));
        return Promise.resolve({ kind: 'accepted', httpStatus: 200 });
      },
    },
    contents: createContents({
      sealed,
      clock,
      bodies: secrets.bodies,
      renderers,
      publicUrl: () => ORIGIN,
      unsubscribeUrl: () => '',
    }),
    keepExcerpts: async () => {},
    onAttempt: () => {},
    ownership: soleOwner,
    delivers: true,
  });
  const ending = new AbortController();
  const { signal } = ending;
  const livenessReport = (partition: number, atMs: number) =>
    parts.evaluator?.livenessReport(partition, atMs);
  const running = [
    tick({ host, stream, clock, ownership: soleOwner, livenessReport }, signal),
    runTimers({ host, clock, ownership: soleOwner, onFault }, signal),
    deliverer.run(signal),
  ];
  t.teardown(async () => {
    ending.abort();
    await Promise.all(running);
  });
  return { ...world, bodies };
}

/** The live deliveries of a rule, in the form of a replay. */
async function delivered(
  world: Awaited<ReturnType<typeof startLive>>,
  rule: string,
): Promise<Notification[]> {
  const projectName = PROJECT;
  const incidents = (await world.call('ListIncidents', { projectName, pageSize: 100 })).body;
  const { deliveries } = (await world.call('ListDeliveries', { projectName, pageSize: 500 })).body;
  const byName = new Map<string, { vmName: string; ruleName: string }>(
    incidents.incidents.map((one: { name: string }) => [one.name, one]),
  );
  return deliveries.flatMap((one: Delivery) => {
    const incident = byName.get(one.incidentName);
    if (incident?.ruleName !== rule) return [];
    const body = world.bodies.get(one.name);
    return [
      {
        atUnix: one.attempts[0]?.startedUnix ?? one.createdUnix,
        event: one.event,
        vmName: one.vmName,
        destinationName: one.destinationName,
        outcome: one.state,
        reason: one.reason,
        ...(body && { body }),
      },
    ];
  });
}

interface Delivery {
  readonly name: string;
  readonly vmName: string;
  readonly incidentName: string;
  readonly destinationName: string;
  readonly event: string;
  readonly state: string;
  readonly reason: string;
  readonly createdUnix: string;
  readonly attempts: readonly { readonly startedUnix: string }[];
}

/** In a common order, without the names of rule and incident in bodies, which a replay invents. */
function comparable(all: readonly Notification[]): string[] {
  return all
    .map(({ atUnix, event, vmName, destinationName, outcome, reason, body }) => {
      const text = body?.replaceAll(/(alertRules|incidents)\/[\w-]+/g, '$1/...');
      return JSON.stringify({ atUnix, event, vmName, destinationName, outcome, reason, text });
    })
    .sort();
}

async function saveRule(world: RpcWorld, change: object): Promise<string> {
  const id = randomUUID();
  const { body } = await world.call('SaveAlertRule', {
    projectName: PROJECT,
    id,
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: { ...spec, ...change },
  });
  if (body.syncStatus !== 'APPLIED') throw new Error(JSON.stringify(body));
  return body.name;
}

const between = (second: number, from: number, to: number) => second >= from && second < to;

test('API-37: a replay produces the notifications that were sent for the same samples', async (t) => {
  const world = await startLive(t);
  const cpuAt = {
    // Breaches before the rule exists, fires, is silent for ten minutes, keeps breaching,
    // recovers.
    'vm-1': (s: number) => (between(s, 1500, 2100) ? undefined : s < 2700 ? 95 : 10),
    // Breaches for less than the sustained time, with a gap.
    'vm-2': (s: number) => (between(s, 900, 1080) ? undefined : between(s, 720, 1200) ? 97 : 10),
    // Flaps too briefly, then for long enough; it still fires at the end.
    'vm-3': (s: number) => (s < 2400 ? ((s / 30) % 4 === 0 ? 10 : 99) : 93),
  };
  await live(world, 600, cpuAt);
  const hook = await webhook(world);
  const paused = await webhook(world, 'https://hooks.example.com/b');
  await world.call(
    'PauseDestination',
    { name: paused, requestId: randomUUID() },
    await signedIn(world, 'EDITOR'),
  );
  const fromMs = world.clock.now();
  const destinationNames = [hook, paused];
  const busy = await saveRule(world, { destinationNames });
  const silence = {
    displayName: 'Silent',
    metricId: 'telemetry_age_seconds',
    threshold: 300,
    sustainedSeconds: 0,
    repeatIntervalSeconds: 0,
    destinationNames: [hook],
  };
  const silent = await saveRule(world, silence);
  await live(world, 3000, shifted(cpuAt, 600));
  const historySeconds = Math.round((world.clock.now() - fromMs) / 1000);

  const ofBusy = await replay(world, { destinationNames }, { historySeconds });
  t.equal(ofBusy.status, 200, JSON.stringify(ofBusy.body).slice(0, 500));
  const sent = await delivered(world, busy);
  t.same(comparable(ofBusy.body.notifications), comparable(sent));
  const events = (vm: string) =>
    ofBusy.body.notifications
      .filter((one: Notification) => one.vmName === vmName(vm) && one.destinationName === hook)
      .map((one: Notification) => one.event);
  t.same(events('vm-1').at(0), 'FIRING');
  t.same(events('vm-1').at(-1), 'RECOVERED');
  t.ok(events('vm-1').includes('REPEATED'), 'reminders continued without observations');
  t.same(events('vm-2'), [], 'two short runs with a gap between them never fired');
  t.same(events('vm-3'), ['FIRING', 'REPEATED'], 'no recovery was notified');
  const ofPaused = ofBusy.body.notifications.filter(
    (one: Notification) => one.destinationName === paused,
  );
  t.ok(ofPaused.length > 0);
  for (const one of ofPaused) {
    t.match(one, { outcome: 'SUPPRESSED' });
    t.notOk('body' in one, 'an unsent notification has no body');
  }

  const ofSilent = await replay(world, silence, { historySeconds });
  t.same(comparable(ofSilent.body.notifications), comparable(await delivered(world, silent)));
  t.match(ofSilent.body.notifications, [
    { event: 'FIRING', vmName: vmName('vm-1') },
    { event: 'RECOVERED', vmName: vmName('vm-1') },
  ]);
});

function shifted(
  cpuAt: Readonly<Record<string, (second: number) => number | undefined>>,
  bySeconds: number,
) {
  return Object.fromEntries(
    Object.entries(cpuAt).map(([vm, cpu]) => [vm, (second: number) => cpu(second + bySeconds)]),
  );
}

/** A signed-in user of the project. */
async function signedIn(world: RpcWorld, role: 'EDITOR' | 'VIEWER') {
  const of = await world.person();
  await world.member('demo', of, role);
  return { person: await world.signIn(of) };
}

/** Rows of the last `seconds`, oldest first, each with its CPU by seconds ago. */
function stored(
  world: RpcWorld,
  seconds: number,
  cpu: (secondsAgo: number) => number,
  vm = 'vm-1',
): SampleRow[] {
  const nowMs = world.clock.now();
  return Array.from({ length: seconds / 30 + 1 }, (_, i) => {
    const secondsAgo = seconds - 30 * i;
    const values = [{ series: CPU, value: cpu(secondsAgo) }];
    return {
      vm,
      observedUnixMs: nowMs - secondsAgo * 1000,
      state: 'RUNNING',
      vcpus: 2,
      values,
    };
  });
}

test('API-37: only callers who may change destinations see destinations, recipients and bodies', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(stored(world, 3600, (ago) => (ago < 1800 ? 95 : 10)));
  const destinationNames = [await webhook(world)];
  const [displayed, hidden, viewer] = await Promise.all([
    replay(world, { destinationNames }),
    replay(world, { destinationNames }, {}, world.keys.read),
    world.call(
      'ReplayAlertRule',
      { projectName: PROJECT, historySeconds: 3600, spec: { ...spec, destinationNames } },
      await signedIn(world, 'VIEWER'),
    ),
  ]);
  const [firing] = displayed.body.notifications;
  t.match(firing, {
    event: 'FIRING',
    destinationName: destinationNames[0],
    outcome: 'SENT',
    vmDisplayName: 'vm-1',
    destinationDisplayName: 'Hook',
  });
  t.match(JSON.parse(firing.body), { type: 'incident.firing', data: { vmName: vmName('vm-1') } });
  t.notOk('recipient' in firing, 'a webhook has none');
  t.equal(displayed.body.notifications.length, 3, 'the firing and two reminders');
  const without = displayed.body.notifications.map((one: object) => {
    const { destinationName, destinationDisplayName, body, ...rest } = one as Notification;
    return rest;
  });
  for (const { status, body } of [hidden, viewer]) {
    t.equal(status, 200);
    t.same(body.notifications, without);
  }
  const unknown = [`${PROJECT}/destinations/dst_none`];
  t.match(await replay(world, { destinationNames: unknown }), {
    status: 400,
    reason: 'INVALID_FIELD',
    metadata: { field: 'spec.destinationNames' },
  });
  const guessed = await replay(world, { destinationNames: unknown }, {}, world.keys.read);
  t.same(
    guessed.body.notifications,
    without,
    'a caller without access to destinations learns nothing about them',
  );
  t.match(await replay(world, {}), {
    status: 200,
    body: { notifications: [], truncated: false },
  });
});

test('API-37: each mail recipient is notified as the recheck allows', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(stored(world, 1200, (ago) => (ago < 600 ? 95 : 10)));
  const destination = 'dst_mail';
  const named = { project: 'demo', displayName: 'Mail', kind: 'email' };
  const address = { urlId: null, urlDigest: '', host: '', lastFour: '', secretId: null };
  await world.start('demo', 'destination', destination, { ...named, ...address });
  for (const name of ['ada', 'bob', 'cy', 'dan']) {
    const email = `${name}@example.com`;
    await world.start('_system', 'person', name, { displayName: name, email, identity: null });
    const member = { project: 'demo', person: name, role: 'VIEWER', displayName: name, email };
    await world.start('demo', 'membership', `mem_${name}`, { ...member, by: 'test' });
    const recipient = { project: 'demo', destination, membership: `mem_${name}`, address: email };
    await world.start('demo', 'recipient', name, { ...recipient, tokenHash: name });
    if (name !== 'bob') {
      await world.step('demo', 'recipient', name, { type: 'verified', tokenHash: name });
    }
  }
  await world.step('demo', 'recipient', 'cy', { type: 'unsubscribed' });
  await world.step('demo', 'membership', 'mem_dan', { type: 'removed', reason: 'left' });
  const destinationNames = [`${PROJECT}/destinations/${destination}`];
  const { body } = await replay(world, { destinationNames, repeatIntervalSeconds: 0 });
  const seen = body.notifications.map((one: Record<string, string>) => [
    one.recipient,
    one.outcome,
    one.reason,
    one.body?.split('\n')[0],
  ]);
  t.same(seen.sort(), [
    ['ada@example.com', 'SENT', '', 'Firing: vm-1: CPU'],
    ['bob@example.com', 'SUPPRESSED', 'RECIPIENT_NOT_VERIFIED', undefined],
    ['cy@example.com', 'SUPPRESSED', 'RECIPIENT_UNSUBSCRIBED', undefined],
    ['dan@example.com', 'SUPPRESSED', 'RECIPIENT_REMOVED', undefined],
  ]);
  t.match(body.notifications.find((one: Notification) => one.body)?.body, /Observed then:/);
});

test('API-37: a truncated replay has the first notifications and is marked', async (t) => {
  const world = await startRpcWorld(t);
  const flapping = (ago: number) => ((ago / 30) % 2 === 0 ? 95 : 10);
  for (const vm of ['vm-1', 'vm-2']) await world.write(stored(world, 7200, flapping, vm));
  const destinationNames = [await webhook(world), await webhook(world, 'https://hooks.example/b')];
  const change = { destinationNames, sustainedSeconds: 0, repeatIntervalSeconds: 0 };
  const { body } = await replay(world, change, { historySeconds: 7200 });
  t.match(body, { truncated: true, notifications: { length: 500 } });
  t.match(body, { observedSamples: '480', expectedSamples: '480' });
  const times = body.notifications.map((one: Notification) => Number(one.atUnix));
  t.same(
    times,
    times.toSorted((a: number, b: number) => a - b),
  );
  t.equal(times[0], Number(body.startTimeUnix), 'earlier breaches still hold');
  t.match((await replay(world, change, { historySeconds: 600 })).body, { truncated: false });
});

test('API-37: an invalid replay request is rejected with its field', async (t) => {
  const world = await startRpcWorld(t);
  const vms = Array.from({ length: 21 }, (_, i) => `vm-${i}`);
  await world.write(vms.map((vm) => row(world, vm, 10)));
  const only = { allVms: false, vmNames: [vmName('vm-1')] };
  const cases: readonly (readonly [field: string, change: object, request?: object])[] = [
    ['spec', {}, { spec: undefined }],
    ['historySeconds', {}, { historySeconds: undefined }],
    ['historySeconds', {}, { historySeconds: 86_401 }],
    ['spec.threshold', { threshold: undefined }],
    ['spec.vmNames', { allVms: false, vmNames: [vmName('none')] }],
    ['vmNames', {}],
    ['vmNames', {}, { vmNames: vms.map(vmName) }],
    ['vmNames', {}, { vmNames: [vmName('none')] }],
    ['vmNames', {}, { vmNames: ['projects/other/vms/vm-1'] }],
    ['vmNames', only, { vmNames: [vmName('vm-2')] }],
    ['spec.destinationNames', { ...only, destinationNames: ['projects/other/destinations/d'] }],
  ];
  for (const [field, change, request] of cases) {
    const answer = await replay(world, change, request);
    const name = JSON.stringify(request ?? change).slice(0, 100);
    t.match(answer, { status: 400, reason: 'INVALID_FIELD', metadata: { field } }, name);
  }
  t.match((await replay(world, {})).body, {
    message: /at most 20 VMs, not 21. Select them in vmN/,
  });
  const boundary = await replay(world, {}, { projectName: 'projects/other' });
  t.match(boundary, { status: 403, reason: 'PROJECT_BOUNDARY' });
  t.match(await replay(world, only), { status: 200, body: { vmNames: [vmName('vm-1')] } });
  const vmNames = vms.slice(0, 20).map(vmName);
  t.match(await replay(world, {}, { vmNames }), { status: 200, body: { vmNames } });
});

test('API-37: a replay commits, logs and sends nothing', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(stored(world, 3600, () => 95));
  const destinationNames = [await webhook(world)];
  const samples = async () => (await world.stream.state(samplesSpec.name)).lastSequence;
  const before = { applied: world.host.appliedSequence(), samples: await samples() };
  const { body } = await replay(world, { destinationNames, enabled: false });
  t.ok(body.notifications.length > 0, 'also for a rule that would be saved paused');
  await world.settled();
  t.same({ applied: world.host.appliedSequence(), samples: await samples() }, before);
  for (const method of ['ListAlertRules', 'ListIncidents', 'ListDeliveries']) {
    const answer = await world.call(method, { projectName: PROJECT });
    t.same(Object.values(answer.body).filter(Array.isArray), [[]], method);
  }
});

test('API-37: unreadable VMs are named and left out of a replay', async (t) => {
  const world = await startRpcWorld(t);
  for (const vm of ['vm-1', 'vm-2']) await world.write(stored(world, 1800, () => 95, vm));
  await world.history.flush();
  const file = new Database(world.history.share.path);
  file
    .prepare(
      `UPDATE chunks SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB)
       WHERE vm IN (SELECT id FROM vms WHERE vm = 'vm-1')`,
    )
    .run();
  file.close();
  const { body } = await replay(world, { destinationNames: [await webhook(world)] });
  t.match(body, { unreadVmNames: [vmName('vm-1')], vmNames: { length: 2 } });
  t.same([...new Set(body.notifications.map((one: Notification) => one.vmName))], [vmName('vm-2')]);
  t.match(world.lines.join(), /could not be read for a replay.*"vm":"vm-1"/);
});

test('API-37: a replay ends after 10 seconds or with its caller', async (t) => {
  const signals: AbortSignal[] = [];
  const world = await startRpcWorld(t, () => ({
    ruleReplays: {
      replay(_, signal) {
        signals.push(signal);
        return withQueryDeadline({ clock: world.clock, signal }, () => new Promise(() => {}));
      },
    },
  }));
  await world.write([row(world, 'vm-1', 10)]);
  // Bodies of 128 calls of one caller may be in flight, as for previews.
  const keys = [world.keys.read, world.keys.write];
  const requested = Array.from({ length: 270 }, (_, i) => replay(world, {}, {}, keys[i % 2]));
  t.match(await Promise.race(requested), { status: 429, reason: 'TOO_MANY_REQUESTS' });
  while (signals.length < 8) await nextTurn();
  await world.clock.advance(10_000);
  // Some may get the slots of calls that time out, at the last moment of their wait.
  await world.clock.advance(10_000);
  const answers = await Promise.all(requested);
  const timedOut = answers.filter(({ reason }) => reason === 'QUERY_TIMEOUT');
  t.ok(timedOut.length >= 8);
  t.equal(timedOut.length, signals.length, 'all running calls');
});

test('API-37: an abandoned replay also ends in its thread', async (t) => {
  const world = await startRpcWorld(t);
  const flapping = (ago: number) => ((ago / 30) % 2 === 0 ? 95 : 10);
  const vms = Array.from({ length: 20 }, (_, i) => `vm-${i}`);
  for (const vm of vms) await world.write(stored(world, 3600, flapping, vm));
  const history = new HistoryView(world.history.share);
  t.teardown(() => history.close());
  const toMs = world.clock.now();
  let looks = 0;
  const request: RuleReplayRequest = {
    project: 'demo',
    projectDisplayName: '',
    fromMs: toMs - 3_600_000,
    toMs,
    retainedFromMs: 0,
    publicUrl: ORIGIN,
    spec: { ...spec, vmNames: [], enabled: true, sustainedSeconds: 0, destinationNames: [] },
    vms: vms.map((id) => ({ id, displayName: id, datacenter: 'DC-1', registeredMs: 0 })),
    destinations: [{ id: 'd', kind: 'webhook', displayName: '', state: 'active', recipients: [] }],
  };
  const isCancelled = () => ++looks > 40;
  const error: unknown = await replayRule(history, request, isCancelled).catch((e) => e);
  t.ok(error instanceof ReadCancelled, String(error));
  t.ok(looks < 60, 'it reads each VM and each entry');
});
