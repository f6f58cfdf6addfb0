/**
 * Change of the master key: everything opens before, during and after it, with either key until it
 * ends and with the new one alone afterwards, wherever the process dies.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Test, test } from 'tap';
import { openSecretStore } from '../../sqlite/platform/secrets/local-secrets.ts';
import { createSeal, keyIdOf } from '../../sqlite/platform/secrets/seal.ts';
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { createUnsubscribeCodes } from '../../src/delivery/recipients/unsubscribe-codes.ts';
import { createDerivedKeys, earlierKeys, keepEarlierKey } from '../../src/platform/derived-keys.ts';
import { systemRandom } from '../../streams/platform/random.ts';

const OLD = Buffer.alloc(32, 1);
const NEXT = Buffer.alloc(32, 2);
const VALUES = 120;
const program = fileURLToPath(new URL('../support/key-change-program.ts', import.meta.url));

const noMembers = { members: () => [] };

function open(folder: string, masterKey: Uint8Array, keep?: (next: Uint8Array) => boolean) {
  const path = join(folder, 'secrets.db');
  return openSecretStore({ path, masterKey, random: systemRandom, ...(keep && { keep }) });
}

async function fill(store: SecretStore): Promise<void> {
  for (let i = 0; i < VALUES; i += 1) {
    await store.put(`value-${i}`, 'webhook-secret', Buffer.from(`secret ${i}`));
  }
  await store.bodies.putMissing([{ deliveryId: 'dlv_1', body: Buffer.from('body') }]);
  await store.excerpts.put([{ deliveryId: 'dlv_1', attemptId: 'att_1', excerpt: 'answer' }]);
}

/** Number of values that cannot be read, or are wrong. */
function faultsIn(store: SecretStore): number {
  let faults = 0;
  const check = (read: () => string, wanted: string): void => {
    try {
      if (read() !== wanted) faults += 1;
    } catch {
      faults += 1;
    }
  };
  const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
  for (let i = 0; i < VALUES; i += 1) {
    check(() => text(store.get(`value-${i}`, 'webhook-secret')), `secret ${i}`);
  }
  check(() => text(store.bodies.get('dlv_1')), 'body');
  check(() => store.excerpts.of('dlv_1').get('att_1') ?? '', 'answer');
  return faults;
}

/** Names of files in which a value of this seal is found. */
function opensAnything(folder: string, key: Uint8Array): boolean {
  try {
    const store = open(folder, key);
    const isOpen = faultsIn(store) < VALUES;
    store.close();
    return isOpen;
  } catch {
    return false;
  }
}

test('after a change only the new key opens the store, and everything is readable', async (t) => {
  const folder = t.testdir();
  const kept: Uint8Array[] = [];
  const store = open(folder, OLD, (next) => kept.push(next) > 0);
  await fill(store);
  const steps: string[] = [];
  const changing = store.changeKey({
    ...noMembers,
    next: NEXT,
    onStep(step) {
      steps.push(step);
      t.equal(faultsIn(store), 0, `everything is readable after ${step}`);
    },
  });
  await store.put('late', 'webhook-secret', Buffer.from('written meanwhile'));
  t.match(await changing, { state: 'changed', unreadable: 0, waitsFor: [] });
  t.same([steps[0], ...steps.slice(-3)], ['recorded', 'sealed', 'kept', 'finished']);
  t.same(kept, [NEXT]);
  t.equal(store.keyId(), keyIdOf(NEXT));
  t.notOk(store.isKeyChanging());
  t.equal(faultsIn(store), 0);
  store.close();
  t.notOk(opensAnything(folder, OLD), 'the old key opens nothing');
  const again = open(folder, NEXT);
  t.equal(faultsIn(again), 0);
  t.equal(Buffer.from(again.get('late', 'webhook-secret') ?? []).toString(), 'written meanwhile');
  again.close();
});

test('no file has a value under the old key, or the new key itself, after a change', async (t) => {
  const folder = t.testdir();
  const store = open(folder, OLD, () => true);
  await fill(store);
  const before = sealedBytes(folder);
  await store.changeKey({ ...noMembers, next: NEXT });
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, name));
    t.equal(bytes.indexOf(Buffer.from('key-change')), -1, `${name} has no record of the change`);
    t.notOk(
      before.some((sealed) => bytes.includes(sealed)),
      `${name} has no old value`,
    );
  }
  store.close();
});

