/**
 * `history.db` on a disk of its own: moving it there, the refusal of a service that does not find it,
 * the backup of both folders, and a disk that fills up.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { openHistory } from '../../sqlite/telemetry/history/store/store.ts';
import {
  assertHistoryInPlace,
  HISTORY_MARK,
  historyFolderOnDisk,
} from '../../src/platform/history-folder.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { componentPath, needs } from '../support/components.ts';
import { fleetRows, fleetVm } from '../support/fleet.ts';
import { dataFolder, type Program, runInProcess, until } from '../support/program.ts';
import { startService } from '../support/service-in-process.ts';

const QUERY = 'monitoring.v1.MonitoringService/QueryVMMonitoring';
const WRITE = 'ingest.v1.IngestService/WriteSamples';

test('a history outside the configured folder is refused with a remedy', async (t) => {
  const cases: [
    files: readonly string[],
    mark: string | undefined,
    history: string,
    refused: RegExp | undefined,
  ][] = [
    [[], undefined, 'data', undefined],
    [['data/history.db'], undefined, 'data', undefined],
    [[], undefined, 'new', undefined],
    [['new/history.db'], 'new', 'new', undefined],
    [['new/history.db'], undefined, 'new', undefined],
    [
      ['data/history.db'],
      undefined,
      'new',
      /SVC_HISTORY_DATA is .*new, but .*data.history\.db exists\. Move it, or unset SVC_HISTORY_DATA: mv .*data.history\.db\* .*new\/\. Nothing was changed/,
    ],
    [
      ['data/history.db', 'new/history.db'],
      'new',
      'new',
      /new.history\.db exists too\. Keep the newer one there, and move the other aside/,
    ],
    [
      [],
      'new',
      'new',
      /SVC_HISTORY_DATA .*new had history\.db and has none now\. Mount its disk, .*To begin an empty history, remove .*history\.folder/,
    ],
    [
      ['new/history.db'],
      'new',
      'data',
      /history of SVC_DATA .* is in .*new, but it is not set\. Set SVC_HISTORY_DATA to .*new, or move the file: mv .*new.history\.db\* /,
    ],
    [
      ['new/history.db'],
      'new',
      'third',
      /is in .*new, but SVC_HISTORY_DATA is .*third\. Set SVC_HISTORY_DATA to .*new, /,
    ],
    // Moved to a third folder, as the message says.
    [['third/history.db'], 'new', 'third', undefined],
    [['data/history.db'], 'new', 'data', undefined],
  ];
  for (const [i, [files, mark, history, refused]] of cases.entries()) {
    const root = join(t.testdir(), String(i));
    for (const name of ['data', 'new', 'third']) mkdirSync(join(root, name), { recursive: true });
    for (const file of files) writeFileSync(join(root, file), '');
    if (mark !== undefined) writeFileSync(join(root, 'data', HISTORY_MARK), join(root, mark));
    const folders = { data: join(root, 'data'), historyData: join(root, history) };
    const check = () => assertHistoryInPlace(folders);
    if (refused === undefined) t.doesNotThrow(check, `case ${i}`);
    else t.throws(check, { name: 'DataFolderUnusable', message: refused }, `case ${i}`);
  }
});

/** Writes a row of this age, and resolves once it is readable. */
async function writeRow(t: Test, program: Program, minutesOld: number): Promise<void> {
  const { demo } = program;
  const row = {
    vmName: 'vm-1',
    observedUnixMs: String(Date.now() - minutesOld * 60_000),
    values: [{ series: 'svc_vm_memory_total_bytes', value: minutesOld }],
  };
  const rows = { projectName: demo.projectName, rows: [row] };
  t.match(await program.call(WRITE, rows, demo.collectorKey), { status: 200 });
  await until('the row', async () =>
    (await values(program)).includes(minutesOld) ? true : undefined,
  );
}

/** Values of the last hour. */
async function values(program: Program): Promise<number[]> {
  const end = Math.floor(Date.now() / 1000);
  const answer = await program.call(QUERY, {
    name: `${program.demo.projectName}/vms/vm-1`,
    metricIds: ['memory_total_bytes'],
    startTimeUnix: String(end - 3600),
    endTimeUnix: String(end),
    stepSeconds: 30,
  });
  const [series] = (answer.body.series ?? []) as { points: { value: number }[] }[];
  return (series?.points ?? []).map(({ value }) => value);
}

