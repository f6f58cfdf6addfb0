/**
 * A program that embeds the service, for a test that observes it from outside: two services side by
 * side, then starts that fail at every point, then stops. It never calls `process.exit`, so its end
 * shows that nothing was left open. Arguments: a folder of its own.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';

const [root = ''] = process.argv.slice(2);

function start(folder: string, more: Record<string, string> = {}) {
  const { settings } = loadConfig([], {
    SVC_DATA: join(root, folder),
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: '127.0.0.1:0',
    SVC_SAMPLE_INTERVAL_SECONDS: '1',
    SVC_COLLECT: 'host',
    ...more,
  });
  return createService({ settings, log: silentLog });
}

async function failing(folder: string, more: Record<string, string>): Promise<string> {
  const error: unknown = await start(folder, more).then(
    () => new Error('started'),
    (refused) => refused,
  );
  return error instanceof Error ? error.name : String(error);
}

const listeners = () =>
  process
    .eventNames()
    .map((name) => `${String(name)} ${process.listenerCount(name)}`)
    .sort();
const before = listeners();
const first = await start('first');
const second = await start('second');
const during = listeners();
const port = new URL(first.address).port;
const notPem = join(root, 'not.pem');
writeFileSync(notPem, 'not a certificate\n');
mkdirSync(join(root, 'third'), { recursive: true });
const failures = {
  locked: await failing('first', {}),
  port: await failing('third', { SVC_LISTEN: `127.0.0.1:${port}` }),
  certificate: await failing('third', { SVC_TLS_CERT_FILE: notPem, SVC_TLS_KEY_FILE: notPem }),
  masterKey: await failing('third', { SVC_MASTER_KEY_FILE: join(root, 'absent.key') }),
  stream: await failing('third', { SVC_NATS_URL: 'nats://127.0.0.1:9', SVC_DEMO: 'on' }),
};
// The failures leave nothing behind: the same folder starts, stops and starts again at once.
for (let times = 0; times < 2; times++) await (await start('third')).stop();
const answers = await Promise.all(
  [first, second].map(async ({ address }) => (await fetch(`${address}/healthz`)).status),
);
await Promise.all([first.stop(), second.stop()]);
await first.stop();
process.stdout.write(`${JSON.stringify({ before, during, failures, answers })}\n`);
