/**
 * The path of an attempt, from the queue to its recorded outcome. All stages are named here, in
 * their order; each one passes the attempt on or ends its path.
 *
 *     prepare  settleGroup -> recheckMembers -> renderBody                    (`opening.ts`)
 *     open     one commit: rechecks, compares with the limits, starts to send
 *     send     refuseLate -> unsealTarget -> sendToChannel                    (`sending.ts`)
 *     record   one commit: the delivery, its destination and recipient        (`outcome.ts`)
 *
 * Attempts of a project that reach a commit at the same time share it.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import { type AttemptDeps, kindOf } from './attempt.ts';
import type { DestinationSlots } from './destination-slots.ts';
import type { DueAttempt } from './due-attempts.ts';
import { type Opened, openTogether, recheckMembers, renderBody, settleGroup } from './opening.ts';
import { type EndedAttempt, type ReportedAttempt, recordOutcomes } from './outcome.ts';
import { BATCH_ITEMS_MAX, ProjectBatches } from './project-batches.ts';
import { refuseLate, sendToChannel, unsealTarget } from './sending.ts';
import { pathOf } from './stages.ts';

/** Dependencies of the stages, and the environment of the whole path. */
export interface AttemptPathDeps extends AttemptDeps {
  readonly slots: Pick<DestinationSlots, 'wait'>;
  /** Repeats a commit until the stream answers. */
  readonly persist: (submit: () => Promise<void>) => Promise<void>;
  /** Called with each result, before it is committed. */
  readonly onAttempt: (attempt: ReportedAttempt) => void;
}

/** Resolves once the outcome is committed, or with the reason why the attempt was not opened. */
export type AttemptPath = (due: DueAttempt) => Promise<Opened>;

/** Assembles the stages, in their order. */
export function attemptPath(deps: AttemptPathDeps): AttemptPath {
  const sends = new OpenSends(deps.clock);
  const prepare = pathOf(settleGroup(deps), recheckMembers(deps), renderBody(deps));
  const openings = new ProjectBatches(openTogether(deps, prepare), nextTurn);
  const send = pathOf(refuseLate(deps), unsealTarget(deps), sendToChannel(deps));
  const endings = new ProjectBatches(recordTogether(deps), sends.gathered);
  return async (due) => {
    const opened = await inSlot(deps, due, () => openings.add(due.project, due));
    if (opened.kind === 'suppressed') report(deps, due, opened, 0);
    if (opened.kind !== 'open') return opened;
    const { attempt } = opened;
    const startedMs = deps.clock.elapsed();
    const outcome = await sends.during(due.project, () => send(attempt));
    const durationMs = deps.clock.elapsed() - startedMs;
    report(deps, due, outcome, durationMs);
    const { project, delivery, attemptId } = attempt;
    const ended = { project, delivery, attemptId, outcome, durationMs };
    await deps.persist(() => endings.add(project, ended));
    return opened;
  };
}

/** Repeats `open` until the destination has a slot, or the attempt has to return to its queue. */
async function inSlot(
  { host, slots }: AttemptPathDeps,
  { project, delivery }: DueAttempt,
  open: () => Promise<Opened>,
): Promise<Opened> {
  while (true) {
    const opened = await open();
    if (opened.kind !== 'busy') return opened;
    const row = host.view(project).instance('delivery', delivery);
    const hasSlot = row && (await slots.wait(row.context.destination));
    if (!hasSlot) return opened;
  }
}

function recordTogether(deps: AttemptPathDeps) {
  return async (project: string, ended: readonly EndedAttempt[]): Promise<undefined[]> => {
    await recordOutcomes(deps, project, ended);
    return ended.map(() => undefined);
  };
}

function report(
  { host, onAttempt }: AttemptPathDeps,
  { project, delivery, attempt }: DueAttempt,
  outcome: ReportedAttempt['outcome'],
  durationMs: number,
): void {
  const view = host.view(project);
  const row = view.instance('delivery', delivery);
  if (!row) return;
  const { destination } = row.context;
  const about = { project, delivery, attempt, destination, kind: kindOf(view, row.context) };
  onAttempt({ ...about, outcome, durationMs });
}

/**
 * An end waits for others at most for this many turns without one, and at most for this time, ms.
 */
const GATHER_TURNS = 4;
const GATHER_MS_MAX = 20;

/**
 * Attempts without a known outcome. Attempts that were opened together usually end together, so an
 * end waits while more of them arrive, turn by turn of the event loop. A single attempt, or a slow
 * batch, is committed at once.
 */
class OpenSends {
  readonly #clock: Clock;
  /** Number of attempts by project. */
  readonly #counts = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async during<T>(project: string, send: () => Promise<T>): Promise<T> {
    const counts = this.#counts;
    counts.set(project, (counts.get(project) ?? 0) + 1);
    try {
      return await send();
    } finally {
      const left = (counts.get(project) ?? 1) - 1;
      if (left > 0) counts.set(project, left);
      else counts.delete(project);
    }
  }

  /** Resolves once it is time to commit the ends that `count` has counted. */
  gathered = async (project: string, count: () => number): Promise<void> => {
    const startedMs = this.#clock.elapsed();
    const isOver = () =>
      !this.#counts.has(project) ||
      count() >= BATCH_ITEMS_MAX ||
      this.#clock.elapsed() - startedMs > GATHER_MS_MAX;
    let [before, quietTurns] = [0, 0];
    while (!isOver() && quietTurns < GATHER_TURNS) {
      quietTurns = count() > before ? 0 : quietTurns + 1;
      before = count();
      await nextTurn();
    }
  };
}
