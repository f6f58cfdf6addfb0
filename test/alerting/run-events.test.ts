/**
 * Edges below firing: each is an event of the instance's machine with the time at which it
 * happened, in any order of arrival. Times are seconds since the start of the scenario.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { conditionOf } from '../../machines/alerting/alert-instance.ts';
import { type ObservedEvent, pathOf } from '../../machines/alerting/alert-instance-path.ts';
import { inspect, inspectOne } from '../../streams/alerting/evaluation/inspect.ts';
import { createState } from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import { arrivals } from '../support/evaluation-arrivals.ts';
import { fold } from '../support/evaluation-fold.ts';
import {
  cpuRule,
  EvaluationWorld,
  PROJECT,
  START_MS,
  seconds,
} from '../support/evaluation-scenario.ts';
import { tries } from '../support/tries.ts';

const KEY = { project: PROJECT, rule: 'rule-1', vm: 'vm-1', labels: '' };

function lines(events: readonly ObservedEvent[]): string[] {
  return events.map(({ type, eventMs }) => `${type} ${(eventMs - START_MS) / 1000}`);
}

function eventsOf(state: EvaluationState): string[] {
  return lines(inspectOne(state, KEY)?.events ?? []);
}

function firedRun(world: EvaluationWorld): string[] {
  const fired = world.edges.findLast(({ kind }) => kind === 'fired');
  return lines(fired?.kind === 'fired' ? fired.run : []);
}

test('a run that a good sample ends is a started and an ended breach', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  world.cpu(20, [0]);
  t.same(eventsOf(world.state), []);
  world.cpu(95, [30, 60]);
  t.same(eventsOf(world.state), ['breachStarted 30']);
  t.match(world.instance(), { state: 'SUSTAINING', sinceMs: START_MS + 30_000 });
  world.cpu(20, [90]);
  t.same(eventsOf(world.state), ['breachStarted 30', 'breachEnded 90']);
  t.match(world.instance(), { state: 'IDLE', sinceMs: undefined });
  t.same(world.edges, [], 'nothing is decided about it');
});

test('a gap is an event at the end of the tolerance, reported while it lasts', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  world.cpu(95, [0, 30]);
  world.tick(120);
  t.same(eventsOf(world.state), ['breachStarted 0']);
  world.tick(121);
  t.same(eventsOf(world.state), ['breachStarted 0', 'dataMissing 120']);
  const inspected = inspectOne(world.state, KEY);
  t.same(pathOf(inspected?.events ?? []).value, { sustaining: 'missing' });
  t.match(inspected?.instance, { state: 'SUSTAINING', dataState: 'MISSING' });
  t.match(inspected?.instance, { missingSinceMs: START_MS + 30_000 });
  await t.test('a breach after a gap restarts the run', async (t) => {
    world.cpu(95, [150]);
    t.same(eventsOf(world.state), ['breachStarted 0', 'dataMissing 120', 'breachStarted 150']);
    t.equal(world.instance().sinceMs, START_MS + 150_000);
  });
  await t.test('a good sample after a gap ends the run', async (t) => {
    world.tick(300);
    world.cpu(20, [330]);
    t.same(eventsOf(world.state).slice(3), ['dataMissing 240', 'breachEnded 330']);
    t.equal(world.instance().state, 'IDLE');
  });
});

test('a firing records its run and the runs shortly before it', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 60_000 })]);
  world.cpu(95, [0]);
  world.cpu(20, [30]);
  world.cpu(95, [400]);
  world.cpu(20, [430]);
  world.cpu(95, seconds(460, 520));
  const led = ['breachStarted 400', 'breachEnded 430', 'breachStarted 460'];
  t.same(firedRun(world), led, 'runs that ended minutes before remain only in history');
  t.equal(world.instance().state, 'FIRING');
  world.cpu(20, [550]);
  t.same(eventsOf(world.state), [], 'the machine has recorded it');
  world.cpu(95, seconds(580, 640));
  t.same(
    firedRun(world),
    ['breachStarted 580'],
    'the previous run belonged to the previous incident',
  );
});

test('a run with a gap fires as the run that began after it', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 60_000 })]);
  world.cpu(95, [0, 120, 150, 180]);
  t.same(firedRun(world), ['breachStarted 0', 'dataMissing 90', 'breachStarted 120']);
  const events = inspectOne(world.state, KEY)?.events ?? [];
  t.equal(conditionOf(pathOf(events).value), 'firing');
});

test('a late good sample splits the run that contains it', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  world.cpu(95, [0, 30, 90, 120]);
  world.rows([{ at: 60, cpu: 20 }], 121);
  t.same(eventsOf(world.state), ['breachStarted 0', 'breachEnded 60', 'breachStarted 90']);
});

test('each of two firings in one batch has its own run', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  world.rows([
    { at: 0, cpu: 95 },
    { at: 30, cpu: 20 },
    { at: 60, cpu: 95 },
  ]);
  const runs = world.edges.flatMap((edge) => (edge.kind === 'fired' ? [lines(edge.run)] : []));
  t.same(runs, [['breachStarted 0'], ['breachStarted 60']]);
});

test('a recorded firing leads to no other, even with late samples before it', async (t) => {
  const world = new EvaluationWorld([cpuRule({ sustainedMs: 0 })]);
  world.cpu(95, [150, 180, 330]);
  const late = [
    { at: 90, cpu: 95 },
    { at: 120, cpu: 20 },
    { at: 300, cpu: 20 },
  ];
  world.rows(late, 331);
  t.same(firedRun(world), ['breachStarted 330'], 'the incident from 150 to 300 was reported');
});

test('silence of telemetry starts to breach by time, and ends with a sample', async (t) => {
  const rule = cpuRule({ metricId: 'telemetry_age_seconds', threshold: 120, sustainedMs: 600_000 });
  const world = new EvaluationWorld([rule]);
  world.cpu(20, [0]);
  world.tick(121);
  t.same(eventsOf(world.state), ['breachStarted 120']);
  world.cpu(20, [150]);
  t.same(eventsOf(world.state), ['breachStarted 120', 'breachEnded 150']);
});

test('a rule that joins a series of other rules knows the runs in its window', async (t) => {
  const world = new EvaluationWorld([cpuRule({ rule: 'other' })]);
  world.cpu(95, [0]);
  world.cpu(20, [30]);
  world.cpu(95, [60, 90]);
  world.marker(91, { upserts: [cpuRule()] });
  const joined = eventsOf(world.state);
  t.same(joined, ['breachStarted 0', 'breachEnded 30', 'breachStarted 60']);
});

test('an instance keeps a bounded number of events, with its newest runs complete', async (t) => {
  const world = new EvaluationWorld([cpuRule()]);
  for (const at of seconds(0, 3600, 60)) {
    world.cpu(95, [at]);
    world.cpu(20, [at + 30]);
  }
  const events = eventsOf(world.state);
  t.equal(events.length, 16);
  t.match(events[0], /^breachStarted/);
  t.equal(events.at(-1), 'breachEnded 3630');
});

test('the machine accepts every event and is in the displayed state, in any order of arrival', async (t) => {
  let compared = 0;
  const property = fc.property(arrivals({ observations: 40 }), ({ rule, log }) => {
    const state = createState({ rules: [rule], firing: [] });
    for (const entry of log) {
      fold(state, entry);
      const key = { ...KEY, rule: rule.rule };
      const [soft] = inspect(state, PROJECT);
      const events = inspectOne(state, key)?.events ?? [];
      const path = pathOf(events);
      compared += events.length;
      const grows = events.every(({ eventMs }, i) => eventMs >= (events[i - 1]?.eventMs ?? 0));
      if (!grows || path.steps.length !== events.length) return false;
      if (soft && conditionOf(path.value).toUpperCase() !== soft.state) return false;
      if (soft && path.sinceMs !== (soft.sinceMs ?? null)) return false;
    }
    return true;
  });
  fc.assert(property, { seed: 20_261_122, numRuns: tries(1_000) });
  t.ok(compared > 10_000, `${compared} events`);
});
