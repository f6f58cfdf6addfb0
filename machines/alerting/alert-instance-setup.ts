/**
 * Parts of the alert instance's chart: its context, its events, and what its actions, guards and
 * delays do. Apart from the chart (`alert-instance.ts`) so that the chart reads as a story.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { Effect, RetireReason } from '../platform/effects.ts';
import {
  type Firing,
  type Incident,
  type MissingReason,
  openIncident,
  recoverIncident,
  retireIncident,
} from './incident.ts';

export interface AlertInstanceInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  readonly project: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly vm: string;
  /** Canonical label part of the series key, or ''. */
  readonly labels: string;
  /** How often its VM had been retired before; absent: never. */
  readonly generation?: number;
}

export interface AlertInstanceContext {
  readonly project: string;
  readonly rule: string;
  readonly evaluationRevision: number;
  readonly vm: string;
  readonly labels: string;
  /** See `AlertInstanceInput`. */
  readonly generation?: number;
  /** Number of incidents so far. */
  readonly ordinal: number;
  /** Event time (Unix ms) of the last edge applied: what is not later was decided before. */
  readonly decidedThrough: number;
  /** First breaching observation of the run or of the open incident, Unix ms; null = idle. */
  readonly sinceMs: number | null;
  /** While sustaining: the last observation before the gap that lasts, Unix ms; null = no gap. */
  readonly missingSinceMs: number | null;
  /** Between two reminders, ms; 0 = none. */
  readonly repeatIntervalMs: number;
  /** The current incident while firing, else the last one; null = never fired. */
  readonly incident: Incident | null;
}

interface At {
  /** Unix ms of the commit. */
  readonly at: number;
}
interface Decided extends At {
  /** Event time of the decision, Unix ms. */
  readonly eventMs: number;
}

export type AlertInstanceEvent =
  /** A run begins at `eventMs`: the first observation that breaches, or the first after a gap. */
  | ({ readonly type: 'breachStarted' } & Decided)
  | ({ readonly type: 'breachEnded' } & Decided)
  | ({ readonly type: 'sustained'; readonly repeatIntervalMs: number } & Firing)
  | ({
      readonly type: 'recovered';
      readonly value: number | null;
      /** When the value was observed, Unix ms; absent: at `eventMs`. */
      readonly observedMs?: number;
      /** false: it fires again at once, and only the new firing is notified. */
      readonly notify?: boolean;
    } & Decided)
  | ({
      readonly type: 'dataMissing';
      readonly sinceMs: number;
      readonly reason: MissingReason;
    } & Decided)
  | ({ readonly type: 'dataObserved' } & Decided)
  | ({ readonly type: 'evaluatorFailed'; readonly reason: string } & At)
  | ({ readonly type: 'evaluatorHealthy' } & At)
  | ({ readonly type: 'acknowledged'; readonly by: string; readonly note: string } & At)
  | ({ readonly type: 'snoozed'; readonly untilMs: number; readonly by: string } & At)
  | ({ readonly type: 'unsnoozed'; readonly by: string } & At)
  /** Somebody saved the rule with another repeat interval; ms, 0 = no reminders. */
  | ({ readonly type: 'repeatIntervalChanged'; readonly repeatIntervalMs: number } & At)
  /** The timer of the rule's repeat interval. */
  | ({ readonly type: 'repeatDue' } & At)
  | ({ readonly type: 'corrected' } & Decided)
  | ({ readonly type: 'retired'; readonly reason: RetireReason } & At);

/** Changes fields of the incident; without one, nothing. */
function incidentWith(
  { incident }: AlertInstanceContext,
  change: Partial<Incident>,
): Partial<AlertInstanceContext> {
  return incident === null ? {} : { incident: { ...incident, ...change } };
}

/** The same for an edge of the evaluator, which is not to be applied a second time. */
function decidedWith(
  context: AlertInstanceContext,
  { eventMs }: Decided,
  change: Partial<Incident>,
): Partial<AlertInstanceContext> {
  const decidedThrough = Math.max(context.decidedThrough, eventMs);
  return { decidedThrough, ...incidentWith(context, change) };
}

