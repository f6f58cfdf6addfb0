/**
 * One destination of notifications. It holds digests and ids of sealed values (the URL, the signing
 * secrets), never the values. At most two secrets exist at a time, current first: a rotation during
 * an overlap discards the oldest at once.
 */
import { assertEvent, assign, setup } from 'xstate';
import { ATTEMPT_CAP_MIN } from './attempt-cap.ts';

/** Longest overlap of a rotation, ms (LIMIT-12: up to 24 hours). */
const SECRET_OVERLAP_MS_MAX = 24 * 3_600_000;

/** Time without a success or a silence after which a failing endpoint is paused, ms. */
const FAILING_MS_MAX = 3 * 24 * 3_600_000;

/**
 * Silence after which an endpoint no longer counts as failing continuously, ms. Attempts of one
 * delivery are never this far apart.
 */
const SILENCE_MS = 24 * 3_600_000;

/**
 * Name of a kind registered in `src/delivery/notify/registered-kinds.ts`. Only 'webhook' (it has
 * secrets) and 'email' (it has recipients) differ here; all others are chats.
 */
export type DestinationKind = string;

/** The stored part of the URL. All empty for mail, whose recipients are rows of their own. */
export interface KeptAddress {
  /** Id of the URL in the sealed store; null for mail, and in rows of version 1. */
  readonly urlId: string | null;
  readonly urlDigest: string;
  readonly host: string;
  /** Last four characters of the URL, for display. */
  readonly lastFour: string;
}

export interface DestinationInput extends KeptAddress {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  readonly kind: DestinationKind;
  readonly displayName: string;
  /** Id of the first signing secret in the sealed store; null if nothing is signed. */
  readonly secretId: string | null;
  /** See `DestinationContext`; absent = 0. */
  readonly groupWaitMs?: number;
}

/** Longest wait for further incidents of a rule, ms. */
export const GROUP_WAIT_MS_MAX = 300_000;

/** Default wait of mails and chats, ms; webhooks do not wait. */
const GROUP_WAIT_MS = 30_000;

/** Wait of destinations that were created before each had its own. */
export function formerGroupWaitMs(kind: DestinationKind): number {
  return kind === 'webhook' ? 0 : GROUP_WAIT_MS;
}

export interface DestinationContext
  extends Omit<DestinationInput, 'at' | 'secretId' | 'groupWaitMs'> {
  /** Ids into the sealed store, current first; two during an overlap, none once deleted. */
  readonly secrets: readonly SecretReference[];
  /** End of the previous secret's overlap, Unix ms; null = none. */
  readonly overlapEndsMs: number | null;
  /** Why it is paused; null = not paused. */
  readonly pausedReason: string | null;
  /** First failed attempt since the last accepted one or the last silence, Unix ms; null = none. */
  readonly failingSinceMs: number | null;
  /** Last failed attempt since then, Unix ms; null = none. */
  readonly lastFailedMs: number | null;
  /** The newest failed attempt, kept after later successes; null = none. */
  readonly lastError: { readonly atMs: number; readonly error: string } | null;
  /** Attempts to it that may be open at a time, across all members. */
  readonly attemptCap: number;
  /**
   * How long a message waits for further incidents of its rule, ms; 0 = one message per incident.
   */
  readonly groupWaitMs: number;
  readonly createdMs: number;
  readonly updatedMs: number;
}

export interface SecretReference {
  readonly id: string;
  readonly createdMs: number;
}

/** Times in Unix ms. */
export type DestinationEvent =
  | {
      readonly type: 'paused';
      readonly at: number;
      readonly reason: string;
      readonly by: string;
    }
  | { readonly type: 'resumed'; readonly at: number; readonly by: string }
  | { readonly type: 'attemptFailed'; readonly at: number; readonly error: string }
  | { readonly type: 'attemptAccepted'; readonly at: number }
  | { readonly type: 'attemptCapChanged'; readonly at: number; readonly attemptCap: number }
  | { readonly type: 'deleted'; readonly at: number; readonly by: string }
  | {
      readonly type: 'renamed';
      readonly at: number;
      readonly displayName: string;
      readonly by: string;
    }
  | {
      readonly type: 'groupWaitChanged';
      readonly at: number;
      readonly groupWaitMs: number;
      readonly by: string;
    }
  | ({ readonly type: 'retargeted'; readonly at: number; readonly by: string } & KeptAddress)
  | {
      readonly type: 'secretRotated';
      readonly at: number;
      readonly secretId: string;
      /** How long the previous secret also signs, ms; 0 = it is discarded at once. */
      readonly overlapMs: number;
      readonly by: string;
    }
  /** The timer of the overlap. `secretId`: the secret that stops signing; absent in version 1. */
  | { readonly type: 'overlapEnded'; readonly at: number; readonly secretId?: string };

