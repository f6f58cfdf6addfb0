/**
 * A checkpoint taken between any two entries of any log, and folded with the entries after it, gives
 * the edges and the state of the whole fold. States are compared as text over all of their fields,
 * except caches, and by the bytes of their own checkpoints.
 */
import fc from 'fast-check';
import { test } from 'tap';
import {
  decodeEdges,
  encodeEdges,
} from '../../streams/alerting/evaluation/checkpoint/checkpoint-codec.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import type { Edge, LogEntry } from '../../streams/telemetry/entry.ts';
import { OMISSIONS } from '../support/checkpoint-omissions.ts';
import { checkpointOf, differingParts, restored } from '../support/checkpoints.ts';
import { type Partition, partitions } from '../support/evaluation-partition.ts';
import { assertSameText, textOf, textOfState } from '../support/evaluation-state.ts';
import { beginState, endBacklog, PartitionFold } from '../support/partition-fold.ts';
import { isFullRun, occurrences, tries } from '../support/tries.ts';

const SEED = 20_261_128;

/** Edges of an entry, those of each instance in their order: the order of instances is free. */
function textOfEdges(edges: readonly Edge[]): string {
  const texts = edges.map((edge) => [textOf(edge.key), textOf(edge)] as const);
  return texts
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, text]) => text)
    .join('\n');
}

/** A fold of the partition's log up to `liveAt`, where its start ends, and on to `cut`. */
function foldTo({ seed, log }: Partition, liveAt: number, cut: number): PartitionFold {
  const fold = new PartitionFold(log, beginState(seed));
  for (let i = 0; i <= cut; i++) {
    if (i === liveAt) endBacklog(fold.state);
    if (i < cut) fold.step();
  }
  return fold;
}

test('EVAL-18: a restart from a checkpoint at every position changes nothing', async () => {
  const property = fc.property(partitions(60), fc.nat(), (partition, place) => {
    const { log } = partition;
    const liveAt = place % 4 === 0 ? place % log.length : 0;
    const whole = foldTo(partition, liveAt, liveAt);
    const restarted = foldTo(partition, liveAt, liveAt);
    for (let i = liveAt; i < log.length; i++) {
      restarted.state = restored(checkpointOf(restarted.state));
      assertSameText(textOfEdges(restarted.step()), textOfEdges(whole.step()), `edges of ${i}`);
    }
    assertSameText(textOfState(restarted.state), textOfState(whole.state), 'states at the end');
  });
  fc.assert(property, { seed: SEED, numRuns: tries(100, 15) });
});

/** What the checkpoints of a run held, and what happened after them. */
class Met {
  readonly #counts = new Map<string, number>();

  count(what: string, isMet: boolean): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + (isMet ? 1 : 0));
  }

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  state(state: EvaluationState): void {
    const projects = [...state.projects.values()];
    const buffers = projects.flatMap(({ vms }) =>
      [...vms.values()].flatMap((vm) => [...vm.buffers.values()]),
    );
    const instances = buffers.flatMap((buffer) => buffer.instances);
    const counted = {
      'unevaluated instances': projects.some(({ unevaluated }) => unevaluated.size > 0),
      'paused rules': state.paused.size > 0,
      seeds: state.seeds.length > 0,
      outages: (state.outages?.size ?? 0) > 0,
      'a blind window': state.blind !== undefined,
      'retired VMs': [...state.retired.values()].some(({ size }) => size > 0),
      'a later generation': buffers.some(({ generation }) => generation !== undefined),
      'suppressed stretches': buffers.some(({ suppressed }) => suppressed.length > 0),
      'settled rows': buffers.some(({ settledRows }) => settledRows > 0),
      'values without their rows': buffers.some(
        ({ metricId, values }) => metricId.startsWith('disk') && !Number.isNaN(values[0]),
      ),
      windows: instances.some(({ window }) => window !== undefined),
      'past runs': instances.some(({ pastRuns }) => pastRuns !== undefined),
      'open incidents': state.open.size > 0,
      'decided incidents': instances.some(({ decided }) => decided !== undefined),
      'corrected incidents': instances.some(({ reported }) =>
        reported?.incidents.some(({ corrected }) => corrected),
      ),
      'missing data': instances.some(({ reported }) => reported?.missing !== undefined),
      'unreported firings': instances.some(({ unreported }) => unreported !== undefined),
      failures: instances.some(({ failure }) => failure !== undefined),
      'held VMs': instances.some(({ held }) => held !== undefined),
    };
    for (const [what, isMet] of Object.entries(counted)) this.count(what, isMet);
  }

  /** An entry after the checkpoint. `newestMs`: newest observation of each VM in it. */
  entry(entry: LogEntry, newestMs: ReadonlyMap<string, number>): void {
    if (entry.kind !== 'batch') return;
    const { batch } = entry;
    for (let i = 0; i < batch.count; i++) {
      const { project, vm } = batch.vms[batch.vm[i] ?? 0] ?? {};
      const known = newestMs.get(`${project}/${vm}`) ?? Number.NEGATIVE_INFINITY;
      this.count(
        'rows later than newer ones of the checkpoint',
        (batch.observedMs[i] ?? 0) < known,
      );
    }
  }

  edges(edges: readonly Edge[], cutMs: number): void {
    for (const edge of edges) {
      this.count(edge.kind, true);
      this.count(
        'corrections of firings before',
        edge.kind === 'corrected' && edge.startedMs < cutMs,
      );
      this.count('fired for a data center', edge.kind === 'fired' && edge.held !== undefined);
      this.count('fired in the past', edge.kind === 'fired' && !edge.notify);
    }
  }
}

