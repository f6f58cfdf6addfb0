/**
 * The path of an incident, as its slider steps through it. The oracle is the machine itself, run
 * over the events up to each step; its records reach the page through API messages.
 */
import { create, toJson } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { test } from 'tap';
import { alertInstanceMachine } from '../../machines/alerting/alert-instance.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import type { MachineEvent, StateValueJson } from '../../machines/platform/definition.ts';
import { firstTransition, nextTransition } from '../../machines/platform/transition.ts';
import { layoutMessage } from '../../src/audit/api/audit.ts';
import { chartOf } from '../../src/audit/drawing/chart.ts';
import type { Layout } from '../../src/audit/drawing/picture.ts';
import { layoutOf } from '../../src/audit/drawing/svg.ts';
import {
  decisionAxis,
  historyRange,
  recordedSteps,
  recordedWindow,
  seriesOf,
  stepAt,
  stretchOf,
  type Transition,
  timeOf,
} from '../../src/dashboard/pages/alerting/incidents/incident-path.ts';
import { markingsOf } from '../../src/dashboard/statechart/marking.ts';
import { MachineLayoutSchema, TransitionSchema } from '../../src/gen/svc/audit/v1/audit_pb.ts';
import { stateIds, transitionMessage } from '../../src/platform/api/transition-messages.ts';
import { tries } from '../support/tries.ts';

const NAME = 'alertInstance';
const START_MS = Date.UTC(2026, 10, 23, 12);

/** A step recorded by the host: the event as committed, and the states before and after. */
interface Recorded {
  readonly event: MachineEvent;
  readonly from: StateValueJson | null;
  readonly to: StateValueJson;
}

/**
 * Runs the machine over events. As in the host, events that a state does not accept are not
 * recorded.
 */
function run(events: readonly MachineEvent[]): Recorded[] {
  let { snapshot } = firstTransition(alertInstanceMachine, { at: START_MS });
  const recorded: Recorded[] = [
    // The commit of its first event creates the instance.
    {
      event: { type: 'xstate.init', at: events[0]?.at ?? START_MS },
      from: null,
      to: snapshot.value,
    },
  ];
  for (const event of events) {
    const next = nextTransition(alertInstanceMachine, snapshot, event);
    if (!next) continue;
    recorded.push({ event, from: snapshot.value, to: next.snapshot.value });
    snapshot = next.snapshot;
  }
  return recorded;
}

/** As returned by ListTransitions in the browser. */
function answered(recorded: readonly Recorded[]): Transition[] {
  return recorded.map(({ event, from, to }, i) => {
    const by = { kind: 'service', name: 'evaluator' } as const;
    const transition = {
      sequence: i + 1,
      atMs: event.at,
      by,
      machine: NAME,
      instance: 'i',
      event,
      from,
      to,
      requestId: null,
    };
    const displayed = () => ({ by: 'evaluator', byDisplayName: '', byUnprovenEmail: '' });
    const message = create(
      TransitionSchema,
      transitionMessage(transition as never, displayed, { instanceName: 'i' }),
    );
    return toJson(TransitionSchema, message, {
      alwaysEmitImplicit: true,
    }) as unknown as Transition;
  });
}

async function drawnLayout(): Promise<Layout> {
  const definition = machineDefinitions.get(NAME);
  if (!definition) throw new Error(`There is no machine ${NAME}`);
  const message = create(MachineLayoutSchema, layoutMessage(await layoutOf(chartOf(definition))));
  return toJson(MachineLayoutSchema, message, { alwaysEmitImplicit: true }) as unknown as Layout;
}

/** An event with all its fields. */
type Sent = MachineEvent & Readonly<Record<string, unknown>>;

type Kind = 'run' | 'fire' | 'recover' | 'missing' | 'observed' | 'acknowledge' | 'snooze' | 'fail';

const kind = fc.constantFrom<Kind>(
  ...(['run', 'fire', 'recover', 'missing', 'observed'] as const),
  ...(['acknowledge', 'snooze', 'fail'] as const),
);

