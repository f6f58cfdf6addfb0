/** What the running agent tells of itself, for `svc agent status`: a file, replaced as a whole. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../../platform/durable-file.ts';

/** Times are Unix ms; counts are since the agent's start. */
export interface AgentStatus {
  readonly startedMs: number;
  /** When this was written: long ago = it does not run. */
  readonly writtenMs: number;
  readonly intervalMs: number;
  readonly observedRows: number;
  readonly sentRows: number;
  /** When the service last took a batch. */
  readonly lastSentMs?: number;
  /** Rows given up because they waited too long, were too many, or could not be read again. */
  readonly droppedRows: number;
  /** Samples, or rows, that the service refused, by reason. */
  readonly rejected: Readonly<Record<string, number>>;
  /** What keeps rows from being sent or read, now; absent: nothing. */
  readonly fault?: string;
}

const NAME = 'status.json';

export function statusPath(folder: string): string {
  return join(folder, NAME);
}

/** Throws what the file system throws. */
export function writeStatus(folder: string, status: AgentStatus): void {
  const content = `${JSON.stringify(status)}\n`;
  writeFileDurably({ path: statusPath(folder), content, exclusive: false });
}

/** undefined: the agent has not run here, or the file is damaged. */
export function readStatus(folder: string): AgentStatus | undefined {
  try {
    // Written by `writeStatus` alone.
    return JSON.parse(readFileSync(statusPath(folder), 'utf8')) as AgentStatus;
  } catch {
    return undefined;
  }
}
