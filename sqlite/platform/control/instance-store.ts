/**
 * The projection of commits on SQLite: heads, instances, timers, transitions, records, requests.
 * Applying is plain upserts of outcomes decided elsewhere, one transaction per commit, the same on
 * every node; it has no rules and no clock. EVENTS is the truth: this file may lag behind it (also
 * after a power loss) and catches up from its recorded position.
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import { type Head, HistoryMismatch, judge } from '../../../streams/platform/commit/chain.ts';
import type { ChangeUse } from '../../../streams/platform/commit/change-use.ts';
import type { EncodedCommit } from '../../../streams/platform/commit/codec.ts';
import { COMMIT_FORMAT, type Commit } from '../../../streams/platform/commit/commit.ts';
import { EVENTS_MISSING } from '../../../streams/platform/commit/events.ts';
import type {
  DueTimer,
  RecordedRequest,
  StoredInstance,
  StoredReads,
} from '../../../streams/platform/commit/projection.ts';
import { migrate, type SqliteDatabase } from '../database.ts';
import { checksumOf } from '../row-checksum.ts';
import { applyCommit, prepareWrites, type Writes } from './commit-writes.ts';
import { fillIndexes, type IndexedMachines } from './index-columns.ts';
import {
  type EndedInstance,
  type EndedPage,
  instanceReads,
  type OldCommit,
  type Position,
} from './instance-reads.ts';
import { instanceMigrations } from './instances-schema.ts';
import { LatestRows } from './latest-rows.ts';

/**
 * `applied`: the projection has changed. `superseded`: skipped, as on every node. `known`: already
 * judged. `foreign`: nothing was written; the stream must be read again.
 */
export type ApplyOutcome = 'applied' | 'superseded' | 'known' | 'foreign';

/**
 * The projection as the host uses it. One instance writes a file; other threads read on connections
 * of their own.
 */
export interface InstanceStore {
  position(): Position;
  /** Binds the projection to a stream. Throws `HistoryMismatch` when it is bound to another. */
  bind(streamIdentity: string): void;
  /**
   * Judges a commit and, if it follows its project's head, applies it in one transaction. Durable
   * no later than the stream's next own write to the same file; until then EVENTS has it. A second
   * call with a judged sequence changes nothing.
   */
  apply(encoded: EncodedCommit, sequence: number): ApplyOutcome;
  /** Skips a `foreign` commit that has been investigated; only positions change. */
  passOver(encoded: EncodedCommit, sequence: number): void;
  /** A project's last commit, `GENESIS` before the first. */
  head(project: string): Head;
  /** Sequence of the last judged message of the project's subject; 0 before the first. */
  lastSequence(project: string): number;
  /** The applied commit with that number in the project's chain. */
  commit(
    project: string,
    number: number,
  ): { readonly id: string; readonly hash: string; readonly sequence: number } | undefined;
  request(project: string, scope: string, id: string): RecordedRequest | undefined;
  /** Changes by callers in the project on the day of `atMs`, Unix ms. */
  changeUse(project: string, atMs: number): ChangeUse;
  /** See `RunningHost.endedBefore`. */
  endedBefore(project: string, machine: string, page: EndedPage): EndedInstance[];
  /** See `RunningHost.oldestCommits`. */
  oldestCommits(project: string, limit: number): OldCommit[];
  view(project: string): StoredReads;
  /**
   * Runs `work` in one read transaction and returns its result. Outside of one, every read takes
   * the file lock, which costs more than the lookup. `work` must not call `apply`.
   */
  reading<T>(work: () => T): T;
  /** Highest version of each machine that ever wrote the project's rows, by machine name. */
  machineVersions(project: string): Readonly<Record<string, number>>;
  /** Every project that has a commit, in byte order. */
  projects(): string[];
  /** Time of the latest commit of all projects, Unix ms; 0 before the first. */
  latestCommitMs(): number;
  /** Any project's instance by its globally unique id. */
  findInstance(machine: string, instance: string): StoredInstance | undefined;
  /** See `Host.findInstancesOf`. */
  findInstancesOf(machine: string, subject: string): StoredInstance[];
  /** Timers due at `nowMs`, earliest first, of projects that `owns` accepts (default: all). */
  dueTimers(nowMs: number, limit: number, owns?: (project: string) => boolean): DueTimer[];
  /** Earliest due time of a timer of a project that `owns` accepts, Unix ms. */
  nextTimerDueMs(owns?: (project: string) => boolean): number | undefined;
  /** Timers of instances whose last step was after `sinceMs`, with its time. Reads all timers. */
  timersSetAfter(sinceMs: number): { readonly timer: DueTimer; readonly stepMs: number }[];
}

