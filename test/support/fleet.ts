/**
 * A synthetic fleet that reports like a real one, repeatable from its seed: counters with varying
 * steps, memory in pages of 4 KiB, gauges with one or two decimals, polls that are some
 * milliseconds early or late, idle machines that sometimes work. Codecs and stores are measured on
 * it, so nothing in it is more constant than on real machines.
 */
import { BatchBuilder, type SampleBatch } from '../../streams/telemetry/samples/batch.ts';

export interface FleetOptions {
  readonly vms: number;
  /** First and last poll, Unix ms: `fromMs` inclusive, `toMs` exclusive. */
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
  readonly seed: number;
  /** Project of the VMs. Default `demo`. */
  readonly project?: string;
}

/** Series of every VM of the fleet, in the order of its values. */
export const FLEET_SERIES = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_free_bytes',
  'svc_vm_memory_available_bytes',
  'svc_vm_disk_read_bytes_total{device="vda"}',
  'svc_vm_disk_written_bytes_total{device="vda"}',
  'svc_vm_disk_reads_completed_total{device="vda"}',
  'svc_vm_disk_writes_completed_total{device="vda"}',
  'svc_vm_network_receive_bytes_total{interface="eth0"}',
  'svc_vm_network_transmit_bytes_total{interface="eth0"}',
  'svc_vm_filesystem_size_bytes{mountpoint="/",fstype="ext4"}',
  'svc_vm_filesystem_used_bytes{mountpoint="/",fstype="ext4"}',
  'svc_vm_load1',
] as const;

