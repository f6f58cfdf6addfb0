/**
 * Retiring: what a pause, an edit or the deletion of a rule does to its instances. The rule's own
 * commit makes older instances irrelevant at once (edges and rechecks look at the revision); this
 * records it for each of them, in batches that can be repeated. No recovery is manufactured.
 */
import type { AlertInstanceContext } from '../../machines/alert-instance-setup.ts';
import type { AlertRuleContext } from '../../machines/alert-rule.ts';
import type { RetireReason } from '../../machines/effects.ts';
import type { Host, Instance, ProjectView } from '../host-port.ts';
import { submitInParts } from './in-parts.ts';
import { allInstances } from './rule-markers.ts';

/** Instances retired by one commit: fewer where their incidents keep long windows. */
const BATCH = 100;

/**
 * Retires every live instance of `rule` that its rule no longer evaluates. Resolves with how many;
 * a second call finds none.
 */
export async function retireInstances(host: Host, project: string, rule: string): Promise<number> {
  const ids = staleInstances(host.view(project), rule).map(({ instance }) => instance);
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
export function rulesWithStaleInstances(view: ProjectView): ReadonlySet<string> {
  return new Set(staleInstances(view).map(({ context }) => String(context.rule)));
}

function staleInstances(view: ProjectView, rule?: string): Instance[] {
  const rules = new Map<string, Instance | undefined>();
  return allInstances(view, 'alertInstance').filter(({ context }) => {
    const instance = context as unknown as AlertInstanceContext;
    if (rule !== undefined && instance.rule !== rule) return false;
    if (!rules.has(instance.rule)) {
      rules.set(instance.rule, view.instance('alertRule', instance.rule));
    }
    const row = rules.get(instance.rule);
    if (!row || row.final) return true;
    const { retiredThroughRevision } = row.context as unknown as AlertRuleContext;
    return instance.evaluationRevision <= retiredThroughRevision;
  });
}

function retireReason(view: ProjectView, rule: string): RetireReason {
  const row = view.instance('alertRule', rule);
  if (!row || row.final) return 'RULE_DELETED';
  return row.value === 'paused' ? 'RULE_PAUSED' : 'RULE_CHANGED';
}
