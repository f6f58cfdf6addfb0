/**
 * This host as a source: recorded text of the kernel, text that is broken in ways seen on real
 * machines, and the machine that runs the test.
 */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { test } from 'tap';
import type { ObservedRow } from '../../../actors/telemetry/collectors/collector.ts';
import { type RunCommand, runCommand } from '../../../actors/telemetry/collectors/command.ts';
import { parseDiskstats, parseNetDev } from '../../../actors/telemetry/collectors/host/devices.ts';
import {
  createFileSystemReader,
  parseMountinfo,
  parseStatLine,
} from '../../../actors/telemetry/collectors/host/file-systems.ts';
import {
  createHostSource,
  type HostFiles,
} from '../../../actors/telemetry/collectors/host/host-source.ts';
import {
  loadHostIdentity,
  parseMachineId,
} from '../../../actors/telemetry/collectors/host/identity.ts';
import {
  parseLoadavg,
  parseMeminfo,
  parseStat,
} from '../../../actors/telemetry/collectors/host/proc.ts';
import { systemClock, VirtualClock } from '../../../streams/platform/clock.ts';
import { seededRandom } from '../../../streams/platform/random.ts';
import { EXPANDED_SERIES } from '../../../streams/telemetry/metrics/catalogue.ts';
import { seriesKey } from '../../../streams/telemetry/samples/batch.ts';
import { withoutDescriptors } from '../../support/few-descriptors.ts';

const recording = (name: string): Promise<string> =>
  readFile(new URL(`recordings/host/${name}.txt`, import.meta.url), 'utf8');
const never = new AbortController().signal;
const valueIn = (row: ObservedRow | undefined, key: string): number | undefined =>
  row?.values.find(([name]) => name === key)?.[1];

test('a series key sorts its labels and escapes their values as Prometheus does', async (t) => {
  t.equal(seriesKey('up'), 'up');
  t.equal(
    seriesKey('a', { mountpoint: 'C:\\ "x"\ny', fstype: 'ntfs' }),
    'a{fstype="ntfs",mountpoint="C:\\\\ \\"x\\"\\ny"}',
  );
});

test('/proc/stat gives busy seconds without idle, iowait, steal or guest counted twice', async (t) => {
  t.same(parseStat(await recording('stat')), {
    busySeconds: 146.55,
    vcpus: 2,
    processesRunning: 1,
  });
  // user 100 includes guest 40, nice 10 includes guest_nice 5; idle, iowait, steal are not work.
  const stat = 'cpu  100 10 30 9000 800 7 3 600 40 5\ncpu0 1 1 1 1 1 1 1 1 1 1\n';
  t.same(parseStat(stat), { busySeconds: 1.5, vcpus: 1 });
});

test('an empty, short or broken /proc/stat gives no reading, not a zero', async (t) => {
  for (const text of ['', 'cpu', 'cpu  1 2 3', 'cpu  1 2 x 4 5 6 7 8', 'cpu  -1 2 3 4 5 6 7']) {
    t.same(parseStat(text), {}, JSON.stringify(text));
  }
});

test('MEAS-02: memory used is total minus free memory, page cache included', async (t) => {
  const { baseline, expanded } = parseMeminfo(await recording('meminfo'));
  const total = 24_684_092 * 1_024;
  const [free, available] = [24_408_772, 24_371_724];
  t.same(Object.fromEntries(baseline), {
    svc_vm_memory_total_bytes: total,
    svc_vm_memory_free_bytes: free * 1_024,
    svc_vm_memory_used_bytes: total - free * 1_024,
  });
  t.same(Object.fromEntries(expanded), {
    svc_vm_memory_available_bytes: available * 1_024,
    svc_vm_swap_used_bytes: 0,
  });
});

