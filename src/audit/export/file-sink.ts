/**
 * The audit sink as a file that only grows. It is opened for each batch, so that whoever rotates it
 * renames it and no signal is needed: the next batch makes a new one.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolderSoon } from '../../platform/durable-file.ts';
import type { AuditSink } from './audit-export.ts';

/** Mode 0600 when it is made; its folder must exist. */
export function fileSink(path: string): AuditSink {
  return {
    async append(lines) {
      const file = await open(path, 'a+', 0o600);
      try {
        const { size, isFile } = await statOf(file);
        if (!isFile) throw new Error(`${path} is no file`);
        // What a crash or a full disk has cut off stays as a line of its own.
        await file.appendFile((await isCutOff(file, size)) ? `\n${lines}` : lines);
        await file.sync();
        if (size === 0) await syncFolderSoon(dirname(path));
      } finally {
        await file.close();
      }
    },
  };
}

async function statOf(file: FileHandle) {
  const found = await file.stat();
  return { size: found.size, isFile: found.isFile() };
}

async function isCutOff(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() !== '\n';
}
