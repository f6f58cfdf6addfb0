/**
 * Rules on the age of telemetry as time passes: the decisions of a tick.
 *
 *     a VM is silent past its rule's limit                   -> its instance fires
 *     ... and many VMs of its data center fell silent, too   -> the data center's instance fires,
 *     one
 *                                                               per rule; the VMs are held
 *                                                               (`datacenter-outage.ts`)
 *
 * Nothing fires before an outage of the whole data center could have been detected, nor before
 * telemetry had time to resume after a blind window (EVAL-19).
 */
import type { Steps } from '../../platform/operators.ts';
import { type Edge, GAP_TOLERANCE_MS, LATENESS_MS, type Outage } from '../../telemetry/entry.ts';
import { AGE_METRIC } from '../../telemetry/metrics/catalogue.ts';
import type { Power } from '../../telemetry/metrics/derive.ts';
import { VM_STATES } from '../../telemetry/samples/batch.ts';
import {
  type Instance,
  keyOf,
  openIncident,
  passDecided,
  type ReportedIncident,
  type RuleInForce,
  type SeriesBuffer,
  type Stretch,
} from './instance.ts';
import { nextAt, reconcile, remember } from './notification-diff.ts';
import { bufferKey, bufferOf } from './observe-batch.ts';
import { runBefore } from './run-events.ts';
import { firedByAge, followFromBase, place } from './series-buffer.ts';
import {
  type EvaluationState,
  type FactsByVm,
  factsOf,
  fellSilentIn,
  type LastObservation,
  projectFacts,
  recordObserved,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from './state.ts';
import { breachAfter, copyTimeline, elapse, emptyTimeline, GOOD, unevaluable } from './timeline.ts';

/** One sampling interval, ms: the time in which telemetry resumes after a blind window. */
const INTERVAL_MS = 30_000;
/**
 * VMs of a data center are sampled an interval apart, so a silence of all of them is visible by
 * then, ms.
 */
const SILENCE_MS = GAP_TOLERANCE_MS + INTERVAL_MS;
/**
 * Time for which an ended outage still suppresses silence that began during it, ms, until its rows
 * settle.
 */
const RETAINED_MS = 2 * LATENESS_MS;

/** The blind window that ended at `atMs`. Silence that becomes due within it does not fire. */
export function blindWindow(lastTickMs: number, atMs: number): Stretch {
  return { fromMs: lastTickMs, untilMs: atMs + INTERVAL_MS };
}

/** Records facts about VMs from before the log, as known from rows and history. */
export function recordLastObservations(
  state: EvaluationState,
  observed: Iterable<LastObservation>,
): void {
  for (const { project, vm, observedMs, power = 'UNREPORTED', datacenter } of observed) {
    const facts = factsOf(projectFacts(state, project), vm);
    if (observedMs !== undefined) {
      recordObserved(facts, observedMs, power);
      state.latestMs = Math.max(state.latestMs, observedMs);
    }
    if (datacenter !== undefined) facts.datacenter = datacenter;
  }
}

/** Adds instances of the telemetry rules for VMs of which only facts are known. */
export function* addSilentVms(state: EvaluationState): Steps<void> {
  for (const project of state.projects.values()) {
    const { length: all } = ageRules(project);
    if (all === 0) continue;
    for (const vm of vmsToAdd(project, all)) {
      const newestMs = project.facts.get(vm)?.newestMs ?? Number.NEGATIVE_INFINITY;
      const isAdded = project.vms.get(vm)?.buffers.get(AGE_BUFFER)?.instances.length === all;
      if (!Number.isFinite(newestMs) || isAdded) continue;
      addSilentVm(project, vm);
      yield;
    }
  }
}

/**
 * The project's VMs, sorted by name if the quota may be too small for all, because the order of
 * facts is not that of the log, and differs between members.
 */
function vmsToAdd({ facts, instances, instancesMax }: WatchedProject, each: number) {
  const isShort = instances + facts.size * each > instancesMax;
  return isShort ? [...facts.keys()].sort() : facts.keys();
}

/** Adds an instance for every rule that covers the VM. A new one follows the buffer's rows. */
function addSilentVm(project: WatchedProject, vm: string): void {
  const before = new Set(project.vms.get(vm)?.buffers.get(AGE_BUFFER)?.instances);
  const buffer = bufferOf(project, watchedVm(project, vm), { metricId: AGE_METRIC, labels: '' });
  if (buffer?.rows.length === 0) placeLast(buffer, project.facts);
  else if (buffer) {
    for (const instance of buffer.instances) if (!before.has(instance)) followFromBase(instance);
  }
}

function placeLast(buffer: SeriesBuffer, known: FactsByVm): void {
  const { newestMs: observedMs, power } = factsOf(known, buffer.vm);
  const row = {
    observedMs,
    sequence: 0,
    boot: '',
    vcpus: Number.NaN,
    values: [],
    ...stateOf(power),
  };
  const input = { row, input: { labels: '', slots: [], keys: [] } };
  // One observation has no effect except that time passes from it on.
  place(buffer, { input, receivedMs: observedMs }, () => {});
}

/** A row's values for a known power state. */
function stateOf(power: Power): { readonly state: number; readonly stateReason: string } {
  const [name, stateReason] =
    power === 'STOPPED'
      ? (['STOPPED', 'shutdown'] as const)
      : ([power === 'DOWN' ? 'CRASHED' : 'UNKNOWN', ''] as const);
  return { state: VM_STATES.indexOf(name), stateReason };
}

/** Edges of all telemetry rules at a tick. */
export function* silenceEdges(state: EvaluationState, atMs: number): Steps<Edge[]> {
  const edges: Edge[] = [];
  for (const project of state.projects.values()) {
    const rules = ageRules(project);
    if (rules.length === 0) continue;
    edges.push(...endOutages(state, project, atMs));
    const round = new Round(state, project, atMs);
    for (const vm of project.vms.values()) {
      round.look(vm);
      yield;
    }
    for (const edge of round.edges()) {
      edges.push(edge);
      yield;
    }
  }
  return edges;
}

function ageRules({ rules }: WatchedProject): RuleInForce[] {
  return [...rules.values()].filter(({ rule }) => rule.metricId === AGE_METRIC);
}

/** One project's telemetry at one tick. */
class Round {
  readonly #state: EvaluationState;
  readonly #project: WatchedProject;
  readonly #atMs: number;
  readonly #held = new Map<string, HeldVms>();
  readonly #fired: Instance[] = [];
  readonly #reported: readonly OpenOutage[];

  constructor(state: EvaluationState, project: WatchedProject, atMs: number) {
    this.#state = state;
    this.#project = project;
    this.#atMs = atMs;
    this.#reported = [...openOutages(project)];
  }

  look({ buffers, facts }: WatchedVm): void {
    const buffer = buffers.get(AGE_BUFFER);
    if (!buffer || buffer.vm === '') return;
    const { blind, outages } = this.#state;
    const named = outages?.get(facts.datacenter);
    const outage = named && fellSilentIn(named, buffer.newestMs) ? named : undefined;
    const reported = this.#reported.filter((one) => isHeldBy(one, buffer));
    suppress(buffer, blind, suppressionOf(outage, reported), this.#atMs);
    passDecided(buffer, this.#atMs);
    if (this.#atMs - buffer.newestMs <= GAP_TOLERANCE_MS) return;
    if (outage) for (const instance of buffer.instances) this.#hold(instance, outage);
    else if (this.#isSilentAlone(buffer)) {
      const isAlone = ({ rule }: Instance): boolean =>
        !reported.some(({ instance }) => instance.rule === rule);
      this.#fired.push(...buffer.instances.filter(isAlone));
    }
  }

  /** True if an outage of all VMs would have been detected by now, and there is no blind window. */
  #isSilentAlone({ newestMs }: SeriesBuffer): boolean {
    const { blind } = this.#state;
    return this.#atMs - newestMs >= SILENCE_MS && this.#atMs >= (blind?.untilMs ?? this.#atMs);
  }

  #hold(instance: Instance, outage: Outage): void {
    const { rule, buffer, current } = instance;
    if (openIncident(instance) || current.phase !== GOOD || unevaluable(rule.rule)) return;
    const { startMs, dueMs } = breachAfter(current, rule.rule, rule.breachFromMs);
    const key = `${rule.rule.rule} ${outage.datacenter}`;
    const held = this.#held.get(key) ?? { rule, outage, vms: new Map(), startMs, dueMs };
    held.startMs = Math.min(held.startMs, startMs);
    held.dueMs = Math.min(held.dueMs, dueMs);
    held.vms.set(buffer.vm, buffer.newestMs);
    this.#held.set(key, held);
  }

  *edges(): Generator<Edge> {
    const place = { state: this.#state, project: this.#project, atMs: this.#atMs };
    for (const held of this.#held.values()) yield* outageEdges(place, held);
    for (const instance of this.#fired) yield* this.#fireAlone(instance);
  }

  #fireAlone(instance: Instance): Edge[] {
    const { current, rule } = instance;
    if (openIncident(instance) || current.firing || current.phase !== GOOD) return [];
    const { rule: evaluated, breachFromMs } = rule;
    if (unevaluable(evaluated)) return [];
    const { dueMs } = breachAfter(current, evaluated, breachFromMs);
    if (this.#atMs <= dueMs || instance.decided) return [];
    const observed = emptyTimeline();
    copyTimeline(current, observed);
    if (!elapse(current, { rule: evaluated, breachFromMs }, this.#atMs)) return [];
    instance.events.push(firedByAge(instance));
    const edges = reconcile(this.#state, instance, this.#atMs);
    copyTimeline(observed, current);
    return edges;
  }
}

/** The span of silence that an incident of a whole data center reports, or has reported. */
function suppressionOf(
  outage: Outage | undefined,
  reported: readonly OpenOutage[],
): Stretch | undefined {
  const untilMs = Number.POSITIVE_INFINITY;
  if (outage) return { fromMs: outage.sinceMs, untilMs };
  if (reported.length === 0) return undefined;
  return { fromMs: Math.min(...reported.map(({ incident }) => incident.startedMs)), untilMs };
}

/** Suppresses silence that becomes due in a blind window or with a whole data center. */
function suppress(
  buffer: SeriesBuffer,
  blind: Stretch | undefined,
  ongoing: Stretch | undefined,
  atMs: number,
): void {
  const before = buffer.suppressed.find(
    (one) => one !== blind && one.untilMs >= atMs - RETAINED_MS,
  );
  const ended =
    before?.untilMs === Number.POSITIVE_INFINITY ? { ...before, untilMs: atMs } : before;
  const stretch = ongoing ?? ended;
  if (!blind && !stretch && buffer.suppressed.length === 0) return;
  buffer.suppressed = [...(blind ? [blind] : []), ...(stretch ? [stretch] : [])];
}

// The one incident of a rule for the VMs of a data center that fell silent together. It is reported
// instead of one incident per VM, and holds those VMs from then on.
//
//     the outage has ended, a held VM was observed since it fired  -> recovered; VMs still silent
//                                                                     fire on their own
//     no held VM was observed, whichever others were              -> it continues
//     every held VM was retired                                   -> retired

/** Key of a VM's buffer of telemetry age. */
const AGE_BUFFER = bufferKey({ metricId: AGE_METRIC, labels: '' });

/**
 * VMs of one data center that a rule holds instead of raising one incident per VM. Times are Unix
 * ms.
 */
export interface HeldVms {
  readonly rule: RuleInForce;
  readonly outage: Outage;
  /** Time of each VM's last observation. */
  readonly vms: Map<string, number>;
  startMs: number;
  dueMs: number;
}

/** An open incident of a data center, and the VMs that it holds. */
export interface OpenOutage {
  readonly instance: Instance;
  readonly incident: ReportedIncident;
  readonly vms: ReadonlyMap<string, number>;
}

interface Tick {
  readonly state: EvaluationState;
  readonly project: WatchedProject;
  readonly atMs: number;
}

/** Fires once for many VMs that fell silent together. VMs found silent later are held too. */
function outageEdges({ state, project, atMs }: Tick, held: HeldVms): Edge[] {
  const { rule, outage, vms, startMs, dueMs } = held;
  const { datacenter } = outage;
  const instance = ofDatacenter(project, rule, datacenter);
  if (!instance || atMs <= dueMs) return [];
  passDecided(instance.buffer, atMs);
  if (instance.decided || openIncident(instance)) {
    instance.held ??= new Map();
    for (const [vm, newestMs] of vms) instance.held.set(vm, newestMs);
    return [];
  }
  instance.held = new Map(vms);
  const reported = remember(instance, { firedMs: dueMs, startedMs: startMs });
  state.open.add(instance);
  const decided = {
    key: keyOf(instance),
    atMs: nextAt(instance, reported, atMs),
    observedMs: dueMs,
  };
  const value = rule.rule.threshold + rule.rule.sustainedMs / 1000;
  const run = runBefore(instance, startMs);
  const fired = { startedMs: startMs, run, window: [], notify: true, value };
  return [
    { kind: 'fired', ...decided, ...fired, held: { datacenter, vms: [...vms.keys()].sort() } },
  ];
}

/** Incidents of a project's data centers that end with this tick. */
function endOutages(state: EvaluationState, project: WatchedProject, atMs: number): Edge[] {
  const edges: Edge[] = [];
  for (const buffer of project.vms.get('')?.buffers.values() ?? []) passDecided(buffer, atMs);
  for (const reported of openOutages(project)) {
    const edge = endOf({ state, project, atMs }, reported);
    if (edge) edges.push(edge);
  }
  return edges;
}

/** Incidents of a project's data centers that are open. */
function* openOutages(project: WatchedProject): Generator<OpenOutage> {
  for (const { instances } of project.vms.get('')?.buffers.values() ?? []) {
    for (const instance of instances) {
      const incident = openIncident(instance);
      const { held: vms, decided } = instance;
      if (incident && vms && !decided) yield { instance, incident, vms };
    }
  }
}

/** True if this VM counts for the outage, because it has been silent ever since. */
function isHeldBy({ vms, incident }: OpenOutage, { vm, newestMs }: SeriesBuffer): boolean {
  const heldMs = vms.get(vm);
  return heldMs !== undefined && newestMs <= Math.max(incident.firedMs, heldMs);
}

function endOf(tick: Tick, reported: OpenOutage): Edge | undefined {
  const { instance, incident, vms } = reported;
  const { state, project, atMs } = tick;
  const isLeft = (vm: string): boolean =>
    (project.retired.get(vm)?.atMs ?? Number.NEGATIVE_INFINITY) <= incident.startedMs;
  const left = [...vms.keys()].filter(isLeft);
  if (left.length === 0) {
    const edge = { kind: 'retired' as const, key: keyOf(instance), atMs: close(tick, instance) };
    incident.recoveredMs = Math.max(atMs, incident.firedMs);
    return edge;
  }
  const datacenter = /^\{datacenter="(.*)"\}$/.exec(instance.buffer.labels)?.[1] ?? '';
  if (!state.outages || state.outages.has(datacenter)) return undefined;
  let observedMs = Number.NEGATIVE_INFINITY;
  for (const vm of left) {
    const buffer = project.vms.get(vm)?.buffers.get(AGE_BUFFER);
    if (buffer && !isHeldBy(reported, buffer)) observedMs = Math.max(observedMs, buffer.newestMs);
  }
  if (observedMs <= incident.firedMs) return undefined;
  incident.recoveredMs = observedMs;
  const recovered = { key: keyOf(instance), atMs: close(tick, instance), observedMs };
  return { kind: 'recovered', ...recovered, window: [] };
}

/** @returns the time of the edge that ends it */
function close({ state, atMs }: Tick, instance: Instance): number {
  const { reported } = instance;
  if (!reported) return atMs;
  reported.missing = undefined;
  state.open.delete(instance);
  instance.held = undefined;
  return nextAt(instance, reported, atMs);
}

function ofDatacenter(
  project: WatchedProject,
  rule: RuleInForce,
  datacenter: string,
): Instance | undefined {
  const labels = `{datacenter="${datacenter}"}`;
  const place = { metricId: AGE_METRIC, labels, isKept: true };
  const buffer = bufferOf(project, watchedVm(project, ''), place);
  return buffer?.instances.find((instance) => instance.rule === rule);
}
