/**
 * A machine's history, as far as the sample log depends on it: entries are in memory until they are
 * flushed, now and then, and gone with their process before. From the first that is in memory alone,
 * the floor, the next process needs the log.
 */
import type { HistoryWriter } from '../../actors/alerting/evaluator/evaluator.ts';
import type { NewestReport } from '../../actors/vms/vm-sources.ts';
import type { SampleBatch } from '../../streams/telemetry/samples/batch.ts';
import type { Dice } from './dice.ts';
import type { World } from './world.ts';

/** Between two flushes of a partition, ms. */
const FLUSH_MS_MIN = 5_000;
const FLUSH_MS_MAX = 90_000;

interface Place {
  readonly partition: number;
  readonly sequence: number;
}

export class SimulatedHistory implements HistoryWriter {
  /** Elapsed time until which nothing can be flushed, ms. */
  fullUntilMs = 0;
  /** The last entry of each partition up to which all is on disk. */
  readonly #flushed = new Map<number, number>();
  readonly #onDisk = new Set<number>();
  readonly #inMemory = new Map<number, Place>();
  /** Also over restarts: what was in memory alone is read again. */
  readonly #newest = new Map<string, NewestReport>();
  /** What has left the log. */
  readonly #left = new Set<number>();
  /** Of that what is on no disk of this machine, and nobody is to blame for. */
  readonly #excused = new Set<number>();
  readonly #world: World;
  readonly #dice: Dice;
  readonly #due = new Set<number>();
  #process = 0;

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
  }

  /** Another process begins: what the last one had in memory is gone. */
  begin(): void {
    this.#process++;
    this.#inMemory.clear();
    this.#due.clear();
  }

  /** The disk is replaced by an empty one. */
  lose(): void {
    this.begin();
    this.#newest.clear();
    this.#onDisk.clear();
    this.#flushed.clear();
    for (const sequence of this.#left) this.#excused.add(sequence);
  }

  append(batch: SampleBatch, place: Place): void {
    this.#take(place);
    for (let i = 0; i < batch.count; i++) this.#note(batch, i);
  }

  /** The newest row of a VM by its time. */
  newestReport(project: string, vm: string): NewestReport | undefined {
    return this.#newest.get(`${project} ${vm}`);
  }

  #note(batch: SampleBatch, i: number): void {
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

  /** Is it on disk, or in the memory of the process that runs? */
  has(sequence: number): boolean {
    return this.#onDisk.has(sequence) || this.#inMemory.has(sequence);
  }

  /** The entry leaves the log. @returns true when the next process would have needed it */
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
  }
}
