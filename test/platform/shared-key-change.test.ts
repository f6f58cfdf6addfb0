/**
 * Change of the master key of members that share a stream: none seals under the old key once the
 * values are sealed again, a member that dies leaves a stream that either key opens, and the error
 * of a late one names the key to take.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { createSeal, keyIdOf } from '../../sqlite/platform/secrets/seal.ts';
import { keyOf, sealedSpec } from '../../sqlite/platform/secrets/sealed-stream.ts';
import type { SecretStore } from '../../sqlite/platform/secrets/secret-store.ts';
import { openSharedSecrets } from '../../sqlite/platform/secrets/shared-secrets.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import type { StreamMessage } from '../../streams/platform/stream.ts';

const OLD = new Uint8Array(32).fill(1);
const NEXT = new Uint8Array(32).fill(2);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();

function cluster(t: Test) {
  const where = mkdtempSync(join(tmpdir(), 'svc-rekey-'));
  const stream = openEmbeddedStream({ storage: join(where, 'stream.db'), clock: systemClock });
  t.teardown(() => {
    void stream.close();
    rmSync(where, { recursive: true, force: true });
  });
  const stores = new Map<string, SecretStore>();
  const open = async (name: string, masterKey: Uint8Array, keep = true): Promise<SecretStore> => {
    const store = await openSharedSecrets({
      stream,
      masterKey,
      random: systemRandom,
      clock: systemClock,
      where: 'the test',
      path: join(where, `${name}.db`),
      keep: () => keep,
      onFault: () => {},
    });
    stores.set(name, store);
    return store;
  };
  const members = () =>
    [...stores].map(([name, store]) => ({ name, keyId: store.keyId() as string | null }));
  /** Messages of the stream by subject. */
  const all = async (): Promise<StreamMessage[]> => {
    const read = stream.read({ stream: sealedSpec.name, from: { sequence: 1 }, untilEnd: true });
    const found = new Map<string, StreamMessage>();
    for await (const message of read) found.set(message.subject, message);
    return [...found.values()];
  };
  return { open, stores, members, all };
}

/** Purposes of the messages that a key opens. */
function openedBy(masterKey: Uint8Array, messages: readonly StreamMessage[]): string[] {
  const seal = createSeal({ masterKey, random: systemRandom });
  return messages.flatMap(({ subject, data }) => {
    const { id, purpose } = keyOf(subject);
    try {
      seal.open(id, purpose, purpose === 'canary' ? data.subarray(16) : data);
      return [purpose];
    } catch {
      return [];
    }
  });
}

test('all members change, and no value in the stream opens under the old key', async (t) => {
  const { open, members, all } = cluster(t);
  const [a, b] = [await open('a', OLD), await open('b', OLD)];
  await a.put('one', 'destination', bytes('first'));
  await a.put('gone', 'destination', bytes('erased'));
  await b.bodies.putMissing([{ deliveryId: 'dlv_1', body: bytes('body') }]);
  await a.delete('gone', 'destination');
  const changing = a.changeKey({ next: NEXT, members });
  await b.put('two', 'destination', bytes('second'));
  t.match(await changing, { state: 'changed', unreadable: 0, waitsFor: [] });
  await b.put('three', 'destination', bytes('third'));
  for (const store of [a, b]) {
    await store.caughtUp();
    t.notOk(store.isKeyChanging());
    t.equal(store.keyId(), keyIdOf(NEXT));
    t.equal(text(store.get('one', 'destination')), 'first');
    t.equal(text(store.get('two', 'destination')), 'second');
    t.equal(text(store.get('three', 'destination')), 'third');
    t.equal(text(store.bodies.get('dlv_1')), 'body');
    t.equal(store.fault(), undefined);
  }
  const messages = await all();
  t.same(openedBy(OLD, messages), [], 'the old key opens nothing');
  t.notOk(messages.some(({ subject }) => subject.includes('key-change')));
  await t.rejects(open('late', OLD), { name: 'WrongMasterKey' });
  await a.close();
  await b.close();
  const again = await open('b', NEXT);
  t.equal(text(again.get('one', 'destination')), 'first');
  await again.close();
});

test('after an unfinished change either key opens the store, and the change continues', async (t) => {
  const { open, members } = cluster(t);
  const first = await open('a', OLD);
  await first.put('one', 'destination', bytes('first'));
  const ended = new AbortController();
  const broken = first.changeKey({
    next: NEXT,
    members,
    signal: ended.signal,
    onStep: (step) => step === 'sealing' && ended.abort(new Error('it died')),
  });
  await t.rejects(broken, { message: 'it died' });
  await first.close();
  for (const key of [OLD, NEXT]) {
    const store = await open('a', key);
    t.ok(store.isKeyChanging());
    t.equal(text(store.get('one', 'destination')), 'first');
    await store.close();
  }
  const last = await open('a', OLD);
  t.match(await last.changeKey({ members }), { state: 'changed' });
  t.equal(text(last.get('one', 'destination')), 'first');
  await last.close();
});

test('a member of an older program, or with another key, refuses the change', async (t) => {
  const { open } = cluster(t);
  const store = await open('a', OLD);
  for (const keyId of [null, keyIdOf(NEXT)]) {
    const members = () => [{ name: 'node-b', keyId }];
    await t.rejects(store.changeKey({ next: NEXT, members }), {
      name: 'KeyChangeRefused',
      message: /node-b/,
    });
  }
  t.notOk(store.isKeyChanging());
  await store.close();
});