/** Maximum number of cached project views. */
const VIEWS_MAX = 1_024;

/**
 * A store on an open, migrated database. The caller closes the database; synchronous NORMAL is
 * enough for it (a power loss may return it to an earlier, consistent position). `machines` declare
 * which context fields are indexed.
 */
export function openInstanceStore(
  database: SqliteDatabase,
  machines: IndexedMachines = machineDefinitions,
): InstanceStore {
  migrate(database, instanceMigrations, 'instances');
  fillIndexes(database, machines);
  const reads = instanceReads(database);
  const rows = new LatestRows();
  const views = new BoundedCache<string, StoredReads>(VIEWS_MAX);
  const writes = { ...prepareWrites(database), machines };
  const apply = database.transaction((encoded: EncodedCommit, sequence: number): ApplyOutcome => {
    const position = reads.position();
    if (sequence <= position.applied) return 'known';
    const { commit, hash } = encoded;
    const head = reads.head(commit.project);
    const judgement = judge(head, commit, (n) => reads.commit(commit.project, n)?.hash);
    if (judgement === 'foreign') return 'foreign';
    const gapped = position.gapped || sequence !== position.applied + 1;
    movePosition(writes, sequence, hash, gapped);
    const newHead = judgement === 'next' ? { ...commit, hash } : head;
    moveHead(writes, commit.project, newHead, sequence);
    if (judgement === 'superseded') return 'superseded';
    if (commit.at < head.at) recordSetBack(writes, commit);
    applyCommit(writes, encoded, sequence);
    return 'applied';
  });
  const passOver = database.transaction((encoded: EncodedCommit, sequence: number) => {
    const { project } = encoded.commit;
    const position = reads.position();
    const gapped = position.gapped || sequence !== position.applied + 1;
    movePosition(writes, sequence, encoded.hash, gapped);
    moveHead(writes, project, reads.head(project), sequence);
  });
  const versions = database.prepare<[string], { machine: string; version: number }>(
    'SELECT machine, version FROM machine_versions WHERE project = ?',
  );
  return {
    ...reads,
    machineVersions: (project) =>
      Object.fromEntries(versions.all(project).map(({ machine, version }) => [machine, version])),
    bind: (identity) => bind(reads.position(), identity, writes),
    view(project) {
      const known = views.get(project);
      if (known) return known;
      const view = rows.over(reads.view(project));
      views.set(project, view);
      return view;
    },
    reading: (work) => database.transaction(work).deferred(),
    apply(encoded, sequence) {
      const outcome = apply.immediate(encoded, sequence);
      if (outcome === 'applied') rows.apply(encoded.commit);
      return outcome;
    },
    passOver: (encoded, sequence) => passOver.immediate(encoded, sequence),
  };
}

/**
 * Identity of the stream that the projection in this file was made from, without changing the file;
 * undefined if absent yet. Throws what SQLite throws.
 */
export function boundStream(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  const database = new Database(path, { fileMustExist: true });
  try {
    const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'position'");
    if (table.get() === undefined) return undefined;
    const identity = database
      .prepare<[], string>('SELECT stream_identity FROM position')
      .pluck()
      .get();
    return identity || undefined;
  } finally {
    database.close();
  }
}

/** Throws `HistoryMismatch` if the projection was made from a stream other than this one. */
export function assertMadeFrom(bound: string, identity: string | undefined): void {
  if (bound === identity) return;
  const message =
    identity === undefined
      ? EVENTS_MISSING
      : `EVENTS is another stream (${identity}) than the one that this control.db was made from ` +
        `(${bound}). Check SVC_NATS_URL. If EVENTS was deleted and a new member made another one, keep ` +
        'this data folder: docs/operations/damage.md says how to return to it';
  throw new HistoryMismatch('otherStream', message);
}

function bind(position: Position, identity: string, writes: Writes): void {
  if (position.streamIdentity !== '') {
    assertMadeFrom(position.streamIdentity, identity);
    return;
  }
  writes.bind.run(identity, COMMIT_FORMAT);
  writes.sealPosition.run();
}

function movePosition(writes: Writes, applied: number, hash: string, gapped: boolean): void {
  writes.position.run(applied, hash, gapped ? 1 : 0);
  writes.sealPosition.run();
}

function moveHead(writes: Writes, project: string, { number, hash, at }: Head, sequence: number) {
  const columns = [project, number, hash, at, sequence];
  writes.head.run(...columns, checksumOf(columns));
}

function recordSetBack(writes: Writes, { project, number }: Commit): void {
  writes.setBack.run(project, number, checksumOf([project, number]));
}