test('a missing line of /proc/meminfo leaves out the readings that depend on it', async (t) => {
  t.same(parseMeminfo('MemTotal: 100 kB\n').baseline, [['svc_vm_memory_total_bytes', 102_400]]);
  const { baseline, expanded } = parseMeminfo('MemTotal: lots kB\nSwapTotal: 5 kB\nSwapFree: kB');
  t.same({ baseline, expanded }, { baseline: [], expanded: [] });
  t.same(
    parseMeminfo('MemTotal: 1 kB\nMemFree: 2 kB').baseline.map(([key]) => key),
    ['svc_vm_memory_total_bytes', 'svc_vm_memory_free_bytes'],
    'more free than total: used is unknown',
  );
  t.equal(parseLoadavg('0.42 0.20 0.10 2/125 8003\n'), 0.42);
  t.equal(parseLoadavg('much'), undefined);
});

test('/proc/diskstats counts whole disks only, with sectors of 512 bytes', async (t) => {
  const whole = [
    'loop0',
    'ram0',
    'vda',
    'xvda1',
    'nvme0n1',
    'dm-0',
    'md127',
    'zram0',
    'sda',
    'sr0',
  ];
  const values = parseDiskstats(await recording('diskstats'), whole);
  t.same(
    [...new Set(values.map(([key]) => key.replace(/.*device="(.*)"}/, '$1')))],
    ['vda', 'xvda1', 'nvme0n1'],
  );
  t.same(values.slice(0, 4), [
    ['svc_vm_disk_read_bytes_total{device="vda"}', 4_433_906 * 512],
    ['svc_vm_disk_written_bytes_total{device="vda"}', 2_794_736 * 512],
    ['svc_vm_disk_reads_completed_total{device="vda"}', 52_303],
    ['svc_vm_disk_writes_completed_total{device="vda"}', 8_323],
  ]);
  t.same(parseDiskstats(await recording('diskstats'), []), [], 'no /sys/block: no disk is known');
});

test('/proc/net/dev counts network cards, or else interfaces that are not virtual', async (t) => {
  const text = await recording('net-dev');
  const names = (cards: string[]): string[] =>
    parseNetDev(text, new Set(cards)).map(([key]) => key.replace(/.*interface="(.*)"}/, '$1'));
  t.same(names(['eth0', 'eth1']), ['eth0', 'eth0', 'eth1', 'eth1']);
  t.same([...new Set(names([]))], ['eth0', 'eth1'], 'a short line gives nothing');
  t.same(parseNetDev(text, new Set(['eth0'])), [
    ['svc_vm_network_receive_bytes_total{interface="eth0"}', 404_033_877],
    ['svc_vm_network_transmit_bytes_total{interface="eth0"}', 919_546],
  ]);
});

test('counters before and after a wrap are returned as read, and finite', async (t) => {
  const before = parseNetDev(await recording('net-dev'), new Set(['eth1']));
  t.same(
    before.map(([, value]) => value),
    [2 ** 64, 2 ** 32 - 1],
  );
  const after = parseNetDev('eth1: 5 1 0 0 0 0 0 0 7 1 0 0 0 0 0 0', new Set(['eth1']));
  t.same(
    after.map(([, value]) => value),
    [5, 7],
    'a drop: readers of history see a reset',
  );
});

test('mounts are real file systems, each once, at its shortest path', async (t) => {
  t.same(parseMountinfo(await recording('mountinfo')), [
    { mountpoint: '/', fstype: 'ext4', remote: false },
    { mountpoint: '/srv/my data', fstype: 'xfs', remote: false },
    { mountpoint: '/pool', fstype: 'btrfs', remote: false },
    { mountpoint: '/backup', fstype: 'nfs4', remote: true },
    { mountpoint: '/tank', fstype: 'zfs', remote: false },
    { mountpoint: '/mnt/usb', fstype: 'fuseblk', remote: true },
  ]);
  t.same(parseMountinfo(''), []);
});

