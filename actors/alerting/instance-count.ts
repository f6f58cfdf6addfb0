/**
 * How many instances a project's rules have, or would have, by what is known when it is asked: the
 * VMs of their selection, and the label sets (mounts) that each VM has told of their metric. It is
 * counted over the rules of the decision itself, so that two saves cannot share one room.
 */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import type { Draft } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { limitExceeded, limitsOf } from '../platform/project-limits.ts';

/** What memory knows that no row says. */
export interface KnownInstances {
  /** Label sets of the metric that the VM has told; undefined: nothing of the VM is known yet. */
  labelSets(project: string, vm: string, metricId: string): number | undefined;
  /** Instances that the evaluator has now, of all the project's rules. */
  evaluated(project: string): number;
}

/** Of a VM that has told nothing since the start: most metrics have one series. */
const UNKNOWN_LABEL_SETS = 1;

/**
 * Throws a `Refusal` LIMIT_EXCEEDED (`of` is `instances`) when the rule, saved so, would bring the
 * project beyond its limit. What is beyond already may still be edited, if it grows by nothing.
 */
export function checkInstances(
  draft: Draft,
  { id, spec }: { readonly id: string; readonly spec: AlertRuleSpec },
  known: KnownInstances | undefined,
): void {
  const limit = limitsOf(draft).instances;
  const count = counter(draft, known);
  let others = 0;
  let before = 0;
  for (const { instance, context } of allInstances(draft, 'alertRule')) {
    const instances = count(context.spec);
    if (instance === id) before = instances;
    else others += instances;
  }
  const own = count(spec);
  const current = Math.max(others, (known?.evaluated(draft.project) ?? 0) - before);
  if (own <= before || current + own <= limit) return;
  throw limitExceeded(
    `The rule would have ${own} instances beside ${current} of the project, which may have ` +
      `${limit}: select fewer VMs`,
    { of: 'instances', limit, current, wanted: current + own },
  );
}

/** Counts one rule's instances; the project's VMs are read once. */
function counter(draft: Draft, known: KnownInstances | undefined) {
  let all: readonly string[] | undefined;
  const present = (vm: string): boolean => isPresent(draft.record('vm', vm)?.body);
  return ({ enabled, allVms, vmNames, metricId }: AlertRuleSpec): number => {
    if (!enabled) return 0;
    if (allVms) all ??= presentVms(draft);
    const prefix = `projects/${draft.project}/vms/`;
    const vms = allVms
      ? (all ?? [])
      : vmNames.map((name) => name.slice(prefix.length)).filter(present);
    let count = 0;
    for (const vm of vms) {
      count += known?.labelSets(draft.project, vm, metricId) ?? UNKNOWN_LABEL_SETS;
    }
    return count;
  };
}

function presentVms(draft: Draft): string[] {
  const found: string[] = [];
  let after: string | undefined;
  do {
    const page = draft.records('vm', { limit: 1000, ...(after === undefined ? {} : { after }) });
    for (const { id, body } of page.items) if (isPresent(body)) found.push(id);
    after = page.next;
  } while (after !== undefined);
  return found;
}

function isPresent(body: Readonly<Record<string, unknown>> | undefined): boolean {
  // Records of this kind are written as `VmBody` alone.
  return body !== undefined && body.retiredMs === undefined;
}
