/**
 * The projection of commits on SQLite: heads, instances, timers, transitions, records, requests.
 * Applying is plain upserts of outcomes decided elsewhere, one transaction per commit, the same on
 * every node; it has no rules and no clock. EVENTS is the truth: this file may lag behind it (also
 * after a power loss) and catches up from its recorded position.
 */

import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { machineDefinitions } from '../../../machines/audit/registry.ts';
import {
  type IndexName,
  indexedValue,
  type MachineDefinition,
  type MachineRow,
} from '../../../machines/platform/definition.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import { type Head, HistoryMismatch, judge } from '../../../streams/platform/commit/chain.ts';
import type { ChangeUse } from '../../../streams/platform/commit/change-use.ts';
import { decisionLine, type EncodedCommit } from '../../../streams/platform/commit/codec.ts';
import {
  type ChainStart,
  COMMIT_FORMAT,
  type Commit,
  type Decision,
  type InstanceStep,
  type RecordChange,
} from '../../../streams/platform/commit/commit.ts';
import {
  type DueTimer,
  type IncidentStatus,
  type Page,
  REQUEST_KEPT_MS,
  type RecordedRequest,
  type StoredInstance,
  type StoredReads,
  type StoredRecord,
} from '../../../streams/platform/commit/projection.ts';
import { migrate, type SqliteDatabase } from '../database.ts';
import { changeUseWriter } from './change-use-writer.ts';
import {
  type EndedInstance,
  type EndedPage,
  instanceReads,
  type OldCommit,
  type Position,
} from './instance-reads.ts';
import { instanceMigrations, TRANSITION_PLACES } from './instances-schema.ts';

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
  timersSetAfter(sinceMs: number): TimerWithStep[];
}

/** A timer, and the time of its instance's last step, Unix ms. */
export interface TimerWithStep {
  readonly timer: DueTimer;
  readonly stepMs: number;
}

/** Maximum number of cached project views. */
const VIEWS_MAX = 1_024;
/** Forgotten requests removed per commit: a bound on its time, the same on all nodes. */
const FORGET_MAX = 1000;

