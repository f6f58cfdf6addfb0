/**
 * A replay: a recording through the same pipeline that runs live, under a virtual clock.
 *
 *     recording -> log entries -> evaluation pipeline -> edges -> machines, timers, recheck
 *                                                              -> incidents and deliveries
 *
 * Nothing is sent and no file is written. The report has the recording's own times.
 */
import { concatMap, from, lastValueFrom, map, takeWhile } from 'rxjs';
import { VmLiveness } from '../../actors/alerting/evaluator/vm-liveness.ts';
import { ruleMarker } from '../../actors/alerting/rule-markers.ts';
import type { Draft } from '../../actors/platform/host/host-port.ts';
import type { VmBody } from '../../actors/vms/vm-directory.ts';
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import {
  createState,
  type EvaluatedEntry,
  evaluate,
  timeOf,
} from '../../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationState, LastObservation } from '../../streams/alerting/evaluation/state.ts';
import type { EvaluationRule, LogEntry, RetiredVm } from '../../streams/telemetry/entry.ts';
import { metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { UnreadableRecording } from './csv.ts';
import { ReplayNode } from './node.ts';
import type { Recording } from './recordings.ts';
import { evaluatorMs, LIVE_INTERVAL_MS, logOf, type Pace, paceOf } from './replay-log.ts';
import { incidentsOf, type ReplayedDelivery, type ReplayedIncident } from './replayed.ts';
import { UnusableRules } from './rules-file.ts';

export interface ReplayOptions {
  readonly recording: Recording;
  /** Active from the start of the recording on. Rules recorded in a log are ignored. */
  readonly rules: readonly AlertRuleSpec[];
  /** The recording's own sampling interval, seconds. Default 30. */
  readonly intervalSeconds?: number;
  /** Project whose rows are evaluated. Default: the recording's only one. */
  readonly project?: string;
  /** Called now and then with the completed share, from 0 to 1. */
  readonly onProgress?: (share: number) => void;
}

export interface ReplayResult {
  /** In the order in which they fired. */
  readonly incidents: readonly ReplayedIncident[];
  /** In the order in which they were sent or suppressed. */
  readonly deliveries: readonly ReplayedDelivery[];
  /** Evaluated rows and samples, and the time from first to last, ms. */
  readonly rows: number;
  readonly samples: number;
  readonly spanMs: number;
}

/** Project of rows that name none. */
const ROWS_PROJECT = 'replay';
const PROGRESS_EVERY = 500;

/**
 * Replays a recording. Throws `UnreadableRecording` (empty, or several projects and none named) and
 * `UnusableRules` (a rule that cannot be evaluated for this recording).
 */
export async function replayRecording(options: ReplayOptions): Promise<ReplayResult> {
  const { recording, rules, onProgress } = options;
  const intervalMs = (options.intervalSeconds ?? LIVE_INTERVAL_MS / 1000) * 1000;
  if (!(intervalMs > 0)) throw new RangeError('The sampling interval must be above 0 seconds');
  const project = options.project ?? projectOf(recording);
  const entries = entriesOf(recording, project, intervalMs);
  const { startMs, pace } = beginningOf(entries, intervalMs);
  const paced = rules.map((spec) => atPace(spec, intervalMs));
  const node = await ReplayNode.open(project, startMs);
  try {
    const surroundings = await surround(node, project, entries);
    await nameDestinations(node, project, paced);
    const markers = await saveRules(node, project, paced, startMs);
    const run = { node, surroundings, rows: 0, samples: 0, lastMs: startMs };
    await replayLog(run, [...markers, ...entries], {
      ...(onProgress && { onProgress: (count) => onProgress(count / entries.length) }),
    });
    const result = incidentsOf(node.host.view(project), pace);
    const spanMs = Math.round((run.lastMs - startMs) * pace.factor);
    return { ...result, rows: run.rows, samples: run.samples, spanMs };
  } finally {
    await node.close();
  }
}

export interface Run {
  readonly node: ReplayNode;
  readonly surroundings: Surroundings;
  rows: number;
  samples: number;
  lastMs: number;
}

export interface LogOptions {
  /** Called with the number of processed entries. */
  readonly onProgress?: (count: number) => void;
  /** The earlier log, which new rules know; read twice. Absent if there is none. */
  readonly past?: () => Iterable<LogEntry>;
  /** Called after each entry; true ends the replay there, and so does an error. */
  readonly isOver?: () => boolean;
}

/** Replays the entries in order, each to its end before the next one is requested. */
export async function replayLog(
  run: Run,
  log: Iterable<LogEntry>,
  { onProgress, past, isOver = () => false }: LogOptions,
): Promise<void> {
  // Stored samples are complete, so there is no blind window before them.
  const state = createState(past && { rules: [], firing: [], isAlwaysListening: true });
  if (past) state.listeningSinceMs = Number.NEGATIVE_INFINITY;
  for (const entry of past?.() ?? []) run.surroundings.complete(entry, state);
  const gate = { decided: Promise.withResolvers<void>() };
  const replayed = from(oneByOne(log, gate)).pipe(
    map((entry, i) => ({ sequence: i + 1, partition: 0, storedMs: timeOf(entry), entry })),
    evaluate({
      states: new Map([[0, state]]),
      prepare: map((placed) => {
        return { ...placed, entry: run.surroundings.complete(placed.entry, state) };
      }),
      handle: concatMap(async (evaluated) => {
        await decide(run, evaluated);
        const { sequence } = evaluated;
        if (sequence % PROGRESS_EVERY === 0) onProgress?.(sequence);
        gate.decided.resolve();
        return evaluated;
      }),
      ...(past && { past: { entries: () => from(past()), observed: run.surroundings.observed } }),
    }),
    takeWhile(() => !isOver()),
  );
  await lastValueFrom(replayed, { defaultValue: undefined });
}

/**
 * The entries, each when the previous one is decided, because a whole log need not fit into memory.
 */
async function* oneByOne(
  log: Iterable<LogEntry>,
  gate: { decided: PromiseWithResolvers<void> },
): AsyncGenerator<LogEntry> {
  for (const entry of log) {
    gate.decided = Promise.withResolvers();
    yield entry;
    await gate.decided.promise;
  }
}

/** Advances time to the entry, then decides its edges. */
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

/** The rules of a marker are active from here on. */
async function confirmRules(node: ReplayNode, upserts: readonly EvaluationRule[]): Promise<void> {
  for (const { rule } of upserts) {
    await node.submit((draft) =>
      draft.send('alertRule', rule, { type: 'applied', at: draft.at, version: 1 }),
    );
  }
}

/** Makes the destinations that the rules name: endpoints that accept everything. */
async function nameDestinations(
  node: ReplayNode,
  project: string,
  rules: readonly AlertRuleSpec[],
): Promise<void> {
  await node.submit((draft) => {
    for (const id of new Set(rules.flatMap((spec) => spec.destinationNames.map(lastSegment)))) {
      startDestination(draft, { id, project, kind: 'webhook', displayName: id });
    }
  });
}

/** A destination without a URL or a secret. */
export function startDestination(
  draft: Draft,
  { id, ...named }: { id: string; project: string; kind: string; displayName: string },
): void {
  const address = { urlDigest: '', host: '', lastFour: '', urlId: null, secretId: null };
  draft.start('destination', id, { at: draft.at, ...named, ...address });
}

/**
 * Saves the rules, as a project would have them at the start.
 * @returns the markers that activate them
 */
export async function saveRules(
  node: ReplayNode,
  project: string,
  rules: readonly AlertRuleSpec[],
  startMs: number,
): Promise<LogEntry[]> {
  await node.submit((draft) => {
    const { at } = draft;
    for (const [i, spec] of rules.entries()) {
      const destinationNames = spec.destinationNames.map((name) => fullName(project, name));
      const own = { ...spec, destinationNames };
      const input = { at, rule: ruleId(i), project, spec: own, by: 'replay' };
      draft.start('alertRule', ruleId(i), input);
    }
  });
  return rules.map((_, i) => {
    const row = node.host.view(project).instance('alertRule', ruleId(i));
    if (!row) throw new Error(`The rule ${ruleId(i)} was committed but has no row`);
    return ruleMarker(project, row, startMs);
  });
}

/** Ids by index, so that a replay of the same files has the same ids. */
function ruleId(index: number): string {
  return `rule-${index + 1}`;
}

/** A rules file may name destinations by short names, and those of another project. */
function fullName(project: string, name: string): string {
  return `projects/${project}/destinations/${lastSegment(name)}`;
}

export function lastSegment(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function entriesOf(recording: Recording, project: string, intervalMs: number): LogEntry[] {
  if (recording.kind === 'log') {
    if (intervalMs !== LIVE_INTERVAL_MS) {
      throw new UnreadableRecording('A recorded log has its own ticks, so it is replayed at 30 s');
    }
    return recording.entries.flatMap(withoutRules);
  }
  const [first] = recording.rows;
  return first ? [...logOf(project, recording.rows, paceOf(first.observedMs, intervalMs))] : [];
}

/** A recorded marker without its rules. Its limits and VMs apply in any case. */
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
  if (!first) throw new UnreadableRecording('The recording is empty');
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
  throw new UnreadableRecording(`The recording has rows of ${seen}. Name the project to evaluate`);
}

/** The rule with its durations in the evaluator's time. Throws `UnusableRules`. */
function atPace(spec: AlertRuleSpec, intervalMs: number): AlertRuleSpec {
  const { factor, originMs } = paceOf(0, intervalMs);
  if (factor === 1) return spec;
  const { derivation } = metricCatalogue.get(spec.metricId) ?? {};
  if (derivation?.from === 'rate') {
    throw new UnusableRules(
      `"${spec.displayName}": a rate depends on time, so ${spec.metricId} can only be replayed at 30 s`,
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

// The knowledge of a live node besides rows: which VMs are registered, which were retired, and,
// with each tick, whether many of them fell silent together. A recorded log contains the last two
// itself. Rows alone do not, so they are treated as VMs of one data center.

/** Name of the data center of all VMs of a replay. */
const REPLAY_DATACENTER = 'replay';
/** Maximum VMs registered by one commit. */
const BATCH = 200;

export interface Surroundings {
  /**
   * The entry as the log would have had it: ticks with their liveness report. To be called once for
   * each entry, before it is folded.
   */
  complete(entry: LogEntry, state: EvaluationState): LogEntry;
  /** Registers the VMs that the entry retires or revives. To be called after it is decided. */
  follow(entry: LogEntry): Promise<void>;
  /** VMs of a project, as observed up to `atMs`, Unix ms. */
  observed(project: string, atMs: number): Iterable<LastObservation>;
}

/**
 * Registers the VMs of the entries, and follows their changes.
 * @param known VMs by id, including those without an entry; the others are named by their ids
 */
export async function surround(
  node: ReplayNode,
  project: string,
  entries: readonly LogEntry[],
  known: ReadonlyMap<string, Partial<VmBody>> = new Map(),
): Promise<Surroundings> {
  const liveness = new VmLiveness(node.host);
  await liveness.load();
  const vms = [...vmsOf(project, entries).union(known)];
  for (let start = 0; start < vms.length; start += BATCH) {
    await node.submit((draft) => {
      for (const id of vms.slice(start, start + BATCH)) register(draft, id, known.get(id) ?? {});
    });
  }
  const hasReports = entries.some((entry) => entry.kind === 'tick' && entry.livenessReport);
  const gone = new Map<string, RetiredVm>();
  return {
    complete(entry, state) {
      if (hasReports) return entry;
      const whole = withLivenessReport(liveness, project, entry, state);
      liveness.record(whole);
      return whole;
    },
    async follow(entry) {
      if (entry.kind === 'rules' && entry.retired) await retire(node, entry.retired, gone);
      if (entry.kind === 'batch' && gone.size > 0) await revert(node, entry.batch, gone);
    },
    observed: (of, atMs) => liveness.lastOf(of, atMs),
  };
}

function register(draft: Draft, id: string, more: Partial<VmBody>): void {
  const body: VmBody = {
    displayName: id,
    datacenter: REPLAY_DATACENTER,
    expandedMonitoring: false,
    registeredMs: draft.at,
    ...more,
  };
  draft.putRecord({ kind: 'vm', id, body: { ...body } });
}

/** The node retires their instances, like the part that follows records live. */
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
async function revert(
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
