/**
 * One alert instance: a rule's condition on one series of one VM. Its state is the condition
 * itself; what people did (attention, notification) and whether data arrives are regions beside
 * it while it fires. Absence has no arrow to recovery: only observed good samples do.
 */
import type { StateValueJson } from '../platform/definition.ts';
import { chart, initialContext, recordIncident } from './alert-instance-setup.ts';

export type {
  AlertInstanceContext,
  AlertInstanceEvent,
  AlertInstanceInput,
} from './alert-instance-setup.ts';

export type Condition = 'idle' | 'sustaining' | 'firing' | 'retired';

/** The condition that a state of the machine is in: the name of the top state. */
export function conditionOf(value: StateValueJson): Condition {
  // The chart below has no others.
  return (typeof value === 'string' ? value : Object.keys(value)[0]) as Condition;
}

const retired = {
  description: 'Its rule was paused, edited or deleted, or its VM is gone; no recovery is made up.',
  target: 'retired',
} as const;

const corrected = {
  description: 'Late samples showed that the last firing had not been; it is marked so.',
  guard: 'isNotYetCorrected',
  actions: ['noteCorrection', recordIncident],
} as const;

const sustaining = chart.createStateConfig({
  description: 'The condition holds, not yet for the sustained duration.',
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
      description: 'The run goes on, with no gap longer than the tolerance.',
      on: {
        dataMissing: {
          description: 'No observation for longer than the tolerance; that is no end of it.',
          target: 'missing',
          actions: 'noteGap',
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
          description: 'The repeat interval is over: people are reminded.',
          target: 'notifying',
          reenter: true,
          actions: ['remind', recordIncident],
        },
        repeatIntervalChanged: {
          description: 'The rule has another repeat interval: it restarts from here.',
          guard: 'isAnotherInterval',
          target: 'notifying',
          reenter: true,
          actions: 'adoptRepeatInterval',
        },
        snoozed: {
          description: 'Somebody wants silence until a given time; evaluation goes on.',
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
          description: 'The snooze is over and the incident still fires: one notification is sent.',
          target: 'notifying',
          actions: ['endSnooze', 'remind', recordIncident],
        },
      },
      on: {
        snoozed: {
          description: 'Somebody moved the end of the snooze.',
          guard: 'endsLater',
          target: 'snoozed',
          reenter: true,
          actions: ['snooze', recordIncident],
        },
        repeatIntervalChanged: {
          description: 'The rule has another repeat interval, for when the snooze is over.',
          guard: 'isAnotherInterval',
          actions: 'adoptRepeatInterval',
        },
        unsnoozed: {
          description: 'Somebody ended the snooze early: one notification is sent, as at its end.',
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
  actions: ['noteMissing', recordIncident],
} as const;

const dataObserved = {
  description: 'Observations arrive again; whether it recovers is for their values to say.',
  guard: 'isAfterTheGap',
  actions: ['noteObserved', recordIncident],
} as const;

const evaluatorFailed = {
  description: 'The evaluator cannot decide; that proves no recovery.',
  target: 'evaluatorError',
  actions: ['noteEvaluatorError', recordIncident],
} as const;

const evaluatorHealthyActions = ['noteEvaluatorHealthy', recordIncident] as const;

const data = chart.createStateConfig({
  description: 'Whether the series is observed; never a reason to recover.',
  initial: 'observed',
  states: {
    observed: {
      description: 'Samples arrive within the gap tolerance.',
      on: { dataMissing: { ...dataMissing, target: 'missing' }, evaluatorFailed },
    },
    missing: {
      description: 'No sample since the time kept in the incident, for the reason kept there.',
      on: {
        dataMissing: {
          description: 'The silence goes on, and something else is known of why.',
          guard: 'hasAnotherReason',
          actions: ['noteMissing', recordIncident],
        },
        dataObserved: { ...dataObserved, target: 'observed' },
        evaluatorFailed,
      },
    },
    evaluatorError: {
      description: 'The evaluator fails for this rule, with the reason kept in the incident.',
      on: {
        dataMissing,
        dataObserved,
        evaluatorHealthy: [
          {
            description: 'The evaluator decides again, and the gap it knew of lasts.',
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
          description: 'Observed samples no longer breach, for as long as the rule wants.',
          guard: 'isOfThisIncident',
          target: 'idle',
          actions: ['recoverIncident', recordIncident, 'announceRecovery'],
        },
        corrected,
        retired: { ...retired, actions: ['retireIncident', recordIncident] },
      },
      states: {
        attention: {
          description: 'Whether somebody has taken notice; ends with the incident.',
          initial: 'unacknowledged',
          states: {
            unacknowledged: {
              description: 'Nobody has taken notice.',
              on: {
                acknowledged: {
                  description: 'Somebody took notice; the incident still fires and repeats.',
                  target: 'acknowledged',
                  actions: ['acknowledge', recordIncident],
                },
              },
            },
            acknowledged: { description: 'Somebody has taken notice.' },
          },
        },
        notification,
        data,
      },
    },
    retired: {
      description: 'What it was about has changed or gone; its row stays for audit.',
      type: 'final',
    },
  },
});
