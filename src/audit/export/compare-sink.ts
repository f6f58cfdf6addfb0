/**
 * Comparison of an audit sink with the projection. Each line must be the one that would be written
 * for the commit at its position. Between the sink's first commit and its last none may be missing,
 * including those that the log has discarded: a project's commits are numbered without gaps.
 */

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { CommitReader } from '../../../sqlite/platform/control/commit-reader.ts';
import { pagesAfter } from '../../../streams/platform/commit/page.ts';
import { commitLine, type ExportedCommit, parseCommitLine } from './commit-line.ts';

/**
 * Result of a comparison. Without faults, the sink is complete between its first commit and its
 * last.
 */
export interface SinkComparison {
  readonly lines: number;
  /** Number of different commits that equal those of the log. */
  readonly same: number;
  /** Older than the log, so that there is nothing to compare with. */
  readonly dropped: number;
  /** Number of lines that a crash or a full disk has cut off. */
  readonly cutOff: number;
  /** The first commits that differ or are missing, as sentences; at most ten. */
  readonly faults: readonly string[];
}

const FAULTS_MAX = 10;
const PAGE = 1_000;

/** @param paths the sink's files in any order, including rotated ones */
export async function compareSink(
  paths: readonly string[],
  reader: Pick<CommitReader, 'commits' | 'start' | 'transitions'>,
): Promise<SinkComparison> {
  const seen = new Set<number>();
  /** Positions of the first and the last line that are in the log, or older than it. */
  const range = { after: Number.POSITIVE_INFINITY, through: 0 };
  const numbers = new Map<string, Set<number>>();
  const counts = { lines: 0, dropped: 0, cutOff: 0 };
  const faults: string[] = [];
  for (const path of paths) {
    for await (const text of createInterface({ input: createReadStream(path) })) {
      if (text === '') continue;
      counts.lines++;
      const line = parseCommitLine(text);
      if (line === undefined) {
        counts.cutOff++;
      } else if (!seen.has(line.sequence)) {
        const outcome = compareLine(line, text, reader);
        if (outcome === 'same') seen.add(line.sequence);
        else if (outcome === 'dropped') counts.dropped++;
        else faults.push(`The sink's ${nameOf(line)} ${outcome}`);
        if (outcome === 'same' || outcome === 'dropped') {
          range.after = Math.min(range.after, line.sequence - 1);
          range.through = Math.max(range.through, line.sequence);
          numbersOf(numbers, line.project).add(line.number);
        }
      }
    }
  }
  faults.push(...missing(seen, range, reader), ...missingOfOld(numbers, reader));
  return { ...counts, same: seen.size, faults: faults.slice(0, FAULTS_MAX) };
}

/** Outcomes other than the first two are the words of a fault about the line. */
function compareLine(
  line: ExportedCommit,
  text: string,
  reader: Pick<CommitReader, 'commits' | 'start' | 'transitions'>,
): 'same' | 'dropped' | 'is not the one of the log' | 'says something else than the log' {
  const { sequence, project } = line;
  const [stored] = reader.commits({ after: sequence - 1, through: sequence, limit: 1 });
  if (!stored) {
    const isOld = line.number <= (reader.start(project)?.number ?? 0);
    return isOld ? 'dropped' : 'is not the one of the log';
  }
  const isOfThePlace =
    stored.id === line.id &&
    stored.hash === line.hash &&
    stored.project === project &&
    stored.number === line.number;
  if (!isOfThePlace) return 'is not the one of the log';
  const isSame = commitLine(stored, reader.transitions(sequence)) === `${text}\n`;
  return isSame ? 'same' : 'says something else than the log';
}

function numbersOf(numbers: Map<string, Set<number>>, project: string): Set<number> {
  const found = numbers.get(project) ?? new Set();
  numbers.set(project, found);
  return found;
}

/** Among the commits that the log has removed, between two of a project that the sink has. */
function missingOfOld(
  numbers: ReadonlyMap<string, ReadonlySet<number>>,
  reader: Pick<CommitReader, 'start'>,
): readonly string[] {
  const faults: string[] = [];
  for (const [project, found] of numbers) {
    const dropped = reader.start(project)?.number ?? 0;
    let before: number | undefined;
    for (const number of [...found].sort((a, b) => a - b)) {
      const last = Math.min(number - 1, dropped);
      if (before !== undefined && before < last) {
        faults.push(
          `The commits ${before + 1} to ${last} of ${project} are not in the sink, and are older than the log`,
        );
      }
      before = number;
    }
  }
  return faults;
}

/** Among the commits of the log, between the first and the last line. */
function missing(
  seen: ReadonlySet<number>,
  range: { readonly after: number; readonly through: number },
  reader: Pick<CommitReader, 'commits'>,
): readonly string[] {
  const faults: string[] = [];
  const { through } = range;
  const pages = pagesAfter(
    range.after,
    (after) => (after < through ? reader.commits({ after, through, limit: PAGE }) : []),
    ({ sequence }) => sequence,
  );
  for (const page of pages) {
    for (const commit of page) {
      if (!seen.has(commit.sequence)) faults.push(`The ${nameOf(commit)} is not in the sink`);
    }
    if (faults.length >= FAULTS_MAX) break;
  }
  return faults;
}

function nameOf({ project, number, id }: Pick<ExportedCommit, 'project' | 'number' | 'id'>) {
  return `commit ${number} of ${project} (${id})`;
}
