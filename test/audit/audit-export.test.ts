/**
 * The second copy of the audit log: the content of a line, that none is missing after any
 * interruption, and which changes are rejected while it cannot be written. Uses a real host and its
 * projection on disk.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'tap';
import { type AuditSink, BACKLOG_MAX, STALLED_MS } from '../../src/audit/export/audit-export.ts';
import { compareSink } from '../../src/audit/export/compare-sink.ts';
import { fileSink, withAuditExport } from '../../src/audit/open-audit.ts';
import { Closers } from '../../src/platform/closers.ts';
import { createHealth } from '../../src/platform/health.ts';
import { silentLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { Refusal } from '../../streams/platform/refusal.ts';
import { callers, others, person, startExportWorld } from '../support/audit-export-on-host.ts';
import { reasonOf } from '../support/host-in-memory.ts';
import { until } from '../support/program.ts';

test('Each commit is one line, with its place in the chain and public fields only', async (t) => {
  const { change, open, linesOf, whole } = await startExportWorld(t);
  await change();
  const exporter = open();
  await change();
  await exporter.settled();
  t.equal(await whole(), 2);
  const [first, second] = linesOf().map((line) => JSON.parse(line));
  t.match(first, { project: 'demo', number: 1, id: /^[0-9A-Z]{26}$/, hash: /^[0-9a-f]{64}$/ });
  t.match(second, { number: 2 });
  t.match(first.transitions, [
    {
      by: 'people/olga',
      byKind: 'human',
      machine: 'serviceAccount',
      instance: 'account-0',
      event: { type: 'xstate.init', input: { displayName: 'Robot' } },
      from: null,
    },
  ]);
  t.notMatch(linesOf().join(), /secretNote/);
  await exporter.close();
  await open().settled();
  t.equal(linesOf().length, 2, 'a restart continues after the cursor');
});

test('With a required sink, a full disk rejects people and keys, and nothing is missing afterwards', async (t) => {
  const { change, open, whole, path, clock, linesOf } = await startExportWorld(t);
  const file = fileSink(path);
  let isFull = false;
  const sink: AuditSink = {
    async append(lines) {
      if (!isFull) return file.append(lines);
      appendFileSync(path, lines.slice(0, 40));
      throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
    },
  };
  const exporter = open({ sink });
  await exporter.settled();
  const accepted = (by: Actor) => reasonOf(() => exporter.assertTaking({ by }));
  for (const by of [...Object.values(callers), ...Object.values(others)]) {
    t.equal(accepted(by), 'accepted');
  }
  isFull = true;
  await change(others.evaluator);
  await exporter.settled();
  for (const [who, by] of Object.entries(callers)) t.equal(accepted(by), 'NOT_READY', who);
  for (const [who, by] of Object.entries(others)) t.equal(accepted(by), 'accepted', who);
  for (let i = 0; i < 3; i++) await change(others.evaluator);
  t.match(exporter.health(), { state: 'degraded', reason: /ENOSPC.*4 commits wait.*refused/ });
  isFull = false;
  await clock.advance(1_000);
  await exporter.settled();
  t.equal(accepted(person), 'accepted', 'it recovers by itself');
  t.same(exporter.health(), { state: 'ready' });
  t.equal(exporter.lag(), 0);
  t.equal(await whole(), 4, 'a truncated line is written again, on a line of its own');
  t.ok(linesOf().length > 4);
});

test('With an optional sink, changes continue and the lag is visible', async (t) => {
  const { change, open } = await startExportWorld(t);
  const away: AuditSink = { append: () => Promise.reject(new Error('ENOENT')) };
  const exporter = open({ sink: away, isRequired: false });
  for (let i = 0; i < 3; i++) await change();
  await exporter.settled();
  t.equal(
    reasonOf(() => exporter.assertTaking({ by: person })),
    'accepted',
  );
  t.ok(exporter.lag() >= 3);
  t.match(exporter.health(), { state: 'degraded', reason: /ENOENT.*changes continue/ });
});

test('A required sink that hangs or lags too far also rejects changes', async (t) => {
  const { change, open, clock } = await startExportWorld(t);
  const hanging = open({ sink: { append: () => new Promise(() => {}) } });
  await change(others.evaluator);
  await clock.advance(1);
  t.equal(
    reasonOf(() => hanging.assertTaking({ by: person })),
    'NOT_READY',
    'not caught up yet',
  );
  await clock.advance(STALLED_MS);
  t.match(hanging.health(), { reason: /has not answered for 10 s/ });
  const behind = open();
  await behind.settled();
  t.equal(
    reasonOf(() => behind.assertTaking({ by: person })),
    'accepted',
  );
  for (let i = 0; i <= BACKLOG_MAX; i++) behind.recordApplied();
  t.equal(
    reasonOf(() => behind.assertTaking({ by: person })),
    'NOT_READY',
  );
  t.match(behind.health(), { reason: /more than 1000 commits behind/ });
});

test('After a rotation by renaming, the next line creates a new file, and both together are complete', async (t) => {
  const { change, open, whole, path } = await startExportWorld(t);
  const exporter = open();
  await change();
  await exporter.settled();
  renameSync(path, `${path}.1`);
  await change();
  await exporter.settled();
  t.equal(await whole(`${path}.1`, path), 2);
});

test('After a kill and a restart, no commit is missing and copies are identical', async (t) => {
  const world = await startExportWorld(t);
  const { change, open, whole, linesOf, control, path, cursorPath } = world;
  for (let i = 0; i < 250; i++) await change();
  const child = fileURLToPath(new URL('../support/audit-export-child.ts', import.meta.url));
  const run = spawn(process.execPath, [child, control, path, cursorPath], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 600_000,
  });
  let output = '';
  for await (const chunk of run.stdout) {
    output += chunk;
    if (output.includes('batch 2')) break;
  }
  const ended = run.exitCode === null ? once(run, 'exit') : undefined;
  run.kill('SIGKILL');
  await ended;
  t.match(output, /batch 2/);
  t.equal(linesOf().length < 250, true);
  await open().settled();
  t.equal(await whole(), 250);
  const ids = linesOf().flatMap(
    (line) => /^\{"sequence":(\d+).*"id":"(\w+)"/.exec(line)?.[0] ?? [],
  );
  t.ok(ids.length > 250, 'commits in doubt are there twice');
});

test('Restoring a backup invalidates the cursor, so everything is exported again', async (t) => {
  const { change, open, whole, cursorPath } = await startExportWorld(t);
  await change();
  await change();
  writeFileSync(cursorPath, JSON.stringify({ sequence: 2, id: 'of another history' }));
  await open().settled();
  t.equal(await whole(), 2);
});

test('As configured, the host rejects people, but not the service, while the sink is unavailable', async (t) => {
  const { host, clock, control, folder } = await startExportWorld(t);
  const data = join(folder, 'data');
  const path = join(folder, 'elsewhere', 'audit.jsonl');
  mkdirSync(data);
  const metrics = createMetrics({ clock, version: 'test' });
  const health = createHealth({ clock, log: silentLog });
  const closers = new Closers(silentLog);
  closers.add('metrics', () => metrics.close());
  closers.add('health', () => health.close());
  const settings = { auditSink: path, auditSinkRequired: true, data };
  const base = { settings, clock, log: silentLog, metrics, health, closers };
  const storage = { controlPath: control };
  const unset = { ...base, settings: { ...settings, auditSink: null } };
  t.equal(withAuditExport({ base: unset, storage, host }), host);
  const gated = withAuditExport({ base, storage, host });
  const change = (by: Actor, { id = by.name, makesCredential = false } = {}) =>
    gated.submit({
      project: 'demo',
      by,
      makesCredential,
      decide: (draft) => draft.putRecord({ kind: 'note', id, body: {} }),
    });
  await change(others.evaluator);
  await clock.advance(1_000);
  await t.rejects(change(person), {
    reason: 'NOT_READY',
    metadata: { retryAfterSeconds: '10' },
    message: /SVC_AUDIT_SINK_REQUIRED.*changed nothing/,
  });
  t.match(await metrics.text(), /svc_audit_export_refused_total 1/);
  t.equal(health.report().ready, true, 'reads continue');
  mkdirSync(join(folder, 'elsewhere'));
  const taken = async () => {
    await clock.advance(1_000);
    return change(person).then(
      () => true,
      () => undefined,
    );
  };
  await until('changes are accepted again', taken);
  const agent = { by: others.collector, makesCredential: true };
  renameSync(join(folder, 'elsewhere'), join(folder, 'away'));
  const outcome = { is: 'waiting' };
  change(person, { id: 'unseen' }).then(
    () => (outcome.is = 'answered'),
    (error: Refusal) => (outcome.is = error.metadata.committed ?? error.message),
  );
  await until('an unexported change gets no success answer', async () => {
    await clock.advance(1_000);
    return outcome.is === 'waiting' ? undefined : true;
  });
  t.equal(outcome.is, 'true');
  t.equal(host.view('demo').record('note', 'unseen')?.id, 'unseen', 'it is committed');
  t.same(
    gated.oldestCommits('demo', 10).map(({ number }) => number),
    [1, 2],
    'retention keeps what the sink lacks',
  );
  await t.rejects(change(agent.by, agent), {
    reason: 'NOT_READY',
    message: /^Changes are refused/,
  });
  renameSync(join(folder, 'away'), join(folder, 'elsewhere'));
  await closers.closeAll();
  t.equal(readFileSync(path, 'utf8').split('\n').length - 1, 3, 'including the latest commit');
  t.match(JSON.parse(readFileSync(join(data, 'audit-export.json'), 'utf8')), { sequence: 3 });
});

test('The comparison detects a changed and a removed line', async (t) => {
  const { change, open, linesOf, path, reader } = await startExportWorld(t);
  const exporter = open();
  for (let i = 0; i < 4; i++) await change();
  await exporter.settled();
  const [first = '', second = '', third = '', fourth = ''] = linesOf();
  const compare = async (...lines: readonly string[]) => {
    writeFileSync(path, `${lines.join('\n')}\n`);
    return (await compareSink([path], reader)).faults;
  };
  t.same(await compare(first, second, third, fourth, third), []);
  t.match(await compare(first, second, fourth), [/^The commit 3 of demo .* is not in the sink$/]);
  const forged = second.replace(/"hash":"../, '"hash":"00');
  t.match(await compare(first, forged, third), [
    /^The sink's commit 2 of demo .* is not the one of the log$/,
    /^The commit 2 of demo .* is not in the sink$/,
  ]);
});