/**
 * A store on an open, migrated database. The caller closes the database; synchronous NORMAL is
 * enough for it (a power loss may take it back to an earlier, consistent position). `machines`
 * declare which context fields are indexed.
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
    writes.position.run(sequence, hash, gapped ? 1 : 0);
    const newHead = judgement === 'next' ? { ...commit, hash } : head;
    writes.head.run(commit.project, newHead.number, newHead.hash, newHead.at, sequence);
    if (judgement === 'superseded') return 'superseded';
    if (commit.at < head.at) writes.setBack.run(commit.project, commit.number);
    applyCommit(writes, encoded, sequence);
    return 'applied';
  });
  const passOver = database.transaction((encoded: EncodedCommit, sequence: number) => {
    const { project } = encoded.commit;
    const position = reads.position();
    const gapped = position.gapped || sequence !== position.applied + 1;
    writes.position.run(sequence, encoded.hash, gapped ? 1 : 0);
    const head = reads.head(project);
    writes.head.run(project, head.number, head.hash, head.at, sequence);
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
  throw new HistoryMismatch(
    'otherStream',
    `The projection was made from stream ${bound}, EVENTS is now ${identity ?? 'missing'}: ` +
      'restore that stream, or start with an empty control.db',
  );
}

type Writes = ReturnType<typeof prepareWrites> & { readonly machines: IndexedMachines };

function bind(position: Position, identity: string, writes: Writes): void {
  if (position.streamIdentity === '') writes.bind.run(identity, COMMIT_FORMAT);
  else assertMadeFrom(position.streamIdentity, identity);
}

function applyCommit(writes: Writes, encoded: EncodedCommit, sequence: number): void {
  const { commit, hash, header } = encoded;
  writes.commit.run(sequence, commit.project, commit.number, commit.id, hash, header);
  const last = new Map<string, InstanceStep>();
  let place = 0;
  for (const [i, decision] of commit.decisions.entries()) {
    const actor = JSON.stringify(decision.by);
    for (const step of decision.steps) {
      last.set(`${step.machine} ${step.instance}`, step);
      const id = sequence * TRANSITION_PLACES + place++;
      writes.transition.run(
        id,
        commit.project,
        step.machine,
        step.instance,
        commit.at,
        actor,
        JSON.stringify(step.event),
        step.from === null ? null : JSON.stringify(step.from),
        JSON.stringify(step.to),
        decision.request?.id ?? null,
      );
    }
    applyRecords(writes, commit.project, decision);
    applyRequest(writes, commit, decision, sequence);
    if (decision.truncation) {
      const line = decisionLine(encoded.bytes, i) ?? '';
      applyTruncation(writes, commit.project, decision.truncation, { decided: sequence, line });
    }
  }
  writes.use(encoded);
  // An instance's row shows only its last step in the commit.
  for (const step of last.values()) applyStep(writes, commit, step);
  for (const { forgotten = [] } of commit.decisions) {
    for (const { machine, instance } of forgotten) {
      writes.forget.run(commit.project, machine, instance);
    }
  }
  const beforeMs = commit.at - REQUEST_KEPT_MS;
  // Usually there is none, and checking costs a tenth of deleting nothing.
  if (writes.oldRequest.get(commit.project, beforeMs) === undefined) return;
  writes.forgetRequests.run(commit.project, beforeMs, FORGET_MAX);
}

function applyStep(writes: Writes, commit: Commit, step: InstanceStep): void {
  const { project, at } = commit;
  writes.instance.run(
    project,
    step.machine,
    step.instance,
    step.version,
    JSON.stringify(step.to),
    JSON.stringify(step.context),
    JSON.stringify(step.timers),
    step.final ? 1 : 0,
    at,
    at,
    ...indexValues(writes.machines, step.machine, step.context),
  );
  writes.version.run(project, step.machine, step.version);
  writes.clearTimers.run(step.instance, step.machine, project);
  for (const timer of step.timers) {
    const event = JSON.stringify(timer.event);
    writes.timer.run(project, step.machine, step.instance, timer.id, timer.dueMs, event);
  }
}

/** Removes commits and transitions up to the new start, which is stored with its decision. */
function applyTruncation(
  writes: Writes,
  project: string,
  { number, hash, at, sequence }: ChainStart,
  { decided, line }: { readonly decided: number; readonly line: string },
): void {
  writes.truncateTransitions.run(project, (sequence + 1) * TRANSITION_PLACES);
  writes.truncateCommits.run(project, number);
  writes.forgetSetBacks.run(project, number);
  writes.chainStart.run(project, number, hash, at, sequence, decided, line);
}

function applyRecords(writes: Writes, project: string, decision: Decision): void {
  for (const { kind, id, body, sort } of decision.records) {
    if (body === null) {
      writes.removeRecord.run(project, kind, id);
      continue;
    }
    const values = recordIndexValues({ kind, body });
    const columns = RECORD_INDEXES.map((index) => values[index]);
    const text = JSON.stringify(body);
    // Most writes of a record keep its place in the indexes, which then need no write.
    const { changes } = writes.recordBody.run(text, project, kind, id, sort ?? '', ...columns);
    if (changes === 0) writes.record.run(project, kind, id, sort ?? '', text, ...columns);
  }
}

function applyRequest(writes: Writes, commit: Commit, decision: Decision, sequence: number): void {
  if (decision.request === undefined) return;
  const { scope, id, fingerprint, answer } = decision.request;
  const text = JSON.stringify(answer);
  writes.request.run(commit.project, scope, id, fingerprint, text, commit.at, sequence);
}

