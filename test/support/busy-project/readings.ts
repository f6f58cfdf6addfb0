/**
 * The readings of the VMs of a busy project: an hour, every 30 s, up to now. Most are calm.
 * Some breach, recover, stop reporting, miss a quarter of an hour but for one reading, or report from
 * inside the guest. A function of VM and time: nothing is drawn by chance.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RowSchema } from '../../../src/gen/svc/ingest/v1/ingest_pb.ts';

export type Row = MessageInitShape<typeof RowSchema>;

export const STEP_MS = 30_000;
export const HISTORY_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** Which VMs, by number, the story is about. All others are calm. */
export const story = {
  /** CPU above 90 % since then: critical incidents. */
  cpuFiring: [0, 1, 2, 3],
  /** Their last reading is good again. */
  cpuRecovered: [4, 5],
  /** Breaches, but not for long enough yet. */
  cpuSustaining: [6, 7],
  memoryFiring: [10, 11, 12, 13, 14],
  diskFiring: [20, 21, 22],
  diskRecovered: [23],
  /** No reading since then. */
  stale: [30, 31, 32, 33, 34, 35],
  /** Nothing for a quarter of an hour, but for one reading in the middle. */
  gap: 40,
  /** An agent inside the guest reports too. */
  expanded: [0, 50],
  /** Enrolled, but no agent came. */
  invited: 51,
  /** Of a data center without expanded monitoring. */
  elsewhere: [60, 61, 62, 63, 64, 65, 66, 67, 68, 69],
  stopped: [70, 71],
} as const;

