/**
 * The evaluator on its whole path: rows arrive, the log is folded, edges are committed on a real
 * host. A restart at any position changes nothing, and an outage loses nothing.
 */
import { test } from 'tap';
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { tick } from '../../actors/telemetry/ticker.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import {
  type AlertingWorld,
  type AppendFault,
  openAlertingWorld,
  PROJECT,
  START_MS,
} from '../support/alerting-on-host.ts';

/** A world with one active rule that notifies one destination, including ticks. */
async function evaluating(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  world.startRules();
  const running = await world.startEvaluator();
  const hook = await world.addDestination();
  await world.saveRule({ destinationNames: [hook] });
  await world.until('the rule is applied', () => world.rule().value === 'active');
  world.run((signal) => tick(world, signal));
  return { ...world, ...running, hook };
}

type Evaluating = Awaited<ReturnType<typeof evaluating>>;

/** `count` values, one every 30 s. */
async function observe(world: AlertingWorld, value: number, count: number, project = PROJECT) {
  for (let i = 0; i < count; i++) {
    await world.cpu(value, ['vm-1'], project);
    await world.pass(30_000, 15_000);
  }
}

const events = (world: AlertingWorld, project = PROJECT) =>
  world.deliveries(project).map(({ event }) => event);

test('an alert fires, keeps firing while data is missing, and recovers on good observations', async (t) => {
  const world = await evaluating(t);
  await observe(world, 95, 2);
  t.match(world.evaluator.instances(PROJECT), [{ state: 'SUSTAINING', sinceMs: START_MS }]);
  t.same(world.incidents(), []);
  await observe(world, 95, 1);
  t.match(world.incidents(), [{ state: 'FIRING', startedMs: START_MS, dataMissingSinceMs: null }]);
  await world.pass(3_600_000, 15_000);
  const lastMs = START_MS + 60_000;
  t.match(world.incidents(), [{ state: 'FIRING', dataMissingSinceMs: lastMs }]);
  t.match(world.evaluator.instances(PROJECT), [{ state: 'FIRING', dataState: 'MISSING' }]);
  t.same(events(world), ['FIRING'], 'silence recovers nothing');
  await observe(world, 95, 1);
  t.match(world.incidents(), [{ state: 'FIRING', dataMissingSinceMs: null }]);
  await observe(world, 20, 1);
  t.match(world.incidents(), [{ state: 'RECOVERED', value: 20 }]);
  t.same(
    events(world),
    ['FIRING'],
    'without a firing notification there is no recovery notification',
  );
});

/** A story with every kind of event: a firing, a gap, late and repeated rows, a second incident. */
async function live(world: Evaluating): Promise<void> {
  await observe(world, 95, 4);
  await world.pass(150_000, 15_000);
  await observe(world, 96, 2);
  await world.pass(150_000, 15_000);
  await observe(world, 96, 1);
  await observe(world, 20, 2);
  const late = { ...rowAt(world, -45_000), values: [99] };
  await world.ingest.write({ project: PROJECT, batchId: '', rows: [late, late] });
  await observe(world, 97, 4);
  await world.saveRule({ destinationNames: [world.hook], displayName: 'Another name' });
  await world.pass(1_000);
  await observe(world, 97, 1);
  await world.saveRule({ destinationNames: [world.hook], threshold: 80 });
  await world.pass(1_000);
  await observe(world, 30, 2);
  await observe(world, 85, 4);
}

function rowAt(world: AlertingWorld, offsetMs: number) {
  const observedMs = world.clock.now() + offsetMs;
  return {
    vm: 'vm-1',
    observedMs,
    sequence: observedMs,
    boot: 'boot-1',
    vcpus: Number.NaN,
    state: 1,
    stateReason: '',
    series: ['svc_vm_cpu_utilization_pct'],
  };
}

/** Everything about alerting that users and programs can see. */
function picture(world: AlertingWorld) {
  const { view, appliedSequence } = world.host;
  return {
    applied: appliedSequence(),
    incidents: world.incidents(),
    deliveries: world.deliveries(),
    instances: world.instances('alertInstance'),
    rules: view(PROJECT).instances('alertRule', { limit: 9 }).items,
  };
}

