/**
 * The limits of a project, in one table: name, unit, default and the highest value that an operator
 * may set. The admin commands, `GetProjectLimits` and the checks use it. The operator's settings
 * are a record in the project's own chain. Limits on created resources (rules, destinations) are
 * read and checked inside the decision that adds one, so that concurrent requests cannot exceed a
 * limit together; limits on the use of the service bound the load at any moment.
 */
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { RulesEntry } from '../../streams/telemetry/entry.ts';
import type { Draft, Host, ProjectView } from './host/host-port.ts';

declare module './host/rows.ts' {
  interface RecordBodies {
    projectLimits: Partial<ProjectLimits>;
  }
}

/** One row of the table; `help` and `beyond` are its texts for operators and documents. */
export interface LimitDeclaration {
  /** Unit of the count: `rules`, `samples/s`, `bytes`. */
  readonly unit: string;
  readonly default: number;
  /** Lowest and highest value that an operator may set. */
  readonly min: number;
  readonly max: number;
  /** One phrase, for help texts and documents. */
  readonly help: string;
  /** What happens beyond the limit, one phrase for documents. */
  readonly beyond: string;
}

const MIB = 1024 * 1024;

const RATE_REFUSAL =
  'the whole write is refused: `TOO_MANY_REQUESTS` (429), with the time at which it fits in `Retry-After`';
const ROW_REFUSAL =
  'known ones are still stored; each refused row or series is in `rejected` with `LIMIT_EXCEEDED`';

const CHANGE_REFUSAL = 'the change is refused, unless it ends access or acknowledges';

/** Defaults of the first three: LIMIT-13 to LIMIT-15. */
export const PROJECT_LIMITS = {
  rules: {
    unit: 'rules',
    default: 20,
    min: 0,
    max: 1_000,
    help: 'Alert rules',
    beyond: 'another one is not saved: `LIMIT_EXCEEDED` (400)',
  },
  destinations: {
    unit: 'destinations',
    default: 5,
    min: 0,
    max: 100,
    help: 'Destinations',
    beyond: 'another one is not created: `LIMIT_EXCEEDED` (400)',
  },
  instances: {
    unit: 'instances',
    default: 10_000,
    min: 0,
    max: 200_000,
    help: 'Alert instances evaluated at once: rules × VMs × label sets',
    beyond:
      'a rule that needs more is not saved: `LIMIT_EXCEEDED` (400). Instances that exceed it because VMs are added are not evaluated; the rule and a notice report this',
  },
  vms: {
    unit: 'VMs',
    default: 10_000,
    min: 0,
    max: 50_000,
    help: 'VMs that are registered and not retired',
    beyond: ROW_REFUSAL,
  },
  series: {
    unit: 'series',
    default: 250_000,
    min: 0,
    max: 2_000_000,
    help: 'Series of all VMs together that were reported within retention, counted since the service last started',
    beyond: ROW_REFUSAL,
  },
  headBytes: {
    // 10,000 VMs with 13 series and an hour of rows take 165 MiB.
    unit: 'bytes',
    default: 256 * MIB,
    min: 0,
    max: 1024 * MIB,
    help: 'Memory for readings that are not yet written into the history, and for their texts',
    beyond:
      'above three quarters new VMs and series are refused, above seven eighths all rows: `LIMIT_EXCEEDED` in `rejected`. If the memory of all projects is short, the whole write is refused: `TOO_MANY_REQUESTS` (429) with `Retry-After`',
  },
  concurrency: {
    unit: 'calls',
    default: 8,
    min: 1,
    max: 256,
    help: 'Calls of one class that run at once, at most half of them for one caller; others wait',
    beyond:
      'calls that wait too long, or find the queue full, are refused: `TOO_MANY_REQUESTS` (429) with `Retry-After`. See [below](#calls-that-wait)',
  },
  openStreams: {
    unit: 'streams',
    default: 100,
    min: 0,
    max: 1_000,
    help: 'Open streams of incidents, at most half of them for one caller',
    beyond: 'another one is not opened: `TOO_MANY_REQUESTS` (429) with `Retry-After`',
  },
  samplesPerSecond: {
    // 10,000 VMs with 30 series send 10,000 a second; one process takes several million.
    unit: 'samples/s',
    default: 200_000,
    min: 0,
    max: 10_000_000,
    help: 'Samples written, on average over ten seconds',
    beyond: RATE_REFUSAL,
  },
  ingestBytesPerSecond: {
    unit: 'bytes/s',
    default: 32 * MIB,
    min: 0,
    max: 1024 * MIB,
    help: 'Bytes of WriteSamples requests, on average over ten seconds',
    beyond: RATE_REFUSAL,
  },
  changesPerSecond: {
    // Ten minutes of one person's edits at once, or some hundred rules of a program, fit its burst.
    unit: 'changes/s',
    default: 5,
    min: 0,
    max: 1_000,
    help: 'Changes by people, keys and CI tokens, on average over two minutes: up to 120 times as many at once',
    beyond: `${CHANGE_REFUSAL}: \`TOO_MANY_REQUESTS\` (429), with the time at which one more fits in \`Retry-After\``,
  },
  changeBytesPerDay: {
    // 3,000 edits of a rule with the longest runbook. The disk needs four to eight times as much:
    // the projection, indexes and the service's follow-up work for a rule.
    unit: 'bytes',
    default: 16 * MIB,
    min: 0,
    max: 4096 * MIB,
    help: 'Bytes of the commits of these changes since midnight UTC',
    beyond: `${CHANGE_REFUSAL}: \`LIMIT_EXCEEDED\` (400)`,
  },
  thingsPerDay: {
    unit: 'things',
    default: 2_000,
    min: 0,
    max: 1_000_000,
    help: 'Rules, windows, destinations, recipients, accounts, keys, CI connections, members, invitations and enrolments that were made or deleted since midnight UTC, in total',
    beyond: `a change that makes or deletes one is refused, unless it ends access: \`LIMIT_EXCEEDED\` (400)`,
  },
} as const satisfies Readonly<Record<string, LimitDeclaration>>;

