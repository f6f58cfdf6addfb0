/** Folders on file systems that take none: the fault is named as it is, with its remedy. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { test } from 'tap';
import { makeFolder } from '../../sqlite/platform/make-folder.ts';
import { toDataFolderFault } from '../../src/platform/data-folder.ts';
import { needs } from '../support/components.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'svc-make-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

test('a folder is made with its parents, once', async (t) => {
  const path = join(folder, 'a/b/c');
  t.equal(makeFolder(path, 0o700), join(folder, 'a'));
  t.equal(statSync(path).mode & 0o777, 0o700);
  t.equal(makeFolder(path), undefined);
});

test('a file or a dangling link in the path is an error', async (t) => {
  writeFileSync(join(folder, 'file'), '');
  t.throws(() => makeFolder(join(folder, 'file/a')), { code: 'ENOTDIR' });
  symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
  t.throws(() => makeFolder(join(folder, 'dangling/a')), { code: 'EEXIST' });
});

/** Mounts a file system of its own on a folder and makes a folder there. Prints the sentence. */
function faultOn(options: string, fill: string): string {
  const point = join(folder, `mount-${options.replaceAll(/\W/g, '-')}`);
  mkdirSync(point);
  const program = `
    import { toDataFolderFault } from '${root}src/platform/data-folder.ts';
    import { makeFolder } from '${root}sqlite/platform/make-folder.ts';
    const path = process.env.FOLDER + '/x/y';
    try {
      makeFolder(path, 0o700);
    } catch (error) {
      process.stdout.write(String(toDataFolderFault(error, path)));
    }`;
  const commands = `mount -t tmpfs -o ${options} tmpfs "$FOLDER" && ${fill} exec "$NODE" --input-type=module -e "$PROGRAM"`;
  return execFileSync('unshare', ['--mount', 'sh', '-c', commands], {
    encoding: 'utf8',
    env: { ...process.env, FOLDER: point, NODE: process.execPath, PROGRAM: program },
  });
}

test(
  'a read-only and a full file system are named, with a remedy',
  needs('tmpfs mounts'),
  async (t) => {
    t.match(faultOn('ro', ''), /may write to \(EROFS: /);
    t.match(
      faultOn('nr_inodes=2', ': > "$FOLDER/f";'),
      /the disk is full; free some space \(ENOSPC: /,
    );
  },
);

test('an error that is not about the data folder is unchanged', async (t) => {
  const error = Object.assign(new Error('no such file'), { code: 'ENOENT' });
  t.equal(toDataFolderFault(error, '/x'), error);
});
