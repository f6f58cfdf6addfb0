/**
 * One project's chain, taken commit by commit: headers against their hashes and each other, bodies
 * against the headers, and what is left to say of the rows. The first thing that does not hold is
 * kept; the look goes on, so that the counts are of everything.
 */
import type {
  CommitReader,
  StoredCommit,
  StoredStart,
} from '../../sqlite/platform/control/commit-reader.ts';
import { GENESIS } from '../../streams/platform/commit/chain.ts';
import {
  CommitCorrupt,
  type CommitHeader,
  decodeCommit,
  decodeHeader,
  isDecisionOf,
  UnknownCommitFormat,
  verifyCommit,
} from '../../streams/platform/commit/codec.ts';
import type { Decision } from '../../streams/platform/commit/commit.ts';
import type { CommitBodies, StepChecker } from './step-checker.ts';

/** The first thing of a project that does not hold: a commit, or a row that no commit made. */
export interface Broken {
  readonly project: string;
  /** null: it is of no commit. */
  readonly commit: {
    readonly number: number;
    readonly id: string;
    /** Position in EVENTS. */
    readonly sequence: number;
  } | null;
  readonly detail: string;
}

/** The result for one project: counts, and the first thing that does not hold. */
export interface ProjectVerification {
  readonly project: string;
  /** The last of those older commits that were let go after their time; null: all are there. */
  readonly start: { readonly number: number; readonly atMs: number } | null;
  readonly commits: number;
  /** Of them: only the header is left, its body was removed after its retention. */
  readonly headersAlone: number;
  /** Steps in the bodies that are left. */
  readonly steps: number;
  /** Of them: decided again, with the recorded outcome. The others are of other versions. */
  readonly decidedAgain: number;
  /** Rows of machine instances. */
  readonly instances: number;
  /** Of them: the body of the last step is gone, so that no more than the state was compared. */
  readonly stateAlone: number;
  readonly broken: Broken | null;
}

/** The sources of one project's commits, headers and bodies. */
export interface ProjectCheckParts {
  readonly reader: Pick<CommitReader, 'start'>;
  /** null: the log is elsewhere, and headers are all there is. */
  readonly log: {
    readonly bodies: CommitBodies;
    readonly checker: StepChecker;
    /** A commit before this time may have lost its body to retention by now, Unix ms; a later one not. */
    believedMs(): number;
  } | null;
}

