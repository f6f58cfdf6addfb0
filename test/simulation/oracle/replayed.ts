/**
 * A restart changes nothing: the decisions over all crashes and restarts equal those of one
 * evaluator that reads the same log once from start to end (EVAL-18), and a projection rebuilt from
 * the log of decisions equals the one that lived through the run.
 *
 * Firings, recoveries and corrections are compared in order, with the observations that decided
 * them. Silences are not: a silence that began and ended while no evaluator ran may go unreported.
 */
import { openInstanceStore } from '../../../sqlite/platform/control/instance-store.ts';
import { instanceIdOf } from '../../../streams/alerting/evaluation/notification-diff.ts';
import { decodeCommit } from '../../../streams/platform/commit/codec.ts';
import type { Edge } from '../../../streams/telemetry/entry.ts';
import { projectionOf } from '../../support/counting-node.ts';
import { evaluateLog } from '../../support/evaluation-log.ts';
import { emptyProjection } from '../machine.ts';
import type { Run } from '../run.ts';
import type { Entry, Facts } from './facts.ts';
import type { Problem } from './problem.ts';

export function* changedByRestarts(run: Run, facts: Facts): Generator<Problem> {
  yield* edges(facts, run.world.elapsedMs - LAST_MS);
  yield* projection(run);
}

interface Reported {
  readonly line: string;
  readonly elapsedMs: number;
}

/** Entries this late may be decided only by the next process, ms. */
const LAST_MS = 120_000;

function* edges(facts: Facts, decidedMs: number): Generator<Problem> {
  const expected = edgesOf(facts.entries);
  const onSilence = rulesOnSilence(facts.entries);
  const recorded = recordedEdges(facts, onSilence);
  const rules = rulesAtTheEnd(facts);
  for (const id of new Set([...expected.keys(), ...recorded.keys()])) {
    const should = expected.get(id)?.reported ?? [];
    const is = recorded.get(id)?.reported ?? [];
    const key = expected.get(id)?.key;
    if (key && facts.cutRules.has(`${key.rule} ${key.revision}`)) continue;
    // Decisions of a revision end where the next one starts.
    const isCut = recorded.get(id)?.isRetired || !key || rules.get(key.rule) !== key.revision;
    const count = isCut ? is.length : Math.max(is.length, should.length);
    for (let i = 0; i < count; i++) {
      if (is[i]?.line === should[i]?.line) continue;
      if (!is[i] && (should[i]?.elapsedMs ?? 0) > decidedMs) continue;
      const text =
        `${key?.rule} on ${key?.vm} (${id}): edge ${i + 1} was ${is[i]?.line}, a run without ` +
        `restarts has ${should[i]?.line}`;
      const atMs = (is[i] ?? should[i])?.elapsedMs ?? 0;
      yield { invariant: 'a restart changes nothing', text, atMs };
      break;
    }
  }
}

interface Expected {
  readonly key: { readonly rule: string; readonly revision: number; readonly vm: string };
  readonly reported: Reported[];
}

function edgesOf(entries: readonly Entry[]): Map<string, Expected> {
  const all = new Map<string, Expected>();
  const partitions = Map.groupBy(entries, ({ partition }) => partition);
  for (const own of partitions.values()) {
    const onSilence = rulesOnSilence(own);
    for (const [i, { edges }] of evaluateLog(own).entries()) {
      const elapsedMs = own[i]?.elapsedMs ?? 0;
      for (const edge of edges) {
        if (!EVENTS.has(eventOf(edge)) || onSilence.has(edge.key.rule)) continue;
        const id = instanceIdOf(edge.key);
        const { rule, evaluationRevision: revision, vm } = edge.key;
        const expected = all.get(id) ?? { key: { rule, revision, vm }, reported: [] };
        all.set(id, expected);
        expected.reported.push({ line: edgeLine(edge), elapsedMs });
      }
    }
  }
  return all;
}

