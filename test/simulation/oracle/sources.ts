/**
 * At most one of two collectors of a VM is stored at any time. Judged by the rows that the
 * collectors sent, the log, and the committed take-overs.
 */

import { VM_STATES } from '../../../streams/telemetry/samples/batch.ts';
import { originOf } from '../../../streams/telemetry/samples/boot.ts';
import type { HostPair } from '../host-pair.ts';
import { sayingOf } from '../outbox.ts';
import type { Run } from '../run.ts';
import type { Fact, Facts } from './facts.ts';
import type { Problem } from './problem.ts';

/** Maximum time until a take-over is known to every other member, ms. */
const KNOWN_MS = 30_000;
/** Silence after which a source counts as gone, ms. */
const SILENT_MS = 90_000;
/** Deviation from that by clocks, transport and reading of a row, ms. */
const SILENCE_SLACK_MS = 25_000;

/** A row of the VM in the log. */
interface StoredRow {
  readonly side: number;
  readonly observedMs: number;
  readonly elapsedMs: number;
  readonly state: string;
  readonly boot: string;
}

/** Period in which one source was the VM's. */
interface Turn {
  readonly source: string;
  /** Times at which this commit and the next one were stored, elapsed ms. */
  readonly fromMs: number;
  untilMs: number;
  readonly fact: Fact;
}

export function* wrongSources(run: Run, facts: Facts): Generator<Problem> {
  for (const pair of run.pairs) {
    const rows = rowsOf(pair, facts);
    const turns = turnsOf(pair, facts);
    yield* strangers(pair, rows, turns);
    yield* increases(pair, rows);
    yield* downs(pair, rows, turns);
    yield* hasty(run, pair, { rows, turns });
  }
}

const problem = (pair: HostPair, text: string, atMs: number): Problem => ({
  invariant: 'one source reports a VM',
  text: `${pair.vm} (${pair.story}): ${text}`,
  atMs,
});

function rowsOf({ project, vm, sides }: HostPair, { entries }: Facts): StoredRow[] {
  const rows: StoredRow[] = [];
  const seen = new Set<string>();
  for (const { entry, elapsedMs } of entries) {
    if (entry.kind !== 'batch') continue;
    const { batch } = entry;
    for (let i = 0; i < batch.count; i++) {
      const ref = batch.vms[batch.vm[i] ?? 0];
      if (ref?.project !== project || ref.vm !== vm) continue;
      const series = batch.layouts[batch.layout[i] ?? 0]?.series ?? [];
      const values = batch.values.slice(batch.valueOffset[i], batch.valueOffset[i + 1]);
      const observedMs = batch.observedMs[i] ?? 0;
      const state = batch.state[i] ?? 0;
      const saying = sayingOf(project, { vm, observedMs, state, series, values });
      const side = sides.findIndex(({ outbox }) => outbox.sent.has(saying));
      // A batch that was sent again says nothing new.
      if (side < 0 || seen.has(saying)) continue;
      seen.add(saying);
      const boot = batch.strings[batch.boot[i] ?? 0] ?? '';
      rows.push({ side, observedMs, elapsedMs, state: VM_STATES[state] ?? 'UNKNOWN', boot });
    }
  }
  return rows.sort((a, b) => a.observedMs - b.observedMs);
}

function turnsOf({ project, vm }: HostPair, { steps }: Facts): Turn[] {
  const turns: Turn[] = [];
  for (const fact of steps) {
    const { machine, context } = fact.step;
    if (machine !== 'vmSource' || fact.project !== project || context.vm !== vm) continue;
    const before = turns.at(-1);
    if (
      before?.source === String(context.source) &&
      before.fact.step.context.turn === context.turn
    ) {
      continue;
    }
    if (before) before.untilMs = fact.elapsedMs;
    turns.push({
      source: String(context.source),
      fromMs: fact.decidedMs,
      untilMs: Number.POSITIVE_INFINITY,
      fact,
    });
  }
  return turns;
}

