/**
 * The first steps in a project, and which of them are done: pure. They follow from what the service
 * knows, never from what somebody clicked; what was not answered is not known.
 */
import type { Role } from '../../data/projects.ts';

export type StepKey = 'watching' | 'rule' | 'destination' | 'statechart' | 'invite';
export type StepState = 'done' | 'open' | 'unknown';

/** What the steps follow from; undefined = not answered yet, or not for this role. */
export interface StepFacts {
  readonly liveVms: number | undefined;
  readonly rules: number | undefined;
  /** A destination accepted a message, a test or another. */
  readonly hasAccepted: boolean | undefined;
  /** An alert instance has a recorded path: it fired at least once. */
  readonly hasFired: boolean | undefined;
  /** Members and people who are invited. */
  readonly people: number | undefined;
}

export interface Step {
  readonly key: StepKey;
  readonly state: StepState;
  /** Where it is done, if this version has the page. */
  readonly page: string;
  readonly needs: Role;
  /** The same on the command line. */
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

/** True while there is something to show of them. */
export function hasOpenSteps(all: readonly Step[]): boolean {
  return all.some(({ state }) => state !== 'done');
}
