/**
 * Proof that the recorded history matches the commits. It checks each project's hash chain from its
 * first commit to its head, each body that the log still holds against its digests, the transitions
 * and rows of the projection against the bodies, and that each step is decided again by its
 * machine. It works in one pass in the log's order, one commit per turn, so that it may run inside
 * a busy service. Then it checks every transition and row once more (`row-checker.ts`), including
 * those that no commit made.
 */

import { isDeepStrictEqual } from 'node:util';
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import type {
  CommitReader,
  InstanceKey,
  InstanceWithLast,
  StoredTransition,
} from '../../sqlite/platform/control/commit-reader.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import { pagesAfter } from '../../streams/platform/commit/page.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import { ProjectCheck, type ProjectCheckParts, type ProjectVerification } from './project-check.ts';
import { FORGOTTEN_MACHINES, HISTORY_KEPT_MS } from './retention.ts';
import { type CommitBodies, StepChecker } from './step-checker.ts';

/** The result for all projects, `_system` included. */
export interface LogVerification {
  /** false if the log could not be read here, so that the bodies of all commits are unproven. */
  readonly hasLog: boolean;
  readonly projects: readonly ProjectVerification[];
}

/** Number of checked commits, and of commits at the start. */
export interface VerifyProgress {
  readonly verified: number;
  readonly commits: number;
}

/** The inputs of the comparison. Nothing is written; `signal` ends the work between two commits. */
export interface LogVerifierOptions {
  readonly reader: CommitReader;
  /** null if the log is elsewhere. */
  readonly bodies: CommitBodies | null;
  readonly machines: ReadonlyMap<string, MachineDefinition>;
  /** A body may be missing if it is older than the log's retention by the time it is read. */
  readonly clock: Pick<Clock, 'now'>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: VerifyProgress) => void;
}

const COMMITS_PAGE = 200;
/** Time for which the log keeps bodies, ms. */
const RETENTION_MS = eventsStream().maxAgeMs ?? Number.POSITIVE_INFINITY;
/** Maximum difference between the clocks of nodes and of the log, ms. */
const CLOCKS_APART_MS = 5 * 60_000;

/**
 * Every project's verification, by name. Rejects with the reason of `signal`, or an error of
 * reading.
 */
export async function verifyLog(options: LogVerifierOptions): Promise<LogVerification> {
  const { reader, signal, bodies } = options;
  const projects = new Projects(options);
  const through = await checkCommits(options, projects);
  endAtHeads(projects, reader, through);
  projects.endStarts(through);
  await checkRows({
    reader,
    signal,
    isForgotten: (row) => isForgotten(options, row),
    findings: {
      transitionFault(project, sequence, fault) {
        const [commit] = reader.commits({ after: sequence - 1, through: sequence, limit: 1 });
        projects.of(project).break(commit?.project === project ? commit : null, fault);
      },
      instance: (project, sequence, fault) => projects.of(project).takeRow(sequence, fault),
    },
  });
  return { hasLog: bodies !== null, projects: projects.reports() };
}

/**
 * Checks each commit that exists at the start, in the log's order. Returns the sequence of the last
 * one.
 */
async function checkCommits(options: LogVerifierOptions, projects: Projects): Promise<number> {
  const { reader, signal, onProgress = () => {} } = options;
  const { count, last: through } = reader.extent();
  let verified = 0;
  const pages = pagesAfter(
    0,
    (after) => reader.commits({ after, through, limit: COMMITS_PAGE }),
    ({ sequence }) => sequence,
  );
  for (const page of pages) {
    for (const commit of page) {
      signal?.throwIfAborted();
      await projects.of(commit.project).take(commit);
      await nextTurn();
      onProgress({ verified: ++verified, commits: count });
    }
  }
  return through;
}

/** A head records the length of its chain, so that commits cut off at the end are detected. */
function endAtHeads(projects: Projects, reader: CommitReader, through: number): void {
  for (const head of reader.heads({ through })) projects.of(head.project).endAt(head);
}

/** True if the row of an instance in this state may have been removed after its retention. */
function isForgotten(
  { machines, clock }: Pick<LogVerifierOptions, 'machines' | 'clock'>,
  { machine, at, to }: { readonly machine: string; readonly at: number; readonly to: string },
): boolean {
  const isOld = at < clock.now() - HISTORY_KEPT_MS + CLOCKS_APART_MS;
  if (!isOld || !FORGOTTEN_MACHINES.has(machine)) return false;
  const value: unknown = JSON.parse(to);
  const states = machines.get(machine)?.machine.root.states ?? {};
  return typeof value === 'string' && states[value]?.type === 'final';
}

/** Results for each project with commits or rows. */
class Projects {
  readonly #checks = new Map<string, ProjectCheck>();
  readonly #parts: ProjectCheckParts;

