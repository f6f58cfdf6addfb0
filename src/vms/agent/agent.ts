/**
 * The agent inside a guest: reads it at even times, keeps every row on disk until the service has
 * it, and tells what goes wrong. It listens nowhere and changes nothing outside its own folder.
 *
 *     /proc -> source -> collector loop -> buffer (disk) -> shipper -> WriteSamples
 */
import { join } from 'node:path';
import type { ObservedRow, Source } from '../../../actors/telemetry/collectors/collector.ts';
import {
  type Collector,
  type CollectorFault,
  startCollector,
} from '../../../actors/telemetry/collectors/loop.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import type { Log } from '../../platform/log.ts';
import { readEnrolment, type StoredEnrolment } from './enrolment-file.ts';
import { createGuestSource } from './guest-source.ts';
import { type BufferedBatch, RowBuffer, type RowBufferOptions } from './row-buffer.ts';
import { createSender, type SendBatch, type SendOutcome } from './sender.ts';
import { Shipper } from './shipper.ts';
import { type AgentStatus, writeStatus } from './status-file.ts';

export interface AgentOptions {
  /** Where enrolment, buffer and status lie. */
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

export interface RunningAgent {
  status(): AgentStatus;
  /** Rejects when the disk fails in a way that the agent cannot go on with. */
  readonly ended: Promise<void>;
  /** Reads no more, keeps what waits, and resolves once nothing runs. Repeatable. */
  stop(): Promise<void>;
}

/** Where rows wait, in the agent's folder. */
export function bufferFolder(folder: string): string {
  return join(folder, 'buffer');
}

/** Id of a VM by its name. */
function vmIdOf({ vmName }: Pick<StoredEnrolment, 'vmName'>): string {
  return vmName.slice(vmName.lastIndexOf('/') + 1);
}

/** Starts at once. Throws `EnrolmentUnusable`, and what opening the buffer throws. */
export function startAgent(options: AgentOptions): RunningAgent {
  const agent = new Agent(options);
  agent.start();
  return agent;
}

/** How long before its end a key is told to end, ms. */
const EXPIRY_WARNING_MS = 14 * 86_400_000;

type Counts = { -readonly [K in 'observedRows' | 'sentRows' | 'droppedRows']: number };

class Agent implements RunningAgent {
  readonly #options: AgentOptions;
  readonly #buffer: RowBuffer;
  readonly #shipper: Shipper;
  readonly #source: Source;
  readonly #stopping = new AbortController();
  readonly #startedMs: number;
  readonly #counts: Counts = { observedRows: 0, sentRows: 0, droppedRows: 0 };
  readonly #rejected = new Map<string, number>();
  #collector: Collector | undefined;
  #lastSentMs: number | undefined;
  /** What keeps rows from being sent; '' = nothing. */
  #sendFault = '';
  /** End of the key's lifetime, Unix ms. */
  #keyEndsMs = Number.POSITIVE_INFINITY;
  #ended: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;

  constructor(options: AgentOptions) {
    const { folder, clock, random } = options;
    const enrolment = () => this.#enrolment(folder);
    const vm = vmIdOf(enrolment());
    this.#options = options;
    this.#startedMs = clock.now();
    this.#source = options.source ?? createGuestSource({ clock, vm });
    this.#buffer = new RowBuffer({
      ...{ folder: bufferFolder(folder), clock, random, ...options.bounds },
      onDropped: (rows, why) => this.#dropped(rows, why),
    });
    this.#shipper = new Shipper({
      ...{ buffer: this.#buffer, enrolment, clock, random },
      send: options.send ?? createSender(clock),
      onOutcome: (batch, outcome) => this.#told(batch, outcome),
    });
  }

  get ended(): Promise<void> {
    return this.#ended;
  }

  start(): void {
    const { clock, intervalMs, log } = this.#options;
    const { rows } = this.#buffer.stats();
    if (rows > 0) log.info({ rows }, 'Rows of an earlier run wait to be sent');
    const warning = this.#expiryWarning();
    if (warning) log.warn({}, warning);
    this.#ended = this.#shipper.run(this.#stopping.signal);
    this.#collector = startCollector({
      ...{ project: '', source: this.#source, clock, intervalMs },
      sink: { observe: async (_project, observed) => this.#keep(observed) },
      onFault: (fault) => this.#tellOnce(fault),
    });
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  status(): AgentStatus {
    const [fault] = this.#collector?.status().faults ?? [];
    const told = this.#sendFault || fault?.message || this.#expiryWarning();
    return {
      ...{ startedMs: this.#startedMs, writtenMs: this.#options.clock.now() },
      ...{ intervalMs: this.#options.intervalMs, ...this.#counts },
      ...(this.#lastSentMs !== undefined && { lastSentMs: this.#lastSentMs }),
      rejected: Object.fromEntries(this.#rejected),
      ...(told && { fault: told }),
    };
  }

  #enrolment(folder: string): StoredEnrolment {
    const enrolment = readEnrolment(folder);
    this.#keyEndsMs = enrolment.expiresUnix * 1000;
    return enrolment;
  }

  /** There is no rotation: a person has to enrol the VM again, and has to know in time. */
  #expiryWarning(): string | undefined {
    const leftMs = this.#keyEndsMs - this.#options.clock.now();
    if (leftMs > EXPIRY_WARNING_MS) return undefined;
    return `The key ends on ${new Date(this.#keyEndsMs).toISOString()}: enrol the VM again before`;
  }

  async #stop(): Promise<void> {
    this.#stopping.abort();
    await this.#collector?.stop();
    // A fault of the disk is told by `ended`, not a second time by the stop.
    await this.#ended.catch(() => {});
    this.#buffer.close();
    this.#writeStatus();
  }

  /** Throws what the disk throws: the collector keeps the rows, and offers them again. */
  #keep(rows: readonly ObservedRow[]): void {
    for (const { observedMs, values } of rows) this.#buffer.append({ observedMs, values });
    this.#counts.observedRows += rows.length;
    this.#writeStatus();
    this.#shipper.notice();
  }

  #told({ rows }: BufferedBatch, outcome: SendOutcome): void {
    const { log, clock } = this.#options;
    if (outcome.kind === 'stored') {
      if (this.#sendFault !== '') log.info({}, 'The service takes rows again');
      this.#sendFault = '';
      this.#counts.sentRows += rows.length;
      this.#lastSentMs = clock.now();
      for (const { reason, series } of outcome.rejected) this.#noteRejected(reason, series);
    } else if (outcome.kind === 'refused') {
      this.#dropped(rows.length, outcome.message);
    } else if (outcome.message !== this.#sendFault) {
      this.#sendFault = outcome.message;
      log.warn({ waiting: this.#buffer.stats().rows }, `Rows wait: ${outcome.message}`);
    }
    this.#writeStatus();
  }

  #noteRejected(reason: string, series: string): void {
    const times = this.#rejected.get(reason) ?? 0;
    this.#rejected.set(reason, times + 1);
    if (times === 0) this.#options.log.warn({ reason, series }, 'The service refuses samples');
  }

  #dropped(rows: number, why: string): void {
    this.#counts.droppedRows += rows;
    this.#options.log.error({ rows }, `Rows were given up: ${why}`);
  }

  /** A fault is told when it is new; how long it lasts is seen in the status. */
  #tellOnce({ reason, message, times }: CollectorFault): void {
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
