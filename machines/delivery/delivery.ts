/**
 * One delivery: one notification to one destination (and recipient), about one incident or a group
 * of them. A group gathers incidents of one rule during the destination's wait. Then it is settled:
 * incidents that no longer hold are dropped, and its members no longer change, because its body
 * names them. Every attempt passes through `rechecking`, so a notification that became false while
 * it waited is not sent. After 24 hours nothing is sent, but an attempt in progress always ends
 * with its outcome first.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { NotificationEvent } from '../platform/effects.ts';
import { DELIVERY_LIFETIME_MS } from './retry-schedule.ts';

/** Reasons why a delivery ends unsent, as shown in audit and API. */
export const DELIVERY_REASONS = [
  'SNOOZED',
  'MAINTENANCE',
  'SUPERSEDED',
  'PAUSED',
  'DESTINATION_DELETED',
  'RECIPIENT_REMOVED',
  'RECIPIENT_NOT_VERIFIED',
  'RECIPIENT_UNSUBSCRIBED',
  'RECIPIENT_BOUNCED',
  'RULE_CHANGED',
  'RULE_PAUSED',
  'RULE_DELETED',
  'VM_DELETED',
  'EXPIRED',
  'REFUSED',
] as const;
/** One of `DELIVERY_REASONS`: why a delivery ended without being accepted. */
export type DeliveryReason = (typeof DELIVERY_REASONS)[number];

/** Checks before an attempt, as shown in audit and API. */
export const DELIVERY_CHECKS = [
  'DESTINATION_EXISTS',
  'DESTINATION_NOT_PAUSED',
  'RECIPIENT_ELIGIBLE',
  'INCIDENT_FIRES',
  'NOT_SUPERSEDED',
  'INCIDENT_NOT_RETIRED',
  'VM_EXISTS',
  'RULE_EXISTS',
  'RULE_UNCHANGED',
  'DESTINATION_NAMED',
  'NOT_SNOOZED',
] as const;
/** One of `DELIVERY_CHECKS`. They are repeated for every attempt, in the commit that opens it. */
export type DeliveryCheck = (typeof DELIVERY_CHECKS)[number];

/** One notification about one incident to one destination, or a test. */
export interface DeliveryInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  readonly event: NotificationEvent;
  /** Number among the incident's notifications of this event; 1 for the first. */
  readonly occurrence: number;
  /** Incident id; '' for a test and for a group, whose members are records of their own. */
  readonly incident: string;
  readonly alertInstance: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly destination: string;
  /** Id of the mail recipient; null if the destination has no recipients. */
  readonly recipient: string | null;
  /** Lookup key of a group while it gathers; absent: not a group. */
  readonly groupKey?: string;
  /** For a delivery that replaces another one: the state it continues with. */
  readonly continued?: ContinuedDelivery;
  /** true: sends the plainest form, because the service rejected the content of another delivery. */
  readonly isPlain?: true;
}

/**
 * A different body needs a different id. So a settled group is replaced if one of its members no
 * longer holds, and a message whose content was rejected by one in the plainest form.
 */
export interface ContinuedDelivery {
  /** 0 = not a group. */
  readonly members: number;
  /** Creation time of the first of the deliveries, Unix ms: the 24 hours start there. */
  readonly createdMs: number;
  /** Attempts of the earlier groups: the schedule continues. */
  readonly earlierAttempts: number;
}

/** Maximum members of a group. Replacing a group is one commit, with two records per member. */
export const GROUP_MEMBERS_MAX = 200;

/** Row of a delivery, including its attempts. */
export interface DeliveryContext extends Omit<DeliveryInput, 'at' | 'continued' | 'groupKey'> {
  /** See `DeliveryInput`; null = not a gathering group. */
  readonly groupKey: string | null;
  readonly createdMs: number;
  /** Incidents in the group, including dropped ones; 0 = one incident alone, or a test. */
  readonly members: number;
  /** true: the members of the group no longer change. */
  readonly isSettled: boolean;
  readonly earlierAttempts: number;
  /** Oldest first; the last one is open while its outcome is null. */
  readonly attempts: readonly DeliveryAttempt[];
  /** Digest of the body, which every attempt sends unchanged; null before the first attempt. */
  readonly bodyDigest: string | null;
  readonly reason: DeliveryReason | null;
  /** Time of the next attempt during a wait, Unix ms. */
  readonly nextAttemptMs: number | null;
}