  constructor({ bodies, clock, ...options }: LogVerifierOptions) {
    const steps = bodies && {
      bodies,
      believedMs: () => clock.now() - RETENTION_MS + CLOCKS_APART_MS,
      checker: new StepChecker({
        ...options,
        bodies,
        isForgotten: (row) => isForgotten({ ...options, clock }, row),
      }),
    };
    this.#parts = { reader: options.reader, log: steps };
  }

  of(project: string): ProjectCheck {
    const check = this.#checks.get(project) ?? new ProjectCheck(project, this.#parts);
    this.#checks.set(project, check);
    return check;
  }

  endStarts(through: number): void {
    for (const check of this.#checks.values()) check.endStart(through);
  }

  reports(): ProjectVerification[] {
    const reports = [...this.#checks.values()].map((check) => check.report());
    return reports.sort((a, b) => (a.project < b.project ? -1 : 1));
  }
}

// Checker of the projection's rows against the commits that they name. Each transition in the audit
// log must belong to a commit of its project and continue where the previous one ended. Each
// instance's row must equal the result of its last transition. No body is needed, so rows older
// than the log are checked too. One turn checks a page, on one state of the file.

/** Receives the checked items; `fault` is a sentence that describes the difference. */
export interface RowFindings {
  transitionFault(project: string, sequence: number, fault: string): void;
  /** @param sequence of its last transition's commit; undefined if it has none */
  instance(project: string, sequence: number | undefined, fault: string | undefined): void;
}

/** The data to compare the rows with. */
export interface RowCheckOptions {
  readonly reader: CommitReader;
  readonly findings: RowFindings;
  /** True if the row of an instance in this state may have been removed. `to` is JSON. */
  readonly isForgotten: (row: { machine: string; at: number; to: string }) => boolean;
  readonly signal?: AbortSignal | undefined;
}

const ROWS_PAGE = 500;

/** Checks every row. Rejects with the reason of `signal`, or an error of reading. */
async function checkRows(options: RowCheckOptions): Promise<void> {
  const { reader, findings } = options;
  await everyPage(options, (after) => reader.everyTransition({ after, limit: ROWS_PAGE }), {
    placeOf: ({ id }) => id,
    take(transition) {
      const fault = faultOfTransition(options, transition);
      if (fault === undefined) return;
      findings.transitionFault(transition.project, transition.sequence, fault);
    },
  });
  await everyPage(options, (after) => reader.everyInstance({ after, limit: ROWS_PAGE }), {
    placeOf: ({ row }) => row,
    take(row) {
      findings.instance(row.project, row.last?.sequence, faultOfInstance(options, row));
    },
  });
}

async function everyPage<T>(
  { signal }: RowCheckOptions,
  read: (after: number) => readonly T[],
  { placeOf, take }: { readonly placeOf: (one: T) => number; readonly take: (one: T) => void },
): Promise<void> {
  signal?.throwIfAborted();
  for (const page of pagesAfter(Number.MIN_SAFE_INTEGER, read, placeOf)) {
    for (const one of page) take(one);
    await nextTurn();
    signal?.throwIfAborted();
  }
}

function faultOfTransition(
  { reader, isForgotten }: RowCheckOptions,
  transition: StoredTransition,
): string | undefined {
  const { project, commit, at, from, before, hasRow } = transition;
  const name = `The audit log has a transition of ${nameOf(transition)}`;
  if (commit?.project !== project) return `${name} that no commit of the project made`;
  if (commit.at !== at) return `${name} at another time than its commit's`;
  // The first remaining transition of an instance continues from a removed one.
  const isFirstLeft = before === null && from !== null && reader.start(project) !== undefined;
  if (!isFirstLeft && !isSameJson(from, before)) {
    return `${name} that does not continue where the previous one ended`;
  }
  if (hasRow) return undefined;
  const last = reader.lastTransition(transition);
  if (last && isForgotten({ machine: transition.machine, ...last })) return undefined;
  return `${name}, but it has no row`;
}

function faultOfInstance({ reader }: RowCheckOptions, row: InstanceWithLast): string | undefined {
  const { last } = row;
  const name = `The row of ${nameOf(row)}`;
  // Its transitions were removed with the commits of their time.
  if (last === null && row.updated <= (reader.start(row.project)?.at ?? 0)) return undefined;
  if (last === null) return `${name} belongs to no commit, because it has no transition`;
  if (isSameJson(row.value, last.to) && row.updated === last.at) return undefined;
  return `${name} is not the result of its last transition`;
}

function nameOf({ machine, instance }: InstanceKey): string {
  return `${machine} ${instance}`;
}

/** Compared as values, because the keys of an object may have been written in another order. */
function isSameJson(one: string | null, other: string | null): boolean {
  if (one === null || other === null || one === other) return one === other;
  return isDeepStrictEqual(parsed(one), parsed(other));
}

/** Text that is not JSON never matches. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return Symbol('no JSON');
  }
}
