/**
 * Saves and deletes rules. Every limit and version is checked inside the decision, at the project's
 * head, so that two clients cannot exceed them concurrently.
 */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { Committed, Draft, Host, RequestKey } from '../platform/host/host-port.ts';
import { checkLimit } from '../platform/project-limits.ts';
import { checkAudience, checkInstances, type KnownInstances } from './rule-limits.ts';

interface Caller {
  /** Project id. */
  readonly project: string;
  readonly by: Actor;
  readonly request: RequestKey;
}

/**
 * Creates a rule, or replaces all of its spec. A resent request with the same id and content gets
 * the same response.
 */
export interface SaveRule extends Caller {
  /** The rule's id: a UUID made by the client. */
  readonly id: string;
  /** '0' to create; otherwise the version on which the edit is based. */
  readonly expectedVersion: string;
  readonly spec: AlertRuleSpec;
}

/**
 * Deletes a rule in the version that the caller has seen. The rule's firing incidents are retired,
 * and nothing more is sent for it.
 */
export interface DeleteRule extends Caller {
  readonly id: string;
  readonly expectedVersion: string;
}

/**
 * Changes of rules. They resolve once the change is committed; the evaluator applies it a moment
 * later.
 */
export interface Alerting {
  /**
   * Saves a rule. Throws a `Refusal`: NOT_FOUND (a version other than "0", but no such rule),
   * STALE_VERSION (with `currentVersion`), LIMIT_EXCEEDED, INVALID_FIELD (a VM or destination that
   * does not exist), REQUEST_ID_REUSED, and those of the host.
   */
  saveRule(save: SaveRule): Promise<Committed<{ readonly version: string }>>;
  /** Deletes a rule. Throws a `Refusal`: NOT_FOUND, STALE_VERSION. */
  deleteRule(deletion: DeleteRule): Promise<Committed<Record<string, never>>>;
}

export interface AlertingDeps {
  readonly host: Host;
  /** Known instances. Absent: every VM of a rule counts as one. */
  readonly known?: KnownInstances;
}

/** Wraps the host. It has no state, so that any number of them may exist. */
export function createAlerting({ host, known }: AlertingDeps): Alerting {
  return {
    saveRule: ({ project, by, request, ...save }) =>
      host.submit({
        project,
        by,
        request,
        decide: (draft) => ({ version: String(saveInDraft(draft, save, { by: by.name, known })) }),
      }),
    deleteRule: ({ project, by, request, ...deletion }) =>
      host.submit({
        project,
        by,
        request,
        decide(draft) {
          deleteInDraft(draft, deletion, by.name);
          return {};
        },
      }),
  };
}

/** The new desired version. */
function saveInDraft(
  draft: Draft,
  { id, expectedVersion, spec }: Pick<SaveRule, 'id' | 'expectedVersion' | 'spec'>,
  { by, known }: { readonly by: string; readonly known: KnownInstances | undefined },
): number {
  const row = draft.instance('alertRule', id);
  if (row?.final) {
    throw new Refusal('INVALID_STATE', 'The rule was deleted; save it under a new id');
  }
  checkReferences(draft, spec, row?.context.spec);
  if (!row) {
    if (expectedVersion !== '0') throw notFound('alert rule', id);
    checkLimit(draft, 'rules');
    checkInstances(draft, { id, spec }, known);
    draft.start('alertRule', id, { at: draft.at, rule: id, project: draft.project, spec, by });
    return 1;
  }
  const context = row.context;
  checkVersion(expectedVersion, context.version);
  const evaluationChanged = !sameEvaluation(context.spec, spec);
  if (evaluationChanged) checkInstances(draft, { id, spec }, known);
  const event = { type: 'edited', at: draft.at, spec, by, evaluationChanged } as const;
  return draft.send('alertRule', id, event).instance.context.version;
}

function deleteInDraft(
  draft: Draft,
  { id, expectedVersion }: Pick<DeleteRule, 'id' | 'expectedVersion'>,
  by: string,
): void {
  const row = draft.instance('alertRule', id);
  if (!row || row.final) throw notFound('alert rule', id);
  checkVersion(expectedVersion, row.context.version);
  draft.send('alertRule', id, { type: 'deleted', at: draft.at, by });
}

function checkVersion(expected: string, current: number): void {
  if (expected === String(current)) return;
  throw new Refusal(
    'STALE_VERSION',
    `The rule is at version ${current}. Read it, then save with that version as expectedVersion`,
    { currentVersion: String(current) },
  );
}

/**
 * Checks that the named VMs and destinations exist, because a misspelt one would never alert. A VM
 * or destination that the rule named before may be retired or deleted, so that the rule can still
 * be paused or edited. New destinations must not make the audience too large.
 */
function checkReferences(draft: Draft, spec: AlertRuleSpec, before?: AlertRuleSpec): void {
  for (const name of spec.vmNames) {
    const id = idIn(name, `projects/${draft.project}/vms/`);
    const vm = id === undefined ? undefined : draft.record('vm', id);
    const isThere = vm && (vm.body.retiredMs === undefined || before?.vmNames.includes(name));
    if (!isThere) {
      throw invalidField('spec.vmNames', `There is no VM ${name} in the project`);
    }
  }
  const known = before?.destinationNames ?? [];
  const added = spec.destinationNames.filter((name) => !known.includes(name));
  for (const name of added) {
    const id = idIn(name, `projects/${draft.project}/destinations/`);
    const destination = id === undefined ? undefined : draft.instance('destination', id);
    if (!destination || destination.final) {
      throw invalidField('spec.destinationNames', `There is no destination ${name} in the project`);
    }
  }
  if (added.length > 0) checkAudience(draft, spec);
}

function idIn(name: string, prefix: string): string | undefined {
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

/**
 * True unless an evaluated field changed. Name, destinations, severity and reminders are not
 * evaluated.
 */
function sameEvaluation(before: AlertRuleSpec, after: AlertRuleSpec): boolean {
  const evaluated = (spec: AlertRuleSpec) =>
    JSON.stringify([
      spec.metricId,
      spec.operator,
      spec.threshold,
      spec.sustainedSeconds,
      spec.allVms,
      [...spec.vmNames].sort(),
      spec.enabled,
      spec.recoveryThreshold ?? null,
      spec.recoverySeconds ?? 0,
    ]);
  return evaluated(before) === evaluated(after);
}

function notFound(what: string, id: string): Refusal {
  return new Refusal('NOT_FOUND', `There is no ${what} ${id} in the project`);
}
