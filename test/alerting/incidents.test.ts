/**
 * User actions on a firing incident, end to end: through the host, its timers and a deliverer whose
 * endpoint is scripted, under a virtual clock. test/platform/machines walks the machine alone.
 */
import { test } from 'tap';
import { decideEdge } from '../../actors/alerting/incident.ts';
import { createIncidentActions } from '../../actors/alerting/incident-actions.ts';
import { instanceIdOf } from '../../streams/alerting/evaluation/notification-diff.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import {
  freshRequest,
  openAlertingWorld,
  PROJECT,
  RULE,
  START_MS,
} from '../support/alerting-on-host.ts';
import {
  type DeliveryWorld,
  delivering,
  failed,
  openDeliveryWorld,
} from '../support/scripted-delivery.ts';
import { submit } from '../support/submit.ts';

const MINUTE = 60_000;
const person = { kind: 'human', name: 'people/p1' } as const;

function actsOf(world: Pick<DeliveryWorld, 'host' | 'incidents' | 'clock'>) {
  const actions = createIncidentActions(world.host);
  const about = (id = world.incidents().at(-1)?.id ?? '') => ({
    project: PROJECT,
    id,
    by: person,
    request: freshRequest(),
  });
  return {
    actions,
    about,
    acknowledge: (note = 'looking') => actions.acknowledge({ ...about(), note }),
    snooze: (ms: number) => actions.snooze({ ...about(), untilMs: world.clock.now() + ms }),
    unsnooze: () => actions.unsnooze(about()),
  };
}

async function firing(world: DeliveryWorld, spec: object = {}) {
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook], ...spec });
  world.startTimers();
  world.startDeliverer();
  await world.fire(['vm-1']);
  await world.settle();
  return actsOf(world);
}

test('STATE-03: an acknowledged incident keeps firing and records attention only', async (t) => {
  const world = await openDeliveryWorld(t);
  const { actions, about, acknowledge } = await firing(world, { repeatIntervalSeconds: 300 });
  t.same(world.notifier.events(), ['incident.firing of vm-1']);
  await acknowledge();
  const atMs = world.clock.now();
  const acknowledged = { by: 'people/p1', atMs, note: 'looking' };
  t.match(world.incidents(), [{ state: 'FIRING', acknowledged, recoveredMs: null }]);
  await t.test('the first acknowledgement stays recorded', async (t) => {
    const second = { ...about(), by: { kind: 'human', name: 'people/p2' } as const };
    await actions.acknowledge({ ...second, note: 'me too' });
    t.match(world.incidents(), [{ acknowledged }]);
  });
  await t.test('reminders continue, one per interval', async (t) => {
    await world.pass(300_000, MINUTE);
    await world.pass(300_000, MINUTE);
    const reminders = ['incident.repeated of vm-1', 'incident.repeated of vm-1'];
    t.same(world.notifier.events(), ['incident.firing of vm-1', ...reminders]);
    t.match(world.incidents(), [{ repeats: 2, acknowledged }]);
  });
  await t.test('EVAL-20: an acknowledgement ends with its incident', async (t) => {
    await world.recover(['vm-1']);
    t.match(world.incidents(), [{ state: 'RECOVERED', acknowledged }]);
    await world.fire(['vm-1']);
    t.match(world.incidents().at(-1), { state: 'FIRING', acknowledged: null });
  });
  await t.test('an exact resend has no further effect; another body is rejected', async (t) => {
    const act = { ...about(), note: 'once' };
    const first = await actions.acknowledge(act);
    t.match(await actions.acknowledge(act), { replayed: true, sequence: first.sequence });
    const other = { ...act, request: { ...act.request, fingerprint: 'another' } };
    await t.rejects(actions.acknowledge(other), { name: 'Refusal', reason: 'REQUEST_ID_REUSED' });
  });
});

test('EVENT-01: incidents are recorded without external destinations', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [] });
  world.startDeliverer();
  await world.fire(['vm-1']);
  await world.settle();
  t.match(world.incidents(), [{ state: 'FIRING', vm: 'vm-1' }]);
  await world.recover(['vm-1']);
  await world.settle();
  t.match(world.incidents(), [{ state: 'RECOVERED', vm: 'vm-1' }]);
  t.same([world.deliveries(), world.notifier.requests], [[], []]);
});

