/**
 * The libvirt source's counters on recorded text, with one test for each trap found on real
 * machines. The traps of guest agents are in guests.test.ts; real machines are in
 * test/long/telemetry/collectors/lab.test.ts.
 */
import { test } from 'tap';
import type { RunCommand } from '../../../actors/telemetry/collectors/command.ts';
import { probeLibvirt } from '../../../actors/telemetry/collectors/libvirt/virsh.ts';
import { parseStatistics } from '../../../actors/telemetry/collectors/libvirt/virsh-text.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import {
  type Answer,
  DB,
  names,
  never,
  RECORDED_MS,
  RUNNING_UPDATE,
  readOnce,
  recording,
  rowOf,
  settle,
  valuesOf,
  WEB,
  world,
} from './recorded-libvirt.ts';

test('running VMs give the baseline series, in the units of the catalogue', async (t) => {
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

test('SRC-02: a stopped VM has a state but no counters, as cpu.time is libvirtd’s', async (t) => {
  const text = recording('stopped-crashed');
  t.match(text, /state\.state=5\n.*\n {2}cpu\.time=\d+/, 'the recording contains the trap');
  const reading = await readOnce(text);
  t.same(reading.faults, []);
  const web = rowOf(reading, WEB);
  t.match(web, { state: 'CRASHED', stateReason: 'crashed', values: [], bootId: '' });
  t.match(rowOf(reading, DB), { state: 'STOPPED', stateReason: 'destroyed', values: [] });
  t.notOk('vcpus' in (web ?? {}), 'no vCPU is observed in a stopped VM');
});

test('SRC-04: a frozen QEMU costs all VMs one round, then only its own readings', async (t) => {
  let frozen = false;
  const { source, clock, requested } = world(async (command) => {
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
    t.match(beside.faults, [
      { reason: 'INCOMPLETE', vm: WEB, message: /"web1" is not responding/ },
    ]);
    const web = rowOf(beside, WEB);
    t.notOk(
      names(web).some((name) => /disk|memory/.test(name)),
      `absent, not zero: ${round}`,
    );
    t.ok(names(web).includes('cpu_seconds_total'), 'readings from the kernel are present');
    t.ok(names(rowOf(beside, DB)).includes('disk_read_bytes_total'), 'the other VM is complete');
  }
  frozen = false;
  t.same((await source.read(never)).faults, []);
  await source.read(never);
  t.match(requested.at(-1)?.args.at(-1), /domstats --raw;/, 'all answer: full queries again');
});

test('SRC-04: a block with missing keys is reported even if virsh returned in time', async (t) => {
  let text = recording('running');
  const { source } = world(() => ({ stdout: text }));
  await source.read(never);
  text = recording('hang-nowait');
  t.match((await source.read(never)).faults, [{ reason: 'INCOMPLETE', vm: WEB }]);
});

test('MEAS-02, SRC-05: memory figures count only after the guest has refreshed them', async (t) => {
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
  t.equal((await memory()).length, 3, 'reported again');
  await clock.advance(300_000);
  moveTo(RUNNING_UPDATE + 60);
  t.same(await memory(), [], 'refreshed, but minutes ago');
  moveTo(0);
  t.same(await memory(), [], 'never');
  const paused = [recording('paused'), recording('paused-later')];
  const updates = paused.map((each) => /last-update=(\d+)/.exec(each)?.[1]);
  t.equal(updates[0], updates[1], 'recorded: a paused VM does not update');
  moveTo(RUNNING_UPDATE + 321);
  text = text.replace(/balloon\.unused=\d+/g, 'balloon.unused=99999999');
  t.same(await memory(), [], 'more unused than total');
});

test('SRC-06: a paused VM is PAUSED although its vCPUs are running', async (t) => {
  const text = recording('paused');
  t.match(text, /state\.state=3[\s\S]*vcpu\.0\.state=1/);
  const reading = await readOnce(text);
  t.match(rowOf(reading, WEB), { state: 'PAUSED', stateReason: 'user', vcpus: 2 });
  t.match(rowOf(reading, DB), { state: 'RUNNING' });
});

test('SRC-07: user-mode networking has no series, not a zero', async (t) => {
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
});

test('names with quotes, spaces and a header inside are each one domain’s name', async (t) => {
  const reading = await readOnce(recording('odd'));
  t.equal(reading.rows.length, 3);
  const odd = reading.rows.find((row) => row.state === 'RUNNING');
  t.equal(odd?.displayName, `odd 'one' "two"; <$x> Domain: 'web1'`);
  t.equal(odd?.bootId, 'domain-3');
  t.match(rowOf(reading, WEB), { displayName: 'web1', state: 'CRASHED' });
});

test('SRC-08: a hypervisor that knows only states gives only states', async (t) => {
  const list = `${WEB} 1 test\n`;
  const stdout = `${list}\nDomain: 'test'\n  state.state=1\n  state.reason=0\n\n${list}`;
  const reading = await readOnce(stdout);
  t.match(reading, { faults: [], rows: [{ state: 'RUNNING', stateReason: '', values: [] }] });
  t.notOk('vcpus' in (reading.rows[0] ?? {}));
});

test('a name that moves to another VM during a read mixes no two VMs', async (t) => {
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
  t.same(parseStatistics(twice).domains, [], 'two blocks with one name belong to no VM');
});

test('one vCPU without its time gives no CPU seconds, because a part would look like a reset', async (t) => {
  const text = recording('running').replace(/ {2}vcpu\.1\.time=.*\n/, '');
  const reading = await readOnce(text);
  t.notOk(names(rowOf(reading, WEB)).includes('cpu_seconds_total'));
  t.ok(names(rowOf(reading, DB)).includes('cpu_seconds_total'));
});

test('a libvirt that is missing, down, forbidden or unreadable is reported with a remedy', async (t) => {
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
      { reason: 'SOURCE_FAILED', message: /Permission denied; see docs\/sources\.md/ },
    ],
    [
      { code: 1, stderr: 'error: Verbindungsaufbau zu »/x«: Keine Berechtigung\n' },
      { reason: 'SOURCE_FAILED', message: /Keine Berechtigung; see docs\/sources\.md/ },
    ],
    [
      { kind: 'failed', error: 'spawn EAGAIN' },
      { reason: 'SOURCE_FAILED', message: /EAGAIN/ },
    ],
    [
      { stdout: recording('running').replaceAll('Domain:', 'Dominio:') },
      { reason: 'UNREADABLE', message: /statistics of none/ },
    ],
  ];
  for (const [answer, fault] of cases) {
    const reading = await world(() => answer).source.read(never);
    t.same(reading.rows, []);
    t.match(reading.faults[0], fault);
  }
  t.same(
    await readOnce(''),
    { rows: [], faults: [], listed: new Set() },
    'no domains is not a fault',
  );
  const clock = new VirtualClock(0);
  const run: RunCommand = async () => ({
    kind: 'missing',
    stdout: '',
    stderr: '',
    gone: Promise.resolve(),
  });
  t.match(await probeLibvirt({ uri: 'x', clock, run }), { reason: 'SOURCE_MISSING' });
});
