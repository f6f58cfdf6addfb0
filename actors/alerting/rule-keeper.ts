/**
 * The rule keeper: appends the log markers that rows call for (a pending rule with the current limit,
 * a new limit, a retired VM), and retires the instances that became outdated. Everything is derived
 * from rows, at the start for all of them and then for those a commit changes, so a crash loses
 * nothing.
 */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Commit } from '../../streams/platform/commit/commit.ts';
import { pause, Sleep } from '../../streams/platform/pause.ts';
import { partitionOf, type Stream } from '../../streams/platform/stream.ts';
import { type LogEntry, OPERATORS, type RetiredVm } from '../../streams/telemetry/entry.ts';
import { EVALUATED_METRICS } from '../../streams/telemetry/metrics/catalogue.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import { liveInstances } from '../platform/host/live-instances.ts';
import { LIMITS_KIND, limitsMarker, limitsOf } from '../platform/project-limits.ts';
import { isRetryable } from '../platform/retryable.ts';
import { appendEntry, pastEntries } from '../telemetry/sample-log.ts';
import { adoptRepeatInterval, retireInstances, rulesWithStaleInstances } from './rule-instances.ts';
import { retiredVmOf, retiredVms, retirementMarker, ruleMarker } from './rule-markers.ts';

export interface RuleKeeperDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
}

/** Wait after the stream failed to answer, ms. */
const RETRY_MS = 500;
/** Age after which the evaluator knows a retired VM from its record, ms. */
const RETIREMENT_MARKED_MS = 86_400_000;

type Work = { readonly project: string } & (
  | { readonly kind: 'rule'; readonly rule: string }
  | { readonly kind: 'limits' }
  | { readonly kind: 'vms'; readonly retired: readonly RetiredVm[] }
);

/** Runs until `signal`. Rejects on a fault that a restart may fix. */
export async function keepRules(deps: RuleKeeperDeps, signal: AbortSignal): Promise<void> {
  const waiting: Work[] = [];
  const idle = new Sleep(deps.clock);
  const undo = deps.host.onApplied(({ commit }) => {
    waiting.push(...workOf(commit));
    idle.wake();
  });
  try {
    waiting.push(...(await outstandingRules(deps.host)), ...(await unmarked(deps)));
    while (!signal.aborted) {
      const work = waiting.shift();
      if (work) await keep(deps, work, signal);
      else await idle.pause(Number.POSITIVE_INFINITY, signal);
    }
  } finally {
    undo();
  }
}

function workOf({ project, decisions }: Commit): Work[] {
  const work: Work[] = [];
  const retired: RetiredVm[] = [];
  for (const { steps, records } of decisions) {
    for (const { machine, instance } of steps) {
      if (machine === 'alertRule') work.push({ kind: 'rule', project, rule: instance });
    }
    for (const { kind, id, body } of records) {
      if (kind === LIMITS_KIND) work.push({ kind: 'limits', project });
      // Records of this kind are written as `VmBody` alone.
      const vm = kind === 'vm' ? body : null;
      const one = vm?.retiredMs === undefined ? undefined : retiredVmOf(project, id, vm);
      if (one) retired.push(one);
    }
  }
  if (retired.length > 0) work.push({ kind: 'vms', project, retired });
  return work;
}

async function outstandingRules(host: Host): Promise<Work[]> {
  const work: Work[] = [];
  for (const project of host.projects()) {
    const view = host.view(project);
    const rules = new Set<string>();
    for await (const { instance, value } of liveInstances(view, 'alertRule')) {
      if (value === 'pendingApplication') rules.add(instance);
    }
    for (const rule of await rulesWithStaleInstances(view)) rules.add(rule);
    for (const rule of rules) work.push({ kind: 'rule', project, rule });
  }
  return work;
}