test('MEAS-14: folders of one NFS export, and subvolumes, are one file system', async (t) => {
  const mountinfo = [
    '1 0 0:50 /a /srv/a rw - nfs4 nas:/export/a rw',
    '2 0 0:50 /b /srv rw - nfs4 nas:/export/b rw',
    '3 0 0:61 / /other rw - nfs4 nas:/other rw',
    '4 0 0:35 /@home /home rw - btrfs /dev/vda2 rw',
    '5 0 0:35 /@ /mnt rw - btrfs /dev/vdb2 rw',
    '6 0 7:0 / /image rw - ext4 /dev/loop0 rw',
    '7 0 7:0 / /image/two rw - ext4 /dev/loop0 rw',
  ];
  t.same(
    parseMountinfo(mountinfo.join('\n')).map(({ mountpoint }) => mountpoint),
    ['/srv', '/other', '/mnt', '/image'],
  );
});

test('a file system’s usage is what ordinary programs see', async (t) => {
  t.same(parseStatLine('4096 1000 400 350 /srv/my data'), {
    path: '/srv/my data',
    sizeBytes: 950 * 4_096,
    usedBytes: 600 * 4_096,
  });
  for (const line of ['', '4096 1000 400 /', '4096 10 20 5 /', '4096 0 0 0 /run', 'x 1 1 1 /']) {
    t.equal(parseStatLine(line), undefined, JSON.stringify(line));
  }
});

test('a dead network mount loses only its own reading, and is not queried again', async (t) => {
  const requested: string[][] = [];
  const run: RunCommand = (command, clock) => {
    requested.push(command.args.slice(4));
    if (!command.args.includes('/backup')) return runCommand(command, clock);
    return runCommand({ ...command, file: 'sh', args: ['-c', 'trap "" TERM; sleep 30'] }, clock);
  };
  const mounts = [
    { mountpoint: '/', fstype: 'ext4', remote: false },
    { mountpoint: '/backup', fstype: 'nfs4', remote: true },
  ];
  const reader = createFileSystemReader({
    // A process that ignores signals: its end is never observed.
    run: async (command, clock) => {
      const outcome = await run(command, clock);
      return outcome.kind === 'killed' ? { ...outcome, gone: new Promise(() => {}) } : outcome;
    },
    clock: systemClock,
    // A real process queries the local one, and starts late on a busy machine.
    deadlineMs: 1_000,
  });
  for (const round of [1, 2]) {
    const { values, faults } = await reader.read(mounts, never);
    t.equal(values.length, 2, `the local file system is read in round ${round}`);
    t.match(faults, [{ reason: 'TIMED_OUT', message: /\/backup is not responding/ }]);
  }
  t.same(requested, [['/'], ['/backup'], ['/']]);
});

test('without a free descriptor a mount has a fault and is retried later', async (t) => {
  const { without, after } = await withoutDescriptors('stat');
  t.match(without, { values: 0, faults: [{ reason: 'INCOMPLETE', message: /EMFILE/ }] });
  t.same(after, { values: 2, faults: [] });
});

test('a mount whose process could not be started is retried', async (t) => {
  let rounds = 0;
  const reader = createFileSystemReader({
    run: async (command, clock) => {
      if (rounds++ === 0) throw new Error('no memory');
      return runCommand(command, clock);
    },
    clock: systemClock,
    deadlineMs: 10_000,
  });
  const mounts = [{ mountpoint: '/', fstype: 'ext4', remote: false }];
  await t.rejects(reader.read(mounts, never), { message: 'no memory' });
  t.match(await reader.read(mounts, never), { values: { length: 2 }, faults: [] });
});

