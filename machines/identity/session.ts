/**
 * One session of a signed-in person. Its secret changes now and then; the one before works until the
 * new one is shown, because the answer with it may be lost, and for a short grace after that, because
 * a browser sends several requests at once. A new one that nobody showed is given up for a newer, and
 * remembered: somebody may have it. When the session was last seen is off the commit path, so idleness
 * is judged by who checks it, and ends the session here.
 */
import { assertEvent, assign, setup } from 'xstate';

/** New secrets that one session can give up; none is forgotten while the session goes on. */
export const GIVEN_UP_MAX = 16;

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
  /** Of new secrets that were replaced before anybody showed them; at most `GIVEN_UP_MAX`. */
  readonly givenUp: readonly string[];
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
      /** SIGNED_OUT, SIGNED_OUT_EVERYWHERE, IDLE, PERSON_DISABLED, SECRET_REUSED, LEAKED, RESTORED. */
      readonly reason: string;
    };

/** Can it have a new secret? Not while that would give up one too many. */
export function hasRoomForSecret({
  previous,
  givenUp,
}: Pick<SessionContext, 'previous' | 'givenUp'>): boolean {
  return !previous?.isNewUnseen || givenUp.length < GIVEN_UP_MAX;
}

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
      if (!context.previous?.isNewUnseen) return { hash, rotatedMs: at, previous: shown };
      // A secret that nobody has shown is given up, not the one that somebody has.
      return { hash, rotatedMs: at, givenUp: [...context.givenUp, context.hash] };
    }),
    noteSeen: assign(({ context: { previous }, event }) => {
      assertEvent(event, 'secretSeen');
      if (!previous?.isNewUnseen) return {};
      const untilMs = Math.min(event.at + event.graceMs, previous.untilMs);
      return { previous: { ...previous, untilMs, isNewUnseen: false } };
    }),
    noteEnded: assign(({ event }) => {
      assertEvent(event, 'ended');
      return { endedReason: event.reason, previous: null, givenUp: [] };
    }),
    forgetSecrets: assign({ previous: null, givenUp: [] }),
  },
  guards: {
    isNewUnseen: ({ context }) => context.previous?.isNewUnseen === true,
    hasRoomForSecret: ({ context }) => hasRoomForSecret(context),
  },
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
    givenUp: [],
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
          actions: 'forgetSecrets',
        },
      },
      on: {
        rotated: {
          description: 'It has a new secret.',
          guard: 'hasRoomForSecret',
          reenter: false,
          actions: 'rotate',
        },
        secretSeen: {
          description: 'The new secret was shown: the one before ends soon.',
          guard: 'isNewUnseen',
          reenter: false,
          actions: 'noteSeen',
        },
        ended: {
          description:
            'The person signed out, was idle too long or locked out, or the secret leaked.',
          target: 'ended',
          actions: 'noteEnded',
        },
      },
    },
    ended: { description: 'It was ended before its time.', type: 'final' },
    expired: { description: 'Its time was over.', type: 'final' },
  },
});
