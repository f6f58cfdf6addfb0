/**
 * Readings that a source leaves out, each with its cause. A refusal by libvirt, the kernel's files
 * or the guest's agent is distinguished from a reading that the guest does not give.
 */
import { test } from 'tap';
import { type ObservedRow, withAbsences } from '../../../actors/telemetry/collectors/collector.ts';
import {
  hasUnreadableDisk,
  hasUnreadableInterface,
} from '../../../actors/telemetry/collectors/host/devices.ts';
import { createHostSource } from '../../../actors/telemetry/collectors/host/host-source.ts';
import { parseMeminfo } from '../../../actors/telemetry/collectors/host/proc.ts';
import {
  type DomainObservation,
  domainRow,
} from '../../../actors/telemetry/collectors/libvirt/domain-row.ts';
import { createLibvirtSource } from '../../../actors/telemetry/collectors/libvirt/libvirt-source.ts';
import { parseGuestFileSystems } from '../../../actors/telemetry/collectors/libvirt/virsh-text.ts';
import { startCollector } from '../../../actors/telemetry/collectors/loop.ts';
import { createGuestSource } from '../../../src/vms/agent/agent.ts';
import { VirtualClock } from '../../../streams/platform/clock.ts';
import {
  ABSENCE_CAUSES,
  type Absence,
  causeHelp,
} from '../../../streams/telemetry/metrics/absence-causes.ts';

const NOW = 1_780_000_000;

/** A running domain whose memory is polled, changed by `fields`; undefined removes a field. */
function absencesOf(
  fields: Readonly<Record<string, string | undefined>>,
  { isFirst = false, ...seen }: Partial<DomainObservation> & { readonly isFirst?: boolean } = {},
): readonly Absence[] {
  const all = {
    'state.state': '1',
    'state.reason': '1',
    'vcpu.current': '1',
    'vcpu.maximum': '1',
    'vcpu.0.time': '5000',
    'balloon.current': '1024',
    'balloon.last-update': `${NOW}`,
    'balloon.available': '1000',
    'balloon.unused': '400',
    'block.count': '1',
    'block.0.name': 'vda',
    'block.0.rd.bytes': '1',
    'block.0.wr.bytes': '1',
    'block.0.rd.reqs': '1',
    'block.0.wr.reqs': '1',
    'net.count': '1',
    'net.0.name': 'vnet0',
    'net.0.rx.bytes': '1',
    'net.0.tx.bytes': '1',
    ...fields,
  };
  const kept = Object.entries(all).filter((entry): entry is [string, string] => {
    return entry[1] !== undefined;
  });
  const domain = { uuid: 'u', name: 'web', id: '7', fields: new Map(kept) };
  const before = isFirst ? {} : { lastBalloonUpdate: NOW - 30 };
  const when = { observedMs: NOW * 1_000, sequence: 1, ...before };
  return domainRow({ domain, ...when, balloonAgeMsMax: 30_000, ...seen }).absences ?? [];
}

const memory = (cause: string) => [{ reading: 'memory', cause }];

