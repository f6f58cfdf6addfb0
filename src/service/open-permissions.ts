/**
 * Warns when others of the machine may read a secret's file or look into the data folder. It is no
 * reason not to start: a group of its own for certificates is common, and an orchestrator may mount
 * files as it likes. The gauge is read anew at each scrape, so that mending needs no restart.
 */
import { statSync } from 'node:fs';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Settings } from '../platform/settings/settings.ts';

/** Each of the files that hold a secret: its setting, and its label of the gauge. */
const FILES = {
  tlsKeyFile: { what: 'tls_key', name: 'SVC_TLS_KEY_FILE' },
  masterKeyFile: { what: 'master_key', name: 'SVC_MASTER_KEY_FILE' },
  natsPasswordFile: { what: 'nats_password', name: 'SVC_NATS_PASSWORD_FILE' },
  natsTokenFile: { what: 'nats_token', name: 'SVC_NATS_TOKEN_FILE' },
  natsNkeyFile: { what: 'nats_nkey', name: 'SVC_NATS_NKEY_FILE' },
  natsCredentialsFile: { what: 'nats_credentials', name: 'SVC_NATS_CREDENTIALS_FILE' },
  natsKeyFile: { what: 'nats_key', name: 'SVC_NATS_KEY_FILE' },
  oidcClientSecretFile: { what: 'oidc_client_secret', name: 'SVC_OIDC_CLIENT_SECRET_FILE' },
} as const;

type SecretFile = keyof typeof FILES;

export function watchPermissions({
  settings,
  metrics,
  log,
}: {
  readonly settings: Pick<Settings, 'data'> & Partial<Pick<Settings, SecretFile>>;
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly log: Log;
}): void {
  const watched = [{ what: 'data_folder', name: 'SVC_DATA', path: settings.data, mode: '700' }];
  for (const [setting, { what, name }] of Object.entries(FILES)) {
    // The keys of a literal: `Object.entries` has them as strings.
    const path = settings[setting as SecretFile];
    if (path) watched.push({ what, name, path, mode: '600' });
  }
  for (const { name, path, mode } of watched) {
    const open = openModeOf(path);
    if (open === undefined) continue;
    const message = `${name} ${path} is open to others of this machine (mode ${open}): chmod ${mode} it`;
    log.warn({ path }, message);
  }
  metrics.gauge(
    'svc_open_permissions',
    '1 where others of this machine may read what is the service’s alone',
    ['what'],
    (gauge) => {
      for (const { what, path } of watched) gauge.set({ what }, openModeOf(path) ? 1 : 0);
    },
  );
}

/** The permissions in octal where group or others have any; undefined where not, or not there. */
function openModeOf(path: string): string | undefined {
  const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  return (mode & 0o077) === 0 ? undefined : mode.toString(8).padStart(4, '0');
}