/** Every step of every alert instance. */
function paths(world: AlertingWorld): string[] {
  const page = world.host.view(PROJECT).transitions({ limit: 1_000, machine: 'alertInstance' });
  return page.items.map(({ instance, event }) => `${instance} ${event.type}`);
}

test('a restart after the whole log changes nothing', async (t) => {
  const world = await evaluating(t);
  await live(world);
  t.match(
    world.incidents().map(({ state }) => state),
    ['RECOVERED', 'RETIRED', 'RECOVERED', 'FIRING'],
  );
  const before = picture(world);
  const soft = world.evaluator.instances(PROJECT);
  const through = world.evaluator.throughSequence();
  for (let i = 0; i < 2; i++) {
    await world.stop();
    Object.assign(world, await world.startEvaluator());
    await world.until('the whole log is read', () => world.evaluator.throughSequence() >= through);
    await world.settle();
    t.same(picture(world), before);
    t.same(world.evaluator.instances(PROJECT), soft);
  }
});

test('a restart at any position does not change the result', async (t) => {
  const undisturbed = await evaluating(t);
  await live(undisturbed);
  const world = await evaluating(t);
  let restarts = 0;
  const { cpu } = world;
  world.cpu = async (...args) => {
    // Rows and ticks are written while no evaluator runs; then the log is read from its start.
    await world.stop();
    const written = await cpu(...args);
    Object.assign(world, await world.startEvaluator());
    restarts++;
    return written;
  };
  await live(world);
  t.ok(restarts > 15);
  const incidentsOf = (of: AlertingWorld) =>
    of.incidents().map(({ id, ...incident }) => ({ id, ...incident }));
  t.same(incidentsOf(world), incidentsOf(undisturbed));
  t.same(paths(world), paths(undisturbed), 'nothing flaps');
  t.same(
    world.deliveries().map(({ id, event }) => [event, id.length]),
    undisturbed.deliveries().map(({ id, event }) => [event, id.length]),
  );
});

for (const moment of ['before', 'after'] as const) {
  test(`a rule that becomes active while a member starts, ${moment} it reads the markers, is applied`, async (t) => {
    const world = await openAlertingWorld(t);
    world.startRules();
    await world.startEvaluator();
    await observe(world, 95, 4);
    await observe(world, 20, 20);
    const comesIntoForce = async (): Promise<void> => {
      await world.saveRule();
      await world.until('the rule is applied', () => world.rule().value === 'active');
    };
    const stream = atMarkers(world.stream, moment, comesIntoForce);
    const { evaluator } = await world.startEvaluator(undefined, { stream });
    await world.settle();
    t.equal(world.rule().value, 'active');
    t.match(evaluator.instances(PROJECT), [{ state: 'IDLE' }]);
    t.same(world.incidents(), [], 'much older observations are not its own');
  });
}

/** Runs an action once, right before or right after all markers of the log are read. */
function atMarkers(stream: Stream, moment: 'before' | 'after', act: () => Promise<void>): Stream {
  let isDue = true;
  const actOnce = async (): Promise<void> => {
    if (isDue) await act();
    isDue = false;
  };
  const read: Stream['read'] = (options) => {
    const reading = stream.read(options);
    if (options.subject !== 'svc.samples.*.rules') return reading;
    return {
      close: () => reading.close(),
      async *[Symbol.asyncIterator]() {
        if (moment === 'before') await actOnce();
        yield* reading;
        if (moment === 'after') await actOnce();
      },
    };
  };
  return new Proxy(stream, {
    get: (target, name) => (name === 'read' ? read : Reflect.get(target, name)),
  });
}

test('an evaluator that was down fires late and reports both times', async (t) => {
  const world = await evaluating(t);
  await world.stop();
  await observe(world, 95, 3);
  await world.pass(60_000, 15_000);
  const firedMs = world.clock.now();
  await world.startEvaluator();
  await world.until('it fires', () => world.incidents().length === 1);
  t.match(world.incidents(), [{ startedMs: START_MS, firedMs, dataMissingSinceMs: null }]);
});

