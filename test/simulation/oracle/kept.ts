/**
 * Invariants of storage: everything acknowledged is stored exactly once, and nothing else is
 * stored.
 */
import type { SampleBatch } from '../../../streams/telemetry/samples/batch.ts';
import { sayingOf } from '../outbox.ts';
import type { Run } from '../run.ts';
import type { Facts } from './facts.ts';
import type { Problem } from './problem.ts';

export function* lostOrMadeUp(run: Run, facts: Facts): Generator<Problem> {
  yield* samples(run, facts);
  yield* requests(run, facts);
}

/** Entries stored this late may be applied only by the next process, ms. */
const LAST_MS = 120_000;

function* samples({ outboxes, cluster, world }: Run, { entries }: Facts): Generator<Problem> {
  const sent = new Set(outboxes.flatMap((outbox) => [...outbox.sent]));
  const found = new Set<string>();
  for (const { sequence, elapsedMs: atMs, entry } of entries) {
    for (const { name, machine } of cluster.members) {
      if (atMs >= world.elapsedMs - LAST_MS || machine.history.has(sequence)) continue;
      if (machine.history.isExcused(sequence)) continue;
      const text = `history of ${name} never received entry ${sequence}`;
      yield { invariant: 'nothing acknowledged is lost', text, atMs };
    }
    if (entry.kind !== 'batch') continue;
    for (const saying of sayingsOf(entry.batch)) {
      found.add(saying);
      if (sent.has(saying)) continue;
      yield { invariant: 'nothing is made up', text: `no collector has sent ${saying}`, atMs };
    }
  }
  for (const { project, row, elapsedMs: atMs } of outboxes.flatMap((each) => each.acknowledged)) {
    const saying = sayingOf(project, row);
    if (found.has(saying)) continue;
    const text = `the log lacks ${saying}, which was acknowledged`;
    yield { invariant: 'nothing acknowledged is lost', text, atMs };
  }
}

function* sayingsOf(batch: SampleBatch): Generator<string> {
  for (let i = 0; i < batch.count; i++) {
    const { project, vm } = batch.vms[batch.vm[i] ?? 0] ?? { project: '', vm: '' };
    const series = batch.layouts[batch.layout[i] ?? 0]?.series ?? [];
    const values = batch.values.slice(batch.valueOffset[i], batch.valueOffset[i + 1]);
    const observedMs = batch.observedMs[i] ?? 0;
    yield sayingOf(project, { vm, observedMs, state: batch.state[i] ?? 0, series, values });
  }
}

function* requests({ people }: Run, facts: Facts): Generator<Problem> {
  const invariant = 'nothing acknowledged is lost';
  const keyOf = (project: string, id: string) => `${project} ${id}`;
  const recorded = Map.groupBy(facts.requests, ({ project, id }) => keyOf(project, id));
  for (const { project, requestId, what, sequence, elapsedMs: atMs } of people.flatMap(
    (p) => p.done,
  )) {
    const found = recorded.get(keyOf(project, requestId)) ?? [];
    if (found.length === 1 && found[0]?.sequence === sequence) continue;
    const where = found.map((each) => each.sequence).join(', ') || 'nowhere';
    const text = `${requestId} (${what}) was answered with ${sequence} but is at ${where}`;
    yield { invariant, text, atMs };
  }
}
