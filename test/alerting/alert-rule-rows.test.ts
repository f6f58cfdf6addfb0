/**
 * Transitions of rules (STATE-01, STATE-02, EVAL-16), each with a test of its own: how a rule is
 * applied, and what a pause, an edit or a deletion does to firing instances.
 */
import { test } from 'tap';
import {
  by,
  freshRequest,
  openAlertingWorld,
  PROJECT,
  RULE,
  ruleSpec,
} from '../support/alerting-on-host.ts';
import { submit } from '../support/submit.ts';

test('STATE-01: a saved alert rule is pending and watches no VM until its revision is applied', async (t) => {
  const world = await openAlertingWorld(t);
  await world.saveRule({ sustainedSeconds: 0 });
  const { evaluator } = await world.startEvaluator();
  await world.cpu(95);
  await world.settle();
  t.match(world.rule(), { value: 'pendingApplication', context: { appliedVersion: 0 } });
  t.same([evaluator.instances(PROJECT), world.incidents()], [[], []], 'it watches no VM');
  world.startRules();
  await world.until('it is active', () => world.rule().value === 'active');
  t.match(world.rule().context, { version: 1, appliedVersion: 1, syncError: null });
  await world.until('the stored samples are caught up', () => world.incidents().length === 1);
});

/** A rule that fires on one VM and has notified a destination of it. */
async function firing(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  world.startRules();
  await world.startEvaluator();
  const hook = await world.addDestination();
  const save = (change: Parameters<typeof ruleSpec>[0] = {}) =>
    world.saveRule({ sustainedSeconds: 0, destinationNames: [hook], ...change });
  await save();
  await world.until('it is applied', () => world.rule().value === 'active');
  await world.cpu(95);
  await world.until('it fires', () => world.incidents().length === 1);
  return { ...world, save };
}

type Firing = Awaited<ReturnType<typeof firing>>;

const changes: readonly (readonly [string, string, (world: Firing) => Promise<unknown>])[] = [
  ['Pause', 'RULE_PAUSED', (world) => world.save({ enabled: false })],
  ['Edit', 'RULE_CHANGED', (world) => world.save({ threshold: 99 })],
  ['Delete', 'RULE_DELETED', (world) => world.deleteRule()],
];

for (const [name, reason, change] of changes) {
  test(`STATE-02: ${name} of a rule retires its firing instance without a recovery`, async (t) => {
    const world = await firing(t);
    await change(world);
    await world.until('it is retired', () => world.incidents()[0]?.state === 'RETIRED');
    t.match(world.incidents(), [{ retireReason: reason, recoveredMs: null }]);
    await world.pass(30_000);
    await world.cpu(10);
    await world.settle();
    t.match(
      world.incidents(),
      [{ state: 'RETIRED', recoveredMs: null }],
      'whether or not its data is good',
    );
    t.same(
      world.deliveries().map(({ event }) => event),
      ['FIRING'],
      'no end is notified',
    );
  });
}

test('changing a rule’s display name, destinations, severity or repeat interval keeps firing instances', async (t) => {
  const world = await firing(t);
  const changes = [
    { displayName: 'Another name' },
    { destinationNames: [] },
    { severity: 'CRITICAL' },
    { repeatIntervalSeconds: 600 },
  ];
  for (const [i, change] of changes.entries()) {
    await world.save(change);
    await world.until('it is applied', () => world.rule().value === 'active');
    t.match(world.rule().context, { appliedVersion: i + 2, evaluationRevision: 1 });
  }
  await world.pass(30_000);
  await world.cpu(96);
  await world.settle();
  t.match(world.incidents(), [{ state: 'FIRING', retireReason: null }]);
});

test('a changed repeat interval applies to the reminders of firing instances', async (t) => {
  const world = await firing(t);
  world.startTimers();
  const events = () => world.deliveries().map(({ event }) => event);
  const setTo = async (repeatIntervalSeconds: number) => {
    await world.save({ repeatIntervalSeconds });
    const isAdopted = () =>
      world.live('alertInstance')[0]?.context.repeatIntervalMs === repeatIntervalSeconds * 1000;
    await world.until('the interval is adopted', isAdopted);
  };
  await world.pass(3_600_000, 600_000);
  t.same(events(), ['FIRING'], 'it was saved without reminders');
  await setTo(600);
  await world.pass(590_000);
  t.same(events(), ['FIRING'], 'after a whole interval from the change');
  await world.pass(20_000);
  t.same(events(), ['FIRING', 'REPEATED']);
  await setTo(60);
  await world.pass(70_000);
  t.equal(events().length, 3, 'sooner');
  await setTo(0);
  await world.pass(3_600_000, 600_000);
  t.equal(events().length, 3, 'never again');
  t.match(world.incidents(), [{ state: 'FIRING' }]);
});

test('exactly one of several concurrent edits of a version wins', async (t) => {
  const world = await firing(t);
  const edit = (threshold: number) =>
    world.alerting.saveRule({
      project: PROJECT,
      by,
      request: freshRequest(),
      id: RULE,
      expectedVersion: '1',
      spec: ruleSpec({ threshold }),
    });
  const settled = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => edit(i)));
  const won = settled.findIndex(({ status }) => status === 'fulfilled');
  t.equal(settled.filter(({ status }) => status === 'fulfilled').length, 1);
  t.equal(world.rule().context.spec.threshold, won);
  for (const { status, ...rest } of settled) {
    if (status === 'fulfilled') continue;
    t.match(rest, { reason: { reason: 'STALE_VERSION', metadata: { currentVersion: '2' } } });
  }
});

test('a rule that this program cannot evaluate is FAILED and watches no VM', async (t) => {
  const world = await firing(t);
  // A later version may have accepted it before a downgrade to this program.
  const spec = ruleSpec({ metricId: 'of_a_later_version' });
  await submit(world.host, { project: PROJECT, by }, (draft) => {
    const edit = {
      type: 'edited',
      at: draft.at,
      spec,
      by: 'test',
      evaluationChanged: true,
    } as const;
    draft.send('alertRule', RULE, edit);
  });
  await world.until('it has failed', () => world.rule().value === 'applicationFailed');
  t.match(world.rule().context, { version: 2, appliedVersion: 1, syncError: 'UNKNOWN_METRIC' });
  await world.save({ threshold: 80 });
  await world.until('it is applied', () => world.rule().value === 'active');
  t.match(world.rule().context, { version: 3, appliedVersion: 3, syncError: null });
});