/** Some sealed values of the file, as bytes. */
function sealedBytes(folder: string): Buffer[] {
  const all = Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
  const seal = createSeal({ masterKey: OLD, random: systemRandom });
  const found: Buffer[] = [];
  const length = seal.close('value-1', 'webhook-secret', Buffer.from('secret 1')).length;
  for (let at = all.indexOf('value-1'); at >= 0; at = all.indexOf('value-1', at + 1)) {
    const begin = at + 'value-1webhook-secret'.length;
    found.push(all.subarray(begin, begin + length));
  }
  return found;
}

test('a process that is killed at any step leaves a store that either key opens', async (t) => {
  const steps = ['recorded', 'sealing:1', 'sealing:2', 'sealed', 'kept'] as const;
  for (const step of steps) {
    await t.test(step, async (t) => {
      const folder = t.testdir();
      const store = open(folder, OLD);
      await fill(store);
      store.close();
      const keyFile = join(folder, 'master.key');
      writeFileSync(keyFile, OLD.toString('base64'), { mode: 0o600 });
      const ran = spawnSync(process.execPath, [program, folder, NEXT.toString('base64'), step]);
      t.equal(ran.signal, 'SIGKILL', String(ran.stderr));
      for (const key of [OLD, NEXT]) {
        const opened = open(folder, key);
        t.equal(faultsIn(opened), 0, `key ${keyIdOf(key)} opens everything`);
        t.ok(opened.isKeyChanging());
        opened.close();
      }
      await continues(t, folder, step === 'kept' ? NEXT : OLD);
    });
  }
});

async function continues(t: Test, folder: string, key: Uint8Array): Promise<void> {
  t.equal(
    readFileSync(join(folder, 'master.key'), 'utf8').trim(),
    Buffer.from(key).toString('base64'),
  );
  const store = open(folder, key, () => true);
  t.match(await store.changeKey(noMembers), { state: 'changed', unreadable: 0 });
  t.equal(faultsIn(store), 0);
  store.close();
  t.notOk(opensAnything(folder, OLD));
  const last = open(folder, NEXT);
  t.equal(faultsIn(last), 0);
  t.match(await last.changeKey(noMembers), { state: 'none' }, 'nothing is left to continue');
  last.close();
}

test('a key file that cannot be written leaves both keys valid until it is replaced', async (t) => {
  const folder = t.testdir();
  const store = open(folder, OLD, () => false);
  await fill(store);
  const outcome = await store.changeKey({ ...noMembers, next: NEXT });
  t.match(outcome, { state: 'waiting', waitsFor: ['this process'] });
  t.ok(store.isKeyChanging());
  await t.rejects(store.changeKey({ ...noMembers, next: Buffer.alloc(32, 3) }), {
    name: 'KeyChangeRefused',
    message: /is not finished/,
  });
  store.close();
  const replaced = open(folder, NEXT, () => true);
  t.match(await replaced.changeKey(noMembers), { state: 'changed' });
  replaced.close();
  t.notOk(opensAnything(folder, OLD));
});

test('a change to the same key, or to one of the wrong length, is refused', async (t) => {
  const store = open(t.testdir(), OLD, () => true);
  for (const next of [OLD, Buffer.alloc(31)]) {
    await t.rejects(store.changeKey({ ...noMembers, next }), { name: 'KeyChangeRefused' });
  }
  t.notOk(store.isKeyChanging());
  store.close();
});

test('derived keys follow the master key, and links in mails keep working', async (t) => {
  const store = open(t.testdir(), OLD, () => true);
  const keys = createDerivedKeys(OLD);
  const key = keys.derive('unsubscribe links');
  const codes = createUnsubscribeCodes(key, () => earlierKeys(store, 'unsubscribe links'));
  const subscription = { project: 'demo', recipient: 'rcp_1' };
  const mailed = codes.make(subscription);
  await keepEarlierKey(store, 'unsubscribe links', Uint8Array.from(key));
  await keepEarlierKey(store, 'unsubscribe links', Uint8Array.from(key));
  keys.replace(NEXT);
  t.same(key, createDerivedKeys(NEXT).derive('unsubscribe links'), 'replaced in place');
  t.not(codes.make(subscription), mailed);
  t.same(codes.read(mailed), subscription);
  t.same(codes.read(codes.make(subscription)), subscription);
  t.equal(earlierKeys(store, 'unsubscribe links').length, 1);
  store.close();
});