/** One attempt; times are Unix ms. */
export interface DeliveryAttempt {
  readonly attemptId: string;
  readonly startedMs: number;
  readonly endedMs: number | null;
  /** `unknown`: the endpoint may have accepted it. null: in progress. */
  readonly outcome: 'accepted' | 'failed' | 'unknown' | 'refused' | null;
  readonly httpStatus: number | null;
  readonly error: string | null;
}

/** An outcome names its attempt, or without a name refers to the open one. Others are ignored. */
interface Outcome {
  readonly at: number;
  readonly attemptId?: string;
}

/**
 * Times in Unix ms. `delayMs`: from now to the next attempt; null = no other attempt fits.
 * `checks`: the checks made, in that order; in `suppressed` the last one failed. Absent: events of
 * older versions, and suppression without a recheck. `failing`: the endpoint is at fault, so its
 * queue slows down; `restMs`: how long it requested no attempts.
 */
export type DeliveryEvent =
  /**
   * The incident's notification joined the group, which gathers for `waitMs` from the first one.
   */
  | {
      readonly type: 'memberJoined';
      readonly at: number;
      readonly incident: string;
      readonly waitMs: number;
    }
  /** Members were checked again; `dropped` of them no longer hold. */
  | { readonly type: 'settled'; readonly at: number; readonly dropped: number }
  | { readonly type: 'attemptDue'; readonly at: number }
  | {
      readonly type: 'cleared';
      readonly at: number;
      readonly attemptId: string;
      readonly bodyDigest: string;
      readonly checks?: readonly DeliveryCheck[];
    }
  | {
      readonly type: 'suppressed';
      readonly at: number;
      readonly reason: DeliveryReason;
      readonly checks?: readonly DeliveryCheck[];
    }
  | ({ readonly type: 'accepted'; readonly httpStatus: number | null } & Outcome)
  | ({
      readonly type: 'attemptFailed';
      readonly unknown: boolean;
      readonly httpStatus: number | null;
      readonly error: string;
      readonly delayMs: number | null;
      readonly failing?: true;
      readonly restMs?: number;
    } & Outcome)
  | ({
      readonly type: 'refused';
      readonly httpStatus: number | null;
      readonly error: string;
      readonly failing?: true;
    } & Outcome)
  | ({ readonly type: 'attemptLost'; readonly delayMs: number | null } & Outcome);

