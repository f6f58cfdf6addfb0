/**
 * The libvirt source against text recorded from real machines (libvirt 9.0, QEMU 7.2), one test
 * for each trap met there. virsh is the port: what it would print, and when, is given; the same
 * traps on the real thing are in collectors-lab.test.ts.
 */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import type { ObservedRow, Reading, Source } from '../../actors/collectors/collector.ts';
import type { Command, CommandOutcome, RunCommand } from '../../actors/collectors/command.ts';
import { probeLibvirt } from '../../actors/collectors/libvirt/virsh.ts';
import {
  parseGuestFileSystems,
  parseStatistics,
} from '../../actors/collectors/libvirt/virsh-text.ts';
import {
  createLibvirtSource,
  type LibvirtSourceOptions,
} from '../../actors/collectors/libvirt-source.ts';
import { VirtualClock } from '../../streams/clock.ts';

/** Read ahead: on a virtual clock a read in the middle of an answer would take no time at all. */
const texts = new Map(
  await Promise.all(
    ['running', 'paused', 'paused-later', 'hang-nowait', 'stopped-crashed', 'odd', 'guestinfo'].map(
      async (name) => {
        const file = new URL(`collectors/recordings/libvirt/${name}.txt`, import.meta.url);
        return [name, await readFile(file, 'utf8')] as const;
      },
    ),
  ),
);
const recording = (name: string): string => texts.get(name) ?? '';
const never = new AbortController().signal;
const WEB = 'a2e91e4a-be58-4981-b274-2c2f975194b0';
const DB = '397f0cd5-70e3-43e3-88cb-ae5007c03448';
/** web1's last balloon update in `running`, Unix seconds; it was recorded a moment later. */
const RUNNING_UPDATE = 1_795_253_305;
const RECORDED_MS = RUNNING_UPDATE * 1_000 + 1_000;

type Answer = Partial<CommandOutcome> & { readonly afterMs?: number };

/** A source whose virsh gives these answers, one a call, and keeps what it was asked. */
function world(
  answer: (command: Command, call: number) => Answer | Promise<Answer>,
  options: Partial<LibvirtSourceOptions> = {},
): { source: Source; clock: VirtualClock; asked: Command[] } {
  const clock = new VirtualClock(RECORDED_MS);
  const asked: Command[] = [];
  const run: RunCommand = async (command) => {
    asked.push(command);
    const { afterMs = 0, ...given } = await answer(command, asked.length - 1);
    const late = afterMs >= command.deadlineMs;
    const passed = Math.min(afterMs, command.deadlineMs);
    if (passed > 0) {
      await new Promise<void>((resolve) => {
        clock.wakeAfter(passed, resolve);
        command.signal?.addEventListener('abort', () => resolve());
      });
    }
    const base = { stdout: '', stderr: '', gone: Promise.resolve() };
    if (late) return { ...base, kind: 'killed', because: 'deadline' };
    return { ...base, kind: 'exited', code: 0, ...given } as CommandOutcome;
  };
  const source = createLibvirtSource({
    uri: 'qemu:///system',
    clock,
    intervalMs: 30_000,
    run,
    ...options,
  });
  return { source, clock, asked };
}

/** One reading of a recording by a source that has seen nothing before. */
async function readOnce(stdout: string): Promise<Reading> {
  return world(() => ({ stdout })).source.read(never);
}

const rowOf = (reading: Reading, vm: string): ObservedRow | undefined =>
  reading.rows.find((row) => row.vm === vm);
