/**
 * File systems as guest agents report them, and the cost of agents that are mute, off or absent, on
 * recorded text and a virtual clock.
 */
import { test } from 'tap';
import type { Reading } from '../../../actors/telemetry/collectors/collector.ts';
import { parseGuestFileSystems } from '../../../actors/telemetry/collectors/libvirt/virsh-text.ts';
import {
  DB,
  names,
  never,
  recording,
  rowOf,
  settle,
  valuesOf,
  WEB,
  world,
} from './recorded-libvirt.ts';

test('SRC-01: counters are read over a read-only connection, agents over another', async (t) => {
  const { source, requested, clock } = world(
    async (command) => ({
      stdout: recording(command.args.includes('-r') ? 'running' : 'guestinfo'),
    }),
    { fileSystems: true },
  );
  await source.read(never);
  await clock.advance(29_000);
  t.same(requested[0]?.args, [
    '-r',
    '-q',
    '-c',
    'qemu:///system',
    'list --all --id --uuid --name; domstats --raw; list --all --id --uuid --name',
  ]);
  t.same(requested[1]?.args.slice(0, -1), ['-q', '-c', 'qemu:///system'], 'not read-only');
  const reading = await source.read(never);
  t.match(valuesOf(rowOf(reading, WEB)), {
    'svc_vm_filesystem_size_bytes{fstype="ext4",mountpoint="/data"}': 56_040_448,
    'svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/data"}': 14_336,
  });
  await source.close();
  const {
    source: plain,
    requested: few,
    clock: later,
  } = world(async () => ({
    stdout: recording('running'),
  }));
  await plain.read(never);
  await later.advance(120_000);
  t.equal(few.length, 1, 'agents are queried only if this is enabled');
  const refused = world(() => ({
    code: 1,
    stderr: 'error: operation forbidden: read only access prevents virDomainGetGuestInfo\n',
  }));
  t.match((await refused.source.read(never)).faults, [{ reason: 'SOURCE_FAILED' }]);
});

test('SRC-03: a mute agent returns no text, backs off and delays no other agent', async (t) => {
  const requestedAt: Record<string, number[]> = { [WEB]: [], [DB]: [] };
  const { source, clock } = world(
    async (command) => {
      const script = command.args.at(-1) ?? '';
      if (command.args.includes('-r')) return { stdout: recording('running') };
      const vm = script.includes(WEB) ? WEB : DB;
      requestedAt[vm]?.push(clock.elapsed());
      t.equal(
        script,
        `guest-agent-timeout ${vm} --timeout 3; guestinfo ${vm} --filesystem`,
        'libvirt itself gets a timeout',
      );
      return vm === DB ? { stdout: recording('guestinfo') } : { afterMs: 3_000 };
    },
    { fileSystems: true },
  );
  let last: Reading | undefined;
  for (let round = 0; round < 21; round++) {
    last = await source.read(never);
    if (round > 0) t.ok(names(rowOf(last, DB)).includes('filesystem_used_bytes'), `${round}`);
    await clock.advance(30_000);
  }
  t.equal(requestedAt[DB]?.length, 21, 'each interval');
  const gaps = requestedAt[WEB]?.map((at, i, all) =>
    Math.round((at - (all[i - 1] ?? at)) / 30_000),
  );
  t.same(gaps, [0, 2, 4, 8], 'rounds between two queries of the mute agent');
  t.notOk(names(last && rowOf(last, WEB)).includes('filesystem_used_bytes'));
  t.match(last?.faults, [{ reason: 'INCOMPLETE', vm: WEB, message: /did not respond/ }]);
  await source.close();
});

test('SRC-03: mute agents share a separate queue, with one request per VM at a time', async (t) => {
  const uuid = (i: number): string => `00000000-0000-4000-8000-0000000000${10 + i}`;
  const list = Array.from({ length: 30 }, (_, i) => `${uuid(i)} ${i + 1} vm${i}\n`).join('');
  const block = (i: number): string => `Domain: 'vm${i}'\n  state.state=1\n  state.reason=1\n\n`;
  const stdout = `${list}\n${Array.from({ length: 30 }, (_, i) => block(i)).join('')}${list}`;
  const asking = new Map<string, number>();
  let most = 0;
  const { source, clock } = world(
    async (command) => {
      if (command.args.includes('-r')) return { stdout };
      const [vm = ''] = /[0-9a-f-]{36}/.exec(command.args.at(-1) ?? '') ?? [];
      t.notOk(asking.has(vm));
      asking.set(vm, 1);
      most = Math.max(most, asking.size);
      const mute = vm < uuid(20);
      const afterMs = mute ? 3_000 : 100;
      clock.wakeAfter(afterMs, () => asking.delete(vm));
      return { afterMs, ...(!mute && { stdout: recording('guestinfo') }) };
    },
    { fileSystems: true },
  );
  for (let round = 0; round < 8; round++) {
    const { rows } = await source.read(never);
    const answered = rows.filter((row) => row.values.length > 0).length;
    // Until each has been queried once, the mute ones are unknown.
    if (round > 1) t.equal(answered, 10, `all responsive agents are fresh in round ${round}`);
    await clock.advance(30_000);
  }
  t.ok(most <= 10, `at most 8 + 2 at once: ${most}`);
  await source.close();
});

