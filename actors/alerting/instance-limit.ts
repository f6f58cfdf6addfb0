/**
 * Reports rules with more instances than their project's limit allows (`allVms` can exceed it at
 * any time), and when all of them are evaluated again, by the rule's sync error and a notice. The
 * evaluator decides which instances are evaluated; this part commits changes of its counts.
 */

import { INSTANCE_LIMIT } from '../../machines/alerting/alert-rule.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause } from '../../streams/platform/pause.ts';
import type { Draft, Host, ProjectView } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';
import { limitsOf } from '../platform/project-limits.ts';
import { isRetryable } from '../platform/retryable.ts';
import type { EvaluatorView } from './evaluator/evaluator-port.ts';
import { endNotice, raiseNotice } from './notices.ts';

/** The evaluator's counts, and the host that records their changes. */
export interface InstanceLimitDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly ownership: Pick<Ownership, 'owns'>;
  readonly evaluator: Pick<EvaluatorView, 'quota'>;
  /**
   * False while the evaluator is still reading stored entries of the project's partition, so that
   * its counts are not valid yet.
   */
  readonly isCurrent: (project: string) => boolean;
  /** Called when a change could not be committed. The next check retries. */
  readonly onLost?: (error: unknown) => void;
}

/** Interval of checks, ms. */
const CHECK_MS = 5_000;

/** Checks until `signal`. Rejects on a fault of this service. */
export async function watchInstanceLimit(
  deps: InstanceLimitDeps,
  signal: AbortSignal,
): Promise<void> {
  const { host, clock, ownership, isCurrent, onLost } = deps;
  const reported = new Map<string, Set<string>>();
  while (!signal.aborted) {
    for (const project of host.projects()) {
      if (!isCurrent(project)) continue;
      try {
        if (!ownership.owns(project)) reported.delete(project);
        else await report(deps, project, await reportedOf(host, reported, project));
      } catch (error) {
        if (!isRetryable(error)) throw error;
        onLost?.(error);
      }
    }
    await pause(clock, CHECK_MS, signal);
  }
}

/** Rules whose rows report that some of their instances exceed the quota. */
async function reportedBefore(view: ProjectView): Promise<Set<string>> {
  const rules = new Set<string>();
  for await (const { instance, context } of liveInstances(view, 'alertRule')) {
    if (context.syncError === INSTANCE_LIMIT) rules.add(instance);
  }
  for (const { body } of itemsOf(200, (page) => view.records('notice', page))) {
    if (body.kind === 'INSTANCE_LIMIT' && body.endedMs === null) rules.add(body.subject.id);
  }
  return rules;
}

/** Commits the changes. `reported`: rules whose rows have the limit error, updated here. */
async function report(
  { host, evaluator }: InstanceLimitDeps,
  project: string,
  reported: Set<string>,
): Promise<void> {
  const view = host.view(project);
  const { unevaluated } = evaluator.quota(project);
  const reached = [...unevaluated.keys()].filter((rule) => {
    const row = view.instance('alertRule', rule);
    return row?.value === 'active' && row.context.syncError !== INSTANCE_LIMIT;
  });
  const ended = [...reported].filter((rule) => !unevaluated.has(rule));
  if (reached.length + ended.length === 0) return;
  await host.submit({
    project,
    by: { kind: 'service', name: 'instance limit' },
    decide(draft) {
      for (const rule of reached) begin(draft, rule);
      for (const rule of ended) end(draft, rule);
    },
  });
  for (const rule of reached) reported.add(rule);
  for (const rule of ended) reported.delete(rule);
}

function begin(draft: Draft, rule: string): void {
  if (draft.instance('alertRule', rule)?.value !== 'active') return;
  draft.send('alertRule', rule, { type: 'instanceLimitReached', at: draft.at });
  const { instances } = limitsOf(draft);
  const text =
    `Not all instances of this rule are evaluated, because the project has reached its maximum of ${instances} ` +
    'instances. Instances that were already evaluated still are; the rule shows how many are not. Select fewer VMs, ' +
    'delete a rule, or ask the operator for a higher limit.';
  raiseNotice(draft, { kind: 'INSTANCE_LIMIT', subject: subjectOf(rule), text });
}

function end(draft: Draft, rule: string): void {
  if (draft.instance('alertRule', rule)) {
    draft.send('alertRule', rule, { type: 'instanceLimitEnded', at: draft.at });
  }
  endNotice(draft, { kind: 'INSTANCE_LIMIT', subject: subjectOf(rule) });
}

function subjectOf(id: string) {
  return { collection: 'alertRules', id } as const;
}

/** Rules of the project that are reported, from its rows when this member starts to act for it. */
async function reportedOf(
  host: Host,
  reported: Map<string, Set<string>>,
  project: string,
): Promise<Set<string>> {
  const known = reported.get(project) ?? (await reportedBefore(host.view(project)));
  reported.set(project, known);
  return known;
}
