/**
 * What a live node knows besides rows and a recording of rows does not have: that its VMs are
 * registered, all in one data center, and, with each tick, whether many of them fell silent
 * together. A recorded log has told that itself.
 */
import { Fleet } from '../../actors/evaluator-fleet.ts';
import type { VmBody } from '../../actors/vm-registry.ts';
import type { LogEntry } from '../../streams/evaluation/entry.ts';
import type { EvaluationState } from '../../streams/evaluation/state.ts';
import type { ReplayNode } from './node.ts';
import { LIVE_INTERVAL_MS } from './replay-log.ts';

/** Name of the data center that all VMs of a replay are in. */
const REPLAY_DATACENTER = 'replay';
/** VMs registered by one commit. */
const BATCH = 200;

/** Gives ticks what a live node would have written into them. */
export interface Surroundings {
  /** The entry as the log would have had it. To be called once for each, before it is folded. */
  complete(entry: LogEntry, state: EvaluationState): LogEntry;
}

/** Registers the VMs of the entries and takes their census from there on. */
export async function surround(
  node: ReplayNode,
  project: string,
  entries: readonly LogEntry[],
): Promise<Surroundings> {
  if (entries.some((entry) => entry.kind === 'tick' && entry.census)) {
    return { complete: (entry) => entry };
  }
  const fleet = new Fleet(node.host);
  await fleet.load();
  const vms = [...vmsOf(project, entries)];
  for (let start = 0; start < vms.length; start += BATCH) {
    await node.submit((draft) => {
      for (const id of vms.slice(start, start + BATCH)) {
        const body: VmBody = {
          ...{ displayName: id, datacenter: REPLAY_DATACENTER },
          ...{ expandedMonitoring: false, registeredMs: draft.at },
        };
        draft.putRecord({ kind: 'vm', id, body: { ...body } });
      }
    });
  }
  return {
    complete(entry, state) {
      const whole = withCensus(fleet, project, entry, state);
      fleet.note(whole);
      return whole;
    },
  };
}

function withCensus(
  fleet: Fleet,
  project: string,
  entry: LogEntry,
  state: EvaluationState,
): LogEntry {
  if (entry.kind !== 'tick') return entry;
  const outages = fleet.outages(entry.atMs, LIVE_INTERVAL_MS);
  const facts = state.projects.get(project)?.facts;
  if (!outages || !facts) return entry;
  const placed = [...fleet.unplaced(project, facts, Number.POSITIVE_INFINITY)];
  return { ...entry, census: { outages, placed, clockAhead: [] } };
}

function vmsOf(project: string, entries: readonly LogEntry[]): Set<string> {
  return new Set(
    entries.flatMap((entry) =>
      entry.kind === 'batch'
        ? entry.batch.vms.filter((ref) => ref.project === project).map(({ vm }) => vm)
        : [],
    ),
  );
}
