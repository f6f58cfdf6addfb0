/**
 * Carries out what rule rows ask for: a rule that waits to be applied gets its marker into the
 * log, a changed, paused or deleted rule gets its instances retired. Both are derived from rows,
 * at the start for all rules and then for each that a commit moves, so a crash loses neither.
 */
import type { AlertRuleContext } from '../../machines/alert-rule.ts';
import type { Clock } from '../../streams/clock.ts';
import { pause } from '../../streams/pause.ts';
import { partitionOf, type Stream } from '../../streams/stream.ts';
import type { Host } from '../host-port.ts';
import { liveInstances } from '../live-instances.ts';
import { isPassing } from '../passing.ts';
import { appendEntry, pastEntries } from '../sample-log.ts';
import { retireInstances, rulesWithStaleInstances } from './retire.ts';
import { ruleMarker } from './rule-markers.ts';

export interface RuleKeeperDeps {
  readonly host: Host;
  readonly stream: Stream;
  readonly clock: Clock;
}

/** Wait after the stream did not answer, ms. */
const RETRY_MS = 500;

interface Work {
  readonly project: string;
  readonly rule: string;
}

/** Runs until `signal`; rejects on a fault that a fresh start may mend. */
export async function keepRules(deps: RuleKeeperDeps, signal: AbortSignal): Promise<void> {
  const waiting: Work[] = [];
  let wake = (): void => {};
  const undo = deps.host.onApplied(({ commit }) => {
    for (const { steps } of commit.decisions) {
      for (const { machine, instance } of steps) {
        if (machine === 'alertRule') waiting.push({ project: commit.project, rule: instance });
      }
    }
    wake();
  });
  const stop = (): void => wake();
  signal.addEventListener('abort', stop, { once: true });
  try {
    waiting.push(...(await outstandingRules(deps.host)), ...(await deletedButMarked(deps)));
    while (!signal.aborted) {
      const work = waiting.shift();
      if (work) await keepRule(deps, work, signal);
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal.removeEventListener('abort', stop);
    undo();
  }
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
    for (const rule of rules) work.push({ project, rule });
  }
  return work;
}

/** Deleted rules that the log still has in force: their last marker was lost with a crash. */
async function deletedButMarked({ host, stream }: RuleKeeperDeps): Promise<Work[]> {
  const inForce = new Map<string, Work>();
  for await (const { entry } of pastEntries(stream, { sequence: 1 }, { kind: 'rules' })) {
    if (entry.kind !== 'rules') continue;
    for (const { project, rule } of entry.upserts) {
      inForce.set(`${project}/${rule}`, { project, rule });
    }
    for (const { project, rule } of entry.removals) inForce.delete(`${project}/${rule}`);
  }
  return [...inForce.values()].filter(
    ({ project, rule }) => host.view(project).instance('alertRule', rule)?.final,
  );
}

async function keepRule(deps: RuleKeeperDeps, work: Work, signal: AbortSignal): Promise<void> {
  const row = deps.host.view(work.project).instance('alertRule', work.rule);
  if (!row) throw new Error(`A commit moved the rule ${work.rule}, which has no row`);
  const needsMarker = row.final || row.value === 'pendingApplication';
  const { retiredThroughRevision } = row.context as unknown as AlertRuleContext;
  while (!signal.aborted) {
    try {
      if (needsMarker) {
        const marker = ruleMarker(work.project, row, deps.clock.now());
        await appendEntry(deps.stream, partitionOf(work.project), marker);
      }
      if (row.final || retiredThroughRevision > 0) {
        await retireInstances(deps.host, work.project, work.rule);
      }
      return;
    } catch (error) {
      if (!isPassing(error)) throw error;
      await pause(deps.clock, RETRY_MS, signal);
    }
  }
}