test('a host without some of its files reports the rest, and names the missing ones', async (t) => {
  const clock = new VirtualClock(1_700_000_000_000);
  const texts: Record<string, string> = {
    '/proc/stat': await recording('stat'),
    '/proc/uptime': await recording('uptime'),
    '/proc/sys/kernel/random/boot_id': '681eb493-5954-4797-ac30-bfc491907bc4\n',
  };
  const files: HostFiles = {
    text: async (path) => texts[path],
    names: async () => undefined,
  };
  const source = createHostSource({ clock, vm: 'vm-1', files });
  const { rows, faults } = await source.read(never);
  t.match(rows, [
    {
      vm: 'vm-1',
      displayName: 'this host',
      observedMs: 1_700_000_000_000,
      bootId: '681eb493-5954-4797-ac30-bfc491907bc4',
      sequence: 1_439_230,
      vcpus: 2,
      state: 'RUNNING',
    },
  ]);
  t.same(rows[0]?.values, [['svc_vm_cpu_seconds_total', 146.55]]);
  t.match(faults, [{ reason: 'INCOMPLETE', message: /\/proc\/meminfo, .*\/sys\/block/ }]);

  const nothing = createHostSource({
    clock,
    vm: 'x',
    files: { ...files, text: async () => undefined },
  });
  t.match(await nothing.read(never), { rows: [], faults: [{ reason: 'SOURCE_MISSING' }] });
});

test('identity is a hash of the machine-id, or is generated once and kept', async (t) => {
  const folder = await mkdtemp(`${tmpdir()}/host-id-`);
  t.teardown(() => rm(folder, { recursive: true }));
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/;
  const id = parseMachineId('3d1219c7c4c5404aaa1f6d2a48adfda4\n');
  t.match(id, uuid);
  t.notMatch(id, '3d1219c7', 'the machine-id itself stays here');
  for (const bad of ['', 'uninitialized\n', 'zz', '0'.repeat(32)]) {
    t.equal(parseMachineId(bad), undefined, JSON.stringify(bad));
  }
  const machineIdFile = `${folder}/machine-id`;
  const options = { dataFolder: `${folder}/data`, machineIdFile };
  const made = await loadHostIdentity({ ...options, random: seededRandom(1) });
  t.match(made, uuid);
  await writeFile(machineIdFile, '');
  t.equal(await loadHostIdentity({ ...options, random: seededRandom(2) }), made, 'kept');
  t.equal((await stat(`${folder}/data/host-id`)).mode & 0o777, 0o600);
  await writeFile(machineIdFile, '3d1219c7c4c5404aaa1f6d2a48adfda4\n');
  t.equal(await loadHostIdentity({ ...options, random: seededRandom(3) }), id);
});

test('this machine has only baseline series with real values, and CPU rises under load', async (t) => {
  const source = createHostSource({ clock: systemClock, vm: 'this' });
  const first = await source.read(never);
  const started = process.threadCpuUsage();
  while (process.threadCpuUsage(started).user < 400_000) Math.hypot(started.user, 1);
  const second = await source.read(never);
  await source.close();
  t.same(first.faults, []);
  const [before, after] = [first.rows[0], second.rows[0]];
  const cpu = 'svc_vm_cpu_seconds_total';
  const risen = (valueIn(after, cpu) ?? 0) - (valueIn(before, cpu) ?? 0);
  t.ok(risen >= 0.3, `0.4 s of one busy CPU are observed: ${risen}`);
  t.ok((after?.sequence ?? 0) > (before?.sequence ?? 0));
  t.match(after?.bootId, /^[0-9a-f-]{36}$/);
  t.ok((after?.vcpus ?? 0) >= 1);
  const names = new Set(after?.values.map(([key]) => key.split('{')[0]));
  for (const name of ['memory_total_bytes', 'memory_used_bytes', 'memory_free_bytes']) {
    t.ok(names.has(`svc_vm_${name}`), name);
  }
  for (const name of EXPANDED_SERIES)
    t.notOk(names.has(name), `${name} requires expanded monitoring`);
  t.ok(after?.values.every(([, value]) => Number.isFinite(value) && value >= 0));
  const keys = after?.values.map(([key]) => key) ?? [];
  t.equal(new Set(keys).size, keys.length, 'each series once');
});
