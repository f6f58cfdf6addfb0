/** `svc admin rekey` on a running service: the key file, the audit, backups and the next start. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { silentLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import type { RunningService } from '../../src/service/running-service.ts';
import { createService } from '../../src/service/service.ts';
import { dataFolder, runInProcess } from '../support/program.ts';

async function start(t: Test, folder: string): Promise<RunningService> {
  const { settings } = loadConfig([], {
    SVC_DATA: folder,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_COLLECT: 'none',
  });
  const service = await createService({ settings, log: silentLog });
  t.teardown(() => service.stop());
  return service;
}

test('the key is replaced while the service runs, and no service starts with the old one', async (t) => {
  const folder = dataFolder(t);
  const keyFile = join(folder, 'master.key');
  const service = await start(t, folder);
  const old = readFileSync(keyFile, 'utf8');
  const { apiKey } = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8'));
  const ran = await runInProcess(['admin', 'rekey', '--data', folder]);
  t.match(ran, {
    code: 0,
    stdout: /^The master key is [0-9a-f]{16} now, in .*master\.key; \d+ values/,
  });
  t.equal(ran.text, ran.stdout, 'nothing else is printed');
  const keyId = /key is (\w+)/.exec(ran.stdout)?.[1] ?? '';
  t.not(readFileSync(keyFile, 'utf8'), old);
  const answer = await fetch(
    `${service.address}/svc.monitoring.v1.MonitoringService/ListVMMonitoring`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: '{"projectName":"projects/demo"}',
    },
  );
  t.equal(answer.status, 200, 'the service continues');

  const to = join(mkdtempSync(join(tmpdir(), 'svc-rekeyed-')), 'backup');
  t.teardown(() => rmSync(join(to, '..'), { recursive: true }));
  const backup = await runInProcess(['backup', to, '--data', folder]);
  t.equal(backup.code, 0, backup.text);
  t.match(JSON.parse(readFileSync(join(to, 'manifest.json'), 'utf8')), { keyId });

  const none = await runInProcess(['admin', 'rekey', '--continue', '--data', folder]);
  t.match(none, { code: 0, stdout: `Nothing to continue: the master key is ${keyId}\n` });
  await service.stop();
  const next = readFileSync(keyFile, 'utf8');
  writeFileSync(keyFile, old);
  await t.rejects(start(t, folder), { name: 'WrongMasterKey', message: /svc admin rekey/ });
  writeFileSync(keyFile, next);
  await (await start(t, folder)).stop();
});

test('a supplied key is read from a file, and an invalid one is refused', async (t) => {
  const folder = dataFolder(t);
  await start(t, folder);
  const file = join(folder, 'next.key');
  const rekey = (...args: string[]) => runInProcess(['admin', 'rekey', ...args, '--data', folder]);
  t.match(await rekey('--key-file', file), { code: 2, text: /cannot be read: .*head -c 32/s });
  writeFileSync(file, 'too short');
  t.match(await rekey('--key-file', file), { code: 1, text: /32 bytes in base64/ });
  const key = Buffer.alloc(32, 9).toString('base64');
  writeFileSync(file, key);
  t.match(await rekey('--key-file', file), { code: 0 });
  t.equal(readFileSync(join(folder, 'master.key'), 'utf8').trim(), key);
  t.match(await rekey('--key-file', file), { code: 1, text: /already uses the master key/ });
  t.match(await rekey('--key-file', file, '--continue'), { code: 2 });
});
