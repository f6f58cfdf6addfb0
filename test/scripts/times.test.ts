/** Times of the tests: the record in a file, sums by room, and the table of a run. */
import { join } from 'node:path';
import { test } from 'tap';
import {
  readRecord,
  roomOfTest,
  sumsByRoom,
  timesTable,
  writeRecord,
} from '../../scripts/test/times.ts';

const times = new Map([
  ['test/alerting/a.test.ts', { wallMs: 1_540, cpuMs: 1_230 }],
  ['test/alerting/b.test.ts', { wallMs: 100, cpuMs: 90 }],
  ['test/long/e2e/c.test.ts', { wallMs: 9_000, cpuMs: 310 }],
]);

test('a record keeps every room, and the files with a measurable cost', async (t) => {
  const path = join(t.testdir(), 'times.json');
  writeRecord(path, times);
  t.same(readRecord(path), {
    files: new Map([
      ['test/alerting/a.test.ts', { wallMs: 1_500, cpuMs: 1_200 }],
      ['test/long/e2e/c.test.ts', { wallMs: 9_000, cpuMs: 300 }],
    ]),
    rooms: new Map([
      ['alerting', 1_300],
      ['long/e2e', 300],
    ]),
  });
});

test('a missing record is empty', async (t) => {
  t.equal(readRecord(join(t.testdir(), 'none.json')).files.size, 0);
});

test('a damaged record is rejected', async (t) => {
  const folder = t.testdir({ 'times.json': '{' });
  t.throws(() => readRecord(join(folder, 'times.json')), SyntaxError);
});

test('long tests have rooms of their own', async (t) => {
  t.equal(roomOfTest('test/alerting/x/a.test.ts'), 'alerting');
  t.equal(roomOfTest('test/long/alerting/a.test.ts'), 'long/alerting');
  t.same([...sumsByRoom(times).keys()], ['alerting', 'long/e2e'], 'most expensive first');
});

test('the table shows rooms, the run and the dearest files next to their recorded times', async (t) => {
  const recorded = { files: new Map(), rooms: new Map([['alerting', 1_000]]) };
  const table = timesTable(times, { recorded, top: 1, runCpuMs: 2_000, runWallMs: 9_100 });
  t.equal(
    table,
    [
      ' CPU s  recorded   wall s  room (files)',
      '   1.3       1.0      1.6  alerting (2)',
      '   0.3         -      9.0  long/e2e (1)',
      '   2.0       1.0      9.1  the run, with the starts of its processes',
      '',
      ' CPU s  recorded   wall s  file',
      '   1.2         -      1.5  test/alerting/a.test.ts',
      '',
    ].join('\n'),
  );
});
