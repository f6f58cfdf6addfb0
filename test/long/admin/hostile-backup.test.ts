/**
 * `svc restore` of a folder that an attacker prepared, or that was damaged on its way: it refuses,
 * names the file, and writes nothing. Older backups are restored.
 */

import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import t, { type Test, test } from 'tap';
import { MANIFEST_FILE } from '../../../src/admin/backup/manifest.ts';
import { saveRule, writeReadings } from '../../e2e/fault-injection.ts';
import { flipBit } from '../../support/bit-flips.ts';
import { dataFolder, runInProcess } from '../../support/program.ts';
import { startService } from '../../support/service-in-process.ts';

t.setTimeout(840_000);

/** Two backups of one service, one after the other, and a way to restore a changed copy of one. */
async function backups(t: Test) {
  const root = dataFolder(t);
  const data = join(root, 'data');
  const program = await startService(t, data);
  await saveRule(program, []);
  const made: string[] = [];
  for (const name of ['first', 'second']) {
    await writeReadings(program, ['vm-1', 'vm-2'], 2);
    await saveRule(program, []);
    made.push(join(root, name));
    const { code, text } = await runInProcess(['backup', join(root, name), '--data', data]);
    if (code !== 0) throw new Error(text);
  }
  await program.stop();
  let count = 0;
  const restoreChanged = async (change: (folder: string) => void) => {
    const folder = join(root, `changed-${++count}`);
    const to = join(root, `restored-${count}`);
    cpSync(join(root, 'first'), folder, { recursive: true });
    change(folder);
    const answer = await runInProcess(['restore', folder, '--data', to]);
    return { ...answer, to, left: existsSync(to) ? readdirSync(to) : [] };
  };
  return { root, first: join(root, 'first'), second: join(root, 'second'), restoreChanged };
}

type Manifest = { files: { name: string; bytes: number; sha256: string }[] } & Record<
  string,
  unknown
>;

