/**
 * A fresh clone of the committed files, with nothing beside it. The README's first screen works
 * without dev dependencies: it installs, starts, shows its pages and watches this machine. Tests of
 * the folder beside the checkout are skipped. Packages come from npm's cache or registry.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { test } from 'tap';
import { builtProgram } from '../../../bin/built-program.js';
import packageJson from '../../../package.json' with { type: 'json' };
import { pageAt } from '../../support/named-host.ts';
import { type Demo, dataFolder, until } from '../../support/program.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));

t.setTimeout(840_000);

async function cloneInto(folder: string): Promise<string> {
  const clone = join(folder, 'clone');
  await execute('git', ['clone', '--quiet', '--no-hardlinks', root, clone], { timeout: 600_000 });
  return clone;
}

test('a fresh clone without dev dependencies runs, with its pages', async (t) => {
  const clone = await cloneInto(dataFolder(t));
  const { npm_config_prefix: _, ...env } = process.env;
  const words = ['ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund'];
  await execute('npm', words, { cwd: clone, env, timeout: 600_000 });
  const installed = Object.keys(packageJson.devDependencies).filter((name) =>
    existsSync(join(clone, 'node_modules', name)),
  );
  t.same(installed, []);
  const [kilobytes] = (await execute('du', ['-sk', 'node_modules'], { cwd: clone })).stdout.split(
    '\t',
  );
  t.ok(Number(kilobytes) * 1024 <= 200e6, `${kilobytes} KiB of packages`);
  t.ok(builtProgram(clone), 'the bundle is built, and is current');

  const child = spawn('npm', ['start'], {
    cwd: clone,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, SVC_LISTEN: '127.0.0.1:0', SVC_METRICS_LISTEN: 'off', SVC_COLLECT: 'host' },
  });
  // npm does not forward the signal that kills it, so the group is ended.
  const end = (): boolean => process.kill(-(child.pid ?? 0), 'SIGTERM');
  process.once('exit', () => child.exitCode === null && end());
  let said = '';
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const gone = once(child, 'exit');
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) end();
    await gone;
  });
  await until('it has started', () => /Ctrl-C stops it/.test(said) || undefined);
  t.match(said, /watches this host/);
  t.match(said, /dashboard and API on http:\/\/127\.0\.0\.1:\d+/);
  t.notMatch(said, /dashboard (is not|cannot be) built/);

  const demo = JSON.parse(readFileSync(join(clone, 'data/demo.json'), 'utf8')) as Demo;
  const page = await pageAt(`${demo.baseUrl}/auth/link`);
  t.match(page.text, /Sign in/);
  const manifest = JSON.parse(readFileSync(join(clone, 'dist/dashboard/manifest.json'), 'utf8'));
  t.ok(manifest.entries.main, 'the pages are built');
  const { stdout } = await execute('npx', ['svc', 'monitoring', 'vms'], {
    cwd: clone,
    timeout: 600_000,
    env: { ...env, SVC_ENDPOINT: demo.baseUrl, SVC_PROJECT: 'demo', SVC_API_KEY: demo.apiKey },
  });
  t.match(stdout, /RUNNING +\S+ +DC-1/);
});

/** Each has tests of the shared folder and others, and takes a second or two. */
const WITH_SHARED_FOLDER = [
  'test/alerting/trace-replay.test.ts',
  'test/requirements/requirements.test.ts',
  'test/telemetry/collectors/replay.test.ts',
  'test/telemetry/promql/compliance.test.ts',
];

test('a lone clone skips the tests of the shared folder with a reason', async (t) => {
  const clone = await cloneInto(dataFolder(t));
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'));
  const { stdout } = await execute(
    process.execPath,
    ['scripts/test/main.ts', ...WITH_SHARED_FOLDER],
    // As in a clone's gate, which requires every installable component.
    { cwd: clone, env: { ...process.env, SVC_TEST_REQUIRE: 'components' }, timeout: 600_000 },
  );
  t.match(stdout, /^skipped [1-9]\d*: needs shared folder: .* a clone works without it$/m);
  t.equal(stdout.match(/^skipped /gm)?.length, 1, 'nothing else is skipped');
  t.match(stdout, /^[1-9]\d* passed, 0 failed, [1-9]\d* skipped$/m);
});
