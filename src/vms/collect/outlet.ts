/**
 * Outlet of one project: its own buffer on disk and its own sender, so that a project whose quota
 * is used up, or which the key does not cover, delays no other. A row is in the folder of the
 * project for which it was observed, and is only ever sent to that project.
 */
import { join } from 'node:path';
import type { ObservedRow } from '../../../actors/telemetry/collectors/collector.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import type { Random } from '../../../streams/platform/random.ts';
import { type BufferedBatch, RowBuffer } from '../agent/row-buffer.ts';
import type { createRetirer, SendAs, SendBatch, SendOutcome } from '../agent/sender.ts';
import { Shipper } from '../agent/shipper.ts';

export interface OutletOptions {
  /** Folder of all buffers. */
  readonly folder: string;
  readonly project: string;
  /** Read before each attempt. Throws the errors of reading it. */
  readonly sendAs: () => Pick<SendAs, 'endpoint' | 'key'>;
  readonly send: SendBatch;
  readonly retire: ReturnType<typeof createRetirer>;
  readonly clock: Clock;
  readonly random: Random;
  readonly bytesMax: number;
  readonly onOutcome: (project: string, batch: BufferedBatch, outcome: SendOutcome) => void;
  readonly onDropped: (project: string, rows: number, why: string) => void;
}

const AGE_MS_MAX = 24 * 3_600_000;

/** Folder of a project's rows. Ids of projects have no slash. */
function outletFolder(folder: string, project: string): string {
  // "." and ".." are ids too.
  return join(folder, `project-${project}`);
}

export class Outlet {
  readonly #options: OutletOptions;
  readonly #buffer: RowBuffer;
  readonly #shipper: Shipper;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  /** Starts at once with the rows of an earlier run. Throws the errors of opening the buffer. */
  constructor(options: OutletOptions) {
    const { project, clock, random, bytesMax, send, onOutcome, onDropped } = options;
    this.#options = options;
    this.#buffer = new RowBuffer({
      folder: outletFolder(options.folder, project),
      clock,
      random,
      bytesMax,
      ageMsMax: AGE_MS_MAX,
      onDropped: (rows, why) => onDropped(project, rows, why),
    });
    this.#shipper = new Shipper({
      buffer: this.#buffer,
      clock,
      random,
      send,
      enrolment: () => this.#sendAs(),
      onOutcome: (batch, outcome) => onOutcome(project, batch, outcome),
    });
    this.#ended = this.#shipper.run(this.#stopping.signal);
  }

  /** Rejects if the disk fails and the outlet cannot continue. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** The rows are on disk when it returns. Throws the errors of the disk. */
  append(rows: readonly ObservedRow[]): void {
    this.#buffer.appendAll(
      rows.map(({ observedMs, sequence, values, ...about }) => ({
        observedMs,
        sequence,
        values,
        about,
      })),
    );
    this.#shipper.notice();
  }

  waiting(): ReturnType<RowBuffer['stats']> {
    return this.#buffer.stats();
  }

  /** false if unsent rows may include some of these VMs. Throws the reason if it was not done. */
  async retire(vms: readonly string[], requestId: string): Promise<boolean> {
    if (this.#buffer.stats().rows > 0) return false;
    const outcome = await this.#options.retire(
      this.#sendAs(),
      { vms, requestId },
      this.#stopping.signal,
    );
    if (outcome.kind !== 'stored') throw new Error(outcome.message);
    return true;
  }

  /** Unsent rows stay on disk. Repeatable. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    // `ended` reports a disk fault; the stop does not repeat it.
    await this.#ended.catch(() => {});
    this.#buffer.close();
  }

  #sendAs(): SendAs {
    const { endpoint, key } = this.#options.sendAs();
    return { endpoint, key, projectName: `projects/${this.#options.project}`, vmName: '' };
  }
}
