/**
 * What an audit sink holds, against the projection: each line is the commit that stands at its
 * place, and between the sink's first commit and its last none is missing.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { CommitReader } from '../../sqlite/commit-reader.ts';
import { type ExportedCommit, parseCommitLine } from './commit-line.ts';

export interface SinkComparison {
  readonly lines: number;
  /** Different commits that are as the log has them. */
  readonly same: number;
  /** Older than what the log keeps: nothing to compare with. */
  readonly letGo: number;
  /** Lines that a crash or a full disk has cut off. */
  readonly cutOff: number;
  /** The first commits, as sentences, that are another one or are not there; at most ten. */
  readonly faults: readonly string[];
}

const FAULTS_MAX = 10;
const PAGE = 1_000;

/** @param paths the sink's files, in any order: rotated ones too */
export async function compareSink(
  paths: readonly string[],
  reader: Pick<CommitReader, 'commits' | 'start' | 'transitions'>,
): Promise<SinkComparison> {
  const seen = new Set<number>();
  const counts = { lines: 0, letGo: 0, cutOff: 0 };
  const faults: string[] = [];
  for (const path of paths) {
    for await (const text of createInterface({ input: createReadStream(path) })) {
      if (text === '') continue;
      counts.lines++;
      const line = parseCommitLine(text);
      if (line === undefined) {
        counts.cutOff++;
      } else if (!seen.has(line.sequence)) {
        const outcome = compareLine(line, reader);
        if (outcome === 'same') seen.add(line.sequence);
        else if (outcome === 'let go') counts.letGo++;
        else faults.push(`The sink's ${nameOf(line)} is not the one of the log`);
      }
    }
  }
  faults.push(...missing(seen, reader));
  return { ...counts, same: seen.size, faults: faults.slice(0, FAULTS_MAX) };
}

function compareLine(
  line: ExportedCommit,
  reader: Pick<CommitReader, 'commits' | 'start' | 'transitions'>,
): 'same' | 'let go' | 'another' {
  const { sequence, project } = line;
  const [stored] = reader.commits({ after: sequence - 1, through: sequence, limit: 1 });
  if (!stored) return line.number <= (reader.start(project)?.number ?? 0) ? 'let go' : 'another';
  const isSame =
    stored.id === line.id &&
    stored.hash === line.hash &&
    stored.project === project &&
    stored.number === line.number &&
    reader.transitions(sequence).length === line.transitions.length;
  return isSame ? 'same' : 'another';
}

/** Of the commits between the first and the last that were seen. */
function missing(
  seen: ReadonlySet<number>,
  reader: Pick<CommitReader, 'commits'>,
): readonly string[] {
  const faults: string[] = [];
  let after = Number.POSITIVE_INFINITY;
  let through = 0;
  for (const sequence of seen) {
    after = Math.min(after, sequence - 1);
    through = Math.max(through, sequence);
  }
  while (after < through && faults.length < FAULTS_MAX) {
    const page = reader.commits({ after, through, limit: PAGE });
    for (const commit of page) {
      if (!seen.has(commit.sequence)) faults.push(`The ${nameOf(commit)} is not in the sink`);
    }
    after = page.at(-1)?.sequence ?? through;
  }
  return faults;
}

function nameOf({ project, number, id }: Pick<ExportedCommit, 'project' | 'number' | 'id'>) {
  return `commit ${number} of ${project} (${id})`;
}
