/**
 * Maintenance windows: firings in one are evaluated and recorded but not sent, and are announced
 * once at the end if they continue. Real machines on a real host under virtual time.
 */
import fc from 'fast-check';
import { type Test, test } from 'tap';
import {
  announceMaintenance,
  createMaintenanceWindows,
  WINDOWS_MAX,
} from '../../actors/alerting/maintenance.ts';
import { by, freshRequest, PROJECT, RULE } from '../support/alerting-on-host.ts';
import { failed, openDeliveryWorld } from '../support/scripted-delivery.ts';

const HOUR_MS = 3_600_000;
const WAIT_MS = 30_000;
const OTHER = '7b0c5a0e-6d2a-4a55-9a53-5a2d6d2f0002';

interface Window {
  readonly rule?: string;
  readonly vm?: string;
  /** Start, ms from now. */
  readonly fromMs?: number;
  readonly untilMs?: number;
  readonly note?: string;
}

/** An active rule that notifies one destination, with all actors running. */
async function maintaining(t: Test, groupWaitMs = 0) {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.toDestination(hook, { type: 'groupWaitChanged', groupWaitMs, by: 'me' });
  await world.putInForce({ destinationNames: [hook] });
  await world.putInForce({ destinationNames: [hook] }, { rule: OTHER });
  world.startTimers();
  world.startDeliverer();
  world.run((signal) => announceMaintenance(world, signal));
  await world.settle();
  const windows = createMaintenanceWindows(world);
  const plan = async ({ rule, vm, fromMs = 0, untilMs = HOUR_MS, note = '' }: Window = {}) => {
    const now = world.clock.now();
    const times = { fromMs: now + fromMs, untilMs: now + untilMs };
    const scope = { rule: rule ?? null, vm: vm ?? null, note };
    const caller = { project: PROJECT, by, request: freshRequest() };
    const { answer } = await windows.create({ ...caller, ...scope, ...times });
    return answer.id;
  };
  const end = (id: string) => windows.end({ project: PROJECT, by, request: freshRequest(), id });
  const stateOf = (id: string) => world.host.view(PROJECT).instance('maintenanceWindow', id)?.value;
  return { ...world, hook, plan, end, stateOf };
}

test('HOOK-29: firings in a window are recorded, not sent, and announced once at its end', async (t) => {
  const world = await maintaining(t);
  const id = await world.plan();
  t.equal(world.stateOf(id), 'active', 'its time is reached');
  await world.fire(['vm-1', 'vm-2']);
  await world.pass(60_000, 5_000);
  t.match(world.incidents(), [{ state: 'FIRING' }, { state: 'FIRING' }]);
  t.ok(world.deliveries().every(({ value }) => value === 'suppressed'));
  t.ok(world.deliveries().every(({ reason }) => reason === 'MAINTENANCE'));
  await world.recover(['vm-2']);
  await world.pass(60_000, 5_000);
  t.same(world.notifier.requests, [], 'no recovery is notified without a firing notification');
  await world.pass(HOUR_MS, 60_000);
  t.same(world.notifier.events(), ['incident.repeated of vm-1']);
  t.equal(world.stateOf(id), 'over');
  await world.recover(['vm-1']);
  await world.pass(10_000, 1_000);
  t.same(world.notifier.events().slice(1), ['incident.recovered of vm-1']);
  t.same(world.reportedFaults(), []);
});

test('HOOK-29: a rule firing on 200 VMs in a window sends one message at its end', async (t) => {
  const world = await maintaining(t, WAIT_MS);
  await world.plan({ rule: RULE });
  const vms = Array.from({ length: 200 }, (_, i) => `vm-${i + 1}`);
  await world.fire(vms);
  await world.pass(HOUR_MS - 60_000, 60_000);
  t.equal(world.notifier.requests.length, 0);
  await world.pass(120_000, 2_000);
  t.equal(world.notifier.requests.length, 1);
  const sent = world.deliveries().filter(({ value }) => value === 'sent');
  t.match(sent, [{ event: 'REPEATED', members: 200 }]);
  await world.recover(vms);
  await world.pass(60_000, 1_000);
  t.equal(world.notifier.requests.length, 2, 'one when all have recovered');
});

