/** Status file of the running agent, for `svc agent status`; replaced as a whole. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../../platform/durable-file.ts';

/** Times are Unix ms; counts are since the agent's start. */
export interface AgentStatus {
  readonly startedMs: number;
  /** Time of writing. If it is long ago, the agent does not run. */
  readonly writtenMs: number;
  readonly intervalMs: number;
  readonly observedRows: number;
  readonly sentRows: number;
  /** Time when the service last stored a batch. */
  readonly lastSentMs?: number;
  /** Rows dropped because they were too old, too many, or damaged. */
  readonly droppedRows: number;
  /** Samples or rows that the service rejected, by reason. */
  readonly rejected: Readonly<Record<string, number>>;
  /**
   * Readings that were omitted because they cannot be stored; absent: an older agent wrote this.
   */
  readonly leftOutReadings?: number;
  /** Readings that are currently omitted, in sentences. */
  readonly notStorable?: readonly string[];
  /** Current fault of reading or sending; absent if there is none. */
  readonly fault?: string;
}

const NAME = 'status.json';

export function statusPath(folder: string): string {
  return join(folder, NAME);
}

/** Throws the errors of the file system. */
export function writeStatus(folder: string, status: AgentStatus): void {
  const content = `${JSON.stringify(status)}\n`;
  writeFileDurably({ path: statusPath(folder), content, exclusive: false });
}

/** undefined if the agent has not run here, or the file is damaged. */
export function readStatus(folder: string): AgentStatus | undefined {
  try {
    // Only `writeStatus` writes it.
    return JSON.parse(readFileSync(statusPath(folder), 'utf8')) as AgentStatus;
  } catch {
    return undefined;
  }
}