function newestOf({ facts }: EvaluationState): Map<string, number> {
  const newest = new Map<string, number>();
  for (const [project, vms] of facts) {
    for (const [vm, { newestMs }] of vms) newest.set(`${project}/${vm}`, newestMs);
  }
  return newest;
}

test('EVAL-18: a checkpoint at any position, and the tail, decide like the whole log', async (t) => {
  const met = new Met();
  const property = fc.property(partitions(), fc.nat(), fc.nat(), (partition, cutAt, place) => {
    const { log } = partition;
    const cut = cutAt % (log.length + 1);
    const liveAt = place % 4 === 0 ? place % (cut + 1) : 0;
    const whole = foldTo(partition, liveAt, cut);
    const checkpoint = checkpointOf(whole.state);
    const state = restored(checkpoint);
    assertSameText(textOfState(state), textOfState(whole.state), `states at ${cut}`);
    assertSameText(differingParts(checkpointOf(state), checkpoint).join(), '', `parts at ${cut}`);
    met.state(state);
    // The order of VMs has no effect.
    const shuffled = checkpoint.vms.toSorted((a, b) => (a.vm > b.vm ? -1 : 1));
    const rest = new PartitionFold(log, restored({ ...checkpoint, vms: shuffled }), cut);
    const newestMs = newestOf(whole.state);
    const { nowMs } = whole.state;
    for (const [i, entry] of log.slice(cut).entries()) {
      const edges = rest.step();
      assertSameText(textOfEdges(edges), textOfEdges(whole.step()), `edges of ${cut + i}`);
      assertSameText(textOf(decodeEdges(encodeEdges(edges))), textOf(edges), 'edges restored');
      met.entry(entry, newestMs);
      met.edges(edges, nowMs);
    }
    assertSameText(textOfState(rest.state), textOfState(whole.state), 'states at the end');
    const differing = differingParts(checkpointOf(rest.state), checkpointOf(whole.state));
    // A data center holds its VMs in their order.
    const others = differing.filter((name) => !name.endsWith('/'));
    assertSameText(others.join(), '', 'parts at the end');
  });
  fc.assert(property, { seed: SEED, numRuns: tries(300, 80) });
  // Without these, the property would show nothing about them.
  const least = Math.max(1, occurrences(5));
  for (const [what, count] of met.counts) t.ok(count >= least, `${what}: ${count}`);
});

/** Logs, each with a position to cut it at, often before a marker, where leases and pauses matter. */
function* cutLogs(): Generator<{ readonly partition: Partition; readonly cut: number }> {
  // The rarest omissions need hundreds of logs.
  for (let i = 0; i < (isFullRun() ? 80 : 3); i++) {
    const some = fc.sample(fc.tuple(partitions(), fc.nat()), { seed: SEED + i, numRuns: 20 });
    for (const [partition, place] of some) {
      const { log } = partition;
      const cut = place % log.length;
      const marker = log.findIndex(({ kind }, at) => kind === 'rules' && at >= cut);
      yield { partition, cut: place % 2 === 0 && marker >= 0 ? marker : cut };
    }
  }
}

test('the codec omits nothing relevant: each omission changes edges', async (t) => {
  const left = new Map(Object.entries(OMISSIONS));
  for (const { partition, cut } of cutLogs()) {
    if (left.size === 0) break;
    const { log } = partition;
    const whole = foldTo(partition, 0, cut);
    const checkpoint = checkpointOf(whole.state);
    const expected = log.slice(cut).map(() => textOfEdges(whole.step()));
    for (const [name, omit] of left) {
      const state = restored(checkpoint);
      omit(state);
      const rest = new PartitionFold(log, state, cut);
      if (expected.some((edges) => textOfEdges(rest.step()) !== edges)) left.delete(name);
    }
  }
  const most = isFullRun() ? 0 : 12;
  t.ok(left.size <= most, `not found by their edges: ${[...left.keys()].join(', ')}`);
});
