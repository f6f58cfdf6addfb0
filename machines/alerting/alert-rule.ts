/**
 * One alert rule: its desired and applied version, and the instances that an application retires.
 * An edit is a new desired version that is pending until the evaluator reports exactly that
 * version, so a report overtaken by a later edit can never make the rule look applied.
 */
import { assertEvent, assign, setup } from 'xstate';
import type { Effect, RetireReason } from '../platform/effects.ts';

/** The rule as saved over the API (svc.monitoring.v1.AlertRuleSpec), as plain JSON. */
export interface AlertRuleSpec {
  readonly displayName: string;
  readonly metricId: string;
  readonly operator: string;
  readonly threshold: number;
  readonly sustainedSeconds: number;
  readonly severity: string;
  /** true: every current and future VM of the project; `vmNames` is empty then. */
  readonly allVms: boolean;
  readonly vmNames: readonly string[];
  /** false: the rule is paused once applied. */
  readonly enabled: boolean;
  /** 0 = one notification, on firing. */
  readonly repeatIntervalSeconds: number;
  readonly destinationNames: readonly string[];
  readonly recoveryThreshold?: number;
  readonly recoverySeconds?: number;
  /** Labels of its incidents, besides those of the series; every notification has them. */
  readonly labels?: Readonly<Record<string, string>>;
  /** What to do when it fires; every notification begins with it. */
  readonly runbookText?: string;
  /** An http or https URL. */
  readonly runbookUrl?: string;
}

/** A new rule, as first saved. */
export interface AlertRuleInput {
  /** Unix ms of the commit that creates it. */
  readonly at: number;
  /** The rule's id (UUID). */
  readonly rule: string;
  readonly project: string;
  readonly spec: AlertRuleSpec;
  readonly by: string;
}

/** Row of a rule: desired and applied version, and why they differ. */
export interface AlertRuleContext {
  readonly rule: string;
  readonly spec: AlertRuleSpec;
  /** Desired version: 1 on creation, incremented by each edit. */
  readonly version: number;
  /** Version that the evaluator uses; 0 = none yet. */
  readonly appliedVersion: number;
  /** Desired evaluation revision: 1 on creation, incremented by each edit of what is evaluated. */
  readonly evaluationRevision: number;
  /**
   * Instances of this evaluation revision and of older ones are retired, even if none is recorded
   * as such.
   */
  readonly retiredThroughRevision: number;
  /**
   * Time at which it was last switched on again: earlier observations do not count for it; null =
   * never.
   */
  readonly resumedMs: number | null;
  /** Why the desired version could not be applied, or is applied but not fully evaluated. */
  readonly syncError: string | null;
  readonly createdMs: number;
  readonly updatedMs: number;
  readonly updatedBy: string;
}

/** Times in Unix ms. */
export type AlertRuleEvent =
  | {
      readonly type: 'edited';
      readonly at: number;
      readonly spec: AlertRuleSpec;
      readonly by: string;
      /** false: only name, destinations or repeat interval changed; instances live on. */
      readonly evaluationChanged: boolean;
    }
  | { readonly type: 'applied'; readonly at: number; readonly version: number }
  | {
      readonly type: 'applicationFailed';
      readonly at: number;
      readonly version: number;
      readonly reason: string;
    }
  /** Applied, but the project has no room for some of its instances. */
  | { readonly type: 'instanceLimitReached'; readonly at: number }
  /** All of its instances are evaluated again. */
  | { readonly type: 'instanceLimitEnded'; readonly at: number }
  | { readonly type: 'deleted'; readonly at: number; readonly by: string };

/** `syncError` of an applied rule for whose instances the project lacks room. */
export const INSTANCE_LIMIT = 'INSTANCE_LIMIT';

const base = setup({
  types: {
    context: {} as AlertRuleContext,
    events: {} as AlertRuleEvent,
    input: {} as AlertRuleInput,
  },
  actions: {
    effect: (_, _effect: Effect) => undefined,
    adoptEdit: assign(({ context, event }) => {
      assertEvent(event, 'edited');
      return editedFields(context, event);
    }),
    keepSyncError: assign(({ event }) => {
      assertEvent(event, 'applicationFailed');
      return { syncError: event.reason };
    }),
    recordInstanceLimit: assign({ syncError: INSTANCE_LIMIT }),
    forgetSyncError: assign({ syncError: null }),
    retireAll: assign(({ context, event }) => {
      assertEvent(event, 'deleted');
      const { at: updatedMs, by: updatedBy } = event;
      return { retiredThroughRevision: context.evaluationRevision, updatedMs, updatedBy };
    }),
  },
  guards: {
    isDesiredAndEnabled: ({ context, event }) =>
      event.type === 'applied' && event.version === context.version && context.spec.enabled,
    isDesiredAndPaused: ({ context, event }) =>
      event.type === 'applied' && event.version === context.version && !context.spec.enabled,
    isNew: ({ context }) => context.syncError !== INSTANCE_LIMIT,
    isNoted: ({ context }) => context.syncError === INSTANCE_LIMIT,
    isDesired: ({ context, event }) =>
      event.type === 'applicationFailed' && event.version === context.version,
  },
});