test('edges that the stream rejects are neither lost nor reported twice', async (t) => {
  const faults: AppendFault[] = [() => 'refused', () => 'unknown'];
  for (const fault of faults) {
    const world = await evaluating(t);
    await observe(world, 95, 2);
    world.faults.append = (append) => (append.stream === 'EVENTS' ? fault(append) : undefined);
    await observe(world, 95, 1);
    await world.pass(60_000, 1_000);
    world.faults.append = () => undefined;
    await world.pass(10_000, 1_000);
    t.match(world.incidents(), [{ state: 'FIRING', startedMs: START_MS }]);
    t.same(events(world), ['FIRING']);
    await observe(world, 20, 1);
    t.match(world.incidents(), [{ state: 'RECOVERED' }]);
  }
});

test('nothing counts as evaluated during an outage, and a stop ends the wait', async (t) => {
  const world = await evaluating(t);
  await observe(world, 95, 2);
  world.faults.append = ({ stream }) => (stream === 'EVENTS' ? 'refused' : undefined);
  const through = world.evaluator.throughSequence();
  await world.cpu(95);
  await world.settle();
  const stopping = world.stop();
  await world.pass(20_000, 1_000);
  await stopping;
  t.equal(world.evaluator.throughSequence(), through);
  world.faults.append = () => undefined;
  await world.startEvaluator();
  await world.until('it fires', () => world.incidents().length === 1);
});

test('a stop waits for the commit in progress', async (t) => {
  const world = await evaluating(t);
  await observe(world, 95, 2);
  const { submit } = world.host;
  const gate = Promise.withResolvers<void>();
  world.host.submit = async (submission) => {
    await gate.promise;
    return submit(submission);
  };
  await world.ingest.write({
    project: PROJECT,
    batchId: '',
    rows: [{ ...rowAt(world, 0), values: [95] }],
  });
  await world.settle();
  let ended = false;
  const stopping = world.stop().then(() => {
    ended = true;
  });
  await world.settle();
  t.notOk(ended);
  gate.resolve();
  await stopping;
  t.equal(world.incidents().length, 1);
});

test('edges of many instances are committed in order, in commits within the size limit', async (t) => {
  const world = await evaluating(t);
  const hooks = [world.hook];
  for (let i = 0; i < 4; i++) hooks.push(await world.addDestination());
  await world.saveRule({ sustainedSeconds: 0, destinationNames: hooks });
  await world.pass(1_000);
  const vms = Array.from({ length: 300 }, (_, i) => `vm-${i}`);
  await world.cpu(95, vms);
  await world.until('all fire', () => world.incidents().length === vms.length);
  t.equal(world.deliveries().length, 5 * vms.length);
  // Down, up and down again in one batch: all is recorded, only the end is reported.
  const rows = [20, 95, 20].map((value, i) => ({
    ...rowAt(world, (i + 1) * 1_000),
    values: [value],
  }));
  await world.ingest.write({ project: PROJECT, batchId: '', rows });
  await world.settle();
  const ofVm = world.incidents().filter(({ vm }) => vm === 'vm-1');
  t.match(ofVm, [{ state: 'RECOVERED' }, { state: 'RECOVERED' }]);
  const { items } = world.host.view(PROJECT).transitions({
    limit: 100,
    machine: 'alertInstance',
    instance: ofVm[0]?.alertInstance ?? '',
  });
  t.same(
    items.map(({ event }) => event.type).filter((type) => type !== 'xstate.init'),
    ['breachStarted', 'sustained', 'recovered', 'breachStarted', 'sustained', 'recovered'],
  );
});

test('projects are isolated, whether in one partition or several', async (t) => {
  const world = await evaluating(t);
  const projects = ['p-1', 'p-2'];
  for (const project of projects) await world.saveRule({}, { project });
  await world.pass(1_000);
  for (let i = 0; i < 3; i++) {
    await world.cpu(95, ['vm-1'], 'p-1');
    await world.cpu(20, ['vm-1'], 'p-2');
    await world.pass(30_000);
  }
  t.equal(world.incidents('p-1').length, 1);
  t.same(world.incidents('p-2'), []);
  t.same(world.incidents(), []);
});

