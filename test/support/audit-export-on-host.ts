/** Sets up the audit sink: a host over a projection on disk, and its export. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { CommitReader } from '../../sqlite/platform/control/commit-reader.ts';
import {
  AuditExport,
  type AuditExportOptions,
  type CursorStore,
} from '../../src/audit/export/audit-export.ts';
import { compareSink } from '../../src/audit/export/compare-sink.ts';
import { cursorIn, fileSink } from '../../src/audit/open-audit.ts';
import { silentLog } from '../../src/platform/log.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { startWorld } from './host-in-memory.ts';
import { submit } from './submit.ts';

export const person: Actor = { kind: 'human', name: 'people/olga' };
export const callers = {
  person,
  key: { kind: 'key', name: 'projects/demo/serviceAccounts/a/keys/k' },
  job: { kind: 'ci', name: 'projects/demo/ciConnections/c' },
} as const satisfies Record<string, Actor>;
export const others = {
  evaluator: { kind: 'service', name: 'evaluator' },
  collector: { kind: 'collector', name: 'collectors/c' },
  operator: { kind: 'operator', name: 'operator/root' },
} as const satisfies Record<string, Actor>;

export const noCursor: CursorStore = { load: () => undefined, save: async () => {} };

/** A host with its projection on disk, and its export, by default to a file beside it. */
export async function startExportWorld(t: Test) {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'));
  const control = join(folder, 'control.db');
  const world = await startWorld(t, undefined, { path: control });
  const reader = new CommitReader(control);
  const path = join(folder, 'audit.jsonl');
  const cursorPath = join(folder, 'cursor.json');
  t.teardown(() => {
    reader.close();
    rmSync(folder, { recursive: true });
  });
  let serial = 0;
  /** Makes one commit by this caller. */
  const change = (by: Actor = person) =>
    submit(world.host, { project: 'demo', by }, (draft) => {
      const input = {
        at: draft.at,
        project: 'demo',
        displayName: 'Robot',
        template: 'custom',
        capabilities: ['monitoring.read'],
        createdBy: by.name,
        secretNote: 'not public',
      };
      draft.start('serviceAccount', `account-${serial++}`, input);
      return {};
    });
  const open = (options: Partial<AuditExportOptions> = {}) => {
    const exporter = new AuditExport({
      reader,
      sink: fileSink(path),
      isRequired: true,
      clock: world.clock,
      log: silentLog,
      cursor: cursorIn(cursorPath),
      ...options,
    });
    const undo = world.host.onApplied(() => exporter.recordApplied());
    t.teardown(undo);
    return exporter;
  };
  const linesOf = (file = path) => readFileSync(file, 'utf8').split('\n').slice(0, -1);
  const whole = async (...files: readonly string[]) => {
    const { faults, same } = await compareSink(files.length > 0 ? files : [path], reader);
    t.same(faults, []);
    return same;
  };
  return { ...world, change, open, linesOf, whole, reader, path, folder, control, cursorPath };
}
