/** `svc samples write`: writes readings of any source from a CSV, with a collector key. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { joinDemoWorld } from '../support/cli-against-service.ts';
import { until } from '../support/program.ts';

const MOUNT = 'svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/data"}';

test('SRC-10: svc samples write --csv stores readings once, at their own times', async (t) => {
  const { svc, demo, folder } = await joinDemoWorld(t, 'samples');
  const file = join(folder, 'readings.csv');
  const now = Math.floor(Date.now() / 1000);
  const env = { SVC_API_KEY: demo.collectorKey, SVC_PROJECT: 'samples' };
  const lines = [
    `time,vm,name,state,vcpus,svc_vm_cpu_seconds_total,${MOUNT}`,
    `${now - 60},xen-1,web,running,2,10.5,`,
    `${now - 30},xen-1,web,running,2,11.5,4096`,
    `${now - 30},xen-2,db,stopped,,,`,
  ];
  writeFileSync(file, lines.join('\n'));
  const write = (...args: string[]) => svc(['samples', 'write', ...args], { env });
  const first = await write('--csv', file);
  t.equal(first.code, 0, first.stderr);
  t.equal(first.stdout, '3 readings stored; 0 rows were already stored\n');
  t.same((await write('--csv', file, '--json')).json, { accepted: 3, duplicates: 0, rejected: [] });

  const list = ['monitoring', 'vms', '--project', 'samples', '--json'];
  const listed = await until('both VMs in the inventory', async () => {
    const { vms } = (await svc(list, { env: { ...env, SVC_API_KEY: demo.apiKey } })).json;
    return vms?.length === 2 ? vms : undefined;
  });
  t.match(listed, [
    { displayName: 'web', state: 'RUNNING', vcpus: 2 },
    { displayName: 'db', state: 'STOPPED' },
  ]);
  t.equal(listed[0].telemetry.lastObservedUnix, String(now - 30));

  writeFileSync(file, `time,svc_vm_cpu_seconds_total\n${now + 3600},1\n${now},2`);
  const ahead = await write('--csv', file, '--vm', 'xen-3');
  t.equal(ahead.code, 1, 'a rejected reading sets the exit code');
  t.match(ahead, { stdout: /^1 readings/, stderr: /2 +xen-3 +the row +CLOCK_AHEAD/ });

  t.match(await write('--csv', file), { code: 2, stderr: /readings\.csv, line 2: no VM/ });
  t.match(await write('--csv', join(folder, 'none.csv')), { code: 1, stderr: /could not be read/ });
  writeFileSync(file, 'time,vm,state\n1,x,asleep');
  t.match(await write('--csv', file), {
    code: 2,
    stderr: /line 2, column 3: "asleep" is not a state/,
  });
  const reader = { env: { ...env, SVC_API_KEY: demo.apiKey }, input: lines.join('\n') };
  t.match(await svc(['samples', 'write', '--csv', '-'], reader), { code: 3, stderr: /collector/ });
});