test('an edge that cannot be decided is a fault and blocks no other', async (t) => {
  const world = await openAlertingWorld(t);
  const faults: string[] = [];
  world.startRules();
  const running = await world.startEvaluator((what) => void faults.push(what));
  await world.saveRule({ sustainedSeconds: 0 });
  await world.saveRule({ sustainedSeconds: 0 }, { project: 'other' });
  await world.pass(1_000);
  const { submit } = world.host;
  t.equal(running.evaluator.instances(PROJECT).length, 0);
  world.host.submit = (submission) =>
    submit({
      ...submission,
      decide(draft) {
        const answer = submission.decide(draft);
        if (draft.records('incident', { limit: 10 }).items.some(({ body }) => body.vm === 'vm-2')) {
          throw new TypeError('A mistake');
        }
        return answer;
      },
    });
  await world.cpu(95, ['vm-1', 'vm-2', 'vm-3']);
  await world.cpu(95, ['vm-1'], 'other');
  await world.settle(100);
  t.same(
    world
      .incidents()
      .map(({ vm }) => vm)
      .sort(),
    ['vm-1', 'vm-3'],
  );
  t.equal(world.incidents('other').length, 1);
  t.match(faults, [/an edge of .* in demo/]);
});

/** An evaluator whose member can be made the owner, beside one that decides or is dead. */
async function beside(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  world.startRules();
  const hook = await world.addDestination();
  const member = { isOwner: true, decided: 0 };
  const ownership = {
    ...soleOwner,
    owns: () => member.isOwner,
    epochOf: () => (member.isOwner ? 1 : undefined),
    decidedBy: () => member.decided,
  };
  const running = await world.startEvaluator(undefined, { ownership });
  await world.saveRule({ destinationNames: [hook] });
  await world.until('the rule is applied', () => world.rule().value === 'active');
  world.run((signal) => tick(world, signal));
  return { ...world, ...running, member };
}

test('DUR-13: a member that takes over decides its predecessor’s undecided edges', async (t) => {
  const world = await beside(t);
  world.member.isOwner = false;
  await observe(world, 95, 4);
  t.match(world.evaluator.instances(PROJECT), [{ state: 'FIRING' }], 'it evaluates all the time');
  t.same(world.incidents(), [], 'but decides nothing');
  const through = world.evaluator.throughSequence();
  t.ok(through > 0, 'edges that other members decide delay nothing');
  world.member.isOwner = true;
  t.ok(world.evaluator.throughSequence() < through, 'edges that it must decide now do');
  await world.pass(15_000);
  t.match(world.incidents(), [{ state: 'FIRING', startedMs: START_MS }]);
  t.same(events(world), ['FIRING']);
  t.ok(world.evaluator.throughSequence() >= through);
});

test('edges that the owner reports as decided are not decided again by its successor', async (t) => {
  const world = await beside(t);
  world.member.isOwner = false;
  await observe(world, 95, 4);
  world.member.decided = world.evaluator.throughSequence();
  await observe(world, 95, 1);
  world.member.isOwner = true;
  world.member.decided = 0;
  await world.pass(30_000, 15_000);
  t.same(
    world.incidents(),
    [],
    'the edge is missing, because the owner in this test did not decide it',
  );
});

test('edges that waited for a rule are dropped when its next owner has decided them', async (t) => {
  const world = await beside(t);
  world.faults.append = ({ subject }) => (subject.endsWith('.rules') ? 'refused' : undefined);
  await world.saveRule({ displayName: 'Renamed', destinationNames: [] });
  await observe(world, 95, 4);
  t.same(world.incidents(), [], 'the edge waits for the rule');
  const through = world.evaluator.throughSequence();
  world.member.isOwner = false;
  world.faults.append = () => undefined;
  await world.pass(10_000, 1_000);
  world.member.decided = Number.POSITIVE_INFINITY;
  await observe(world, 95, 1);
  world.member.isOwner = true;
  const { lastSequence } = await world.stream.state(SAMPLES_STREAM);
  t.ok(through < lastSequence - 2, `${through} is far behind ${lastSequence}`);
  t.ok(world.evaluator.throughSequence() >= lastSequence - 1, 'it no longer delays anything');
});
