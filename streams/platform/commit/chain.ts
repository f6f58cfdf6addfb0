/**
 * The chain of a project's commits: whether one may follow the head. Every node makes the same
 * decision from the same commits, so two writers are harmless: of two commits with one predecessor,
 * only the first in the stream counts.
 */
import type { CommitHeader } from './codec.ts';

/** A project's last commit as applied; all zero before the first. */
export interface Head {
  readonly number: number;
  readonly hash: string;
  /** Time of the commit (`at`), Unix ms. */
  readonly at: number;
}

/** Head of a project without commits. */
export const GENESIS: Head = { number: 0, hash: '', at: 0 };

/**
 * - `next`: it follows the head.
 * - `superseded`: it followed an earlier commit of ours: it lost a race, or is a second copy.
 * - `foreign`: it follows a commit that is not in this chain. Either its writer or this node has a
 *   history other than the stream's: the caller reads the stream again to find out which.
 */
export type Judgement = 'next' | 'superseded' | 'foreign';

/**
 * Judges a commit against the head.
 * @param hashAt the chain's own hash of commit `number`, undefined if it is no longer known
 */
export function judge(
  head: Head,
  commit: Pick<CommitHeader, 'number' | 'predecessor'>,
  hashAt: (number: number) => string | undefined,
): Judgement {
  if (commit.number === head.number + 1 && commit.predecessor === head.hash) return 'next';
  if (commit.number > head.number) return 'foreign';
  const before = commit.number === 1 ? GENESIS.hash : hashAt(commit.number - 1);
  return before === commit.predecessor ? 'superseded' : 'foreign';
}

/**
 * This node's projection differs from the stream: it must neither decide nor answer from it. The
 * message names the remedy.
 */
export class HistoryMismatch extends Error {
  readonly kind: 'otherStream' | 'ahead' | 'behind' | 'diverged';
  constructor(kind: HistoryMismatch['kind'], message: string) {
    super(message);
    this.name = 'HistoryMismatch';
    this.kind = kind;
  }
}