test('history.db moves to its own folder, with its checks, backup and restore', async (t) => {
  const root = dataFolder(t);
  const [data, history, backup] = ['data', 'history', 'backup'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  const first = await startService(t, data);
  await writeRow(t, first, 10);
  await first.stop();

  const settings = { SVC_HISTORY_DATA: history };
  await t.rejects(startService(t, data, settings), {
    message: /history\.db exists\. Move it, or unset SVC_HISTORY_DATA/,
  });
  mkdirSync(history, { mode: 0o700 });
  for (const name of readdirSync(data).filter((one) => one.startsWith('history.db'))) {
    renameSync(join(data, name), join(history, name));
  }
  const second = await startService(t, data, settings);
  await writeRow(t, second, 5);
  t.same((await values(second)).toSorted(), [10, 5].toSorted(), 'rows from before the move too');
  t.notOk(existsSync(join(data, 'history.db')));
  await t.rejects(startService(t, join(root, 'other'), settings), {
    name: 'FolderLocked',
    message: /in use .* another folder with SVC_HISTORY_DATA/,
  });
  const made = await runInProcess(['backup', backup, '--data', data, '--json']);
  t.equal(made.code, 0, made.text);
  t.ok(existsSync(join(backup, 'history.db')));
  const { createdMs } = JSON.parse(made.stdout);
  t.same(JSON.parse(readFileSync(join(data, 'last-backup.json'), 'utf8')), { createdMs });
  await second.stop();

  await t.rejects(startService(t, data), { message: /is in .*history, but it is not set/ });
  const away = `${history}-unmounted`;
  renameSync(history, away);
  mkdirSync(history);
  await t.rejects(startService(t, data, settings), { message: /Mount its disk/ });
  rmSync(history, { recursive: true });
  renameSync(away, history);

  t.equal(historyFolderOnDisk({ data, historyData: data }), history);
  const checked = await runInProcess(['history', 'check', '--data', data]);
  t.equal(checked.code, 0, 'found by its mark, without the setting');
  t.match(checked.text, join(history, 'history.db'));

  const [newData, newHistory] = [join(root, 'new-data'), join(root, 'new-history')];
  const restore = ['restore', backup, '--data', newData];
  mkdirSync(newHistory);
  writeFileSync(join(newHistory, 'history.db'), 'of another service');
  const refused = await runInProcess(restore, { SVC_HISTORY_DATA: newHistory });
  t.match(refused, { code: 1, text: /new-history.history\.db exists, but .*SVC_HISTORY_DATA/ });
  rmSync(join(newHistory, 'history.db'));
  mkdirSync(newData, { mode: 0o700, recursive: true });
  renameSync(join(data, 'master.key'), join(newData, 'master.key'));
  const restored = await runInProcess(restore, { SVC_HISTORY_DATA: newHistory });
  t.equal(restored.code, 0, restored.text);
  t.notOk(existsSync(join(newData, 'history.db')));
  writeFileSync(join(newData, 'demo.json'), readFileSync(join(data, 'demo.json')));
  const third = await startService(t, newData, { SVC_HISTORY_DATA: newHistory });
  t.same((await values(third)).toSorted(), [10, 5].toSorted());
});

/** A tmpfs of this size, filled by `fill` and emptied by `free`. */
function smallDisk(t: Test, mib: number) {
  componentPath('tmpfs mounts');
  const folder = dataFolder(t);
  const options = `size=${mib}m,mode=0700`;
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'svc-test', folder]);
  t.teardown(() => execFileSync('umount', ['--lazy', folder]));
  const filler = join(folder, 'filler');
  return {
    folder,
    fill() {
      const { bavail, bsize } = statfsSync(folder);
      try {
        writeFileSync(filler, Buffer.alloc(bavail * bsize));
      } catch (error) {
        // The last pages may be taken by others.
        if ((error as { code?: string }).code !== 'ENOSPC') throw error;
      }
    },
    free: () => truncateSync(filler, 0),
  };
}

test('a full history disk causes no refusal', needs('tmpfs mounts'), async (t) => {
  const root = dataFolder(t);
  const disk = smallDisk(t, 100);
  const settings = { SVC_HISTORY_DATA: disk.folder, SVC_DISK_RESERVE: '64' };
  const service = await startService(t, join(root, 'data'), settings);
  const part = async () => {
    const { status, text } = await service.get('/readyz');
    const { parts } = JSON.parse(text) as { parts: { name: string; state: string }[] };
    return { status, state: parts.find(({ name }) => name === 'history disk')?.state };
  };
  t.same(await part(), { status: 200, state: 'ready' });
  disk.fill();
  await until('a full disk', async () => ((await part()).state === 'degraded' ? true : undefined));
  t.same(await part(), { status: 200, state: 'degraded' }, 'it is still ready');
  await writeRow(t, service, 3);
  disk.free();
  await until('space', async () => ((await part()).state === 'ready' ? true : undefined));
});

test(
  'rows that a full disk cannot take stay readable, and are stored later',
  needs('tmpfs mounts'),
  async (t) => {
    const disk = smallDisk(t, 4);
    const hour = 3_600_000;
    const clock = new VirtualClock(Date.UTC(2026, 0, 1));
    const fromMs = clock.now();
    const options = {
      folder: disk.folder,
      clock,
      logIdentity: 'log',
      background: false,
      readers: 1,
    };
    const history = openHistory(options);
    let sequence = 0;
    const range = { fromMs, toMs: fromMs + hour, stepMs: 30_000 };
    for (const batch of fleetRows({ vms: 40, ...range, seed: 1 })) {
      history.append(batch, { partition: 1, sequence: ++sequence });
    }
    await clock.advance(hour);
    disk.fill();
    await t.rejects(history.flush(), { message: /full/ });
    t.equal(history.floor(1), 1, 'a restart reads all of the log');
    const read = async () =>
      (await history.read({ project: 'demo', vm: fleetVm(7), fromMs, toMs: fromMs + hour }))
        .timesMs;
    t.equal((await read()).length, 120);
    disk.free();
    await history.flush();
    t.equal(history.floor(1), sequence + 1);
    t.equal((await read()).length, 120);
    await history.close();
  },
);
