/**
 * One recipient of a mail destination: an address that its holder confirms. This machine holds only
 * the state of the address. Whether it still belongs to a member of the project is checked before
 * every attempt.
 */
import { assertEvent, assign, setup } from 'xstate';

/** Lifetime of the link in a verification mail, ms (HOOK-24). */
export const VERIFICATION_MS = 24 * 3_600_000;

export interface RecipientInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  readonly destination: string;
  /** Membership of the person whose verified address this is. */
  readonly membership: string;
  /** Lower case. */
  readonly address: string;
  /** SHA-256 (hex) of the token in the verification mail. */
  readonly tokenHash: string;
}

export interface RecipientContext extends Omit<RecipientInput, 'at' | 'tokenHash'> {
  /** null = no link works. */
  readonly tokenHash: string | null;
  readonly tokenExpiresMs: number | null;
  readonly verifiedMs: number | null;
  /** Why nothing more is sent (bounced, removed); null = it is not stopped. */
  readonly reason: string | null;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type RecipientEvent =
  /** Another verification mail: its link replaces the previous one. */
  | { readonly type: 'invitedAgain'; readonly at: number; readonly tokenHash: string }
  /** `tokenHash`: hash of the used link, which must be the current one. */
  | { readonly type: 'verified'; readonly at: number; readonly tokenHash: string }
  | { readonly type: 'unsubscribed'; readonly at: number }
  | { readonly type: 'bounced'; readonly at: number; readonly reason: string }
  | { readonly type: 'removed'; readonly at: number; readonly reason: string };

const chart = setup({
  types: {
    context: {} as RecipientContext,
    events: {} as RecipientEvent,
    input: {} as RecipientInput,
  },
  actions: {
    keepToken: assign(({ event }) => {
      assertEvent(event, 'invitedAgain');
      const { tokenHash, at } = event;
      return { tokenHash, tokenExpiresMs: at + VERIFICATION_MS, reason: null, updatedMs: at };
    }),
    recordVerified: assign(({ event }) => ({
      tokenHash: null,
      tokenExpiresMs: null,
      reason: null,
      verifiedMs: event.at,
      updatedMs: event.at,
    })),
    recordUnsubscribed: assign(({ event }) => ({
      tokenHash: null,
      tokenExpiresMs: null,
      reason: null,
      updatedMs: event.at,
    })),
    recordEnded: assign(({ event }) => {
      assertEvent(event, ['bounced', 'removed']);
      const { reason, at: updatedMs } = event;
      return { tokenHash: null, tokenExpiresMs: null, reason, updatedMs };
    }),
  },
  guards: {
    isCurrentLink: ({ context, event }) =>
      event.type === 'verified' &&
      context.tokenHash === event.tokenHash &&
      context.tokenExpiresMs !== null &&
      event.at < context.tokenExpiresMs,
  },
});

const invitedAgain = {
  description: 'Another verification mail is sent; only its link works from now on.',
  actions: 'keepToken',
} as const;

const verified = {
  description: 'The holder confirmed the address by the current link, within 24 hours.',
  guard: 'isCurrentLink',
  target: 'verified',
  actions: 'recordVerified',
} as const;

const unsubscribed = {
  description: 'The holder wants no more mail from this destination.',
  target: 'unsubscribed',
  actions: 'recordUnsubscribed',
} as const;

const bounced = {
  description: 'The mail server reports that the address accepts no mail.',
  target: 'bounced',
  actions: 'recordEnded',
} as const;

const removed = {
  description: 'The address was removed from the destination, or the destination was deleted.',
  target: 'removed',
  actions: 'recordEnded',
} as const;

export const recipientMachine = chart.createMachine({
  id: 'recipient',
  description: 'An address that a mail destination sends to, once its holder has confirmed it.',
  context: ({ input }) => initialContext(input),
  initial: 'invited',
  states: {
    invited: {
      description: 'A verification mail was sent; nothing else is sent to the address.',
      on: { invitedAgain, verified, unsubscribed, bounced, removed },
    },
    verified: {
      description: 'The holder has confirmed the address.',
      on: { unsubscribed, bounced, removed },
    },
    unsubscribed: {
      description:
        'The holder wants no mail. Only adding the address again sends a new verification mail.',
      on: { removed },
    },
    bounced: {
      description: 'The address accepts no mail; only a new verification changes that.',
      on: { invitedAgain: { ...invitedAgain, target: 'invited' }, unsubscribed, removed },
    },
    removed: {
      description: 'The recipient was removed; the row stays for audit.',
      type: 'final',
    },
  },
});

function initialContext(input: RecipientInput | undefined): RecipientContext {
  // xstate also calls this without input, for the throw-away actor of each transition.
  const createdMs = input?.at ?? 0;
  return {
    project: input?.project ?? '',
    destination: input?.destination ?? '',
    membership: input?.membership ?? '',
    address: input?.address ?? '',
    tokenHash: input?.tokenHash ?? null,
    tokenExpiresMs: createdMs + VERIFICATION_MS,
    verifiedMs: null,
    reason: null,
    createdMs,
    updatedMs: createdMs,
  };
}