test('SRC-06: an agent is reported if it is off, not configured or in a stopped VM', async (t) => {
  for (const said of [
    'Guest agent is not responding: QEMU guest agent is not connected',
    'argument unsupported: QEMU guest agent is not configured',
    'Requested operation is not valid: domain is not running',
  ]) {
    const { source, clock } = world(
      async (command) =>
        command.args.includes('-r')
          ? { stdout: recording('running') }
          : { code: 1, stderr: `error: ${said}\n` },
      { fileSystems: true },
    );
    await source.read(never);
    await clock.advance(30_000);
    const { faults, rows } = await source.read(never);
    t.equal(rows.length, 2);
    t.match(faults[0]?.message, said);
    await source.close();
  }
});

test('a virsh that could not be started for an agent is a fault, and is retried', async (t) => {
  let questions = 0;
  const { source, clock } = world(
    async (command) => {
      if (command.args.includes('-r')) return { stdout: recording('running') };
      // The first call for each VM.
      if (questions++ < 2) throw new Error('no memory');
      return { stdout: recording('guestinfo') };
    },
    { fileSystems: true },
  );
  await source.read(never);
  await clock.advance(30_000);
  t.match((await source.read(never)).faults, [
    { reason: 'INCOMPLETE', message: /no memory/, vm: WEB },
    { reason: 'INCOMPLETE', message: /no memory/, vm: DB },
  ]);
  for (let round = 0; round < 2; round++) {
    await clock.advance(30_000);
    await source.read(never);
  }
  const { faults, rows } = await source.read(never);
  t.equal(questions, 4);
  t.same([faults, rows.length], [[], 2]);
  await source.close();
});

test('SRC-07, SRC-09: commands name no domain, and none taints or changes one', async (t) => {
  const { source, requested, clock } = world(
    async (command) => ({
      stdout: recording(command.args.includes('-r') ? 'odd' : 'guestinfo'),
    }),
    { fileSystems: true },
  );
  for (let round = 0; round < 3; round++) {
    await source.read(never);
    await clock.advance(30_000);
  }
  await source.close();
  const verbs = new Set(
    requested.flatMap((command) =>
      (command.args.at(-1) ?? '').split('; ').map((each) => each.replaceAll(/[0-9a-f-]{36}/g, 'U')),
    ),
  );
  t.same([...verbs].toSorted(), [
    'domstats --raw',
    'guest-agent-timeout U --timeout 3',
    'guestinfo U --filesystem',
    'list --all --id --uuid --name',
  ]);
});

test('readings of an agent are used once, and not after an interval', async (t) => {
  let answers = true;
  const { source, clock } = world(
    async (command) => {
      if (command.args.includes('-r')) return { stdout: recording('running') };
      return answers ? { stdout: recording('guestinfo') } : { afterMs: 90_000 };
    },
    { fileSystems: true },
  );
  const fresh = async (): Promise<number> => {
    const { rows } = await source.read(never);
    await settle();
    return rows.filter((row) => names(row).includes('filesystem_size_bytes')).length;
  };
  t.equal(await fresh(), 0);
  await clock.advance(29_000);
  t.equal(await fresh(), 2);
  t.equal(await fresh(), 0, 'not reused');
  answers = true;
  await clock.advance(60_000);
  answers = false;
  await clock.advance(70_000);
  t.equal(await fresh(), 0, 'no round fetched it in time');
  await source.close();
});

