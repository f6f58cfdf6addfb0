/**
 * Proof that the recorded history is what was committed: each project's hash chain from its first
 * commit to its head, each body that the log still holds against its digests, the transitions and
 * rows of the projection against the bodies, and each step decided again by its machine. Works in
 * one pass in the log's order, a commit a turn, so that it may run inside a busy service.
 */
import type { MachineDefinition } from '../../machines/definition.ts';
import type { CommitReader, StoredCommit } from '../../sqlite/commit-reader.ts';
import { GENESIS } from '../../streams/commit/chain.ts';
import {
  CommitCorrupt,
  decodeCommit,
  decodeHeader,
  UnknownCommitFormat,
  verifyCommit,
} from '../../streams/commit/codec.ts';
import { nextTurn } from '../turns.ts';
import { StepChecker } from './step-checker.ts';

/** Bodies of commits, wherever the log lies. */
export interface CommitBodies {
  /** The commit's message, or `removed` by retention, or undefined: it should be there and is not. */
  at(sequence: number): Promise<Uint8Array | 'removed' | undefined>;
}

/** The first commit of a project that does not hold. */
export interface BrokenCommit {
  readonly project: string;
  readonly number: number;
  readonly id: string;
  /** Position in EVENTS. */
  readonly sequence: number;
  readonly detail: string;
}

export interface ProjectVerification {
  readonly project: string;
  readonly commits: number;
  /** Of them: only the header is left, its body was removed after its retention. */
  readonly headersAlone: number;
  /** Steps in the bodies that are left. */
  readonly steps: number;
  /** Of them: decided again, with the recorded outcome. The others are of other versions. */
  readonly decidedAgain: number;
  readonly broken: BrokenCommit | null;
}

export interface LogVerification {
  readonly projects: readonly ProjectVerification[];
}

export interface VerifyProgress {
  readonly verified: number;
  readonly commits: number;
}

export interface LogVerifierOptions {
  readonly reader: CommitReader;
  readonly bodies: CommitBodies;
  readonly machines: ReadonlyMap<string, MachineDefinition>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: VerifyProgress) => void;
}

const PAGE = 200;

/** Every project's verification, by name. Rejects with the reason of `signal`, or a fault of reading. */
export async function verifyLog(options: LogVerifierOptions): Promise<LogVerification> {
  const { reader, signal, onProgress = () => {} } = options;
  const { count, last: through } = reader.extent();
  const projects = new Map<string, ProjectCheck>();
  const checker = new StepChecker(options);
  let after = 0;
  let verified = 0;
  for (;;) {
    const page = reader.commits({ after, through, limit: PAGE });
    for (const commit of page) {
      signal?.throwIfAborted();
      const project = projects.get(commit.project) ?? new ProjectCheck(commit.project);
      projects.set(commit.project, project);
      await project.take(commit, options.bodies, checker);
      await nextTurn();
      onProgress({ verified: ++verified, commits: count });
      after = commit.sequence;
    }
    if (page.length < PAGE) break;
  }
  endAtHeads(projects, reader, through);
  const reports = [...projects.values()].map((project) => project.report());
  return { projects: reports.sort((a, b) => (a.project < b.project ? -1 : 1)) };
}

/** A head says how long its chain is: commits that were cut off at the end are missed by it. */
function endAtHeads(
  projects: Map<string, ProjectCheck>,
  reader: CommitReader,
  through: number,
): void {
  // Commits that came while this ran have moved heads: those are looked at as they are now.
  const moved = new Set(
    reader
      .commits({ after: through, through: Number.MAX_SAFE_INTEGER, limit: 100_000 })
      .map(({ project }) => project),
  );
  for (const head of reader.heads()) {
    if (moved.has(head.project)) continue;
    const project = projects.get(head.project) ?? new ProjectCheck(head.project);
    projects.set(head.project, project);
    project.endAt(head);
  }
}

class ProjectCheck {
  readonly #project: string;
  #head: { number: number; hash: string; sequence: number; id: string } = {
    ...GENESIS,
    ...{ sequence: 0, id: '' },
  };
  readonly #counts = { commits: 0, headersAlone: 0, steps: 0, decidedAgain: 0 };
  #broken: BrokenCommit | null = null;

  constructor(project: string) {
    this.#project = project;
  }

  async take(stored: StoredCommit, bodies: CommitBodies, checker: StepChecker): Promise<void> {
    this.#counts.commits++;
    try {
      this.#checkHeader(stored);
      const body = await bodies.at(stored.sequence);
      if (body === 'removed') this.#counts.headersAlone++;
      else await this.#checkBody(stored, body, checker);
    } catch (error) {
      const isBroken = error instanceof CommitCorrupt || error instanceof UnknownCommitFormat;
      if (!isBroken) throw error;
      this.#break(stored, error.message);
    }
    this.#head = stored;
  }

  endAt(head: { readonly number: number; readonly hash: string }): void {
    if (head.number === this.#head.number && head.hash === this.#head.hash) return;
    const detail =
      `The chain is said to end with commit ${head.number}, and the last one that is there is ` +
      `${this.#head.number}: commits are missing at its end, or the last one was replaced`;
    this.#break({ ...this.#head, number: head.number }, detail);
  }

  report(): ProjectVerification {
    return { project: this.#project, ...this.#counts, broken: this.#broken };
  }

  #break({ number, id, sequence }: Omit<StoredCommit, 'project' | 'header'>, detail: string): void {
    this.#broken ??= { project: this.#project, number, id, sequence, detail };
  }

  #checkHeader({ header: text, hash, project, number, id }: StoredCommit): void {
    const { header, hash: found } = decodeHeader(Buffer.from(text));
    if (found !== hash) throw new CommitCorrupt('The header is not what its hash was taken of');
    if (header.project !== project || header.number !== number || header.id !== id) {
      throw new CommitCorrupt('The header is filed under another project, number or id');
    }
    const { number: before, hash: predecessor } = this.#head;
    if (number !== before + 1) {
      throw new CommitCorrupt(`It follows commit ${before}: what was between them is missing`);
    }
    if (header.predecessor === predecessor) return;
    throw new CommitCorrupt(`It does not follow commit ${before}, whose hash is another`);
  }

  async #checkBody(
    { sequence, hash }: StoredCommit,
    body: Uint8Array | undefined,
    checker: StepChecker,
  ): Promise<void> {
    if (body === undefined) throw new CommitCorrupt('The log does not hold it, though it should');
    const { hash: found, dropped } = verifyCommit(body);
    if (found !== hash) throw new CommitCorrupt('The log holds another commit in its place');
    if (dropped > 0) {
      this.#counts.headersAlone++;
      return;
    }
    const { commit } = decodeCommit(body);
    const check = await checker.check(commit, sequence);
    this.#counts.steps += check.steps;
    this.#counts.decidedAgain += check.decidedAgain;
    if (check.fault !== undefined) throw new CommitCorrupt(check.fault);
  }
}
