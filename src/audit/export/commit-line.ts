/**
 * A commit in the audit sink: one JSON line with its position in the log and in its project's chain
 * of hashes, and its transitions with the fields that their machines declare public.
 */
import type { CommitReader, StoredCommit } from '../../../sqlite/platform/control/commit-reader.ts';
import { publicFields } from '../../platform/api/transition-messages.ts';

/** The facts of a commit in a line. A commit that changes only documents has no transitions. */
export interface ExportedCommit {
  /** Position in EVENTS. */
  readonly sequence: number;
  readonly project: string;
  /** Counted from 1 in each project, without gaps. */
  readonly number: number;
  /** The same in each copy of the line. */
  readonly id: string;
  /** SHA-256, hex, over the previous one in the project and the digests of the commit. */
  readonly hash: string;
  readonly transitions: readonly object[];
}

/**
 * Characters that JSON does not escape but that readers of lines, `node:readline` among them, treat
 * as line ends.
 */
const LINE_ENDS = /[\u2028\u2029]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16)}`;
}

/** Ends with a line feed, and contains no other line end. */
export function commitLine(
  { sequence, project, number, id, hash }: StoredCommit,
  recorded: ReturnType<CommitReader['transitions']>,
): string {
  const transitions = recorded.map(
    ({ atMs, by, machine, instance, event, from, to, requestId }) => ({
      atMs,
      by: by.name,
      byKind: by.kind,
      machine,
      instance,
      event: publicFields(machine, event),
      from,
      to,
      requestId,
    }),
  );
  const line: ExportedCommit = { sequence, project, number, id, hash, transitions };
  return `${JSON.stringify(line).replace(LINE_ENDS, escaped)}\n`;
}

/** undefined for any other text, such as a line that a crash has cut off. */
export function parseCommitLine(line: string): ExportedCommit | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return isExportedCommit(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function isExportedCommit(value: unknown): value is ExportedCommit {
  if (typeof value !== 'object' || value === null) return false;
  const { sequence, project, number, id, hash, transitions } = value as Record<string, unknown>;
  const areTexts = [project, id, hash].every((one) => typeof one === 'string');
  return areTexts && [sequence, number].every(Number.isSafeInteger) && Array.isArray(transitions);
}
