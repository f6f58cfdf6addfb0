/**
 * Rules on the age of telemetry as time passes: what ticks decide.
 *
 *     a VM is silent until its rule's moment has passed        -> its instance fires
 *     ... with many of its data center that fell silent, too   -> the data center's instance fires,
 *                                                                 one for each rule, the VMs held
 *     the data center's census is no longer one of an outage   -> that one recovers; VMs that are
 *                                                                 silent still fire by themselves
 *
 * Nobody is told before a whole data center could have been seen to be silent, nor before telemetry
 * had the time to come again after nobody had listened (evaluation.md 19).
 */
import { AGE_METRIC } from '../metrics/catalogue.ts';
import { VM_STATES } from '../samples/batch.ts';
import { firedByAge, followFromBase, passDecided } from './age.ts';
import { conclude } from './conclude.ts';
import { type Edge, GAP_TOLERANCE_MS, LATENESS_MS, type Outage } from './entry.ts';
import { type FactsByVm, factsOf, type LastObservation, noteObserved } from './facts.ts';
import { type Instance, keyOf, openIncident, type RuleInForce } from './instance.ts';
import { type Lane, place, type Stretch } from './lane.ts';
import { breachAfter, elapse } from './silence.ts';
import {
  type EvaluationState,
  laneKey,
  laneOf,
  projectFacts,
  type WatchedProject,
  type WatchedVm,
  watchedVm,
} from './state.ts';
import { nextAt, remember } from './telling.ts';
import { copyTimeline, emptyTimeline, GOOD } from './timeline.ts';

/** One sampling interval, ms: what telemetry has to come again after nobody listened. */
const INTERVAL_MS = 30_000;
/** VMs of a data center are sampled an interval apart: silence of all of them is seen by then, ms. */
const SILENCE_MS = GAP_TOLERANCE_MS + INTERVAL_MS;
/** An outage that is over excuses silence of its time for so long: until rows of it settle, ms. */
const RETAINED_MS = 2 * LATENESS_MS;
const LANE = laneKey({ metricId: AGE_METRIC, labels: '' });

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
export function plantSilent(state: EvaluationState): void {
  for (const project of state.projects.values()) {
    const { length: all } = ageRules(project);
    if (all === 0) continue;
    for (const [vm, { newestMs }] of project.facts) {
      const isPlanted = project.vms.get(vm)?.lanes.get(LANE)?.instances.length === all;
      if (Number.isFinite(newestMs) && !isPlanted) plant(project, vm);
    }
  }
}

/** Every rule that covers the VM gets its instance; one that is new knows what the lane knows. */
function plant(project: WatchedProject, vm: string): void {
  const before = new Set(project.vms.get(vm)?.lanes.get(LANE)?.instances);
  const lane = laneOf(project, watchedVm(project, vm), { metricId: AGE_METRIC, labels: '' });
  if (lane?.rows.length === 0) placeLast(lane, project.facts);
  else if (lane) {
    for (const instance of lane.instances) if (!before.has(instance)) followFromBase(instance);
  }
}

function placeLast(lane: Lane, known: FactsByVm): void {
  const { newestMs: observedMs, power } = factsOf(known, lane.vm);
  const state = VM_STATES.indexOf(power === 'STOPPED' ? 'STOPPED' : 'UNKNOWN');
  const row = { observedMs, sequence: 0, boot: '', vcpus: Number.NaN, state, values: [] };
  const input = { row, input: { labels: '', slots: [], keys: [] } };
  // Nothing can come of one observation but that time passes from it on.
  place(lane, { input, receivedMs: observedMs }, () => {});
}

/** Edges of all telemetry rules at a tick. */
export function tellSilence(state: EvaluationState, atMs: number): Edge[] {
  const edges: Edge[] = [];
  for (const project of state.projects.values()) {
    const rules = ageRules(project);
    if (rules.length === 0) continue;
    const round = new Round(state, project, atMs);
    for (const vm of project.vms.values()) round.look(vm);
    edges.push(...round.edges());
  }
  return edges;
}

/** The same for the end of a preview, which has no ticks: time passed, and somebody listened. */
export function tellSilenceUnheld(state: EvaluationState, atMs: number): Edge[] {
  state.outages = undefined;
  state.deaf = undefined;
  return tellSilence(state, atMs);
}

function ageRules({ rules }: WatchedProject): RuleInForce[] {
  return [...rules.values()].filter(({ rule }) => rule.metricId === AGE_METRIC);
}

/** VMs of one data center that a rule holds in place of telling each. */
interface Held {
  readonly rule: RuleInForce;
  readonly outage: Outage;
  readonly vms: string[];
  startMs: number;
  dueMs: number;
}

/** One project's telemetry at one tick. */
class Round {
  readonly #state: EvaluationState;
  readonly #project: WatchedProject;
  readonly #atMs: number;
  readonly #held = new Map<string, Held>();
  readonly #fired: Instance[] = [];

