/**
 * Enrolment of one VM for expanded monitoring: an opt-in by a one-time token, which the agent
 * inside the guest exchanges for its own key. One instance per VM. It can be offered again, and the
 * current agent keeps working until the next one enrols.
 */
import { assertEvent, assign, setup } from 'xstate';

/** Lifetime of an enrolment token, ms: long enough to install a machine. */
export const ENROLMENT_TOKEN_MS = 24 * 3_600_000;

export interface EnrolmentInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Id of the VM. */
  readonly vm: string;
  readonly datacenter: string;
  /** Hash of the token, hex SHA-256. */
  readonly tokenHash: string;
  readonly by: string;
}

export interface EnrolmentContext {
  readonly project: string;
  readonly vm: string;
  readonly datacenter: string;
  readonly tokenHash: string;
  /** End of the token, Unix ms. */
  readonly expiresMs: number;
  /** Id of the agent's key; null = none. */
  readonly credential: string | null;
  /** Description of the guest by its agent. */
  readonly system: string;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type EnrolmentEvent =
  | {
      readonly type: 'offered';
      readonly at: number;
      readonly tokenHash: string;
      readonly datacenter: string;
      readonly by: string;
    }
  | {
      readonly type: 'enrolled';
      readonly at: number;
      readonly credential: string;
      readonly system: string;
    }
  /** Withdraws only the token. */
  | {
      readonly type: 'tokenWithdrawn';
      readonly at: number;
      readonly reason: string;
      readonly by: string;
    }
  | { readonly type: 'unenrolled'; readonly at: number; readonly by: string };

const chart = setup({
  types: {
    context: {} as EnrolmentContext,
    events: {} as EnrolmentEvent,
    input: {} as EnrolmentInput,
  },
  actions: {
    offer: assign(({ event }) => {
      assertEvent(event, 'offered');
      const { tokenHash, datacenter, at } = event;
      return { tokenHash, datacenter, expiresMs: at + ENROLMENT_TOKEN_MS, updatedMs: at };
    }),
    recordEnrolled: assign(({ event }) => {
      assertEvent(event, 'enrolled');
      const { credential, system, at } = event;
      return { credential, system, tokenHash: '', updatedMs: at };
    }),
    forgetKey: assign(({ event }) => ({ credential: null, tokenHash: '', updatedMs: event.at })),
    forgetToken: assign(({ context, event }) => ({
      tokenHash: '',
      updatedMs: event.at ?? context.expiresMs,
    })),
  },
  guards: {
    hasAgent: ({ context }) => context.credential !== null,
  },
  delays: {
    lifetimeEnd: ({ context, event }) =>
      Math.max(0, context.expiresMs - (event.at ?? context.createdMs)),
  },
});

const offered = {
  description: 'Monitoring was requested: a one-time token for the agent was made.',
  target: 'offered',
  reenter: true,
  actions: 'offer',
} as const;

const unenrolled = {
  description: 'Monitoring was switched off: token and key stop working.',
  target: 'off',
  actions: 'forgetKey',
} as const;

export const enrolmentMachine = chart.createMachine({
  id: 'enrolment',
  description: 'Expanded monitoring of one VM, by an agent inside its guest.',
  context: ({ input }) => ({
    project: input?.project ?? '',
    vm: input?.vm ?? '',
    datacenter: input?.datacenter ?? '',
    tokenHash: input?.tokenHash ?? '',
    expiresMs: (input?.at ?? 0) + ENROLMENT_TOKEN_MS,
    credential: null,
    system: '',
    createdMs: input?.at ?? 0,
    updatedMs: input?.at ?? 0,
  }),
  initial: 'offered',
  states: {
    offered: {
      description: 'A token waits for the agent to be installed.',
      after: {
        lifetimeEnd: [
          {
            description: 'No other agent enrolled in time: the current one keeps working.',
            guard: 'hasAgent',
            target: 'enrolled',
            actions: 'forgetToken',
          },
          { description: 'No agent enrolled in time.', target: 'off', actions: 'forgetToken' },
        ],
      },
      on: {
        offered,
        enrolled: {
          description: 'The agent exchanged the token for its key.',
          target: 'enrolled',
          actions: 'recordEnrolled',
        },
        tokenWithdrawn: [
          {
            description: 'The token was withdrawn; the current agent keeps working.',
            guard: 'hasAgent',
            target: 'enrolled',
            actions: 'forgetToken',
          },
          {
            description: 'The token was withdrawn, and there is no agent.',
            target: 'off',
            actions: 'forgetToken',
          },
        ],
        unenrolled,
      },
    },
    enrolled: {
      description: 'The agent inside the guest sends expanded samples.',
      on: { offered, unenrolled },
    },
    off: {
      description: 'Expanded monitoring is off.',
      on: { offered },
    },
  },
});
