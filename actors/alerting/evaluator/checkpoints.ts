/**
 * Checkpoints of evaluation: the state of each partition after some entry of the log, so that a
 * restart reads the entries since then instead of hours of the log. A restored partition continues
 * as if the process had never stopped.
 *
 *     entry handled, its edges decided or kept ─▶ due? ─▶ encode in turns ─▶ write behind ─▶ index
 *     start ─▶ index ─▶ is the log the same, without a loss since? ─▶ restore
 *
 * Evaluation waits while a partition is encoded, and no longer: packing and writing happen beside
 * it. A checkpoint is soft state. One that is missing, damaged, in another format, or older than
 * the log's entries is not used. Its partition then starts from rows and the log.
 */
import { CHECKPOINT_FORM } from '../../../streams/alerting/evaluation/checkpoint/checkpoint-codec.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { EVENTS_STREAM } from '../../../streams/platform/commit/events.ts';
import { TimeSlices } from '../../../streams/platform/operators.ts';
import { PARTITIONS, type Stream, type StreamState } from '../../../streams/platform/stream.ts';
import type { PlacedEntry } from '../../../streams/telemetry/entry-codec.ts';
import type { Host } from '../../platform/host/host-port.ts';
import { SAMPLES_STREAM } from '../../telemetry/sample-log.ts';
import { blocksOf, ContentsReader, type PartitionContents } from './checkpoint-parts.ts';

/** Where checkpoints are kept; `sqlite/alerting/checkpoint-files.ts` implements it. */
export interface CheckpointStore {
  /** As saved; undefined: none. Rejects if it is damaged. */
  index(): Promise<unknown>;
  saveIndex(index: CheckpointIndex, named: ReadonlySet<string>): Promise<void>;
  write(name: string, blocks: Iterable<Uint8Array>): Promise<void>;
  /** Rejects if the file is missing or damaged. */
  read(name: string): AsyncIterable<Uint8Array>;
}

/** A position in the log. The time at which the entry was stored proves that it is the same log. */
interface LogPosition {
  readonly sequence: number;
  readonly storedMs: number;
}

/** Names the valid checkpoints, and the entries by which they know their log. */
export interface CheckpointIndex {
  readonly form: number;
  /** Identity of the sample log. */
  readonly log: string;
  /** The commits that decided the edges up to here are in this stream, up to this sequence. */
  readonly events: { readonly identity: string; readonly sequence: number };
  /** Everything up to here has been evaluated. */
  readonly through: LogPosition;
  readonly partitions: readonly SavedPartition[];
  /** Partitions that have a state, and no checkpoint yet. */
  readonly unsaved: readonly number[];
}

interface SavedPartition {
  readonly partition: number;
  readonly file: string;
  /** The last entry that the checkpoint contains. */
  readonly at: LogPosition;
  /** The partition had entries between `at` and `through`. */
  readonly isBehind: boolean;
}

export interface CheckpointsDeps {
  readonly store: CheckpointStore;
  readonly stream: Stream;
  readonly clock: Clock;
  readonly host: Pick<Host, 'appliedSequence'>;
  /** Called for a checkpoint that could not be used or written. Evaluation continues without it. */
  readonly onFault: (what: string, error: unknown) => void;
  /** Called with the number of partitions that continue from checkpoints, and their position. */
  readonly onRestored?: (partitions: number, sequence: number) => void;
  /** Time between two checkpoints of a partition, ms. Default 5 minutes. */
  readonly intervalMs?: number;
  /**
   * Age of a checkpoint up to which no entry after it can have been truncated, ms. Default 3 hours,
   * because entries are kept for at least four.
   */
  readonly uncutMs?: number;
}

/** Partitions that continue from a checkpoint: first entry of the log that each of them needs. */
export interface RestoredPartitions {
  readonly from: ReadonlyMap<number, number>;
  /** A partition without contents has had no entry. */
  readonly contents: ReadonlyMap<number, PartitionContents>;
}

/** Time between two checkpoints of a partition, ms: a restart reads about as much of the log. */
const INTERVAL_MS = 300_000;
/** Minimum time between two checkpoints, ms: encoding them delays evaluation by a few per cent at most. */
const DISTANCE_MS = 500;
const UNCUT_MS = 3 * 3_600_000;

/** Takes, keeps and restores checkpoints. One for all runs of the evaluator of a process. */
export class Checkpoints {
  readonly #deps: CheckpointsDeps;
  readonly #slices: TimeSlices;
  #identities: Promise<{ readonly log: string; readonly events: string }> | undefined;
  /** The last entry evaluated, of all partitions and of each. */
  #through: LogPosition = { sequence: 0, storedMs: 0 };
  readonly #last = new Map<number, LogPosition>();
  readonly #saved = new Map<number, Omit<SavedPartition, 'isBehind'>>();
  readonly #takenMs = new Map<number, number>();
  /** Partitions with entries before `#through` that have not been evaluated. */
  readonly #apart = new Set<number>();
  #takenLastMs = Number.NEGATIVE_INFINITY;
  /** According to the index on disk; see `floorOf`. */
  #floors: ReadonlyMap<number, number> = new Map();
  readonly #startedMs: number;
  #writing: Promise<void> | undefined;