test('HOOK-29: a window covers exactly its rule, its VM or both', async (t) => {
  const cases: readonly (readonly [Window, string[]])[] = [
    [{}, []],
    [{ rule: RULE }, ['other vm-1', 'other vm-2']],
    [{ vm: 'vm-1' }, ['other vm-2', 'rule vm-2']],
    [{ rule: RULE, vm: 'vm-1' }, ['other vm-1', 'other vm-2', 'rule vm-2']],
  ];
  for (const [scope, expected] of cases) {
    const world = await maintaining(t);
    await world.cpu(20, ['vm-1', 'vm-2']);
    await world.plan(scope);
    await world.fire(['vm-1', 'vm-2']);
    await world.fire(['vm-1', 'vm-2'], { rule: OTHER });
    await world.pass(5_000, 1_000);
    const sent = world.deliveries().filter(({ value }) => value === 'sent');
    const vmOf = (id: string) => world.host.view(PROJECT).instance('alertInstance', id)?.context.vm;
    const names = sent.map(({ rule, alertInstance }) => {
      return `${rule === RULE ? 'rule' : 'other'} ${vmOf(alertInstance)}`;
    });
    t.same(names.sort(), expected, JSON.stringify(scope));
  }
});

test('HOOK-29: messages are sent before a window, and queued ones are suppressed from its start', async (t) => {
  const world = await maintaining(t);
  const id = await world.plan({ fromMs: 60_000 });
  t.equal(world.stateOf(id), 'scheduled');
  await world.fire(['vm-1']);
  await world.pass(2_000, 500);
  t.same(world.notifier.events(), ['incident.firing of vm-1']);
  world.notifier.answer = () => failed();
  await world.fire(['vm-2']);
  await world.pass(50_000, 1_000);
  const before = world.notifier.requests.length;
  t.ok(before > 1);
  await world.pass(600_000, 5_000);
  t.equal(world.stateOf(id), 'active');
  t.equal(world.notifier.requests.length, before, 'a retry is rechecked too');
  t.match(world.deliveries()[1], { value: 'suppressed', reason: 'MAINTENANCE' });
});

test('HOOK-29: recipients notified before a window get the recovery in it', async (t) => {
  const world = await maintaining(t);
  await world.fire(['vm-1']);
  await world.pass(2_000, 500);
  await world.plan();
  await world.recover(['vm-1']);
  await world.pass(2_000, 500);
  t.same(world.notifier.events(), ['incident.firing of vm-1', 'incident.recovered of vm-1']);
});

test('HOOK-29: a window can end early or before its start, and the last of two makes the announcement', async (t) => {
  const world = await maintaining(t);
  const never = await world.plan({ fromMs: HOUR_MS, untilMs: 2 * HOUR_MS });
  await world.end(never);
  t.equal(world.stateOf(never), 'cancelled');
  const first = await world.plan();
  const second = await world.plan({ rule: RULE });
  await world.fire(['vm-1']);
  await world.end(first);
  await world.pass(2_000, 500);
  t.equal(world.stateOf(first), 'over');
  t.equal(world.notifier.requests.length, 0, 'the other one continues');
  await world.end(second);
  await world.pass(2_000, 500);
  t.same(world.notifier.events(), ['incident.repeated of vm-1']);
  await t.rejects(world.end(second), { name: 'Refusal', reason: 'INVALID_STATE' });
  await t.rejects(world.end('mnt_none'), { name: 'Refusal', reason: 'NOT_FOUND' });
});

test('HOOK-29: a snoozed incident is announced at the end of its snooze', async (t) => {
  const world = await maintaining(t);
  const id = await world.plan();
  await world.fire(['vm-1']);
  const untilMs = world.clock.now() + 2 * HOUR_MS;
  await world.sendAlert('vm-1', { type: 'snoozed', untilMs, by: 'me' });
  await world.end(id);
  await world.pass(2_000, 500);
  t.equal(world.notifier.requests.length, 0);
  await world.pass(2 * HOUR_MS, 300_000);
  t.same(world.notifier.events(), ['incident.repeated of vm-1']);
});

test('HOOK-29: an interrupted announcement continues and announces nothing twice', async (t) => {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  const caller = () => ({ project: PROJECT, by, request: freshRequest() });
  const windows = createMaintenanceWindows(world);
  const now = world.clock.now();
  const times = { fromMs: now, untilMs: now + HOUR_MS };
  const all = { rule: null, vm: null, note: '' };
  const { answer } = await windows.create({ ...caller(), ...all, ...times });
  const vms = Array.from({ length: 70 }, (_, i) => `vm-${i}`);
  await world.fire(vms);
  await windows.end({ ...caller(), id: answer.id });
  const progress = () => world.host.view(PROJECT).instance('maintenanceWindow', answer.id);
  const stop = world.run((signal) => announceMaintenance(world, signal));
  await world.until('some are announced', () => progress()?.context.announcedThrough !== null);
  await stop();
  t.equal(progress()?.value, 'announcing', 'not all of them');
  world.run((signal) => announceMaintenance(world, signal));
  await world.until('all are announced', () => progress()?.value === 'over');
  const repeated = world.deliveries().filter(({ event }) => event === 'REPEATED');
  t.equal(repeated.length, vms.length);
  t.equal(new Set(repeated.map(({ incident }) => incident)).size, vms.length);
});

