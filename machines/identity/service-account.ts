/**
 * Machine of one service account, an identity of a project for unattended automation. Its
 * capabilities bound each of its keys and tokens on every request. It belongs to the project and
 * outlives its creator's membership.
 */
import { assertEvent, assign, setup } from 'xstate';

export interface ServiceAccountInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  readonly displayName: string;
  /** Template it was made from; null = none. */
  readonly template: string | null;
  /** Upper bound for its keys and tokens. */
  readonly capabilities: readonly string[];
  /** Resource name of its creator. */
  readonly createdBy: string;
}

export interface ServiceAccountContext extends Omit<ServiceAccountInput, 'at'> {
  readonly createdMs: number;
  readonly updatedMs: number;
  /** Why it is disabled; null = it is not. */
  readonly disabledReason: string | null;
}

/** Times in Unix ms; `by` is a resource name. */
export type ServiceAccountEvent =
  | {
      readonly type: 'edited';
      readonly at: number;
      readonly displayName: string;
      readonly capabilities: readonly string[];
      readonly by: string;
    }
  | { readonly type: 'disabled'; readonly at: number; readonly reason: string; readonly by: string }
  | { readonly type: 'enabled'; readonly at: number; readonly by: string }
  /** Uses of one of its keys were refused. */
  | {
      readonly type: 'keyRefused';
      readonly at: number;
      /** Id of the key. */
      readonly key: string;
      readonly refusals: number;
      /** Refusals by reason. */
      readonly reasons: Readonly<Record<string, number>>;
    }
  | { readonly type: 'deleted'; readonly at: number; readonly by: string };

const chart = setup({
  types: {
    context: {} as ServiceAccountContext,
    events: {} as ServiceAccountEvent,
    input: {} as ServiceAccountInput,
  },
  actions: {
    // Only a transition with an action is a step.
    changeNothing: assign({}),
    edit: assign(({ event }) => {
      assertEvent(event, 'edited');
      const { displayName, capabilities, at } = event;
      return { displayName, capabilities, updatedMs: at };
    }),
    recordDisabled: assign(({ event }) => {
      assertEvent(event, 'disabled');
      return { disabledReason: event.reason, updatedMs: event.at };
    }),
    recordEnabled: assign(({ event }) => ({ disabledReason: null, updatedMs: event.at })),
    recordDeleted: assign(({ event }) => ({ capabilities: [], updatedMs: event.at })),
  },
});

const edited = {
  description: 'Its name or its permissions changed, with effect on the next request.',
  actions: 'edit',
} as const;

const deleted = {
  description: 'It was deleted for good: its keys and tokens stop working.',
  target: 'deleted',
  actions: 'recordDeleted',
} as const;

const keyRefused = {
  description: 'Uses of one of its keys were refused; nothing changes.',
  actions: 'changeNothing',
} as const;

export const serviceAccountMachine = chart.createMachine({
  id: 'serviceAccount',
  description: 'An identity of a project for unattended automation.',
  context: ({ input }) => ({
    project: input?.project ?? '',
    displayName: input?.displayName ?? '',
    template: input?.template ?? null,
    capabilities: input?.capabilities ?? [],
    createdBy: input?.createdBy ?? '',
    createdMs: input?.at ?? 0,
    updatedMs: input?.at ?? 0,
    disabledReason: null,
  }),
  initial: 'active',
  states: {
    active: {
      description: 'Its keys and tokens work, within its permissions.',
      on: {
        edited,
        keyRefused,
        disabled: {
          description: 'It was disabled: its keys and tokens are refused at once.',
          target: 'disabled',
          actions: 'recordDisabled',
        },
        deleted,
      },
    },
    disabled: {
      description: 'Its keys are refused until it is enabled, its old tokens forever.',
      on: {
        edited,
        keyRefused,
        enabled: {
          description: 'Its keys work again.',
          target: 'active',
          actions: 'recordEnabled',
        },
        deleted,
      },
    },
    deleted: { description: 'It was deleted.', type: 'final' },
  },
});
