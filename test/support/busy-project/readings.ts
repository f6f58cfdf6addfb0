/**
 * Readings of the VMs of a busy project: an hour up to now, every 30 s. Most are calm. Some breach,
 * recover, stop reporting, have a gap of a quarter of an hour with one reading in it, or report
 * from inside the guest. They are a function of VM and time, without randomness.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RowSchema } from '../../../src/gen/svc/ingest/v1/ingest_pb.ts';

export type Row = MessageInitShape<typeof RowSchema>;

export const STEP_MS = 30_000;
export const HISTORY_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** VMs with a story, by number. All others are calm. */
export const story = {
  /** CPU above 90 % ever since: critical incidents. */
  cpuFiring: [0, 1, 2, 3],
  /** Their last reading is good again. */
  cpuRecovered: [4, 5],
  /** Breaches, but not yet for long enough. */
  cpuSustaining: [6, 7],
  memoryFiring: [10, 11, 12, 13, 14],
  diskFiring: [20, 21, 22],
  diskRecovered: [23],
  /** No reading since then. */
  stale: [30, 31, 32, 33, 34, 35],
  /** A gap of a quarter of an hour, with one reading in the middle. */
  gap: 40,
  /** An agent inside the guest reports too. */
  expanded: [0, 50],
  /** Enrolled, but without an agent yet. */
  invited: 51,
  /** In a data center without expanded monitoring. */
  elsewhere: [60, 61, 62, 63, 64, 65, 66, 67, 68, 69],
  stopped: [70, 71],
} as const;

/** A UUID, the same in every run. */
export function vmId(n: number): string {
  return `5bd1e995-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

const ROLES = ['web', 'db', 'cache', 'queue', 'build', 'mail', 'search', 'batch'];

/** Display name. With markup, it must stay text everywhere. */
function displayNameOf(n: number, hasMarkup: boolean): string {
  const name = `${ROLES[n % ROLES.length]}-${String(Math.floor(n / ROLES.length) + 1).padStart(2, '0')}`;
  return hasMarkup ? `<b>${name}</b>` : name;
}

export interface Scenario {
  readonly nowMs: number;
  readonly hasMarkup: boolean;
  /** File systems of each VM. Those beyond the first are all full or all calm. */
  readonly mounts: number;
  readonly areMountsFull: boolean;
}

/** One VM's row at a time. Undefined: the VM reported nothing then. */
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

/** Row of the agent in the guest at a time. It agrees with the hypervisor's row. */
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
  // A gap in the deciding minutes of one incident, short enough to be tolerated.
  if (n === story.cpuFiring[0] && agoMs >= 2.9 * MINUTE_MS && agoMs < 3.4 * MINUTE_MS) return true;
  const isInGap = agoMs > 20 * MINUTE_MS && agoMs < 35 * MINUTE_MS;
  const isLone = Math.abs(agoMs - 27 * MINUTE_MS) < STEP_MS / 2;
  return n === story.gap && isInGap && !isLone;
}

function valuesOf(n: number, atMs: number, scenario: Scenario): NonNullable<Row['values']> {
  const agoMs = scenario.nowMs - atMs;
  const total = memoryBytes(n);
  const memory = memoryRatio(n, atMs, agoMs);
  // Counters that grow with time, also from one report to the next, at varying rates.
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
  // Full file systems are mounted in the last minute: a storm of incidents without an hour of
  // readings.
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
  // Alerting accepts readings that are at most five minutes late.
  if (isOneOf(story.cpuFiring, n)) return agoMs <= (4.5 - n / 4) * MINUTE_MS ? busy : calm;
  if (isOneOf(story.cpuRecovered, n)) {
    return agoMs < 12 * MINUTE_MS && agoMs > 0 ? busy : calm;
  }
  return isOneOf(story.cpuSustaining, n) && agoMs < 2 * MINUTE_MS ? busy : calm;
}

function memoryBytes(n: number): number {
  return 2 ** (32 + (n % 3));
}

/** Memory ratio of a VM that is not short of memory. */
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

/** Rises from 0 to 1 and returns, at a speed that depends on the VM. */
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