const chart = base.extend({
  actions: {
    markApplied: base.enqueueActions(({ context, enqueue }) => {
      const retiredThroughRevision = context.evaluationRevision - 1;
      enqueue.assign({
        appliedVersion: context.version,
        retiredThroughRevision,
        syncError: null,
      });
      if (context.retiredThroughRevision === retiredThroughRevision) return;
      const reason: RetireReason = context.spec.enabled ? 'RULE_CHANGED' : 'RULE_PAUSED';
      enqueue({ type: 'effect', params: { type: 'retireInstances', reason } });
    }),
  },
});

const edited = {
  description: 'The rule was saved in another version, which is pending until it is applied.',
  target: 'pendingApplication',
  reenter: true,
  actions: 'adoptEdit',
} as const;

const applied = [
  {
    description: 'The evaluator uses the desired version; instances of outdated ones are retired.',
    guard: 'isDesiredAndEnabled',
    target: 'active',
    actions: 'markApplied',
  },
  {
    description: 'The evaluator no longer evaluates the rule; its instances are retired.',
    guard: 'isDesiredAndPaused',
    target: 'paused',
    actions: 'markApplied',
  },
] as const;

const applicationFailed = {
  description: 'The desired version cannot be evaluated, for the reason given.',
  guard: 'isDesired',
  target: 'applicationFailed',
  actions: 'keepSyncError',
} as const;

const deleted = {
  description: 'The rule was deleted; its instances are retired, not recovered.',
  target: 'deleted',
  actions: [
    'retireAll',
    { type: 'effect', params: { type: 'retireInstances', reason: 'RULE_DELETED' } },
  ],
} as const;

/** The chart. A deleted rule is final. */
export const alertRuleMachine = chart.createMachine({
  id: 'alertRule',
  description: 'An alert rule: its desired version, and the version the evaluator has applied.',
  context: ({ input }) => initialContext(input),
  initial: 'pendingApplication',
  states: {
    pendingApplication: {
      description: 'The desired version is not yet in force; until then, nothing is evaluated.',
      entry: { type: 'effect', params: { type: 'applyRule' } },
      on: { applied, applicationFailed, edited, deleted },
    },
    active: {
      description: 'The desired version is evaluated.',
      on: {
        instanceLimitReached: {
          description: 'The project has no room for all of its instances; existing ones continue.',
          guard: 'isNew',
          actions: 'recordInstanceLimit',
        },
        instanceLimitEnded: {
          description: 'There is room for all of its instances again.',
          guard: 'isNoted',
          actions: 'forgetSyncError',
        },
        edited,
        deleted,
      },
    },
    paused: {
      description: 'The desired version disables evaluation; no instance is live.',
      on: { edited, deleted },
    },
    applicationFailed: {
      description: 'The evaluator refused the desired version; the reason is stored.',
      on: { applied, applicationFailed, edited, deleted },
    },
    deleted: {
      description: 'The rule was deleted; its row stays for audit.',
      type: 'final',
    },
  },
});

function initialContext(input: AlertRuleInput | undefined): AlertRuleContext {
  // xstate also calls this without input, for the throw-away actor of each transition.
  const at = input?.at ?? 0;
  return {
    rule: input?.rule ?? '',
    spec: input?.spec ?? emptySpec,
    version: 1,
    appliedVersion: 0,
    evaluationRevision: 1,
    retiredThroughRevision: 0,
    resumedMs: null,
    syncError: null,
    createdMs: at,
    updatedMs: at,
    updatedBy: input?.by ?? '',
  };
}

const emptySpec: AlertRuleSpec = {
  displayName: '',
  metricId: '',
  operator: '',
  threshold: 0,
  sustainedSeconds: 0,
  severity: '',
  allVms: false,
  vmNames: [],
  enabled: false,
  repeatIntervalSeconds: 0,
  destinationNames: [],
};

/** Pausing and resuming always change what is evaluated: a resume starts new runs. */
function editedFields(
  context: AlertRuleContext,
  event: Extract<AlertRuleEvent, { type: 'edited' }>,
): Partial<AlertRuleContext> {
  const switched = event.spec.enabled !== context.spec.enabled;
  const evaluationChanged = event.evaluationChanged || switched;
  return {
    spec: event.spec,
    version: context.version + 1,
    evaluationRevision: context.evaluationRevision + (evaluationChanged ? 1 : 0),
    resumedMs: switched && event.spec.enabled ? event.at : context.resumedMs,
    syncError: null,
    updatedMs: event.at,
    updatedBy: event.by,
  };
}