const notFailing = { failingSinceMs: null, lastFailedMs: null } as const;

/**
 * After a fix, an endpoint is tried carefully, but without waiting for the end of an attempt that
 * began before.
 */
const fixed = { ...notFailing, attemptCap: ATTEMPT_CAP_MIN + 1 } as const;

const base = setup({
  types: {
    context: {} as DestinationContext,
    events: {} as DestinationEvent,
    input: {} as DestinationInput,
  },
  actions: {
    pause: assign(({ event }) => {
      assertEvent(event, 'paused');
      return { pausedReason: event.reason, updatedMs: event.at };
    }),
    resume: assign(({ event }) => ({
      ...fixed,
      pausedReason: null,
      updatedMs: event.at,
    })),
    recordFailing: assign(({ event }) => ({ failingSinceMs: event.at, lastFailedMs: event.at })),
    recordFailed: assign(({ event }) => ({ lastFailedMs: event.at })),
    keepError: assign(({ event }) => {
      assertEvent(event, 'attemptFailed');
      return { lastError: { atMs: event.at, error: event.error } };
    }),
    recordAccepted: assign(notFailing),
    changeCap: assign(({ event }) => {
      assertEvent(event, 'attemptCapChanged');
      return { attemptCap: event.attemptCap };
    }),
    giveUp: assign(({ event }) => {
      assertEvent(event, 'attemptFailed');
      const pausedReason = `Every attempt of the last 3 days failed: ${event.error}`;
      return { pausedReason, lastFailedMs: event.at, updatedMs: event.at };
    }),
    rename: assign(({ event }) => {
      assertEvent(event, 'renamed');
      return { displayName: event.displayName, updatedMs: event.at };
    }),
    changeGroupWait: assign(({ event }) => {
      assertEvent(event, 'groupWaitChanged');
      const groupWaitMs = Math.min(Math.max(0, event.groupWaitMs), GROUP_WAIT_MS_MAX);
      return { groupWaitMs, updatedMs: event.at };
    }),
    retarget: assign(({ event }) => {
      assertEvent(event, 'retargeted');
      const { urlId, urlDigest, host, lastFour, at: updatedMs } = event;
      return { ...fixed, urlId, urlDigest, host, lastFour, updatedMs };
    }),
    takeSecret: assign(({ context, event }) => {
      assertEvent(event, 'secretRotated');
      const previous = event.overlapMs > 0 ? context.secrets.slice(0, 1) : [];
      const secrets = [{ id: event.secretId, createdMs: event.at }, ...previous];
      const overlapEndsMs = previous.length > 0 ? event.at + overlapOf(event.overlapMs) : null;
      return { secrets, overlapEndsMs, updatedMs: event.at };
    }),
    dropPreviousSecret: assign(({ context }) => ({
      secrets: context.secrets.slice(0, 1),
      overlapEndsMs: null,
    })),
    dropSecrets: assign(({ event }) => ({
      secrets: [],
      overlapEndsMs: null,
      updatedMs: event.at,
    })),
  },
  guards: {
    isFailing: ({ context }) => context.failingSinceMs !== null,
    isNotYetFailing: ({ context, event }) => !isStillFailing(context, event.at),
    hasFailedForDays: ({ context, event }) =>
      isStillFailing(context, event.at) && event.at - context.failingSinceMs >= FAILING_MS_MAX,
  },
});

const chart = base.extend({
  actions: {
    // Not an `after`: the overlap continues across pause and resume, and may be absent. Must run
    // after `takeSecret`, because the previous secret is then the second one.
    armOverlap: base.enqueueActions(({ context, event, enqueue }) => {
      assertEvent(event, 'secretRotated');
      enqueue.cancel('overlapEnded');
      const [, previous] = context.secrets;
      if (!previous) return;
      const delay = overlapOf(event.overlapMs);
      const ended = { type: 'overlapEnded', at: event.at + delay, secretId: previous.id } as const;
      enqueue.raise(ended, { id: 'overlapEnded', delay });
    }),
    disarmOverlap: base.cancel('overlapEnded'),
  },
});

