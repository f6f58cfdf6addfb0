/**
 * One project's chain, commit by commit: headers against their hashes and each other, bodies
 * against the headers, then the results about the rows. The first fault is kept, but the check
 * continues, so that the counts cover everything.
 */
import type {
  CommitReader,
  StoredCommit,
  StoredStart,
} from '../../sqlite/platform/control/commit-reader.ts';
import { DamagedRow } from '../../sqlite/platform/row-checksum.ts';
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

/** The first fault of a project: a commit, or a row that no commit made. */
export interface Broken {
  readonly project: string;
  /** null if it belongs to no commit. */
  readonly commit: {
    readonly number: number;
    readonly id: string;
    /** Position in EVENTS. */
    readonly sequence: number;
  } | null;
  readonly detail: string;
}

/** The result for one project: counts, and the first fault. */
export interface ProjectVerification {
  readonly project: string;
  /** The last of the older commits that were removed after their retention; null if none was. */
  readonly start: { readonly number: number; readonly atMs: number } | null;
  readonly commits: number;
  /** Commits of which only the header is left, because the body was removed after its retention. */
  readonly headersAlone: number;
  /** Number of steps in the remaining bodies. */
  readonly steps: number;
  /**
   * Steps that were decided again with the recorded outcome. The others belong to other versions.
   */
  readonly decidedAgain: number;
  /** Rows of machine instances. */
  readonly instances: number;
  /** Rows of which only the state was compared, because the body of the last step is removed. */
  readonly stateAlone: number;
  readonly broken: Broken | null;
}

/** The sources of one project's commits, headers and bodies. */
export interface ProjectCheckParts {
  readonly reader: Pick<CommitReader, 'start'>;
  /** null if the log is elsewhere and only headers exist. */
  readonly log: {
    readonly bodies: CommitBodies;
    readonly checker: StepChecker;
    /**
     * Time before which a commit may have lost its body to retention by now, Unix ms. Later commits
     * cannot have.
     */
    believedMs(): number;
  } | null;
}

/** Takes the commits of one project in order, then reports the findings. */
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
  /** Sequence of the first commit whose body was checked. */
  #bodiesFrom = Number.POSITIVE_INFINITY;
  #broken: Broken | null = null;
  /** Start of the chain, and whether the commit that must vouch for it has done so. */
  #start: StoredStart | undefined;
  #isVouchedFor = false;

  constructor(project: string, parts: ProjectCheckParts) {
    this.#project = project;
    this.#parts = parts;
  }

  /** Takes the next commit in the log's order. Rejects only with an error of reading. */
  async take(stored: StoredCommit): Promise<void> {
    this.#counts.commits++;
    try {
      const header = this.#checkHeader(stored);
      this.#checkVouching(stored, header);
      await this.#checkBody(stored, header);
    } catch (error) {
      const isBroken =
        error instanceof CommitCorrupt ||
        error instanceof UnknownCommitFormat ||
        error instanceof DamagedRow;
      if (!isBroken) throw error;
      this.break(stored, error.message);
    }
    this.#head = stored;
  }

  /**
   * Takes an instance's row. @param sequence of its last transition's commit; undefined if it has
   * none
   */
  takeRow(sequence: number | undefined, fault: string | undefined): void {
    this.#counts.instances++;
    if (fault !== undefined) this.break(null, fault);
    else if ((sequence ?? 0) < this.#bodiesFrom) this.#counts.stateAlone++;
  }

  endAt(head: { readonly number: number; readonly hash: string }): void {
    if (head.number === this.#head.number && head.hash === this.#head.hash) return;
    const detail =
      `The chain should end with commit ${head.number}, but the last existing one is ` +
      `${this.#head.number}: commits are missing at its end, or the last one was replaced`;
    this.break({ ...this.#head, number: head.number }, detail);
  }

  /**
   * The commit that removed older ones contains that decision, so nothing else can have removed
   * them.
   */
  #checkVouching({ sequence }: StoredCommit, header: CommitHeader): void {
    const start = this.#start;
    if (start?.decided !== sequence) return;
    const { number, hash } = (JSON.parse(start.decision) as Partial<Decision>).truncation ?? {};
    const says = number === start.number && hash === start.hash;
    if (!says || !isDecisionOf(header, start.decision)) {
      throw new CommitCorrupt('It did not remove the commits before the start of the chain');
    }
    this.#isVouchedFor = true;
  }

  /** Commits after `through` were not checked; one of them may vouch for the start. */
  endStart(through: number): void {
    if (this.#start === undefined || this.#isVouchedFor || this.#start.decided > through) return;
    this.break(null, 'No commit of the chain removed those before its start');
  }

  /** @param commit null if the fault belongs to no commit */
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
    if (found !== hash) throw new CommitCorrupt('The header does not match its hash');
    if (header.project !== project || header.number !== number || header.id !== id) {
      throw new CommitCorrupt('The header is stored under another project, number or id');
    }
    const { number: before, hash: predecessor } = this.#head;
    if (number !== before + 1) {
      if (this.#beginsWith(header)) return header;
      throw new CommitCorrupt(`It follows commit ${before}: the commits between them are missing`);
    }
    if (header.predecessor === predecessor) return header;
    throw new CommitCorrupt(`It does not follow commit ${before}, which has another hash`);
  }

  /**
   * True if it follows the removed commits. Checked again at each gap, because more may have been
   * removed since the check began.
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
    if (body === undefined) throw new CommitCorrupt('The log does not have it, though it should');
    if (log === null || body === 'removed') return this.#takeHeaderAlone(header);
    const { hash: found, dropped } = verifyCommit(body);
    if (found !== hash) throw new CommitCorrupt('The log has another commit in its place');
    if (dropped > 0) return this.#takeHeaderAlone(header);
    this.#bodiesFrom = Math.min(this.#bodiesFrom, sequence);
    const { commit } = decodeCommit(body);
    const check = await log.checker.check(commit, sequence);
    this.#counts.steps += check.steps;
    this.#counts.decidedAgain += check.decidedAgain;
    if (check.fault !== undefined) throw new CommitCorrupt(check.fault);
  }

  /** Only retention removes bodies, and only old ones. */
  #takeHeaderAlone({ at }: CommitHeader): void {
    this.#counts.headersAlone++;
    const { log } = this.#parts;
    if (log === null || at < log.believedMs()) return;
    throw new CommitCorrupt("Its body is missing, but it is younger than the log's retention");
  }
}
