/**
 * How many rules, destinations and evaluated instances a project may have: defaults, and what the
 * operator has set for one project, a record in its own chain. Read and checked inside the decision
 * that adds one, so that concurrent requests cannot pass a limit together.
 */
import type { LogEntry } from '../../streams/evaluation/entry.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { Draft, ProjectView } from '../host-port.ts';

export interface ProjectLimits {
  readonly rules: number;
  readonly destinations: number;
  /** Instances evaluated at once: rules × VMs × label sets. */
  readonly instances: number;
}

/** Interface, section 8. */
const DEFAULT_LIMITS: ProjectLimits = { rules: 20, destinations: 5, instances: 10_000 };

/** What an operator may set at most: what one partition's evaluator and one page are made for. */
const LIMITS_MAX: ProjectLimits = { rules: 1_000, destinations: 100, instances: 200_000 };

export const LIMITS_KIND = 'projectLimits';
const ID = 'limits';

/** What holds for a project: what was set for it, else the defaults. */
export function limitsOf(view: ProjectView): ProjectLimits {
  // Records of this kind are written by `setLimits` alone.
  const body = view.record(LIMITS_KIND, ID)?.body as Partial<ProjectLimits> | undefined;
  return { ...DEFAULT_LIMITS, ...body };
}

/**
 * Sets some of a project's limits; the others stay. What exceeds a lowered limit stays too: nothing
 * more is added. Throws a `Refusal` INVALID_FIELD.
 *
 * @returns the limits that hold from here on
 */
export function setLimits(draft: Draft, change: Partial<ProjectLimits>): ProjectLimits {
  for (const [name, value] of Object.entries(change)) {
    const max = LIMITS_MAX[name as keyof ProjectLimits];
    if (Number.isInteger(value) && value >= 0 && value <= max) continue;
    const message = `${name} is ${value}: a whole number from 0 to ${max}`;
    throw new Refusal('INVALID_FIELD', message, { field: name });
  }
  const after = { ...limitsOf(draft), ...change };
  draft.putRecord({ kind: LIMITS_KIND, id: ID, body: after });
  return after;
}

/** The log entry that brings the project's bound on instances to the evaluator. */
export function limitsMarker(view: ProjectView, atMs: number): LogEntry {
  const limits = [{ project: view.project, instances: limitsOf(view).instances }];
  return { kind: 'rules', atMs, upserts: [], removals: [], limits };
}

const COUNTED = {
  rules: { machine: 'alertRule', words: 'alert rules' },
  destinations: { machine: 'destination', words: 'destinations' },
} as const;

/**
 * Throws a `Refusal` LIMIT_EXCEEDED, with `limit` (how many), `current` and `of` (`rules`,
 * `destinations`), when the project has no room for one more. Call it in the decision that adds it.
 */
export function checkLimit(draft: Draft, of: keyof typeof COUNTED): void {
  const { machine, words } = COUNTED[of];
  const current = draft.countInstances(machine, { final: false });
  const limit = limitsOf(draft)[of];
  if (current < limit) return;
  throw limitExceeded(`The project has at most ${limit} ${words}: delete one`, {
    of,
    limit,
    current,
  });
}

/** The refusal for a limit, of one shape for all. `wanted`: how many there would have been. */
export function limitExceeded(
  sentence: string,
  facts: {
    readonly of: keyof ProjectLimits;
    readonly limit: number;
    readonly current: number;
    readonly wanted?: number;
  },
): Refusal {
  const metadata = Object.entries(facts).map(([name, value]) => [name, String(value)]);
  return new Refusal(
    'LIMIT_EXCEEDED',
    `${sentence}, or ask the operator for more ("svc admin limits set")`,
    Object.fromEntries(metadata),
  );
}
