/**
 * One maintenance window: while it is active, nothing that fires in its scope is notified.
 * Evaluation continues and incidents are recorded. At its end, instances that still fire are
 * announced once, in batches whose progress the row records, so that a crash between two batches
 * announces nothing twice.
 */
import { assertEvent, assign, setup } from 'xstate';

/** Scope of the window: a rule, a VM, both together, or, with neither, the whole project. */
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
  /** The creator's reason, in words; '' = none given. */
  readonly note: string;
  readonly by: string;
}

/** Row of a window. */
export interface MaintenanceWindowContext extends Omit<MaintenanceWindowInput, 'at' | 'by'> {
  readonly createdMs: number;
  readonly createdBy: string;
  /** Time at which it ended, on time or early, Unix ms; null = it has not ended. */
  readonly endedMs: number | null;
  /** Who ended it early; null = no one. */
  readonly endedBy: string | null;
  /** Last alert instance processed after the end of the window; null = none yet. */
  readonly announcedThrough: string | null;
}

/** Times in Unix ms. */
export type MaintenanceWindowEvent =
  /** Its start had already passed at its creation. */
  | { readonly type: 'begun'; readonly at: number }
  /** It was ended early. */
  | { readonly type: 'ended'; readonly at: number; readonly by: string }
  /** Firing instances were announced, up to this place in their order. */
  | { readonly type: 'announced'; readonly at: number; readonly through: string }
  | { readonly type: 'completed'; readonly at: number };

const chart = setup({
  types: {
    context: {} as MaintenanceWindowContext,
    events: {} as MaintenanceWindowEvent,
    input: {} as MaintenanceWindowInput,
  },
  actions: {
    recordOver: assign({ endedMs: ({ context }) => context.untilMs }),
    recordEnded: assign(({ event }) => {
      assertEvent(event, 'ended');
      return { endedMs: event.at, endedBy: event.by };
    }),
    recordAnnounced: assign(({ event }) => {
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

/** The chart. `docs/machines` has a drawing of it. */
export const maintenanceWindowMachine = chart.createMachine({
  id: 'maintenanceWindow',
  description: 'A time in which nothing that fires for a rule, for a VM or at all is notified.',
  context: ({ input }) => initialContext(input),
  initial: 'scheduled',
  states: {
    scheduled: {
      description: 'It has not begun: people are notified as usual.',
      after: {
        begin: { description: 'Its start is reached.', target: 'active' },
      },
      on: {
        begun: {
          description: 'Its start had passed when it was created.',
          guard: 'isItsTime',
          target: 'active',
        },
        ended: {
          description: 'It was cancelled before its start.',
          target: 'cancelled',
          actions: 'recordEnded',
        },
      },
    },
    active: {
      description: 'Rules in its scope are evaluated and recorded, but not notified.',
      after: {
        end: { description: 'Its end is reached.', target: 'announcing', actions: 'recordOver' },
      },
      on: {
        ended: {
          description: 'It was ended early; the rest is as at its end.',
          target: 'announcing',
          actions: 'recordEnded',
        },
      },
    },
    announcing: {
      description: 'It has ended: instances that still fire in its scope are announced once.',
      on: {
        announced: {
          description: 'Some of the instances that still fire were announced.',
          actions: 'recordAnnounced',
        },
        completed: {
          description: 'All instances that still fire were announced.',
          target: 'over',
        },
      },
    },
    over: { description: 'It has ended; the row stays for audit.', type: 'final' },
    cancelled: { description: 'It never began; the row stays for audit.', type: 'final' },
  },
});

function initialContext(input: MaintenanceWindowInput | undefined): MaintenanceWindowContext {
  // xstate also calls this without input, for the throw-away actor of each transition.
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