/** Every stored row is from the source whose turn it was. */
function* strangers(
  pair: HostPair,
  rows: readonly StoredRow[],
  turns: readonly Turn[],
): Generator<Problem> {
  for (const { side, elapsedMs, observedMs } of rows) {
    const name = pair.sides[side]?.reach.name;
    const own = turns.filter(({ source }) => source === name);
    const isIn = own.some(
      (turn) => elapsedMs >= turn.fromMs && elapsedMs <= turn.untilMs + KNOWN_MS,
    );
    // A delayed row of an earlier source is stored if it was observed before the next turn began.
    const isOld = own.some(({ fact }) => {
      const next = turns[turns.findIndex((turn) => turn.fact === fact) + 1];
      return next !== undefined && observedMs < Number(next.fact.step.context.sinceMs);
    });
    if (isIn || isOld) continue;
    yield problem(
      pair,
      `a row of ${name} at ${observedMs} is stored although it is not the source`,
      elapsedMs,
    );
  }
}

/** No counter continues from one source to the other. */
function* increases(pair: HostPair, rows: readonly StoredRow[]): Generator<Problem> {
  const running = rows.filter(({ state }) => state === 'RUNNING');
  for (const [i, row] of running.entries()) {
    const before = running[i - 1];
    if (!before || before.side === row.side) continue;
    if (originOf(before.boot) !== originOf(row.boot)) continue;
    const text = `counters of two hosts are one run at ${row.observedMs}`;
    yield problem(pair, text, row.elapsedMs);
  }
}

/** It went down as often as it really did, and once more for each real silence of its source. */
function* downs(
  pair: HostPair,
  rows: readonly StoredRow[],
  turns: readonly Turn[],
): Generator<Problem> {
  const isDown = ({ state }: StoredRow): boolean => state === 'CRASHED' || state === 'STOPPED';
  let count = 0;
  for (const [i, row] of rows.entries()) {
    const before = rows[i - 1];
    if (isDown(row) && (!before || !isDown(before))) count++;
  }
  const silent = turns.filter(({ fact }) => fact.step.context.reason !== null).length;
  // Its first source may have been the host on which it is off.
  const most = pair.downs + silent + 1;
  if (count <= most) return;
  yield problem(pair, `it is down ${count} times, at most ${most} are allowed`, 0);
}

/**
 * No source is replaced for silence while it is heard, and none for its copy twice within three
 * intervals.
 */
function* hasty(
  { cluster }: Run,
  pair: HostPair,
  { rows, turns }: { readonly rows: readonly StoredRow[]; readonly turns: readonly Turn[] },
): Generator<Problem> {
  for (const [i, { fact }] of turns.entries()) {
    const before = turns[i - 1];
    const { reason, sinceMs } = fact.step.context;
    if (!before) continue;
    const { context } = before.fact.step;
    const isBack = turns[i - 2]?.source === fact.step.context.source;
    if (reason === 'RUNS_ELSEWHERE' && context.reason === reason && isBack) {
      if (Number(sinceMs) - Number(context.sinceMs) < SILENT_MS) {
        yield problem(pair, 'two hosts take the VM from each other', fact.elapsedMs);
      }
    }
    if (reason !== 'SILENT') continue;
    const member = cluster.members.find(({ name }) => fact.writer.startsWith(`${name}-`));
    if (!member?.isWellIn(fact.decidedMs - 2 * SILENT_MS, fact.decidedMs)) continue;
    const heard = rows.find(
      ({ side, elapsedMs, observedMs }) =>
        pair.sides[side]?.reach.name === before.source &&
        elapsedMs > fact.decidedMs - SILENT_MS + SILENCE_SLACK_MS &&
        elapsedMs < fact.decidedMs - SILENCE_SLACK_MS &&
        observedMs > Number(sinceMs) - SILENT_MS + SILENCE_SLACK_MS,
    );
    if (heard)
      yield problem(pair, `${before.source} was heard but counts as silent`, fact.elapsedMs);
  }
}
