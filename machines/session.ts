/**
 * One session of a signed-in person. Its secret changes now and then; the one before works until the
 * new one is shown, because the answer with it may be lost, and for a short grace after that, because
 * a browser sends several requests at once. When it was last seen is off the commit path, so idleness
 * is judged by who checks it, and ends the session here.
 */
import { assertEvent, assign, setup } from 'xstate';

export type SignInMethod = 'oidc' | 'link' | 'email' | 'cli';

export interface SessionInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  /** Id of the person. */
  readonly person: string;
  readonly method: SignInMethod;
  /** Of the secret, hex SHA-256. */
  readonly hash: string;
  /** What signed in, for the list of sessions; short. */
  readonly agent: string;
  /** Absolute end, Unix ms. */
  readonly expiresMs: number;
}

export interface SessionContext extends Omit<SessionInput, 'at'> {
  readonly createdMs: number;
  readonly rotatedMs: number;
  /** The secret before, and until when it works (Unix ms); null = none. */
  readonly previous: PreviousSecret | null;
  readonly endedReason: string | null;
}

interface PreviousSecret {
  readonly hash: string;
  readonly untilMs: number;
  /** true: nobody has shown the new secret yet; perhaps nobody has it. */
  readonly isNewUnseen: boolean;
}

/** Times in Unix ms. */
export type SessionEvent =
  | {
      readonly type: 'rotated';
      readonly at: number;
      readonly hash: string;
      /** How long the secret before works at most while nobody shows the new one. */
      readonly graceMs: number;
    }
  /** Somebody has the new secret: the one before works for `graceMs` more. */
  | { readonly type: 'secretSeen'; readonly at: number; readonly graceMs: number }
  | {
      readonly type: 'ended';
      readonly at: number;
      /** SIGNED_OUT, SIGNED_OUT_EVERYWHERE, IDLE, PERSON_DISABLED, SECRET_REUSED, RESTORED. */
      readonly reason: string;
    };

const chart = setup({
  types: {
    context: {} as SessionContext,
    events: {} as SessionEvent,
    input: {} as SessionInput,
  },
  actions: {
    rotate: assign(({ context, event }) => {
      assertEvent(event, 'rotated');
      const { hash, graceMs, at } = event;
      const untilMs = Math.min(at + graceMs, context.expiresMs);
      const shown = { hash: context.hash, untilMs, isNewUnseen: true };
      // A secret that nobody has shown is given up, not the one that somebody has.
      const previous = context.previous?.isNewUnseen ? context.previous : shown;
      return { hash, rotatedMs: at, previous };
    }),
    noteSeen: assign(({ context: { previous }, event }) => {
      assertEvent(event, 'secretSeen');
      if (!previous?.isNewUnseen) return {};
      const untilMs = Math.min(event.at + event.graceMs, previous.untilMs);
      return { previous: { ...previous, untilMs, isNewUnseen: false } };
    }),
    noteEnded: assign(({ event }) => {
      assertEvent(event, 'ended');
      return { endedReason: event.reason, previous: null };
    }),
    forgetPrevious: assign({ previous: null }),
  },
  guards: { isNewUnseen: ({ context }) => context.previous?.isNewUnseen === true },
  delays: {
    lifetimeEnd: ({ context, event }) =>
      Math.max(0, context.expiresMs - (event.at ?? context.createdMs)),
  },
});

export const sessionMachine = chart.createMachine({
  id: 'session',
  description: 'A person who is signed in, in one browser or command line.',
  context: ({ input }) => ({
    person: input?.person ?? '',
    method: input?.method ?? 'link',
    hash: input?.hash ?? '',
    agent: input?.agent ?? '',
    expiresMs: input?.expiresMs ?? 0,
    createdMs: input?.at ?? 0,
    rotatedMs: input?.at ?? 0,
    previous: null,
    endedReason: null,
  }),
  initial: 'active',
  states: {
    active: {
      description: 'Whoever holds its secret acts as the person.',
      after: {
        lifetimeEnd: {
          description: 'Its absolute end came.',
          target: 'expired',
          actions: 'forgetPrevious',
        },
      },
      on: {
        rotated: { description: 'It has a new secret.', reenter: false, actions: 'rotate' },
        secretSeen: {
          description: 'The new secret was shown: the one before ends soon.',
          guard: 'isNewUnseen',
          reenter: false,
          actions: 'noteSeen',
        },
        ended: {
          description: 'The person signed out, was idle too long, or was locked out.',
          target: 'ended',
          actions: 'noteEnded',
        },
      },
    },
    ended: { description: 'It was ended before its time.', type: 'final' },
    expired: { description: 'Its time was over.', type: 'final' },
  },
});
