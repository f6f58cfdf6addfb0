/**
 * Agent inside a guest: reads it at a fixed interval, stores every row on disk until the service
 * has stored it, and reports faults. It opens no port and changes nothing outside its own folder.
 *
 *     /proc -> source -> collector loop -> buffer (disk) -> shipper -> WriteSamples
 */
import { join } from 'node:path';
import type {
  ObservedRow,
  Reading,
  Source,
} from '../../../actors/telemetry/collectors/collector.ts';
import {
  type HostFiles,
  kernelFiles,
} from '../../../actors/telemetry/collectors/host/host-source.ts';
import {
  absentIf,
  parseLoadavg,
  parseMeminfo,
  parseStat,
  value,
} from '../../../actors/telemetry/collectors/host/proc.ts';
import {
  type Collector,
  type CollectorFault,
  startCollector,
} from '../../../actors/telemetry/collectors/loop.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import type { Rejected } from '../../gen/svc/ingest/v1/ingest_pb.ts';
import type { Log } from '../../platform/log.ts';
import { readEnrolment, type StoredEnrolment } from './enrolment-file.ts';
import { type BufferedBatch, RowBuffer, type RowBufferOptions } from './row-buffer.ts';
import { agentFacts, createSender, type SendBatch, type SendOutcome } from './sender.ts';
import { Shipper } from './shipper.ts';
import { type AgentStatus, writeStatus } from './status-file.ts';

export interface AgentOptions {
  /** Folder of enrolment, buffer and status. */
  readonly folder: string;
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Default: this machine. */
  readonly source?: Source;
  /** Default: over HTTPS. */
  readonly send?: SendBatch;
  /** Bounds of the buffer; default 24 h and 64 MiB. */
  readonly bounds?: Pick<RowBufferOptions, 'bytesMax' | 'ageMsMax'>;
}

/** Folder of unsent rows, in the agent's folder. */
export function bufferFolder(folder: string): string {
  return join(folder, 'buffer');
}

/** Id of a VM by its name. */
function vmIdOf({ vmName }: Pick<StoredEnrolment, 'vmName'>): string {
  return vmName.slice(vmName.lastIndexOf('/') + 1);
}

/** Starts at once. Throws `EnrolmentUnusable`, and the errors of opening the buffer. */
export function startAgent(options: AgentOptions): Agent {
  const agent = new Agent(options);
  agent.start();
  return agent;
}

/** Readings before the first round. */
const NONE = 0;
/** Time before a key's end at which the agent warns, ms. */
const EXPIRY_WARNING_MS = 14 * 86_400_000;

type Counts = { -readonly [K in 'observedRows' | 'sentRows' | 'droppedRows']: number };

