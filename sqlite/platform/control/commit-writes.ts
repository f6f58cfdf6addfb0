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
import { changeUseWriter } from './change-use-writer.ts';
import {
  INDEX_COLUMNS,
  type IndexedMachines,
  indexValues,
  RECORD_INDEXES,
  recordIndexValues,
} from './index-columns.ts';
import { TRANSITION_PLACES } from './instances-schema.ts';

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

/** A prepared statement. It has a name, so that the package's declarations can name it. */
export interface Write extends Statement<(string | number | null)[]> {}

export function prepareWrites(database: SqliteDatabase) {
  const prepare = (sql: string): Write => database.prepare(sql);
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
