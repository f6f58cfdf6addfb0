/**
 * Collector of a fleet, as a separate program: domains of many libvirts, placed by a mapping, and
 * stored on disk for each project until the service has stored them. It opens no port and changes
 * no VM.
 *
 *     virsh -> fleet (mapping) -> outlet of a project (disk) -> WriteSamples
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ObservedRow } from '../../../actors/telemetry/collectors/collector.ts';
import type { RunCommand } from '../../../actors/telemetry/collectors/command.ts';
import { Fleet } from '../../../actors/telemetry/collectors/fleet/fleet.ts';
import type { UnmatchedDomain } from '../../../actors/telemetry/collectors/fleet/placements.ts';
import type { CollectorFault } from '../../../actors/telemetry/collectors/loop.ts';
import { makeFolder } from '../../../sqlite/platform/make-folder.ts';
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { writeFileDurably } from '../../platform/durable-file.ts';
import type { Log } from '../../platform/log.ts';
import { readEnrolment } from '../agent/enrolment-file.ts';
import type { BufferedBatch } from '../agent/row-buffer.ts';
import { createRetirer, createSender, type SendBatch, type SendOutcome } from '../agent/sender.ts';
import { MappingWatch } from './mapping-file.ts';
import { Outlet } from './outlet.ts';
import { readPlacements, writePlacements } from './placements-file.ts';

export interface CollectOptions {
  /** Folder of enrolment, buffers, placements and status. */
  readonly folder: string;
  readonly mappingPath: string;
  readonly intervalMs: number;
  /** Maximum bytes of unsent rows, per project. */
  readonly bytesMax: number;
  readonly fileSystems: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Default: real processes. */
  readonly run?: RunCommand;
  /** Default: over HTTPS. */
  readonly send?: SendBatch;
}

/** Times are Unix ms; counts are since the start. */
export interface CollectStatus {
  readonly startedMs: number;
  readonly writtenMs: number;
  readonly intervalMs: number;
  readonly sources: readonly {
    readonly name: string;
    readonly lastRowMs?: number;
    readonly fault?: string;
  }[];
  readonly projects: readonly {
    readonly project: string;
    readonly vms: number;
    readonly waitingRows: number;
    readonly sentRows: number;
    readonly droppedRows: number;
    readonly lastSentMs?: number;
    readonly fault?: string;
  }[];
  /** Domains that match no rule. Their readings are not sent. */
  readonly unmatched: readonly UnmatchedDomain[];
  readonly unmatchedCount: number;
  /** Samples or rows that the service rejected, by reason. */
  readonly rejected: Readonly<Record<string, number>>;
  /**
   * Readings that were omitted because they cannot be stored; absent: an older collector wrote
   * this.
   */
  readonly leftOutReadings?: number;
  /** VMs with currently omitted readings or a dropped row, in sentences; at most 20. */
  readonly notStorable?: readonly string[];
  readonly retiring: number;
  /** Faults of the whole: the mapping's file, the disk. */
  readonly faults: readonly string[];
}

/** Maximum unmatched domains that the status names; the count includes all. */
const UNMATCHED_SHOWN = 1_000;
/** Maximum age of the status file while it runs, ms. */
const STATUS_MS = 5_000;

export function buffersFolder(folder: string): string {
  return join(folder, 'buffers');
}

export function collectStatusPath(folder: string): string {
  return join(folder, 'status.json');
}

function placementsPath(folder: string): string {
  return join(folder, 'placements.json');
}

/**
 * Starts at once. Throws `EnrolmentUnusable`, `UnusableMapping`, and the errors of the file system.
 */
export function startCollect(options: CollectOptions): FleetCollect {
  readEnrolment(options.folder, undefined, 'collect');
  return new FleetCollect(options);
}

/** Maximum sentences about unstored readings in a status. */
const NOT_STORABLE_SHOWN = 20;

const DROPPED_SHOWN = 5;

interface Sent {
  rows: number;
  dropped: number;
  lastMs?: number;
  fault?: string;
}