const base = setup({
  types: {
    context: {} as AlertInstanceContext,
    events: {} as AlertInstanceEvent,
    input: {} as AlertInstanceInput,
  },
  actions: {
    effect: (_, _effect: Effect) => undefined,
    beginRun: assign(({ event }) => {
      assertEvent(event, 'breachStarted');
      return { sinceMs: event.eventMs, missingSinceMs: null };
    }),
    noteGap: assign(({ event }) => {
      assertEvent(event, 'dataMissing');
      return { missingSinceMs: event.sinceMs };
    }),
    endRun: assign({ sinceMs: null, missingSinceMs: null }),
    openIncident: assign(({ context, event }) => {
      assertEvent(event, 'sustained');
      const ordinal = context.ordinal + 1;
      return {
        ordinal,
        decidedThrough: event.eventMs,
        sinceMs: event.startedMs,
        repeatIntervalMs: event.repeatIntervalMs,
        incident: openIncident(event, ordinal),
      };
    }),
    recoverIncident: assign(({ context, event }) => {
      assertEvent(event, 'recovered');
      const incident = context.incident && recoverIncident(context.incident, event);
      return { decidedThrough: event.eventMs, sinceMs: null, incident };
    }),
    retireIncident: assign(({ context, event }) => {
      assertEvent(event, 'retired');
      return { incident: context.incident && retireIncident(context.incident, event) };
    }),
    acknowledge: assign(({ context, event }) => {
      assertEvent(event, 'acknowledged');
      const { by, at: atMs, note } = event;
      return incidentWith(context, { acknowledged: { by, atMs, note } });
    }),
    snooze: assign(({ context, event }) => {
      assertEvent(event, 'snoozed');
      return incidentWith(context, { snoozedUntilMs: event.untilMs });
    }),
    endSnooze: assign(({ context }) => incidentWith(context, { snoozedUntilMs: null })),
    noteMissing: assign(({ context, event }) => {
      assertEvent(event, 'dataMissing');
      const { sinceMs: dataMissingSinceMs, reason: dataMissingReason } = event;
      return decidedWith(context, event, { dataMissingSinceMs, dataMissingReason });
    }),
    noteObserved: assign(({ context, event }) => {
      assertEvent(event, 'dataObserved');
      return decidedWith(context, event, { dataMissingSinceMs: null, dataMissingReason: null });
    }),
    noteEvaluatorError: assign(({ context, event }) => {
      assertEvent(event, 'evaluatorFailed');
      return incidentWith(context, { evaluatorError: event.reason });
    }),
    noteEvaluatorHealthy: assign(({ context }) => incidentWith(context, { evaluatorError: null })),
    adoptRepeatInterval: assign(({ event }) => {
      assertEvent(event, 'repeatIntervalChanged');
      return { repeatIntervalMs: event.repeatIntervalMs };
    }),
    noteCorrection: assign(({ context, event }) => {
      assertEvent(event, 'corrected');
      return decidedWith(context, event, { correctedAfterNotification: true });
    }),
  },
  guards: {
    isNotYetDecided: ({ context, event }) =>
      event.type === 'sustained' && event.eventMs > context.decidedThrough,
    isOfThisIncident: ({ context, event }) =>
      (event.type === 'recovered' || event.type === 'dataMissing') &&
      event.eventMs >= context.decidedThrough,
    hasAnotherReason: ({ context, event }) =>
      event.type === 'dataMissing' &&
      event.eventMs >= context.decidedThrough &&
      event.reason !== context.incident?.dataMissingReason,
    isAfterTheGap: ({ context, event }) =>
      event.type === 'dataObserved' &&
      event.eventMs > (context.incident?.dataMissingSinceMs ?? Number.NEGATIVE_INFINITY),
    isStillMissing: ({ context }) => typeof context.incident?.dataMissingSinceMs === 'number',
    isNotYetCorrected: ({ context }) => context.incident?.correctedAfterNotification === false,
    isAnotherInterval: ({ context, event }) =>
      event.type === 'repeatIntervalChanged' && event.repeatIntervalMs !== context.repeatIntervalMs,
    endsLater: ({ event }) => event.type === 'snoozed' && event.untilMs > event.at,
  },
  delays: {
    snoozeEnd: ({ context, event }) =>
      Math.max(0, (context.incident?.snoozedUntilMs ?? event.at) - event.at),
  },
});

export const recordIncident = { type: 'effect', params: { type: 'recordIncident' } } as const;

/** The set-up chart: `createMachine` and `createStateConfig` know its names. */
export const chart = base.extend({
  actions: {
    announceFiring: base.enqueueActions(({ context, enqueue }) => {
      if (!context.incident?.notify) return;
      enqueue({ type: 'effect', params: { type: 'notify', event: 'FIRING', occurrence: 1 } });
    }),
    announceRecovery: base.enqueueActions(({ context, event, enqueue }) => {
      if (!context.incident?.notify) return;
      if (event.type === 'recovered' && event.notify === false) return;
      enqueue({ type: 'effect', params: { type: 'notify', event: 'RECOVERED', occurrence: 1 } });
    }),
    remind: base.enqueueActions(({ context, enqueue }) => {
      if (!context.incident?.notify) return;
      const occurrence = context.incident.repeats + 1;
      enqueue.assign(incidentWith(context, { repeats: occurrence }));
      enqueue({ type: 'effect', params: { type: 'notify', event: 'REPEATED', occurrence } });
    }),
    // Not an `after`: a rule without reminders must leave no timer behind.
    armReminder: base.enqueueActions(({ context, event, enqueue }) => {
      const delay = context.repeatIntervalMs;
      if (delay <= 0 || !context.incident?.notify) return;
      enqueue.raise({ type: 'repeatDue', at: event.at + delay }, { id: 'repeatDue', delay });
    }),
    disarmReminder: base.cancel('repeatDue'),
  },
});

/** The context of a new instance; xstate also calls it without input (a throw-away actor). */
export function initialContext(input: AlertInstanceInput | undefined): AlertInstanceContext {
  return {
    project: input?.project ?? '',
    rule: input?.rule ?? '',
    evaluationRevision: input?.evaluationRevision ?? 0,
    vm: input?.vm ?? '',
    labels: input?.labels ?? '',
    ...(input?.generation !== undefined && { generation: input.generation }),
    ordinal: 0,
    decidedThrough: 0,
    sinceMs: null,
    missingSinceMs: null,
    repeatIntervalMs: 0,
    incident: null,
  };
}
