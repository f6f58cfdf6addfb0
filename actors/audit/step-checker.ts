/**
 * Checks one commit's steps against everything else that records them: the machine, which must
 * decide the same again; the transitions in the audit log; and, for an instance's last step, the
 * current row. The state before a step is the previous step, kept for the most recently seen
 * instances and read from the log again for the others.
 */

import { isDeepStrictEqual } from 'node:util';
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import type { CommitReader, InstanceKey } from '../../sqlite/platform/control/commit-reader.ts';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';
import { decodeCommit } from '../../streams/platform/commit/codec.ts';
import type { Commit, Decision, InstanceStep } from '../../streams/platform/commit/commit.ts';
import type { RecordedTransition } from '../../streams/platform/commit/projection.ts';
import { initialStep, nextStep, upcast } from '../platform/host/rows.ts';

/** Bodies of commits, wherever the log is. */
export interface CommitBodies {
  /** The commit's message; `removed` if the log starts after it; undefined if it is missing. */
  at(sequence: number): Promise<Uint8Array | 'removed' | undefined>;
}

/** The result for a commit's steps. */
export interface StepCheck {
  readonly steps: number;
  readonly decidedAgain: number;
  /** A sentence about the fault; undefined if absent. */
  readonly fault: string | undefined;
}

/** The three places that record a step: the log, the transitions, the rows. */
export interface StepCheckerOptions {
  readonly reader: CommitReader;
  readonly bodies: CommitBodies;
  readonly machines: ReadonlyMap<string, MachineDefinition>;
  /** True if the row of an instance in this state may have been removed. `to` is JSON. */
  readonly isForgotten: (row: { machine: string; at: number; to: string }) => boolean;
}

/** Maximum instances whose last step is kept; one takes about a kilobyte. */
const KEPT_MAX = 10_000;

/**
 * Checks commits in the order of the log. It remembers the last step of instances, within a bound.
 */
export class StepChecker {
  readonly #options: StepCheckerOptions;
  readonly #last = new BoundedCache<string, InstanceStep>(KEPT_MAX);

  constructor(options: StepCheckerOptions) {
    this.#options = options;
  }

  /** Checks the steps of a commit whose digests hold. @param sequence its position in EVENTS */
  async check(commit: Commit, sequence: number): Promise<StepCheck> {
    const decided = commit.decisions.flatMap((decision) =>
      decision.steps.map((step): DecidedStep => ({ step, decision })),
    );
    const steps = decided.map(({ step }) => step);
    const counts = { steps: steps.length, decidedAgain: 0 };
    const fault = (detail: string): StepCheck => ({ ...counts, fault: detail });
    for (const step of steps) {
      const before = await this.#before(commit.project, step, sequence);
      const outcome = this.#decide(step, before, commit.at);
      if (outcome === 'another') {
        return fault(`${nameOf(step)} is not decided again as it was recorded: ${step.event.type}`);
      }
      if (outcome === 'same') counts.decidedAgain++;
      this.#keep(commit.project, step);
    }
    return { ...counts, fault: this.#checkProjection(commit, decided, sequence) };
  }

  /** The instance before this step; null if it starts here; undefined if it is no longer known. */
  async #before(
    project: string,
    step: InstanceStep,
    sequence: number,
  ): Promise<InstanceStep | null | undefined> {
    if (step.from === null) return null;
    const kept = this.#last.get(keyOf(project, step));
    if (kept) return kept;
    const { reader, bodies } = this.#options;
    const earlier = reader.transitionBefore({ ...step, project }, sequence);
    const body = earlier === undefined ? undefined : await bodies.at(earlier);
    if (body === undefined || body === 'removed') return undefined;
    const { commit } = decodeCommit(body);
    const steps = commit.decisions.flatMap((decision) => decision.steps);
    return steps.findLast((one) => keyOf(project, one) === keyOf(project, step));
  }