/** A running agent; `startAgent` makes one. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #buffer: RowBuffer;
  readonly #shipper: Shipper;
  readonly #source: Source;
  readonly #stopping = new AbortController();
  readonly #startedMs: number;
  readonly #vmName: string;
  readonly #counts: Counts = { observedRows: 0, sentRows: 0, droppedRows: 0 };
  readonly #rejected = new Map<string, number>();
  #collector: Collector | undefined;
  #lastSentMs: number | undefined;
  /** The reason why rows cannot be sent; '' = no fault. */
  #sendFault = '';
  /** End of the key's lifetime, Unix ms. */
  #keyEndsMs = Number.POSITIVE_INFINITY;
  #ended: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    const { folder, clock, random } = options;
    const enrolment = () => this.#enrolment(folder);
    const stored = enrolment();
    const vm = vmIdOf(stored);
    this.#vmName = stored.vmName;
    this.#options = options;
    this.#startedMs = clock.now();
    this.#source = options.source ?? createGuestSource({ clock, vm });
    this.#buffer = new RowBuffer({
      folder: bufferFolder(folder),
      clock,
      random,
      ...options.bounds,
      onDropped: (rows, why) => this.#dropped(rows, why),
    });
    this.#shipper = new Shipper({
      buffer: this.#buffer,
      enrolment,
      clock,
      random,
      send: options.send ?? createSender(clock),
      onOutcome: (batch, outcome) => this.#recordOutcome(batch, outcome),
    });
  }

  /** Rejects if the disk fails and the agent cannot continue. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  start(): void {
    const { clock, intervalMs, log } = this.#options;
    const { rows } = this.#buffer.stats();
    if (rows > 0) log.info({ rows }, 'Unsent rows of an earlier run were found');
    const warning = this.#expiryWarning();
    if (warning) log.warn({}, warning);
    this.#ended = this.#shipper.run(this.#stopping.signal);
    this.#collector = startCollector({
      project: '',
      source: this.#source,
      clock,
      intervalMs,
      sink: { observe: async (_project, observed) => this.#keep(observed) },
      onFault: (fault) => this.#logOnce(fault),
    });
  }

  /** Stops reading, keeps unsent rows, and resolves when nothing runs. Repeatable. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  status(): AgentStatus {
    const collector = this.#collector?.status();
    const [fault] = collector?.faults ?? [];
    const message = this.#sendFault || fault?.message || this.#expiryWarning();
    return {
      startedMs: this.#startedMs,
      writtenMs: this.#options.clock.now(),
      intervalMs: this.#options.intervalMs,
      ...this.#counts,
      ...(this.#lastSentMs !== undefined && { lastSentMs: this.#lastSentMs }),
      rejected: Object.fromEntries(this.#rejected),
      leftOutReadings: collector?.leftOutReadings ?? NONE,
      notStorable: (collector?.notStorable ?? []).map((one) => one.message),
      ...(message && { fault: message }),
    };
  }

  #enrolment(folder: string): StoredEnrolment {
    const enrolment = readEnrolment(folder);
    this.#keyEndsMs = enrolment.expiresUnix * 1000;
    return enrolment;
  }

  /**
   * An agent's key is not rotated: a person has to enrol the VM again, and must be warned in time.
   */
  #expiryWarning(): string | undefined {
    const leftMs = this.#keyEndsMs - this.#options.clock.now();
    if (leftMs > EXPIRY_WARNING_MS) return undefined;
    return `The key ends on ${new Date(this.#keyEndsMs).toISOString()}. Enrol the VM again before that`;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#collector?.stop();
    // `ended` reports a disk fault; the stop does not repeat it.
    await this.#ended.catch(() => {});
    this.#buffer.close();
    this.#writeStatus();
  }

  /** Throws the errors of the disk. The collector then keeps the rows and offers them again. */
  #keep(rows: readonly ObservedRow[]): void {
    for (const { observedMs, values, leftOut } of rows) {
      const about = leftOut && { ...agentFacts(this.#vmName), leftOut };
      this.#buffer.append({ observedMs, values, ...(about && { about }) });
    }
    this.#counts.observedRows += rows.length;
    this.#writeStatus();
    this.#shipper.notice();
  }

  #recordOutcome({ rows }: BufferedBatch, outcome: SendOutcome): void {
    const { log, clock } = this.#options;
    if (outcome.kind === 'stored') {
      if (this.#sendFault !== '') log.info({}, 'The service accepts rows again');
      this.#sendFault = '';
      this.#counts.sentRows += rows.length;
      this.#lastSentMs = clock.now();
      for (const rejected of outcome.rejected) this.#recordRejected(rejected);
    } else if (outcome.kind === 'refused') {
      this.#dropped(rows.length, outcome.message);
    } else if (outcome.message !== this.#sendFault) {
      this.#sendFault = outcome.message;
      log.warn({ waiting: this.#buffer.stats().rows }, `Rows wait: ${outcome.message}`);
    }
    this.#writeStatus();
  }

  #recordRejected({ reason, series, message }: Rejected): void {
    const times = this.#rejected.get(reason) ?? 0;
    this.#rejected.set(reason, times + 1);
    if (times > 0) return;
    this.#options.log.warn({ reason, series }, `The service rejects samples: ${message || reason}`);
  }

  #dropped(rows: number, why: string): void {
    this.#counts.droppedRows += rows;
    this.#options.log.error({ rows }, `Rows were dropped: ${why}`);
  }

  /** Logs a new fault. The status shows whether it lasts. */
  #logOnce({ reason, message, times }: CollectorFault): void {
    if (times === 1) this.#options.log.warn({ reason }, message);
  }

  #writeStatus(): void {
    try {
      writeStatus(this.#options.folder, this.status());
    } catch (error) {
      this.#options.log.debug({ err: error }, 'The status could not be written');
    }
  }
}

export interface GuestSourceOptions {
  readonly clock: Clock;
  /** Id of this VM. */
  readonly vm: string;
  /** Default: this machine's. */
  readonly files?: HostFiles;
}

const FILES = ['/proc/loadavg', '/proc/meminfo', '/proc/stat'] as const;

/**
 * Source of readings from inside this guest. It has only series that no hypervisor can measure, so
 * that no series of the VM has two sources. A file that cannot be read gives no reading, never a
 * zero.
 */
export function createGuestSource({ clock, vm, files = kernelFiles }: GuestSourceOptions): Source {
  return {
    // The VM's id in the name spreads the agents of many guests over the interval.
    name: `agent ${vm}`,
    async read(): Promise<Reading> {
      const [loadavg, meminfo, stat] = await Promise.all(FILES.map((path) => files.text(path)));
      const [load, memory] = [parseLoadavg(loadavg ?? ''), parseMeminfo(meminfo ?? '')];
      const { processesRunning } = parseStat(stat ?? '');
      const values = [
        ...value('svc_vm_load1', load),
        ...memory.expanded,
        ...value('svc_vm_processes_running', processesRunning),
      ];
      const absences = [
        ...absentIf(load === undefined, 'load', 'UNREADABLE'),
        ...memory.expandedAbsences,
        ...absentIf(processesRunning === undefined, 'processes', 'UNREADABLE'),
      ];
      const missing = FILES.filter((_, i) => [loadavg, meminfo, stat][i] === undefined);
      const message = `cannot read ${missing.join(', ')}: their readings are absent`;
      const faults = missing.length > 0 ? [{ reason: 'INCOMPLETE', message } as const] : [];
      if (values.length === 0) return { rows: [], faults };
      const unknown = { displayName: '', bootId: '', sequence: 0, stateReason: '' };
      const row = { vm, observedMs: clock.now(), ...unknown, state: 'UNKNOWN', values } as const;
      return { rows: [absences.length > 0 ? { ...row, absences } : row], faults };
    },
    async close() {},
  };
}