/** A UUID, the same in every run. */
export function vmId(n: number): string {
  return `5bd1e995-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

const ROLES = ['web', 'db', 'cache', 'queue', 'build', 'mail', 'search', 'batch'];

/** The name that people gave it; with markup, it must stay text everywhere. */
function displayNameOf(n: number, hasMarkup: boolean): string {
  const name = `${ROLES[n % ROLES.length]}-${String(Math.floor(n / ROLES.length) + 1).padStart(2, '0')}`;
  return hasMarkup ? `<b>${name}</b>` : name;
}

export interface Scenario {
  readonly nowMs: number;
  readonly hasMarkup: boolean;
  /** File systems of each VM; beyond the first all are full or all are calm. */
  readonly mounts: number;
  readonly areMountsFull: boolean;
}

/** One VM's row at a time; undefined: it reported nothing then. */
export function rowOf(n: number, atMs: number, scenario: Scenario): Row | undefined {
  const agoMs = scenario.nowMs - atMs;
  if (isSilent(n, agoMs)) return undefined;
  const isStopped = isOneOf(story.stopped, n);
  return {
    vmName: vmId(n),
    displayName: displayNameOf(n, scenario.hasMarkup),
    observedUnixMs: BigInt(atMs + (n % 50) * 7),
    bootId: `b0075eed-0000-4000-8000-${String(n).padStart(12, '0')}`,
    sequence: BigInt(Math.floor(atMs / STEP_MS)),
    vcpus: 2 ** (1 + (n % 4)),
    state: isStopped ? 3 : 1,
    values: isStopped ? [] : valuesOf(n, atMs, scenario),
  };
}

/** What the agent inside says at the time; it agrees with what the hypervisor says. */
export function guestRowOf(n: number, atMs: number): Row {
  const work = wave(n, atMs, 7 * MINUTE_MS);
  const available = memoryBytes(n) * (0.95 - calmMemoryRatio(n, atMs));
  return {
    vmName: vmId(n),
    observedUnixMs: BigInt(atMs + 5),
    sequence: BigInt(Math.floor(atMs / STEP_MS)),
    bootId: 'guest',
    values: [
      { series: 'svc_vm_load1', value: round(1 + 2 * work) },
      { series: 'svc_vm_memory_available_bytes', value: Math.round(available) },
      { series: 'svc_vm_swap_used_bytes', value: Math.round(2 ** 26 * work) },
      { series: 'svc_vm_processes_running', value: 1 + Math.round(4 * work) },
    ],
  };
}

function isSilent(n: number, agoMs: number): boolean {
  if (isOneOf(story.stale, n)) return agoMs < 17 * MINUTE_MS;
  // A hole in the deciding minutes of one incident, short enough to be tolerated.
  if (n === story.cpuFiring[0] && agoMs >= 2.9 * MINUTE_MS && agoMs < 3.4 * MINUTE_MS) return true;
  const isInGap = agoMs > 20 * MINUTE_MS && agoMs < 35 * MINUTE_MS;
  const isLone = Math.abs(agoMs - 27 * MINUTE_MS) < STEP_MS / 2;
  return n === story.gap && isInGap && !isLone;
}

function valuesOf(n: number, atMs: number, scenario: Scenario): NonNullable<Row['values']> {
  const agoMs = scenario.nowMs - atMs;
  const total = memoryBytes(n);
  const memory = memoryRatio(n, atMs, agoMs);
  // Counters that grow with the time, also from one report to the next, at rates that vary.
  const traffic = (atMs / 1000) * (40_000 + 900 * (n % 37)) + 2e6 * wave(n, atMs, 11 * MINUTE_MS);
  const device = { device: 'vda' };
  const card = { interface: 'eth0' };
  return [
    { series: 'svc_vm_cpu_utilization_pct', value: round(cpuPercent(n, atMs, agoMs)) },
    { series: 'svc_vm_memory_total_bytes', value: total },
    { series: 'svc_vm_memory_free_bytes', value: Math.round(total * (1 - memory)) },
    { series: 'svc_vm_disk_read_bytes_total', labels: device, value: Math.round(traffic * 2) },
    { series: 'svc_vm_disk_written_bytes_total', labels: device, value: Math.round(traffic * 3) },
    { series: 'svc_vm_network_receive_bytes_total', labels: card, value: Math.round(traffic) },
    { series: 'svc_vm_network_transmit_bytes_total', labels: card, value: Math.round(traffic / 2) },
    ...filesystems(n, agoMs, scenario),
  ];
}

function filesystems(n: number, agoMs: number, { mounts, areMountsFull, hasMarkup }: Scenario) {
  // Full ones are mounted in the last minute: a storm of incidents, without an hour of its readings.
  const mounted = areMountsFull && agoMs > MINUTE_MS ? 1 : mounts;
  return Array.from({ length: mounted }, (_, mount) => {
    const name = mount === 0 ? '/' : `/srv/${hasMarkup ? '<i>' : ''}data${mount}`;
    const labels = { mountpoint: name, fstype: 'ext4' };
    const size = 2 ** 35;
    const ratio = mount === 0 ? diskRatio(n, agoMs) : areMountsFull ? 0.9 : 0.4;
    return [
      { series: 'svc_vm_filesystem_size_bytes', labels, value: size },
      { series: 'svc_vm_filesystem_used_bytes', labels, value: Math.round(size * ratio) },
    ];
  }).flat();
}

function cpuPercent(n: number, atMs: number, agoMs: number): number {
  const calm = 12 + (n % 40) + 8 * wave(n, atMs, 9 * MINUTE_MS);
  const busy = 93 + 5 * wave(n, atMs, 4 * MINUTE_MS);
  // Alerting takes readings that are five minutes late at most.
  if (isOneOf(story.cpuFiring, n)) return agoMs <= (4.5 - n / 4) * MINUTE_MS ? busy : calm;
  if (isOneOf(story.cpuRecovered, n)) {
    return agoMs < 12 * MINUTE_MS && agoMs > 0 ? busy : calm;
  }
  return isOneOf(story.cpuSustaining, n) && agoMs < 2 * MINUTE_MS ? busy : calm;
}

function memoryBytes(n: number): number {
  return 2 ** (32 + (n % 3));
}

/** Of a VM whose memory is not short. */
function calmMemoryRatio(n: number, atMs: number): number {
  return 0.3 + 0.01 * (n % 40) + 0.02 * wave(n, atMs, 15 * MINUTE_MS);
}

function memoryRatio(n: number, atMs: number, agoMs: number): number {
  const calm = calmMemoryRatio(n, atMs);
  return isOneOf(story.memoryFiring, n) && agoMs < (10 + n) * MINUTE_MS ? calm / 10 + 0.88 : calm;
}

function diskRatio(n: number, agoMs: number): number {
  const calm = 0.2 + 0.01 * (n % 45);
  if (isOneOf(story.diskFiring, n)) return agoMs < 45 * MINUTE_MS ? 0.83 : 0.78;
  if (!isOneOf(story.diskRecovered, n)) return calm;
  return agoMs < 30 * MINUTE_MS && agoMs > 0 ? 0.85 : calm;
}

/** 0 to 1 and back, slower or faster with the VM. */
function wave(n: number, atMs: number, periodMs: number): number {
  const turns = atMs / (periodMs * (1 + (n % 5) / 5)) + n / 7;
  return 0.5 + 0.4 * Math.sin(2 * Math.PI * turns) + 0.1 * Math.sin(17 * turns);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

function isOneOf(numbers: readonly number[], n: number): boolean {
  return numbers.includes(n);
}
