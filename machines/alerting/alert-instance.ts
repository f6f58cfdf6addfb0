/**
 * One alert instance: a rule's condition on one series of one VM. Its state is the condition
 * itself; people's actions (attention, notification) and the arrival of data are regions beside it
 * while it fires. Missing data has no arrow to recovery: only observed good samples recover.
 *
 * First its context, its events, and its actions, guards and delays, by name; then the chart, which
 * reads as a story of these names.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { StateValueJson } from '../platform/definition.ts';
import type { Effect, RetireReason } from '../platform/effects.ts';
import {
  type Firing,
  type Incident,
  type MissingReason,
  openIncident,
  recoverIncident,
  retireIncident,
} from './incident.ts';

/** The top state of the chart. `sustaining`: it breaches, but not yet for long enough. */
export type Condition = 'idle' | 'sustaining' | 'firing' | 'retired';

/** The condition in a state of the machine: the name of the top state. */
export function conditionOf(value: StateValueJson): Condition {
  // The chart below has no others.
  return (typeof value === 'string' ? value : Object.keys(value)[0]) as Condition;
}

/** The series of the instance. These fields never change. */
export interface AlertInstanceInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly vm: string;
  /** Canonical label part of the series key, or ''. */
  readonly labels: string;
  /** Number of earlier retirements of its VM; absent: none. */
  readonly generation?: number;
}

/** Row of an instance, besides its state. */
export interface AlertInstanceContext {
  readonly project: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly vm: string;
  readonly labels: string;
  /** See `AlertInstanceInput`. */
  readonly generation?: number;
  /** Number of incidents so far. */
  readonly ordinal: number;
  /** Event time of the last applied edge, Unix ms: anything up to then is already decided. */
  readonly decidedThrough: number;
  /** First breaching observation of the run or of the open incident, Unix ms; null = idle. */
  readonly sinceMs: number | null;
  /** While sustaining: the last observation before the current gap, Unix ms; null = no gap. */
  readonly missingSinceMs: number | null;
  /** Interval between two reminders, ms; 0 = none. */
  readonly repeatIntervalMs: number;
  /** The current incident while firing, else the last one; null = never fired. */
  readonly incident: Incident | null;
}

interface At {
  /** Unix ms of the commit. */
  readonly at: number;
}
interface Decided extends At {
  /** Event time of the decision, Unix ms. */
  readonly eventMs: number;
}

/**
 * The evaluator's events carry the time of their cause; people's events carry that of their commit.
 */
export type AlertInstanceEvent =
  /** A run begins at `eventMs`: the first breaching observation, or the first one after a gap. */
  | ({ readonly type: 'breachStarted' } & Decided)
  | ({ readonly type: 'breachEnded' } & Decided)
  | ({ readonly type: 'sustained'; readonly repeatIntervalMs: number } & Firing)
  | ({
      readonly type: 'recovered';
      readonly value: number | null;
      /** Time at which the value was observed, Unix ms; absent: `eventMs`. */
      readonly observedMs?: number;
      /** false: it fires again at once, and only the new firing is notified. */
      readonly notify?: boolean;
    } & Decided)
  | ({
      readonly type: 'dataMissing';
      readonly sinceMs: number;
      readonly reason: MissingReason;
    } & Decided)
  | ({ readonly type: 'dataObserved' } & Decided)
  | ({ readonly type: 'evaluatorFailed'; readonly reason: string } & At)
  | ({ readonly type: 'evaluatorHealthy' } & At)
  | ({ readonly type: 'acknowledged'; readonly by: string; readonly note: string } & At)
  | ({ readonly type: 'snoozed'; readonly untilMs: number; readonly by: string } & At)
  | ({ readonly type: 'unsnoozed'; readonly by: string } & At)
  /** The rule was saved with another repeat interval; ms, 0 = no reminders. */
  | ({ readonly type: 'repeatIntervalChanged'; readonly repeatIntervalMs: number } & At)
  /** A maintenance window that covered it has ended, and it still fires. */
  | ({ readonly type: 'maintenanceEnded' } & At)
  /** The timer of the rule's repeat interval. */
  | ({ readonly type: 'repeatDue' } & At)
  | ({ readonly type: 'corrected' } & Decided)
  | ({ readonly type: 'retired'; readonly reason: RetireReason } & At);

/** Changes fields of the incident; no effect without one. */
function incidentWith(
  { incident }: AlertInstanceContext,
  change: Partial<Incident>,
): Partial<AlertInstanceContext> {
  return incident === null ? {} : { incident: { ...incident, ...change } };
}

