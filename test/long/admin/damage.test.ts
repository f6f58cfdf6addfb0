/**
 * Damage on the disk of a small installation: a flipped bit in each page of each database is found
 * by a check, or is proven to change no answer.
 */
import { cpSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test, test } from 'tap';
import { readChangeCount } from '../../../sqlite/platform/change-count.ts';
import type { Damage, FileCheck } from '../../../sqlite/platform/file-check.ts';
import { openOnceStore } from '../../../sqlite/platform/once-store.ts';
import { openSecretStore } from '../../../sqlite/platform/secrets/local-secrets.ts';
import { MARKS_FILE, readMarks } from '../../../src/admin/check/acknowledged-marks.ts';
import { DATA_FILES } from '../../../src/admin/check/data-files.ts';
import { readMasterKey } from '../../../src/platform/master-key.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { seededRandom, systemRandom } from '../../../streams/platform/random.ts';
import { saveRule, writeReadings } from '../../e2e/fault-injection.ts';
import { type Flip, flipBit, flipEveryPage, flipTable } from '../../support/bit-flips.ts';
import { fleetRows } from '../../support/fleet.ts';
import { DAY, openStore, replay, START } from '../../support/history-from-log.ts';
import { dataFolder, runInProcess, startProgram, until } from '../../support/program.ts';
import { startService } from '../../support/service-in-process.ts';
import { tries } from '../../support/tries.ts';

t.setTimeout(840_000);

const vms = Array.from({ length: 12 }, (_, i) => `vm-${i}`);

/** A folder with people, keys, rules, incidents, secrets and samples, and no service on it. */
async function installation(t: Test): Promise<string> {
  stopped ??= stoppedInstallation();
  return copyOf(t, await stopped);
}

let stopped: Promise<string> | undefined;

async function stoppedInstallation(): Promise<string> {
  const folder = join(dataFolder(t), 'data');
  const program = await startService(t, folder);
  await saveRule(program, []);
  await writeReadings(program, vms, 12);
  await program.stop();
  return folder;
}

/** Fills the files that a young installation leaves nearly empty. */
async function fill(folder: string): Promise<void> {
  const onceStore = openOnceStore({ path: join(folder, 'claims.db'), clock: systemClock });
  const untilMs = systemClock.now() + 60_000;
  await Promise.all(Array.from({ length: 400 }, (_, i) => onceStore.takeOnce(`key ${i}`, untilMs)));
  onceStore.close();
  const masterKey = readMasterKey(join(folder, 'master.key'));
  const path = join(folder, 'secrets.db');
  const secrets = openSecretStore({ path, masterKey, random: systemRandom });
  const value = new Uint8Array(300);
  for (let i = 0; i < 30; i++) {
    await secrets.put(`dst_${i}`, 'url', value);
    await secrets.bodies.putMissing([{ deliveryId: `dlv_${i}`, body: value }]);
    const excerpt = { deliveryId: `dlv_${i}`, attemptId: `att_${i}`, excerpt: 'a response' };
    await secrets.excerpts.put([excerpt]);
  }
  secrets.lastUsed.record([{ credential: 'key_1', atMs: untilMs }]);
  secrets.close();
  rmSync(join(folder, 'history.db'));
  const history = openStore({ folder });
  const log = [...fleetRows({ vms: 4, fromMs: START - DAY, toMs: START, stepMs: 60_000, seed: 5 })];
  for (let i = 0; i < log.length; i += 480) {
    replay(history, log.slice(0, i + 480), i + 1);
    await history.flush();
  }
  history.recordLost({ fromMs: START - DAY, toMs: START });
  await history.close();
}

test('DUR-29: a flipped bit in any page of any database is found, or changes no answer', async (t) => {
  const folder = await installation(t);
  await fill(folder);
  const masterKey = readMasterKey(join(folder, 'master.key'));
  const flips = new Map<string, readonly Flip[]>();
  for (const file of DATA_FILES) {
    const random = seededRandom(29);
    const found = await flipEveryPage({ folder, file, masterKey, random, each: tries(8, 2) });
    flips.set(file, found);
    const missed = found.filter((flip) => flip.found === 'missed');
    t.same(missed, [], `${file}: no flip is missed`);
    t.ok(
      found.some((flip) => flip.found !== 'equal'),
      `${file}: flips are found`,
    );
  }
  t.comment(flipTable(flips).join('\n'));
});

