/** The writes of one commit to the projection's tables: plain upserts of outcomes decided elsewhere. */
import type { Statement } from 'better-sqlite3';
import { decisionLine, type EncodedCommit } from '../../../streams/platform/commit/codec.ts';
import type {
  ChainStart,
  Commit,
  Decision,
  InstanceStep,
} from '../../../streams/platform/commit/commit.ts';
import { REQUEST_KEPT_MS } from '../../../streams/platform/commit/projection.ts';
import type { SqliteDatabase } from '../database.ts';
import { checksumOf } from '../row-checksum.ts';
import { changeUseWriter } from './change-use-writer.ts';
import {
  type IndexedMachines,
  indexValues,
  RECORD_INDEXES,
  recordIndexValues,
} from './index-columns.ts';
import { INSTANCE_COLUMNS, TRANSITION_PLACES } from './instances-schema.ts';

/** Forgotten requests removed per commit: a bound on its time, the same on all nodes. */
const FORGET_MAX = 1000;

export type Writes = ReturnType<typeof prepareWrites> & { readonly machines: IndexedMachines };

export function applyCommit(writes: Writes, encoded: EncodedCommit, sequence: number): void {
  const { commit, hash, header } = encoded;
  writes.commit.run(sequence, commit.project, commit.number, commit.id, hash, header);
  const last = new Map<string, InstanceStep>();
  let place = 0;
  for (const [i, decision] of commit.decisions.entries()) {
    const actor = JSON.stringify(decision.by);
    for (const step of decision.steps) {
      last.set(`${step.machine} ${step.instance}`, step);
      const id = sequence * TRANSITION_PLACES + place++;
      const columns = [
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
      ];
      writes.transition.run(...columns, checksumOf(columns));
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
  const columns = [
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
  ];
  writes.instance.run(...columns, checksumOf(columns));
  const version = [project, step.machine, step.version];
  writes.version.run(...version, checksumOf(version));
  writes.clearTimers.run(step.instance, step.machine, project);
  for (const timer of step.timers) {
    const event = JSON.stringify(timer.event);
    const row = [project, step.machine, step.instance, timer.id, timer.dueMs, event];
    writes.timer.run(...row, checksumOf(row));
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
  const columns = [project, number, hash, at, sequence, decided, line];
  writes.chainStart.run(...columns, checksumOf(columns));
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
    const checksum = checksumOf([project, kind, id, sort ?? '', text, ...columns]);
    // Most writes of a record keep its place in the indexes, which then need no write.
    const key = [project, kind, id, sort ?? ''];
    const { changes } = writes.recordBody.run(text, checksum, ...key, ...columns);
    if (changes === 0) writes.record.run(...key, text, ...columns, checksum);
  }
}

function applyRequest(writes: Writes, commit: Commit, decision: Decision, sequence: number): void {
  if (decision.request === undefined) return;
  const { scope, id, fingerprint, answer } = decision.request;
  const text = JSON.stringify(answer);
  const columns = [commit.project, scope, id, fingerprint, text, commit.at, sequence];
  writes.request.run(...columns, checksumOf(columns));
}

/** A prepared statement. It has a name, so that the package's declarations can name it. */
export interface Write extends Statement<(string | number | null)[]> {}

export function prepareWrites(database: SqliteDatabase) {
  const prepare = (sql: string): Write => database.prepare(sql);
  const values = (count: number) => Array(count).fill('?').join(', ');
  // The checksum of an existing instance covers the time of its creation, which stays.
  const isKept = (column: string) => ['project', 'machine', 'instance', 'created'].includes(column);
  const replaced = INSTANCE_COLUMNS.filter((column) => !isKept(column));
  const after = INSTANCE_COLUMNS.map((column) => (isKept(column) ? column : `excluded.${column}`));
  return {
    use: changeUseWriter(database),
    bind: prepare('UPDATE position SET stream_identity = ?, format = ?'),
    position: prepare('UPDATE position SET applied = ?, applied_hash = ?, gapped = ?'),
    sealPosition: prepare(`UPDATE position SET checksum = row_checksum(id, stream_identity, format,
      applied, applied_hash, gapped)`),
    head: prepare(`INSERT INTO heads (project, number, hash, at, sequence, checksum)
      VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET number = excluded.number, hash = excluded.hash,
      at = excluded.at, sequence = excluded.sequence, checksum = excluded.checksum`),
    setBack: prepare(
      'INSERT OR IGNORE INTO set_backs (project, number, checksum) VALUES (?, ?, ?)',
    ),
    forgetSetBacks: prepare('DELETE FROM set_backs WHERE project = ? AND number <= ?'),
    commit: prepare(`INSERT INTO commits (sequence, project, number, id, hash, header)
      VALUES (?, ?, ?, ?, ?, ?)`),
    instance: prepare(`INSERT INTO instances (${INSTANCE_COLUMNS.join(', ')}, checksum)
      VALUES (${values(INSTANCE_COLUMNS.length + 1)})
      ON CONFLICT DO UPDATE SET ${replaced.map((column) => `${column} = excluded.${column}`)},
      checksum = row_checksum(${after.join(', ')})`),
    version: prepare(`INSERT INTO machine_versions (project, machine, version, checksum)
      VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET version = excluded.version, checksum = excluded.checksum
      WHERE excluded.version > machine_versions.version`),
    clearTimers: prepare('DELETE FROM timers WHERE instance = ? AND machine = ? AND project = ?'),
    timer: prepare(`INSERT INTO timers (project, machine, instance, id, due, event,
      checksum) VALUES (${values(7)})`),
    transition: prepare(`INSERT INTO transitions (id, project, machine, instance, at, actor, event,
      from_state, to_state, request, checksum) VALUES (${values(11)})`),
    recordBody: prepare(`UPDATE records INDEXED BY records_by_id SET body = ?,
      checksum = ? WHERE project = ? AND kind = ? AND id = ? AND sort = ? AND ${RECORD_INDEXES.map((column) => `${column} IS ?`).join(' AND ')}`),
    record:
      prepare(`INSERT INTO records (project, kind, id, sort, body, ${RECORD_INDEXES.join(', ')},
      checksum) VALUES (${values(RECORD_INDEXES.length + 6)})
      ON CONFLICT DO UPDATE SET sort = excluded.sort, body = excluded.body, checksum = excluded.checksum,
      ${RECORD_INDEXES.map((column) => `${column} = excluded.${column}`)}`),
    removeRecord: prepare('DELETE FROM records WHERE project = ? AND kind = ? AND id = ?'),
    forget: prepare(`DELETE FROM instances
      WHERE project = ? AND machine = ? AND instance = ? AND final = 1`),
    truncateTransitions: prepare('DELETE FROM transitions WHERE project = ? AND id < ?'),
    truncateCommits: prepare('DELETE FROM commits WHERE project = ? AND number <= ?'),
    // If it was decided twice, the later start applies, because the commits before it are already
    // removed.
    chainStart: prepare(`INSERT INTO chain_starts (project, number, hash, at, sequence, decided,
      decision, checksum) VALUES (${values(8)})
      ON CONFLICT DO UPDATE SET number = excluded.number, hash = excluded.hash, at = excluded.at,
      sequence = excluded.sequence, decided = excluded.decided, decision = excluded.decision,
      checksum = excluded.checksum WHERE excluded.number > chain_starts.number`),
    request: prepare(`INSERT OR REPLACE INTO requests (project, scope, id, fingerprint, answer, at,
      sequence, checksum) VALUES (${values(8)})`),
    oldRequest: prepare('SELECT 1 FROM requests WHERE project = ? AND at < ? LIMIT 1'),
    forgetRequests: prepare(`DELETE FROM requests WHERE (project, scope, id) IN
      (SELECT project, scope, id FROM requests WHERE project = ? AND at < ?
       ORDER BY at, scope, id LIMIT ?)`),
  };
}
