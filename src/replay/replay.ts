/**
 * A replay: a recording through the very pipelines that run live, under a virtual clock.
 *
 *     recording -> log entries -> fold (pure) -> edges -> machines, timers, recheck
 *                                                       -> incidents and deliveries
 *
 * Nothing is sent anywhere and no file is written. What is reported has the recording's own times.
 */

import { ruleMarker } from '../../actors/alerting/rule-markers.ts';
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { createState, type EvaluationState, fold } from '../../streams/alerting/evaluation/fold.ts';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import { ReplayNode } from './node.ts';
import { type Recording, UnreadableRecording } from './recordings.ts';
import { evaluatorMs, LIVE_INTERVAL_MS, logOf, type Pace, paceOf } from './replay-log.ts';
import { incidentsOf, type ReplayedDelivery, type ReplayedIncident } from './replayed.ts';
import { UnusableRules } from './rules-file.ts';
import { type Surroundings, surround } from './surroundings.ts';

export interface ReplayOptions {
  readonly recording: Recording;
  /** In force from the recording's beginning on; those recorded in a log are left out. */
  readonly rules: readonly AlertRuleSpec[];
  /** The recording's own sampling interval, seconds. Default 30. */
  readonly intervalSeconds?: number;
  /** Project whose rows are evaluated. Default: the recording's only one. */
  readonly project?: string;
  /** Told now and then how far the replay is, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

export interface ReplayResult {
  /** In the order in which they began to fire. */
  readonly incidents: readonly ReplayedIncident[];
  /** In the order in which they were, or would not be, sent. */
  readonly deliveries: readonly ReplayedDelivery[];
  /** What was evaluated: rows, samples, and the time from first to last, ms. */
  readonly rows: number;
  readonly samples: number;
  readonly spanMs: number;
}

/** Project of rows that name none. */
const ROWS_PROJECT = 'replay';
const PROGRESS_EVERY = 500;

/**
 * Replays a recording. Throws `UnreadableRecording` (empty, or several projects and none named) and
 * `UnusableRules` (one that this recording cannot be evaluated for).
 */
export async function replayRecording(options: ReplayOptions): Promise<ReplayResult> {
  const { recording, rules, onProgress } = options;
  const intervalMs = (options.intervalSeconds ?? LIVE_INTERVAL_MS / 1000) * 1000;
  if (!(intervalMs > 0)) throw new RangeError('A sampling interval is above 0 seconds');
  const project = options.project ?? projectOf(recording);
  const entries = entriesOf(recording, project, intervalMs);
  const { startMs, pace } = beginningOf(entries, intervalMs);
  const paced = rules.map((spec) => atPace(spec, intervalMs));
  const node = await ReplayNode.open(project, startMs);
  try {
    const surroundings = await surround(node, project, entries);
    const counts = { rows: 0, samples: 0, lastMs: startMs };
    const run = { node, project, surroundings, state: createState(), ...counts };
    await putInForce(run, paced, startMs);
    for (const [i, entry] of entries.entries()) {
      await take(run, entry);
      if (i % PROGRESS_EVERY === 0) onProgress?.(i / entries.length);
    }
    const told = incidentsOf(node.host.view(project), pace);
    const spanMs = Math.round((run.lastMs - startMs) * pace.factor);
    return { ...told, rows: run.rows, samples: run.samples, spanMs };
  } finally {
    await node.close();
  }
}

interface Run {
  readonly node: ReplayNode;
  readonly project: string;
  readonly surroundings: Surroundings;
  state: EvaluationState;
  rows: number;
  samples: number;
  lastMs: number;
}

async function take(run: Run, entry: LogEntry): Promise<void> {
  const atMs = timeOf(entry);
  if (entry.kind === 'batch') {
    run.rows += entry.batch.count;
    run.samples += entry.batch.values.length;
  }
  run.lastMs = Math.max(run.lastMs, atMs);
  await run.node.moveTo(atMs);
  const whole = run.surroundings.complete(entry, run.state);
  const { state, edges } = fold(run.state, whole);
  run.state = state;
  await run.node.decide(edges);
  await run.surroundings.follow(whole);
}

