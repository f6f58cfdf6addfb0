/**
 * `svc collect` as an operator runs it: a key, an enrolment, a mapping, and the program, with a
 * virsh that prints recorded statistics of real machines, a thousand times.
 */
import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { dataFolder, runInProcess, runToEnd, startProgram, until } from '../../support/program.ts';
import { fleetDomain, statisticsOf } from '../../support/recorded-fleet.ts';

const program = fileURLToPath(new URL('../../../bin/svc.js', import.meta.url));
const DOMAINS = 1_000;
/** Number of the thousand in each project; one is in none. */
const SHARES = { demo: 399, shop: 300, blog: 300 };

/** A folder with a virsh that prints the fleet's statistics. */
function recordedVirsh(t: Test): string {
  const folder = dataFolder(t);
  const domains = Array.from({ length: DOMAINS }, (_, n) => {
    const name = n < 300 ? `shop-${n}` : n < 600 ? `blog-${n}` : n < 999 ? `vm-${n}` : 'stray';
    return fleetDomain(n, name);
  });
  writeFileSync(join(folder, 'fleet.txt'), statisticsOf(domains));
  writeFileSync(join(folder, 'virsh'), `#!/bin/sh\nexec cat ${join(folder, 'fleet.txt')}\n`);
  chmodSync(join(folder, 'virsh'), 0o755);
  return folder;
}

/** Resolves with the exit code; stopped at the end of the test. */
function startCollector(t: Test, env: Readonly<Record<string, string>>, args: readonly string[]) {
  const child = spawn(process.execPath, [program, 'collect', 'run', ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.on('data', (chunk) => (log += chunk));
  process.once('exit', () => child.kill('SIGKILL'));
  t.teardown(() => child.kill('SIGKILL'));
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  child.once('exit', resolve);
  return { child, ended, log: () => log };
}

test('SRC-11: a thousand domains reach their projects within one interval', async (t) => {
  const data = dataFolder(t);
  const service = await startProgram(t, data, { SVC_COLLECT: 'none' });
  const admin = async (...words: string[]) => {
    const ran = await runInProcess(['admin', ...words, '--data', data]);
    t.equal(ran.code, 0, ran.text);
    return ran.stdout;
  };
  for (const project of ['shop', 'blog']) {
    await admin('project', 'create', project, '--owner', 'ada@example.com');
  }
  const projects = Object.keys(SHARES).flatMap((project) => ['--project', project]);
  const made = await admin('collector-key', 'create', '--datacenter', 'DC-1', ...projects);

  const state = dataFolder(t);
  const mapping = join(state, 'collect.map');
  const endpoint = ['--endpoint', service.demo.baseUrl, '--state', state];
  const wrong = await runToEnd(['collect', 'enrol', ...endpoint], {
    SVC_COLLECTOR_KEY: service.demo.apiKey,
  });
  t.match(wrong, { code: 2, text: /collector key is missing/ });
  const key = made.trim().split('\n').at(-1) ?? '';
  const enrolled = await runToEnd(['collect', 'enrol', ...endpoint], { SVC_COLLECTOR_KEY: key });
  t.equal(enrolled.code, 0, enrolled.text);
  t.notMatch(enrolled.text, key);

  const path = `${recordedVirsh(t)}:${process.env.PATH ?? ''}`;
  const env = { PATH: path, SVC_COLLECT_STATE: state };
  const args = ['--mapping', mapping, '--interval', '30s'];
  const without = await runToEnd(['collect', 'run', ...args], env);
  t.match(without, { code: 2, text: /the mapping cannot be read/ });
  writeFileSync(mapping, 'nonsense\n');
  t.match(await runToEnd(['collect', 'check', '--mapping', mapping], env), {
    code: 2,
    text: /collect\.map:\n {2}line 1: "nonsense" is not a statement/,
  });
  writeFileSync(
    mapping,
    `source qemu:///system
name shop-* project shop
uuid ${fleetDomain(599).uuid} project blog
name blog-* project blog
name vm-* project demo
`,
  );
  const checked = await runToEnd(['collect', 'check', '--mapping', mapping], env);
  t.equal(checked.code, 1, 'one domain matches no rule');
  t.match(checked.text, /^blog-599 .* blog +3$/m);
  t.match(checked.text, /^stray .* - +-$/m);
  t.match(checked.text, /1000 domains, 1 without a matching rule/);

  const { child, ended, log } = startCollector(t, env, args);
  const last = async () => {
    const collectors = JSON.parse(await admin('collectors', '--json'));
    const readings = collectors[0].readings as { project: string; last?: { vms: number } }[];
    return Object.fromEntries(readings.map(({ project, last }) => [project, last?.vms ?? 0]));
  };
  const isWhole = (vms: Record<string, number>) =>
    Object.entries(SHARES).every(([project, share]) => vms[project] === share);
  // The next round is an interval later.
  const found = await until(`all VMs in their projects: ${log()}`, async () => {
    const vms = await last();
    return isWhole(vms) ? vms : undefined;
  });
  t.same(found, SHARES);
  const status = await until('all rows sent', async () => {
    const ran = await runInProcess(['collect', 'status', '--state', state, '--json']);
    const { status } = JSON.parse(ran.stdout);
    return status?.unmatchedCount === 1 ? status : undefined;
  });
  t.match(status.unmatched, [{ name: 'stray' }]);
  t.match(await runInProcess(['collect', 'status', '--state', state]), {
    code: 0,
    stdout: /1 domain matches no rule.*stray/s,
  });
  const displayed = await admin('collectors');
  for (const [project, share] of Object.entries(SHARES)) {
    t.match(displayed, new RegExp(`DC-1 +${project} +${share} +- +20`), displayed);
  }
  writeFileSync(mapping, 'source qemu:///system\nname * project demo\n');
  child.kill('SIGHUP');
  await until('the new mapping', () => /A new mapping is in use/.test(log()) || undefined);
  child.kill('SIGTERM');
  t.equal(await ended, 0, log());
  t.notMatch(log(), /level":(50|60)/, 'nothing was lost or rejected');
  await service.stop();
});
