/**
 * Files that other users of the machine may read are reported: at the start, and in a gauge that
 * needs no restart.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { type HealthCheck, ready } from '../../src/platform/health.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { watchPermissions } from '../../src/service/start-checks.ts';
import { systemClock } from '../../streams/platform/clock.ts';

test('a readable secret and an open data folder are reported, at start and in a gauge', async (t) => {
  const folder = t.testdir({});
  const data = join(folder, 'data');
  const tlsKeyFile = join(folder, 'key.pem');
  const historyData = join(folder, 'history');
  for (const made of [data, historyData]) mkdirSync(made, { mode: 0o700 });
  const natsTokenFile = join(folder, 'token');
  for (const file of [tlsKeyFile, natsTokenFile]) writeFileSync(file, '', { mode: 0o600 });
  const warnings: string[] = [];
  let reported: HealthCheck = () => ready;
  const note = (_facts: object, message: string) => void warnings.push(message);
  const log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const watch = () => {
    const metrics = createMetrics({ clock: systemClock, version: 'test' });
    t.teardown(() => metrics.close());
    const health = {
      watch: (_part: object, check: HealthCheck) => {
        reported = check;
        return () => {};
      },
    };
    const settings = { data, historyData, tlsKeyFile, natsTokenFile };
    watchPermissions({ settings, metrics, health, log });
    return metrics;
  };
  t.match(await watch().text(), /svc_open_permissions\{what="tls_key"\} 0/);
  t.same(warnings, []);
  chmodSync(data, 0o750);
  chmodSync(historyData, 0o755);
  chmodSync(tlsKeyFile, 0o644);
  chmodSync(natsTokenFile, 0o640);
  const metrics = watch();
  t.match(warnings, [
    /SVC_DATA .*data is open to others of this machine \(mode 0750\): run chmod 700 on it/,
    /SVC_HISTORY_DATA .*history is open to others of this machine \(mode 0755\): run chmod 700 on it/,
    /SVC_TLS_KEY_FILE .*key\.pem is open to others of this machine \(mode 0644\): run chmod 600 on it/,
    /SVC_NATS_TOKEN_FILE .*token is open to others of this machine \(mode 0640\): run chmod 600 on it/,
  ]);
  t.match(await metrics.text(), /svc_open_permissions\{what="tls_key"\} 1/);
  t.match(reported(), { state: 'degraded', reason: /mode 0750\): run chmod 700/ });
  chmodSync(data, 0o700);
  t.match(reported(), { state: 'degraded', reason: /history is open .*mode 0755/ });
  chmodSync(historyData, 0o700);
  t.same(reported(), ready);
  t.match(
    await metrics.text(),
    /svc_open_permissions\{what="data_folder"\} 0/,
    'without a restart',
  );
});