const names = (row: ObservedRow | undefined): string[] => [
  ...new Set((row?.values ?? []).map(([key]) => key.replace(/^svc_vm_/, '').replace(/{.*/, ''))),
];
const valuesOf = (row: ObservedRow | undefined): Record<string, number> =>
  Object.fromEntries(row?.values ?? []);
const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

t.test('running VMs give the baseline series, in the units of the catalogue', async (t) => {
  const reading = await readOnce(recording('running'));
  t.same(reading.faults, []);
  t.same(reading.rows.map((row) => row.vm).toSorted(), [DB, WEB].toSorted());
  const row = rowOf(reading, WEB);
  t.match(row, {
    displayName: 'web1',
    observedMs: RECORDED_MS,
    bootId: 'domain-1',
    vcpus: 2,
    state: 'RUNNING',
    stateReason: 'booted',
  });
  t.same(valuesOf(row), {
    svc_vm_cpu_seconds_total: 4.29,
    svc_vm_memory_total_bytes: 93_536 * 1_024,
    svc_vm_memory_free_bytes: 58_060 * 1_024,
    svc_vm_memory_used_bytes: (93_536 - 58_060) * 1_024,
    'svc_vm_disk_read_bytes_total{device="vda"}': 13_824,
    'svc_vm_disk_written_bytes_total{device="vda"}': 1_024,
    'svc_vm_disk_reads_completed_total{device="vda"}': 11,
    'svc_vm_disk_writes_completed_total{device="vda"}': 1,
    'svc_vm_network_receive_bytes_total{interface="vnet0"}': 2_512,
    'svc_vm_network_transmit_bytes_total{interface="vnet0"}': 936,
  });
});

t.test('trap 1: counters are read over a read-only connection, agents over another', async (t) => {
  const { source, asked, clock } = world(
    async (command) => ({
      stdout: recording(command.args.includes('-r') ? 'running' : 'guestinfo'),
    }),
    { fileSystems: true },
  );
  await source.read(never);
  await clock.advance(29_000);
  t.same(asked[0]?.args, [
    '-r',
    '-q',
    '-c',
    'qemu:///system',
    'list --all --id --uuid --name; domstats --raw; list --all --id --uuid --name',
  ]);
  t.same(asked[1]?.args.slice(0, -1), ['-q', '-c', 'qemu:///system'], 'not read-only');
  const reading = await source.read(never);
  t.match(valuesOf(rowOf(reading, WEB)), {
    'svc_vm_filesystem_size_bytes{fstype="ext4",mountpoint="/data"}': 56_040_448,
    'svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/data"}': 14_336,
  });
  await source.close();
  const {
    source: plain,
    asked: few,
    clock: later,
  } = world(async () => ({
    stdout: recording('running'),
  }));
  await plain.read(never);
  await later.advance(120_000);
  t.equal(few.length, 1, 'agents are asked only where that is wanted');
  const refused = world(() => ({
    code: 1,
    stderr: 'error: operation forbidden: read only access prevents virDomainGetGuestInfo\n',
  }));
  t.match((await refused.source.read(never)).faults, [{ reason: 'ACCESS_DENIED' }]);
});

t.test(
  'trap 2: a VM that is off has a state and no counters: cpu.time is libvirtd’s',
  async (t) => {
    const text = recording('stopped-crashed');
    t.match(text, /state\.state=5\n.*\n {2}cpu\.time=\d+/, 'the recording shows the trap');
    const reading = await readOnce(text);
    t.same(reading.faults, []);
    const web = rowOf(reading, WEB);
    t.match(web, { state: 'CRASHED', stateReason: 'crashed', values: [], bootId: '' });
    t.match(rowOf(reading, DB), { state: 'STOPPED', stateReason: 'destroyed', values: [] });
    t.notOk('vcpus' in (web ?? {}), 'no vCPU is observed where none runs');
  },
);

t.test('trap 3: a mute agent is success with no text, backs off, delays nobody else', async (t) => {
  const askedAt: Record<string, number[]> = { [WEB]: [], [DB]: [] };
  const { source, clock } = world(
    async (command) => {
      const script = command.args.at(-1) ?? '';
      if (command.args.includes('-r')) return { stdout: recording('running') };
      const vm = script.includes(WEB) ? WEB : DB;
      askedAt[vm]?.push(clock.elapsed());
      t.equal(
        script,
        `guest-agent-timeout ${vm} --timeout 3; guestinfo ${vm} --filesystem`,
        'libvirt itself is told not to wait for ever',
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
  t.equal(askedAt[DB]?.length, 21, 'each interval');
  const gaps = askedAt[WEB]?.map((at, i, all) => Math.round((at - (all[i - 1] ?? at)) / 30_000));
  t.same(gaps, [0, 2, 4, 8], 'rounds between two questions to the mute one');
  t.notOk(names(last && rowOf(last, WEB)).includes('filesystem_used_bytes'));
  t.match(last?.faults, [{ reason: 'INCOMPLETE', vm: WEB, message: /said nothing/ }]);
  await source.close();
});

t.test(
  'trap 3: many mute agents fill a lane of their own; one VM is asked once a time',
  async (t) => {
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
        void clock.wakeAfter(3_000, () => asking.delete(vm));
        const mute = vm > uuid(9);
        return { afterMs: 3_000, ...(!mute && { stdout: recording('guestinfo') }) };
      },
      { fileSystems: true },
    );
    let answered = 0;
    for (let round = 0; round < 8; round++) {
      const { rows } = await source.read(never);
      answered = rows.filter((row) => row.values.length > 0).length;
      await clock.advance(30_000);
    }
    t.equal(answered, 10, 'all ten that answer have fresh readings although twenty are mute');
    t.ok(most <= 10, `at most 8 + 2 at once: ${most}`);
    await source.close();
  },
);

t.test('trap 4: a frozen QEMU costs all VMs one round, then only its own readings', async (t) => {
  let frozen = false;
  const { source, clock, asked } = world(async (command) => {
    if (!frozen) return { stdout: recording('running') };
    const nowait = command.args.at(-1)?.includes('domstats --raw --nowait');
    return nowait ? { stdout: recording('hang-nowait') } : { afterMs: 24_000 };
  });
  t.equal((await source.read(never)).rows.length, 2);
  frozen = true;
  const reading = source.read(never);
  await settle();
  await clock.advance(10_000);
  t.match(await reading, { rows: [], faults: [{ reason: 'TIMED_OUT' }] });

  for (const round of [1, 2]) {
    const beside = await source.read(never);
    t.match(beside.faults, [{ reason: 'INCOMPLETE', vm: WEB, message: /"web1" does not answer/ }]);
    const web = rowOf(beside, WEB);
    t.notOk(
      names(web).some((name) => /disk|memory/.test(name)),
      `absent, not zero: ${round}`,
    );
    t.ok(names(web).includes('cpu_seconds_total'), 'what the kernel knows is there');
    t.ok(names(rowOf(beside, DB)).includes('disk_read_bytes_total'), 'the other VM is complete');
  }
  frozen = false;
  t.same((await source.read(never)).faults, []);
  await source.read(never);
  t.match(asked.at(-1)?.args.at(-1), /domstats --raw;/, 'all answer: full questions again');
});

t.test('trap 4: a block with fewer keys is told although virsh came back in time', async (t) => {
  let text = recording('running');
  const { source } = world(() => ({ stdout: text }));
  await source.read(never);
  text = recording('hang-nowait');
  t.match((await source.read(never)).faults, [{ reason: 'INCOMPLETE', vm: WEB }]);
});

t.test('trap 5: memory figures count only when the guest has told them anew', async (t) => {
  let text = recording('running');
  const { source, clock } = world(() => ({ stdout: text }));
  const memory = async (): Promise<string[]> => {
    const row = rowOf(await source.read(never), WEB);
    return names(row).filter((name) => name.startsWith('memory'));
  };
  t.same(await memory(), ['memory_total_bytes', 'memory_free_bytes', 'memory_used_bytes']);
  await clock.advance(10_000);
  t.same(await memory(), [], 'the same update again: frozen numbers');
  const moveTo = (seconds: number): void => {
    text = text.replace(/last-update=\d+/g, `last-update=${seconds}`);
  };
  await clock.advance(10_000);
  moveTo(RUNNING_UPDATE + 20);
  t.equal((await memory()).length, 3, 'told anew');
  await clock.advance(300_000);
  moveTo(RUNNING_UPDATE + 60);
  t.same(await memory(), [], 'anew, but minutes ago');
  moveTo(0);
  t.same(await memory(), [], 'never');
  const paused = [recording('paused'), recording('paused-later')];
  const updates = paused.map((each) => /last-update=(\d+)/.exec(each)?.[1]);
  t.equal(updates[0], updates[1], 'recorded: in a paused VM the update stands still');
  moveTo(RUNNING_UPDATE + 321);
  text = text.replace(/balloon\.unused=\d+/g, 'balloon.unused=99999999');
  t.same(await memory(), [], 'more unused than there is');
});

t.test('trap 6: a paused VM is PAUSED by its state, though its vCPUs say running', async (t) => {
  const text = recording('paused');
  t.match(text, /state\.state=3[\s\S]*vcpu\.0\.state=1/);
  const reading = await readOnce(text);
  t.match(rowOf(reading, WEB), { state: 'PAUSED', stateReason: 'user', vcpus: 2 });
  t.match(rowOf(reading, DB), { state: 'RUNNING' });
});

t.test('trap 6: agents that are off, not configured or of a stopped VM are told', async (t) => {
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

t.test(
  'trap 7: user-mode networking has a count and no counters: no series, no zero',
  async (t) => {
    const reading = await readOnce(recording('odd'));
    const odd = reading.rows.find((row) => row.state === 'RUNNING');
    t.same(names(odd), [
      'cpu_seconds_total',
      'disk_read_bytes_total',
      'disk_written_bytes_total',
      'disk_reads_completed_total',
      'disk_writes_completed_total',
    ]);
    t.equal(odd?.vcpus, 1, 'one of two possible vCPUs is plugged in');
  },
);

t.test('names with quotes, blanks and a header inside are one domain’s name', async (t) => {
  const reading = await readOnce(recording('odd'));
  t.equal(reading.rows.length, 3);
  const odd = reading.rows.find((row) => row.state === 'RUNNING');
  t.equal(odd?.displayName, `odd 'one' "two"; <$x> Domain: 'web1'`);
  t.equal(odd?.bootId, 'domain-3');
  t.match(rowOf(reading, WEB), { displayName: 'web1', state: 'CRASHED' });
});

t.test('trap 8: a hypervisor that knows states only gives states only', async (t) => {
  const list = `${WEB} 1 test\n`;
  const stdout = `${list}\nDomain: 'test'\n  state.state=1\n  state.reason=0\n\n${list}`;
  const reading = await readOnce(stdout);
  t.match(reading, { faults: [], rows: [{ state: 'RUNNING', stateReason: '', values: [] }] });
  t.notOk('vcpus' in (reading.rows[0] ?? {}));
});

t.test('traps 7 and 9: no domain is asked by name, no command taints or changes one', async (t) => {
  const { source, asked, clock } = world(
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
    asked.flatMap((command) =>
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

t.test('a name that changes hands between the parts mixes no two VMs', async (t) => {
  const text = recording('running');
  const [first = '', ...rest] = text.split(/(?<=web1\n)/);
  const swapped = first.replace(WEB, '00000000-0000-4000-8000-000000000001') + rest.join('');
  t.match(parseStatistics(swapped), { changed: ['web1'], domains: [{ uuid: DB }] });
  const restarted = text.replace(`${WEB} 1 `, `${WEB} 7 `);
  const reading = await readOnce(restarted);
  t.same(
    reading.rows.map((row) => row.vm),
    [DB],
  );
  t.match(reading.faults, [{ reason: 'INCOMPLETE', message: /"web1" started, stopped/ }]);
  const twice = text.replaceAll("'db1'", "'web1'");
  t.same(parseStatistics(twice).domains, [], 'two blocks of one name are nobody’s');
});

t.test(
  'one vCPU without its time gives no CPU seconds: a part would look like a reset',
  async (t) => {
    const text = recording('running').replace(/ {2}vcpu\.1\.time=.*\n/, '');
    const reading = await readOnce(text);
    t.notOk(names(rowOf(reading, WEB)).includes('cpu_seconds_total'));
    t.ok(names(rowOf(reading, DB)).includes('cpu_seconds_total'));
  },
);

t.test(
  'libvirt that is missing, down, closed to us or incomprehensible says what to do',
  async (t) => {
    const cases: [Answer, { reason: string; message: RegExp }][] = [
      [{ kind: 'missing' }, { reason: 'SOURCE_MISSING', message: /install libvirt-clients/ }],
      [
        { code: 1, stderr: 'error: failed to connect to the hypervisor\nerror: No such file\n' },
        {
          reason: 'SOURCE_FAILED',
          message: /qemu:\/\/\/system: failed to connect.*: No such file/,
        },
      ],
      [
        { code: 1, stderr: "error: Failed to connect socket to '/x': Permission denied\n" },
        { reason: 'ACCESS_DENIED', message: /docs\/sources\.md/ },
      ],
      [
        { kind: 'failed', error: 'spawn EAGAIN' },
        { reason: 'SOURCE_FAILED', message: /EAGAIN/ },
      ],
      [
        { stdout: recording('running').replaceAll('Domain:', 'Dominio:') },
        { reason: 'UNREADABLE', message: /no statistics/ },
      ],
    ];
    for (const [answer, fault] of cases) {
      const reading = await world(() => answer).source.read(never);
      t.same(reading.rows, []);
      t.match(reading.faults[0], fault);
    }
    t.same(await readOnce(''), { rows: [], faults: [] }, 'no domains is no fault');
    const clock = new VirtualClock(0);
    const run: RunCommand = async () => ({
      kind: 'missing',
      stdout: '',
      stderr: '',
      gone: Promise.resolve(),
    });
    t.match(await probeLibvirt({ uri: 'x', clock, run }), { reason: 'SOURCE_MISSING' });
  },
);

t.test('readings of an agent are given once, and not after an interval', async (t) => {
  let rounds = 0;
  const { source, clock } = world(
    async (command) => {
      if (command.args.includes('-r')) return { stdout: recording('running') };
      return rounds++ === 0 ? { stdout: recording('guestinfo') } : { afterMs: 90_000 };
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
  t.equal(await fresh(), 1, 'the one VM whose agent answered');
  t.equal(await fresh(), 0, 'not again');
  await source.close();
});

t.test(
  'guest file systems without size or use, full by nature or hidden are not listed',
  async (t) => {
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
    t.same(parseGuestFileSystems(text), [
      { mountpoint: '/', fstype: 'xfs', sizeBytes: 10, usedBytes: 4 },
      { mountpoint: 'C:\\', fstype: 'NTFS', sizeBytes: 20, usedBytes: 0 },
    ]);
    t.same(parseGuestFileSystems('fs.count            : 0\n'), []);
    t.equal(parseGuestFileSystems('\n'), undefined);
  },
);
