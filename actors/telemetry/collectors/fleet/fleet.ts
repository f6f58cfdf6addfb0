/**
 * Collectors of a fleet: one loop for each libvirt of the mapping, whose rows go to the project of
 * each domain. The service and `svc collect` share it; they differ in the sink. A new mapping is
 * applied while everything runs.
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
 * Destination of a fleet's rows. Both methods reject on failure; the call is retried, and no other
 * project waits for it.
 */
export interface FleetSink {
  write(project: string, rows: readonly ObservedRow[], source: string): Promise<void> | void;
  /**
   * Retires VMs that moved to another project or are gone, at most `RETIRE_AT_ONCE`. false: not
   * yet, because some of their rows are still in flight.
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
  /** State of an earlier run. */
  readonly state?: PlacementsState;
  /** Stores the state. May throw the disk's error; it is then called again in the next round. */
  readonly onState: (state: PlacementsState) => void;
  /** Called for each occurrence of a fault. */
  readonly onFault: (fault: CollectorFault) => void;
  readonly onMoved?: (vm: string, from: string, to: string) => void;
}

export interface FleetStatus {
  readonly sources: readonly ReturnType<Collector['status']>[];
  /** Number of VMs in each project, seen in the last rounds. */
  readonly projects: Readonly<Record<string, number>>;
  readonly unmatched: readonly UnmatchedDomain[];
  /** Number of VMs to be retired. */
  readonly retiring: number;
  readonly retireFault?: string;
}

/** Hosts number their domains alike, so a VM that moved must not keep its boot id. */
function withOrigin(reading: Reading, source: string): Reading {
  const origin = createHash('sha256').update(source).digest('hex').slice(0, 8);
  const rows = reading.rows.map((row) =>
    row.bootId === '' ? row : { ...row, bootId: bootOf(row.bootId, origin) },
  );
  return { ...reading, rows };
}

/** VMs per call of `retire`. */
const RETIRE_AT_ONCE = 200;

interface RunningSource {
  readonly collector: Collector;
  readonly name: string;
}

export class Fleet {
  readonly #options: FleetOptions;
  readonly #placements: Placements;
  readonly #sources = new Map<string, RunningSource>();
  /** Projects of rows that may still wait for the sink: a later mapping does not move them. */
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

  /** Applies the mapping to domains from the next round of each source on. */
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

  /** May be called repeatedly. */
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

  /** The rows of a round that belong to a project. The project of a row is final here. */
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
    // A round without a response says nothing about any domain.
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
    // Stored before the rows: after a crash, a moved VM still has to be retired in its old project.
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
