/**
 * Machine of a one-time link by which a person signs in: made by an operator or at the first start,
 * sent by email, or passed from a browser to the command line. Only the hash of its token is
 * stored.
 */
import { assertEvent, assign, setup } from 'xstate';

export interface SignInLinkInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  /** Id of the person. */
  readonly person: string;
  readonly purpose: 'first-start' | 'operator' | 'email' | 'cli';
  /** Hash of the link's token, hex SHA-256. */
  readonly tokenHash: string;
  readonly expiresMs: number;
  /** For `cli`: digest of the verifier that the command line keeps (RFC 7636); else null. */
  readonly challenge: string | null;
  /** For `cli`: id of the session that confirmed it, with which it also ends; else null. */
  readonly confirmedBy: string | null;
}

export interface SignInLinkContext extends Omit<SignInLinkInput, 'at'> {
  readonly createdMs: number;
  /** Id of the session that it began. */
  readonly session: string | null;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type SignInLinkEvent =
  | { readonly type: 'used'; readonly at: number; readonly session: string }
  | { readonly type: 'revoked'; readonly at: number; readonly reason: string };

const chart = setup({
  types: {
    context: {} as SignInLinkContext,
    events: {} as SignInLinkEvent,
    input: {} as SignInLinkInput,
  },
  actions: {
    recordUsed: assign(({ event }) => {
      assertEvent(event, 'used');
      return { session: event.session, updatedMs: event.at };
    }),
    recordEnded: assign(({ event }) => ({ updatedMs: event.at })),
  },
  delays: {
    lifetimeEnd: ({ context, event }) =>
      Math.max(0, context.expiresMs - (event.at ?? context.createdMs)),
  },
});

export const signInLinkMachine = chart.createMachine({
  id: 'signInLink',
  description: 'A link by which one person can sign in, once.',
  context: ({ input }) => ({
    person: input?.person ?? '',
    purpose: input?.purpose ?? 'operator',
    tokenHash: input?.tokenHash ?? '',
    expiresMs: input?.expiresMs ?? 0,
    challenge: input?.challenge ?? null,
    confirmedBy: input?.confirmedBy ?? null,
    createdMs: input?.at ?? 0,
    session: null,
    updatedMs: input?.at ?? 0,
  }),
  initial: 'issued',
  states: {
    issued: {
      description: 'Any holder of it may sign in as the person.',
      after: { lifetimeEnd: { description: 'No one used it in time.', target: 'expired' } },
      on: {
        used: {
          description: 'The person signed in with it.',
          target: 'used',
          actions: 'recordUsed',
        },
        revoked: {
          description: 'A newer link replaced it, or the person signed out or was locked out.',
          target: 'revoked',
          actions: 'recordEnded',
        },
      },
    },
    used: { description: 'It began a session and cannot be used again.', type: 'final' },
    revoked: { description: 'It was ended before its expiry.', type: 'final' },
    expired: { description: 'It was not used in time.', type: 'final' },
  },
});