function prepareWrites(database: SqliteDatabase) {
  const prepare = (sql: string) => database.prepare<(string | number | null)[]>(sql);
  return {
    use: changeUseWriter(database),
    bind: prepare('UPDATE position SET stream_identity = ?, format = ?'),
    position: prepare('UPDATE position SET applied = ?, applied_hash = ?, gapped = ?'),
    head: prepare(`INSERT INTO heads (project, number, hash, at, sequence) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET number = excluded.number, hash = excluded.hash,
      at = excluded.at, sequence = excluded.sequence`),
    setBack: prepare('INSERT OR IGNORE INTO set_backs (project, number) VALUES (?, ?)'),
    forgetSetBacks: prepare('DELETE FROM set_backs WHERE project = ? AND number <= ?'),
    commit: prepare(`INSERT INTO commits (sequence, project, number, id, hash, header)
      VALUES (?, ?, ?, ?, ?, ?)`),
    instance: prepare(`INSERT INTO instances (project, machine, instance, version, value, context,
      timers, final, created, updated, ${INDEX_COLUMNS.join(', ')})
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${INDEX_COLUMNS.map(() => '?').join(', ')})
      ON CONFLICT DO UPDATE SET version = excluded.version, value = excluded.value,
      context = excluded.context, timers = excluded.timers, final = excluded.final,
      updated = excluded.updated, ${INDEX_COLUMNS.map((column) => `${column} = excluded.${column}`)}`),
    version: prepare(`INSERT INTO machine_versions (project, machine, version) VALUES (?, ?, ?)
      ON CONFLICT DO UPDATE SET version = excluded.version
      WHERE excluded.version > machine_versions.version`),
    clearTimers: prepare('DELETE FROM timers WHERE instance = ? AND machine = ? AND project = ?'),
    timer: prepare(`INSERT INTO timers (project, machine, instance, id, due, event)
      VALUES (?, ?, ?, ?, ?, ?)`),
    transition: prepare(`INSERT INTO transitions (id, project, machine, instance, at, actor, event,
      from_state, to_state, request) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    recordBody: prepare(`UPDATE records INDEXED BY records_by_id SET body = ?
      WHERE project = ? AND kind = ? AND id = ? AND sort = ? AND ${RECORD_INDEXES.map((column) => `${column} IS ?`).join(' AND ')}`),
    record:
      prepare(`INSERT INTO records (project, kind, id, sort, body, ${RECORD_INDEXES.join(', ')})
      VALUES (?, ?, ?, ?, ?, ${RECORD_INDEXES.map(() => '?').join(', ')})
      ON CONFLICT DO UPDATE SET sort = excluded.sort, body = excluded.body,
      ${RECORD_INDEXES.map((column) => `${column} = excluded.${column}`)}`),
    removeRecord: prepare('DELETE FROM records WHERE project = ? AND kind = ? AND id = ?'),
    forget: prepare(`DELETE FROM instances
      WHERE project = ? AND machine = ? AND instance = ? AND final = 1`),
    truncateTransitions: prepare('DELETE FROM transitions WHERE project = ? AND id < ?'),
    truncateCommits: prepare('DELETE FROM commits WHERE project = ? AND number <= ?'),
    // If decided twice, the later start holds: its commits are already removed.
    chainStart: prepare(`INSERT INTO chain_starts (project, number, hash, at, sequence, decided,
      decision) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET number = excluded.number, hash = excluded.hash, at = excluded.at,
      sequence = excluded.sequence, decided = excluded.decided, decision = excluded.decision
      WHERE excluded.number > chain_starts.number`),
    request: prepare(`INSERT OR REPLACE INTO requests (project, scope, id, fingerprint, answer, at,
      sequence) VALUES (?, ?, ?, ?, ?, ?, ?)`),
    oldRequest: prepare('SELECT 1 FROM requests WHERE project = ? AND at < ? LIMIT 1'),
    forgetRequests: prepare(`DELETE FROM requests WHERE (project, scope, id) IN
      (SELECT project, scope, id FROM requests WHERE project = ? AND at < ?
       ORDER BY at, scope, id LIMIT ?)`),
  };
}

// Index columns of `instances`: each machine declares which context field fills which column. The
// file stores the declarations by which its columns were filled. If a program declares others, the
// columns of those machines are filled again at the start, in one transaction.

/** Machines by name, reduced to the store's needs: which fields of their contexts are indexed. */
export type IndexedMachines = ReadonlyMap<string, Pick<MachineDefinition, 'indexes'>>;

const INDEXES = [
  ...(['owner', 'subject', 'incident', 'destination', 'event'] as const),
] as const satisfies readonly IndexName[];

/** Names of the index columns, in the order of `indexValues`. */
const INDEX_COLUMNS: readonly string[] = INDEXES;

/** Values of a machine's row in its index columns; null: it is not in that index. */
function indexValues(
  machines: IndexedMachines,
  machine: string,
  context: MachineRow['context'],
): (string | null)[] {
  return INDEXES.map((index) => indexedValue(machines.get(machine), index, context));
}

/** Fills the columns of machines whose declared indexes differ from those in the file. */
function fillIndexes(database: SqliteDatabase, machines: IndexedMachines): void {
  const fill = database.transaction(() => {
    const filled = filledBy(database);
    for (const machine of new Set([...filled.keys(), ...machines.keys()])) {
      const declared = JSON.stringify(fieldsOf(machines, machine));
      if (declared === (filled.get(machine) ?? NO_FIELDS)) continue;
      fillMachine(database, machine, fieldsOf(machines, machine));
      database
        .prepare('INSERT OR REPLACE INTO instance_indexes (machine, fields) VALUES (?, ?)')
        .run(machine, declared);
    }
  });
  fill.immediate();
}

/** Context fields of the columns, in their order; null: the machine has no such index. */
function fieldsOf(machines: IndexedMachines, machine: string): (string | null)[] {
  return INDEXES.map((index) => machines.get(machine)?.indexes?.[index] ?? null);
}

const NO_FIELDS = JSON.stringify(INDEXES.map(() => null));

function filledBy(database: SqliteDatabase): Map<string, string> {
  const rows = database.prepare('SELECT machine, fields FROM instance_indexes').all();
  return new Map((rows as FilledRow[]).map(({ machine, fields }) => [machine, fields]));
}

interface FilledRow {
  readonly machine: string;
  readonly fields: string;
}

function fillMachine(
  database: SqliteDatabase,
  machine: string,
  fields: readonly (string | null)[],
): void {
  const set = INDEXES.map((column) => `${column} = context ->> ?`).join(', ');
  database.prepare(`UPDATE instances SET ${set} WHERE machine = ?`).run(...fields, machine);
}

/**
 * Columns by which records are found, besides their id. Written once per record, because
 * expressions over the JSON of a body would be evaluated again for every index and every write.
 */
const RECORD_INDEXES = ['status', 'severity', 'rule', 'vm', 'place'] as const;

/** Value of each index column; null: the record is not in that index. */
type RecordIndexValues = Readonly<Record<(typeof RECORD_INDEXES)[number], string | null>>;

/** Index values of a record; all are null for a kind that is found only by id. */
function recordIndexValues({ kind, body }: Pick<StoredRecord, 'kind' | 'body'>) {
  return indexesOf[kind]?.(body) ?? NOT_INDEXED;
}

const NOT_INDEXED: RecordIndexValues = {
  status: null,
  severity: null,
  rule: null,
  vm: null,
  place: null,
};

const indexesOf: Readonly<Record<string, (body: StoredRecord['body']) => RecordIndexValues>> = {
  // All except the status stay the same for the incident's life.
  incident: (body) => ({
    status: statusOf(body),
    severity: textOf(body.severity),
    rule: textOf(body.rule),
    vm: textOf(body.vm),
    place: textOf(body.datacenter ?? body.vmDatacenter),
  }),
};

/** An open incident's status tells whether someone has taken notice. */
function statusOf({ state, acknowledged, snoozedUntilMs }: StoredRecord['body']) {
  if (state !== 'FIRING') return textOf(state);
  // Bodies of older programs lack the fields of later features.
  const isAcknowledged = (acknowledged ?? null) !== null;
  const isSnoozed = (snoozedUntilMs ?? null) !== null;
  if (isAcknowledged)
    return (isSnoozed ? 'ACKNOWLEDGED_SNOOZED' : 'ACKNOWLEDGED') satisfies IncidentStatus;
  return (isSnoozed ? 'SNOOZED' : 'FIRING') satisfies IncidentStatus;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

// Cache of the latest values read or written, parsed: an attempt of a delivery reads the same few
// rows, records and short lists many times, and a burst reads what it has just written. Only one
// store writes the file, so the cached values match it.

/**
 * Maximum number of cached rows, and of cached records: those of a burst of thousands of
 * notifications.
 */
const KEPT_MAX = 32_768;
/**
 * Longest list in a cached body. Bodies with longer ones, such as the samples that decided an
 * incident, are read on demand.
 */
const BODY_ITEMS_MAX = 16;
/** Number of cached lists and counts, and length of the longest list. */
const LISTS_MAX = 64;
const LIST_ITEMS_MAX = 64;

/** Cached values; an absent row is cached as `undefined`. */
class LatestRows {
  readonly #instances = new BoundedCache<string, StoredInstance | undefined>(KEPT_MAX);
  readonly #records = new BoundedCache<string, StoredRecord | undefined>(KEPT_MAX);
  readonly #lists = new BoundedCache<string, Page<StoredInstance>>(LISTS_MAX);
  readonly #counts = new BoundedCache<string, number>(LISTS_MAX);
  /** Number of changes to rows since the start, by project and machine. */
  readonly #changes = new Map<string, number>();

  /** The view over this cache; it reads what is not cached. */
  over(view: StoredReads): StoredReads {
    const { project } = view;
    return {
      ...view,
      instance: (machine, id) =>
        kept(this.#instances, keyOf(project, machine, id), () => view.instance(machine, id)),
      record: (kind, id) =>
        kept(this.#records, keyOf(project, kind, id), () => view.record(kind, id)),
      instances: (machine, options) => {
        const changes = this.#changes.get(`${project} ${machine}`) ?? 0;
        const { limit, after, descending, final, owner, incident } = options;
        const asked = JSON.stringify([limit, after, descending, final, owner, incident]);
        const key = `${keyOf(project, machine, asked)} ${changes}`;
        const known = this.#lists.get(key);
        if (known) return known;
        const page = view.instances(machine, options);
        if (page.items.length <= LIST_ITEMS_MAX) this.#lists.set(key, page);
        return page;
      },
      countInstances: (machine, of) => {
        const changes = this.#changes.get(`${project} ${machine}`) ?? 0;
        const key = `${keyOf(project, machine, JSON.stringify(of))} ${changes}`;
        return kept(this.#counts, key, () => view.countInstances(machine, of));
      },
    };
  }

  /** Applies the commit's writes to the cache. */
  apply({ project, at, decisions }: Commit): void {
    for (const { steps, records } of decisions) {
      for (const step of steps) this.#step(project, at, step);
      for (const record of records) this.#record(project, record);
    }
    // As in the file, rows are removed after all steps.
    for (const { machine, instance } of decisions.flatMap(({ forgotten = [] }) => forgotten)) {
      this.#changed(project, machine);
      this.#instances.delete(keyOf(project, machine, instance));
    }
  }

  #record(project: string, { kind, id, body, sort = '' }: RecordChange): void {
    const key = keyOf(project, kind, id);
    if (body === null) this.#records.set(key, undefined);
    else if (isLong(body)) this.#records.delete(key);
    else this.#records.set(key, { project, kind, id, body, sort });
  }

  #step(project: string, at: number, step: InstanceStep): void {
    const { machine, version, instance, to: value, context, timers, final } = step;
    this.#changed(project, machine);
    const key = keyOf(project, machine, instance);
    const before = this.#instances.get(key)?.createdMs;
    // The creation time of an uncached row is unknown here, so it is read on demand.
    const createdMs = before ?? (step.from === null ? at : undefined);
    if (createdMs === undefined) {
      this.#instances.delete(key);
      return;
    }
    const times = { createdMs, updatedMs: at };
    const row = { machine, version, instance, project, value, context, timers, final, ...times };
    this.#instances.set(key, row);
  }

  #changed(project: string, machine: string): void {
    const key = `${project} ${machine}`;
    this.#changes.set(key, (this.#changes.get(key) ?? 0) + 1);
  }
}

function kept<T>(cache: BoundedCache<string, T>, key: string, read: () => T): T {
  const known = cache.get(key);
  if (known !== undefined || cache.has(key)) return known as T;
  const value = read();
  cache.set(key, value);
  return value;
}

function isLong(body: StoredRecord['body']): boolean {
  return Object.values(body).some((value) => Array.isArray(value) && value.length > BODY_ITEMS_MAX);
}

function keyOf(project: string, list: string, id: string): string {
  return `${project} ${list} ${id}`;
}
