/**
 * Updates of a rule's alert instances after its row changed, in batches that can be repeated.
 *
 * Retiring: a pause, an edit or a deletion of a rule, and the end of a VM, make instances
 * irrelevant at once, because edges and rechecks compare the revision. Here each of them is
 * recorded as retired; no recovery is invented. Repeat interval: a changed interval applies to
 * firing instances too. The next reminder is due one whole new interval after the change.
 */
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance.ts';
import type { RetireReason } from '../../machines/platform/effects.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';
import { isOfRetiredVm } from '../vms/vm-directory.ts';
import { submitInParts } from './incident.ts';

/** Maximum instances changed by one commit. */
const BATCH = 100;

/**
 * Retires every live instance of `rule`, or of all rules, that is no longer evaluated. Resolves
 * with the number of retired instances; a second call finds none.
 */
export async function retireInstances(host: Host, project: string, rule?: string): Promise<number> {
  const ids: string[] = [];
  for await (const { instance } of staleInstances(host.view(project), rule)) ids.push(instance);
  for (let start = 0; start < ids.length; start += BATCH) {
    await submitInParts(ids.slice(start, start + BATCH), (part) => retirePart(host, project, part));
  }
  return ids.length;
}

function retirePart(host: Host, project: string, part: readonly string[]): Promise<unknown> {
  return host.submit({
    project,
    by: { kind: 'service', name: 'retiring' },
    decide(draft) {
      for (const id of part) {
        const row = draft.instance('alertInstance', id);
        if (!row) continue;
        const reason = retireReason(draft, row.context);
        draft.send('alertInstance', id, { type: 'retired', at: draft.at, reason });
      }
    },
  });
}

/** Rules of a project that still have live instances of a revision that is no longer evaluated. */
export async function rulesWithStaleInstances(view: ProjectView): Promise<ReadonlySet<string>> {
  const rules = new Set<string>();
  for await (const { context } of staleInstances(view)) rules.add(String(context.rule));
  return rules;
}

async function* staleInstances(
  view: ProjectView,
  rule?: string,
): AsyncGenerator<Instance<'alertInstance'>, void, undefined> {
  const rules = new Map<string, Instance<'alertRule'> | undefined>();
  for await (const instance of liveInstances(view, 'alertInstance')) {
    const context = instance.context;
    if (rule !== undefined && context.rule !== rule) continue;
    if (!rules.has(context.rule)) rules.set(context.rule, view.instance('alertRule', context.rule));
    const isOutdated = isStale(context, rules.get(context.rule));
    if (isOutdated || isOfRetiredVm(view, context)) yield instance;
  }
}

function isStale(
  { evaluationRevision }: AlertInstanceContext,
  row: Instance<'alertRule'> | undefined,
): boolean {
  if (!row || row.final) return true;
  const { retiredThroughRevision } = row.context;
  return evaluationRevision <= retiredThroughRevision;
}

function retireReason(view: ProjectView, context: AlertInstanceContext): RetireReason {
  const row = view.instance('alertRule', context.rule);
  if (!row || row.final) return 'RULE_DELETED';
  // If both causes apply, the rule's wins, because someone changed exactly this rule.
  if (!isStale(context, row)) return 'VM_DELETED';
  return row.value === 'paused' ? 'RULE_PAUSED' : 'RULE_CHANGED';
}

/** Gives the rule's firing instances its repeat interval. A second call finds nothing to change. */
export async function adoptRepeatInterval(
  host: Host,
  project: string,
  rule: string,
): Promise<void> {
  const view = host.view(project);
  const ids: string[] = [];
  for await (const instance of liveInstances(view, 'alertInstance')) {
    if (instance.context.rule === rule && isOutdated(view, instance)) ids.push(instance.instance);
  }
  for (let start = 0; start < ids.length; start += BATCH) {
    await submitInParts(ids.slice(start, start + BATCH), (part) =>
      changeInterval(host, project, part),
    );
  }
}

function changeInterval(host: Host, project: string, part: readonly string[]): Promise<unknown> {
  return host.submit({
    project,
    by: { kind: 'service', name: 'rules' },
    decide(draft) {
      for (const id of part) {
        const row = draft.instance('alertInstance', id);
        if (!row || !isOutdated(draft, row)) continue;
        const repeatIntervalMs = intervalMs(draft, row.context.rule);
        const event = { type: 'repeatIntervalChanged', at: draft.at, repeatIntervalMs } as const;
        draft.send('alertInstance', id, event);
      }
    },
  });
}

/** True if the instance fires with an interval that differs from its rule's. */
function isOutdated(view: ProjectView, row: Instance<'alertInstance'>): boolean {
  const { incident, repeatIntervalMs, rule } = row.context;
  const isOpen = incident !== null && incident.recoveredMs === null && incident.retiredMs === null;
  return isOpen && repeatIntervalMs !== intervalMs(view, rule);
}

function intervalMs(view: ProjectView, rule: string): number {
  const row = view.instance('alertRule', rule);
  if (!row) throw new Error(`The rule ${rule} of an alert instance does not exist`);
  return row.context.spec.repeatIntervalSeconds * 1000;
}