test('only a firing incident can be acknowledged or snoozed', async (t) => {
  const world = await openDeliveryWorld(t);
  const { actions, about, acknowledge, snooze, unsnooze } = await firing(world);
  const id = world.incidents().at(-1)?.id ?? '';
  await world.recover(['vm-1']);
  const over = {
    name: 'Refusal',
    reason: 'INVALID_STATE',
    message: /has recovered. Only a firing incident/,
  };
  await t.rejects(acknowledge(), over);
  await t.rejects(snooze(MINUTE), over);
  await t.rejects(unsnooze(), over);
  await world.fire(['vm-1']);
  await t.rejects(actions.snooze({ ...about(id), untilMs: world.clock.now() + MINUTE }), over);
  t.match(world.incidents().at(-1), { snoozedUntilMs: null }, 'the next incident is separate');
  await world.sendAlert('vm-1', { type: 'retired', reason: 'RULE_CHANGED' });
  await t.rejects(acknowledge(), {
    name: 'Refusal',
    reason: 'INVALID_STATE',
    message: /was retired/,
  });
  await t.rejects(actions.acknowledge({ ...about('none'), note: '' }), {
    name: 'Refusal',
    reason: 'NOT_FOUND',
  });
});

test('API-25: a snooze ends in the future, within seven days', async (t) => {
  const world = await openDeliveryWorld(t);
  const { actions, about, snooze } = await firing(world);
  const refused = { name: 'Refusal', reason: 'INVALID_FIELD', metadata: { field: 'untilUnix' } };
  await t.rejects(snooze(0), refused);
  await t.rejects(snooze(7 * 24 * 60 * MINUTE + 1000), refused);
  await t.rejects(actions.snooze({ ...about(), untilMs: Number.MAX_SAFE_INTEGER }), refused);
  t.match(world.incidents(), [{ snoozedUntilMs: null }]);
  await snooze(7 * 24 * 60 * MINUTE);
  t.match(world.incidents(), [{ snoozedUntilMs: world.clock.now() + 7 * 24 * 60 * MINUTE }]);
  const long = 'x'.repeat(1001);
  const tooLong = { name: 'Refusal', reason: 'INVALID_FIELD', metadata: { field: 'note' } };
  await t.rejects(actions.acknowledge({ ...about(), note: long }), tooLong);
});

test('STATE-04: a snoozed incident is still evaluated and sends no notifications', async (t) => {
  const world = await openDeliveryWorld(t);
  const { snooze } = await firing(world, { repeatIntervalSeconds: 120 });
  await world.pass(MINUTE);
  await snooze(10 * MINUTE);
  await t.test('a snooze stops a pending reminder', async (t) => {
    await world.pass(9 * MINUTE, MINUTE);
    t.same(world.notifier.events(), ['incident.firing of vm-1']);
  });
  await t.test(
    'EVAL-20: the end of a snooze rechecks the incident and sends one notification',
    async (t) => {
      await world.pass(MINUTE);
      t.same(world.notifier.events(), ['incident.firing of vm-1', 'incident.repeated of vm-1']);
      t.match(world.incidents(), [{ state: 'FIRING', snoozedUntilMs: null, repeats: 1 }]);
      await world.pass(MINUTE);
      t.equal(world.notifier.events().length, 2, 'once');
      await world.pass(MINUTE);
      t.equal(world.notifier.events().length, 3, 'reminders continue from there');
    },
  );
  await t.test(
    'STATE-04: a snoozed incident recovers, and the end of its snooze sends nothing',
    async (t) => {
      await snooze(10 * MINUTE);
      await world.recover(['vm-1']);
      await world.settle();
      t.match(world.incidents(), [{ state: 'RECOVERED', snoozedUntilMs: null }]);
      t.equal(
        world.notifier.events().at(-1),
        'incident.recovered of vm-1',
        'for the notified recipients',
      );
      const count = world.notifier.requests.length;
      await world.fire(['vm-1']);
      await world.settle();
      t.match(world.incidents().at(-1), { state: 'FIRING', snoozedUntilMs: null });
      t.equal(world.notifier.requests.length, count + 1, 'the next incident is not snoozed');
      await world.pass(10 * MINUTE, 2 * MINUTE);
      const after = world.notifier.requests.slice(count + 1);
      t.ok(after.every(({ event }) => event === 'incident.repeated'));
      t.equal(after.length, 5, 'the old snooze end is dropped with its incident');
    },
  );
});

test('a firing notification that is queued when the incident is snoozed ends SNOOZED', async (t) => {
  const world = await openDeliveryWorld(t);
  world.notifier.answer = () => failed();
  const { snooze, unsnooze } = await firing(world);
  t.match(world.deliveries(), [{ value: 'waiting', event: 'FIRING' }]);
  await snooze(60 * MINUTE);
  await world.pass(30 * MINUTE, 5 * MINUTE);
  t.match(world.deliveries(), [{ value: 'suppressed', reason: 'SNOOZED' }]);
  const attempts = world.notifier.requests.length;
  world.notifier.answer = () => ({ kind: 'accepted', httpStatus: 200 });
  await unsnooze();
  await world.settle();
  t.equal(world.notifier.requests.length, attempts + 1, 'its early end notifies once');
  t.match(world.incidents(), [{ state: 'FIRING', snoozedUntilMs: null, repeats: 1 }]);
  await world.pass(60 * MINUTE, 10 * MINUTE);
  t.equal(world.notifier.requests.length, attempts + 1, 'the old end does not notify');
  await unsnooze();
  await world.settle();
  t.equal(world.notifier.requests.length, attempts + 1, 'without a snooze there is nothing to end');
});

