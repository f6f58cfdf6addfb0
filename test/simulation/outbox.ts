/**
 * Outbox of a collector: stores unsent rows and sends them later, and repeats rows that may have
 * been lost. It records sent and acknowledged rows.
 */
import type { IngestRow, SenderReach } from '../../actors/vms/sent-row.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

interface Batch {
  readonly id: string;
  readonly rows: readonly IngestRow[];
}

/** Acknowledged rows. */
export interface Acknowledged {
  readonly project: string;
  readonly row: IngestRow;
  readonly elapsedMs: number;
}

export interface OutboxOptions {
  readonly world: World;
  readonly cluster: Cluster;
  readonly project: string;
  readonly dice: Dice;
  /** Absent for a source of the service itself. */
  readonly reach?: SenderReach;
}

/** How long a collector waits for an answer, ms. */
const PATIENCE_MS = 8_000;

export class Outbox {
  readonly acknowledged: Acknowledged[] = [];
  /** Every row that was ever sent, as its text. */
  readonly sent = new Set<string>();
  readonly #options: OutboxOptions;
  readonly #waiting: Batch[] = [];
  #batches = 0;
  #isSending = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** True if everything is acknowledged. */
  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  enqueue(rows: readonly IngestRow[]): void {
    if (rows.length === 0) return;
    this.#waiting.push({ id: `batch-${++this.#batches}`, rows });
    if (!this.#isSending) void this.#send();
  }

  async #send(): Promise<void> {
    const { world, dice } = this.#options;
    this.#isSending = true;
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      // The backlog goes as one buffered batch after the earlier attempts have succeeded.
      if (await this.#write(first)) {
        this.#waiting.shift();
        if (this.#waiting.length > 1 && dice.chance(0.5)) this.#merge();
      } else await world.wait(dice.between(500, 5_000));
    }
    this.#isSending = false;
  }

  #merge(): void {
    const rows = this.#waiting.splice(0).flatMap((batch) => batch.rows);
    this.#waiting.push({ id: `batch-${++this.#batches}`, rows });
  }

  async #write({ id, rows }: Batch): Promise<boolean> {
    const { project, reach, world, cluster } = this.#options;
    for (const row of rows) this.sent.add(sayingOf(project, row));
    const request = { project, batchId: id, rows, ...(reach && { reach }) };
    const answer = await cluster.ask(({ ingest }) => ingest.write(request), PATIENCE_MS);
    if (answer.kind !== 'answered') return false;
    const rejected = new Set(answer.value.rejected.map(({ row }) => row));
    const { elapsedMs } = world;
    for (const [i, row] of rows.entries()) {
      if (!rejected.has(i)) this.acknowledged.push({ project, row, elapsedMs });
    }
    return true;
  }
}

/** The content of a row as text: equal rows have equal texts everywhere. */
export function sayingOf(
  project: string,
  row: Pick<IngestRow, 'vm' | 'observedMs' | 'state' | 'series' | 'values'>,
): string {
  const { vm, observedMs, state, series, values } = row;
  return JSON.stringify([project, vm, observedMs, state, series, Array.from(values)]);
}