test('guest file systems that lack size or use, are always full or are hidden are not listed', async (t) => {
  const fields = (i: number, fs: Record<string, string | number>): string =>
    Object.entries(fs)
      .map(([key, value]) => `fs.${i}.${key.padEnd(15)}: ${value}\n`)
      .join('');
  const text = [
    'fs.count            : 5\n',
    fields(0, { mountpoint: '/', fstype: 'xfs', 'total-bytes': 10, 'used-bytes': 4 }),
    fields(1, { mountpoint: '/snap/x', fstype: 'squashfs', 'total-bytes': 9, 'used-bytes': 9 }),
    fields(2, { mountpoint: '/old-agent', fstype: 'ext4' }),
    fields(3, { mountpoint: '/nonsense', fstype: 'ext4', 'total-bytes': 5, 'used-bytes': 6 }),
    fields(4, { mountpoint: 'C:\\', fstype: 'NTFS', 'total-bytes': 20, 'used-bytes': 0 }),
  ].join('');
  const fileSystems = [
    { mountpoint: '/', fstype: 'xfs', sizeBytes: 10, usedBytes: 4 },
    { mountpoint: 'C:\\', fstype: 'NTFS', sizeBytes: 20, usedBytes: 0 },
  ];
  t.match(parseGuestFileSystems(text), { fileSystems });
  t.equal(parseGuestFileSystems(text)?.fileSystems.length, 2);
  t.same(parseGuestFileSystems('fs.count            : 0\n'), { fileSystems: [] });
  t.equal(parseGuestFileSystems('\n'), undefined);
});

/**
 * Output of virsh: name, mount point, type, size, use, and the device of the disk if there is one.
 */
function guestInfo(
  ...listed: readonly (readonly [
    name: string,
    mountpoint: string,
    fstype: string,
    size: number,
    used: number,
    device?: string,
  ])[]
): string {
  const lines = listed.flatMap(([name, mountpoint, fstype, size, used, device], i) => [
    ...(name === '' ? [] : [`fs.${i}.name           : ${name}`]),
    `fs.${i}.mountpoint     : ${mountpoint}`,
    `fs.${i}.fstype         : ${fstype}`,
    `fs.${i}.total-bytes    : ${size}`,
    `fs.${i}.used-bytes     : ${used}`,
    ...(device === undefined
      ? []
      : [`fs.${i}.disk.count     : 1`, `fs.${i}.disk.0.device  : ${device}`]),
  ]);
  return [`fs.count            : ${listed.length}`, ...lines].join('\n');
}

const mountsOf = (text: string) =>
  parseGuestFileSystems(text)?.fileSystems.map(({ mountpoint }) => mountpoint);

test('MEAS-14: one file system of a guest is one series, wherever it is mounted', async (t) => {
  const cases = [
    {
      name: 'bind mounts of folders and files, as containers use them',
      text: guestInfo(
        ['vda1', '/etc/hostname', 'ext4', 100_000, 97_000],
        ['vda1', '/', 'ext4', 100_000, 97_000],
        ['vda1', '/var/lib/kubelet/pods/a/volumes/x', 'ext4', 100_000, 97_001],
        ['vda1', '/var/lib/docker/volumes/v/_data', 'ext4', 100_000, 97_000],
      ),
      mounts: ['/'],
    },
    {
      name: 'subvolumes of btrfs, and ties decided by name',
      text: guestInfo(
        ['vda2', '/srv', 'btrfs', 100_000, 97_000],
        ['vda2', '/opt', 'btrfs', 100_000, 97_000],
      ),
      mounts: ['/opt'],
    },
    {
      name: 'a volume of Windows with two paths',
      text: guestInfo(
        ['\\\\?\\Volume{1}\\', 'D:\\mount\\', 'NTFS', 100_000, 97_000],
        ['\\\\?\\Volume{1}\\', 'C:\\', 'NTFS', 100_000, 97_000],
      ),
      mounts: ['C:\\'],
    },
    {
      name: 'an agent that does not name the file system, only its disk',
      text: guestInfo(
        ['', '/', 'ext4', 100_000, 97_000, '/dev/vda1'],
        ['', '/a', 'ext4', 100_000, 97_000, '/dev/vda1'],
        ['', '/b', 'ext4', 100_000, 97_000, '/dev/vda2'],
      ),
      mounts: ['/', '/b'],
    },
    {
      name: 'different devices of the same size, and image files on loop devices',
      text: guestInfo(
        ['vda1', '/', 'ext4', 100_000, 97_000],
        ['vdb1', '/data', 'ext4', 100_000, 97_000],
        ['loop0', '/image', 'ext4', 100_000, 97_000],
        ['loop0', '/image/again', 'ext4', 100_000, 97_000],
      ),
      mounts: ['/', '/data', '/image'],
    },
    {
      name: 'a project quota, which fills up independently',
      text: guestInfo(
        ['vda1', '/', 'xfs', 100_000, 97_000],
        ['vda1', '/var/lib/docker/volumes/q', 'xfs', 5_000, 4_900],
      ),
      mounts: ['/', '/var/lib/docker/volumes/q'],
    },
    {
      name: 'neither a name nor a disk: nothing shows that two are the same',
      text: guestInfo(['', '/', 'ext4', 100_000, 97_000], ['', '/a', 'ext4', 100_000, 97_000]),
      mounts: ['/', '/a'],
    },
  ];
  for (const { name, text, mounts } of cases) t.same(mountsOf(text), mounts, name);
});