/** Work whose marker a crash lost: deleted rules still in force, retired VMs, limits. */
async function unmarked({ host, stream, clock }: RuleKeeperDeps): Promise<Work[]> {
  const inForce = new Map<string, { readonly project: string; readonly rule: string }>();
  const generations = new Map<string, number>();
  const limits = new Map<string, number>();
  for await (const { entry } of pastEntries(stream, { sequence: 1 }, { kind: 'rules' })) {
    if (entry.kind !== 'rules') continue;
    for (const { project, rule } of entry.upserts) {
      inForce.set(`${project}/${rule}`, { project, rule });
    }
    for (const { project, rule } of entry.removals) inForce.delete(`${project}/${rule}`);
    for (const { project, vm, generation } of entry.retired ?? []) {
      generations.set(`${project}/${vm}`, generation);
    }
    for (const { project, instances } of entry.limits ?? []) limits.set(project, instances);
  }
  const work: Work[] = [...inForce.values()]
    .filter(({ project, rule }) => host.view(project).instance('alertRule', rule)?.final)
    .map((rule) => ({ kind: 'rule', ...rule }));
  for (const project of host.projects()) {
    const marked = limits.get(project);
    if (marked !== undefined && marked !== limitsOf(host.view(project)).instances) {
      work.push({ kind: 'limits', project });
    }
    const retired = (await retiredVms(host.view(project))).filter(
      ({ vm, generation, atMs }) =>
        atMs > clock.now() - RETIREMENT_MARKED_MS &&
        generation > (generations.get(`${project}/${vm}`) ?? 0),
    );
    if (retired.length > 0) work.push({ kind: 'vms', project, retired });
  }
  return work;
}

async function keep(deps: RuleKeeperDeps, work: Work, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await keepOnce(deps, work);
      return;
    } catch (error) {
      if (!isRetryable(error)) throw error;
      await pause(deps.clock, RETRY_MS, signal);
    }
  }
}

async function keepOnce(deps: RuleKeeperDeps, work: Work): Promise<void> {
  const { host, stream, clock } = deps;
  const { project } = work;
  const mark = (entry: LogEntry) => appendEntry(stream, partitionOf(project), entry);
  switch (work.kind) {
    case 'rule':
      return keepRule(deps, work, mark);
    case 'limits':
      await mark(limitsMarker(host.view(project), clock.now()));
      return;
    case 'vms':
      await mark(retirementMarker(work.retired, clock.now()));
      await retireInstances(host, project);
  }
}

async function keepRule(
  { host, clock }: RuleKeeperDeps,
  { project, rule }: { readonly project: string; readonly rule: string },
  mark: (entry: LogEntry) => Promise<unknown>,
): Promise<void> {
  const view = host.view(project);
  const row = view.instance('alertRule', rule);
  if (!row) throw new Error(`A commit moved the rule ${rule}, which has no row`);
  const { retiredThroughRevision, spec, version } = row.context;
  const reason = row.final ? undefined : whyNot(spec);
  if (row.value === 'pendingApplication' && reason !== undefined) {
    // The version evaluated before ends too: a failed rule is not evaluated.
    await mark(withoutRule(project, row, clock.now()));
    await fail(host, { project, rule, version, reason });
  } else if (row.final || row.value === 'pendingApplication') {
    await mark({ ...limitsMarker(view, clock.now()), ...ruleMarker(project, row, clock.now()) });
  }
  if (row.final || retiredThroughRevision > 0) await retireInstances(host, project, rule);
  if (row.value === 'active') await adoptRepeatInterval(host, project, rule);
}

/** The reason this version cannot evaluate a rule that another version accepted. */
function whyNot({ metricId, operator }: AlertRuleSpec): string | undefined {
  if (!EVALUATED_METRICS.has(metricId)) return 'UNKNOWN_METRIC';
  return OPERATORS.some((known) => known === operator) ? undefined : 'UNKNOWN_OPERATOR';
}

/** Ends the evaluation of the version before the failed one. */
function withoutRule(project: string, row: Instance<'alertRule'>, atMs: number): LogEntry {
  const context = row.context;
  const evaluationRevision = context.evaluationRevision - 1;
  const removals = [{ project, rule: row.instance, evaluationRevision }];
  return { kind: 'rules', atMs, upserts: [], removals };
}

function fail(
  host: Host,
  failed: {
    readonly project: string;
    readonly rule: string;
    readonly version: number;
    readonly reason: string;
  },
): Promise<unknown> {
  const { project, rule, version, reason } = failed;
  return host.submit({
    project,
    by: { kind: 'service', name: 'rules' },
    decide(draft) {
      draft.send('alertRule', rule, { type: 'applicationFailed', at: draft.at, version, reason });
    },
  });
}
