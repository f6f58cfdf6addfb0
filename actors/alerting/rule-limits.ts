/**
 * Limits checked when a rule is saved, or when a destination gets more recipients: the audience of
 * one rule (a firing is a single commit with all its deliveries), and the alert instances of a
 * project. Both are counted inside the decision, so that two concurrent saves cannot exceed them
 * together.
 */

import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, ProjectView } from '../platform/host/host-port.ts';
import { allInstances } from '../platform/host/live-instances.ts';
import { limitExceeded, limitsOf } from '../platform/project-limits.ts';
import { recipientsOf } from './eligible.ts';

/**
 * Maximum mail recipients and other destinations of one rule. Each takes at most 2 KB of a commit
 * of 256 KB.
 */
export const AUDIENCE_MAX = 100;

/**
 * Throws a `Refusal` LIMIT_EXCEEDED (`of`, `limit`, `wanted`) if the rule has too many recipients.
 */
export function checkAudience(
  draft: Draft,
  { displayName, destinationNames }: Pick<AlertRuleSpec, 'displayName' | 'destinationNames'>,
): void {
  const wanted = audienceOf(draft, destinationNames);
  if (wanted <= AUDIENCE_MAX) return;
  throw new Refusal(
    'LIMIT_EXCEEDED',
    `The destinations of the rule "${displayName}" would have ${wanted} recipients; at most ${AUDIENCE_MAX} are allowed ` +
      '(a webhook or a chat counts as one). Select fewer, or mail to one address that reaches many',
    { of: 'audience', limit: String(AUDIENCE_MAX), wanted: String(wanted) },
  );
}

/** Checks all rules of a destination that got more recipients. Throws like `checkAudience`. */
export function checkAudiencesWith(draft: Draft, destination: string): void {
  for (const { context } of allInstances(draft, 'alertRule')) {
    const { spec } = context;
    if (spec.destinationNames.some((name) => name.endsWith(`/${destination}`))) {
      checkAudience(draft, spec);
    }
  }
}

function audienceOf(view: ProjectView, names: readonly string[]): number {
  let count = 0;
  for (const id of new Set(names.map((name) => name.slice(name.lastIndexOf('/') + 1)))) {
    const destination = view.instance('destination', id);
    if (destination) count += recipientsOf(view, destination).length;
  }
  return count;
}

/** Instances known only in memory, because they have no row. */
export interface KnownInstances {
  /**
   * Label sets of the metric that the VM reported; undefined if it has not reported anything yet.
   */
  labelSets(project: string, vm: string, metricId: string): number | undefined;
  /** Number of instances of all the project's rules in the evaluator. */
  evaluated(project: string): number;
}

/** For a VM that has reported nothing since the start, because most metrics have one series. */
const UNKNOWN_LABEL_SETS = 1;

/**
 * Throws a `Refusal` LIMIT_EXCEEDED (`of` is `instances`) if saving the rule would exceed the
 * project's limit. A rule that already exceeds it may still be edited if it does not grow.
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
    `The rule would have ${own} instances besides the ${current} of the project, which may have ` +
      `at most ${limit}. Select fewer VMs`,
    { of: 'instances', limit, current, wanted: current + own },
  );
}

/** Counts one rule's instances. The project's VMs are read once. */
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
  for (const { id, body } of itemsOf(1_000, (page) => draft.records('vm', page))) {
    if (isPresent(body)) found.push(id);
  }
  return found;
}

function isPresent(body: Readonly<Record<string, unknown>> | undefined): boolean {
  // Records of this kind are always written as `VmBody`.
  return body !== undefined && body.retiredMs === undefined;
}