/** Names of limits in the admin commands and the API. */
export type LimitName = keyof typeof PROJECT_LIMITS;

/** Every limit with the value in force: the default, or the operator's setting. */
export type ProjectLimits = Readonly<Record<LimitName, number>>;

/** In display order. */
export const LIMIT_NAMES = Object.keys(PROJECT_LIMITS) as readonly LimitName[];

/** Limits of a project without settings. */
export const DEFAULT_LIMITS = Object.fromEntries(
  LIMIT_NAMES.map((name) => [name, PROJECT_LIMITS[name].default]),
) as ProjectLimits;

/** Kind of the record that holds the operator's settings; limits not in it have their default. */
export const LIMITS_KIND = 'projectLimits';
const ID = 'limits';

/** The limits in force for a project: its settings, or else the defaults. */
export function limitsOf(view: ProjectView): ProjectLimits {
  return { ...DEFAULT_LIMITS, ...setOf(view) };
}

/** Only the settings of a project: a default may change with the program. */
function setOf(view: ProjectView): Partial<ProjectLimits> | undefined {
  // Only `setLimits` writes records of this kind.
  return view.record(LIMITS_KIND, ID)?.body as Partial<ProjectLimits> | undefined;
}

/**
 * Sets some of a project's limits; the others stay. Existing items beyond a lowered limit also stay,
 * but no more are added. Throws a `Refusal` INVALID_FIELD.
 *
 * @returns the limits in force from now on
 */
export function setLimits(draft: Draft, change: Partial<ProjectLimits>): ProjectLimits {
  for (const [name, value] of Object.entries(change)) {
    const { min, max } = PROJECT_LIMITS[name as LimitName];
    if (Number.isInteger(value) && value >= min && value <= max) continue;
    const message = `${name} is ${value}: send a whole number from ${min} to ${max}`;
    throw invalidField(name, message);
  }
  draft.putRecord({ kind: LIMITS_KIND, id: ID, body: { ...setOf(draft), ...change } });
  return limitsOf(draft);
}

/** The log entry that delivers the project's bound on instances to the evaluator. */
export function limitsMarker(view: ProjectView, atMs: number): RulesEntry {
  const limits = [{ project: view.project, instances: limitsOf(view).instances }];
  return { kind: 'rules', atMs, upserts: [], removals: [], limits };
}

const COUNTED = {
  rules: { machine: 'alertRule', words: 'alert rules' },
  destinations: { machine: 'destination', words: 'destinations' },
} as const;

/**
 * Throws a `Refusal` LIMIT_EXCEEDED, with `limit` (how many), `current` and `of` (`rules`,
 * `destinations`), if the project has no room for one more. Call it in the decision that adds it.
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

/**
 * The refusal for a limit, in the same form for all limits. `wanted`: the number that there would
 * have been.
 */
export function limitExceeded(
  sentence: string,
  facts: {
    readonly of: LimitName;
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

/**
 * The limits of each project for code that runs on every request: read from the projection once,
 * and again after a commit that changes them. Bounded by the number of projects.
 */
export class ProjectLimitsReader {
  readonly #host: Pick<Host, 'view' | 'onApplied'>;
  readonly #limits = new Map<string, ProjectLimits>();

  constructor(host: Pick<Host, 'view' | 'onApplied'>) {
    this.#host = host;
    host.onApplied(({ commit: { project, decisions } }) => {
      if (!this.#limits.has(project)) return;
      const isChanged = decisions.some(({ records }) =>
        records.some(({ kind }) => kind === LIMITS_KIND),
      );
      if (isChanged) this.#limits.delete(project);
    });
  }

  /** The project's limits now: the operator's settings, or else the defaults. */
  of(project: string): ProjectLimits {
    let limits = this.#limits.get(project);
    if (limits === undefined) {
      limits = limitsOf(this.#host.view(project));
      this.#limits.set(project, limits);
    }
    return limits;
  }
}
