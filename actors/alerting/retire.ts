/**
 * Retiring: what a pause, an edit or the deletion of a rule does to its instances, and the end of a
 * VM to those of all rules. The commit of the rule or the VM makes older instances irrelevant at
 * once (edges and rechecks look at the revision); this records it for each of them, in batches that
 * can be repeated. No recovery is manufactured.
 */
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance-setup.ts';
import type { RetireReason } from '../../machines/platform/effects.ts';
import type { Host, Instance, ProjectView } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';
import { isOfRetiredVm } from '../vms/vm-body.ts';
import { submitInParts } from './in-parts.ts';

/** Instances retired by one commit. */
const BATCH = 100;

/**
 * Retires every live instance of `rule`, or of all rules, that is no longer evaluated. Resolves with
 * how many; a second call finds none.
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
        const reason = retireReason(draft, contextOf(row));
        draft.send('alertInstance', id, { type: 'retired', at: draft.at, reason });
      }
    },
  });
}

/** Rules of a project that still have live instances of a revision no longer evaluated. */
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
    const context = contextOf(instance);
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
  // Of two causes the rule's is told: it is what somebody did to this very instance.
  if (!isStale(context, row)) return 'VM_DELETED';
  return row.value === 'paused' ? 'RULE_PAUSED' : 'RULE_CHANGED';
}

function contextOf({ context }: Instance<'alertInstance'>): AlertInstanceContext {
  return context;
}
