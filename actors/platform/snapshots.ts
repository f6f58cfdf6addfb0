/**
 * Keeps a recent snapshot of the projection for members that join: written by the member that acts
 * for `_system`, at least daily, after many commits, and on demand.
 */
import { type Clock, isAhead } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { pause } from '../../streams/platform/pause.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import {
  type EventsPosition,
  newestSnapshot,
  type SnapshotManifest,
  writeSnapshot,
} from '../../streams/platform/snapshots.ts';
import { type Stream, StreamUnavailable } from '../../streams/platform/stream.ts';
import { programFormats } from './host/formats.ts';

/** Ports for taking snapshots. */
export interface SnapshotSource {
  /** Number of migrations in the projection's schema. */
  readonly schema: number;
  take(signal: AbortSignal): Promise<{
    readonly position: EventsPosition;
    readonly bytes: number;
    content(): AsyncIterable<Uint8Array>;
    discard(): void;
  }>;
}

export interface SnapshotKeeperDeps {
  readonly stream: Stream;
  readonly clock: Clock;
  readonly random: Random;
  readonly ownership: Pick<Ownership, 'owns'>;
  readonly source: SnapshotSource;
  /** Name of this member. */
  readonly node: string;
  /** Position in EVENTS up to which this member has applied. */
  readonly appliedSequence: () => number;
  /** Called if a snapshot could not be written; it is retried. */
  readonly onFault?: (error: unknown) => void;
}

const CHECK_MS = 60_000;
const AGE_MS_MAX = 86_400_000;
/** Commits after which a joining member would read longer than a snapshot takes. */
const COMMITS_MAX = 10_000;

export class SnapshotKeeper {
  readonly #deps: SnapshotKeeperDeps;
  #underWay: Promise<SnapshotManifest | 'superseded'> | undefined;
  #coveredMs: number | undefined;

  constructor(deps: SnapshotKeeperDeps) {
    this.#deps = deps;
  }

  /**
   * Time up to which the newest snapshot has every commit, Unix ms, as of the last check; undefined:
   * there is none, or another member keeps it.
   */
  coveredMs(): number | undefined {
    return this.#coveredMs;
  }

  /** Writes one whenever it is due, until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (await this.#isDue()) await this.write(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#deps.onFault?.(error);
        if (!(error instanceof StreamUnavailable)) throw error;
      }
      await pause(this.#deps.clock, CHECK_MS, signal);
    }
  }

  /** Writes one now; a call during a write waits for that one. Throws its fault. */
  write(signal: AbortSignal): Promise<SnapshotManifest | 'superseded'> {
    this.#underWay ??= this.#write(signal).finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  async #write(signal: AbortSignal): Promise<SnapshotManifest | 'superseded'> {
    const { stream, clock, random, source, node } = this.#deps;
    const taken = await source.take(signal);
    try {
      const { position, bytes } = taken;
      const createdMs = clock.now();
      const facts = {
        id: ulid(createdMs, random),
        createdMs,
        writer: node,
        position,
        bytes,
        ...programFormats(),
        schema: source.schema,
      };
      return await writeSnapshot(stream, facts, taken.content());
    } finally {
      taken.discard();
    }
  }

  async #isDue(): Promise<boolean> {
    const { ownership, stream, clock, appliedSequence } = this.#deps;
    this.#coveredMs = undefined;
    // An empty projection needs none: a joining member reads what there is.
    if (!ownership.owns(SYSTEM_PROJECT) || appliedSequence() === 0) return false;
    const newest = await newestSnapshot(stream);
    if (newest === undefined) return true;
    const { createdMs, position } = newest;
    const nowMs = clock.now();
    const isCurrent = appliedSequence() === position.applied;
    this.#coveredMs = isCurrent ? nowMs : createdMs;
    if (isCurrent) return false;
    const isOld = nowMs - createdMs >= AGE_MS_MAX || isAhead(createdMs, nowMs);
    return isOld || appliedSequence() - position.applied >= COMMITS_MAX;
  }
}
