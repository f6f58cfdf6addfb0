/**
 * The libvirt source on two real virtual machines (QEMU in software emulation, a private libvirtd):
 * idle, loaded, with a full disk, paused, with absent and mute agents, frozen, crashed and stopped.
 * In real time, since the machines have no other; each wait ends as soon as its condition is met.
 */
import t, { test } from 'tap';
import type {
  ObservedRow,
  Reading,
  Source,
} from '../../../../actors/telemetry/collectors/collector.ts';
import { runCommand } from '../../../../actors/telemetry/collectors/command.ts';
import { createLibvirtSource } from '../../../../actors/telemetry/collectors/libvirt/libvirt-source.ts';
import { probeLibvirt } from '../../../../actors/telemetry/collectors/libvirt/virsh.ts';
import { systemClock } from '../../../../streams/platform/clock.ts';
import { needs } from '../../../support/components.ts';
import { openVmLab, type VmLab } from '../../../support/lab/vm-lab.ts';

const INTERVAL_MS = 3_000;
const never = new AbortController().signal;
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void systemClock.wakeAfter(ms, resolve));

const rowOf = (reading: Reading | undefined, name: string): ObservedRow | undefined =>
  reading?.rows.find((row) => row.displayName === name);
const valueIn = (row: ObservedRow | undefined, key: string): number | undefined =>
  row?.values.find(([each]) => each === key)?.[1];
const has = (row: ObservedRow | undefined, part: string): boolean =>
  row?.values.some(([key]) => key.includes(part)) ?? false;

/**
 * Reads one round per second until it meets the condition; fails the test after too many rounds.
 */
async function readUntil(
  source: Source,
  wanted: (reading: Reading) => boolean,
  secondsMax = 15,
): Promise<Reading> {
  let last: Reading | undefined;
  for (let i = 0; i < secondsMax; i++) {
    last = await source.read(never);
    if (wanted(last)) return last;
    await pause(1_000);
  }
  throw new Error(`not seen in ${secondsMax} rounds, last was ${JSON.stringify(last)}`);
}

async function cpuRise(source: Source, lab: VmLab): Promise<{ idle: number; busy: number }> {
  const cpu = async (): Promise<{ seconds: number; atMs: number }> => {
    const row = rowOf(await source.read(never), 'web1');
    const seconds = valueIn(row, 'svc_vm_cpu_seconds_total') ?? Number.NaN;
    return { seconds, atMs: row?.observedMs ?? Number.NaN };
  };
  const share = async (): Promise<number> => {
    const before = await cpu();
    await pause(2_500);
    const after = await cpu();
    return ((after.seconds - before.seconds) * 1_000) / (after.atMs - before.atMs);
  };
  const idle = await share();
  await lab.load('web1', 'burn', 4);
  await pause(500);
  return { idle, busy: await share() };
}

t.setTimeout(840_000);

