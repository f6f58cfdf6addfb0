/**
 * Reads of the projection to verify it against the log: headers of commits in the order of the log,
 * the transitions recorded for each, and the resulting rows. They use their own read-only
 * connection, so that a long read blocks nothing.
 */
import type { ChainStart } from '../../../streams/platform/commit/commit.ts';
import type {
  RecordedTransition,
  StoredInstance,
} from '../../../streams/platform/commit/projection.ts';
import { openDatabase, type SqliteDatabase } from '../database.ts';
import { instanceMigrations, TRANSITION_PLACES } from './instances-schema.ts';
import { type InstanceRow, type TransitionRow, toInstance, toTransition } from './stored-rows.ts';

/** A commit as stored in the projection. */
export interface StoredCommit {
  /** Position in EVENTS. */
  readonly sequence: number;
  readonly project: string;
  readonly number: number;
  readonly id: string;
  readonly hash: string;
  /** Its header line. */
  readonly header: string;
}

/** The end of a project's chain. */
export interface StoredHead {
  readonly project: string;
  readonly number: number;
  readonly hash: string;
}

/** Start of a project's chain after older commits were removed. */
export interface StoredStart extends ChainStart {
  /** Position in EVENTS of the commit that removed them. */
  readonly decided: number;
  /** The decision that removed them, as committed. */
  readonly decision: string;
}

/** Names a machine's instance. */
export interface InstanceKey {
  readonly project: string;
  readonly machine: string;
  readonly instance: string;
}

/** A row that audit shows, with the data it must agree with. States are JSON as stored. */
export interface StoredTransition extends InstanceKey {
  readonly id: number;
  /** Position in EVENTS of its commit, which may be missing. */
  readonly sequence: number;
  readonly at: number;
  readonly from: string | null;
  /** That commit; null: it is missing. */
  readonly commit: { readonly project: string; readonly at: number } | null;
  /** State after the instance's previous transition; null = this is the first. */
  readonly before: string | null;
  /** true: the instance has a row. */
  readonly hasRow: boolean;
}

/** An instance's row beside its last transition. States are JSON as stored. */
export interface InstanceWithLast extends InstanceKey {
  readonly row: number;
  readonly value: string;
  readonly updated: number;
  /** null: it has no transition. */
  readonly last: { readonly sequence: number; readonly at: number; readonly to: string } | null;
}

/** Reads on a connection of its own; close it when done. */
export class CommitReader {
  readonly #database: SqliteDatabase;
  readonly #sql: ReturnType<typeof prepareReads>;

  /** `path`: the projection's file. Throws `SqliteError` and `SchemaMismatch`. */
  constructor(path: string) {
    this.#database = openDatabase({
      path,
      synchronous: 'NORMAL',
      readonly: true,
      migrations: instanceMigrations,
      area: 'instances',
    });
    this.#sql = prepareReads(this.#database);
  }

  /** Commits with a sequence in (`after`, `through`], oldest first. */
  commits(range: { after: number; through: number; limit: number }): StoredCommit[] {
    const { after, through, limit } = range;
    return this.#sql.commits.all(after, through, limit) as StoredCommit[];
  }

  /** Number of commits, and the sequence of the last. */
  extent(): { readonly count: number; readonly last: number } {
    return this.#sql.extent.get() as { count: number; last: number };
  }

  /** Heads of projects, except those moved by a commit after `through`. */
  heads({ through }: { through: number }): StoredHead[] {
    return this.#sql.heads.all(through) as StoredHead[];
  }

  /** Start of the project's chain; undefined: it starts with the first commit. */
  start(project: string): StoredStart | undefined {
    return this.#sql.start.get(project) as StoredStart | undefined;
  }

  /** The instance's last transition; undefined: there is none. */
  lastTransition(key: InstanceKey): { readonly at: number; readonly to: string } | undefined {
    const row = this.#sql.last.get(key.instance, key.machine, key.project);
    return row as { at: number; to: string } | undefined;
  }

  /** Transitions recorded for the commit at `sequence`, in their order. */
  transitions(sequence: number): (RecordedTransition & { readonly project: string })[] {
    const from = sequence * TRANSITION_PLACES;
    const rows = this.#sql.transitions.all(from, from + TRANSITION_PLACES) as (TransitionRow & {
      readonly project: string;
    })[];
    return rows.map((row) => ({ ...toTransition(row), project: row.project }));
  }

  /** Sequence of the instance's last transition before `sequence`; undefined = none is known. */
  transitionBefore(key: InstanceKey, sequence: number): number | undefined {
    return this.#sequenceOf(
      this.#sql.before.get(key.instance, key.machine, key.project, sequence * TRANSITION_PLACES),
    );
  }

  /** The instance's row, with the sequence of its last transition. */
  instance(
    key: InstanceKey,
  ): { readonly row: StoredInstance; readonly sequence: number } | undefined {
    const row = this.#sql.instance.get(key.instance, key.machine, key.project);
    const sequence = this.transitionBefore(key, Number.MAX_SAFE_INTEGER / TRANSITION_PLACES);
    if (row === undefined || sequence === undefined) return undefined;
    return { row: toInstance(row as InstanceRow), sequence };
  }

  /** Transitions with an id above `after`, in the order of their ids. */
  everyTransition({ after, limit }: { after: number; limit: number }): StoredTransition[] {
    const rows = this.#sql.everyTransition.all(after, limit) as EveryTransitionRow[];
    return rows.map(({ commitProject, commitAt, hasRow, ...row }) => ({
      ...row,
      sequence: sequenceOf(row.id),
      commit: commitProject === null ? null : { project: commitProject, at: Number(commitAt) },
      hasRow: hasRow === 1,
    }));
  }

  /** Rows of instances above the row `after`, in the order of the table. */
  everyInstance({ after, limit }: { after: number; limit: number }): InstanceWithLast[] {
    const rows = this.#sql.everyInstance.all(after, limit) as EveryInstanceRow[];
    return rows.map(({ lastId, lastAt, lastTo, ...row }) => ({
      ...row,
      last: lastId === null ? null : { sequence: sequenceOf(lastId), at: lastAt, to: lastTo },
    }));
  }

  /** Runs `read` on one state of the file, regardless of concurrent writes. */
  atOnce<T>(read: () => T): T {
    return this.#database.transaction(read)();
  }

  close(): void {
    this.#database.close();
  }

  #sequenceOf(row: unknown): number | undefined {
    const { id } = row as { id: number | null };
    return id === null ? undefined : sequenceOf(id);
  }
}