  constructor(deps: CheckpointsDeps) {
    this.#deps = deps;
    this.#slices = new TimeSlices(deps.clock);
    this.#startedMs = deps.clock.now();
  }

  /**
   * Time up to which the log is not needed for a restart, Unix ms: that of the checkpoint that is
   * furthest behind its partition, or now. Without a checkpoint, the start of the process.
   */
  coveredMs(): number {
    let coveredMs = this.#deps.clock.now();
    for (const partition of new Set([...this.#last.keys(), ...this.#apart])) {
      const at = this.#saved.get(partition)?.at;
      if (at === undefined) coveredMs = Math.min(coveredMs, this.#startedMs);
      else if (this.isBehind(partition)) coveredMs = Math.min(coveredMs, at.storedMs);
    }
    return coveredMs;
  }

  /**
   * First sequence that a restart would need of the partition: that of the entry by which it knows the
   * log. Undefined: it has no checkpoint.
   */
  floorOf(partition: number): number | undefined {
    return this.#floors.get(partition);
  }

  /** Reads what can be used. Called before each run of the evaluator. */
  async restore(): Promise<RestoredPartitions> {
    await this.#writing;
    this.#identities = undefined;
    this.#last.clear();
    this.#saved.clear();
    this.#apart.clear();
    this.#through = { sequence: 0, storedMs: 0 };
    const from = new Map<number, number>();
    const contents = new Map<number, PartitionContents>();
    try {
      const index = await this.#usableIndex();
      if (index) await this.#restoreAll(index, from, contents);
    } catch (error) {
      this.#deps.onFault('the checkpoints of evaluation could not be read', error);
      from.clear();
      contents.clear();
    }
    if (from.size > 0) this.#deps.onRestored?.(from.size, this.#through.sequence);
    return { from, contents };
  }

  /**
   * Reads the checkpoint of one partition, while the others continue. Undefined: it has none that can be
   * used.
   */
  async restoreOne(
    partition: number,
  ): Promise<{ readonly from: number; readonly contents: PartitionContents } | undefined> {
    await this.#writing;
    const saved = this.#saved.get(partition);
    const { clock, uncutMs = UNCUT_MS } = this.#deps;
    if (saved === undefined) return undefined;
    const isUncut = clock.now() - saved.at.storedMs < uncutMs;
    if (!isUncut && !(await this.#holds(saved.at, partition))) return undefined;
    const contents = await this.#contentsOf(saved.partition, saved.file);
    if (contents === undefined) this.#saved.delete(partition);
    return contents && { from: saved.at.sequence + 1, contents };
  }

  /** Called when the log's reader passes over the entries of a partition from now on. */
  setApart(partition: number): void {
    this.#apart.add(partition);
  }

  /** Called when the log's reader evaluates the partition again. @param last its last entry */
  join(partition: number, last: PlacedEntry | undefined): void {
    this.#apart.delete(partition);
    if (last) this.#last.set(partition, { sequence: last.sequence, storedMs: last.storedMs });
  }

  /** Called when an entry has been evaluated and its edges are decided or kept, in order. */
  passed({ partition, sequence, storedMs }: PlacedEntry): void {
    this.#through = { sequence, storedMs };
    this.#last.set(partition, this.#through);
  }

  /** True if the partition has had an entry since its checkpoint. */
  isBehind(partition: number): boolean {
    if (this.#apart.has(partition)) return true;
    const sequence = this.#last.get(partition)?.sequence ?? 0;
    return sequence > (this.#saved.get(partition)?.at.sequence ?? 0);
  }

  /** True if the partition should be saved after this entry. */
  isDue(partition: number): boolean {
    const nowMs = this.#deps.clock.elapsed();
    if (this.#writing !== undefined || nowMs < this.#takenLastMs + DISTANCE_MS) return false;
    const { intervalMs = INTERVAL_MS } = this.#deps;
    return nowMs >= (this.#takenMs.get(partition) ?? Number.NEGATIVE_INFINITY) + intervalMs;
  }

  /**
   * Saves a partition as it is after its last entry. Resolves when it has been encoded: its
   * contents may change from then on, while it is being written.
   * @param partitions that have a state
   */
  async take(partition: number, contents: PartitionContents, partitions: Iterable<number>) {
    const at = this.#last.get(partition);
    if (at === undefined) return;
    this.#takenLastMs = this.#deps.clock.elapsed();
    this.#takenMs.set(partition, this.#takenLastMs);
    const blocks: Uint8Array[] = [];
    for (const block of blocksOf(contents)) {
      if (block) blocks.push(block);
      if (this.#slices.isSpent()) await this.#slices.yieldIfDue();
    }
    const file = `${partition}-${at.sequence}`;
    this.#writing = this.#write({ partition, file, at }, blocks, [...partitions])
      .catch((error) => {
        this.#deps.onFault(`a checkpoint of partition ${partition} could not be written`, error);
      })
      .finally(() => {
        this.#writing = undefined;
      });
  }

  /** Resolves when nothing is being written: part of a graceful stop. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(
    saved: Omit<SavedPartition, 'isBehind'>,
    blocks: readonly Uint8Array[],
    partitions: readonly number[],
  ): Promise<void> {
    const { store, host } = this.#deps;
    const identities = await this.#identified();
    await store.write(saved.file, blocks);
    this.#saved.set(saved.partition, saved);
    const index: CheckpointIndex = {
      form: CHECKPOINT_FORM,
      log: identities.log,
      events: { identity: identities.events, sequence: host.appliedSequence() },
      through: this.#through,
      partitions: [...this.#saved.values()].map((one) => ({
        ...one,
        isBehind: this.isBehind(one.partition),
      })),
      unsaved: [...new Set([...partitions, ...this.#apart])].filter(
        (partition) => !this.#saved.has(partition),
      ),
    };
    await store.saveIndex(index, new Set(index.partitions.map(({ file }) => file)));
    this.#floors = floorsOf(index);
  }

  async #identified() {
    const { stream } = this.#deps;
    this.#identities ??= Promise.all([
      stream.state(SAMPLES_STREAM),
      stream.state(EVENTS_STREAM),
    ]).then(([log, events]) => ({ log: log.identity, events: events.identity }));
    return await this.#identities;
  }

  async #usableIndex(): Promise<CheckpointIndex | undefined> {
    const { store, stream } = this.#deps;
    // The checksum proves that this program wrote it; its form says which fields it has.
    const index = (await store.index()) as CheckpointIndex | undefined;
    if (index === undefined || index.form !== CHECKPOINT_FORM) return undefined;
    const log = await stream.state(SAMPLES_STREAM);
    const events = await stream.state(EVENTS_STREAM);
    this.#identities = Promise.resolve({ log: log.identity, events: events.identity });
    if (log.identity !== index.log || events.identity !== index.events.identity) return undefined;
    // An older copy of the data folder, or a stream without its end: commits may be missing that
    // the checkpoint counts as decided.
    if (events.lastSequence < index.events.sequence) return undefined;
    return isWithin(log, index.through) ? index : undefined;
  }

  async #restoreAll(
    index: CheckpointIndex,
    from: Map<number, number>,
    contents: Map<number, PartitionContents>,
  ): Promise<void> {
    this.#through = index.through;
    const saved = new Map(index.partitions.map((one) => [one.partition, one]));
    const unsaved = new Set(index.unsaved);
    const isRecent = await this.#isRecent(index.through);
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const one = saved.get(partition);
      const isUncut = one !== undefined && (await this.#holds(one.at, partition));
      if (!isUncut && !(isRecent && one?.isBehind !== true && !unsaved.has(partition))) continue;
      if (one !== undefined) {
        const restored = await this.#contentsOf(partition, one.file);
        if (restored === undefined) continue;
        contents.set(partition, restored);
        const { file, at } = one;
        this.#saved.set(partition, { partition, file, at });
        this.#last.set(partition, at);
      }
      from.set(partition, (one?.isBehind === true ? one.at : index.through).sequence + 1);
    }
    this.#floors = floorsOf(index);
  }

  async #contentsOf(partition: number, file: string): Promise<PartitionContents | undefined> {
    const reader = new ContentsReader(partition);
    try {
      for await (const block of this.#deps.store.read(file)) {
        for (const _ of reader.take(block)) {
          if (this.#slices.isSpent()) await this.#slices.yieldIfDue();
        }
      }
      return reader.end();
    } catch (error) {
      this.#deps.onFault(`the checkpoint of partition ${partition} cannot be used`, error);
      return undefined;
    }
  }

  /** True if the log has this entry, and no later entry of any partition can be missing. */
  async #isRecent(position: LogPosition): Promise<boolean> {
    const { clock, uncutMs = UNCUT_MS } = this.#deps;
    return clock.now() - position.storedMs < uncutMs && (await this.#holds(position));
  }

  /**
   * True if the log has this entry. A partition is truncated from its beginning, so the later ones
   * are there too.
   */
  async #holds({ sequence, storedMs }: LogPosition, partition?: number): Promise<boolean> {
    const read = this.#deps.stream.read({
      stream: SAMPLES_STREAM,
      from: { sequence },
      subject: `svc.samples.${partition ?? '*'}.*`,
      untilEnd: true,
    });
    try {
      for await (const message of read) {
        return message.sequence === sequence && message.timeMs === storedMs;
      }
      return false;
    } finally {
      await read.close();
    }
  }
}

function isWithin({ lastSequence }: StreamState, { sequence }: LogPosition): boolean {
  return sequence > 0 && sequence <= lastSequence;
}

function floorsOf({ partitions, through }: CheckpointIndex): Map<number, number> {
  return new Map(
    partitions.map(({ partition, at, isBehind }) => {
      return [partition, (isBehind ? at : through).sequence];
    }),
  );
}