/** Rules on silence depend on who listened and on what rows know of VMs, not on the log alone. */
function rulesOnSilence(entries: readonly Entry[]): Set<string> {
  const upserts = entries.flatMap(({ entry }) => (entry.kind === 'rules' ? entry.upserts : []));
  const found = upserts.filter(({ metricId }) => metricId === 'telemetry_age_seconds');
  return new Set(found.map(({ rule }) => rule));
}

/** Machine events of the compared edges. */
const EVENTS: ReadonlySet<string> = new Set(['sustained', 'recovered', 'corrected']);

function eventOf({ kind }: Edge): string {
  return kind === 'fired' ? 'sustained' : kind;
}

function edgeLine(edge: Edge): string {
  switch (edge.kind) {
    case 'fired':
      return line('sustained', edge.startedMs, edge.observedMs ?? edge.atMs, edge.notify);
    case 'recovered':
      return line('recovered', undefined, edge.observedMs ?? edge.atMs, edge.notify ?? true);
    default:
      return line(edge.kind);
  }
}

function line(...parts: readonly unknown[]): string {
  return parts.map((each) => (each === undefined ? '-' : String(each))).join(' ');
}

function recordedEdges({ steps }: Facts, onSilence: ReadonlySet<string>) {
  const all = new Map<string, { reported: Reported[]; isRetired: boolean }>();
  for (const { step, elapsedMs } of steps) {
    if (step.machine !== 'alertInstance') continue;
    if (onSilence.has(String(step.context.rule))) continue;
    const { event, instance } = step;
    const recorded = all.get(instance) ?? { reported: [], isRetired: false };
    all.set(instance, recorded);
    const { type, startedMs, observedMs, notify } = event;
    if (type === 'retired') recorded.isRetired = true;
    if (type === 'sustained' || type === 'recovered') {
      recorded.reported.push({ line: line(type, startedMs, observedMs, notify), elapsedMs });
    } else if (EVENTS.has(type)) recorded.reported.push({ line: line(type), elapsedMs });
  }
  return all;
}

/** Evaluation revision of each rule in force at the end. */
function rulesAtTheEnd({ steps }: Facts): Map<string, unknown> {
  const rules = new Map<string, unknown>();
  for (const { step } of steps) {
    if (step.machine !== 'alertRule') continue;
    rules.set(step.instance, step.to === 'active' ? step.context.evaluationRevision : undefined);
  }
  return rules;
}

function* projection({ server, cluster, world }: Run): Generator<Problem> {
  const database = emptyProjection();
  const rebuilding = openInstanceStore(database);
  // The log may have a commit that the last process had not applied when the run ended. The kept
  // projections catch up first, as on a restart.
  const kept = cluster.members.map(({ machine }) => machine.opened());
  for (const { sequence, data } of server.messages('EVENTS')) {
    const encoded = decodeCommit(data);
    rebuilding.apply(encoded, sequence);
    for (const store of kept) {
      if (sequence > store.position().applied) store.apply(encoded, sequence);
    }
  }
  const rebuilt = projectionOf(database);
  database.close();
  for (const { name, machine } of cluster.members) {
    const text = projectionOf(machine.database);
    if (text === rebuilt) continue;
    yield {
      invariant: 'a restart changes nothing',
      text: `the projection of ${name} differs from the one rebuilt from the log: ${differenceOf(rebuilt, text)}`,
      atMs: world.elapsedMs,
    };
  }
}

function differenceOf(rebuilt: string, kept: string): string {
  const [rebuiltRows, keptRows] = [rebuilt, kept].map((text) => text.split('\n')) as [
    string[],
    string[],
  ];
  const difference = [
    ...rebuiltRows.filter((row) => !keptRows.includes(row)).map((row) => `rebuilt: ${row}`),
    ...keptRows.filter((row) => !rebuiltRows.includes(row)).map((row) => `kept: ${row}`),
  ];
  return difference.join('; ');
}