type EveryTransitionRow = Omit<StoredTransition, 'sequence' | 'commit' | 'hasRow'> & {
  readonly commitProject: string | null;
  readonly commitAt: number | null;
  readonly hasRow: 0 | 1;
};
type EveryInstanceRow = Omit<InstanceWithLast, 'last'> &
  (
    | { readonly lastId: null; readonly lastAt: null; readonly lastTo: null }
    | { readonly lastId: number; readonly lastAt: number; readonly lastTo: string }
  );

/** Position in EVENTS of a transition's commit. */
function sequenceOf(id: number): number {
  return Math.floor(id / TRANSITION_PLACES);
}

const SAME_INSTANCE = 'o.instance = t.instance AND o.machine = t.machine AND o.project = t.project';

function prepareReads(database: SqliteDatabase) {
  const prepare = (sql: string) => database.prepare<(string | number)[]>(sql);
  return {
    commits: prepare(`SELECT sequence, project, number, id, hash, header FROM commits
      WHERE sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`),
    extent: prepare('SELECT count(*) AS count, coalesce(max(sequence), 0) AS last FROM commits'),
    heads: prepare(`SELECT project, number, hash FROM heads h
      WHERE number > 0 AND NOT EXISTS (SELECT 1 FROM commits c
        WHERE c.project = h.project AND c.number = h.number AND c.sequence > ?)
      ORDER BY project`),
    transitions: prepare('SELECT * FROM transitions WHERE id >= ? AND id < ? ORDER BY id'),
    start: prepare('SELECT * FROM chain_starts WHERE project = ?'),
    last: prepare(`SELECT at, to_state AS "to" FROM transitions
      WHERE instance = ? AND machine = ? AND project = ? ORDER BY id DESC LIMIT 1`),
    before: prepare(`SELECT max(id) AS id FROM transitions
      WHERE instance = ? AND machine = ? AND project = ? AND id < ?`),
    everyTransition: prepare(`SELECT t.id, t.project, t.machine, t.instance, t.at,
      t.from_state AS "from", c.project AS commitProject, c.header ->> 'at' AS commitAt,
      (SELECT to_state FROM transitions o WHERE ${SAME_INSTANCE} AND o.id < t.id
        ORDER BY o.id DESC LIMIT 1) AS before,
      EXISTS (SELECT 1 FROM instances o WHERE ${SAME_INSTANCE}) AS hasRow
      FROM transitions t LEFT JOIN commits c ON c.sequence = t.id / ${TRANSITION_PLACES}
      WHERE t.id > ? ORDER BY t.id LIMIT ?`),
    everyInstance: prepare(`SELECT t.rowid AS row, t.project, t.machine, t.instance, t.value,
      t.updated, l.id AS lastId, l.at AS lastAt, l.to_state AS lastTo
      FROM instances t LEFT JOIN transitions l
        ON l.id = (SELECT max(id) FROM transitions o WHERE ${SAME_INSTANCE})
      WHERE t.rowid > ? ORDER BY t.rowid LIMIT ?`),
    instance: prepare('SELECT * FROM instances WHERE instance = ? AND machine = ? AND project = ?'),
  };
}