const chart = setup({
  types: {
    context: {} as DeliveryContext,
    events: {} as DeliveryEvent,
    input: {} as DeliveryInput,
  },
  actions: {
    openAttempt: assign(({ context, event }) => {
      assertEvent(event, 'cleared');
      return {
        attempts: [...context.attempts, openedAttempt(event.attemptId, event.at)],
        bodyDigest: context.bodyDigest ?? event.bodyDigest,
        nextAttemptMs: null,
      };
    }),
    openGroup: assign(({ event }) => {
      assertEvent(event, 'memberJoined');
      return { members: 1 };
    }),
    countMember: assign(({ context }) => ({ members: context.members + 1 })),
    settle: assign({ isSettled: true }),
    closeAttempt: assign(({ context, event }) => ({
      attempts: context.attempts.map((attempt) =>
        attempt.outcome === null ? closedAttempt(attempt, event) : attempt,
      ),
    })),
    scheduleNext: assign(({ event }) => {
      assertEvent(event, ['attemptFailed', 'attemptLost']);
      return { nextAttemptMs: event.at + (event.delayMs ?? 0) };
    }),
    keepReason: assign(({ event }) => {
      assertEvent(event, 'suppressed');
      return { reason: event.reason, nextAttemptMs: null };
    }),
    recordExpired: assign({ reason: 'EXPIRED' as const, nextAttemptMs: null }),
    recordRefused: assign({ reason: 'REFUSED' as const, nextAttemptMs: null }),
  },
  guards: {
    hasRoom: ({ context, event }) =>
      context.members < GROUP_MEMBERS_MAX && event.at < expiresMs(context),
    isUnsettledGroup: ({ context, event }) =>
      context.members > 0 && !context.isSettled && event.at < expiresMs(context),
    isFresh: ({ context, event }) => context.members === 0 && event.at < expiresMs(context),
    isOver: ({ context, event }) => event.at >= expiresMs(context),
    isAlive: ({ context, event }) => event.at < expiresMs(context),
    isOpenAttempt: ({ context, event }) => isAboutOpenAttempt(context, event),
    fitsAnotherAttempt: ({ context, event }) =>
      (event.type === 'attemptFailed' || event.type === 'attemptLost') &&
      isAboutOpenAttempt(context, event) &&
      event.delayMs !== null &&
      event.at + event.delayMs < expiresMs(context),
  },
  delays: {
    // Only the event that begins the wait has it.
    groupWait: ({ event }) => (event.type === 'memberJoined' ? event.waitMs : 0),
    retryDelay: ({ context, event }) => Math.max(0, (context.nextAttemptMs ?? event.at) - event.at),
    lifetimeEnd: ({ context, event }) =>
      // The first event, xstate.init, has no time: use the creation time.
      Math.max(0, expiresMs(context) - (event.at ?? context.createdMs)),
  },
});

const expiry = {
  description: '24 hours have passed since the delivery was created: nothing more is sent.',
  target: 'expired',
  actions: 'recordExpired',
} as const;

const expiredMeanwhile = { ...expiry, guard: 'isOver' } as const;

const suppressed = {
  description:
    'It must no longer be sent (snoozed, superseded, paused, retired); the reason is stored.',
  target: 'suppressed',
  actions: 'keepReason',
} as const;

/** The transitions after a failed attempt: to another attempt, or to the end. */
const retryOrExpire = (description: string) =>
  [
    {
      description,
      guard: 'fitsAnotherAttempt',
      target: 'waiting',
      actions: ['closeAttempt', 'scheduleNext'],
    },
    {
      description: 'It failed, and no other attempt fits into the 24 hours.',
      guard: 'isOpenAttempt',
      target: 'expired',
      actions: ['closeAttempt', 'recordExpired'],
    },
  ] as const;

/**
 * The chart. Its delays are those of retries (24 hours in all), and survive a restart as timers.
 */
