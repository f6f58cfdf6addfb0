/**
 * A VM that two collectors know, each on a host of its own: a failover, a live migration, a clone
 * that kept its UUID, or a collector that replaces another. This file decides what really happens.
 * Each collector reports what its host shows and does not know of the other.
 */
import type { IngestRow, SenderReach } from '../../actors/vms/sent-row.ts';
import { VM_STATES, type VmState } from '../../streams/telemetry/samples/batch.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import { Outbox } from './outbox.ts';
import type { Planted } from './planted.ts';
import { Signal } from './signal.ts';
import type { World } from './world.ts';

const SAMPLE_MS = 30_000;

type Story = 'failover' | 'migration' | 'clone' | 'replaced';

/** The host's view of the VM; undefined if it does not list the VM. */
interface Displayed {
  readonly state: VmState;
  readonly reason: string;
}

const RUNS: Displayed = { state: 'RUNNING', reason: '' };
const CRASHED: Displayed = { state: 'CRASHED', reason: 'crashed' };
const OFF: Displayed = { state: 'STOPPED', reason: 'shutdown' };
const INCOMING: Displayed = { state: 'PAUSED', reason: 'migration' };
const AWAY: Displayed = { state: 'STOPPED', reason: 'migrated' };

/** First values of the hosts' network counters, which tell their rows apart. */
const COUNTERS_FROM = [1_000, 5_000_000_000];
const MEMORY_BYTES = 1_000_000_000;

/** A host with the collector that reads it. */
interface Side {
  readonly reach: SenderReach;
  readonly outbox: Outbox;
  readonly memory: Signal;
  sequence: number;
}

export class HostPair {
  readonly project: string;
  readonly vm: string;
  readonly story: Story;
  readonly sides: readonly Side[];
  readonly #world: World;
  readonly #dice: Dice;
  /** Elapsed times at which the VM leaves the first host and arrives at the second, ms. */
  readonly #leavesMs: number;
  readonly #arrivesMs: number;
  /** Time at which a migrated VM returns. */
  readonly #returnsMs: number;
  #isStopped = false;

  constructor(world: World, cluster: Cluster, project: string) {
    this.project = project;
    this.vm = `${project}-of-two`;
    this.#world = world;
    this.#dice = world.dice.fork(`two hosts of ${project}`);
    const dice = this.#dice;
    this.story = dice.pick(['failover', 'migration', 'clone', 'replaced'] as const);
    this.#leavesMs = dice.between(60_000, 240_000);
    this.#arrivesMs = this.#leavesMs + (this.story === 'failover' ? dice.between(0, 120_000) : 0);
    this.#returnsMs = this.#arrivesMs + dice.pick([Number.POSITIVE_INFINITY, 45_000, 200_000]);
    this.sides = ['a', 'b'].map((host) => {
      const own = dice.fork(host);
      const reach = { name: `${project}/hosts/${host}`, datacenter: null, vm: null };
      const outbox = new Outbox({ world, cluster, project, dice: own, reach });
      // A clone has readings of its own.
      const memory = new Signal(dice.fork(this.story === 'clone' ? `memory of ${host}` : 'memory'));
      return { reach, outbox, memory, sequence: 0 };
    });
  }

  /** A pair in some of the projects. */
  static of(
    world: World,
    cluster: Cluster,
    project: string,
    planted: Planted | undefined,
  ): HostPair[] {
    const has = planted?.pairs ?? world.dice.fork(`is there a VM of two in ${project}`).chance(0.4);
    return has ? [new HostPair(world, cluster, project)] : [];
  }

  get outboxes(): readonly Outbox[] {
    return this.sides.map(({ outbox }) => outbox);
  }

  start(): void {
    for (const [i, side] of this.sides.entries()) {
      const collect = (): void => {
        this.#world.in(SAMPLE_MS, collect);
        const row = this.#isStopped ? undefined : this.#row(i, side);
        if (row) side.outbox.enqueue([row]);
      };
      this.#world.in(this.#dice.between(0, SAMPLE_MS), collect);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Its story continues unchanged: neither host is wrong. */
  heal(): void {}

  /** Stretches in which the VM is really down. */
  get downs(): number {
    return this.story === 'failover' ? 1 : 0;
  }

  #displayed(i: number): Displayed | undefined {
    const { elapsedMs } = this.#world;
    const hasLeft = elapsedMs >= this.#leavesMs;
    const isThere = elapsedMs >= this.#arrivesMs;
    switch (this.story) {
      case 'clone':
        return RUNS;
      case 'failover':
        if (i === 0) return hasLeft ? CRASHED : RUNS;
        return isThere ? RUNS : OFF;
      case 'replaced':
        return hasLeft === (i === 1) ? RUNS : undefined;
      case 'migration': {
        const isBack = elapsedMs >= this.#returnsMs;
        const isHere = isThere && !isBack ? i === 1 : i === 0;
        if (isHere) return RUNS;
        if (i === 0) return AWAY;
        if (isBack) return AWAY;
        return elapsedMs > this.#leavesMs - 60_000 ? INCOMING : undefined;
      }
    }
  }

  #row(i: number, side: Side): IngestRow | undefined {
    const displayed = this.#displayed(i);
    if (!displayed) return undefined;
    const { elapsedMs, nowMs } = this.#world;
    const observedMs = Math.floor(nowMs);
    const about = {
      vm: this.vm,
      observedMs,
      sequence: ++side.sequence,
      stateReason: displayed.reason,
      state: VM_STATES.indexOf(displayed.state),
    };
    if (displayed.state !== 'RUNNING') {
      return { ...about, boot: '', vcpus: Number.NaN, series: [], values: [] };
    }
    const used = side.memory.at(elapsedMs) / 100;
    return {
      ...about,
      // libvirt numbers its domains: both hosts may have the same number.
      boot: 'domain-1',
      vcpus: 2,
      series: [
        'svc_vm_memory_total_bytes',
        'svc_vm_memory_free_bytes',
        'svc_vm_network_receive_bytes_total{interface="eth0"}',
      ],
      values: [
        MEMORY_BYTES,
        MEMORY_BYTES * (1 - used),
        (COUNTERS_FROM[i] ?? 0) + Math.round(elapsedMs),
      ],
    };
  }
}
