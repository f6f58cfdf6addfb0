/**
 * Checks before a start: files that the settings name, addresses to listen on, the key of the
 * secrets, permissions of secret files. They run before the first byte is written, because a
 * refused start must leave everything unchanged. Open permissions are only logged: a group for
 * certificates is common, and an orchestrator may mount files as it likes.
 */
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { assertSealedUnder } from '../../sqlite/platform/secrets/secret-file.ts';
import type { Random } from '../../streams/platform/random.ts';
import { toDataFolderFault } from '../platform/data-folder.ts';
import { type Health, type PartHealth, ready } from '../platform/health.ts';
import { type DataFolders, isHistoryApart } from '../platform/history-folder.ts';
import { listenOn, loadTls } from '../platform/http/server.ts';
import type { Log } from '../platform/log.ts';
import { smtpUrlOf } from '../platform/mail/mailer.ts';
import { findMasterKey } from '../platform/master-key.ts';
import type { Metrics } from '../platform/metrics.ts';
import { readSecretFile } from '../platform/settings/secret-file.ts';
import type { ListenAddress } from '../platform/settings/setting-kinds.ts';
import type { Settings } from '../platform/settings/settings.ts';

/** File of the sealed secrets in the data folder. */
export const SECRETS_FILE = 'secrets.db';

/**
 * Leaves no lasting change. Throws `ConfigError`, `WrongMasterKey` and `DataFolderUnusable` with
 * what to do.
 */
export async function assertStartable(settings: Settings, random: Random): Promise<void> {
  const { tlsCertFile, tlsKeyFile, oidcClientSecretFile, webhookProxyPasswordFile } = settings;
  if (tlsCertFile !== null && tlsKeyFile !== null) {
    loadTls({ certFile: tlsCertFile, keyFile: tlsKeyFile });
  }
  if (oidcClientSecretFile !== null) {
    readSecretFile('SVC_OIDC_CLIENT_SECRET_FILE', oidcClientSecretFile);
  }
  if (webhookProxyPasswordFile !== null) {
    readSecretFile('SVC_WEBHOOK_PROXY_PASSWORD_FILE', webhookProxyPasswordFile);
  }
  smtpUrlOf(settings);
  assertKeyOpens(settings, random);
  await assertAddressesFree(settings);
}

function assertKeyOpens(settings: Settings, random: Random): void {
  const path = join(settings.data, SECRETS_FILE);
  const masterKey = findMasterKey({
    file: settings.masterKeyFile,
    mustExist: settings.masterKeyFileGiven,
    storePath: path,
  });
  if (masterKey === undefined) return;
  try {
    assertSealedUnder({ path, masterKey, random });
  } catch (error) {
    throw toDataFolderFault(error, path);
  }
}

/** Binds each address for a moment; another program may still take it afterwards. */
async function assertAddressesFree(settings: Settings): Promise<void> {
  const { listen, metricsListen, metricsListenGiven } = settings;
  const requested: [string, ListenAddress][] = [['SVC_LISTEN', listen]];
  // The default address may be taken; the service then starts without that listener.
  if (metricsListen !== null && metricsListenGiven)
    requested.push(['SVC_METRICS_LISTEN', metricsListen]);
  const bound: Server[] = [];
  try {
    for (const [name, address] of requested) {
      const server = createServer();
      await listenOn(name, address, async () => {
        server.listen({ ...address });
        await once(server, 'listening');
      });
      bound.push(server);
    }
  } finally {
    await Promise.all(bound.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** The files that hold a secret: setting of each, and its label in the gauge. */
const FILES = {
  tlsKeyFile: { what: 'tls_key', name: 'SVC_TLS_KEY_FILE' },
  masterKeyFile: { what: 'master_key', name: 'SVC_MASTER_KEY_FILE' },
  natsPasswordFile: { what: 'nats_password', name: 'SVC_NATS_PASSWORD_FILE' },
  natsTokenFile: { what: 'nats_token', name: 'SVC_NATS_TOKEN_FILE' },
  natsNkeyFile: { what: 'nats_nkey', name: 'SVC_NATS_NKEY_FILE' },
  natsCredentialsFile: { what: 'nats_credentials', name: 'SVC_NATS_CREDENTIALS_FILE' },
  natsKeyFile: { what: 'nats_key', name: 'SVC_NATS_KEY_FILE' },
  oidcClientSecretFile: { what: 'oidc_client_secret', name: 'SVC_OIDC_CLIENT_SECRET_FILE' },
  smtpPasswordFile: { what: 'smtp_password', name: 'SVC_SMTP_PASSWORD_FILE' },
  webhookProxyPasswordFile: {
    what: 'webhook_proxy_password',
    name: 'SVC_WEBHOOK_PROXY_PASSWORD_FILE',
  },
} as const;

type SecretFile = keyof typeof FILES;

export function watchPermissions({
  settings,
  metrics,
  health,
  log,
}: {
  readonly settings: DataFolders & Partial<Pick<Settings, SecretFile>>;
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly health: Pick<Health, 'watch'>;
  readonly log: Log;
}): void {
  const { data, historyData } = settings;
  const watched = [{ what: 'data_folder', name: 'SVC_DATA', path: data, mode: '700' }];
  const folders = [data];
  if (isHistoryApart(settings)) {
    const history = { what: 'history_folder', name: 'SVC_HISTORY_DATA', path: historyData };
    watched.push({ ...history, mode: '700' });
    folders.push(historyData);
  }
  for (const [setting, { what, name }] of Object.entries(FILES)) {
    // Keys of a literal, which `Object.entries` types as strings.
    const path = settings[setting as SecretFile];
    if (path) watched.push({ what, name, path, mode: '600' });
  }
  for (const { name, path, mode } of watched) {
    const open = openModeOf(path);
    if (open === undefined) continue;
    const message = `${name} ${path} is open to others of this machine (mode ${open}): run chmod ${mode} on it`;
    log.warn({ path }, message);
  }
  health.watch({ kind: 'data folder' }, () => foldersHealth(folders));
  metrics.gauge(
    'svc_open_permissions',
    '1 = other users of this machine can read files that belong to the service',
    ['what'],
    (gauge) => {
      for (const { what, path } of watched) gauge.set({ what }, openModeOf(path) ? 1 : 0);
    },
  );
}

function foldersHealth(folders: readonly string[]): PartHealth {
  for (const folder of folders) {
    const open = openModeOf(folder);
    if (open === undefined) continue;
    return {
      state: 'degraded',
      reason: `${folder} is open to others of this machine (mode ${open}): run chmod 700 on it`,
      summary: 'Other users of the machine can read files of the service',
    };
  }
  return ready;
}

/**
 * Permissions in octal if group or others have any; undefined if they have none, or the file is
 * missing.
 */
function openModeOf(path: string): string | undefined {
  const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  return (mode & 0o077) === 0 ? undefined : mode.toString(8).padStart(4, '0');
}