test('HOOK-29: a window needs an end and an existing scope, and the number of windows is bounded', async (t) => {
  const world = await maintaining(t);
  const refused = (field: string) => ({
    name: 'Refusal',
    reason: 'INVALID_FIELD',
    metadata: { field },
  });
  await t.rejects(world.plan({ untilMs: 0 }), refused('untilUnix'));
  await t.rejects(world.plan({ fromMs: HOUR_MS, untilMs: HOUR_MS }), refused('untilUnix'));
  await t.rejects(world.plan({ untilMs: 31 * 24 * HOUR_MS }), refused('untilUnix'));
  const year = 366 * 24 * HOUR_MS;
  await t.rejects(world.plan({ fromMs: year, untilMs: year + 1 }), refused('fromUnix'));
  await t.rejects(world.plan({ rule: 'none' }), refused('ruleName'));
  await t.rejects(world.plan({ vm: 'none' }), refused('vmName'));
  await t.rejects(world.plan({ note: '\u202e' }), refused('note'));
  for (let i = 0; i < WINDOWS_MAX; i++) await world.plan();
  await t.rejects(world.plan(), { name: 'Refusal', reason: 'LIMIT_EXCEEDED' });
});

test('HOOK-29: a covered incident is announced once, at the last end, in any order of events', async (t) => {
  const someVm = fc.integer({ min: 1, max: 3 });
  const actions = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constantFrom('fire', 'recover'), vm: someVm }),
      fc.record({ kind: fc.constantFrom('plan', 'planVm', 'end'), vm: someVm }),
      fc.record({ kind: fc.constant('pass'), vm: someVm }),
    ),
    { minLength: 5, maxLength: 20 },
  );
  const property = fc.asyncProperty(actions, async (path) => {
    const world = await maintaining(t);
    await world.cpu(20, ['vm-1', 'vm-2', 'vm-3']);
    const live: { id: string; vm: string | undefined; untilMs: number }[] = [];
    const isCovered = (vm: string | undefined) =>
      live.some((one) => one.untilMs > world.clock.now() && (one.vm ?? vm) === vm);
    const { attempt } = world.notifier;
    world.notifier.attempt = (request) => {
      const vm = JSON.parse(Buffer.from(request.body).toString('utf8')).vm;
      const isRecovery = request.event === 'incident.recovered';
      if (!isRecovery && isCovered(vm)) throw new Error(`${request.event} of ${vm} in its window`);
      return attempt.call(world.notifier, request);
    };
    for (const { kind, vm } of path) {
      const name = `vm-${vm}`;
      if (kind === 'fire') await world.fire([name]);
      if (kind === 'recover') await world.recover([name]);
      if (kind === 'pass') await world.pass(vm * 10 * 60_000, 60_000);
      if (kind === 'plan' || kind === 'planVm') {
        // Requests in flight when a window begins may finish.
        await world.pass(1_000, 500);
        const of = kind === 'planVm' ? { vm: name } : {};
        const untilMs = world.clock.now() + HOUR_MS;
        live.push({ id: await world.plan(of), vm: of.vm, untilMs });
      }
      const [first] = live;
      if (kind === 'end' && first) {
        live.shift();
        if (world.stateOf(first.id) === 'active') await world.end(first.id);
      }
      await world.pass(1_000, 500);
    }
    live.length = 0;
    await world.pass(2 * HOUR_MS, 120_000);
    if (world.reportedFaults().length > 0) throw new Error(world.reportedFaults().join('\n'));
    const sent = world.deliveries().filter(({ value }) => value === 'sent');
    for (const { id, state, repeats = 0 } of world.incidents()) {
      const about = sent.filter(({ incident }) => incident === id);
      if (state === 'FIRING' && about.length === 0) throw new Error(`${id} was never announced`);
      if (about.length > 2 + repeats) throw new Error(`${id} was announced too often`);
      const isKnown = about.some(({ event }) => event !== 'RECOVERED');
      const isEnded = about.some(({ event }) => event === 'RECOVERED');
      if (isEnded !== (isKnown && state === 'RECOVERED')) throw new Error(`${id}: wrong recovery`);
    }
  });
  await t.resolves(fc.assert(property, { numRuns: 10, seed: 11 }));
});
