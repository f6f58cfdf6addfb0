/**
 * The first steps in a project, and which of them are done. Pure. They are derived from the
 * service's data, never from clicks; facts without a response are unknown.
 */
import type { Role } from '../../data/projects.ts';

export type StepKey = 'watching' | 'rule' | 'destination' | 'statechart' | 'invite';
export type StepState = 'done' | 'open' | 'unknown';

/** Basis of the steps; undefined if not loaded yet or not available to this role. */
export interface StepFacts {
  readonly liveVms: number | undefined;
  readonly rules: number | undefined;
  /** A destination accepted a message, whether a test or another one. */
  readonly hasAccepted: boolean | undefined;
  /** An alert instance has a recorded path, so it fired at least once. */
  readonly hasFired: boolean | undefined;
  /** Number of members and invited people. */
  readonly people: number | undefined;
}

export interface Step {
  readonly key: StepKey;
  readonly state: StepState;
  /** Page of the step, if this version has it. */
  readonly page: string;
  readonly needs: Role;
  /** The equivalent command. */
  readonly command: string;
}

const steps = [
  { key: 'watching', page: 'vms', needs: 'VIEWER', command: 'svc monitoring vms' },
  {
    key: 'rule',
    page: 'newAlertRule',
    needs: 'EDITOR',
    command:
      'svc alerts preview --metric cpu_utilization_pct --operator GREATER_THAN --threshold 90 --for 1m --severity WARNING --all-vms',
  },
  {
    key: 'destination',
    page: 'destinations',
    needs: 'EDITOR',
    command: 'svc destinations create --kind webhook --name "On call" --url https://…',
  },
  { key: 'statechart', page: 'machines', needs: 'VIEWER', command: 'svc alerts instances' },
  { key: 'invite', page: 'members', needs: 'OWNER', command: 'svc members invite EMAIL' },
] as const satisfies readonly Omit<Step, 'state'>[];

export function firstSteps(facts: StepFacts): Step[] {
  const { liveVms, rules, hasAccepted, hasFired, people } = facts;
  const states: Readonly<Record<StepKey, StepState>> = {
    watching: stateOf(liveVms, (count) => count > 0),
    rule: stateOf(rules, (count) => count > 0),
    destination: stateOf(hasAccepted, (is) => is),
    statechart: stateOf(hasFired, (is) => is),
    invite: stateOf(people, (count) => count > 1),
  };
  return steps.map((step) => ({ ...step, state: states[step.key] }));
}

function stateOf<T>(fact: T | undefined, isDone: (fact: T) => boolean): StepState {
  if (fact === undefined) return 'unknown';
  return isDone(fact) ? 'done' : 'open';
}

/** True while there is something to show. */
export function hasOpenSteps(all: readonly Step[]): boolean {
  return all.some(({ state }) => state !== 'done');
}