/** A folder whose service was killed: its write-ahead logs are not empty. Tests change copies. */
let killed: Promise<string> | undefined;

async function killedInstallation(): Promise<string> {
  const folder = join(dataFolder(t), 'data');
  const program = await startProgram(t, folder);
  await saveRule(program, []);
  await writeReadings(program, vms, 5);
  await program.kill();
  return folder;
}

const refusalOf = async (t: Test, folder: string): Promise<string> => {
  try {
    const program = await startService(t, folder);
    await program.stop();
    return 'started';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

test('a flipped bit inside a write-ahead log prevents the start and names the frame', async (t) => {
  killed ??= killedInstallation();
  const sound = await killed;
  for (const file of ['events.db', 'samples.db'] as const) {
    const size = statSync(join(sound, `${file}-wal`)).size;
    for (const at of [17, 40, 60, 4_000, Math.floor(size / 3)]) {
      const folder = copyOf(t, sound);
      flipBit(join(folder, `${file}-wal`), at, 3);
      const refusal = await refusalOf(t, folder);
      const place = new RegExp(
        `is damaged \\(${file}-wal, frame \\d+\\): at least \\d+ acknowledged`,
      );
      t.match(refusal, place, `${file} at ${at}`);
    }
  }
});

test('DUR-29: a truncated write-ahead log prevents the start', async (t) => {
  killed ??= killedInstallation();
  const sound = await killed;
  for (const bytes of [0, 32 + 4_120, 32 + 3 * 4_120 + 100]) {
    const folder = copyOf(t, sound);
    truncateSync(join(folder, 'events.db-wal'), bytes);
    t.match(await refusalOf(t, folder), /EVENTS|events\.db/, `events.db-wal cut to ${bytes}`);
  }
});

/** Marks as the running service writes them: how far the file is now. */
function mark(folder: string, file: string): void {
  const path = join(folder, MARKS_FILE);
  const marks = { ...readMarks(folder), [file]: readChangeCount(join(folder, file)) };
  writeFileSync(path, JSON.stringify(marks));
}

test('DUR-29: a truncated log of secrets or one-time keys prevents the start, and verify reports it', async (t) => {
  const folder = await installation(t);
  const older = copyOf(t, folder);
  const masterKey = readMasterKey(join(folder, 'master.key'));
  const secrets = openSecretStore({
    path: join(folder, 'secrets.db'),
    masterKey,
    random: systemRandom,
  });
  const onceStore = openOnceStore({ path: join(folder, 'claims.db'), clock: systemClock });
  for (let i = 0; i < 5; i++) {
    await secrets.put(`dst_${i}`, 'url', new Uint8Array(300));
    await onceStore.takeOnce(`key ${i}`, systemClock.now() + 60_000);
  }
  // The copy has the logs of a killed process.
  const withLogs = copyOf(t, folder);
  secrets.close();
  onceStore.close();
  for (const file of ['secrets.db', 'claims.db']) {
    const whole = copyOf(t, withLogs);
    mark(whole, file);
    t.equal(await refusalOf(t, copyOf(t, whole)), 'started', `${file}: whole`);
    for (const bytes of [0, 32, 32 + 4_120 + 100, 32 + 3 * 4_120]) {
      const cut = copyOf(t, whole);
      truncateSync(join(cut, `${file}-wal`), bytes);
      const lost = new RegExp(`${file}: it ends at change \\d+, but change \\d+ was acknowledged`);
      t.match(await refusalOf(t, cut), lost, `${file}-wal cut to ${bytes}`);
      t.match(await runInProcess(['audit', 'verify', '--data', cut]), { code: 1, stdout: lost });
      if (bytes > 0) continue;
      rmSync(join(cut, MARKS_FILE));
      t.equal(await refusalOf(t, cut), 'started', 'the named way back works');
    }
    const mixed = copyOf(t, whole);
    rmSync(join(mixed, `${file}-wal`));
    cpSync(join(older, file), join(mixed, file));
    t.match(await refusalOf(t, mixed), /ends at change/, `an older copy of ${file}`);
    rmSync(join(mixed, file));
    t.equal(await refusalOf(t, mixed), 'started', 'a new file has no earlier end');
  }
});

test('DUR-29: an older copy of a database in place of the newer one prevents the start', async (t) => {
  const folder = await installation(t);
  const older = copyOf(t, folder);
  const program = await startService(t, folder);
  await saveRule(program, []);
  await writeReadings(program, vms, 5);
  await program.stop();
  for (const file of ['events.db', 'samples.db']) {
    const mixed = copyOf(t, folder);
    cpSync(join(older, file), join(mixed, file));
    const outcome = await refusalOf(t, mixed);
    if (file === 'events.db') t.match(outcome, /EVENTS|events\.db/);
    else t.equal(outcome, 'started', 'the service starts and reports lost samples');
  }
});

function copyOf(t: Test, folder: string): string {
  const copy = join(dataFolder(t), 'copy');
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
  return copy;
}

/** Changes a stored value as a flipped bit would: its checksum stays. */
function damage(folder: string, file: string, sql: string): void {
  const database = new Database(join(folder, file));
  database.exec(sql);
  database.close();
}

test('DUR-29: damage in a running service fails only the reads that reach it', async (t) => {
  const folder = join(dataFolder(t), 'data');
  const program = await startService(t, folder, { SVC_METRICS_ON_API: 'on' });
  await saveRule(program, []);
  await writeReadings(program, vms, 12);
  const list = (method: string, of = program) =>
    of.call(`monitoring.v1.AlertService/${method}`, {
      projectName: program.demo.projectName,
      pageSize: 10,
    });
  await until('an incident', async () => {
    const { body } = await list('ListIncidents');
    return (body.incidents as unknown[]).length > 0 ? true : undefined;
  });
  damage(
    folder,
    'control.db',
    `UPDATE records SET body = replace(body, '"rule"', '"rulf"')
      WHERE kind = 'incident' AND project = 'demo'`,
  );
  const failed = await list('ListIncidents');
  t.equal(failed.status, 500);
  t.match(JSON.stringify(failed.body), /data that this request needs is damaged/);
  t.notMatch(JSON.stringify(failed.body), /control\.db/, 'the place is for the operator');
  t.equal((await list('ListAlertRules')).status, 200, 'other reads work');
  await writeReadings(program, ['vm-other'], 1);
  const headers = { authorization: `Bearer ${program.demo.apiKey}` };
  const metrics = await (await fetch(`${program.demo.baseUrl}/metrics`, { headers })).text();
  t.match(metrics, /svc_damaged_reads_total [1-9]/);
  t.equal((await program.get('/readyz')).status, 200);
  t.match((await program.get('/readyz')).text, /degraded/);
  const { code, stdout } = await runInProcess(['audit', 'verify', '--data', folder, '--json']);
  t.equal(code, 1);
  const [found] = JSON.parse(stdout).files.flatMap((file: FileCheck) => file.damage) as Damage[];
  t.match(found, { file: 'control.db', table: 'records', row: /^demo incident / });
  await program.stop();
  const again = await startService(t, folder);
  t.equal((await list('ListIncidents', again)).status, 500, 'a restart does not hide it');
  await again.stop();
});

test('DUR-29: a damaged batch of the sample log is a gap, and the rest is evaluated', async (t) => {
  const folder = await installation(t);
  damage(
    folder,
    'samples.db',
    `UPDATE stream_message SET data = CAST(substr(data, 1, 20) || x'00' || substr(data, 22) AS BLOB)
      WHERE position = (SELECT max(position) FROM stream_message WHERE length(data) > 100)`,
  );
  const program = await startService(t, folder);
  await saveRule(program, []);
  await writeReadings(program, vms, 2);
  t.match((await program.get('/readyz')).text, /degraded/);
  await program.stop();
});
