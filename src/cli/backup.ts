/**
 * `svc backup` and `svc restore`: copy the data folder to a safe place while the service runs, and
 * back into an empty folder. The service makes the backup; a restore requires no running service.
 */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { FolderLocked } from '../../sqlite/platform/lock-file.ts';
import { keyIdOf } from '../../sqlite/platform/secrets/seal.ts';
import {
  type Stream,
  StreamMisconfigured,
  StreamUnavailable,
} from '../../streams/platform/stream.ts';
import { AdminFault, askService, NoService } from '../admin/admin-client.ts';
import { backedUpStreams } from '../admin/backup/backed-up-streams.ts';
import { BACKUP_PATH } from '../admin/backup/backup-routes.ts';
import { BackupFault, type BackupManifest } from '../admin/backup/manifest.ts';
import { type RestoreProgress, restoreBackup } from '../admin/backup/restore.ts';
import { DataFolderUnusable, toDataFolderFault } from '../platform/data-folder.ts';
import { readMasterKey } from '../platform/master-key.ts';
import { openNats } from '../platform/nats.ts';

import { ConfigError, loadConfig } from '../platform/settings/config.ts';
import type { Settings } from '../platform/settings/settings.ts';
import { type ActionContext, single } from './client/action.ts';
import { Fault, UsageError } from './client/faults.ts';
import { json } from './client/output.ts';
import { localTime } from './client/texts.ts';
import { EXIT_OK } from './command.ts';
import { dataOption, requestedSettings } from './service-folder.ts';

/** A restore creates the folder, so its place is not guessed from existing folders. */
const newDataOption = {
  name: 'data',
  takes: 'FOLDER',
  help: 'Data folder of the service, as for "svc serve"; default: SVC_DATA, or ./data',
} as const;

export const backupCommand = single({
  name: 'backup',
  summary: 'Back up the data folder of a service while it runs',
  positionals: [{ name: 'FOLDER' }],
  options: [dataOption],
  notes: `
FOLDER is created, or must be empty. It receives a copy of each database, all from one moment, and
finally manifest.json with their digests: a folder without that file is not a backup. The service
keeps running. The master key is not included. Keep a copy of it elsewhere, because the backup is
useless without it.
`,
  run: backup,
});

export const restoreCommand = single({
  name: 'restore',
  summary: 'Restore a backup into an empty data folder',
  positionals: [{ name: 'FOLDER' }],
  options: [newDataOption],
  notes: `
FOLDER is a folder created by "svc backup". Every file is compared with its digest before anything
is written. The data folder must be empty except for the master key, and no service may run on it.
With SVC_NATS_URL, the streams are restored to that NATS; existing streams are left as they are.
`,
  run: restore,
});

async function backup(context: ActionContext): Promise<number> {
  const { input, print } = context;
  const to = resolve(input.positional(0));
  const { data } = requestedSettings(input, context.environment);
  const progress = new Progress(context);
  const manifest = await requested(data, to, (line) => {
    const { bytes, total } = line as { readonly bytes: number; readonly total: number };
    progress.show('copied', bytes, total);
  });
  const { keyId, files } = manifest;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (context.json) print(json({ folder: to, ...manifest }));
  else {
    print(
      `${to}: ${files.length} files, ${sizeText(bytes)}, as of ${timeText(manifest)}\n` +
        `The master key ${keyId} is not included, and the backup is unusable without it. Keep a ` +
        'copy of the key elsewhere.\n',
    );
  }
  return EXIT_OK;
}

async function requested(
  folder: string,
  to: string,
  onLine: (line: unknown) => void,
): Promise<BackupManifest> {
  try {
    // The route's response; both sides are the same program.
    return (await askService(folder, BACKUP_PATH, onLine, { to })) as BackupManifest;
  } catch (error) {
    if (error instanceof NoService) {
      const hint =
        'Start it with "svc serve", or specify its folder with --data. If no service runs on the folder, ' +
        'copy it as a whole, and the folder of SVC_HISTORY_DATA: cp -a';
      throw new Fault(`No service is running on ${folder}`, { hint });
    }
    if (error instanceof AdminFault) throw new Fault(error.message);
    throw error;
  }
}

async function restore(context: ActionContext): Promise<number> {
  const { input, print } = context;
  const from = resolve(input.positional(0));
  const settings = settingsOf(context);
  const { data, historyData, masterKeyFile } = settings;
  const to = resolve(data);
  const historyTo = resolve(historyData);
  let stream: Stream | undefined;
  const progress = new Progress(context);
  const onProgress = ({ step, bytes, total }: RestoreProgress) =>
    progress.show(step === 'checking' ? 'checked' : 'copied', bytes, total);
  try {
    const keyId = existsSync(masterKeyFile) ? keyIdOf(readMasterKey(masterKeyFile)) : undefined;
    const key = { masterKeyFile: resolve(masterKeyFile), keyId };
    if (settings.natsUrl !== null) stream = await openNats(settings, context.ports);
    const remote = stream && { stream, specs: backedUpStreams };
    const request = { from, to, historyTo, ...key, onProgress, ...(remote && { remote }) };
    const { manifest, hasKey } = await restoreBackup(request);
    const next = nextSteps({ ...manifest, masterKeyFile, hasKey, data });
    if (context.json) print(json({ folder: to, ...manifest, hasKey, next }));
    else
      print(`${to} is restored as of ${timeText(manifest)}. Next:\n${next.map(numbered).join('')}`);
    return EXIT_OK;
  } catch (error) {
    throw asFault(toDataFolderFault(error, to));
  } finally {
    await stream?.close();
  }
}

function nextSteps(facts: {
  readonly keyId: string;
  readonly masterKeyFile: string;
  readonly hasKey: boolean;
  readonly data: string;
}): string[] {
  const { keyId, masterKeyFile, hasKey, data } = facts;
  return [
    ...(hasKey ? [] : [`put the master key ${keyId} at ${masterKeyFile}`]),
    `start the service where clients cannot reach it yet: svc serve --data ${data}`,
    `revoke what was valid at the time of the backup: svc admin restored --data ${data}`,
    `verify that it is complete: svc audit verify --data ${data}, svc history check --data ${data}`,
  ];
}

function numbered(step: string, place: number): string {
  return `  ${place + 1}. ${step}\n`;
}

function settingsOf({ input, environment }: ActionContext): Settings {
  const data = input.text('data');
  try {
    return loadConfig(data === undefined ? [] : ['--data', data], environment).settings;
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.problems.join('\n'));
    throw error;
  }
}

/** Faults that an operator can act on become sentences; others stay as they are. */
function asFault(error: unknown): unknown {
  const isKnown =
    error instanceof BackupFault ||
    error instanceof DataFolderUnusable ||
    error instanceof FolderLocked ||
    error instanceof StreamUnavailable ||
    error instanceof StreamMisconfigured;
  if (isKnown) return new Fault(error.message);
  return error instanceof ConfigError ? new Fault(error.problems.join('\n')) : error;
}

/** Reports progress in steps of 10 %. */
class Progress {
  readonly #context: ActionContext;
  #said = '';

  constructor(context: ActionContext) {
    this.#context = context;
  }

  show(what: string, bytes: number, total: number): void {
    const tenth = total === 0 ? 10 : Math.floor((10 * bytes) / total);
    const line = `${what} ${tenth * 10} % of ${sizeText(total)}`;
    if (line === this.#said || this.#context.json) return;
    this.#said = line;
    this.#context.report(line);
  }
}

function timeText({ createdMs }: BackupManifest): string {
  return localTime(Math.floor(createdMs / 1000));
}

function sizeText(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