test('MEAS-11: each cause of missing guest memory has its own reason', async (t) => {
  const noFigures = { 'balloon.available': undefined, 'balloon.unused': undefined };
  t.same(absencesOf({}), [], 'fresh figures');
  t.same(absencesOf({ 'balloon.last-update': '0' }), memory('MEMORY_NOT_POLLED'));
  t.same(absencesOf({ 'balloon.last-update': '0', ...noFigures }), memory('MEMORY_NOT_POLLED'));
  t.same(absencesOf(noFigures), memory('NO_MEMORY_FIGURES'));
  t.same(absencesOf({ 'balloon.unused': undefined }), memory('NO_MEMORY_FIGURES'));
  t.same(absencesOf({ 'balloon.last-update': `${NOW + 40}` }), memory('CLOCKS_APART'), 'ahead');
  t.same(absencesOf({ 'balloon.last-update': `${NOW - 40}` }), memory('CLOCKS_APART'), 'behind');
  const stale = { 'balloon.last-update': `${NOW - 40}` };
  t.same(absencesOf(stale, { lastBalloonUpdate: NOW - 40 }), memory('NOT_REFRESHED'));
  t.same(absencesOf(stale, { isFirst: true }), memory('NOT_REFRESHED'), 'in the first round');
  const same = { lastBalloonUpdate: NOW };
  t.same(absencesOf({}, same), memory('NOT_REFRESHED'));
  t.same(absencesOf({ 'state.state': '3' }, same), memory('VM_PAUSED'));
  t.same(absencesOf({ 'balloon.last-update': undefined, ...noFigures }), memory('NO_BALLOON'));
  t.same(absencesOf({ 'balloon.last-update': 'soon' }), memory('UNREADABLE'));
  t.same(absencesOf({ 'balloon.unused': '1001' }), memory('IMPOSSIBLE'));
  t.same(absencesOf({ 'balloon.unused': 'much' }), memory('UNREADABLE'));
});

test('MEAS-11: CPU, disks, networks and a hypervisor that does not answer have reasons, too', async (t) => {
  const of = (reading: string, cause: string) => [{ reading, cause }];
  t.same(absencesOf({ 'vcpu.0.time': undefined }), of('cpu', 'VCPU_TIMES_INCOMPLETE'));
  t.same(absencesOf({ 'vcpu.current': '2' }), of('cpu', 'VCPU_TIMES_INCOMPLETE'));
  const bare = { 'net.0.rx.bytes': undefined, 'net.0.tx.bytes': undefined };
  t.same(absencesOf(bare), of('network', 'NO_COUNTERS'), 'user-mode networking');
  t.same(absencesOf({ 'net.0.rx.bytes': '-1' }), of('network', 'UNREADABLE'));
  t.same(absencesOf({ 'block.0.wr.reqs': undefined }), of('disk', 'UNREADABLE'), 'in part');
  const frozen = {
    'block.0.rd.bytes': undefined,
    'block.0.wr.bytes': undefined,
    'block.0.rd.reqs': undefined,
    'block.0.wr.reqs': undefined,
    'balloon.last-update': undefined,
  };
  t.same(absencesOf(frozen, { isSilent: true }), [
    { reading: 'memory', cause: 'HYPERVISOR_NOT_ANSWERING' },
    { reading: 'disk', cause: 'HYPERVISOR_NOT_ANSWERING' },
  ]);
  t.same(absencesOf({ 'state.state': '5' }), [], 'a VM that is off lacks nothing');
  const states = { uuid: 'u', name: 'web', id: '7', fields: new Map([['state.state', '1']]) };
  const when = { observedMs: 0, sequence: 1, balloonAgeMsMax: 30_000 };
  t.equal(
    domainRow({ domain: states, ...when }).absences,
    undefined,
    'the hypervisor knows only states',
  );
});

test('MEAS-11: file systems that a guest agent cannot report have reasons', async (t) => {
  const fs = (more: string) =>
    parseGuestFileSystems(`fs.count : 1\nfs.0.mountpoint : /\nfs.0.fstype : xfs\n${more}`)?.cause;
  t.equal(fs('fs.0.total-bytes : 10\nfs.0.used-bytes : 4'), undefined);
  t.equal(fs(''), 'NO_SIZES');
  t.equal(fs('fs.0.total-bytes : 10\nfs.0.used-bytes : 11'), 'IMPOSSIBLE');
});

