/**
 * The knowledge of a live node besides rows: which VMs are registered, which were retired, and, with
 * each tick, whether many of them fell silent together. A recorded log has the last two itself; rows
 * alone do not, so they are taken for VMs of one data center.
 */
import { VmLiveness } from '../../actors/alerting/evaluator/vm-liveness.ts';
import type { Draft } from '../../actors/platform/host/host-port.ts';
import type { VmBody } from '../../actors/vms/vm-directory.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import type { LogEntry, RetiredVm } from '../../streams/telemetry/entry.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import type { ReplayNode } from './node.ts';
import { LIVE_INTERVAL_MS } from './replay-log.ts';

/** Name of the data center that all VMs of a replay are in. */
const REPLAY_DATACENTER = 'replay';
/** VMs registered by one commit. */
const BATCH = 200;

export interface Surroundings {
  /**
   * The entry as the log would have had it: ticks with their liveness report. To be called once for
   * each, before it is folded.
   */
  complete(entry: LogEntry, state: EvaluationState): LogEntry;
  /** Registers the VMs that the entry retires or brings back. To be called after it is decided. */
  follow(entry: LogEntry): Promise<void>;
}

/** Registers the VMs of the entries, and follows what becomes of them. */
export async function surround(
  node: ReplayNode,
  project: string,
  entries: readonly LogEntry[],
): Promise<Surroundings> {
  const liveness = new VmLiveness(node.host);
  await liveness.load();
  const vms = [...vmsOf(project, entries)];
  for (let start = 0; start < vms.length; start += BATCH) {
    await node.submit((draft) => {
      for (const id of vms.slice(start, start + BATCH)) register(draft, id, {});
    });
  }
  const hasReports = entries.some((entry) => entry.kind === 'tick' && entry.livenessReport);
  const gone = new Map<string, RetiredVm>();
  return {
    complete(entry, state) {
      if (hasReports) return entry;
      const whole = withLivenessReport(liveness, project, entry, state);
      liveness.note(whole);
      return whole;
    },
    async follow(entry) {
      if (entry.kind === 'rules' && entry.retired) await retire(node, entry.retired, gone);
      if (entry.kind === 'batch' && gone.size > 0) await takeBack(node, entry.batch, gone);
    },
  };
}

function register(draft: Draft, id: string, more: Partial<VmBody>): void {
  const body: VmBody = {
    ...{ displayName: id, datacenter: REPLAY_DATACENTER },
    ...{ expandedMonitoring: false, registeredMs: draft.at },
    ...more,
  };
  draft.putRecord({ kind: 'vm', id, body: { ...body } });
}

/** Their instances are retired by the node, as by the part that follows records live. */
async function retire(
  node: ReplayNode,
  retired: readonly RetiredVm[],
  gone: Map<string, RetiredVm>,
): Promise<void> {
  await node.submit((draft) => {
    for (const { vm, generation, atMs } of retired) {
      register(draft, vm, { generation, generationMs: atMs, retiredMs: atMs });
    }
  });
  for (const one of retired) gone.set(one.vm, one);
  await node.retireInstances();
}

/** A retired VM that is observed again is registered as a new one. */
async function takeBack(
  node: ReplayNode,
  { vms }: SampleBatch,
  gone: Map<string, RetiredVm>,
): Promise<void> {
  const back = vms.map(({ vm }) => gone.get(vm)).filter((one) => one !== undefined);
  if (back.length === 0) return;
  await node.submit((draft) => {
    for (const { vm, generation, atMs } of back) {
      register(draft, vm, { generation, generationMs: atMs });
    }
  });
  for (const { vm } of back) gone.delete(vm);
}

function withLivenessReport(
  liveness: VmLiveness,
  project: string,
  entry: LogEntry,
  state: EvaluationState,
): LogEntry {
  if (entry.kind !== 'tick') return entry;
  const outages = liveness.outages(entry.atMs, LIVE_INTERVAL_MS);
  const facts = state.projects.get(project)?.facts;
  if (!outages || !facts) return entry;
  const placed = [...liveness.unplaced(project, facts, Number.POSITIVE_INFINITY)];
  return { ...entry, livenessReport: { outages, placed, clockAhead: [] } };
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
