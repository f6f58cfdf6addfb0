/** Remains of services in the program that embeds them, checked in a separate process. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'tap';
import { dataFolder } from '../../support/program.ts';

test('a program that embeds services exits by itself, even if some fail to start', async (t) => {
  const script = fileURLToPath(new URL('../../support/embedding.ts', import.meta.url));
  const run = promisify(execFile)(process.execPath, [script, dataFolder(t)], { timeout: 600_000 });
  const { stdout, stderr } = await run;
  const report = JSON.parse(stdout);
  t.equal(stderr, '', 'nothing is written to the program’s own streams');
  t.same(
    report.during,
    report.before,
    'no listener is added to the process, for signals or faults',
  );
  t.same(report.failures, {
    locked: 'FolderLocked',
    port: 'ConfigError',
    certificate: 'ConfigError',
    masterKey: 'ConfigError',
    stream: 'StreamUnavailable',
  });
  t.same(
    report.answers,
    [200, 200],
    'the two running services are not affected by those that fail',
  );
});
