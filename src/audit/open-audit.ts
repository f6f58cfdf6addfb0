/** Opens the audit room: the export of commits to the configured sink, and their retention. */
import { readFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { retain } from '../../actors/audit/retention.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Part } from '../../actors/platform/supervision.ts';
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import { replaceFileDurably, syncFolderSoon } from '../platform/durable-file.ts';
import type { LostWork, RoomBase, Storage } from '../platform/room-base.ts';
import type { Settings } from '../platform/settings/settings.ts';
import {
  AuditExport,
  type AuditSink,
  type CursorStore,
  type ExportedUpTo,
} from './export/audit-export.ts';

export interface AuditParts {
  readonly base: Omit<RoomBase, 'random' | 'settings'> & {
    readonly settings: Pick<Settings, 'auditSink' | 'auditSinkRequired' | 'data'>;
  };
  readonly storage: Pick<Storage, 'controlPath'>;
  readonly host: RunningHost;
}

/** The host for all rooms. With a required sink, changes wait for its confirmation. */
export function withAuditExport({ base, storage, host }: AuditParts): RunningHost {
  const { settings, clock, log, metrics, health, closers } = base;
  const { auditSink: path, auditSinkRequired: isRequired } = settings;
  if (path === null) return host;
  const commits = metrics.counter(
    'svc_audit_export_commits_total',
    'Commits written to the audit sink',
  );
  const failures = metrics.counter(
    'svc_audit_export_failures_total',
    'Failed writes to the audit sink',
  );
  const refused = metrics.counter(
    'svc_audit_export_refused_total',
    'Changes refused because the audit sink could not be written',
  );
  const unconfirmed = metrics.counter(
    'svc_audit_export_unconfirmed_total',
    'Changes that were committed but not confirmed, because the audit sink was not written in time',
  );
  const cursorFailures = metrics.counter(
    'svc_audit_export_cursor_failures_total',
    'Failed writes of the position of the audit sink',
  );
  const missed = metrics.counter(
    'svc_audit_export_missed_commits_total',
    'Commits removed by retention before they were written to the audit sink',
  );
  const reader = new CommitReader(storage.controlPath);
  closers.add('audit reader', () => reader.close());
  const exporter = new AuditExport({
    reader,
    isRequired,
    clock,
    log,
    sink: fileSink(path),
    cursor: cursorIn(join(settings.data, 'audit-export.json')),
    onExported: (count) => commits.inc({}, count),
    onFailed: () => failures.inc({}),
    onRefused: () => refused.inc({}),
    onUnconfirmed: () => unconfirmed.inc({}),
    onCursorFailed: () => cursorFailures.inc({}),
    onMissed: (count) => missed.inc({}, count),
  });
  closers.add('audit sink', () => exporter.close());
  closers.add(
    'audit sink news',
    host.onApplied(() => exporter.recordApplied()),
  );
  health.watch({ kind: 'audit sink' }, () => exporter.health());
  metrics.gauge(
    'svc_audit_export_lag_commits',
    'Commits not yet written to the audit sink',
    [],
    (gauge) => gauge.set(exporter.lag()),
  );
  return {
    ...host,
    submit: async (submission) => {
      exporter.assertTaking(submission);
      const committed = await host.submit(submission);
      await exporter.confirmed(submission, committed.sequence);
      return committed;
    },
    oldestCommits: (project, limit) =>
      host.oldestCommits(project, limit).filter(({ sequence }) => exporter.mayDrop(sequence)),
  };
}

/** A small file. An unreadable one counts as none: everything is exported again. */
export function cursorIn(path: string): CursorStore {
  return {
    load() {
      try {
        const { sequence, id } = JSON.parse(readFileSync(path, 'utf8')) as Partial<ExportedUpTo>;
        return Number.isSafeInteger(sequence) && typeof id === 'string'
          ? { sequence: Number(sequence), id }
          : undefined;
      } catch {
        return undefined;
      }
    },
    save: (cursor) => replaceFileDurably(path, JSON.stringify(cursor)),
  };
}

const DAY_MS = 86_400_000;

/** Removes commits, incidents and excerpts after their retention. */
export function retentionPart(parts: {
  readonly base: Pick<RoomBase, 'settings' | 'clock' | 'log' | 'metrics'>;
  readonly storage: Pick<Storage, 'secrets' | 'ownership'>;
  readonly host: RunningHost;
  readonly lost: LostWork;
}): Part {
  const { host, lost } = parts;
  const { clock, log, metrics, settings } = parts.base;
  const { ownership, secrets } = parts.storage;
  const removed = metrics.counter('svc_retention_removed_total', 'Records removed by retention', [
    'kind',
  ]);
  const deps = {
    host,
    clock,
    auditKeptMs: settings.auditRetentionDays * DAY_MS,
    owns: ownership.owns,
    forgetExcerpts: (deliveries: readonly string[]) => secrets.excerpts.delete(deliveries),
    onRemoved: (kind: string, count: number) => removed.inc({ kind }, count),
    onLost: lost('retention'),
    onDamaged: (row: Error) =>
      log.error({ err: row, part: 'retention' }, 'A damaged row keeps others from being removed'),
  };
  return { name: 'retention', run: (signal) => retain(deps, signal) };
}

// The audit sink as a file that only grows. It is opened for each batch, so that it can be rotated
// by a rename, without a signal: the next batch creates a new one.

/** Created with mode 0600. Its folder must exist. */
export function fileSink(path: string): AuditSink {
  return {
    async append(lines) {
      const file = await open(path, 'a+', 0o600);
      try {
        const { size, isFile } = await statOf(file);
        if (!isFile) throw new Error(`${path} is not a file`);
        // A line that a crash or a full disk has cut off stays as a line of its own.
        await file.appendFile((await isCutOff(file, size)) ? `\n${lines}` : lines);
        await file.sync();
        if (size === 0) await syncFolderSoon(dirname(path));
      } finally {
        await file.close();
      }
    },
  };
}

async function statOf(file: FileHandle) {
  const found = await file.stat();
  return { size: found.size, isFile: found.isFile() };
}

async function isCutOff(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer.toString() !== '\n';
}