/** The same for an edge of the evaluator, which must not be applied a second time. */
function decidedWith(
  context: AlertInstanceContext,
  { eventMs }: Decided,
  change: Partial<Incident>,
): Partial<AlertInstanceContext> {
  const decidedThrough = Math.max(context.decidedThrough, eventMs);
  return { decidedThrough, ...incidentWith(context, change) };
}

const base = setup({
  types: {
    context: {} as AlertInstanceContext,
    events: {} as AlertInstanceEvent,
    input: {} as AlertInstanceInput,
  },
  actions: {
    effect: (_, _effect: Effect) => undefined,
    beginRun: assign(({ event }) => {
      assertEvent(event, 'breachStarted');
      return { sinceMs: event.eventMs, missingSinceMs: null };
    }),
    recordGap: assign(({ event }) => {
      assertEvent(event, 'dataMissing');
      return { missingSinceMs: event.sinceMs };
    }),
    endRun: assign({ sinceMs: null, missingSinceMs: null }),
    openIncident: assign(({ context, event }) => {
      assertEvent(event, 'sustained');
      const ordinal = context.ordinal + 1;
      return {
        ordinal,
        decidedThrough: event.eventMs,
        sinceMs: event.startedMs,
        repeatIntervalMs: event.repeatIntervalMs,
        incident: openIncident(event, ordinal),
      };
    }),
    recoverIncident: assign(({ context, event }) => {
      assertEvent(event, 'recovered');
      const incident = context.incident && recoverIncident(context.incident, event);
      return { decidedThrough: event.eventMs, sinceMs: null, incident };
    }),
    retireIncident: assign(({ context, event }) => {
      assertEvent(event, 'retired');
      return { incident: context.incident && retireIncident(context.incident, event) };
    }),
    acknowledge: assign(({ context, event }) => {
      assertEvent(event, 'acknowledged');
      const { by, at: atMs, note } = event;
      return incidentWith(context, { acknowledged: { by, atMs, note } });
    }),
    snooze: assign(({ context, event }) => {
      assertEvent(event, 'snoozed');
      return incidentWith(context, { snoozedUntilMs: event.untilMs });
    }),
    endSnooze: assign(({ context }) => incidentWith(context, { snoozedUntilMs: null })),
    recordMissing: assign(({ context, event }) => {
      assertEvent(event, 'dataMissing');
      const { sinceMs: dataMissingSinceMs, reason: dataMissingReason } = event;
      return decidedWith(context, event, { dataMissingSinceMs, dataMissingReason });
    }),
    recordObserved: assign(({ context, event }) => {
      assertEvent(event, 'dataObserved');
      return decidedWith(context, event, { dataMissingSinceMs: null, dataMissingReason: null });
    }),
    recordEvaluatorError: assign(({ context, event }) => {
      assertEvent(event, 'evaluatorFailed');
      return incidentWith(context, { evaluatorError: event.reason });
    }),
    recordEvaluatorHealthy: assign(({ context }) =>
      incidentWith(context, { evaluatorError: null }),
    ),
    adoptRepeatInterval: assign(({ event }) => {
      assertEvent(event, 'repeatIntervalChanged');
      return { repeatIntervalMs: event.repeatIntervalMs };
    }),
    recordCorrection: assign(({ context, event }) => {
      assertEvent(event, 'corrected');
      return decidedWith(context, event, { correctedAfterNotification: true });
    }),
  },
  guards: {
    isNotYetDecided: ({ context, event }) =>
      event.type === 'sustained' && event.eventMs > context.decidedThrough,
    isOfThisIncident: ({ context, event }) =>
      (event.type === 'recovered' || event.type === 'dataMissing') &&
      event.eventMs >= context.decidedThrough,
    hasAnotherReason: ({ context, event }) =>
      event.type === 'dataMissing' &&
      event.eventMs >= context.decidedThrough &&
      event.reason !== context.incident?.dataMissingReason,
    isAfterTheGap: ({ context, event }) =>
      event.type === 'dataObserved' &&
      event.eventMs > (context.incident?.dataMissingSinceMs ?? Number.NEGATIVE_INFINITY),
    isStillMissing: ({ context }) => typeof context.incident?.dataMissingSinceMs === 'number',
    isNotYetCorrected: ({ context }) => context.incident?.correctedAfterNotification === false,
    isAnotherInterval: ({ context, event }) =>
      event.type === 'repeatIntervalChanged' && event.repeatIntervalMs !== context.repeatIntervalMs,
    endsLater: ({ event }) => event.type === 'snoozed' && event.untilMs > event.at,
  },
  delays: {
    snoozeEnd: ({ context, event }) =>
      Math.max(0, (context.incident?.snoozedUntilMs ?? event.at) - event.at),
  },
});

