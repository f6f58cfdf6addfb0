/**
 * Retiring: what a pause, an edit or the deletion of a rule does to its instances. The rule's own
 * commit makes older instances irrelevant at once (edges and rechecks look at the revision); this
 * records it for each of them, in batches that can be repeated. No recovery is manufactured.
 */
import type { AlertInstanceContext } from '../../machines/alert-instance-setup.ts';
import type { AlertRuleContext } from '../../machines/alert-rule.ts';
import type { RetireReason } from '../../machines/effects.ts';
import type { Host, Instance, ProjectView } from '../host-port.ts';
import { liveInstances } from '../live-instances.ts';
import { submitInParts } from './in-parts.ts';

/** Instances retired by one commit. */
const BATCH = 100;

/**
 * Retires every live instance of `rule` that its rule no longer evaluates. Resolves with how many;
 * a second call finds none.
 */
export async function retireInstances(host: Host, project: string, rule: string): Promise<number> {
  const ids: string[] = [];
  for await (const { instance } of staleInstances(host.view(project), rule)) ids.push(instance);
  for (let start = 0; start < ids.length; start += BATCH) {
    await submitInParts(ids.slice(start, start + BATCH), (part) =>
      retirePart(host, { project, rule, part }),
    );
  }
  return ids.length;
}

function retirePart(
  host: Host,
  { project, rule, part }: { project: string; rule: string; part: readonly string[] },
): Promise<unknown> {
  return host.submit({
    project,
    by: { kind: 'service', name: 'retiring' },
    decide(draft) {
      const reason = retireReason(draft, rule);
      for (const id of part) {
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
): AsyncGenerator<Instance, void, undefined> {
  const rules = new Map<string, Instance | undefined>();
  for await (const instance of liveInstances(view, 'alertInstance')) {
    const context = instance.context as unknown as AlertInstanceContext;
    if (rule !== undefined && context.rule !== rule) continue;
    if (!rules.has(context.rule)) rules.set(context.rule, view.instance('alertRule', context.rule));
    if (isStale(context, rules.get(context.rule))) yield instance;
  }
}

function isStale({ evaluationRevision }: AlertInstanceContext, row: Instance | undefined): boolean {
  if (!row || row.final) return true;
  const { retiredThroughRevision } = row.context as unknown as AlertRuleContext;
  return evaluationRevision <= retiredThroughRevision;
}

function retireReason(view: ProjectView, rule: string): RetireReason {
  const row = view.instance('alertRule', rule);
  if (!row || row.final) return 'RULE_DELETED';
  return row.value === 'paused' ? 'RULE_PAUSED' : 'RULE_CHANGED';
}
