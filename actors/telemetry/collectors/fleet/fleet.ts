/**
 * Collectors of a fleet: one loop for each libvirt of the mapping, whose rows go to the project that
 * each domain belongs to. The same in the service and in `svc collect`; they differ in the sink. A new
 * mapping is taken while everything runs.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../../../streams/platform/clock.ts';
import type { Random } from '../../../../streams/platform/random.ts';
import { bootOf } from '../../../../streams/telemetry/samples/boot.ts';
import type { ObservedRow, Reading } from '../collector.ts';
import { type RunCommand, runCommand } from '../command.ts';
import { DomainMetadata } from '../libvirt/domain-metadata.ts';
import { createLibvirtSource } from '../libvirt/libvirt-source.ts';
import { type Collector, type CollectorFault, startCollector } from '../loop.ts';
import { type Mapping, sourceName } from './mapping.ts';
import { Placements, type PlacementsState, type UnmatchedDomain } from './placements.ts';

/**
 * Where a fleet's rows go. Both reject when it is not done; it is tried again, and no other project
 * waits for it.
 */
export interface FleetSink {
  write(project: string, rows: readonly ObservedRow[], source: string): Promise<void> | void;
  /**
   * Retires VMs that moved to another project or are gone, at most `RETIRE_AT_ONCE`. false: not yet,
   * since rows of theirs are on their way.
   */
  retire(project: string, vms: readonly string[]): Promise<boolean>;
}

export interface FleetOptions {
  readonly mapping: Mapping;
  readonly sink: FleetSink;
  readonly clock: Clock;
  readonly random: Random;
  readonly intervalMs: number;
  readonly fileSystems?: boolean;
  /** Default: real processes. */
  readonly run?: RunCommand;
  /** Of an earlier run. */
  readonly state?: PlacementsState;
  /** Stores the state; throws what the disk throws, and is called again in the next round then. */
  readonly onState: (state: PlacementsState) => void;
  /** Called for every fault each time it is seen. */
  readonly onFault: (fault: CollectorFault) => void;
  readonly onMoved?: (vm: string, from: string, to: string) => void;
}

export interface FleetStatus {
  readonly sources: readonly ReturnType<Collector['status']>[];
  /** VMs in each project, seen in the last rounds. */
  readonly projects: Readonly<Record<string, number>>;
  readonly unmatched: readonly UnmatchedDomain[];
  /** VMs to be retired, and why that was not possible. */
  readonly retiring: number;
  readonly retireFault?: string;
}

/** Hosts number their domains alike: the boot id of a VM that moved must not be the one that it had. */
function withOrigin(reading: Reading, source: string): Reading {
  const origin = createHash('sha256').update(source).digest('hex').slice(0, 8);
  const rows = reading.rows.map((row) =>
    row.bootId === '' ? row : { ...row, bootId: bootOf(row.bootId, origin) },
  );
  return { ...reading, rows };
}

/** VMs of one call of `retire`. */
const RETIRE_AT_ONCE = 200;

interface RunningSource {
  readonly collector: Collector;
  readonly name: string;
}

export class Fleet {
  readonly #options: FleetOptions;
  readonly #placements: Placements;
  readonly #sources = new Map<string, RunningSource>();
  /** Of rows that may wait for the sink: a later mapping does not move them. */
  readonly #projects = new WeakMap<ObservedRow, string>();
  #mapping: Mapping;
  #retiring: Promise<void> | undefined;
  #retireFault: string | undefined;

  /** Starts at once. */
  constructor(options: FleetOptions) {
    this.#options = options;
    this.#mapping = options.mapping;
    this.#placements = new Placements(options.intervalMs, options.clock.elapsed(), options.state);
    this.#startMissing();
  }

