/**
 * Proof that the recorded history is what was committed: each project's hash chain from its first
 * commit to its head, each body that the log still holds against its digests, the transitions and
 * rows of the projection against the bodies, and each step decided again by its machine. Works in
 * one pass in the log's order, a commit a turn, so that it may run inside a busy service; then every
 * transition and row once more (`row-checker.ts`), those that no commit made among them.
 */
import type { MachineDefinition } from '../../machines/platform/definition.ts';
import type { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import { nextTurn } from '../platform/time-slices.ts';
import { ProjectCheck, type ProjectCheckParts, type ProjectVerification } from './project-check.ts';
import { FORGOTTEN_MACHINES, HISTORY_KEPT_MS } from './retention.ts';
import { checkRows } from './row-checker.ts';
import { type CommitBodies, StepChecker } from './step-checker.ts';

export interface LogVerification {
  /** false: the log could not be read here, so that the bodies of all commits are unproven. */
  readonly hasLog: boolean;
  readonly projects: readonly ProjectVerification[];
}

export interface VerifyProgress {
  readonly verified: number;
  readonly commits: number;
}

export interface LogVerifierOptions {
  readonly reader: CommitReader;
  /** null: the log is elsewhere. */
  readonly bodies: CommitBodies | null;
  readonly machines: ReadonlyMap<string, MachineDefinition>;
  /** A body may be gone when it is older than the log's retention by the time it is looked for. */
  readonly clock: Pick<Clock, 'now'>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: VerifyProgress) => void;
}

const PAGE = 200;
/** How long the log keeps bodies, ms. */
const RETENTION_MS = eventsStream().maxAgeMs ?? Number.POSITIVE_INFINITY;
/** Nodes' clocks and the log's differ by no more, ms. */
const CLOCKS_APART_MS = 5 * 60_000;

/** Every project's verification, by name. Rejects with the reason of `signal`, or a fault of reading. */
export async function verifyLog(options: LogVerifierOptions): Promise<LogVerification> {
  const { reader, signal, bodies } = options;
  const projects = new Projects(options);
  const through = await checkCommits(options, projects);
  endAtHeads(projects, reader, through);
  projects.endStarts(through);
  await checkRows({
    ...{ reader, signal, isForgotten: (row) => isForgotten(options, row) },
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

/** Each commit that is there at the begin, in the log's order; the sequence of the last. */
async function checkCommits(options: LogVerifierOptions, projects: Projects): Promise<number> {
  const { reader, signal, onProgress = () => {} } = options;
  const { count, last: through } = reader.extent();
  let after = 0;
  let verified = 0;
  for (;;) {
    const page = reader.commits({ after, through, limit: PAGE });
    for (const commit of page) {
      signal?.throwIfAborted();
      await projects.of(commit.project).take(commit);
      await nextTurn();
      onProgress({ verified: ++verified, commits: count });
      after = commit.sequence;
    }
    if (page.length < PAGE) return through;
  }
}

/** A head says how long its chain is: commits that were cut off at the end are missed by it. */
function endAtHeads(projects: Projects, reader: CommitReader, through: number): void {
  for (const head of reader.heads({ through })) projects.of(head.project).endAt(head);
}

/** May the row of an instance that came to this be gone, its time being over? */
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

/** What is known of each project that something was found of. */
class Projects {
  readonly #checks = new Map<string, ProjectCheck>();
  readonly #parts: ProjectCheckParts;

  constructor({ bodies, clock, ...options }: LogVerifierOptions) {
    const steps = bodies && {
      bodies,
      believedMs: () => clock.now() - RETENTION_MS + CLOCKS_APART_MS,
      checker: new StepChecker({
        ...{ ...options, bodies },
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
