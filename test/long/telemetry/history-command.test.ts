/**
 * `svc history` as an operator runs it: on a folder without a service, and beside a running one.
 * The history is that of a fictional fleet, with damaged chunks.
 */
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test, test } from 'tap';
import { HISTORY_FILE } from '../../../sqlite/telemetry/history/history-file.ts';
import { openHistory } from '../../../sqlite/telemetry/history/store/store.ts';
import { systemClock } from '../../../streams/platform/clock.ts';
import { fleetRows, fleetVm } from '../../support/fleet.ts';
import {
  dataFolder,
  type Ended,
  runInProcess,
  runToEnd,
  startProgram,
} from '../../support/program.ts';

const HOUR = 3_600_000;
const VMS = 40;
const settings = { SVC_COLLECT: 'none' };

/** Folder of the history that all tests copy; created once. */
let made: Promise<string> | undefined;

/** A folder with a copy of the history. */
async function folderWithHistory(t: Test): Promise<string> {
  const folder = dataFolder(t);
  made ??= makeHistory();
  cpSync(await made, folder, { recursive: true });
  return folder;
}

/** A folder with six hours of history, flushed hourly. */
async function makeHistory(): Promise<string> {
  const folder = dataFolder(t);
  const history = openHistory({
    folder,
    clock: systemClock,
    logIdentity: 'an earlier log',
    background: false,
  });
  let sequence = 0;
  const toMs = Date.now() - HOUR;
  for (let hour = 6; hour > 0; hour--) {
    const range = { fromMs: toMs - hour * HOUR, toMs: toMs - (hour - 1) * HOUR };
    for (const batch of fleetRows({ vms: VMS, ...range, stepMs: 60_000, seed: hour })) {
      history.append(batch, { partition: 1, sequence: ++sequence });
    }
    await history.flush();
  }
  await history.close();
  return folder;
}

/** Flips one bit of a chunk of the VM; returns the chunk's id. */
function damage(folder: string, vm: string): number {
  const database = new Database(join(folder, HISTORY_FILE));
  const row = database
    .prepare<[string], { id: number; data: Buffer }>(
      `SELECT chunks.id AS id, data FROM chunks JOIN vms ON vms.id = chunks.vm
       WHERE vms.vm = ? ORDER BY chunks.id DESC LIMIT 1`,
    )
    .get(vm);
  if (row === undefined) throw new Error(`${vm} has no chunk`);
  row.data[row.data.length >> 1] = (row.data[row.data.length >> 1] ?? 0) ^ 1;
  database.prepare('UPDATE chunks SET data = ? WHERE id = ?').run(row.data, row.id);
  database.close();
  return row.id;
}

const history = (what: string, folder: string, ...more: string[]): Promise<Ended> =>
  runInProcess(['history', what, '--data', folder, ...more]);

test('history is counted and checked without a running service, and the output says so', async (t) => {
  const folder = await folderWithHistory(t);
  const stats = await history('stats', folder);
  t.equal(stats.code, 0, stats.text);
  t.match(stats.text, /^No service is running on .*\. Reading .*history\.db directly/);
  t.match(stats.stdout, new RegExp(`^VMs +${VMS} of 1 projects$`, 'm'));
  t.match(stats.stdout, /^chunks +\d+ with 14,400 rows, .* KiB \(\d+\.\d bytes per row\)$/m);
  t.match(stats.stdout, /^day \(UTC\) +VMs +chunks +rows +size$/m);
  t.match(stats.stdout, /^\d{4}-\d\d-\d\d +40 +\d+ +[\d,]+ +[\d.]+ KiB$/m);
  t.notMatch(stats.stdout, 'in memory', 'unknown values are not printed');
  const json = JSON.parse((await history('stats', folder, '--json')).stdout);
  t.match(json, { stored: { vms: VMS, projects: 1, rows: 14_400 } });
  t.notOk('running' in json);

  const sound = await runToEnd(['history', 'check', '--data', folder]);
  t.match(sound, { code: 0, stdout: /14,400 rows, [\d,]+ samples, .*: no damage found/ });
  t.match(sound.text, /^checked \d+ of \d+ chunks \(\d+ %\)$/m, 'its progress is printed');

  const chunk = damage(folder, fleetVm(3));
  const damaged = await runToEnd(['history', 'check', '--data', folder]);
  t.equal(damaged.code, 1);
  t.match(damaged.stdout, '1 chunk is damaged:');
  const line = new RegExp(
    `^${chunk} +demo +${fleetVm(3)} +[-0-9]+ [:0-9]+ .* its checksum does not match$`,
    'm',
  );
  t.match(damaged.stdout, line);
  t.match(damaged.stdout, /^What to do:$/m);
  const report = await history('check', folder, '--json');
  t.equal(report.code, 1);
  t.match(JSON.parse(report.stdout), {
    rows: 14_400,
    damaged: [{ chunk, project: 'demo', vm: fleetVm(3), detail: /checksum/ }],
  });
});

