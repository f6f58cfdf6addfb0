/**
 * Machine of one person's membership of one project. The role sets what a session may do there, and
 * bounds the personal keys. A person who returns gets the same membership, but not the old keys.
 */
import { assertEvent, assign, setup } from 'xstate';

/** In rising order of rights. */
export type Role = 'VIEWER' | 'EDITOR' | 'OWNER';

export interface MembershipInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Id of the person. */
  readonly person: string;
  readonly role: Role;
  readonly displayName: string;
  /** Empty: the person has none. */
  readonly email: string;
  readonly by: string;
}

export interface MembershipContext extends Omit<MembershipInput, 'at' | 'by'> {
  readonly joinedMs: number;
  readonly updatedMs: number;
  readonly removedReason: string | null;
}

/** Times in Unix ms; `by` is a resource name. */
export type MembershipEvent =
  | { readonly type: 'roleChanged'; readonly at: number; readonly role: Role; readonly by: string }
  | { readonly type: 'removed'; readonly at: number; readonly reason: string; readonly by: string }
  | { readonly type: 'rejoined'; readonly at: number; readonly role: Role; readonly by: string }
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
  | {
      readonly type: 'renamed';
      readonly at: number;
      readonly displayName: string;
      readonly email: string;
    };

const chart = setup({
  types: {
    context: {} as MembershipContext,
    events: {} as MembershipEvent,
    input: {} as MembershipInput,
  },
  actions: {
    // Only a transition with an action is a step.
    changeNothing: assign({}),
    changeRole: assign(({ event }) => {
      assertEvent(event, ['roleChanged', 'rejoined']);
      return { role: event.role, removedReason: null, updatedMs: event.at };
    }),
    recordJoined: assign(({ event }) => ({ joinedMs: event.at })),
    recordRemoved: assign(({ event }) => {
      assertEvent(event, 'removed');
      return { removedReason: event.reason, updatedMs: event.at };
    }),
    rename: assign(({ event }) => {
      assertEvent(event, 'renamed');
      return { displayName: event.displayName, email: event.email, updatedMs: event.at };
    }),
  },
});

const keyRefused = {
  description: 'Uses of one of the personal keys were refused; nothing changes.',
  actions: 'changeNothing',
} as const;

export const membershipMachine = chart.createMachine({
  id: 'membership',
  description: "One person's membership in one project.",
  context: ({ input }) => ({
    project: input?.project ?? '',
    person: input?.person ?? '',
    role: input?.role ?? 'VIEWER',
    displayName: input?.displayName ?? '',
    email: input?.email ?? '',
    joinedMs: input?.at ?? 0,
    updatedMs: input?.at ?? 0,
    removedReason: null,
  }),
  initial: 'active',
  states: {
    active: {
      description: 'The person may do what the role allows.',
      on: {
        keyRefused,
        roleChanged: {
          description: 'An owner gave another role; it takes effect on the next request.',
          actions: 'changeRole',
        },
        renamed: { description: 'The person has another name or address.', actions: 'rename' },
        removed: {
          description: 'The person left or was removed, and their personal keys with them.',
          target: 'removed',
          actions: 'recordRemoved',
        },
      },
    },
    removed: {
      description: 'The person has no access here.',
      on: {
        keyRefused,
        rejoined: {
          description: 'The person was invited again; old keys stay revoked.',
          target: 'active',
          actions: ['changeRole', 'recordJoined'],
        },
      },
    },
  },
});