/** Takes the commits of one project in their order, then says what it found. */
export class ProjectCheck {
  readonly #project: string;
  readonly #parts: ProjectCheckParts;
  #head: Pick<StoredCommit, 'number' | 'hash' | 'sequence' | 'id'> = {
    ...GENESIS,
    sequence: 0,
    id: '',
  };
  readonly #counts = {
    commits: 0,
    headersAlone: 0,
    steps: 0,
    decidedAgain: 0,
    instances: 0,
    stateAlone: 0,
  };
  /** Sequence of the first commit whose body was looked at. */
  #bodiesFrom = Number.POSITIVE_INFINITY;
  #broken: Broken | null = null;
  /** Where the chain begins, and whether the commit that is to vouch for it has done so. */
  #start: StoredStart | undefined;
  #isVouchedFor = false;

  constructor(project: string, parts: ProjectCheckParts) {
    this.#project = project;
    this.#parts = parts;
  }

  /** The next commit in the log's order. Rejects with a fault of reading alone. */
  async take(stored: StoredCommit): Promise<void> {
    this.#counts.commits++;
    try {
      const header = this.#checkHeader(stored);
      this.#checkVouching(stored, header);
      await this.#checkBody(stored, header);
    } catch (error) {
      const isBroken = error instanceof CommitCorrupt || error instanceof UnknownCommitFormat;
      if (!isBroken) throw error;
      this.break(stored, error.message);
    }
    this.#head = stored;
  }

  /** An instance's row. @param sequence of its last transition's commit; undefined: it has none */
  takeRow(sequence: number | undefined, fault: string | undefined): void {
    this.#counts.instances++;
    if (fault !== undefined) this.break(null, fault);
    else if ((sequence ?? 0) < this.#bodiesFrom) this.#counts.stateAlone++;
  }

  endAt(head: { readonly number: number; readonly hash: string }): void {
    if (head.number === this.#head.number && head.hash === this.#head.hash) return;
    const detail =
      `The chain is said to end with commit ${head.number}, and the last one that is there is ` +
      `${this.#head.number}: commits are missing at its end, or the last one was replaced`;
    this.break({ ...this.#head, number: head.number }, detail);
  }

  /** The commit that let older ones go holds that decision, so that nobody else can have. */
  #checkVouching({ sequence }: StoredCommit, header: CommitHeader): void {
    const start = this.#start;
    if (start?.decided !== sequence) return;
    const { number, hash } = (JSON.parse(start.decision) as Partial<Decision>).truncation ?? {};
    const says = number === start.number && hash === start.hash;
    if (!says || !isDecisionOf(header, start.decision)) {
      throw new CommitCorrupt('It did not let go of the commits before the begin of the chain');
    }
    this.#isVouchedFor = true;
  }

  /** Commits after `through` were not looked at: one of them may vouch for the begin. */
  endStart(through: number): void {
    if (this.#start === undefined || this.#isVouchedFor || this.#start.decided > through) return;
    this.break(null, 'No commit of the chain says that those before its begin were let go');
  }

  /** @param commit null: it is of no commit */
  break(commit: Pick<StoredCommit, 'number' | 'id' | 'sequence'> | null, detail: string): void {
    const at = commit && { number: commit.number, id: commit.id, sequence: commit.sequence };
    this.#broken ??= { project: this.#project, commit: at, detail };
  }

  report(): ProjectVerification {
    const start = this.#start && { number: this.#start.number, atMs: this.#start.at };
    return {
      project: this.#project,
      start: start ?? null,
      ...this.#counts,
      broken: this.#broken,
    };
  }

  #checkHeader({ header: text, hash, project, number, id }: StoredCommit): CommitHeader {
    const { header, hash: found } = decodeHeader(Buffer.from(text));
    if (found !== hash) throw new CommitCorrupt('The header is not what its hash was taken of');
    if (header.project !== project || header.number !== number || header.id !== id) {
      throw new CommitCorrupt('The header is filed under another project, number or id');
    }
    const { number: before, hash: predecessor } = this.#head;
    if (number !== before + 1) {
      if (this.#beginsWith(header)) return header;
      throw new CommitCorrupt(`It follows commit ${before}: what was between them is missing`);
    }
    if (header.predecessor === predecessor) return header;
    throw new CommitCorrupt(`It does not follow commit ${before}, whose hash is another`);
  }

  /**
   * Does it follow the commits that were let go? Asked again at each gap: some may have gone since
   * this look began.
   */
  #beginsWith({ number, predecessor }: CommitHeader): boolean {
    const start = this.#parts.reader.start(this.#project);
    if (start === undefined || number !== start.number + 1) return false;
    this.#start = start;
    this.#isVouchedFor = false;
    return predecessor === start.hash;
  }

  async #checkBody({ sequence, hash }: StoredCommit, header: CommitHeader): Promise<void> {
    const { log } = this.#parts;
    const body = log ? await log.bodies.at(sequence) : 'removed';
    if (body === undefined) throw new CommitCorrupt('The log does not hold it, though it should');
    if (log === null || body === 'removed') return this.#takeHeaderAlone(header);
    const { hash: found, dropped } = verifyCommit(body);
    if (found !== hash) throw new CommitCorrupt('The log holds another commit in its place');
    if (dropped > 0) return this.#takeHeaderAlone(header);
    this.#bodiesFrom = Math.min(this.#bodiesFrom, sequence);
    const { commit } = decodeCommit(body);
    const check = await log.checker.check(commit, sequence);
    this.#counts.steps += check.steps;
    this.#counts.decidedAgain += check.decidedAgain;
    if (check.fault !== undefined) throw new CommitCorrupt(check.fault);
  }

  /** Retention takes what is old, and nothing else does. */
  #takeHeaderAlone({ at }: CommitHeader): void {
    this.#counts.headersAlone++;
    const { log } = this.#parts;
    if (log === null || at < log.believedMs()) return;
    throw new CommitCorrupt('Its body is gone, and it is younger than what the log lets go of');
  }
}
