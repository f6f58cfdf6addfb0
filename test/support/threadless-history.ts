/**
 * History without its threads: the head, the writer of chunks and a view, called one after another.
 * A random test can flush, merge, drop and crash at any point of a log in milliseconds. The log is
 * kept here, and is read again from the floor as the service does.
 */
import { join } from 'node:path';
import type { SqliteDatabase } from '../../sqlite/platform/database.ts';
import { Head, targetOf } from '../../sqlite/telemetry/history/head/head.ts';
import { HeadReader } from '../../sqlite/telemetry/history/head/head-reader.ts';
import {
  HISTORY_FILE,
  loadProgress,
  openHistoryFile,
} from '../../sqlite/telemetry/history/history-file.ts';
import type { VmRows } from '../../sqlite/telemetry/history/rows.ts';
import { ChunkWriter } from '../../sqlite/telemetry/history/store/chunk-writer.ts';
import { HistoryView } from '../../sqlite/telemetry/history/store/history-view.ts';
import { RETENTION_MS } from '../../streams/telemetry/entry.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import { PARTITION } from './history-from-log.ts';

interface Run {
  readonly database: SqliteDatabase;
  readonly head: Head;
  readonly writer: ChunkWriter;
  readonly view: HistoryView;
}

export class ThreadlessHistory {
  readonly #path: string;
  readonly #headBytesMax: number | undefined;
  readonly #log: SampleBatch[] = [];
  /** Counts of upkeep so far. */
  readonly upkeepCounts = { compactedDays: 0, droppedChunks: 0 };
  #run: Run;

  constructor(folder: string, options: { readonly headBytesMax?: number } = {}) {
    this.#headBytesMax = options.headBytesMax;
    this.#path = join(folder, HISTORY_FILE);
    this.#run = this.#start();
  }

  append(batch: SampleBatch): void {
    this.#log.push(batch);
    this.#run.head.append(batch, { partition: PARTITION, sequence: this.#log.length });
  }

  /** Writes pending rows of these VMs, or of all, into chunks. */
  flush(options: { readonly vm?: string; readonly movesFloors: boolean }): void {
    const { head, writer } = this.#run;
    const vms = head.pending().filter(({ vm }) => vm === (options.vm ?? vm));
    head.beginFlush(vms);
    for (const { slot, sequence } of writer.flush(vms.map(targetOf)).flushed) {
      const vm = head.vmAt(slot);
      if (vm !== undefined) head.endFlush(vm, sequence);
    }
    if (options.movesFloors) writer.moveFloors([...head.floors()]);
  }

  /**
   * Reads rows again that did not fit, as far as there is space. @returns false: rows are still
   * missing
   */
  recover(): boolean {
    const { head } = this.#run;
    for (const { project, firstSequence, lastSequence } of head.refused()) {
      for (let sequence = firstSequence; sequence <= lastSequence; sequence++) {
        const batch = this.#log[sequence - 1];
        if (batch && !head.takeAgain(project, batch, { partition: PARTITION, sequence })) break;
      }
    }
    return head.refused().length === 0;
  }

  release(expiredBeforeMs: number): void {
    this.#run.head.release(expiredBeforeMs);
  }

  /** Runs one step of the background work. */
  upkeep(nowMs: number): void {
    const dropBeforeMs = nowMs - RETENTION_MS;
    this.#run.head.release(dropBeforeMs);
    const report = this.#run.writer.upkeep({ nowMs, dropBeforeMs });
    this.upkeepCounts.compactedDays += report.compactedDays;
    this.upkeepCounts.droppedChunks += report.droppedChunks;
  }

  /** Ends as a kill does, losing every row that is in no chunk, and restarts from the log. */
  crash(): void {
    this.close();
    this.#run = this.#start();
  }

  read(vm: string, nowMs: number): VmRows {
    const stretch = { fromMs: nowMs - RETENTION_MS, toMs: Number.MAX_SAFE_INTEGER };
    return this.#run.view.read({ project: 'demo', vm, ...stretch });
  }

  close(): void {
    this.#run.view.close();
    this.#run.database.close();
  }

  #start(): Run {
    const database = openHistoryFile(this.#path);
    const { flushedSequences, floors } = loadProgress(database, 'log');
    const head = new Head({
      ...(this.#headBytesMax !== undefined && { bytesMax: this.#headBytesMax }),
      flushedSequenceOf: (project, vm) => flushedSequences.get(`${project}\n${vm}`) ?? 0,
    });
    const writer = new ChunkWriter(database, new HeadReader(head.share));
    const view = new HistoryView({ path: this.#path, head: head.share });
    for (let sequence = floors.get(PARTITION) ?? 1; sequence <= this.#log.length; sequence++) {
      const batch = this.#log[sequence - 1];
      if (batch !== undefined) head.append(batch, { partition: PARTITION, sequence });
    }
    return { database, head, writer, view };
  }
}