/** A running collection of a fleet; `startCollect` makes one. */
export class FleetCollect {
  readonly #options: CollectOptions;
  readonly #fleet: Fleet;
  readonly #mapping: MappingWatch;
  readonly #outlets = new Map<string, Outlet>();
  readonly #sent = new Map<string, Sent>();
  readonly #rejected = new Map<string, number>();
  /** Sentences about the last rows that the service rejected, newest first. */
  readonly #droppedRows: string[] = [];
  readonly #startedMs: number;
  readonly #failed = Promise.withResolvers<void>();
  readonly #send: SendBatch;
  #stopped: Promise<void> | undefined;
  #cancelStatus: CancelWakeUp = () => {};

  constructor(options: CollectOptions) {
    const { folder, clock, random, log, intervalMs, fileSystems, run } = options;
    this.#options = options;
    this.#startedMs = clock.now();
    this.#send = options.send ?? createSender(clock);
    this.#mapping = new MappingWatch({
      path: options.mappingPath,
      clock,
      onMapping: (mapping) => {
        log.info({ rules: mapping.rules.length }, 'A new mapping is in use');
        void this.#fleet.take(mapping);
      },
      onFault: (problems) =>
        log.error({ problems }, 'The mapping cannot be used; the previous one stays in use'),
    });
    makeFolder(buffersFolder(folder), 0o700);
    // Rows of projects that are no longer in the mapping still belong to them.
    for (const name of readdirSync(buffersFolder(folder))) {
      const project = /^project-(.+)$/.exec(name)?.[1];
      if (project !== undefined) this.#outlet(project);
    }
    const state = readPlacements(placementsPath(folder));
    this.#fleet = new Fleet({
      mapping: this.#mapping.first,
      clock,
      random,
      intervalMs,
      fileSystems,
      ...(run && { run }),
      ...(state && { state }),
      onState: (next) => writePlacements(placementsPath(folder), next),
      sink: {
        write: (project, rows) => this.#keep(project, rows),
        retire: (project, vms) => this.#outlet(project).retire(vms, uuidFrom(random)),
      },
      onFault: (fault) => this.#logOnce(fault),
      onMoved: (vm, from, to) => log.info({ vm, from, to }, 'A domain moved to another project'),
    });
    this.#keepStatus();
  }

  /** Rejects if the disk fails and it cannot continue. */
  get ended(): Promise<void> {
    return this.#failed.promise;
  }

  /** Reads the mapping's file now. */
  reload(): void {
    this.#mapping.reload();
  }

  /** Stops reading, keeps unsent rows. Repeatable. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  status(): CollectStatus {
    const { sources, projects, unmatched, retiring, retireFault } = this.#fleet.status();
    const names = new Set([...Object.keys(projects), ...this.#outlets.keys()]);
    const { intervalMs, clock } = this.#options;
    return {
      startedMs: this.#startedMs,
      writtenMs: clock.now(),
      intervalMs,
      retiring,
      sources: sources.map(({ source: name, lastRowMs, faults: [fault] }) => ({
        name,
        ...(lastRowMs !== undefined && { lastRowMs }),
        ...(fault && { fault: fault.message }),
      })),
      projects: [...names].sort().map((project) => {
        const { rows = 0, dropped = 0, lastMs, fault } = this.#sent.get(project) ?? {};
        return {
          project,
          vms: projects[project] ?? 0,
          sentRows: rows,
          droppedRows: dropped,
          waitingRows: this.#outlets.get(project)?.waiting().rows ?? 0,
          ...(lastMs !== undefined && { lastSentMs: lastMs }),
          ...(fault !== undefined && { fault }),
        };
      }),
      unmatched: unmatched.slice(0, UNMATCHED_SHOWN),
      unmatchedCount: unmatched.length,
      rejected: Object.fromEntries(this.#rejected),
      leftOutReadings: sources.reduce((sum, { leftOutReadings }) => sum + leftOutReadings, 0),
      notStorable: [
        ...this.#droppedRows,
        ...sources.flatMap(({ notStorable }) => notStorable.map(({ message }) => message)),
      ].slice(0, NOT_STORABLE_SHOWN),
      faults: [...this.#mapping.problems(), ...(retireFault === undefined ? [] : [retireFault])],
    };
  }

  async #stop(): Promise<void> {
    this.#mapping.close();
    this.#cancelStatus();
    await this.#fleet.stop();
    await Promise.all([...this.#outlets.values()].map((outlet) => outlet.stop()));
    this.#writeStatus();
  }

  #keep(project: string, rows: readonly ObservedRow[]): void {
    this.#outlet(project).append(rows);
  }

  #outlet(project: string): Outlet {
    const open = this.#outlets.get(project);
    if (open) return open;
    const { folder, clock, random, bytesMax, log } = this.#options;
    const outlet = new Outlet({
      folder: buffersFolder(folder),
      project,
      clock,
      random,
      bytesMax,
      sendAs: () => readEnrolment(folder, undefined, 'collect'),
      send: this.#send,
      retire: createRetirer(clock),
      onOutcome: (of, batch, outcome) => this.#recordOutcome(of, batch, outcome),
      onDropped: (of, dropped, why) => {
        this.#of(of).dropped += dropped;
        log.error({ project: of, rows: dropped }, `Rows were dropped: ${why}`);
      },
    });
    outlet.ended.catch((error: unknown) => this.#failed.reject(error));
    this.#outlets.set(project, outlet);
    return outlet;
  }

  #of(project: string): Sent {
    const known = this.#sent.get(project);
    if (known) return known;
    const sent: Sent = { rows: 0, dropped: 0 };
    this.#sent.set(project, sent);
    return sent;
  }

  #recordOutcome(project: string, { rows }: BufferedBatch, outcome: SendOutcome): void {
    const { log, clock } = this.#options;
    const sent = this.#of(project);
    if (outcome.kind === 'stored') {
      if (sent.fault !== undefined) log.info({ project }, 'The service accepts rows again');
      delete sent.fault;
      sent.rows += rows.length;
      sent.lastMs = clock.now();
      for (const { reason, series, row, message } of outcome.rejected) {
        const times = this.#rejected.get(reason) ?? 0;
        this.#rejected.set(reason, times + 1);
        const vm = rows[row]?.about?.vm;
        const sentence = `The service rejects samples: ${message || reason}`;
        if (times === 0) log.warn({ project, vm, reason, series }, sentence);
      }
    } else if (outcome.kind === 'refused') {
      sent.dropped += rows.length;
      const { vm, displayName } = rows[0]?.about ?? {};
      log.error({ project, rows: rows.length, vm }, `Rows were dropped: ${outcome.message}`);
      this.#droppedRows.unshift(`a row of VM "${displayName}" was rejected: ${outcome.message}`);
      this.#droppedRows.splice(DROPPED_SHOWN);
    } else if (outcome.message !== sent.fault) {
      sent.fault = outcome.message;
      log.warn({ project }, `Rows wait: ${outcome.message}`);
    }
  }

  /** Logs a new fault. The status shows whether it lasts. */
  #logOnce({ source, reason, vm, message, times }: CollectorFault): void {
    if (times === 1) this.#options.log.warn({ source, reason, ...(vm && { vm }) }, message);
  }

  /** Also while no libvirt answers, because the status then contains the faults. */
  #keepStatus(): void {
    const { clock, intervalMs } = this.#options;
    this.#writeStatus();
    this.#cancelStatus = clock.wakeAfter(Math.min(intervalMs, STATUS_MS), () => this.#keepStatus());
  }

  #writeStatus(): void {
    const path = collectStatusPath(this.#options.folder);
    try {
      const content = `${JSON.stringify(this.status())}\n`;
      writeFileDurably({ path, content, exclusive: false });
    } catch (error) {
      this.#options.log.debug({ err: error }, 'The status could not be written');
    }
  }
}

/** RFC 9562, version 4. */
function uuidFrom(random: Random): string {
  const bytes = Buffer.from(random.bytes(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