/** Rules, and the destinations they name, as a project would have them at the beginning. */
async function putInForce(
  run: Run,
  rules: readonly AlertRuleSpec[],
  startMs: number,
): Promise<void> {
  const { node, project } = run;
  await node.submit((draft) => {
    const { at } = draft;
    for (const id of new Set(rules.flatMap((spec) => spec.destinationNames.map(lastSegment)))) {
      const address = { urlDigest: '', host: '', lastFour: '', urlId: null, secretId: null };
      const named = { at, project, kind: 'webhook' as const, displayName: id };
      draft.start('destination', id, { ...named, ...address });
    }
    for (const [i, spec] of rules.entries()) {
      const destinationNames = spec.destinationNames.map((name) => fullName(project, name));
      const own = { ...spec, destinationNames };
      const input = { at, rule: ruleId(i), project, spec: own, by: 'replay' };
      draft.start('alertRule', ruleId(i), input);
    }
  });
  for (const i of rules.keys()) {
    const row = node.host.view(project).instance('alertRule', ruleId(i));
    if (!row) throw new Error(`The rule ${ruleId(i)} was committed and is not there`);
    run.state = fold(run.state, ruleMarker(project, row, startMs)).state;
    await node.submit((draft) =>
      draft.send('alertRule', ruleId(i), { type: 'applied', at: draft.at, version: 1 }),
    );
  }
}

/** Ids by place: a replay of the same files tells the same ids. */
function ruleId(index: number): string {
  return `rule-${index + 1}`;
}

/** A rules file may name destinations in short, and those of another project. */
function fullName(project: string, name: string): string {
  return `projects/${project}/destinations/${lastSegment(name)}`;
}

function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function entriesOf(recording: Recording, project: string, intervalMs: number): LogEntry[] {
  if (recording.kind === 'log') {
    if (intervalMs !== LIVE_INTERVAL_MS) {
      throw new UnreadableRecording('A recorded log has its own ticks: it is replayed at 30 s');
    }
    return recording.entries.flatMap(withoutRules);
  }
  const [first] = recording.rows;
  return first ? [...logOf(project, recording.rows, paceOf(first.observedMs, intervalMs))] : [];
}

/** A recorded marker without its rules: what it says of limits and of VMs holds for any. */
function withoutRules(entry: LogEntry): LogEntry[] {
  if (entry.kind !== 'rules') return [entry];
  if (!entry.limits && !entry.retired) return [];
  return [{ ...entry, upserts: [], removals: [] }];
}

function beginningOf(
  entries: readonly LogEntry[],
  intervalMs: number,
): { startMs: number; pace: Pace } {
  const [first] = entries;
  if (!first) throw new UnreadableRecording('There is nothing in the recording');
  const startMs = timeOf(first);
  return { startMs, pace: paceOf(startMs, intervalMs) };
}

function timeOf(entry: LogEntry): number {
  return entry.kind === 'batch' ? entry.batch.receivedMs : entry.atMs;
}

function projectOf(recording: Recording): string {
  if (recording.kind === 'rows') return ROWS_PROJECT;
  const projects = new Set(
    recording.entries.flatMap((entry) =>
      entry.kind === 'batch' ? entry.batch.vms.map(({ project }) => project) : [],
    ),
  );
  const [only] = projects;
  if (projects.size === 1 && only !== undefined) return only;
  const seen = projects.size === 0 ? 'no project' : `the projects ${[...projects].join(', ')}`;
  throw new UnreadableRecording(`The recording has rows of ${seen}: say which to evaluate`);
}

/** The rule with its durations in the evaluator's time. Throws `UnusableRules`. */
function atPace(spec: AlertRuleSpec, intervalMs: number): AlertRuleSpec {
  const { factor, originMs } = paceOf(0, intervalMs);
  if (factor === 1) return spec;
  const { derivation } = metricCatalogue.get(spec.metricId) ?? {};
  if (derivation?.from === 'rate') {
    throw new UnusableRules(
      `"${spec.displayName}": a rate depends on time, so ${spec.metricId} is replayed at 30 s only`,
    );
  }
  const seconds = (value: number): number => evaluatorMs({ originMs, factor }, value * 1000) / 1000;
  return {
    ...spec,
    sustainedSeconds: seconds(spec.sustainedSeconds),
    repeatIntervalSeconds: seconds(spec.repeatIntervalSeconds),
    ...(spec.recoverySeconds !== undefined && { recoverySeconds: seconds(spec.recoverySeconds) }),
    ...(derivation?.from === 'age' && { threshold: seconds(spec.threshold) }),
  };
}
