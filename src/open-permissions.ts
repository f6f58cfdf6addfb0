/**
 * Tells when others of the machine may read the TLS key or look into the data folder. It is no
 * reason not to start: a group of its own for certificates is common, and an orchestrator may mount
 * files as it likes. The gauge is read anew at each scrape, so that mending needs no restart.
 */
import { statSync } from 'node:fs';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Settings } from './settings.ts';

export function watchPermissions({
  settings,
  metrics,
  log,
}: {
  readonly settings: Pick<Settings, 'data' | 'tlsKeyFile'>;
  readonly metrics: Pick<Metrics, 'gauge'>;
  readonly log: Log;
}): void {
  const watched = [
    { what: 'data_folder', name: 'SVC_DATA', path: settings.data, mode: '700' },
    { what: 'tls_key', name: 'SVC_TLS_KEY_FILE', path: settings.tlsKeyFile, mode: '600' },
  ].flatMap(({ path, ...rest }) => (path === null ? [] : [{ path, ...rest }]));
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
