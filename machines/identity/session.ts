/**
 * Machine of one session of a signed-in person. Its secret rotates. The previous secret works until
 * the new one is used, because the response with the new one may be lost, and for a short grace
 * period after that, because a browser sends several requests at once. A new secret that was never
 * used is abandoned for a newer one, but remembered, because a copy may exist. Last-seen times are
 * off the commit path: the check of a session measures idleness, and ends the session here.
 */
import { assertEvent, assign, setup } from 'xstate';

/** Maximum new secrets that one session can give up. All are remembered while the session lasts. */
export const GIVEN_UP_MAX = 16;

export type SignInMethod = 'oidc' | 'link' | 'email' | 'cli';

export interface SessionInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  /** Id of the person. */
  readonly person: string;
  readonly method: SignInMethod;
  /** Hash of the secret, hex SHA-256. */
  readonly hash: string;
  /** Short form of the User-Agent, for the list of sessions. */
  readonly agent: string;
  /** Absolute end, Unix ms. */
  readonly expiresMs: number;
  /** For `cli`: id of the session that confirmed it. Absent in sessions of older versions. */
  readonly confirmedBy?: string;
  /**
   * Time when the person last proved to be themselves, Unix ms; null = unknown. Absent: when the
   * session began.
   */
  readonly authenticatedMs?: number | null;
}

export interface SessionContext extends Omit<SessionInput, 'at'> {
  readonly createdMs: number;
  readonly rotatedMs: number;
  /** The previous secret and its end (Unix ms); null = none. */
  readonly previous: PreviousSecret | null;
  /** Hashes of new secrets that were replaced unused; at most `GIVEN_UP_MAX`. */
  readonly givenUp: readonly string[];
  readonly endedReason: string | null;
}

interface PreviousSecret {
  readonly hash: string;
  readonly untilMs: number;
  /** true: the new secret has not been used, and perhaps never arrived. */
  readonly isNewUnseen: boolean;
}

/** Times in Unix ms. */
export type SessionEvent =
  | {
      readonly type: 'rotated';
      readonly at: number;
      readonly hash: string;
      /** Time for which the previous secret works before the new one is used. */
      readonly graceMs: number;
    }
  /** The new secret arrived: the previous one works for another `graceMs`. */
  | { readonly type: 'secretSeen'; readonly at: number; readonly graceMs: number }
  | {
      readonly type: 'ended';
      readonly at: number;
      /**
       * SIGNED_OUT, SIGNED_OUT_EVERYWHERE, IDLE, PERSON_DISABLED, SECRET_REUSED, LEAKED, RESTORED,
       * CONFIRMER_ENDED.
       */
      readonly reason: string;
    };

/** True while a new secret would not exceed the bound of given-up ones. */
export function canRotateSecret({
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
      const replaced = { hash: context.hash, untilMs, isNewUnseen: true };
      if (!context.previous?.isNewUnseen) return { hash, rotatedMs: at, previous: replaced };
      // Gives up the secret that was never used, not the one in use.
      return { hash, rotatedMs: at, givenUp: [...context.givenUp, context.hash] };
    }),
    recordSeen: assign(({ context: { previous }, event }) => {
      assertEvent(event, 'secretSeen');
      if (!previous?.isNewUnseen) return {};
      const untilMs = Math.min(event.at + event.graceMs, previous.untilMs);
      return { previous: { ...previous, untilMs, isNewUnseen: false } };
    }),
    recordEnded: assign(({ event }) => {
      assertEvent(event, 'ended');
      return { endedReason: event.reason, previous: null, givenUp: [] };
    }),
    forgetSecrets: assign({ previous: null, givenUp: [] }),
  },
  guards: {
    isNewUnseen: ({ context }) => context.previous?.isNewUnseen === true,
    canRotateSecret: ({ context }) => canRotateSecret(context),
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
    ...(input?.confirmedBy !== undefined && { confirmedBy: input.confirmedBy }),
    ...(input?.authenticatedMs !== undefined && { authenticatedMs: input.authenticatedMs }),
  }),
  initial: 'active',
  states: {
    active: {
      description: 'Any holder of its secret acts as the person.',
      after: {
        lifetimeEnd: {
          description: 'Its absolute end is reached.',
          target: 'expired',
          actions: 'forgetSecrets',
        },
      },
      on: {
        rotated: {
          description: 'It got a new secret.',
          guard: 'canRotateSecret',
          reenter: false,
          actions: 'rotate',
        },
        secretSeen: {
          description: 'The new secret was used: the previous one ends soon.',
          guard: 'isNewUnseen',
          reenter: false,
          actions: 'recordSeen',
        },
        ended: {
          description:
            'The person signed out, was idle too long or was locked out, or the secret leaked.',
          target: 'ended',
          actions: 'recordEnded',
        },
      },
    },
    ended: { description: 'It was ended before its expiry.', type: 'final' },
    expired: { description: 'Its lifetime ended.', type: 'final' },
  },
});
