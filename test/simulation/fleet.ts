/**
 * The VMs of a project and their collector: one row per VM every 30 s unless the VM is silent. The
 * collector delays rows and sends some readings twice.
 */
import type { IngestRow } from '../../actors/vms/sent-row.ts';
import { VM_STATES } from '../../streams/telemetry/samples/batch.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import { Outbox } from './outbox.ts';
import { Signal, Spells } from './signal.ts';
import type { World } from './world.ts';

const SAMPLE_MS = 30_000;

/** How a collector and its VMs misbehave, drawn for each seed. */
interface Manners {
  readonly late: number;
  readonly twice: number;
  readonly conflict: number;
  readonly gapEveryMs: number;
  readonly stopEveryMs: number;
}

function mannersOf(dice: Dice): Manners {
  return {
    late: dice.pick([0, 0, 0.01, 0.05]),
    twice: dice.pick([0, 0.02, 0.1]),
    conflict: dice.pick([0, 0, 0.01]),
    gapEveryMs: dice.pick([Number.POSITIVE_INFINITY, 900_000, 300_000]),
    stopEveryMs: dice.pick([Number.POSITIVE_INFINITY, 1_800_000, 600_000]),
  };
}

interface Vm {
  readonly id: string;
  readonly cpu: Signal;
  readonly memory: Signal;
  readonly mounts: ReadonlyMap<string, Signal>;
  readonly silent: Spells;
  readonly stopped: Spells;
  stopReason: string;
  /** Elapsed time from which the VM is silent until everything heals, ms. */
  readonly darkFromMs: number;
  sequence: number;
}

const MEMORY_BYTES = 1_000_000_000;
export class VmFleet {
  readonly project: string;
  readonly outbox: Outbox;
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #dice: Dice;
  readonly #manners: Manners;
  readonly #vms: readonly Vm[];
  #isWell = false;
  #isStopped = false;

  constructor(world: World, cluster: Cluster, project: string) {
    this.project = project;
    this.#world = world;
    this.#cluster = cluster;
    this.#dice = world.dice.fork(`fleet of ${project}`);
    this.#manners = mannersOf(this.#dice);
    this.outbox = new Outbox({ world, cluster, project, dice: this.#dice });
    const count = 1 + this.#dice.below(4);
    this.#vms = Array.from({ length: count }, (_, i) => this.#vm(`${project}-vm-${i + 1}`));
  }

  start(): void {
    const offsetMs = this.#dice.between(0, SAMPLE_MS);
    const collect = (): void => {
      this.#world.in(SAMPLE_MS, collect);
      if (!this.#isStopped) this.#collect();
    };
    this.#world.in(offsetMs, collect);
  }

  /** Stops collection: rows of the last moments might never be decided. */
  stop(): void {
    this.#isStopped = true;
  }

  /** From now on every VM runs and reports, and the collector works correctly. */
  heal(): void {
    this.#isWell = true;
  }

  #vm(id: string): Vm {
    const dice = this.#dice.fork(id);
    const { gapEveryMs, stopEveryMs } = this.#manners;
    const mounts = dice.chance(0.5) ? ['/'] : ['/', '/data'];
    return {
      id,
      cpu: new Signal(dice.fork('cpu')),
      memory: new Signal(dice.fork('memory')),
      mounts: new Map(mounts.map((mount) => [mount, new Signal(dice.fork(mount))])),
      silent: new Spells(dice.fork('silent'), { everyMs: gapEveryMs, lastsMs: 120_000 }),
      stopped: new Spells(dice.fork('stopped'), { everyMs: stopEveryMs, lastsMs: 180_000 }),
      stopReason: dice.pick(['shutdown', 'destroyed']),
      darkFromMs: this.#darkFromMs(dice),
      sequence: 0,
    };
  }

  /**
   * Within the few minutes of a run with several members, silences would rarely last long enough to
   * be noticed.
   */
  #darkFromMs(dice: Dice): number {
    if (this.#cluster.members.length === 1 || dice.chance(0.6)) return Number.POSITIVE_INFINITY;
    return dice.between(60_000, 150_000);
  }

  #collect(): void {
    const { late, twice, conflict } = this.#isWell ? NOTHING_ODD : this.#manners;
    const dice = this.#dice;
    const rows: IngestRow[] = [];
    for (const vm of this.#vms) {
      const row = this.#row(vm);
      if (!row) continue;
      if (dice.chance(late)) this.#later(row, dice.between(10_000, 480_000), 'a row late');
      else rows.push(row);
      if (dice.chance(twice)) this.#later(row, dice.between(0, 200_000), 'a row twice');
      if (dice.chance(conflict)) {
        const other = { ...row, values: Array.from(row.values, (value) => value * 0.9) };
        this.#later(other, dice.between(0, 100_000), 'a row that contradicts');
      }
    }
    this.outbox.enqueue(rows);
  }

  #later(row: IngestRow, delayMs: number, what: string): void {
    this.#world.count(what);
    this.#world.in(delayMs, () => this.outbox.enqueue([row]));
  }

  /** Undefined while the VM is silent. */
  #row(vm: Vm): IngestRow | undefined {
    const { elapsedMs, nowMs } = this.#world;
    const isSilent = vm.silent.isOn(elapsedMs) || elapsedMs > vm.darkFromMs;
    const isStopped = vm.stopped.isOn(elapsedMs);
    if (isSilent && !this.#isWell) return undefined;
    const observedMs = Math.floor(nowMs);
    const source = { vm: vm.id, observedMs, sequence: ++vm.sequence, boot: 'boot-1' };
    if (isStopped && !this.#isWell) {
      const state = VM_STATES.indexOf('STOPPED');
      const stopped = { state, stateReason: vm.stopReason, vcpus: Number.NaN };
      return { ...source, ...stopped, series: [], values: [] };
    }
    const readings = readingsOf(vm, elapsedMs);
    const running = { state: VM_STATES.indexOf('RUNNING'), stateReason: '', vcpus: 2 };
    return {
      ...source,
      ...running,
      series: Object.keys(readings),
      values: Object.values(readings),
    };
  }
}

const NOTHING_ODD = { late: 0, twice: 0, conflict: 0 };

function readingsOf({ cpu, memory, mounts }: Vm, elapsedMs: number): Record<string, number> {
  const readings: Record<string, number> = {
    svc_vm_cpu_utilization_pct: cpu.at(elapsedMs),
    svc_vm_memory_total_bytes: MEMORY_BYTES,
    svc_vm_memory_free_bytes: MEMORY_BYTES * (1 - memory.at(elapsedMs) / 100),
  };
  for (const [mount, signal] of mounts) {
    const labels = `{mountpoint=${JSON.stringify(mount)}}`;
    readings[`svc_vm_filesystem_size_bytes${labels}`] = 10_000;
    readings[`svc_vm_filesystem_used_bytes${labels}`] = 100 * signal.at(elapsedMs);
  }
  return readings;
}