export const deliveryMachine = chart.createMachine({
  id: 'delivery',
  description: 'One notification to one destination, tried for at most 24 hours.',
  context: ({ input }) => initialContext(input),
  initial: 'queued',
  states: {
    queued: {
      description: 'Waits for its first attempt.',
      after: { lifetimeEnd: expiry },
      on: {
        attemptDue: [
          {
            description: 'The deliverer starts it.',
            guard: 'isAlive',
            target: 'rechecking',
          },
          expiry,
        ],
        memberJoined: [
          {
            description:
              'The first of a group: its destination waits for more incidents of the rule.',
            guard: 'isFresh',
            target: 'gathering',
            actions: 'openGroup',
          },
          expiredMeanwhile,
        ],
        suppressed,
      },
    },
    gathering: {
      description: 'Incidents of the rule that fire within the wait join it: one message for all.',
      after: {
        groupWait: [
          {
            description: 'The wait has ended: nothing joins any more.',
            guard: 'isAlive',
            target: 'queued',
          },
          expiry,
        ],
        lifetimeEnd: expiry,
      },
      on: {
        memberJoined: [
          {
            description: 'Another incident of the rule is in the group.',
            guard: 'hasRoom',
            actions: 'countMember',
          },
          expiredMeanwhile,
        ],
        suppressed,
      },
    },
    rechecking: {
      description: 'Checks again that it must be sent: recipient, pause, snooze, incident, rule.',
      after: { lifetimeEnd: expiry },
      on: {
        cleared: [
          {
            description: 'It must be sent: an attempt is opened, then sent.',
            guard: 'isAlive',
            target: 'sending',
            actions: 'openAttempt',
          },
          expiry,
        ],
        settled: [
          {
            description:
              'Each member was checked by itself; those that no longer hold are dropped.',
            guard: 'isUnsettledGroup',
            actions: 'settle',
          },
          expiredMeanwhile,
        ],
        suppressed,
      },
    },
    sending: {
      description: 'An attempt is open; its outcome, not the 24 hours, ends this state.',
      on: {
        accepted: {
          description: 'The endpoint accepted it. This does not tell who has read it.',
          guard: 'isOpenAttempt',
          target: 'sent',
          actions: 'closeAttempt',
        },
        attemptFailed: retryOrExpire('It failed, or its outcome is unknown; a retry can help.'),
        attemptLost: retryOrExpire('The process that sent it died: the outcome is unknown.'),
        refused: {
          description: 'The endpoint refused it permanently: a retry cannot help.',
          guard: 'isOpenAttempt',
          target: 'failed',
          actions: ['closeAttempt', 'recordRefused'],
        },
      },
    },
    waiting: {
      description: 'Waits for the time of its next attempt.',
      after: {
        retryDelay: [
          {
            description: 'The wait has ended: it is checked again before another attempt.',
            guard: 'isAlive',
            target: 'rechecking',
          },
          expiry,
        ],
        lifetimeEnd: expiry,
      },
      on: { suppressed },
    },
    sent: { description: 'Accepted by the endpoint.', type: 'final' },
    suppressed: { description: 'Ended unsent: it must no longer be sent.', type: 'final' },
    expired: { description: 'Ended unsent: 24 hours were not enough.', type: 'final' },
    failed: { description: 'Ended unsent: refused permanently.', type: 'final' },
  },
});

function initialContext(input: DeliveryInput | undefined): DeliveryContext {
  return {
    project: input?.project ?? '',
    event: input?.event ?? 'TEST',
    occurrence: input?.occurrence ?? 0,
    incident: input?.incident ?? '',
    alertInstance: input?.alertInstance ?? '',
    rule: input?.rule ?? '',
    evaluationRevision: input?.evaluationRevision ?? 0,
    destination: input?.destination ?? '',
    recipient: input?.recipient ?? null,
    createdMs: input?.continued?.createdMs ?? input?.at ?? 0,
    groupKey: input?.groupKey ?? null,
    members: input?.continued?.members ?? 0,
    isSettled: input?.continued !== undefined,
    earlierAttempts: input?.continued?.earlierAttempts ?? 0,
    attempts: [],
    bodyDigest: null,
    reason: null,
    nextAttemptMs: null,
    // Absent in most rows, because a firing in groups of a hundred mails must fit one commit.
    ...(input?.isPlain && { isPlain: true }),
  };
}

function expiresMs(context: DeliveryContext): number {
  return context.createdMs + DELIVERY_LIFETIME_MS;
}

function isAboutOpenAttempt(context: DeliveryContext, event: DeliveryEvent): boolean {
  const open = context.attempts.at(-1);
  if (!open || open.outcome !== null) return false;
  return !('attemptId' in event) || event.attemptId === open.attemptId;
}

function openedAttempt(attemptId: string, startedMs: number): DeliveryAttempt {
  return { attemptId, startedMs, endedMs: null, outcome: null, httpStatus: null, error: null };
}

function closedAttempt(attempt: DeliveryAttempt, event: DeliveryEvent): DeliveryAttempt {
  const ended = { ...attempt, endedMs: event.at };
  switch (event.type) {
    case 'accepted':
      return { ...ended, outcome: 'accepted', httpStatus: event.httpStatus };
    case 'attemptFailed': {
      const { httpStatus, error } = event;
      return { ...ended, outcome: event.unknown ? 'unknown' : 'failed', httpStatus, error };
    }
    case 'refused':
      return { ...ended, outcome: 'refused', httpStatus: event.httpStatus, error: event.error };
    case 'attemptLost':
      return { ...ended, outcome: 'unknown', error: 'The sending process ended' };
    default:
      return attempt;
  }
}