const recordIncident = { type: 'effect', params: { type: 'recordIncident' } } as const;

/** Builds the chart below; it knows the names above. */
const chart = base.extend({
  actions: {
    announceFiring: base.enqueueActions(({ context, enqueue }) => {
      if (!context.incident?.notify) return;
      enqueue({ type: 'effect', params: { type: 'notify', event: 'FIRING', occurrence: 1 } });
    }),
    announceRecovery: base.enqueueActions(({ context, event, enqueue }) => {
      if (!context.incident?.notify) return;
      if (event.type === 'recovered' && event.notify === false) return;
      enqueue({ type: 'effect', params: { type: 'notify', event: 'RECOVERED', occurrence: 1 } });
    }),
    remind: base.enqueueActions(({ context, enqueue }) => {
      if (!context.incident?.notify) return;
      const occurrence = context.incident.repeats + 1;
      enqueue.assign(incidentWith(context, { repeats: occurrence }));
      enqueue({ type: 'effect', params: { type: 'notify', event: 'REPEATED', occurrence } });
    }),
    // Not an `after`: a rule without reminders must leave no timer behind.
    armReminder: base.enqueueActions(({ context, event, enqueue }) => {
      const delay = context.repeatIntervalMs;
      if (delay <= 0 || !context.incident?.notify) return;
      enqueue.raise({ type: 'repeatDue', at: event.at + delay }, { id: 'repeatDue', delay });
    }),
    disarmReminder: base.cancel('repeatDue'),
  },
});

/** The context of a new instance; xstate also calls it without input (a throw-away actor). */
function initialContext(input: AlertInstanceInput | undefined): AlertInstanceContext {
  return {
    project: input?.project ?? '',
    rule: input?.rule ?? '',
    evaluationRevision: input?.evaluationRevision ?? 0,
    vm: input?.vm ?? '',
    labels: input?.labels ?? '',
    ...(input?.generation !== undefined && { generation: input.generation }),
    ordinal: 0,
    decidedThrough: 0,
    sinceMs: null,
    missingSinceMs: null,
    repeatIntervalMs: 0,
    incident: null,
  };
}

// The chart. Its parts come first, the machine itself last.

const retired = {
  description:
    'Its rule was paused, edited or deleted, or its VM was retired; no recovery is invented.',
  target: 'retired',
} as const;

const corrected = {
  description: 'Late samples disproved the last firing; it is marked so.',
  guard: 'isNotYetCorrected',
  actions: ['recordCorrection', recordIncident],
} as const;

const sustaining = chart.createStateConfig({
  description: 'The condition holds, but not yet for the sustained duration.',
  initial: 'observed',
  on: {
    breachEnded: {
      description: 'A sample that does not breach ended the run.',
      target: 'idle',
      actions: 'endRun',
    },
    corrected,
    retired,
  },
  states: {
    observed: {
      description: 'The run continues, with no gap longer than the tolerance.',
      on: {
        dataMissing: {
          description: 'No observation for longer than the tolerance; this does not end the run.',
          target: 'missing',
          actions: 'recordGap',
        },
        sustained: {
          description: 'Observed samples breach over the whole sustained duration.',
          guard: 'isNotYetDecided',
          target: '#alertInstance.firing',
          actions: ['openIncident', recordIncident, 'announceFiring'],
        },
      },
    },
    missing: {
      description: 'Nothing is observed: the run is neither promoted nor dropped.',
      on: {
        breachStarted: {
          description: 'The first sample after the gap breaches; the run restarts with it.',
          target: 'observed',
          actions: 'beginRun',
        },
      },
    },
  },
});

