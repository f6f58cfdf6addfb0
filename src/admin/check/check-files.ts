/** Checks databases on a thread of its own, so that a running service continues to answer. */
import { Worker } from 'node:worker_threads';
import type { FileCheck } from '../../../sqlite/platform/file-check.ts';
import type { CheckJob, CheckMessage, FilesProgress } from './check-thread.ts';

export type { FilesProgress } from './check-thread.ts';

export interface CheckFilesOptions extends CheckJob {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: FilesProgress) => void;
}

/** The result for each file that exists. Throws the reason of `signal`, or what prevents the check. */
export async function checkFiles(options: CheckFilesOptions): Promise<readonly FileCheck[]> {
  const { signal, onProgress, ...job } = options;
  signal.throwIfAborted();
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const entry = new URL(`./check-thread.${extension}`, import.meta.url);
  const worker = new Worker(entry, { name: 'file check', workerData: job satisfies CheckJob });
  const ended = new AbortController();
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { signal: ended.signal });
      worker.on('error', reject);
      worker.on('exit', () => reject(new Error('The thread that checks the files has ended')));
      worker.on('message', (message: CheckMessage) => {
        if ('progress' in message) onProgress?.(message.progress);
        else if ('checks' in message) resolve(message.checks);
        else reject(new Error(message.fault));
      });
    });
  } finally {
    ended.abort();
    await worker.terminate();
  }
}