/** Events of the evaluator and people in minute `i`; the machine rejects impossible ones. */
function eventsAt(one: Kind, i: number): readonly Sent[] {
  const eventMs = START_MS + (i + 1) * 60_000;
  const at = eventMs + 800;
  const startedMs = eventMs - 30_000;
  const fired = { at, eventMs, startedMs, value: 95, notify: true, repeatIntervalMs: 0 };
  const events: Readonly<Record<Kind, readonly Sent[]>> = {
    run: [{ type: 'breachStarted', at, eventMs }],
    // The commit that fires also records the run, within one millisecond.
    fire: [
      { type: 'breachStarted', at, eventMs: startedMs },
      { type: 'sustained', incidentId: `i${i}`, ...fired },
    ],
    recover: [{ type: 'recovered', at, eventMs, value: 10 }],
    missing: [{ type: 'dataMissing', at, eventMs, sinceMs: startedMs, reason: 'NO_DATA' }],
    observed: [{ type: 'dataObserved', at, eventMs }],
    acknowledge: [{ type: 'acknowledged', at, by: 'people/p', note: '' }],
    snooze: [{ type: 'snoozed', at, untilMs: at + 3_600_000 }],
    fail: [{ type: 'evaluatorFailed', at, reason: 'r' }],
  };
  return events[one];
}

function eventsOf(kinds: readonly Kind[]): readonly Sent[] {
  return kinds.flatMap(eventsAt);
}

test('DASH-10: the states at each step are the machine’s states after the events so far', async (t) => {
  const layout = await drawnLayout();
  let longest = 0;
  fc.assert(
    fc.property(fc.array(kind, { maxLength: 12 }), (kinds) => {
      const recorded = run(eventsOf(kinds));
      const firing = recorded.findIndex(({ event }) => event.type === 'sustained');
      const steps = recordedSteps(answered(recorded));
      if (firing < 0) return steps.length === 0;
      const displayed = markingsOf(layout, steps).map(({ current }) => current.toSorted());
      // The incident: the part of the run in its commit, and everything until its end.
      const end = recorded.findIndex(({ event }, i) => i > firing && event.type === 'recovered');
      const { at } = (recorded[firing] as Recorded).event;
      const first = recorded.findIndex(({ event, from }) => event.at === at && from !== null);
      const own = recorded.slice(first, end < 0 ? undefined : end + 1);
      longest = Math.max(longest, own.length);
      const lived = own.map(({ to }) => stateIds(NAME, to).toSorted());
      return JSON.stringify(displayed) === JSON.stringify(lived);
    }),
    { numRuns: tries(500, 400) },
  );
  t.ok(longest > 5, 'some incidents had many steps');
});

test('DASH-10: three steps of one commit have three observation times', async (t) => {
  const steps = recordedSteps(answered(run(eventsOf(['fire', 'acknowledge', 'recover']))));
  t.same(
    steps.map((step) => [step.event, timeOf(step) - START_MS]),
    [
      ['breachStarted', 30_000],
      ['sustained', 60_000],
      ['acknowledged', 120_800],
      ['recovered', 180_000],
    ],
    'steps without an observation are placed at their decision',
  );
  t.same(new Set(steps.slice(0, 2).map(({ decidedMs }) => decidedMs)).size, 1);
  t.equal(stepAt(steps, START_MS), 0, 'before the first step: the first');
  t.equal(stepAt(steps, START_MS + 100_000), 1, 'between steps: the one before');
});

const CONDITION = {
  metricId: 'cpu_utilization_pct',
  unit: 'percent',
  operator: 'GREATER_THAN' as const,
  threshold: 90,
  sustainedSeconds: 60,
  gapToleranceSeconds: 90,
};

function sample(seconds: number, value: number) {
  return { observedUnixMs: String(START_MS + seconds * 1_000), value, breaches: value > 90 };
}

