/**
 * A replay: a recording through the very pipeline that runs live, under a virtual clock.
 *
 *     recording -> log entries -> evaluation pipeline -> edges -> machines, timers, recheck
 *                                                              -> incidents and deliveries
 *
 * Nothing is sent anywhere and no file is written. The report has the recording's own times.
 */

import { concatMap, from, lastValueFrom, map } from 'rxjs';
import { ruleMarker } from '../../actors/alerting/rule-markers.ts';
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { createState, timeOf } from '../../streams/alerting/evaluation/fold.ts';
import { type EvaluatedEntry, evaluate } from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationRule, LogEntry } from '../../streams/telemetry/entry.ts';
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
  /** Called now and then with the share that is done, from 0 to 1. */
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
    const markers = await saveRules(node, project, paced, startMs);
    const run = { node, surroundings, rows: 0, samples: 0, lastMs: startMs };
    await replayLog(run, [...markers, ...entries], onProgress);
    const result = incidentsOf(node.host.view(project), pace);
    const spanMs = Math.round((run.lastMs - startMs) * pace.factor);
    return { ...result, rows: run.rows, samples: run.samples, spanMs };
  } finally {
    await node.close();
  }
}

interface Run {
  readonly node: ReplayNode;
  readonly surroundings: Surroundings;
  rows: number;
  samples: number;
  lastMs: number;
}

async function replayLog(
  run: Run,
  log: readonly LogEntry[],
  onProgress: ReplayOptions['onProgress'],
): Promise<void> {
  const state = createState();
  const replayed = from(log).pipe(
    map((entry, i) => ({ sequence: i + 1, partition: 0, storedMs: timeOf(entry), entry })),
    evaluate({
      states: new Map([[0, state]]),
      prepare: map((placed) => {
        return { ...placed, entry: run.surroundings.complete(placed.entry, state) };
      }),
      handle: concatMap(async (evaluated) => {
        await decide(run, evaluated);
        const { sequence } = evaluated;
        if (sequence % PROGRESS_EVERY === 0) onProgress?.(sequence / log.length);
        return evaluated;
      }),
    }),
  );
  await lastValueFrom(replayed, { defaultValue: undefined });
}

/** Lets time pass up to the entry, then decides its edges. */
async function decide(run: Run, { entry, edges }: EvaluatedEntry): Promise<void> {
  const { node, surroundings } = run;
  const atMs = timeOf(entry);
  if (entry.kind === 'batch') {
    run.rows += entry.batch.count;
    run.samples += entry.batch.values.length;
  }
  run.lastMs = Math.max(run.lastMs, atMs);
  await node.moveTo(atMs);
  if (entry.kind === 'rules') await confirmRules(node, entry.upserts);
  await node.decide(edges);
  await surroundings.follow(entry);
}

/** The rules of a marker are in force from here on. */
async function confirmRules(node: ReplayNode, upserts: readonly EvaluationRule[]): Promise<void> {
  for (const { rule } of upserts) {
    await node.submit((draft) =>
      draft.send('alertRule', rule, { type: 'applied', at: draft.at, version: 1 }),
    );
  }
}

/**
 * Saves the rules and the destinations they name, as a project would have them at the beginning.
 * @returns the markers that put them in force
 */
async function saveRules(
  node: ReplayNode,
  project: string,
  rules: readonly AlertRuleSpec[],
  startMs: number,
): Promise<LogEntry[]> {
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
  return rules.map((_, i) => {
    const row = node.host.view(project).instance('alertRule', ruleId(i));
    if (!row) throw new Error(`The rule ${ruleId(i)} was committed and is not there`);
    return ruleMarker(project, row, startMs);
  });
}

/** Ids by place: a replay of the same files has the same ids. */
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
