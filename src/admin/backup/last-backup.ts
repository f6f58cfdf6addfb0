/** The time of the last backup, in a file, because a restart must not forget it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../../platform/durable-file.ts';

const FILE = 'last-backup.json';

export interface LastBackup {
  /** Time of the state in the last backup, Unix ms; undefined: none was made of this folder. */
  createdMs(): number | undefined;
  record(createdMs: number): void;
}

export function openLastBackup(folder: string): LastBackup {
  const path = join(folder, FILE);
  let last = readTime(path);
  return {
    createdMs: () => last,
    record(createdMs) {
      last = createdMs;
      writeFileDurably({ path, content: `${JSON.stringify({ createdMs })}\n`, exclusive: false });
    },
  };
}

/** A file that cannot be read counts as none: the next backup replaces it. */
function readTime(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const { createdMs } = JSON.parse(readFileSync(path, 'utf8')) as { createdMs?: unknown };
    return typeof createdMs === 'number' ? createdMs : undefined;
  } catch {
    return undefined;
  }
}