test('DASH-10: the chart has the kept samples and then those still stored, each once', async (t) => {
  const steps = recordedSteps(answered(run(eventsOf(['fire', 'recover']))));
  const explanation = {
    window: [sample(30, 95), sample(60, 96)],
    gaps: [],
    windowThinned: false,
    summary: '',
    condition: CONDITION,
  };
  const stored = {
    samples: [sample(0, 10), sample(30, 95), sample(60, 96), sample(90, 12), sample(120, 10)],
    gaps: [],
  };
  const window = recordedWindow(explanation as never, steps, stored as never);
  t.same(
    window?.samples.map(({ observedUnixMs }) => Number(observedUnixMs) - START_MS),
    [30_000, 60_000, 90_000, 120_000],
  );
  t.match(window, {
    startedMs: START_MS + 30_000,
    firedMs: START_MS + 60_000,
    recoveryStartedMs: START_MS + 90_000,
    recoveredMs: START_MS + 120_000,
  });
  const after7Days = recordedWindow(explanation as never, steps, undefined);
  t.same(after7Days?.samples, explanation.window, 'after seven days, only the kept samples');
});

test('at most one day is recomputed, and nothing beyond the retention', async (t) => {
  const incident = { startedUnix: String(START_MS / 1_000) };
  const hour = 3_600_000;
  t.same(stretchOf(incident, START_MS + hour), {
    startMs: START_MS - 300_000,
    endMs: START_MS + hour,
  });
  t.same(stretchOf(incident, START_MS + 50 * hour), {
    startMs: START_MS - 300_000,
    endMs: START_MS - 300_000 + 24 * hour,
  });
  t.equal(stretchOf(incident, START_MS + 7 * 24 * hour), undefined);
});

test('the decision is a part of the axis, even for an incident of several days', async (t) => {
  const whole = { startMs: START_MS, endMs: START_MS + 86_400_000 };
  const window = { condition: CONDITION, samples: [], gaps: [] };
  const firedMs = START_MS + 3_660_000;
  t.same(decisionAxis({ ...window, startedMs: START_MS + 3_600_000, firedMs }, whole), {
    startMs: START_MS + 3_300_000,
    endMs: START_MS + 3_960_000,
  });
  t.equal(decisionAxis(window, whole), undefined);
});

test('DASH-10: the history shows the incident and its surroundings, as far as stored', async (t) => {
  const nowUnix = START_MS / 1_000;
  const day = 86_400;
  const range = (startedUnix: number, recoveredUnix?: number) =>
    historyRange(
      {
        startedUnix: String(startedUnix),
        ...(recoveredUnix !== undefined && { recoveredUnix: String(recoveredUnix) }),
      },
      START_MS,
    );
  t.same(
    range(nowUnix - 600),
    { startUnix: nowUnix - 2_400, endUnix: nowUnix },
    'open incident: from half an hour before until now',
  );
  t.same(
    range(nowUnix - 3 * day, nowUnix - 2 * day),
    { startUnix: nowUnix - 3.25 * day, endUnix: nowUnix - 1.75 * day },
    'a quarter of its length on both sides',
  );
  t.same(
    range(nowUnix - 30 * day),
    { startUnix: nowUnix - 7 * day, endUnix: nowUnix },
    'no more than is stored',
  );
  t.equal(range(nowUnix - 9 * day, nowUnix - 7 * day), undefined, 'nothing of it is stored');
});

test('DASH-10: an incident’s history has the series of exactly its labels', async (t) => {
  const series = [{}, { mountpoint: '/' }, { mountpoint: '/var' }].map((labels) => ({
    metricId: 'disk_used_pct',
    unit: 'percent',
    labels,
    points: [],
  }));
  const answer = { startTimeUnix: '0', endTimeUnix: '60', stepSeconds: 30, series };
  const labelsFor = (labels: Record<string, string>) =>
    seriesOf(answer, labels).series.map((one) => one.labels);
  t.same(labelsFor({ mountpoint: '/var' }), [{ mountpoint: '/var' }]);
  t.same(labelsFor({}), [{}]);
  t.same(labelsFor({ mountpoint: '/gone' }), []);
});
