/**
 * The files beside the commits: sealed values (a wrong key, a moved or changed row must not open),
 * the master key's file, the folder's lock, and files that are complete or absent.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type Test, test } from 'tap';
import { FolderLocked, lockFolder } from '../../sqlite/platform/lock-file.ts';
import {
  type LocalSecretStore,
  openSecretStore,
} from '../../sqlite/platform/secrets/local-secrets.ts';
import { SealBroken, WrongMasterKey } from '../../sqlite/platform/secrets/seal.ts';
import { SecretFile } from '../../sqlite/platform/secrets/secret-file.ts';
import { writeFileDurably } from '../../src/platform/durable-file.ts';
import { createLog } from '../../src/platform/log.ts';
import { loadMasterKey } from '../../src/platform/master-key.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';

function folder(t: Test): string {
  const made = mkdtempSync(join(tmpdir(), 'svc-secrets-'));
  t.teardown(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const keyA = new Uint8Array(32).fill(1);
const keyB = new Uint8Array(32).fill(2);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined =>
  value && new TextDecoder().decode(value);

function open(path: string, masterKey = keyA): LocalSecretStore {
  return openSecretStore({ path, masterKey, random: seededRandom(7) });
}

test('sealed values survive a restart, are replaced, and are deleted for good', async (t) => {
  const path = join(folder(t), 'secrets.db');
  const store = open(path);
  t.equal(store.get('sec_1', 'webhook'), undefined);
  await store.put('sec_1', 'webhook', bytes('whsec_one'));
  t.equal(text(store.get('sec_1', 'webhook')), 'whsec_one', 'though it was read before');
  await store.put('sec_1', 'url', bytes('https://hooks/T/secret'));
  await store.put('sec_1', 'webhook', bytes('whsec_two'));
  t.equal(text(store.get('sec_1', 'webhook')), 'whsec_two');
  await store.put('sec_2', 'webhook', bytes(''));
  t.same(store.ids('webhook'), ['sec_1', 'sec_2']);
  store.close();
  const again = open(path);
  t.teardown(() => again.close());
  t.equal(text(again.get('sec_1', 'webhook')), 'whsec_two');
  t.equal(text(again.get('sec_1', 'url')), 'https://hooks/T/secret');
  t.equal(text(again.get('sec_2', 'webhook')), '', 'an empty value is a value');
  t.equal(again.get('sec_3', 'webhook'), undefined);
  await again.delete('sec_1', 'webhook');
  await again.delete('sec_1', 'webhook');
  t.equal(again.get('sec_1', 'webhook'), undefined);
  t.equal(text(again.get('sec_1', 'url')), 'https://hooks/T/secret');
});

test('a value from a rolled-back transaction is not returned', async (t) => {
  const file = new SecretFile({ path: join(folder(t), 'secrets.db'), synchronous: 'NORMAL' });
  t.teardown(() => file.close());
  const key = { purpose: 'webhook', id: 'sec_1' };
  file.put(key, bytes('before'));
  const write = () =>
    file.transaction(() => {
      file.put(key, bytes('after'));
      t.equal(text(file.get(key)), 'after', 'it sees its own');
      throw new Error('taken back');
    });
  t.throws(write, /taken back/);
  t.equal(text(file.get(key)), 'before');
});

test('no secret is readable in the files of the store', async (t) => {
  const where = folder(t);
  const store = open(join(where, 'secrets.db'));
  await store.put('sec_1', 'webhook', bytes('whsec_readable'));
  await store.bodies.putMissing([{ deliveryId: 'dlv_1', body: bytes('{"vm":"readable"}') }]);
  store.close();
  for (const name of readdirSync(where)) {
    t.notOk(readFileSync(join(where, name)).includes('readable'), name);
  }
});

test('no deleted secret remains in the files of the store', async (t) => {
  const where = folder(t);
  const path = join(where, 'secrets.db');
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const faults: unknown[] = [];
  const later = { clock, onFault: (error: unknown) => void faults.push(error) };
  const store = openSecretStore({ path, masterKey: keyA, random: seededRandom(7), later });
  const ids = Array.from({ length: 64 }, (_, i) => `dlv_${i}`);
  // A long value, whose row has pages of its own.
  const long = 'x'.repeat(20_000);
  for (const id of ids) await store.put(id, 'webhook', bytes(`whsec_${id}`));
  await store.bodies.putMissing(ids.map((deliveryId) => ({ deliveryId, body: bytes(long) })));
  await store.excerpts.put(
    ids.map((deliveryId) => ({ deliveryId, attemptId: `att_${deliveryId}`, excerpt: 'no' })),
  );
  const reader = new Database(path, { readonly: true });
  const sealed = ['sealed', 'bodies', 'excerpts'].flatMap((table) =>
    reader.prepare<[], Buffer>(`SELECT value FROM ${table}`).pluck().all(),
  );
  reader.close();
  const left = () => {
    const files = readdirSync(where).map((name) => readFileSync(join(where, name)));
    return sealed.filter((value) => files.some((file) => file.includes(value.subarray(0, 32))));
  };
  t.equal(left().length, 3 * ids.length + 1);
  await store.delete('dlv_0', 'webhook');
  t.equal(left().length, 3 * ids.length, 'a secret at once');
  const blocker = new Database(path, { readonly: true });
  blocker.exec('BEGIN; SELECT count(*) FROM bodies');
  for (const id of ids) await store.bodies.delete([id]);
  await store.excerpts.delete(ids);
  t.equal(left().length, 3 * ids.length, 'bodies and answers together');
  await clock.advance(10_000);
  t.equal(left().length, 3 * ids.length, 'while a reader is open');
  blocker.close();
  await clock.advance(10_000);
  t.equal(left().length, ids.length);
  for (const id of ids) await store.delete(id, 'webhook');
  t.equal(left().length, 1, 'only the value that detects a wrong key');
  t.same(faults, []);
  await store.put('sec_1', 'webhook', bytes('whsec_later'));
  t.equal(text(store.get('sec_1', 'webhook')), 'whsec_later');
  store.close();
});

test('secrets deleted just before a crash are erased at the next start', async (t) => {
  const where = folder(t);
  const path = join(where, 'secrets.db');
  open(path).close();
  const raw = new Database(path);
  raw.pragma('wal_autocheckpoint = 0');
  raw.pragma('secure_delete = ON');
  raw.exec("INSERT INTO bodies VALUES ('dlv_1', CAST('left over' AS BLOB)); DELETE FROM bodies");
  const files = () =>
    readdirSync(where).filter((name) => readFileSync(join(where, name)).includes('left over'));
  t.same(files(), ['secrets.db-wal']);
  const store = open(path);
  t.same(files(), []);
  store.close();
  raw.close();
});

test('a store does not open under another key, and the error names a remedy', async (t) => {
  const path = join(folder(t), 'secrets.db');
  open(path).close();
  t.throws(() => open(path, keyB), WrongMasterKey);
  t.throws(() => open(path, keyB), {
    message: /sealed under a master key other than.*use the key/,
  });
  t.throws(() => open(path, keyA.subarray(1)), { message: /has 31 bytes: it must have 32/ });
  open(path).close();
});

test('a value that was moved to another row, changed or truncated does not open', async (t) => {
  const path = join(folder(t), 'secrets.db');
  const store = open(path);
  for (const id of ['moved', 'purpose', 'changed', 'cut', 'version']) {
    await store.put(id, 'webhook', bytes(`secret of ${id}`));
  }
  store.close();
  const database = new Database(path);
  database.exec(`
    INSERT INTO sealed SELECT 'elsewhere', purpose, value FROM sealed WHERE id = 'moved';
    UPDATE sealed SET purpose = 'url' WHERE id = 'purpose';
    UPDATE sealed SET value = substr(value, 1, 20) WHERE id = 'cut';
    UPDATE sealed SET value = CAST(x'02' || substr(value, 2) AS BLOB) WHERE id = 'version';
    UPDATE sealed SET value = CAST(substr(value, 1, length(value) - 1) || x'00' AS BLOB)
      WHERE id = 'changed'`);
  database.close();
  const again = open(path);
  t.teardown(() => again.close());
  t.equal(text(again.get('moved', 'webhook')), 'secret of moved');
  const broken = ['elsewhere', 'changed', 'cut', 'version'].map((id) => [id, 'webhook'] as const);
  for (const [id, purpose] of [...broken, ['purpose', 'url'] as const]) {
    t.throws(() => again.get(id, purpose), SealBroken, id);
  }
});

test('a delivery keeps its first body until it is deleted', async (t) => {
  const store = open(join(folder(t), 'secrets.db'));
  t.teardown(() => store.close());
  const { bodies } = store;
  await bodies.putMissing([
    { deliveryId: 'dlv_1', body: bytes('first') },
    { deliveryId: 'dlv_2', body: bytes('other') },
  ]);
  await bodies.putMissing([{ deliveryId: 'dlv_1', body: bytes('second') }]);
  t.equal(text(bodies.get('dlv_1')), 'first');
  t.same(bodies.ids().sort(), ['dlv_1', 'dlv_2']);
  await bodies.delete(['dlv_1', 'dlv_unknown']);
  t.equal(bodies.get('dlv_1'), undefined);
  t.equal(text(bodies.get('dlv_2')), 'other');
});

test('excerpts of answers are sealed by attempt, and end with their delivery', async (t) => {
  const path = join(folder(t), 'secrets.db');
  const store = open(path);
  const { excerpts } = store;
  const kept = (deliveryId: string, attemptId: string, excerpt: string) => ({
    deliveryId,
    attemptId,
    excerpt,
  });
  await excerpts.put([kept('dlv_1', 'att_1', 'first readable'), kept('dlv_1', 'att_2', 'second')]);
  await excerpts.put([kept('dlv_1', 'att_1', 'recorded twice'), kept('dlv_2', 'att_3', 'other')]);
  t.same(
    [...excerpts.of('dlv_1')],
    [
      ['att_1', 'first readable'],
      ['att_2', 'second'],
    ],
  );
  store.close();
  t.notOk(readFileSync(path).includes('first readable'));
  const again = open(path);
  await again.excerpts.delete(['dlv_1', 'dlv_unknown']);
  t.same([again.excerpts.of('dlv_1').size, again.excerpts.of('dlv_2').size], [0, 1]);
  const database = new Database(path);
  database.exec("UPDATE excerpts SET attempt_id = 'att_4'");
  database.close();
  t.throws(() => again.excerpts.of('dlv_2'), { name: 'SealBroken' });
  again.close();
});

test('the last use is the latest reported time', async (t) => {
  const { lastUsed, close } = open(join(folder(t), 'secrets.db'));
  t.teardown(close);
  lastUsed.record([{ credential: 'k', atMs: 2_000 }]);
  lastUsed.record([{ credential: 'k', atMs: 1_000 }]);
  t.equal(lastUsed.get('k'), 2_000);
  t.equal(lastUsed.get('never'), undefined);
});

function masterKey(options: { file: string; mustExist?: boolean; storePath?: string }) {
  const logged: string[] = [];
  const write = (line: string): void => void logged.push(line);
  const log = createLog({ level: 'info', readable: true, clock: systemClock, write });
  const key = loadMasterKey({
    mustExist: false,
    storePath: '/nowhere/secrets.db',
    random: seededRandom(3),
    log,
    ...options,
  });
  return { key, logged: logged.join('') };
}

test('the master key is created once, readable by its owner alone, with a warning to keep a copy', async (t) => {
  const file = join(folder(t), 'data', 'master.key');
  const first = masterKey({ file });
  t.equal(first.key.length, 32);
  t.match(first.logged, /keep a copy elsewhere/);
  t.equal(statSync(file).mode & 0o777, 0o600);
  const second = masterKey({ file });
  t.same(second.key, first.key);
  t.equal(second.logged, '');
  chmodSync(file, 0o644);
  t.match(masterKey({ file }).logged, /is readable by users other than its owner: run chmod 600/);
});

test('a missing, renamed or broken master key is rejected with a remedy', async (t) => {
  const where = folder(t);
  const file = join(where, 'master.key');
  const storePath = join(where, 'secrets.db');
  t.throws(() => masterKey({ file, mustExist: true }), /does not exist: make it with "head/);
  writeFileSync(storePath, '');
  t.throws(
    () => masterKey({ file, storePath }),
    /is missing, and the secrets in .* cannot be read/,
  );
  t.notOk(existsSync(file), 'no other key is created in its place');
  for (const content of ['', 'short', '!'.repeat(44), Buffer.alloc(31).toString('base64')]) {
    writeFileSync(file, content);
    t.throws(() => masterKey({ file }), /must be 32 bytes in base64/, content);
  }
});

test('a write is complete or absent, and an exclusive one never replaces', async (t) => {
  const where = folder(t);
  const path = join(where, 'f');
  writeFileDurably({ path, content: 'one', exclusive: true });
  t.throws(() => writeFileDurably({ path, content: 'two', exclusive: true }), { code: 'EEXIST' });
  t.equal(readFileSync(path, 'utf8'), 'one');
  writeFileDurably({ path, content: 'three', exclusive: false });
  t.equal(readFileSync(path, 'utf8'), 'three');
  t.same(readdirSync(where), ['f'], 'no temporary file remains');
});

test('a data folder belongs to one service until it is released', async (t) => {
  const where = join(folder(t), 'data');
  const lock = lockFolder(where);
  t.equal(statSync(where).mode & 0o777, 0o700);
  t.throws(() => lockFolder(where), FolderLocked);
  t.throws(() => lockFolder(where), { message: /in use by another service of this process/ });
  lock.release();
  lock.release();
  lockFolder(where).release();
});

const holderProgram = `
  import { lockFolder } from ${JSON.stringify(new URL('../../sqlite/platform/lock-file.ts', import.meta.url).href)};
  lockFolder(process.argv[1]);
  process.stdout.write('locked');
  setInterval(() => {}, 1000);`;

const triesProgram = `
  import { lockFolder } from ${JSON.stringify(new URL('../../sqlite/platform/lock-file.ts', import.meta.url).href)};
  try {
    lockFolder(process.argv[1]);
    process.stdout.write('locked');
  } catch (error) {
    process.stdout.write(error.name);
  }`;

test('a second attempt to lock a folder within this process does not release the lock', async (t) => {
  const where = folder(t);
  const lock = lockFolder(where);
  t.throws(() => lockFolder(where), FolderLocked);
  const args = ['--input-type=module', '-e', triesProgram, where];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 600_000 });
  t.equal(stdout, 'FolderLocked');
  lock.release();
});

async function startHolder(t: Test, where: string): Promise<ChildProcess> {
  const args = ['--input-type=module', '-e', holderProgram, where];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout?.once('data', resolve));
  return child;
}

test('a locked folder’s error names the process, and a killed process leaves no lock behind', async (t) => {
  const where = folder(t);
  const child = await startHolder(t, where);
  t.throws(() => lockFolder(where), {
    message: new RegExp(`in use by process ${child.pid}: stop it, or give this one another folder`),
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
  t.ok(existsSync(join(where, 'svc.pid')), 'its process id remains, and is ignored');
  lockFolder(where).release();
});
