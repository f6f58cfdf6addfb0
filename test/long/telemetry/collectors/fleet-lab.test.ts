/**
 * A fleet of real virtual machines: three libvirtds, three projects, and `svc collect` between them
 * and a service. Domains are mapped by name, UUID and metadata element; one is moved while all run.
 * In real time, since the machines have no other.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { needs } from '../../../support/components.ts';
import { openVmLab } from '../../../support/lab/vm-lab.ts';
import {
  dataFolder,
  runInProcess,
  runToEnd,
  startProgram,
  until,
} from '../../../support/program.ts';

const program = fileURLToPath(new URL('../../../../bin/svc.js', import.meta.url));

interface Reading {
  readonly project: string;
  readonly last?: { readonly vms: number };
}

test('SRC-11: three libvirtds write into three projects', needs('vm-lab'), async (t) => {
  const [a, b, c] = [await openVmLab(t), await openVmLab(t), await openVmLab(t)];
  await Promise.all([
    a.start('shop1').then(() => a.start('blog1')),
    b.start('other1'),
    c.start('stray1'),
  ]);
  const uuid = (await b.virsh('domuuid', 'other1')).trim();
  const mark = (project: string) =>
    a.virsh(
      ...['metadata', 'blog1', 'urn:svc:project', '--key', 'svc', '--live'],
      '--set',
      `<project>${project}</project>`,
    );
  await mark('blog');

  const data = dataFolder(t);
  const service = await startProgram(t, data, { SVC_COLLECT: 'none' });
  const admin = async (...words: string[]) => {
    const ran = await runInProcess(['admin', ...words, '--data', data]);
    if (ran.code !== 0) throw new Error(ran.text);
    return ran.stdout;
  };
  for (const project of ['shop', 'blog']) {
    await admin('project', 'create', project, '--owner', 'ada@example.com');
  }
  const projects = ['demo', 'shop', 'blog'].flatMap((project) => ['--project', project]);
  const made = await admin('collector-key', 'create', '--datacenter', 'DC-1', ...projects);
  const state = dataFolder(t);
  const enrol = ['collect', 'enrol', '--endpoint', service.demo.baseUrl, '--state', state];
  const key = made.trim().split('\n').at(-1) ?? '';
  t.match(await runToEnd(enrol, { SVC_COLLECTOR_KEY: key }), { code: 0 });
  const mapping = join(state, 'collect.map');
  writeFileSync(
    mapping,
    `source ${a.uri}\nsource ${b.uri}\nsource ${c.uri}
metadata urn:svc:project
name shop* project shop
uuid ${uuid} project demo
`,
  );
  const checked = await runToEnd(['collect', 'check', '--mapping', mapping, '--json']);
  t.same(
    JSON.parse(checked.stdout)
      .domains.map(({ name, project = null, line = null }: Record<string, unknown>) => [
        name,
        project,
        line,
      ])
      .sort(),
    [
      ['blog1', 'blog', 4],
      ['other1', 'demo', 6],
      ['shop1', 'shop', 5],
      ['stray1', null, null],
    ],
    checked.text,
  );

  const child = spawn(
    process.execPath,
    [program, 'collect', 'run', '--mapping', mapping, '--interval', '2s', '--state', state],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.on('data', (chunk) => (log += chunk));
  t.teardown(() => child.kill('SIGKILL'));
  const counts = async (): Promise<Record<string, number>> => {
    const [{ readings }] = JSON.parse(await admin('collectors', '--json')) as [
      { readings: Reading[] },
    ];
    return Object.fromEntries(readings.map(({ project, last }) => [project, last?.vms ?? 0]));
  };
  await until(
    `a VM in each project: ${log}`,
    async () => Object.values(await counts()).every((vms) => vms === 1) || undefined,
  );

  await mark('shop');
  await until(
    'the moved VM in its new project',
    async () => (await counts()).shop === 2 || undefined,
  );
  const used = async (project: string) =>
    JSON.parse(await admin('limits', 'show', project, '--json')).used.vms as number;
  await until(
    'the VM retired in its old project',
    async () => (await used('blog')) === 0 || undefined,
  );
  t.equal(await used('shop'), 2);
  // The status is written every few seconds and may still be from before the move. On a busy machine
  // it can also name a libvirt that answered late in one round.
  const ran = await until('a status from after the move, with no work or fault left', async () => {
    const displayed = await runInProcess(['collect', 'status', '--state', state, '--json']);
    const { retiring, projects: placed } = JSON.parse(displayed.stdout).status;
    const shop = placed.find(({ project }: { project: string }) => project === 'shop');
    const isDone = displayed.code === 0 && retiring === 0 && shop?.vms === 2;
    return isDone ? displayed : undefined;
  });
  t.match(JSON.parse(ran.stdout), { faults: [], status: { unmatched: [{ name: 'stray1' }] } });
  t.match(log, /A domain moved to another project/);
});
