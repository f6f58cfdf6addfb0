/**
 * The rule keeper: appends the log markers that rows require (a pending rule with the current
 * limit, a new limit, a retired VM), and retires outdated instances, for the projects that this
 * member acts for. Everything is derived from rows: from all of them at the start and whenever the
 * member starts to act for more projects, then from those that a commit changes. So no crash, of
 * this member or another, loses anything.
 */
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Commit } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause, Sleep } from '../../streams/platform/pause.ts';
import { partitionOf, type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import { OPERATORS, type RetiredVm, type RulesEntry } from '../../streams/telemetry/entry.ts';
import { EVALUATED_METRICS } from '../../streams/telemetry/metrics/catalogue.ts';
import type { Host, Instance } from '../platform/host/host-port.ts';
import { endedInstances, liveInstances } from '../platform/host/live-instances.ts';
import { LIMITS_KIND, limitsMarker, limitsOf } from '../platform/project-limits.ts';
import { isRetryable } from '../platform/retryable.ts';
import { appendEntry, pastMarkers } from '../telemetry/sample-log.ts';
import { adoptRepeatInterval, retireInstances, rulesWithStaleInstances } from './rule-instances.ts';
import { retiredVmOf, retiredVms, retirementMarker, ruleMarker } from './rule-markers.ts';

/**
 * Rows on one side, the sample log on the other. The rule keeper transfers from one to the other.
 */
export interface RuleKeeperDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly ownership: Ownership;
}

/** Wait after the stream has not answered, ms. */
const RETRY_MS = 500;
/** Interval between checks whether work that was left to others now belongs to this member, ms. */
const LEFT_MS = 2_000;
/** Age after which the evaluator knows a retired VM from its record, ms. */
const RETIREMENT_MARKED_MS = 86_400_000;
/**
 * Age of a deletion after which the member that acted then has marked it, or has long been
 * replaced, ms.
 */
const DELETION_MARKED_MS = 3_600_000;

type Work = { readonly project: string } & (
  | { readonly kind: 'rule'; readonly rule: string }
  | { readonly kind: 'limits' }
  | { readonly kind: 'vms'; readonly retired: readonly RetiredVm[] }
);

/** Runs until `signal`. Rejects on a fault that a restart may fix. */
export async function keepRules(deps: RuleKeeperDeps, signal: AbortSignal): Promise<void> {
  const waiting: Work[] = [];
  const idle = new Sleep(deps.clock);
  // Projects whose work was left to their owner, which is this member if it was only briefly not
  // the owner.
  const left = new Set<string>();
  // A change while projects are being read counts too, because they may have been the wrong ones.
  let isIncomplete = true;
  const undo = [
    deps.host.onApplied(({ commit }) => {
      waiting.push(...workOf(commit));
      idle.wake();
    }),
    deps.ownership.onChange(() => {
      isIncomplete = true;
      idle.wake();
    }),
  ];
  try {
    while (!signal.aborted) {
      if (isIncomplete || [...left].some(deps.ownership.owns)) {
        isIncomplete = false;
        left.clear();
        waiting.push(...(await outstandingRules(deps)), ...(await unmarked(deps)));
      }
      const work = waiting.shift();
      if (!work && isIncomplete) continue;
      if (!work) await idle.pause(left.size > 0 ? LEFT_MS : Number.POSITIVE_INFINITY, signal);
      else if (!(await keep(deps, work, signal))) left.add(work.project);
    }
  } finally {
    for (const end of undo) end();
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
      // Records of this kind are always written as `VmBody`.
      const vm = kind === 'vm' ? body : null;
      const one = vm?.retiredMs === undefined ? undefined : retiredVmOf(project, id, vm);
      if (one) retired.push(one);
    }
  }
  if (retired.length > 0) work.push({ kind: 'vms', project, retired });
  return work;
}

async function outstandingRules({ host, ownership }: RuleKeeperDeps): Promise<Work[]> {
  const work: Work[] = [];
  for (const project of host.projects().filter(ownership.owns)) {
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

/**
 * Work whose marker a crash lost: deleted rules that are still active, retired VMs, limits. The log
 * may have lost the marker of such a rule; evaluators that have run since then still follow it.
 */
async function unmarked({ host, stream, clock, ownership }: RuleKeeperDeps): Promise<Work[]> {
  const inForce = new Map<string, boolean>();
  const generations = new Map<string, number>();
  const limits = new Map<string, number>();
  for await (const entry of pastMarkers(stream)) {
    for (const { project, rule } of entry.upserts) inForce.set(`${project}/${rule}`, true);
    for (const { project, rule } of entry.removals) inForce.set(`${project}/${rule}`, false);
    for (const { project, vm, generation } of entry.retired ?? []) {
      generations.set(`${project}/${vm}`, generation);
    }
    for (const { project, instances } of entry.limits ?? []) limits.set(project, instances);
  }
  const work: Work[] = [];
  for (const project of host.projects().filter(ownership.owns)) {
    for await (const { instance: rule, context } of endedInstances(
      host.view(project),
      'alertRule',
    )) {
      const isNew = context.updatedMs > clock.now() - DELETION_MARKED_MS;
      if (inForce.get(`${project}/${rule}`) ?? isNew) work.push({ kind: 'rule', project, rule });
    }
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

/** Returns false if this member does not act for the project and has not done the work. */
async function keep(deps: RuleKeeperDeps, work: Work, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted && deps.ownership.owns(work.project)) {
    try {
      await keepOnce(deps, work);
      return true;
    } catch (error) {
      if (!isRetryable(error)) throw error;
      await pause(deps.clock, RETRY_MS, signal);
    }
  }
  return false;
}

async function keepOnce(deps: RuleKeeperDeps, work: Work): Promise<void> {
  const { host, stream, clock, ownership } = deps;
  const { project } = work;
  const partition = partitionOf(project);
  const epoch = ownership.epochOf(partition);
  if (epoch === undefined) throw new StreamUnavailable('Another member may act for it', 'refused');
  const mark = (entry: RulesEntry) =>
    appendEntry(stream, partition, { ...entry, ...(epoch > 0 && { epoch }) });
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
  mark: (entry: RulesEntry) => Promise<unknown>,
): Promise<void> {
  const view = host.view(project);
  const row = view.instance('alertRule', rule);
  if (!row) throw new Error(`A commit changed the rule ${rule}, which has no row`);
  const { retiredThroughRevision, spec, version } = row.context;
  const reason = row.final ? undefined : whyNot(spec);
  if (row.value === 'pendingApplication' && reason !== undefined) {
    // The previously evaluated version ends too, because a failed rule is not evaluated.
    await mark(withoutRule(project, row, clock.now()));
    await fail(host, { project, rule, version, reason });
  } else if (row.final || row.value === 'pendingApplication') {
    await mark({ ...limitsMarker(view, clock.now()), ...ruleMarker(project, row, clock.now()) });
  }
  if (row.final || retiredThroughRevision > 0) await retireInstances(host, project, rule);
  if (row.value === 'active') await adoptRepeatInterval(host, project, rule);
}

/** The reason why this version cannot evaluate a rule that another version accepted. */
function whyNot({ metricId, operator }: AlertRuleSpec): string | undefined {
  if (!EVALUATED_METRICS.has(metricId)) return 'UNKNOWN_METRIC';
  return OPERATORS.some((known) => known === operator) ? undefined : 'UNKNOWN_OPERATOR';
}

/** Ends the evaluation of the version before the failed one. */
function withoutRule(project: string, row: Instance<'alertRule'>, atMs: number): RulesEntry {
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
