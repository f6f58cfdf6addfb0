/**
 * Rules on the age of telemetry as time passes: what ticks decide.
 *
 *     a VM is silent until its rule's moment has passed        -> its instance fires
 *     ... with many of its data center that fell silent, too   -> the data center's instance fires,
 *                                                                 one for each rule, the VMs held
 *                                                                 and goes on (`datacenter.ts`)
 *
 * Nobody is told before a whole data center could have been seen to be silent, nor before telemetry
 * had the time to come again after nobody had listened (EVAL-19).
 */

import { type Edge, GAP_TOLERANCE_MS, LATENESS_MS, type Outage } from '../../telemetry/entry.ts';
import { AGE_METRIC } from '../../telemetry/metrics/catalogue.ts';
import type { Power } from '../../telemetry/metrics/derive.ts';
import { VM_STATES } from '../../telemetry/samples/batch.ts';
import { firedByAge, followFromBase, passDecided } from './age.ts';
import { conclude } from './conclude.ts';
import {
  AGE_LANE,
  endHeld,
  type Held,
  isHeldBy,
  type ToldHeld,
  tellHeld,
  toldHeld,
} from './datacenter.ts';
import {
  type FactsByVm,
  factsOf,
  fellSilentIn,
  type LastObservation,
  noteObserved,
} from './facts.ts';
import { type Instance, openIncident, type RuleInForce } from './instance.ts';
import { type Lane, place, type Stretch } from './lane.ts';
import { laneOf } from './routes.ts';
import { breachAfter, elapse } from './silence.ts';
import {
  type EvaluationState,
  projectFacts,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from './state.ts';
import { allAtOnce, type Steps } from './steps.ts';
import { copyTimeline, emptyTimeline, GOOD } from './timeline.ts';

/** One sampling interval, ms: what telemetry has to come again after nobody listened. */
const INTERVAL_MS = 30_000;
/** VMs of a data center are sampled an interval apart: silence of all of them is seen by then, ms. */
const SILENCE_MS = GAP_TOLERANCE_MS + INTERVAL_MS;
/** An outage that is over excuses silence of its time for so long: until rows of it settle, ms. */
const RETAINED_MS = 2 * LATENESS_MS;

/** Where nobody listened until `atMs`: what fell due meanwhile is nobody's incident. */
export function deafUntil(lastTickMs: number, atMs: number): Stretch {
  return { fromMs: lastTickMs, untilMs: atMs + INTERVAL_MS };
}

/** Notes what rows and history know of VMs from before the log. */
export function noteLast(state: EvaluationState, observed: Iterable<LastObservation>): void {
  for (const { project, vm, observedMs, power = 'UNTOLD', datacenter } of observed) {
    const facts = factsOf(projectFacts(state, project), vm);
    if (observedMs !== undefined) noteObserved(facts, observedMs, power);
    if (datacenter !== undefined) facts.datacenter = datacenter;
  }
}

/** Gives the telemetry rules in force their VMs that are known by facts alone. */
export function* plantSilent(state: EvaluationState): Steps<void> {
  for (const project of state.projects.values()) {
    const { length: all } = ageRules(project);
    if (all === 0) continue;
    for (const [vm, { newestMs }] of project.facts) {
      const isPlanted = project.vms.get(vm)?.lanes.get(AGE_LANE)?.instances.length === all;
      if (!Number.isFinite(newestMs) || isPlanted) continue;
      plant(project, vm);
      yield;
    }
  }
}

/** Every rule that covers the VM gets its instance; one that is new knows what the lane knows. */
function plant(project: WatchedProject, vm: string): void {
  const before = new Set(project.vms.get(vm)?.lanes.get(AGE_LANE)?.instances);
  const lane = laneOf(project, watchedVm(project, vm), { metricId: AGE_METRIC, labels: '' });
  if (lane?.rows.length === 0) placeLast(lane, project.facts);
  else if (lane) {
    for (const instance of lane.instances) if (!before.has(instance)) followFromBase(instance);
  }
}

function placeLast(lane: Lane, known: FactsByVm): void {
  const { newestMs: observedMs, power } = factsOf(known, lane.vm);
  const row = {
    observedMs,
    sequence: 0,
    boot: '',
    vcpus: Number.NaN,
    values: [],
    ...stateOf(power),
  };
  const input = { row, input: { labels: '', slots: [], keys: [] } };
  // Nothing can come of one observation but that time passes from it on.
  place(lane, { input, receivedMs: observedMs }, () => {});
}

/** A row's words for a power that is known. */
function stateOf(power: Power): { readonly state: number; readonly stateReason: string } {
  const [name, stateReason] =
    power === 'STOPPED'
      ? (['STOPPED', 'shutdown'] as const)
      : ([power === 'DOWN' ? 'CRASHED' : 'UNKNOWN', ''] as const);
  return { state: VM_STATES.indexOf(name), stateReason };
}

/** Edges of all telemetry rules at a tick. */
export function* tellSilence(state: EvaluationState, atMs: number): Steps<Edge[]> {
  const edges: Edge[] = [];
  for (const project of state.projects.values()) {
    const rules = ageRules(project);
    if (rules.length === 0) continue;
    edges.push(...endHeld(state, project, atMs));
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

/** The same for the end of a preview, which has no ticks: time passed, and somebody listened. */
export function tellSilenceUnheld(state: EvaluationState, atMs: number): Edge[] {
  state.outages = undefined;
  state.deaf = undefined;
  return allAtOnce(tellSilence(state, atMs));
}

function ageRules({ rules }: WatchedProject): RuleInForce[] {
  return [...rules.values()].filter(({ rule }) => rule.metricId === AGE_METRIC);
}

/** One project's telemetry at one tick. */
class Round {
  readonly #state: EvaluationState;
  readonly #project: WatchedProject;
  readonly #atMs: number;
  readonly #held = new Map<string, Held>();
  readonly #fired: Instance[] = [];
  readonly #told: readonly ToldHeld[];

  constructor(state: EvaluationState, project: WatchedProject, atMs: number) {
    this.#state = state;
    this.#project = project;
    this.#atMs = atMs;
    this.#told = [...toldHeld(project)];
  }

  look({ lanes, facts }: WatchedVm): void {
    const lane = lanes.get(AGE_LANE);
    if (!lane || lane.vm === '') return;
    const { deaf, outages } = this.#state;
    const named = outages?.get(facts.datacenter);
    const outage = named && fellSilentIn(named, lane.newestMs) ? named : undefined;
    const told = this.#told.filter((one) => isHeldBy(one, lane));
    excuse(lane, deaf, excuseOf(outage, told), this.#atMs);
    passDecided(lane, this.#atMs);
    if (this.#atMs - lane.newestMs <= GAP_TOLERANCE_MS) return;
    if (outage) for (const instance of lane.instances) this.#hold(instance, outage);
    else if (this.#isHeardBy(lane)) {
      const isAlone = ({ rule }: Instance): boolean =>
        !told.some(({ instance }) => instance.rule === rule);
      this.#fired.push(...lane.instances.filter(isAlone));
    }
  }

  /** Could its silence have been told from that of all of them, and did somebody listen? */
  #isHeardBy({ newestMs }: Lane): boolean {
    const { deaf } = this.#state;
    return this.#atMs - newestMs >= SILENCE_MS && this.#atMs >= (deaf?.untilMs ?? this.#atMs);
  }

  #hold(instance: Instance, outage: Outage): void {
    const { rule, lane, current } = instance;
    if (openIncident(instance) || current.phase !== GOOD) return;
    const { startMs, dueMs } = breachAfter(current, rule.rule, rule.breachFromMs);
    const key = `${rule.rule.rule} ${outage.datacenter}`;
    const held = this.#held.get(key) ?? { rule, outage, vms: new Map(), startMs, dueMs };
    held.startMs = Math.min(held.startMs, startMs);
    held.dueMs = Math.min(held.dueMs, dueMs);
    held.vms.set(lane.vm, lane.newestMs);
    this.#held.set(key, held);
  }

  *edges(): Generator<Edge> {
    const place = { state: this.#state, project: this.#project, atMs: this.#atMs };
    for (const held of this.#held.values()) yield* tellHeld(place, held);
    for (const instance of this.#fired) yield* this.#tellOne(instance);
  }

  #tellOne(instance: Instance): Edge[] {
    const { current, rule } = instance;
    if (openIncident(instance) || current.firing || current.phase !== GOOD) return [];
    const { rule: evaluated, breachFromMs } = rule;
    const { dueMs } = breachAfter(current, evaluated, breachFromMs);
    if (this.#atMs <= dueMs || instance.decided) return [];
    const observed = emptyTimeline();
    copyTimeline(current, observed);
    if (!elapse(current, { rule: evaluated, breachFromMs }, this.#atMs)) return [];
    instance.events.push(firedByAge(instance));
    const edges = conclude(this.#state, [instance], this.#atMs);
    copyTimeline(observed, current);
    return edges;
  }
}

/** Silence of this time is told with a whole data center, or was. */
function excuseOf(outage: Outage | undefined, told: readonly ToldHeld[]): Stretch | undefined {
  const untilMs = Number.POSITIVE_INFINITY;
  if (outage) return { fromMs: outage.sinceMs, untilMs };
  if (told.length === 0) return undefined;
  return { fromMs: Math.min(...told.map(({ incident }) => incident.startedMs)), untilMs };
}

/** Silence that becomes due while nobody listens, or with a whole data center, is not the VM's. */
function excuse(
  lane: Lane,
  deaf: Stretch | undefined,
  ongoing: Stretch | undefined,
  atMs: number,
): void {
  const before = lane.excused.find((one) => one !== deaf && one.untilMs >= atMs - RETAINED_MS);
  const ended =
    before?.untilMs === Number.POSITIVE_INFINITY ? { ...before, untilMs: atMs } : before;
  const stretch = ongoing ?? ended;
  if (!deaf && !stretch && lane.excused.length === 0) return;
  lane.excused = [...(deaf ? [deaf] : []), ...(stretch ? [stretch] : [])];
}
