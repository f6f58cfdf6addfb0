/**
 * Machine of one person who signs in. It holds the accounts and the address by which the person is
 * recognised, and whether the person may sign in at all. Memberships define the person's rights.
 */
import { assertEvent, assign, setup } from 'xstate';

/** An account at an OpenID Connect provider. */
export interface LinkedIdentity {
  readonly issuer: string;
  readonly subject: string;
}

export interface PersonInput {
  /** Unix ms of the commit that creates them. */
  readonly at: number;
  readonly displayName: string;
  /** Verified, lower case; empty = none. */
  readonly email: string;
  readonly identity: LinkedIdentity | null;
}

export interface PersonContext {
  readonly displayName: string;
  readonly email: string;
  readonly identities: readonly LinkedIdentity[];
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly disabledReason: string | null;
}

/** Times in Unix ms. */
export type PersonEvent =
  | ({ readonly type: 'identityLinked'; readonly at: number } & LinkedIdentity)
  | ({
      readonly type: 'identityUnlinked';
      readonly at: number;
      readonly by: string;
    } & LinkedIdentity)
  | {
      readonly type: 'renamed';
      readonly at: number;
      readonly displayName: string;
      readonly email: string;
    }
  | { readonly type: 'disabled'; readonly at: number; readonly reason: string; readonly by: string }
  | { readonly type: 'enabled'; readonly at: number; readonly by: string };

const chart = setup({
  types: {
    context: {} as PersonContext,
    events: {} as PersonEvent,
    input: {} as PersonInput,
  },
  actions: {
    link: assign(({ context, event }) => {
      assertEvent(event, 'identityLinked');
      const { issuer, subject, at } = event;
      return { identities: [...context.identities, { issuer, subject }], updatedMs: at };
    }),
    unlink: assign(({ context, event }) => {
      assertEvent(event, 'identityUnlinked');
      const { issuer, subject, at } = event;
      const isOther = (identity: LinkedIdentity) =>
        identity.issuer !== issuer || identity.subject !== subject;
      return { identities: context.identities.filter(isOther), updatedMs: at };
    }),
    rename: assign(({ event }) => {
      assertEvent(event, 'renamed');
      return { displayName: event.displayName, email: event.email, updatedMs: event.at };
    }),
    recordDisabled: assign(({ event }) => {
      assertEvent(event, 'disabled');
      return { disabledReason: event.reason, updatedMs: event.at };
    }),
    recordEnabled: assign(({ event }) => ({ disabledReason: null, updatedMs: event.at })),
  },
});

export const personMachine = chart.createMachine({
  id: 'person',
  description: 'A person who signs in.',
  context: ({ input }) => ({
    displayName: input?.displayName ?? '',
    email: input?.email ?? '',
    identities: input?.identity ? [input.identity] : [],
    createdMs: input?.at ?? 0,
    updatedMs: input?.at ?? 0,
    disabledReason: null,
  }),
  initial: 'active',
  states: {
    active: {
      description: 'The person may sign in.',
      on: {
        identityLinked: {
          description: 'An account at an identity provider was recognised as theirs.',
          actions: 'link',
        },
        identityUnlinked: {
          description: 'An operator removed an account at an identity provider.',
          actions: 'unlink',
        },
        renamed: { description: 'Another name or address.', actions: 'rename' },
        disabled: {
          description: 'An operator locked the person out of everything.',
          target: 'disabled',
          actions: 'recordDisabled',
        },
      },
    },
    disabled: {
      description: 'No session and no personal key of the person works.',
      on: {
        enabled: {
          description: 'An operator lifted the lockout.',
          target: 'active',
          actions: 'recordEnabled',
        },
      },
    },
  },
});
