/**
 * A data folder as a service of many VMs leaves it: the sample log of some hours, with its ticks,
 * and the history of all but the last hour. Entries go through the codec straight into the stream,
 * because a collector would need as long as the fleet did.
 */
import { join } from 'node:path';
import { appendEntry, SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { type History, openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { partitionOf, type Stream } from '../../streams/platform/stream.ts';
import type { LogEntry } from '../../streams/telemetry/entry.ts';
import { BatchBuilder } from '../../streams/telemetry/samples/batch.ts';
import { fleetVm } from '../../test/support/fleet.ts';

export const STEP_MS = 30_000;
/** Rows of an entry, as ingest merges them. */
const ROWS = 500;
const TICK_MS = 1_000;
const FLUSH_MS = 3_600_000;
const TOTAL_BYTES = 8 * 2 ** 30;

/** Series of a row, those of a hypervisor. */
export const SERIES = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_free_bytes',
  'svc_vm_memory_used_bytes',
  'svc_vm_disk_read_bytes_total{device="vda"}',
  'svc_vm_disk_written_bytes_total{device="vda"}',
  'svc_vm_disk_reads_completed_total{device="vda"}',
  'svc_vm_disk_writes_completed_total{device="vda"}',
  'svc_vm_network_receive_bytes_total{interface="eth0"}',
  'svc_vm_network_transmit_bytes_total{interface="eth0"}',
  'svc_vm_filesystem_size_bytes{fstype="ext4",mountpoint="/"}',
  'svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/"}',
] as const;

export interface FleetLogOptions {
  readonly folder: string;
  readonly project: string;
  readonly vms: number;
  /** Observation of the first row, Unix ms. */
  readonly fromMs: number;
}

/** Writes the log of a folder on which no service runs. */
export class FleetLog {
  readonly #options: FleetLogOptions;
  readonly #partition: number;
  readonly #builder = new BatchBuilder();
  #step = 0;
  #entries = 0;

  constructor(options: FleetLogOptions) {
    this.#options = options;
    this.#partition = partitionOf(options.project);
  }

  /** Rows of each VM so far, and entries in all. */
  get written() {
    return { rowsOfEachVm: this.#step, entries: this.#entries };
  }

  /** Observation of the next row, Unix ms. */
  get nextMs(): number {
    return this.#options.fromMs + this.#step * STEP_MS;
  }

  /**
   * Appends the rows of all VMs before `untilMs`. `breaching` gets over the threshold from
   * `breachMs` on. With `flushes`, history is flushed once an hour, as by a running service.
   */
  async write(until: {
    readonly untilMs: number;
    readonly breaching?: { readonly vm: number; readonly fromMs: number };
    readonly flushes?: boolean;
  }): Promise<void> {
    const { folder } = this.#options;
    const clock = new VirtualClock(this.nextMs);
    const stream = openEmbeddedStream({ storage: join(folder, 'samples.db'), clock });
    const { identity: logIdentity } = await stream.state(SAMPLES_STREAM);
    const history = until.flushes
      ? openHistory({ folder, clock, logIdentity, background: false })
      : undefined;
    let flushMs = this.nextMs + FLUSH_MS;
    for (; this.nextMs < until.untilMs; this.#step++) {
      const stepMs = this.nextMs;
      clock.jump(stepMs - clock.now());
      await this.#append(stream, history, [...this.#entriesOf(stepMs, until.breaching)]);
      if (stepMs < flushMs) continue;
      await history?.flush();
      flushMs = stepMs + FLUSH_MS;
    }
    await history?.close();
    await stream.close();
  }

  /** All entries of a step share a commit. */
  async #append(
    stream: Stream,
    history: History | undefined,
    entries: readonly LogEntry[],
  ): Promise<void> {
    const partition = this.#partition;
    const sequences = await Promise.all(
      entries.map((entry) => appendEntry(stream, partition, entry)),
    );
    this.#entries += entries.length;
    if (history === undefined) return;
    for (const [i, entry] of entries.entries()) {
      const position = { partition, sequence: sequences[i] as number };
      if (entry.kind === 'batch') history.append(entry.batch, position);
      else history.pass(position);
    }
  }

  *#entriesOf(
    stepMs: number,
    breaching: { readonly vm: number; readonly fromMs: number } | undefined,
  ): Generator<LogEntry> {
    const { project, vms } = this.#options;
    for (let first = 0; first < vms; first += ROWS) {
      for (let n = first; n < Math.min(vms, first + ROWS); n++) {
        const isOver = breaching?.vm === n && stepMs >= breaching.fromMs;
        this.#builder.add({
          project,
          vm: fleetVm(n),
          observedMs: stepMs + (n % 300),
          sequence: this.#step + 1,
          boot: `boot-${n}`,
          vcpus: 4,
          state: 1,
          stateReason: '',
          series: SERIES,
          values: valuesOf(n, this.#step, isOver ? 0.95 : 0.3),
        });
      }
      yield { kind: 'batch', batch: this.#builder.build(stepMs + 400) };
    }
    for (let ms = TICK_MS; ms <= STEP_MS; ms += TICK_MS) yield { kind: 'tick', atMs: stepMs + ms };
  }
}

/** Counters that grow at a pace of their own, and memory that varies by some pages. */
function valuesOf(n: number, step: number, usedRatio: number): number[] {
  const pace = 1 + (n % 17);
  const wave = (step * pace + n) % 64;
  const used = Math.floor(TOTAL_BYTES * usedRatio) + wave * 4096;
  const operations = step * pace + wave;
  return [
    (step * pace) / 10,
    TOTAL_BYTES,
    TOTAL_BYTES - used,
    used,
    operations * 20_480,
    operations * 36_864,
    operations,
    operations * 3,
    operations * 700,
    operations * 900,
    TOTAL_BYTES,
    Math.floor(TOTAL_BYTES / 2) + step * 4096,
  ];
}