  /** From the next round of each source on, domains belong where this mapping says. */
  async take(mapping: Mapping): Promise<void> {
    this.#mapping = mapping;
    const gone = [...this.#sources].filter(([uri]) => !mapping.sources.includes(uri));
    this.#startMissing();
    for (const [uri, { collector, name }] of gone) {
      this.#sources.delete(uri);
      await collector.stop();
      this.#placements.forget(name);
    }
  }

  status(): FleetStatus {
    const waiting = [...this.#placements.retiring().values()];
    return {
      sources: [...this.#sources.values()].map(({ collector }) => collector.status()),
      projects: this.#placements.counts(this.#options.clock.elapsed()),
      unmatched: this.#placements.unmatched(),
      retiring: waiting.reduce((sum, { size }) => sum + size, 0),
      ...(this.#retireFault !== undefined && { retireFault: this.#retireFault }),
    };
  }

  /** Repeatable. */
  async stop(): Promise<void> {
    await Promise.all([...this.#sources.values()].map(({ collector }) => collector.stop()));
    await this.#retiring;
  }

  #startMissing(): void {
    for (const uri of this.#mapping.sources) {
      if (!this.#sources.has(uri)) this.#sources.set(uri, this.#start(uri));
    }
  }

  #start(uri: string): RunningSource {
    const { clock, random, intervalMs, fileSystems, run = runCommand, onFault } = this.#options;
    const name = `libvirt ${sourceName(uri)}`;
    const metadata = new DomainMetadata({ uri, clock, run }, random);
    const files = fileSystems === undefined ? {} : { fileSystems };
    const libvirt = createLibvirtSource({ uri, clock, intervalMs, run, ...files });
    const collector = startCollector({
      project: '',
      clock,
      intervalMs,
      onFault,
      source: {
        name,
        read: async (signal) => {
          const reading = await libvirt.read(signal);
          return this.#place(name, withOrigin(reading, name), metadata, signal);
        },
        close: () => libvirt.close(),
      },
      projectOf: (row) => this.#projects.get(row) ?? '',
      knownVms: () => this.#placements.vmsAt(name),
      sink: {
        observe: async (project, rows) => this.#options.sink.write(project, rows, name),
        retire: async (_, vms) => {
          this.#placements.gone(name, vms);
          this.#store();
          void this.#retire();
        },
      },
    });
    return { collector, name };
  }

  /** The rows of a round that belong to a project, each of which is decided here for good. */
  async #place(
    source: string,
    reading: Reading,
    metadata: DomainMetadata,
    signal: AbortSignal,
  ): Promise<Reading> {
    const { clock, onMoved } = this.#options;
    const { namespaces } = this.#mapping;
    const vms = reading.rows.map(({ vm }) => vm);
    const unread = await metadata.refresh(vms, namespaces, signal);
    const faults = [...reading.faults, ...unread];
    // A round without an answer says nothing of any domain.
    if (reading.rows.length === 0 && faults.length > 0) return { ...reading, faults };
    if (reading.listed) this.#placements.listed(source, reading.listed);
    const { byProject, moved } = this.#placements.place({
      source,
      rows: reading.rows,
      mapping: this.#mapping,
      nowMs: clock.elapsed(),
      metadata: (vm, namespace) => metadata.textOf(vm, namespace),
    });
    for (const { vm, from, to } of moved) onMoved?.(vm, from, to);
    // Before the rows: after a crash a moved VM is still to be retired where it was.
    try {
      this.#store();
    } catch (error) {
      faults.push({ reason: 'STATE_NOT_STORED', message: `placements were not stored: ${error}` });
    }
    for (const [project, rows] of byProject) {
      for (const row of rows) this.#projects.set(row, project);
    }
    void this.#retire();
    return { ...reading, rows: [...byProject.values()].flat(), faults };
  }

  #store(): void {
    this.#placements.store(this.#options.onState);
  }

  #retire(): Promise<void> {
    this.#retiring ??= this.#retireAll().finally(() => {
      this.#retiring = undefined;
    });
    return this.#retiring;
  }

  async #retireAll(): Promise<void> {
    this.#retireFault = undefined;
    for (const [project, vms] of [...this.#placements.retiring()]) {
      const some = [...vms].slice(0, RETIRE_AT_ONCE);
      if (some.length === 0) continue;
      try {
        if (!(await this.#options.sink.retire(project, some))) continue;
        this.#placements.retired(project, some);
        this.#store();
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        this.#retireFault = `VMs that left ${project} are not retired there yet: ${why}`;
      }
    }
  }
}