/** VM id of the fleet's nth machine: a UUID, the same in every run. */
export function fleetVm(n: number): string {
  return `5bd1e995-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

/** One batch per poll, with one row of every VM, oldest first. */
export function* fleetRows(options: FleetOptions): Generator<SampleBatch> {
  const builder = new BatchBuilder();
  const random = generator(options.seed);
  const fleet = Array.from({ length: options.vms }, (_, n) => new Machine(n, random));
  for (let atMs = options.fromMs; atMs < options.toMs; atMs += options.stepMs) {
    // A poll takes some time, and its timer is never exact.
    const pollMs = atMs + Math.floor(random() * 4);
    for (const machine of fleet) {
      machine.pass(options.stepMs / 1000, atMs);
      const observedMs = pollMs + machine.offsetMs + (random() < 0.2 ? 1 : 0);
      builder.add({
        project: options.project ?? 'demo',
        vm: machine.vm,
        observedMs,
        sequence: ++machine.rows,
        boot: machine.boot,
        vcpus: machine.vcpus,
        state: 1,
        stateReason: '',
        series: FLEET_SERIES,
        values: machine.values(),
      });
    }
    yield builder.build(pollMs + 40);
  }
}

type Generator01 = () => number;

class Machine {
  readonly vm: string;
  readonly boot: string;
  readonly vcpus: number;
  readonly offsetMs: number;
  rows = 0;
  readonly #random: Generator01;
  /** Average daily use of the machine's capacity, ratio. */
  readonly #busy: number;
  /** Hour of the day at which the machine is busiest. */
  readonly #peakHour: number;
  readonly #memoryPages: number;
  /** Source resolution of the CPU counter: hypervisor nanoseconds or guest centiseconds. */
  readonly #cpuUnits: number;
  #load = 0;
  #cpu = 0;
  #freePages: number;
  #cachePages: number;
  #readOps = 0;
  #readBytes = 0;
  #writeOps = 0;
  #writtenBytes = 0;
  #receivedBytes = 0;
  #sentBytes = 0;
  #usedBlocks: number;
  readonly #blocks: number;
  #level = 1;

  constructor(n: number, random: Generator01) {
    this.#random = random;
    this.vm = fleetVm(n);
    this.boot = `b0075eed-0000-4000-8000-${Math.floor(random() * 2 ** 40)
      .toString(16)
      .padStart(12, '0')}`;
    const size = Math.floor(random() * 4);
    this.vcpus = 2 ** size;
    this.offsetMs = Math.floor(random() * 300);
    const kind = random();
    this.#busy = kind < 0.5 ? 0.01 + random() * 0.03 : kind < 0.85 ? 0.15 : 0.6;
    this.#peakHour = random() * 24;
    this.#cpuUnits = n % 2 === 0 ? 1e9 : 100;
    this.#memoryPages = 2 ** (18 + size) - 4096;
    this.#freePages = Math.floor(this.#memoryPages * (0.1 + random() * 0.5));
    this.#cachePages = Math.floor(this.#memoryPages * 0.2);
    this.#blocks = 5_000_000 * (size + 1);
    this.#usedBlocks = Math.floor(this.#blocks * (0.2 + random() * 0.6));
    this.#cpu = random() * 1e6;
    for (const grow of ['read', 'write', 'network'] as const) this.#startCounter(grow);
  }

  /** Advances by `seconds` to `atMs`. */
  pass(seconds: number, atMs: number): void {
    const hour = (atMs / 3_600_000) % 24;
    const day = 1 + 0.6 * Math.cos(((hour - this.#peakHour) / 12) * Math.PI);
    // The level wanders and returns: minutes of more or less work, not white noise.
    this.#level = Math.max(0.1, 1 + (this.#level - 1) * 0.95 + this.#normal() * 0.12);
    const busy = Math.min(1, this.#busy * day * this.#level * (this.#random() < 0.01 ? 4 : 1));
    this.#cpu += seconds * this.vcpus * Math.min(1, busy * (1 + 0.1 * this.#normal()));
    this.#load += (busy * this.vcpus - this.#load) * (1 - Math.exp(-seconds / 60));
    this.#work(seconds, busy);
    this.#memory(busy);
  }

  /** Values in the order of `FLEET_SERIES`. */
  values(): number[] {
    return [
      Math.floor(this.#cpu * this.#cpuUnits) / this.#cpuUnits,
      this.#memoryPages * 4096,
      this.#freePages * 4096,
      (this.#freePages + this.#cachePages) * 4096,
      this.#readBytes,
      this.#writtenBytes,
      this.#readOps,
      this.#writeOps,
      this.#receivedBytes,
      this.#sentBytes,
      this.#blocks * 4096,
      this.#usedBlocks * 4096,
      Math.max(0, Math.round(this.#load * 100) / 100),
    ];
  }

  #work(seconds: number, busy: number): void {
    const writes = this.#events(seconds * (0.4 + busy * 30));
    this.#writeOps += writes;
    this.#writtenBytes += writes * 4096 + this.#events(writes * 2) * 4096;
    const reads = this.#random() < 0.25 + busy ? this.#events(seconds * busy * 12) : 0;
    this.#readOps += reads;
    this.#readBytes += reads * 4096 + this.#events(reads * 5) * 4096;
    const packets = this.#events(seconds * (1.5 + busy * 200));
    this.#receivedBytes += packets * 66 + this.#events(packets * 90);
    const answers = this.#events(packets * 0.8);
    this.#sentBytes += answers * 66 + this.#events(answers * 150);
    if (this.#random() < 0.3) this.#usedBlocks += Math.round(this.#normal() * 2 + busy * 4);
    if (this.#random() < 0.002) this.#usedBlocks -= this.#events(400);
    this.#usedBlocks = Math.min(this.#blocks, Math.max(1000, this.#usedBlocks));
  }

  #memory(busy: number): void {
    // An idle machine touches little memory: many polls find the same number of free pages.
    if (this.#random() > 0.4 + busy) return;
    const step = Math.round(this.#normal() * (20 + busy * 4000));
    this.#freePages = Math.min(this.#memoryPages, Math.max(2000, this.#freePages + step));
    if (this.#random() < 0.5) this.#cachePages -= Math.round(step * this.#random());
    this.#cachePages = Math.min(this.#memoryPages, Math.max(1000, this.#cachePages));
  }

  #startCounter(kind: 'read' | 'write' | 'network'): void {
    const past = Math.floor(this.#random() * 1e6 * (1 + this.#busy * 50));
    if (kind === 'read') {
      this.#readOps = past;
      this.#readBytes = past * 20_480;
    } else if (kind === 'write') {
      this.#writeOps = past * 3;
      this.#writtenBytes = past * 36_864;
    } else {
      this.#receivedBytes = past * 700;
      this.#sentBytes = past * 900;
    }
  }

  /** A whole number of events around `expected`, as independent events would give. */
  #events(expected: number): number {
    return Math.max(0, Math.round(expected + Math.sqrt(expected) * this.#normal()));
  }

  #normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.#random()));
    return radius * Math.cos(2 * Math.PI * this.#random());
  }
}

/** mulberry32, as a plain function because a fleet draws millions of numbers. */
function generator(seed: number): Generator01 {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
