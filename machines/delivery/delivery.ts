/**
 * One delivery: one notification to one destination (and recipient), of one incident or of a group
 * of them. A group gathers incidents of one rule for the destination's wait; then it is settled: what
 * no longer holds is dropped, and its members change no more, as its body names them. Every attempt passes through
 * `rechecking`, so a notification that became false while it waited is not sent. After 24 hours
 * nothing is sent, but an attempt under way always ends with its outcome first.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { NotificationEvent } from '../platform/effects.ts';
import { DELIVERY_LIFETIME_MS } from './retry-schedule.ts';

/** Reasons for which a delivery ends unsent, as shown in audit and API. */
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

/** What is looked at before an attempt, as shown in audit and API. */
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
/** One of `DELIVERY_CHECKS`. They are made again for every attempt, in the commit that opens it. */
export type DeliveryCheck = (typeof DELIVERY_CHECKS)[number];

/** One notification of one incident to one destination, or a test. */
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
  /** Id of the mail recipient; null when the destination has no recipients. */
  readonly recipient: string | null;
  /** What a group is found by while it gathers; absent: it is none. */
  readonly groupKey?: string;
  /** Of a group that replaces another one: what it goes on with. */
  readonly continued?: ContinuedGroup;
}

/** A settled group of which a member no longer holds is replaced: another content is another id. */
export interface ContinuedGroup {
  readonly members: number;
  /** When the first of the groups was created, Unix ms: the 24 hours count from there. */
  readonly createdMs: number;
  /** Attempts of the groups before it: the schedule goes on. */
  readonly earlierAttempts: number;
}

/** Most members of a group: replacing it is one commit, with two records for each. */
export const GROUP_MEMBERS_MAX = 200;

/** What the row of a delivery keeps, its attempts among it. */
export interface DeliveryContext extends Omit<DeliveryInput, 'at' | 'continued' | 'groupKey'> {
  /** See `DeliveryInput`; null = it is no group that gathers. */
  readonly groupKey: string | null;
  readonly createdMs: number;
  /** Incidents in the group, those that were dropped too; 0 = it is of one incident, or a test. */
  readonly members: number;
  /** The members of the group change no more. */
  readonly isSettled: boolean;
  readonly earlierAttempts: number;
  /** Oldest first; the last one is open while its outcome is null. */
  readonly attempts: readonly DeliveryAttempt[];
  /** Digest of the body, which every attempt sends unchanged; null before the first attempt. */
  readonly bodyDigest: string | null;
  readonly reason: DeliveryReason | null;
  /** Time of the next attempt while it waits, Unix ms. */
  readonly nextAttemptMs: number | null;
}

/** One attempt; times are Unix ms. */
export interface DeliveryAttempt {
  readonly attemptId: string;
  readonly startedMs: number;
  readonly endedMs: number | null;
  /** `unknown`: the endpoint may have accepted it. null: under way. */
  readonly outcome: 'accepted' | 'failed' | 'unknown' | 'refused' | null;
  readonly httpStatus: number | null;
  readonly error: string | null;
}

/** An outcome names its attempt; without a name it means the open one. Others are ignored. */
interface Outcome {
  readonly at: number;
  readonly attemptId?: string;
}

/**
 * Times in Unix ms. `delayMs`: from now to the next attempt; null = no other attempt fits. `checks`:
 * what was looked at, in that order; of `suppressed` the last one does not hold. Absent: events of
 * older versions, and what was suppressed without a recheck. `failing`: the endpoint is to blame, so
 * that its queue slows down; `restMs`: how long it asked for no attempt.
 */
export type DeliveryEvent =
  /** The incident's notification is in the group, which gathers for so long from the first, ms. */
  | {
      readonly type: 'memberJoined';
      readonly at: number;
      readonly incident: string;
      readonly waitMs: number;
    }
  /** Members were looked at again; so many of them no longer hold. */
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
    noteExpired: assign({ reason: 'EXPIRED' as const, nextAttemptMs: null }),
    noteRefused: assign({ reason: 'REFUSED' as const, nextAttemptMs: null }),
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
    // Known to the event that begins the wait, and to no other.
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
  actions: 'noteExpired',
} as const;

const expiredMeanwhile = { ...expiry, guard: 'isOver' } as const;

const suppressed = {
  description:
    'It must no longer be sent (snoozed, superseded, paused, retired); the reason is stored.',
  target: 'suppressed',
  actions: 'keepReason',
} as const;

/** The transitions after a failed attempt: to another one, or to the end. */
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
      actions: ['closeAttempt', 'noteExpired'],
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
            description: 'The deliverer takes it up.',
            guard: 'isAlive',
            target: 'rechecking',
          },
          expiry,
        ],
        memberJoined: [
          {
            description: 'The first of a group: its destination waits for more of the rule.',
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
            description: 'The wait is over: nothing joins any more.',
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
            description: 'Each member was checked by itself; what no longer holds is dropped.',
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
          description: 'The endpoint accepted it. It says nothing about who read it.',
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
          actions: ['closeAttempt', 'noteRefused'],
        },
      },
    },
    waiting: {
      description: 'Waits for the time of its next attempt.',
      after: {
        retryDelay: [
          {
            description: 'The wait is over: it is checked again before another attempt.',
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
