/**
 * The folder of `history.db`, which may be on a disk of its own. A mark in the data folder names it.
 * Without the mark, a service whose disk is not mounted, or whose file was not moved along, would
 * begin an empty history unnoticed.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { HISTORY_FILE } from '../../sqlite/telemetry/history/history-file.ts';
import { DataFolderUnusable } from './data-folder.ts';
import { writeFileDurably } from './durable-file.ts';
import type { Settings } from './settings/settings.ts';

/** File in the data folder with the path of another folder that has history. */
export const HISTORY_MARK = 'history.folder';

/** The data folder, and the folder of `history.db`. */
export type DataFolders = Pick<Settings, 'data' | 'historyData'>;

/** Folder of a database. */
export function folderOf({ data, historyData }: DataFolders, file: string): string {
  return file === HISTORY_FILE ? historyData : data;
}

/** True if `history.db` is not in the data folder. */
export function isHistoryApart({ data, historyData }: DataFolders): boolean {
  return resolve(data) !== resolve(historyData);
}

/**
 * Folder of `history.db` for a command without a running service: the mark counts if the settings
 * name no other folder, because a shell has other variables than the service.
 */
export function historyFolderOnDisk(folders: DataFolders): string {
  if (isHistoryApart(folders)) return folders.historyData;
  return markedFolder(folders.data) ?? folders.data;
}

/**
 * Throws `DataFolderUnusable` with what to do if the history of this data folder is elsewhere than
 * the settings say. Changes nothing.
 */
export function assertHistoryInPlace(folders: DataFolders): void {
  const { data, historyData } = folders;
  const here = join(historyData, HISTORY_FILE);
  const marked = markedFolder(data);
  const old = join(data, HISTORY_FILE);
  if (isHistoryApart(folders) && existsSync(old)) {
    const target = existsSync(here)
      ? `${here} exists too. Keep the newer one there, and move the other aside`
      : `Move it, or unset SVC_HISTORY_DATA: mv ${old}* ${historyData}/`;
    throw new DataFolderUnusable(
      `SVC_HISTORY_DATA is ${historyData}, but ${old} exists. ${target}. Nothing was changed`,
    );
  }
  if (marked === undefined || existsSync(here)) return;
  const mark = join(data, HISTORY_MARK);
  const begin = `To begin an empty history, remove ${mark}`;
  if (resolve(marked) === resolve(historyData)) {
    throw new DataFolderUnusable(
      `SVC_HISTORY_DATA ${historyData} had ${HISTORY_FILE} and has none now. Mount its disk, or ` +
        `restore the file. ${begin}. Nothing was changed`,
    );
  }
  const name = isHistoryApart(folders) ? `SVC_HISTORY_DATA is ${historyData}` : 'it is not set';
  throw new DataFolderUnusable(
    `The history of SVC_DATA ${data} is in ${marked}, but ${name}. Set SVC_HISTORY_DATA to ` +
      `${marked}, or move the file: mv ${join(marked, HISTORY_FILE)}* ${historyData}/. ${begin}. ` +
      'Nothing was changed',
  );
}

/** Records where history is now, for the next start. Call it once `history.db` is open. */
export function recordHistoryFolder(folders: DataFolders): void {
  const { data, historyData } = folders;
  const path = join(data, HISTORY_MARK);
  if (!isHistoryApart(folders)) rmSync(path, { force: true });
  else if (markedFolder(data) !== resolve(historyData)) {
    writeFileDurably({ path, content: `${resolve(historyData)}\n`, exclusive: false });
  }
}

function markedFolder(data: string): string | undefined {
  const path = join(data, HISTORY_MARK);
  if (!existsSync(path)) return undefined;
  const folder = readFileSync(path, 'utf8').trim();
  return folder === '' ? undefined : folder;
}
