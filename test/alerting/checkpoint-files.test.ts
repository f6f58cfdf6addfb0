/** Files of checkpoints: a read returns the blocks as they were written, or fails. */
import { Buffer } from 'node:buffer';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { CheckpointFiles, CheckpointUnusable } from '../../sqlite/alerting/checkpoint-files.ts';

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-checkpoints-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return join(folder, 'checkpoints');
}

const BLOCKS = [Buffer.from('a state of many equal rows '.repeat(2_000)), Buffer.from([0, 255, 7])];

async function blocksIn(files: CheckpointFiles, name: string): Promise<string[]> {
  const read: string[] = [];
  for await (const block of files.read(name)) read.push(Buffer.from(block).toString('hex'));
  return read;
}

test('a checkpoint is read back as written, and only its owner can read it', async (t) => {
  const folder = folderOf(t);
  const files = new CheckpointFiles(folder);
  t.equal(await files.index(), undefined, 'nothing yet');
  await files.write('17-4', BLOCKS);
  await files.saveIndex({ through: 4 }, new Set(['17-4']));
  t.same(await new CheckpointFiles(folder).index(), { through: 4 });
  t.same(
    await blocksIn(files, '17-4'),
    BLOCKS.map((block) => block.toString('hex')),
  );
  t.equal(statSync(folder).mode & 0o077, 0);
  for (const name of readdirSync(folder)) t.equal(statSync(join(folder, name)).mode & 0o077, 0);
});

test('a file leaves the folder once the index no longer names it', async (t) => {
  const folder = folderOf(t);
  const files = new CheckpointFiles(folder);
  await files.write('17-4', BLOCKS);
  await files.write('17-9', BLOCKS);
  writeFileSync(join(folder, '17-11.partial'), 'cut by a kill');
  t.same(readdirSync(folder).sort(), ['17-11.partial', '17-4', '17-9']);
  await files.saveIndex({}, new Set(['17-9']));
  t.same(readdirSync(folder).sort(), ['17-9', 'index']);
});

test('every cut and every changed byte of a checkpoint is found', async (t) => {
  const folder = folderOf(t);
  const files = new CheckpointFiles(folder);
  await files.write('17-4', BLOCKS);
  const whole = readFileSync(join(folder, '17-4'));
  let found = 0;
  for (let at = 0; at < whole.length; at++) {
    writeFileSync(join(folder, 'cut'), whole.subarray(0, at));
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 0x10;
    writeFileSync(join(folder, 'changed'), changed);
    for (const name of ['cut', 'changed']) {
      await t.rejects(blocksIn(files, name), { name: 'CheckpointUnusable' }, `${name} at ${at}`);
      found++;
    }
  }
  t.equal(found, 2 * whole.length);
  await t.rejects(blocksIn(files, 'none'), CheckpointUnusable, 'a missing file');
});

test('a damaged index is refused', async (t) => {
  const folder = folderOf(t);
  const files = new CheckpointFiles(folder);
  await files.write('17-4', BLOCKS);
  await files.saveIndex({ through: 4 }, new Set(['17-4']));
  const text = readFileSync(join(folder, 'index'), 'utf8');
  for (const other of ['', text.slice(0, -3), text.replace('4', '5'), 'index']) {
    writeFileSync(join(folder, 'index'), other);
    await t.rejects(files.index(), { name: 'CheckpointUnusable' }, JSON.stringify(other));
  }
});
