/**
 * One maintenance window: while it is active, nothing that fires in its scope is notified. Evaluation
 * goes on and incidents are recorded. At its end what still fires is announced once, in batches that
 * the row keeps count of, so that a crash between two announces nothing twice.
 */
import { assertEvent, assign, setup } from 'xstate';

/** What the window covers: a rule, a VM, both together, or with neither everything of the project. */
export interface MaintenanceScope {
  /** Id of the rule; null = every rule. */
  readonly rule: string | null;
  /** Id of the VM; null = every VM. */
  readonly vm: string | null;
}

/** A new window. */
export interface MaintenanceWindowInput extends MaintenanceScope {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Unix ms; the end is later than the beginning. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Why, in words of whoever created it; '' = nothing said. */
  readonly note: string;
  readonly by: string;
}

/** What the row of a window keeps. */
export interface MaintenanceWindowContext extends Omit<MaintenanceWindowInput, 'at' | 'by'> {
  readonly createdMs: number;
  readonly createdBy: string;
  /** When it was over, on time or early, Unix ms; null = it is not. */
  readonly endedMs: number | null;
  /** Who ended it early; null = nobody. */
  readonly endedBy: string | null;
  /** Last alert instance that was looked at after the end; null = none yet. */
  readonly announcedThrough: string | null;
}

/** Times in Unix ms. */
export type MaintenanceWindowEvent =
  /** Its time has come at its creation. */
  | { readonly type: 'begun'; readonly at: number }
  /** Somebody ended it early. */
  | { readonly type: 'ended'; readonly at: number; readonly by: string }
  /** What fires, up to this place in the order of instances, was announced. */
  | { readonly type: 'announced'; readonly at: number; readonly through: string }
  | { readonly type: 'completed'; readonly at: number };

const chart = setup({
  types: {
    context: {} as MaintenanceWindowContext,
    events: {} as MaintenanceWindowEvent,
    input: {} as MaintenanceWindowInput,
  },
  actions: {
    noteOver: assign({ endedMs: ({ context }) => context.untilMs }),
    noteEnded: assign(({ event }) => {
      assertEvent(event, 'ended');
      return { endedMs: event.at, endedBy: event.by };
    }),
    noteAnnounced: assign(({ event }) => {
      assertEvent(event, 'announced');
      return { announcedThrough: event.through };
    }),
  },
  guards: {
    isItsTime: ({ context, event }) => event.at >= context.fromMs && event.at < context.untilMs,
  },
  delays: {
    // The first event, xstate.init, has no time: use the creation time.
    begin: ({ context, event }) => Math.max(0, context.fromMs - (event.at ?? context.createdMs)),
    end: ({ context, event }) => Math.max(0, context.untilMs - (event.at ?? context.createdMs)),
  },
});

/** The chart. `docs/machines` has it as a drawing. */
export const maintenanceWindowMachine = chart.createMachine({
  id: 'maintenanceWindow',
  description: 'A time in which nothing that fires of a rule, of a VM or of all is notified.',
  context: ({ input }) => initialContext(input),
  initial: 'scheduled',
  states: {
    scheduled: {
      description: 'Its time has not come: people are notified as ever.',
      after: {
        begin: { description: 'Its time has come.', target: 'active' },
      },
      on: {
        begun: {
          description: 'Its time had come when it was created.',
          guard: 'isItsTime',
          target: 'active',
        },
        ended: {
          description: 'Somebody cancelled it before its time.',
          target: 'cancelled',
          actions: 'noteEnded',
        },
      },
    },
    active: {
      description: 'What fires in its scope is evaluated and recorded, and not sent.',
      after: {
        end: { description: 'Its time is over.', target: 'announcing', actions: 'noteOver' },
      },
      on: {
        ended: {
          description: 'Somebody ended it early; what follows is as at its end.',
          target: 'announcing',
          actions: 'noteEnded',
        },
      },
    },
    announcing: {
      description: 'It is over: what still fires in its scope is announced once.',
      on: {
        announced: {
          description: 'Some of what fires was announced.',
          actions: 'noteAnnounced',
        },
        completed: {
          description: 'All of what still fires was announced.',
          target: 'over',
        },
      },
    },
    over: { description: 'It is over; the row stays for audit.', type: 'final' },
    cancelled: { description: 'It never began; the row stays for audit.', type: 'final' },
  },
});

function initialContext(input: MaintenanceWindowInput | undefined): MaintenanceWindowContext {
  // xstate also calls this without input, for a throw-away actor of each transition.
  return {
    project: input?.project ?? '',
    rule: input?.rule ?? null,
    vm: input?.vm ?? null,
    fromMs: input?.fromMs ?? 0,
    untilMs: input?.untilMs ?? 0,
    note: input?.note ?? '',
    createdMs: input?.at ?? 0,
    createdBy: input?.by ?? '',
    endedMs: null,
    endedBy: null,
    announcedThrough: null,
  };
}