test('a second snooze replaces the end of the first', async (t) => {
  const world = await openDeliveryWorld(t);
  const { snooze } = await firing(world);
  await snooze(10 * MINUTE);
  await snooze(20 * MINUTE);
  await world.pass(15 * MINUTE, MINUTE);
  t.equal(world.notifier.requests.length, 1);
  await world.pass(5 * MINUTE, MINUTE);
  t.equal(world.notifier.requests.length, 2);
});

test('EVAL-20: a restart changes neither snoozes nor reminders', async (t) => {
  const folder = t.testdir();
  const clock = new VirtualClock(START_MS);
  await t.test('before the restart, the snooze and the reminder are pending', async (t) => {
    const world = await openDeliveryWorld(t, { folder, clock });
    const { snooze } = await firing(world, { repeatIntervalSeconds: 3600 });
    await world.fire(['vm-2']);
    await snooze(10 * MINUTE);
    t.equal(world.incidents().filter(({ snoozedUntilMs }) => snoozedUntilMs !== null).length, 1);
  });
  await t.test('after the restart, the snooze and the reminder end on time', async (t) => {
    const world = await openDeliveryWorld(t, { folder, clock });
    const reminders = () =>
      world.notifier.events().filter((event) => event.startsWith('incident.repeated'));
    world.startTimers();
    world.startDeliverer();
    await world.pass(10 * MINUTE, MINUTE);
    t.equal(reminders().length, 1, 'the snooze has ended at its time');
    await world.pass(50 * MINUTE, 5 * MINUTE);
    t.equal(reminders().length, 2, 'the other one is reminded after its interval');
  });
});

test('STATE-05: missing data and evaluator errors leave a firing incident unchanged', async (t) => {
  const world = await delivering(t);
  await world.fire(['vm-1']);
  await world.settle();
  const notified = world.notifier.events();
  const atMs = () => world.clock.now() + 10_000;
  const sinceMs = world.clock.now();
  const missing = { type: 'dataMissing', sinceMs, reason: 'NO_DATA', eventMs: atMs() };
  await world.sendAlert('vm-1', missing);
  t.match(world.incidents(), [
    { state: 'FIRING', dataMissingSinceMs: sinceMs, dataMissingReason: 'NO_DATA' },
  ]);
  await world.sendAlert('vm-1', { type: 'evaluatorFailed', reason: 'out of memory' });
  const failing = { state: 'FIRING', evaluatorError: 'out of memory', recoveredMs: null };
  t.match(world.incidents(), [failing]);
  await world.sendAlert('vm-1', { type: 'evaluatorHealthy' });
  t.match(world.incidents(), [{ state: 'FIRING', evaluatorError: null }]);
  await world.pass(24 * 60 * MINUTE, 60 * MINUTE);
  t.match(
    world.incidents(),
    [{ state: 'FIRING', recoveredMs: null }],
    'time changes nothing either',
  );
  t.same(world.notifier.events(), notified, 'no recovery is notified');
});

test('every action names the alert instance, its incident and the actor', async (t) => {
  const world = await openAlertingWorld(t);
  await world.saveRule();
  const key = { project: PROJECT, rule: RULE, evaluationRevision: 1, vm: 'vm-1', labels: '' };
  const startedMs = world.clock.now() - MINUTE;
  await submit(world.host, { project: PROJECT, by: person }, (draft) => {
    draft.send('alertRule', RULE, { type: 'applied', at: draft.at, version: 1 });
    const fired = { key, atMs: draft.at, startedMs, value: 95, notify: true, window: [] };
    const run = [{ type: 'breachStarted' as const, eventMs: startedMs }];
    decideEdge(draft, { kind: 'fired', run, ...fired });
  });
  const { acknowledge, snooze } = actsOf(world);
  await acknowledge();
  await snooze(MINUTE);
  const { items } = world.host.view(PROJECT).transitions({
    limit: 10,
    machine: 'alertInstance',
    instance: instanceIdOf(key),
    descending: true,
  });
  t.match(items.slice(0, 2), [
    { by: person, event: { type: 'snoozed' } },
    { by: person, event: { type: 'acknowledged', note: 'looking' } },
  ]);
});