const retargeted = {
  description: 'Its URL was changed.',
  actions: 'retarget',
} as const;

const renamed = {
  description: 'Its display name was changed.',
  actions: 'rename',
} as const;

const groupWaitChanged = {
  description:
    'Its wait for further incidents was changed; groups that already gather are not affected.',
  actions: 'changeGroupWait',
} as const;

const attemptCapChanged = {
  description: 'Attempts ended quickly, slowly or badly: more or fewer may be open at a time.',
  actions: 'changeCap',
} as const;

const secretRotated = {
  description: 'A new secret signs from now on; the previous one also signs during the overlap.',
  actions: ['takeSecret', 'armOverlap'],
} as const;

const overlapEnded = {
  description: 'The overlap ended: only the current secret signs.',
  actions: 'dropPreviousSecret',
} as const;

const deleted = {
  description: 'It was deleted, and its secrets with it.',
  target: 'deleted',
  actions: ['dropSecrets', 'disarmOverlap'],
} as const;

export const destinationMachine = chart.createMachine({
  id: 'destination',
  description:
    'A destination of notifications: an endpoint, its signing secrets, whether it is paused.',
  context: ({ input }) => initialContext(input),
  initial: 'active',
  states: {
    active: {
      description: 'Notifications are sent to it.',
      on: {
        paused: {
          description:
            'A person paused it, or the responses of its endpoint did; the reason is stored.',
          target: 'paused',
          actions: 'pause',
        },
        attemptFailed: [
          {
            description: 'Its endpoint has failed for three days without a success.',
            guard: 'hasFailedForDays',
            target: 'paused',
            actions: ['giveUp', 'keepError'],
          },
          {
            description: 'An attempt failed, the first since the last success or in 24 hours.',
            guard: 'isNotYetFailing',
            actions: ['recordFailing', 'keepError'],
          },
          {
            description: 'Another attempt failed.',
            actions: ['recordFailed', 'keepError'],
          },
        ],
        attemptAccepted: {
          description: 'An attempt was accepted after others had failed.',
          guard: 'isFailing',
          actions: 'recordAccepted',
        },
        attemptCapChanged,
        renamed,
        groupWaitChanged,
        retargeted,
        secretRotated,
        overlapEnded,
        deleted,
      },
    },
    paused: {
      description: 'Nothing is sent to it.',
      on: {
        resumed: {
          description: 'It was resumed.',
          target: 'active',
          actions: 'resume',
        },
        attemptFailed: {
          description: 'An attempt that was in progress when it was paused failed.',
          actions: 'keepError',
        },
        attemptCapChanged,
        renamed,
        groupWaitChanged,
        retargeted,
        secretRotated,
        overlapEnded,
        deleted,
      },
    },
    deleted: {
      description: 'It was deleted; the row stays for audit.',
      type: 'final',
    },
  },
});

/** True if it failed before, and neither a success nor a silence followed. */
function isStillFailing(
  context: DestinationContext,
  at: number,
): context is DestinationContext & { readonly failingSinceMs: number } {
  const { failingSinceMs, lastFailedMs } = context;
  return failingSinceMs !== null && lastFailedMs !== null && at - lastFailedMs <= SILENCE_MS;
}

function overlapOf(overlapMs: number): number {
  return Math.min(overlapMs, SECRET_OVERLAP_MS_MAX);
}

function initialContext(input: DestinationInput | undefined): DestinationContext {
  // xstate also calls this without input, for the throw-away actor of each transition.
  const createdMs = input?.at ?? 0;
  return {
    project: input?.project ?? '',
    kind: input?.kind ?? 'webhook',
    displayName: input?.displayName ?? '',
    urlId: input?.urlId ?? null,
    urlDigest: input?.urlDigest ?? '',
    host: input?.host ?? '',
    lastFour: input?.lastFour ?? '',
    secrets: input?.secretId ? [{ id: input.secretId, createdMs }] : [],
    overlapEndsMs: null,
    pausedReason: null,
    ...notFailing,
    lastError: null,
    attemptCap: ATTEMPT_CAP_MIN,
    groupWaitMs: Math.min(Math.max(0, input?.groupWaitMs ?? 0), GROUP_WAIT_MS_MAX),
    createdMs,
    updatedMs: createdMs,
  };
}