test('two real machines trigger each trap', needs('vm-lab'), async (t) => {
  const lab = await openVmLab(t);
  const libvirt = { uri: lab.uri, clock: systemClock, run: runCommand };
  t.match(await probeLibvirt(libvirt), { reason: 'SOURCE_FAILED' }, 'no libvirtd yet');
  await Promise.all([lab.start('web1', { vcpus: 2, memoryMib: 128 }), lab.start('db1')]);
  t.equal(await probeLibvirt(libvirt), undefined);
  const source = createLibvirtSource({
    uri: lab.uri,
    clock: systemClock,
    intervalMs: INTERVAL_MS,
    deadlineMs: 3_000,
    agentSeconds: 1,
    fileSystems: true,
  });
  t.teardown(() => source.close());
  let web = '';
  let firstRun = '';

  await t.test(
    'a running machine has its baseline series and, from the agents, file systems',
    async (t) => {
      const reading = await readUntil(
        source,
        ({ rows }) => rows.length === 2 && rows.every((row) => has(row, 'memory_used')),
      );
      t.same(reading.faults, []);
      const row = rowOf(reading, 'web1');
      t.match(row, { state: 'RUNNING', vcpus: 2, bootId: /^domain-\d+$/, vm: /^[0-9a-f-]{36}$/ });
      web = row?.vm ?? '';
      firstRun = row?.bootId ?? '';
      const total = valueIn(row, 'svc_vm_memory_total_bytes') ?? 0;
      t.ok(total > 80 * 2 ** 20 && total < 128 * 2 ** 20, `${total}`);
      t.ok(has(row, 'disk_read_bytes_total{device="vda"}'));
      t.ok(has(row, 'network_receive_bytes_total{interface="vnet'));
      await readUntil(source, ({ rows }) => rows.some((each) => has(each, 'filesystem_size')));
    },
  );

  await t.test('one busy loop uses one CPU of two', async (t) => {
    const { idle, busy } = await cpuRise(source, lab);
    t.ok(idle < 0.3, `idle: ${idle} CPUs`);
    // Less than a whole CPU, depending on what else uses this machine's cores.
    t.ok(busy > 3 * idle && busy < 1.5, `busy: ${busy} CPUs, idle: ${idle}`);
  });

  await t.test('a filled disk is reported as used', async (t) => {
    await lab.load('web1', 'fill', 30);
    const key = 'svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/data"}';
    const isFull = (reading: Reading): boolean =>
      (valueIn(rowOf(reading, 'web1'), key) ?? 0) > 29 * 2 ** 20;
    t.ok(await readUntil(source, isFull));
  });

  await t.test(
    'a paused machine has no memory reading once its figures stop changing',
    async (t) => {
      await lab.virsh('suspend', 'web1');
      const first = await source.read(never);
      t.match(rowOf(first, 'web1'), { state: 'PAUSED', stateReason: 'user' });
      await pause(1_000);
      const row = rowOf(await source.read(never), 'web1');
      t.notOk(has(row, 'memory'));
      t.ok(has(row, 'cpu_seconds_total'), 'its counters are known to be frozen');
      await lab.virsh('resume', 'web1');
      await readUntil(source, (reading) => has(rowOf(reading, 'web1'), 'memory_used'));
    },
  );

  await t.test('a mute and an absent agent are reported, and the rest continues', async (t) => {
    await lab.load('web1', 'agent-hang', 6);
    await lab.load('db1', 'agent-off', 5);
    const reported = (reading: Reading): boolean =>
      [/did not respond|not connected/, /not connected/].every((said) =>
        reading.faults.some((fault) => said.test(fault.message)),
      ) && reading.faults.length === 2;
    const reading = await readUntil(source, reported);
    t.same(new Set(reading.faults.map((fault) => fault.vm)).size, 2);
    t.ok(reading.rows.every((row) => has(row, 'cpu_seconds') && !has(row, 'filesystem')));
    const back = await readUntil(source, ({ faults }) => faults.length === 0, 25);
    t.equal(back.rows.length, 2, 'they answer after the back-off');
  });

  await t.test('a frozen machine loses one round, then only its own disk and memory', async (t) => {
    lab.freeze('web1', 9);
    const startedMs = performance.now();
    t.match(await source.read(never), { rows: [], faults: [{ reason: 'TIMED_OUT' }] });
    t.ok(performance.now() - startedMs < 6_000, 'the deadline holds');
    const beside = await source.read(never);
    t.match(
      beside.faults.filter((fault) => fault.vm === web && /is not responding/.test(fault.message)),
      { length: 1 },
    );
    t.ok(has(rowOf(beside, 'db1'), 'disk_read_bytes'), 'the other VM is complete');
    t.notOk(has(rowOf(beside, 'web1'), 'disk'));
    t.notOk(has(rowOf(beside, 'web1'), 'memory'));
    await readUntil(source, (reading) => has(rowOf(reading, 'web1'), 'disk_read_bytes'));
  });

  await t.test('crashed and stopped machines are distinguished and have no counters', async (t) => {
    lab.crash('web1');
    await lab.virsh('destroy', 'db1');
    const reading = await readUntil(
      source,
      ({ rows }) => rows.every((row) => row.state !== 'RUNNING') && rows.length === 2,
    );
    t.match(rowOf(reading, 'web1'), { state: 'CRASHED', stateReason: 'crashed', values: [] });
    t.match(rowOf(reading, 'db1'), { state: 'STOPPED', stateReason: 'destroyed', values: [] });
  });

  await t.test('a restarted machine is the same VM with another run', async (t) => {
    await lab.start('web1');
    const row = rowOf(
      await readUntil(source, ({ rows }) => has(rows[0], 'cpu') || has(rows[1], 'cpu')),
      'web1',
    );
    t.equal(row?.vm, web);
    t.match(row, { state: 'RUNNING', vcpus: 2 });
    t.not(row?.bootId, firstRun);
  });
});