  #decide(
    step: InstanceStep,
    before: InstanceStep | null | undefined,
    at: number,
  ): 'same' | 'another' | 'unknown' {
    const definition = this.#options.machines.get(step.machine);
    // Only the machine of the older program can repeat that decision.
    if (!definition || definition.version !== step.version || before === undefined) {
      return 'unknown';
    }
    if (before !== null && !isDeepStrictEqual(before.to, step.from)) return 'another';
    const decided = decideAgain(definition, step, before, at);
    const recorded = { value: step.to, context: step.context, timers: step.timers };
    return isDeepStrictEqual(asJson(decided), { ...recorded, final: step.final })
      ? 'same'
      : 'another';
  }

  #checkProjection(
    { project, at }: Commit,
    steps: readonly DecidedStep[],
    sequence: number,
  ): string | undefined {
    const { reader } = this.#options;
    return reader.atOnce(() => {
      const listed = reader.transitions(sequence);
      if (listed.length !== steps.length) {
        return `The audit log has ${listed.length} transitions of it, but it has ${steps.length}`;
      }
      for (const [i, { step, decision }] of steps.entries()) {
        const recorded = listed[i];
        const isSame = recorded?.atMs === at && isSameTransition(recorded, step, project);
        if (!isSame || !isSameCause(recorded, decision)) {
          return `The audit log has a transition of ${nameOf(step)} that differs from the committed one`;
        }
      }
      const last = new Map(steps.map(({ step }) => [keyOf(project, step), step]));
      const wrong = [...last.values()].find((step) => !this.#isRowOf(project, step, sequence));
      return wrong && `The row of ${nameOf(wrong)} is not the result of its last commit`;
    });
  }

  /** Also true if a later commit has changed the row, which is then compared with that one. */
  #isRowOf(project: string, step: InstanceStep, sequence: number): boolean {
    const found = this.#options.reader.instance({ ...step, project });
    if (!found) return this.#isForgotten(project, step);
    if (found.sequence !== sequence) return true;
    const { value, context, timers, final, version } = found.row;
    const row = { value, context, timers, final, version };
    const { to, context: recorded, timers: due, final: ended, version: of } = step;
    return isDeepStrictEqual(row, {
      value: to,
      context: recorded,
      timers: due,
      final: ended,
      version: of,
    });
  }

  /** By its last transition, because a later one than this step's may have ended it. */
  #isForgotten(project: string, { machine, instance }: InstanceStep): boolean {
    const last = this.#options.reader.lastTransition({ project, machine, instance });
    return last !== undefined && this.#options.isForgotten({ machine, ...last });
  }

  #keep(project: string, step: InstanceStep): void {
    const key = keyOf(project, step);
    if (step.final) this.#last.delete(key);
    else this.#last.set(key, step);
  }
}

/** The step as its machine decides it now, from the records before it. */
function decideAgain(
  definition: MachineDefinition,
  step: InstanceStep,
  before: InstanceStep | null,
  at: number,
) {
  if (before === null) {
    const { input } = step.event as { readonly input?: Readonly<Record<string, unknown>> };
    return outcomeOf(initialStep(definition, input ?? {}, at));
  }
  const { to: value, context, version } = before;
  // An event of a timer belongs to that timer alone, which it uses up.
  const spent = before.timers.find((timer) => timer.event.type === step.event.type);
  const timers = before.timers.filter((timer) => timer !== spent);
  const row = { ...upcast(definition, { value, context, version }), timers };
  return outcomeOf(nextStep(definition, row, step.event, at) ?? { ...row, final: false });
}

function outcomeOf({
  value,
  context,
  timers,
  final,
}: Omit<ReturnType<typeof initialStep>, 'effects'>) {
  return { value, context, timers, final };
}

interface DecidedStep {
  readonly step: InstanceStep;
  /** Origin of the step: the actor and the request. */
  readonly decision: Decision;
}

type ListedTransition = RecordedTransition & { readonly project: string };

/** Rows from before request ids were stored have none. */
function isSameCause({ by, requestId }: ListedTransition, decision: Decision): boolean {
  const isSameRequest = requestId === null || requestId === decision.request?.id;
  return isSameRequest && isDeepStrictEqual(by, decision.by);
}

function isSameTransition(
  recorded: ListedTransition,
  step: InstanceStep,
  project: string,
): boolean {
  return (
    recorded.project === project &&
    recorded.machine === step.machine &&
    recorded.instance === step.instance &&
    isDeepStrictEqual(recorded.event, step.event) &&
    isDeepStrictEqual(recorded.from, step.from) &&
    isDeepStrictEqual(recorded.to, step.to)
  );
}

function keyOf(project: string, { machine, instance }: Omit<InstanceKey, 'project'>): string {
  return `${project} ${machine} ${instance}`;
}

function nameOf({ machine, instance }: InstanceStep): string {
  return `${machine} ${instance}`;
}

/** The value after the log, without what JSON omits. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
