/**
 * The people of a project: they save, edit, pause and delete rules, manage destinations and
 * recipients, and acknowledge and silence incidents. Each action is a request that is repeated
 * unchanged until it is answered or its sender gives up.
 */

import type { Instance, ProjectView } from '../../actors/platform/host/host-port.ts';
import { setLimits } from '../../actors/platform/project-limits.ts';
import type { AlertRuleContext, AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import { actionsOnDestinations } from './actions-on-destinations.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import type { Mailbox } from './mailbox.ts';
import type { Doors } from './process.ts';
import { BREACH_ABOVE, GOOD_UP_TO } from './signal.ts';
import type { World } from './world.ts';

/** An answered action. */
export interface Done {
  readonly project: string;
  readonly requestId: string;
  readonly what: string;
  readonly elapsedMs: number;
  /** Position in EVENTS that the answer names. */
  readonly sequence: number;
}

/** An action: its name and its request. A retry sends the same request. */
export interface Action {
  readonly what: string;
  ask(doors: Doors, caller: CallerOf): Promise<{ readonly sequence: number } | undefined>;
}

export interface CallerOf {
  readonly project: string;
  readonly by: { readonly kind: 'human'; readonly name: string };
  readonly request: { readonly scope: string; readonly id: string; readonly fingerprint: string };
}

/** Makes an action from the current view; undefined if it has no object. */
export type Idea = (view: ProjectView, dice: Dice, around: Around) => Action | undefined;

export interface Around {
  readonly world: World;
  readonly mailbox: Mailbox;
}

const PATIENCE_MS = 12_000;
const TRIES_MAX = 12;
const RUSH_MS = 120_000;

export class People {
  readonly done: Done[] = [];
  readonly project: string;
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #dice: Dice;
  readonly #mailbox: Mailbox;
  readonly #everyMs: number;
  #requests = 0;
  #isOver = false;

  constructor(
    world: World,
    cluster: Cluster,
    { project, mailbox }: { readonly project: string; readonly mailbox: Mailbox },
  ) {
    this.project = project;
    this.#mailbox = mailbox;
    this.#world = world;
    this.#cluster = cluster;
    this.#dice = world.dice.fork(`people of ${project}`);
    this.#everyMs = this.#dice.pick([20_000, 60_000, 200_000]);
  }

  /** @param count number of people who act at the same time */
  start(count: number): void {
    for (let i = 0; i < count; i++) void this.#live(`users/${this.project}-${i}`);
  }

  /** Stops new actions. */
  rest(): void {
    this.#isOver = true;
  }

  async #live(name: string): Promise<void> {
    // Nothing can happen without a destination and a rule, so these are first.
    const first: Idea[] = [newMembers, newDestination, newRule, newMail, newRule];
    if (this.#dice.chance(0.3)) first.unshift(limitsAct);
    if (this.#cluster.members.length > 1 && this.#dice.chance(0.5)) first.push(silenceRule);
    for (let i = 0; !this.#isOver; i++) {
      const pauseMs = i < first.length ? 2_000 : 2 * this.#everyMs * this.#dice.roll();
      // Sometimes several people act at the same moment.
      const isRush = i >= first.length && this.#dice.chance(0.2);
      if (isRush) await this.#world.wait(RUSH_MS - (this.#world.elapsedMs % RUSH_MS));
      await this.#world.wait(pauseMs);
      const idea = first[i] ?? this.#dice.pick(IDEAS);
      const view = this.#cluster.someDoors(this.#dice)?.host.view(this.project);
      const act = view && idea(view, this.#dice, { world: this.#world, mailbox: this.#mailbox });
      if (act) await this.#carryOut(act, name);
    }
  }

  async #carryOut(act: Action, name: string): Promise<void> {
    const { project } = this;
    const id = `request-${++this.#requests}`;
    const request = { scope: `${project}/${name}`, id, fingerprint: act.what };
    const by = { kind: 'human', name } as const;
    this.#world.trace(() => `${name} asks ${id}: ${act.what}`);
    for (let tries = 0; tries < TRIES_MAX && !this.#isOver; tries++) {
      const ask = (doors: Doors) => act.ask(doors, { project, by, request });
      const answer = await this.#cluster.ask(ask, PATIENCE_MS);
      if (answer.kind === 'refused') {
        this.#world.trace(() => `${id} is refused: ${answer.refusal.message}`);
        return;
      }
      if (answer.kind === 'answered') {
        const { elapsedMs } = this.#world;
        // A link is not a request, and may be opened again.
        if (!answer.value) return;
        const { sequence } = answer.value;
        this.done.push({ project, requestId: id, what: act.what, elapsedMs, sequence });
        this.#world.trace(() => `${id} is answered: ${act.what} at ${sequence}`);
        return;
      }
      await this.#world.wait(this.#dice.between(500, 8_000));
    }
  }
}

function live<M extends MachineName>(view: ProjectView, machine: M): readonly Instance<M>[] {
  return view.instances(machine, { limit: 1000, final: false }).items;
}

const METRICS = [
  'cpu_utilization_pct',
  'cpu_utilization_pct',
  'memory_used_pct',
  'filesystem_used_pct',
  'vm_running',
  'unexpected_stop',
  'telemetry_age_seconds',
];

/** Condition of each metric's breach; all others breach above 90 %. */
const CONDITIONS: Readonly<Record<string, Pick<AlertRuleSpec, 'operator' | 'threshold'>>> = {
  vm_running: { operator: 'EQUAL', threshold: 0 },
  unexpected_stop: { operator: 'EQUAL', threshold: 1 },
  telemetry_age_seconds: { operator: 'GREATER_THAN', threshold: 120 },
};

function specOf(view: ProjectView, dice: Dice): AlertRuleSpec {
  const metricId = dice.pick(METRICS);
  const condition = CONDITIONS[metricId];
  const vms = view.records('vm', { limit: 100 }).items.map(({ id }) => id);
  const selected = vms.filter(() => dice.chance(0.5));
  const allVms = selected.length === 0 || dice.chance(0.7);
  const recoverySeconds = dice.pick([0, 0, 60, 120]);
  return {
    displayName: `Rule ${dice.below(1000)}`,
    metricId,
    ...(condition ?? { operator: 'GREATER_THAN', threshold: BREACH_ABOVE }),
    sustainedSeconds: dice.pick([0, 30, 60, 120, 300]),
    severity: 'WARNING',
    allVms,
    vmNames: allVms ? [] : selected.map((vm) => `projects/${view.project}/vms/${vm}`),
    enabled: true,
    repeatIntervalSeconds: dice.pick([0, 0, 60, 300]),
    destinationNames: destinationNames(view, dice),
    ...(recoverySeconds > 0 && { recoverySeconds }),
    ...(!condition && dice.chance(0.3) && { recoveryThreshold: GOOD_UP_TO }),
  };
}

function destinationNames(view: ProjectView, dice: Dice): string[] {
  return live(view, 'destination')
    .filter(() => dice.chance(0.7))
    .map(({ instance }) => `projects/${view.project}/destinations/${instance}`);
}

const newRule: Idea = (view, dice) => {
  const id = `rule-${dice.below(1e9)}`;
  return saveRule(id, 0, specOf(view, dice), 'a new rule');
};

/**
 * Prefix of the ids of such rules. They are not edited, so that they are in force when it matters.
 */
const ON_SILENCE = 'silence-';

function editableRules(view: ProjectView): readonly Instance<'alertRule'>[] {
  return live(view, 'alertRule').filter(({ instance }) => !instance.startsWith(ON_SILENCE));
}

/** A rule that fires when a VM has been silent for two minutes. */
const silenceRule: Idea = (view, dice) => {
  const spec: AlertRuleSpec = {
    ...specOf(view, dice),
    displayName: 'Silence',
    metricId: 'telemetry_age_seconds',
    sustainedSeconds: 0,
    operator: 'GREATER_THAN',
    threshold: 120,
    allVms: true,
    vmNames: [],
  };
  const { recoveryThreshold: _, ...silence } = spec;
  return saveRule(`${ON_SILENCE}${dice.below(1e9)}`, 0, silence, 'a rule on silence');
};

function saveRule(id: string, version: number, spec: AlertRuleSpec, what: string): Action {
  const expectedVersion = String(version);
  return {
    what: `${what} ${id}`,
    ask: ({ alerting }, caller) => alerting.saveRule({ ...caller, id, expectedVersion, spec }),
  };
}

/** The operator lowers or raises the project's limits. */
const limitsAct: Idea = (_, dice) => {
  const change = { rules: 2 + dice.below(6), destinations: 1 + dice.below(5) };
  return {
    what: `sets limits to ${change.rules} and ${change.destinations}`,
    ask: ({ host }, caller) =>
      host.submit({ ...caller, decide: (draft) => ({ ...setLimits(draft, change) }) }),
  };
};

/** Another version of an existing rule. */
function editedRule(
  what: string,
  edit: (spec: AlertRuleSpec, view: ProjectView, dice: Dice) => Partial<AlertRuleSpec>,
): Idea {
  return (view, dice) => {
    const all = editableRules(view);
    if (all.length === 0) return undefined;
    const { rule, version, spec } = dice.pick(all).context as unknown as AlertRuleContext;
    return saveRule(rule, version, { ...spec, ...edit(spec, view, dice) }, what);
  };
}

const deleteRule: Idea = (view, dice) => {
  const all = editableRules(view);
  if (all.length < 2) return undefined;
  const { rule: id, version } = dice.pick(all).context as unknown as AlertRuleContext;
  const expectedVersion = String(version);
  return {
    what: `deletes rule ${id}`,
    ask: ({ alerting }, caller) => alerting.deleteRule({ ...caller, id, expectedVersion }),
  };
};

/** An action on an incident that fires, as far as the view shows. */
function toIncident(
  what: string,
  ask: (
    incidents: Doors['incidents'],
    act: CallerOf & { id: string },
    untilMs: number,
  ) => ReturnType<Doors['incidents']['unsnooze']>,
): Idea {
  return (view, dice, { world }) => {
    const open = view
      .records('incident', { limit: 1000 })
      .items.filter(({ body }) => body.state === 'FIRING');
    if (open.length === 0) return undefined;
    const { id } = dice.pick(open);
    const untilMs = Math.round(world.nowMs + dice.between(20_000, 600_000));
    return {
      what: `${what} incident ${id}`,
      ask: ({ incidents }, caller) => ask(incidents, { ...caller, id }, untilMs),
    };
  };
}

const { newDestination, newMembers, newMail, ...destinationIdeas } = actionsOnDestinations;

const IDEAS: readonly Idea[] = [
  newRule,
  editedRule('edits rule', (_, view, dice) => ({ ...specOf(view, dice) })),
  editedRule('renames rule', (_, __, dice) => ({ displayName: `Renamed ${dice.below(1000)}` })),
  editedRule('changes the destinations of rule', (_, view, dice) => ({
    destinationNames: destinationNames(view, dice),
  })),
  editedRule('switches rule', ({ enabled }) => ({ enabled: !enabled })),
  deleteRule,
  toIncident('acknowledges', (incidents, act) => incidents.acknowledge({ ...act, note: 'Seen' })),
  ...Array.from({ length: 2 }, () =>
    toIncident('snoozes', (incidents, act, untilMs) => incidents.snooze({ ...act, untilMs })),
  ),
  toIncident('unsnoozes', (incidents, act) => incidents.unsnooze(act)),
  limitsAct,
  newDestination,
  newMail,
  ...Object.values(destinationIdeas),
];