  constructor(state: EvaluationState, project: WatchedProject, atMs: number) {
    this.#state = state;
    this.#project = project;
    this.#atMs = atMs;
  }

  look({ lanes, facts }: WatchedVm): void {
    const lane = lanes.get(LANE);
    if (!lane || lane.vm === '') return;
    const { deaf, outages } = this.#state;
    const outage = outages?.get(facts.datacenter);
    excuse(lane, deaf, outage, this.#atMs);
    passDecided(lane, this.#atMs);
    if (this.#atMs - lane.newestMs <= GAP_TOLERANCE_MS) return;
    const isHeld = outage !== undefined && lane.newestMs >= outage.sinceMs;
    if (isHeld) for (const instance of lane.instances) this.#hold(instance, outage);
    else if (this.#isHeardBy(lane)) this.#fired.push(...lane.instances);
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
    const held = this.#held.get(key) ?? { rule, outage, vms: [], startMs, dueMs };
    held.startMs = Math.min(held.startMs, startMs);
    held.dueMs = Math.min(held.dueMs, dueMs);
    held.vms.push(lane.vm);
    this.#held.set(key, held);
  }

  edges(): Edge[] {
    const held = [...this.#held.values()].flatMap((each) => this.#tellHeld(each));
    const ended = this.#ended();
    return [...held, ...ended, ...this.#fired.flatMap((instance) => this.#tellOne(instance))];
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

  #tellHeld({ rule, outage, vms, startMs, dueMs }: Held): Edge[] {
    const { datacenter } = outage;
    const instance = this.#ofDatacenter(rule, datacenter);
    if (!instance || this.#atMs <= dueMs) return [];
    passDecided(instance.lane, this.#atMs);
    if (instance.decided || openIncident(instance)) return [];
    const told = remember(instance, { firedMs: dueMs, startedMs: startMs });
    this.#state.open.add(instance);
    const key = keyOf(instance);
    const decided = { key, atMs: nextAt(instance, told, this.#atMs), observedMs: dueMs };
    const value = rule.rule.threshold + rule.rule.sustainedMs / 1000;
    const held = { datacenter, vms: vms.sort() };
    const fired = { startedMs: startMs, window: [], notify: true, value, held };
    return [{ kind: 'fired', ...decided, ...fired }];
  }

  #ofDatacenter(rule: RuleInForce, datacenter: string): Instance | undefined {
    const labels = `{datacenter="${datacenter}"}`;
    const place = { metricId: AGE_METRIC, labels, isKept: true };
    const lane = laneOf(this.#project, watchedVm(this.#project, ''), place);
    return lane?.instances.find((instance) => instance.rule === rule);
  }

  /** Incidents of data centers that a census no longer names. */
  #ended(): Edge[] {
    const { outages } = this.#state;
    if (!outages) return [];
    const edges: Edge[] = [];
    for (const { labels, instances } of this.#project.vms.get('')?.lanes.values() ?? []) {
      const datacenter = /^\{datacenter="(.*)"\}$/.exec(labels)?.[1] ?? '';
      if (outages.has(datacenter)) continue;
      for (const instance of instances) edges.push(...this.#recover(instance, datacenter));
    }
    return edges;
  }

  #recover(instance: Instance, datacenter: string): Edge[] {
    passDecided(instance.lane, this.#atMs);
    if (instance.decided) return [];
    const { told } = instance;
    const incident = openIncident(instance);
    const observedMs = this.#newestOf(datacenter);
    if (!told || !incident) return [];
    incident.recoveredMs = Math.max(observedMs, incident.firedMs);
    told.missing = undefined;
    this.#state.open.delete(instance);
    const atMs = nextAt(instance, told, this.#atMs);
    const recovered = { kind: 'recovered' as const, key: keyOf(instance), atMs, window: [] };
    return [Number.isFinite(observedMs) ? { ...recovered, observedMs } : recovered];
  }

  /** Newest observation of the project's VMs there. */
  #newestOf(datacenter: string): number {
    let newestMs = Number.NEGATIVE_INFINITY;
    for (const facts of this.#project.facts.values()) {
      if (facts.datacenter === datacenter) newestMs = Math.max(newestMs, facts.newestMs);
    }
    return newestMs;
  }
}

/** Silence that becomes due while nobody listens, or with a whole data center, is not the VM's. */
function excuse(
  lane: Lane,
  deaf: Stretch | undefined,
  outage: Outage | undefined,
  atMs: number,
): void {
  const before = lane.excused.find((one) => one !== deaf && one.untilMs >= atMs - RETAINED_MS);
  const ongoing = outage && { fromMs: outage.sinceMs, untilMs: Number.POSITIVE_INFINITY };
  const ended =
    before?.untilMs === Number.POSITIVE_INFINITY ? { ...before, untilMs: atMs } : before;
  const stretch = ongoing ?? ended;
  if (!deaf && !stretch && lane.excused.length === 0) return;
  lane.excused = [...(deaf ? [deaf] : []), ...(stretch ? [stretch] : [])];
}