test('MEAS-11: this host and an agent name the readings that they could not take', async (t) => {
  const clock = new VirtualClock(NOW * 1_000);
  const text: Readonly<Record<string, string>> = {
    '/proc/meminfo': 'MemTotal: 1 kB\nMemFree: 2 kB\nSwapTotal: 1 kB\nSwapFree: 2 kB\n',
    '/proc/diskstats': '8 0 sda 1 2\n',
    '/proc/net/dev': 'eth0: 1 2\n',
    '/proc/loadavg': '0.50 0 0\n',
  };
  const folders: Readonly<Record<string, readonly string[]>> = {
    '/sys/block': ['sda'],
    '/sys/class/net': ['eth0'],
    '/sys/class/net/eth0/device': [],
  };
  const files = {
    text: async (path: string) => text[path],
    names: async (folder: string) => folders[folder],
  };
  const never = AbortSignal.any([]);
  const host = createHostSource({ clock, vm: 'v', files });
  t.same((await host.read(never)).rows[0]?.absences, [
    { reading: 'cpu', cause: 'UNREADABLE' },
    { reading: 'memory', cause: 'IMPOSSIBLE' },
    { reading: 'disk', cause: 'UNREADABLE' },
    { reading: 'network', cause: 'UNREADABLE' },
    { reading: 'filesystem', cause: 'UNREADABLE' },
  ]);
  const agent = createGuestSource({ clock, vm: 'v', files });
  t.same((await agent.read(never)).rows[0]?.absences, [
    { reading: 'memory_available', cause: 'UNREADABLE' },
    { reading: 'swap', cause: 'IMPOSSIBLE' },
    { reading: 'processes', cause: 'UNREADABLE' },
  ]);
  t.same(parseMeminfo('MemTotal: 2 kB\nMemFree: 1 kB\n').absences, []);
  t.notOk(hasUnreadableDisk('8 0 sda 1 0 2 0 3 0 4\n8 1 sda1 x\n', ['sda']));
  t.notOk(hasUnreadableInterface('eth0: 1 0 0 0 0 0 0 0 2\nlo: 1\n', new Set(['eth0'])));
});

test('MEAS-11: the collector passes causes on with the rows of libvirt', async (t) => {
  const clock = new VirtualClock(NOW * 1_000);
  const list = '00000000-0000-4000-8000-000000000001 7 web\n';
  const fields = ['state.state=1', 'state.reason=1', 'balloon.current=9', 'balloon.last-update=0'];
  const stdout = `${list}Domain: 'web'\n${fields.map((field) => `  ${field}\n`).join('')}${list}`;
  const run = async () => {
    return { kind: 'exited', code: 0, stdout, stderr: '', gone: Promise.resolve() } as const;
  };
  const source = createLibvirtSource({ uri: 'test:///', clock, intervalMs: 30_000, run });
  const sent = Promise.withResolvers<readonly ObservedRow[]>();
  const sink = {
    observe: async (_project: string, rows: readonly ObservedRow[]) => sent.resolve(rows),
  };
  const collector = startCollector({
    project: 'demo',
    source,
    sink,
    clock,
    intervalMs: 30_000,
    onFault: () => {},
  });
  t.teardown(() => collector.stop());
  t.same((await sent.promise)[0]?.values, [
    ['svc_vm_reading_absent{cause="MEMORY_NOT_POLLED",reading="memory"}', 1],
    ['svc_vm_reading_absent{cause="NOT_ASKED",reading="filesystem"}', 1],
  ]);
});

test('an absence is sent as a sample of the row, and each cause names a next step', async (t) => {
  const absences: Absence[] = [{ reading: 'memory', cause: 'CLOCKS_APART' }];
  const about = { vm: 'v', displayName: '', observedMs: 0, bootId: '', sequence: 0 };
  const row = { ...about, state: 'RUNNING', stateReason: '', values: [], absences } as const;
  t.same(withAbsences(row).values, [
    ['svc_vm_reading_absent{cause="CLOCKS_APART",reading="memory"}', 1],
  ]);
  for (const cause of Object.keys(ABSENCE_CAUSES))
    t.match(causeHelp(cause), /^[A-Z].+\. [A-Z].+\.$/);
  t.equal(causeHelp('NO_SAMPLES'), '');
  t.equal(causeHelp('toString'), '');
});
