/**
 * One recipient of a mail destination: an address that its holder confirmed. It must be and remain
 * that of a member of the project, which is looked at before every attempt; here is only what the
 * holder, the people of the project and the mail servers said of the address itself.
 */
import { assertEvent, assign, setup } from 'xstate';

/** A verification mail is good for so long, ms (HOOK-24). */
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
  /** null: there is no mail out whose link still works. */
  readonly tokenHash: string | null;
  readonly tokenExpiresMs: number | null;
  readonly verifiedMs: number | null;
  /** Why nothing is sent to it any more (bounced, removed); null = does not apply. */
  readonly reason: string | null;
  readonly createdMs: number;
  readonly updatedMs: number;
}

/** Times in Unix ms. */
export type RecipientEvent =
  /** Another verification mail: the link of the one before ends. */
  | { readonly type: 'invitedAgain'; readonly at: number; readonly tokenHash: string }
  /** `tokenHash`: of the link that was opened, which must be the present one. */
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
    noteVerified: assign(({ event }) => ({
      ...{ tokenHash: null, tokenExpiresMs: null, reason: null },
      ...{ verifiedMs: event.at, updatedMs: event.at },
    })),
    noteUnsubscribed: assign(({ event }) => ({
      ...{ tokenHash: null, tokenExpiresMs: null, reason: null, updatedMs: event.at },
    })),
    noteEnded: assign(({ event }) => {
      assertEvent(event, ['bounced', 'removed']);
      const { reason, at: updatedMs } = event;
      return { tokenHash: null, tokenExpiresMs: null, reason, updatedMs };
    }),
  },
  guards: {
    isPresentLink: ({ context, event }) =>
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
  description: 'The holder pressed the button behind the present link, within 24 hours.',
  guard: 'isPresentLink',
  target: 'verified',
  actions: 'noteVerified',
} as const;

const unsubscribed = {
  description: 'The holder wants no more mail from this destination.',
  target: 'unsubscribed',
  actions: 'noteUnsubscribed',
} as const;

const bounced = {
  description: 'The mail server says that the address takes no mail.',
  target: 'bounced',
  actions: 'noteEnded',
} as const;

const removed = {
  description: 'Somebody took the address off the destination, or deleted the destination.',
  target: 'removed',
  actions: 'noteEnded',
} as const;

export const recipientMachine = chart.createMachine({
  id: 'recipient',
  description: 'An address that a mail destination sends to, once its holder has confirmed it.',
  context: ({ input }) => initialContext(input),
  initial: 'invited',
  states: {
    invited: {
      description: 'A verification mail is out; nothing else is sent there.',
      on: { invitedAgain, verified, unsubscribed, bounced, removed },
    },
    verified: {
      description: 'The holder has confirmed the address.',
      on: { unsubscribed, bounced, removed },
    },
    unsubscribed: {
      description: 'The holder wants no mail, nor to be asked: only adding the address anew asks.',
      on: { removed },
    },
    bounced: {
      description: 'The address takes no mail; only a new verification changes that.',
      on: { invitedAgain: { ...invitedAgain, target: 'invited' }, unsubscribed, removed },
    },
    removed: {
      description: 'It is no recipient any more; its row stays for audit.',
      type: 'final',
    },
  },
});

function initialContext(input: RecipientInput | undefined): RecipientContext {
  // xstate also calls this without input, for a throw-away actor of each transition.
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
