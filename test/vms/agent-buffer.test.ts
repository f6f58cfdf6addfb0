/**
 * The agent's buffer on a real disk: stored rows survive any end of the process, a batch is the
 * same each time it is offered, and excess rows are dropped, oldest first, and counted.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import {
  BATCH_ROWS_MAX,
  RowBuffer,
  type RowBufferOptions,
} from '../../src/vms/agent/row-buffer.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { needs } from '../support/components.ts';
import { START_MS } from '../support/host-in-memory.ts';

const HOUR_MS = 3_600_000;
const row = (observedMs: number, value = 1) => ({
  observedMs,
  values: [['svc_vm_load1', value] as const],
});

function opening(t: Test, change: Partial<RowBufferOptions> = {}) {
  const folder = join(t.testdir(), 'buffer');
  const clock = new VirtualClock(START_MS);
  const random = seededRandom(3);
  const dropped: [number, string][] = [];
  const open = (more: Partial<RowBufferOptions> = {}) =>
    new RowBuffer({
      folder,
      clock,
      random,
      ...change,
      ...more,
      onDropped: (rows, why) => void dropped.push([rows, why]),
    });
  const files = () => readdirSync(folder).sort();
  return { folder, clock, dropped, open, files };
}

/** Times of all rows, in the order in which they are offered. Empties the buffer. */
function drained(buffer: RowBuffer): number[] {
  const times: number[] = [];
  for (let batch = buffer.next(); batch; batch = buffer.next()) {
    times.push(...batch.rows.map(({ observedMs }) => observedMs - START_MS));
    buffer.done(batch.id);
  }
  return times;
}

test('rows are read as they were written, oldest first, and removed once done', async (t) => {
  const { open, files } = opening(t);
  const buffer = open();
  t.equal(buffer.next(), undefined);
  for (let i = 0; i < 250; i++) buffer.append(row(START_MS + i, i / 8));
  t.match(buffer.stats(), { rows: 250, oldestMs: START_MS });
  const first = buffer.next();
  t.equal(first?.rows.length, BATCH_ROWS_MAX);
  t.same(first?.rows[5]?.values, [['svc_vm_load1', 5 / 8]]);
  const sequences = first?.rows.map(({ sequence }) => sequence) ?? [];
  t.same(
    sequences,
    sequences.toSorted((a, b) => a - b),
  );
  t.same(buffer.next(), first, 'the same until it is done');
  t.same(
    drained(buffer),
    Array.from({ length: 250 }, (_, i) => i),
  );
  t.same([buffer.stats(), files()], [{ rows: 0, bytes: 0 }, []]);
});

test('an offered batch never changes, whatever is appended and however the process ends', async (t) => {
  const { open, clock, files } = opening(t);
  const buffer = open();
  buffer.append(row(START_MS));
  buffer.append(row(START_MS + 1));
  const offered = buffer.next();
  buffer.append(row(START_MS + 2));
  t.same(buffer.next(), offered);
  // The process dies here: nothing is closed.
  const after = open();
  t.same(after.next(), offered, 'the same rows under the same id');
  after.append(row(START_MS + 3));
  t.equal(files().length, 3, 'nothing is appended to another process’s file');
  clock.jump(-HOUR_MS);
  after.append(row(START_MS + 4));
  const last = open();
  const ids: string[] = [];
  const sequences: number[] = [];
  for (let batch = last.next(); batch; batch = last.next()) {
    ids.push(batch.id);
    sequences.push(...batch.rows.map(({ sequence }) => sequence));
    last.done(batch.id);
  }
  t.equal(new Set(ids).size, ids.length);
  t.same(
    sequences,
    sequences.toSorted((a, b) => a - b),
    'even after the clock was set back',
  );
  t.equal(new Set(sequences).size, 5);
});

test('an incomplete last row is dropped; a damaged line loses only itself and is counted', async (t) => {
  const { folder, open, files, dropped } = opening(t);
  const buffer = open();
  for (let i = 0; i < 3; i++) buffer.append(row(START_MS + i));
  const path = join(folder, files()[0] ?? '');
  appendFileSync(path, `[${START_MS + 3},7,[["svc_vm_lo`);
  t.same(drained(open()), [0, 1, 2]);
  t.same(dropped, [], 'it was never acknowledged');
  writeFileSync(path, readFileText(['[1]', `[${START_MS + 9},8,[["svc_vm_load1",1]]]`, 'x']));
  t.same(drained(open()), [9]);
  t.same(dropped, [[2, 'DAMAGED']]);
  mkdirSync(join(folder, 'else'));
  t.same(drained(open()), [], 'foreign files are left alone');
});

function readFileText(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

test('rows that are too old or too many are dropped, oldest first, and counted', async (t) => {
  const { open, dropped, files } = opening(t, { bytesMax: 20_000 });
  const buffer = open();
  for (let i = 0; i < 1_000; i++) buffer.append(row(START_MS + i));
  const { rows, bytes } = buffer.stats();
  t.ok(bytes <= 20_000 + 6_000, `${bytes} bytes`);
  t.equal(
    dropped.reduce((sum, [count]) => sum + count, rows),
    1_000,
  );
  t.ok(dropped.every(([, why]) => why === 'TOO_MUCH'));
  const oldest = 1_000 - rows;
  const offered = buffer.next();
  t.equal(offered?.rows[0]?.observedMs, START_MS + oldest);
  dropped.length = 0;
  buffer.append(row(START_MS + 24 * HOUR_MS + 2_000));
  t.ok(dropped.length > 0 && dropped.every(([, why]) => why === 'TOO_OLD'));
  t.same(buffer.next(), offered, 'the batch in flight stays: the service may have it');
  t.equal(files().length, 2);
});

test('only the agent’s user can read the buffer', async (t) => {
  const { folder, open, files } = opening(t);
  open().append(row(START_MS));
  t.equal(statSync(folder).mode & 0o777, 0o700);
  t.equal(statSync(join(folder, files()[0] ?? '')).mode & 0o777, 0o600);
});

test('a full disk stores no row, and no partial one', needs('tmpfs mounts'), async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-small-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'svc-test', folder]);
  const clock = new VirtualClock(START_MS);
  const open = () => new RowBuffer({ folder, clock, random: seededRandom(1), onDropped: () => {} });
  const buffer = open();
  try {
    let taken = 0;
    const fill = () => {
      for (; taken < 5_000; taken++) buffer.append(row(START_MS + taken));
    };
    t.throws(fill, { code: 'ENOSPC' });
    t.ok(taken > 100, `${taken} rows fit`);
    const sent = buffer.next() ?? { id: '', rows: [] };
    buffer.done(sent.id);
    buffer.append(row(START_MS + taken));
    const expected = Array.from({ length: taken + 1 }, (_, i) => i).slice(sent.rows.length);
    t.same(drained(open()), expected);
  } finally {
    buffer.close();
    execFileSync('umount', [folder]);
    rmdirSync(folder);
  }
});