const notification = chart.createStateConfig({
  description: 'Whether notifications are sent.',
  initial: 'notifying',
  states: {
    notifying: {
      description: 'Notifications are sent, and repeated at the repeat interval.',
      entry: 'armReminder',
      exit: 'disarmReminder',
      on: {
        repeatDue: {
          description: 'The repeat interval has passed: people are reminded.',
          target: 'notifying',
          reenter: true,
          actions: ['remind', recordIncident],
        },
        maintenanceEnded: {
          description:
            'A maintenance window has ended and it still fires: one notification is sent.',
          target: 'notifying',
          reenter: true,
          actions: ['remind', recordIncident],
        },
        repeatIntervalChanged: {
          description: 'The rule has another repeat interval: it restarts from now.',
          guard: 'isAnotherInterval',
          target: 'notifying',
          reenter: true,
          actions: 'adoptRepeatInterval',
        },
        snoozed: {
          description: 'A person requested silence until a given time; evaluation continues.',
          guard: 'endsLater',
          target: 'snoozed',
          actions: ['snooze', recordIncident],
        },
      },
    },
    snoozed: {
      description: 'No notification of the firing is sent until the snooze ends.',
      after: {
        snoozeEnd: {
          description:
            'The snooze has ended and the incident still fires: one notification is sent.',
          target: 'notifying',
          actions: ['endSnooze', 'remind', recordIncident],
        },
      },
      on: {
        snoozed: {
          description: 'A person moved the end of the snooze.',
          guard: 'endsLater',
          target: 'snoozed',
          reenter: true,
          actions: ['snooze', recordIncident],
        },
        repeatIntervalChanged: {
          description: 'The rule has another repeat interval, for after the snooze.',
          guard: 'isAnotherInterval',
          actions: 'adoptRepeatInterval',
        },
        unsnoozed: {
          description: 'A person ended the snooze early: one notification is sent, as at its end.',
          target: 'notifying',
          actions: ['endSnooze', 'remind', recordIncident],
        },
      },
    },
  },
});

const dataMissing = {
  description: 'No observation for longer than the gap tolerance; it still fires.',
  guard: 'isOfThisIncident',
  actions: ['recordMissing', recordIncident],
} as const;

const dataObserved = {
  description: 'Observations arrive again; their values decide whether it recovers.',
  guard: 'isAfterTheGap',
  actions: ['recordObserved', recordIncident],
} as const;

const evaluatorFailed = {
  description: 'The evaluator cannot decide; this does not prove a recovery.',
  target: 'evaluatorError',
  actions: ['recordEvaluatorError', recordIncident],
} as const;

const evaluatorHealthyActions = ['recordEvaluatorHealthy', recordIncident] as const;

const data = chart.createStateConfig({
  description: 'Whether the series is observed; never a reason to recover.',
  initial: 'observed',
  states: {
    observed: {
      description: 'Samples arrive within the gap tolerance.',
      on: { dataMissing: { ...dataMissing, target: 'missing' }, evaluatorFailed },
    },
    missing: {
      description: 'No sample since the time stored in the incident, for the reason stored there.',
      on: {
        dataMissing: {
          description: 'The silence continues, for another known reason.',
          guard: 'hasAnotherReason',
          actions: ['recordMissing', recordIncident],
        },
        dataObserved: { ...dataObserved, target: 'observed' },
        evaluatorFailed,
      },
    },
    evaluatorError: {
      description: 'The evaluator fails for this rule, with the reason stored in the incident.',
      on: {
        dataMissing,
        dataObserved,
        evaluatorHealthy: [
          {
            description: 'The evaluator decides again, and the gap it knew of continues.',
            guard: 'isStillMissing',
            target: 'missing',
            actions: evaluatorHealthyActions,
          },
          {
            description: 'The evaluator decides again, and the series is observed.',
            target: 'observed',
            actions: evaluatorHealthyActions,
          },
        ],
      },
    },
  },
});

/** The chart. `docs/machines` has a drawing of it. */
export const alertInstanceMachine = chart.createMachine({
  id: 'alertInstance',
  description: "A rule's condition on one series of one VM, and the incident it raises.",
  context: ({ input }) => initialContext(input),
  initial: 'idle',
  states: {
    idle: {
      description: 'The condition does not hold.',
      on: {
        breachStarted: {
          description: 'A sample breached; the run starts with it.',
          target: 'sustaining',
          actions: 'beginRun',
        },
        corrected,
        retired,
      },
    },
    sustaining,
    firing: {
      description: 'An incident is open; only observed good samples recover it.',
      type: 'parallel',
      on: {
        recovered: {
          description: 'Observed samples no longer breach, for as long as the rule requires.',
          guard: 'isOfThisIncident',
          target: 'idle',
          actions: ['recoverIncident', recordIncident, 'announceRecovery'],
        },
        corrected,
        retired: { ...retired, actions: ['retireIncident', recordIncident] },
      },
      states: {
        attention: {
          description: 'Whether someone has taken notice; ends with the incident.',
          initial: 'unacknowledged',
          states: {
            unacknowledged: {
              description: 'No one has taken notice.',
              on: {
                acknowledged: {
                  description: 'Someone took notice; the incident still fires and repeats.',
                  target: 'acknowledged',
                  actions: ['acknowledge', recordIncident],
                },
              },
            },
            acknowledged: { description: 'Someone has taken notice.' },
          },
        },
        notification,
        data,
      },
    },
    retired: {
      description: 'Its subject has changed or no longer exists; its row stays for audit.',
      type: 'final',
    },
  },
});