/** Rewrites the manifest as an attacker would, with a digest that fits. */
function rewrite(folder: string, change: (manifest: Manifest) => object): void {
  const path = join(folder, MANIFEST_FILE);
  const { sha256: _, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
  const changed = change(manifest);
  const sha256 = hash('sha256', JSON.stringify(changed));
  writeFileSync(path, JSON.stringify({ ...changed, sha256 }));
}

/** The manifest's entry of a file, as it is now. */
function entryOf(folder: string, name: string) {
  const bytes = readFileSync(join(folder, name));
  return { name, bytes: bytes.length, sha256: hash('sha256', bytes) };
}

test('a restore refuses anything but a backup of plain, unchanged files', async (t) => {
  const { root, second, restoreChanged } = await backups(t);
  const file = 'control.db';
  const outside = join(root, 'outside.db');
  cpSync(join(root, 'first', file), outside);
  const add = (name: string) => (folder: string) =>
    rewrite(folder, ({ files, ...manifest }) => ({
      ...manifest,
      files: [...files, { name, bytes: 1, sha256: 'x' }],
    }));
  const cases: Record<string, readonly [(folder: string) => void, RegExp]> = {
    'a symbolic link': [
      (folder) => {
        rmSync(join(folder, file));
        symlinkSync(outside, join(folder, file));
      },
      /control\.db is not a plain file/,
    ],
    'a linked manifest': [
      (folder) => {
        renameSync(join(folder, MANIFEST_FILE), join(root, 'elsewhere.json'));
        symlinkSync(join(root, 'elsewhere.json'), join(folder, MANIFEST_FILE));
      },
      /manifest\.json is not a plain file/,
    ],
    'a pipe': [
      (folder) => {
        rmSync(join(folder, file));
        execFileSync('mkfifo', [join(folder, file)]);
      },
      /control\.db is not a plain file/,
    ],
    'a hard link to another file of the backup': [
      (folder) => {
        rmSync(join(folder, file));
        linkSync(join(folder, 'events.db'), join(folder, file));
      },
      /control\.db is damaged/,
    ],
    'a link to a device': [
      (folder) => {
        rmSync(join(folder, file));
        symlinkSync('/dev/zero', join(folder, file));
      },
      /control\.db is not a plain file/,
    ],
    'a folder as file': [
      (folder) => {
        rmSync(join(folder, file));
        mkdirSync(join(folder, file));
      },
      /control\.db is not a plain file/,
    ],
    'a name above the folder': [add('../evil.db'), /is not the manifest of a backup/],
    'an absolute name': [add('/etc/cron.d/evil.db'), /is not the manifest of a backup/],
    'an unknown file': [add('demo.json'), /is not the manifest of a backup/],
    'a file twice': [add(file), /is not the manifest of a backup/],
    'no control.db': [
      (folder) =>
        rewrite(folder, ({ files, ...manifest }) => ({
          ...manifest,
          files: files.filter(({ name }) => name !== file),
        })),
      /is not the manifest of a backup/,
    ],
    'a negative size': [
      (folder) =>
        rewrite(folder, ({ files, ...manifest }) => ({
          ...manifest,
          files: files.map((one) => ({ ...one, bytes: -1 })),
        })),
      /is not the manifest of a backup/,
    ],
    'a huge size': [
      (folder) =>
        rewrite(folder, ({ files, ...manifest }) => ({
          ...manifest,
          files: files.map((one) => ({ ...one, bytes: 2 ** 52 })),
        })),
      /is damaged/,
    ],
    'a sparse file of a terabyte': [
      (folder) => truncateSync(join(folder, file), 2 ** 40),
      /control\.db is damaged/,
    ],
    'a manifest of megabytes': [
      (folder) => truncateSync(join(folder, MANIFEST_FILE), 3 * 1024 * 1024),
      /is not the manifest of a backup/,
    ],
    'a manifest that is no JSON': [
      (folder) => writeFileSync(join(folder, MANIFEST_FILE), '{"kind":'),
      /cannot be read/,
    ],
    'a manifest of null': [
      (folder) => writeFileSync(join(folder, MANIFEST_FILE), 'null'),
      /is not the manifest of a backup/,
    ],
    'a newer format': [
      (folder) => rewrite(folder, (manifest) => ({ ...manifest, format: 2, files: [] })),
      /has format 2, but this program reads up to 1/,
    ],
    'a file of another backup': [
      (folder) => cpSync(join(second, file), join(folder, file)),
      /control\.db is damaged/,
    ],
    'the manifest of another backup': [
      (folder) => cpSync(join(second, MANIFEST_FILE), join(folder, MANIFEST_FILE)),
      /is damaged/,
    ],
    'a cut file': [
      (folder) => truncateSync(join(folder, file), statSync(join(folder, file)).size - 4096),
      /control\.db is damaged/,
    ],
    'a longer file': [
      (folder) => appendFileSync(join(folder, file), 'x'),
      /control\.db is damaged/,
    ],
  };
  for (const [name, [change, expected]] of Object.entries(cases)) {
    const refused = await restoreChanged(change);
    t.match(refused, { code: 1, text: expected }, name);
    t.same(refused.left, [], `${name}: nothing is written`);
  }
});

test('a restore finds a flipped bit in each byte of the manifest', async (t) => {
  const { first, restoreChanged } = await backups(t);
  const size = statSync(join(first, MANIFEST_FILE)).size;
  for (let at = 0; at < size; at += 97) {
    const refused = await restoreChanged((folder) => {
      flipBit(join(folder, MANIFEST_FILE), at, at % 7);
    });
    const isSpace = /\s/.test(readFileSync(join(first, MANIFEST_FILE), 'latin1')[at] ?? '');
    if (!isSpace || refused.code !== 0) t.equal(refused.code, 1, `byte ${at}`);
  }
});

test('hard links and modes of a backup have no effect on the restored files', async (t) => {
  const { root, restoreChanged } = await backups(t);
  const { code, to } = await restoreChanged((folder) => {
    linkSync(join(folder, 'control.db'), join(root, 'hard.db'));
    chmodSync(join(folder, 'control.db'), 0o666);
  });
  t.equal(code, 0);
  const { mode, nlink, ino } = statSync(join(to, 'control.db'));
  t.equal(mode & 0o777, 0o600);
  t.equal(nlink, 1);
  t.not(ino, statSync(join(root, 'hard.db')).ino);
});

test('a device in place of a file is refused', async (t) => {
  const { root, restoreChanged } = await backups(t);
  try {
    execFileSync('mknod', [join(root, 'null'), 'c', '1', '3'], { stdio: 'ignore' });
  } catch {
    t.comment('only root may make a device');
    return;
  }
  const refused = await restoreChanged((folder) => {
    rmSync(join(folder, 'control.db'));
    execFileSync('mknod', [join(folder, 'control.db'), 'c', '1', '3']);
  });
  t.match(refused, { code: 1, text: /control\.db is not a plain file/, left: [] });
});

test('owners, groups and special bits of an archive have no effect on the restored files', async (t) => {
  const { root, first } = await backups(t);
  for (const name of readdirSync(first)) chmodSync(join(first, name), 0o6777);
  const archive = join(root, 'backup.tar');
  const owner = ['--owner=4242', '--group=4242', '--numeric-owner'];
  execFileSync('tar', ['-C', root, ...owner, '-cf', archive, 'first']);
  const unpacked = join(root, 'unpacked');
  mkdirSync(unpacked);
  // As root, tar restores the owners too.
  execFileSync('tar', ['-C', unpacked, '-xpf', archive]);
  const isRoot = process.getuid?.() === 0;
  const { uid, mode } = statSync(join(unpacked, 'first', 'control.db'));
  t.equal(uid, isRoot ? 4242 : process.getuid?.(), 'the archive has a foreign owner');
  t.equal(mode & 0o6777, 0o6777);

  const to = join(root, 'restored');
  const { code, text } = await runInProcess(['restore', join(unpacked, 'first'), '--data', to]);
  t.equal(code, 0, text);
  for (const name of ['.', ...readdirSync(to)]) {
    const found = statSync(join(to, name));
    t.equal(found.uid, process.getuid?.(), `${name}: its owner is who restores`);
    t.equal(found.gid, process.getgid?.(), `${name}: its group`);
    t.equal(found.mode & 0o7077, 0, `${name}: only its owner may use it`);
  }
});

test('a backup of an older program is restored, and migrated at the start', async (t) => {
  const { restoreChanged } = await backups(t);
  const { code, text, to } = await restoreChanged((folder) => {
    for (const name of ['events.db', 'samples.db']) {
      const database = new Database(join(folder, name));
      database.pragma('journal_mode = DELETE');
      const tables = ['', '_subject', '_message', '_message_id', '_consumer', '_pending'];
      for (const table of tables) {
        database.exec(`ALTER TABLE stream${table} DROP COLUMN checksum`);
      }
      database.exec("DELETE FROM schema_migrations WHERE area = 'stream' AND id = 2");
      database.close();
    }
    rewrite(folder, ({ files, ...manifest }) => ({
      ...manifest,
      files: files.map(({ name }) => entryOf(folder, name)),
    }));
  });
  t.equal(code, 0, text);
  cpSync(join(to, '..', 'data', 'master.key'), join(to, 'master.key'));
  cpSync(join(to, '..', 'data', 'demo.json'), join(to, 'demo.json'));
  const program = await startService(t, to);
  await saveRule(program, []);
  await program.stop();
});
