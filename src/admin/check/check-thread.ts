/** The thread that checks databases while the service runs: it reads all of them, at low priority. */
import { statSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { FileCheck } from '../../../sqlite/platform/file-check.ts';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import { checkDataFile, type DataFile } from './data-files.ts';

export interface CheckJob {
  readonly folder: string;
  /** Folder of history.db. Absent: the same. */
  readonly historyFolder?: string;
  readonly files: readonly DataFile[];
  readonly masterKey: Uint8Array | undefined;
}

/** Bytes of the files that are checked, and of all. */
export interface FilesProgress {
  readonly checkedBytes: number;
  readonly totalBytes: number;
}

export type CheckMessage =
  | { readonly progress: FilesProgress }
  | { readonly checks: readonly FileCheck[] }
  | { readonly fault: string };

// Far below the threads that ingest samples, evaluate and answer.
const NICENESS = 10;

if (process.platform === 'linux') setPriority(NICENESS);
const say = (message: CheckMessage): void => parentPort?.postMessage(message);
try {
  say({ checks: checkAll(workerData as CheckJob) });
} catch (error) {
  say({ fault: error instanceof Error ? error.message : String(error) });
}

function checkAll({ folder, historyFolder = folder, files, masterKey }: CheckJob): FileCheck[] {
  const folderOf = (file: DataFile) => (file === HISTORY_FILE ? historyFolder : folder);
  const sizeOf = (file: DataFile) =>
    statSync(join(folderOf(file), file), { throwIfNoEntry: false })?.size ?? 0;
  const totalBytes = files.reduce((sum, file) => sum + sizeOf(file), 0);
  const checks: FileCheck[] = [];
  let checkedBytes = 0;
  for (const file of files) {
    const check = checkDataFile(folderOf(file), file, masterKey);
    if (check !== undefined) checks.push(check);
    checkedBytes += sizeOf(file);
    say({ progress: { checkedBytes, totalBytes: Math.max(checkedBytes, totalBytes) } });
  }
  return checks;
}