test('a running service answers for its folder, and its history stays readable', async (t) => {
  const folder = await folderWithHistory(t);
  const chunk = damage(folder, fleetVm(5));
  const program = await startProgram(t, folder, settings);
  const socket = join(folder, 'admin.sock');
  t.equal(statSync(socket).mode & 0o777, 0o600, 'no other user may ask');
  const stats = await history('stats', folder);
  t.equal(stats.code, 0, stats.text);
  t.notMatch(stats.text, 'No service runs');
  t.match(stats.stdout, /^in memory +.* VMs have rows that are not in a chunk yet$/m);
  t.match(stats.stdout, /^since start +no faults$/m);
  const json = JSON.parse((await history('stats', folder, '--json')).stdout);
  t.match(json, { stored: { vms: VMS }, running: { refused: 0, flushFailures: 0 } });

  const check = await history('check', folder);
  t.equal(check.code, 1);
  t.match(check.stdout, new RegExp(`^${chunk} +demo +${fleetVm(5)} `, 'm'));
  t.match(check.text, /^checked \d+ of \d+ chunks/m);

  await program.kill();
  t.ok(existsSync(socket), 'a kill leaves the socket behind');
  const after = await history('check', folder, '--json');
  t.match(after, { code: 1, text: /^No service is running on/ });
  const again = await startProgram(t, folder, settings);
  const requested = await history('stats', folder);
  t.notMatch(requested.text, 'No service runs', 'the next start replaces it');
  t.equal(await again.stop(), 0);
  t.notOk(existsSync(socket));
});

test('a folder with a path too long for a socket still works', async (t) => {
  // Longer than the 107 bytes that such a path may have.
  const folder = join(dataFolder(t), 'a-long-name-of-a-folder/'.repeat(5));
  mkdirSync(folder, { recursive: true });
  const program = await startProgram(t, folder, settings);
  const { code, text, stdout } = await history('stats', folder);
  t.equal(code, 0, text);
  t.notMatch(text, 'No service runs');
  t.match(stdout, /^in chunks +none yet/m);
  t.match(await history('check', folder), { code: 0, stdout: /^0 chunks, 0 rows, 0 samples/ });
  t.equal(await program.stop(), 0);
  t.notOk(existsSync(join(folder, 'admin.sock')));
});

test('failures are reported in a sentence, with what to do', async (t) => {
  const empty = dataFolder(t);
  const mistakes = [[], ['chck'], ['stats', '--jsn'], ['stats', 'x'], ['check', '--listen', ':1']];
  const [none, absent, help, commands, ...refused] = await Promise.all([
    history('stats', empty),
    history('check', join(empty, 'absent')),
    runToEnd(['help', 'history']),
    runInProcess(['help']),
    ...mistakes.map((args) => runInProcess(['history', ...args])),
  ]);
  t.match(none, {
    code: 1,
    text: /history\.db does not exist\. Specify the data folder of the service/,
  });
  t.notOk(existsSync(join(empty, HISTORY_FILE)), 'and nothing is made');
  t.match(absent, { code: 1, text: /history\.db does not exist/ });
  t.match(help, { code: 0, stdout: /^Usage: svc history stats/ });
  t.match(commands, { code: 0, stdout: /^ {2}history +Show how much/m });
  for (const [i, one] of refused.entries()) {
    const reported = { code: 2, stdout: '', text: /^svc history: .*\n\nUsage: svc history stats/s };
    t.match(one, reported, mistakes[i]?.join(' ') ?? '');
  }
});
