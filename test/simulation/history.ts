/**
 * A machine's history, as far as the sample log depends on it: entries stay in memory until they
 * are flushed, and are lost if the process ends first. The next process needs the log from the
 * floor, the first entry that exists only in memory.
 */
import type { HistoryWriter } from '../../actors/alerting/evaluator/sample-pipeline.ts';
import type { NewestReport } from '../../actors/vms/vm-sources.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

/** Minimum time between two flushes of a partition, ms. */
const FLUSH_MS_MIN = 5_000;
const FLUSH_MS_MAX = 90_000;

interface Place {
  readonly partition: number;
  readonly sequence: number;
}

export class SimulatedHistory implements HistoryWriter {
  /** Elapsed time until which nothing can be flushed, ms. */
  fullUntilMs = 0;
  /** Rows of the log are still missing, so reads would fail. */
  isFilling = false;
  /** Per partition, the last entry up to which everything is on disk. */
  readonly #flushed = new Map<number, number>();
  readonly #onDisk = new Set<number>();
  readonly #inMemory = new Map<number, Place>();
  /** Kept across restarts: entries lost from memory are read again. */
  readonly #newest = new Map<string, NewestReport>();
  /** Entries that have left the log. */
  readonly #left = new Set<number>();
  /** Those of them that no disk of this machine has, without any fault. */
  readonly #excused = new Set<number>();
  readonly #world: World;
  readonly #dice: Dice;
  readonly #due = new Set<number>();
  /** Entries below it are on disk, as of the last flush. */
  #oldestFloor = 1;
  /** Newest entry that the running process has taken. */
  #newestTaken = 0;
  #process = 0;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  /** Starts another process: the memory of the previous one is lost. */
  begin(): void {
    this.#process++;
    this.#newestTaken = 0;
    this.#inMemory.clear();
    this.#due.clear();
  }

  /** Replaces the disk by an empty one. */
  lose(): void {
    this.begin();
    this.#newest.clear();
    this.#onDisk.clear();
    this.#flushed.clear();
    this.#oldestFloor = 1;
    for (const sequence of this.#left) this.#excused.add(sequence);
  }

  append(batch: SampleBatch, place: Place): void {
    this.#take(place);
    for (let i = 0; i < batch.count; i++) this.#record(batch, i);
  }

  /** Newest row of a VM by its time. */
  newestReport(project: string, vm: string): NewestReport | undefined {
    return this.#newest.get(`${project} ${vm}`);
  }

  #record(batch: SampleBatch, i: number): void {
    const { project, vm } = batch.vms[batch.vm[i] ?? 0] ?? { project: '', vm: '' };
    const observedMs = batch.observedMs[i] ?? 0;
    const key = `${project} ${vm}`;
    if (observedMs <= (this.#newest.get(key)?.observedMs ?? 0)) return;
    this.#newest.set(key, {
      observedMs,
      state: batch.state[i] ?? 0,
      stateReason: batch.strings[batch.stateReason[i] ?? 0] ?? '',
      hasReadings: (batch.valueOffset[i + 1] ?? 0) > (batch.valueOffset[i] ?? 0),
    });
  }

  pass(place: Place): void {
    this.#take(place);
  }

  floor(partition: number): number {
    return (this.#flushed.get(partition) ?? 0) + 1;
  }

  oldestFloor(): number {
    return this.#oldestFloor;
  }

  setFilling(isFilling: boolean): void {
    this.isFilling = isFilling;
  }

  /** True if the entry is on disk or in the memory of the running process. */
  has(sequence: number): boolean {
    return this.#onDisk.has(sequence) || this.#inMemory.has(sequence);
  }

  /** Removes the entry from the log. @returns true when the next process would have needed it */
  leave(sequence: number): boolean {
    this.#left.add(sequence);
    if (this.#onDisk.has(sequence)) return false;
    this.#excused.add(sequence);
    return true;
  }

  isExcused(sequence: number): boolean {
    return this.#excused.has(sequence);
  }

  #take(place: Place): void {
    this.#newestTaken = Math.max(this.#newestTaken, place.sequence);
    this.#inMemory.set(place.sequence, place);
    if (this.#due.has(place.partition)) return;
    this.#due.add(place.partition);
    this.#flushLater(place.partition);
  }

  #flushLater(partition: number): void {
    const process = this.#process;
    this.#world.in(this.#dice.between(FLUSH_MS_MIN, FLUSH_MS_MAX), () => {
      if (process !== this.#process) return;
      if (this.#world.elapsedMs < this.fullUntilMs) return this.#flushLater(partition);
      this.#due.delete(partition);
      this.#flush(partition);
    });
  }

  #flush(partition: number): void {
    for (const [sequence, place] of this.#inMemory) {
      if (place.partition !== partition) continue;
      this.#inMemory.delete(sequence);
      this.#onDisk.add(sequence);
      this.#flushed.set(partition, Math.max(sequence, this.#flushed.get(partition) ?? 0));
    }
    this.#oldestFloor = Math.min(this.#newestTaken + 1, ...this.#inMemory.keys());
  }
}
