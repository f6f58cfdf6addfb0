/**
 * Machine of one invitation to a project. Only the hash of its link's token is stored. A person who
 * proves ownership of the address, or has the link, can accept it once.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { Role } from './membership.ts';

/** Time for which an invitation can be accepted, ms. */
export const INVITATION_MS = 7 * 86_400_000;

export interface InvitationInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  /** Lower case; empty = anyone with the link. */
  readonly email: string;
  readonly role: Role;
  /** Hash of the link's token, hex SHA-256. */
  readonly tokenHash: string;
  readonly invitedBy: string;
}

export interface InvitationContext extends Omit<InvitationInput, 'at'> {
  readonly createdMs: number;
  readonly expiresMs: number;
  /** Id of the person who accepted. */
  readonly person: string | null;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type InvitationEvent =
  | { readonly type: 'accepted'; readonly at: number; readonly person: string }
  | { readonly type: 'revoked'; readonly at: number; readonly by: string };

const chart = setup({
  types: {
    context: {} as InvitationContext,
    events: {} as InvitationEvent,
    input: {} as InvitationInput,
  },
  actions: {
    recordAccepted: assign(({ event }) => {
      assertEvent(event, 'accepted');
      return { person: event.person, updatedMs: event.at };
    }),
    recordEnded: assign(({ event }) => ({ updatedMs: event.at })),
  },
  delays: {
    lifetimeEnd: ({ context, event }) =>
      Math.max(0, context.expiresMs - (event.at ?? context.createdMs)),
  },
});

export const invitationMachine = chart.createMachine({
  id: 'invitation',
  description: 'An offer to become a member of a project.',
  context: ({ input }) => ({
    project: input?.project ?? '',
    email: input?.email ?? '',
    role: input?.role ?? 'VIEWER',
    tokenHash: input?.tokenHash ?? '',
    invitedBy: input?.invitedBy ?? '',
    createdMs: input?.at ?? 0,
    expiresMs: (input?.at ?? 0) + INVITATION_MS,
    person: null,
    updatedMs: input?.at ?? 0,
  }),
  initial: 'pending',
  states: {
    pending: {
      description: 'It can be accepted.',
      after: { lifetimeEnd: { description: 'No one accepted it in time.', target: 'expired' } },
      on: {
        accepted: {
          description: 'The invited person signed in and became a member.',
          target: 'accepted',
          actions: 'recordAccepted',
        },
        revoked: {
          description: 'An owner withdrew it.',
          target: 'revoked',
          actions: 'recordEnded',
        },
      },
    },
    accepted: { description: 'It made a member.', type: 'final' },
    revoked: { description: 'It was withdrawn.', type: 'final' },
    expired: { description: 'It was not accepted in time.', type: 'final' },
  },
});
