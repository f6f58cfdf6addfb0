/**
 * Authentication by key, on a real host over the embedded stream with a virtual clock: the answer
 * for a missing, mistyped, unknown, expired, revoked or replaced key, from the next request on.
 */
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { KEY_LIFETIME_MS_MAX, type NewCredential } from '../../actors/identity/credentials.ts';
import type { AuthenticatorOptions } from '../../src/identity/auth/authenticator.ts';
import { createLastUsed } from '../../src/identity/auth/last-used.ts';
import { createReadGate } from '../../src/platform/http/read-gate.ts';
import { hashKey, mintKey, mintSecret, parseKey, parseSecret } from '../../src/platform/keys.ts';
import { silentLog } from '../../src/platform/log.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { type Random, seededRandom, systemRandom } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { testAnonymousLimits } from '../support/anonymous-limits.ts';
import { testBounds } from '../support/bounds.ts';
import { issueCredential, revokeCredential } from '../support/credentials.ts';
import {
  authenticator,
  DAY_MS,
  HOUR_MS,
  reasonOf,
  START_MS,
  startWorld,
  tester,
  type World,
} from '../support/host-in-memory.ts';
import { identitiesOf } from '../support/identities.ts';
import { submit } from '../support/submit.ts';
import { tries } from '../support/tries.ts';

const credential: NewCredential = {
  project: 'p1',
  kind: 'sk',
  capabilities: ['monitoring.read'],
  owner: 'projects/p1/serviceAccounts/s',
  displayName: 'Scraper',
};

/** A world in which the keys' service account may read. */
async function startProject(t: Test): Promise<World> {
  const world = await startWorld(t);
  const account = { project: 'p1', displayName: 'Robot', template: null, createdBy: 'test' };
  await identitiesOf(world).start('p1', 'serviceAccount', 's', {
    ...account,
    capabilities: ['monitoring.read'],
  });
  return world;
}

test('KEY-01: a minted key has the published form, and one wrong character is detected', async (t) => {
  const key = mintKey('sk', { nowMs: START_MS, random: systemRandom });
  t.match(key.text, /^svc_sk_[0-9A-Z]{26}_[0-9A-Za-z]{49}$/);
  t.same(parseKey(key.text), { kind: 'sk', id: key.id });
  t.equal(key.lastFour, key.text.slice(-4));
  t.equal(key.hash, hashKey(key.text));
  t.equal(key.hash.length, 64);
  const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  fc.assert(
    fc.property(fc.nat(key.text.length - 1), fc.nat(61), (place, digit) => {
      const other = base62.charAt(digit);
      if (key.text[place] === other) return true;
      return parseKey(key.text.slice(0, place) + other + key.text.slice(place + 1)) === undefined;
    }),
    { numRuns: tries(500) },
  );
  for (const bad of ['', 'svc_', `${key.text}x`, key.text.slice(0, -1), ` ${key.text}`]) {
    t.equal(parseKey(bad), undefined);
  }
  const zero: Random = { bytes: (length) => new Uint8Array(length) };
  const ones: Random = { bytes: (length) => new Uint8Array(length).fill(255) };
  for (const random of [zero, ones]) {
    t.match(mintKey('col', { nowMs: START_MS, random }).text, /^svc_col_[0-9A-Z]{26}_\w{49}$/);
  }
});

test('KEY-01: a secret of one kind is never accepted as another kind', async (t) => {
  const ports = { nowMs: START_MS, random: systemRandom };
  const kinds = ['link', 'inv', 'session', 'enrol', 'pair', 'pk', 'sk', 'col', 'vm'] as const;
  for (const kind of kinds) {
    const { id, text, hash } = mintSecret(kind, { ...ports, id: 'of1Its2Own3' });
    t.match(text, new RegExp(`^svc_${kind}_of1Its2Own3_[0-9A-Za-z]{49}$`));
    t.equal(hash, hashKey(text));
    for (const requested of kinds) {
      t.equal(
        parseSecret(requested, text),
        requested === kind ? id : undefined,
        `${kind} as ${requested}`,
      );
    }
    t.equal(parseKey(text)?.kind, kinds.indexOf(kind) < 5 ? undefined : kind);
    t.equal(parseSecret(kind, `${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`), undefined);
  }
  t.match(mintSecret('session', ports).id, /^[0-9A-Z]{26}$/, 'a new id by default');
});

test('KEY-02, AUTH-01: an issued key authenticates, and its commit holds only the hash', async (t) => {
  const world = await startProject(t);
  const commits: string[] = [];
  world.host.onApplied(({ commit }) => void commits.push(JSON.stringify(commit)));
  const { id, key, expiresMs } = await issueCredential(world, tester, credential);
  t.equal(expiresMs, START_MS + 90 * DAY_MS, '90 days by default');
  const { authenticate, used } = authenticator(t, world);
  t.match(authenticate(key), {
    kind: 'sk',
    credential: id,
    project: 'p1',
    capabilities: ['monitoring.read'],
  });
  t.same(used, [id]);
  const written = commits.join('');
  t.match(written, hashKey(key));
  t.notMatch(written, key.slice(-49));
  const tooLong = { ...credential, lifetimeMs: KEY_LIFETIME_MS_MAX + 1 };
  await t.rejects(issueCredential(world, tester, tooLong), RangeError);
});

test('KEY-02: invalid keys are rejected alike, whether or not their id exists', async (t) => {
  const world = await startProject(t);
  const { key } = await issueCredential(world, tester, credential);
  const { made, authenticate } = authenticator(t, world);
  const ports = { nowMs: START_MS, random: seededRandom(9) };
  const unknown = mintKey('sk', ports).text;
  // The id of a real key with another secret and a valid checksum, as a forger could send it.
  const id = parseKey(key)?.id ?? '';
  const forgedRandom: Random = { bytes: (length) => new Uint8Array(length).fill(length) };
  const forged = forge(id, forgedRandom);
  const messages = [unknown, forged].map((text) => {
    try {
      authenticate(text);
    } catch (error) {
      if (error instanceof Refusal) return `${error.reason}: ${error.message}`;
    }
    return 'accepted';
  });
  t.match(messages[0], /^MALFORMED_CREDENTIAL/);
  t.equal(messages[0], messages[1]);
  const headers: [string | undefined, string][] = [
    [undefined, 'MISSING_CREDENTIAL'],
    ['', 'MISSING_CREDENTIAL'],
    ['Bearer ', 'MALFORMED_CREDENTIAL'],
    [`Basic ${key}`, 'MALFORMED_CREDENTIAL'],
    [`Bearer ${key}, Bearer ${key}`, 'MALFORMED_CREDENTIAL'],
    [`Bearer ${key} x`, 'MALFORMED_CREDENTIAL'],
    [`Bearer ${key.slice(0, -1)}`, 'MALFORMED_CREDENTIAL'],
    [`Bearer ${'a'.repeat(16_000)}`, 'MALFORMED_CREDENTIAL'],
    [key, 'MALFORMED_CREDENTIAL'],
    [`bearer ${key}`, 'accepted'],
  ];
  for (const [header, expected] of headers) {
    t.equal(
      reasonOf(() => made.authenticateKey(header)),
      expected,
      String(header).slice(0, 40),
    );
  }
});

/** A well-formed key with the given id: the ULID is replaced under a new checksum. */
function forge(id: string, random: Random): string {
  const text = mintKey('sk', { nowMs: START_MS, random }).text;
  const body = text.replace(/^svc_sk_[^_]+_/, `svc_sk_${id}_`).slice(0, -6);
  return body + checksumOf(body);
}

function checksumOf(body: string): string {
  const { crc32 } = process.getBuiltinModule('node:zlib');
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let rest = crc32(body);
  let text = '';
  for (let i = 0; i < 6; i++) {
    text = digits.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

test('a revoked key is rejected on the next request even if it was cached', async (t) => {
  const world = await startProject(t);
  const { id, key } = await issueCredential(world, tester, credential);
  const other = await issueCredential(world, tester, credential);
  const { authenticate } = authenticator(t, world);
  authenticate(key);
  authenticate(other.key);
  const end = { project: 'p1', id, reason: 'LEAKED' };
  t.equal(await revokeCredential(world.host, tester, end), true);
  t.equal(
    reasonOf(() => authenticate(key)),
    'CREDENTIAL_REVOKED',
  );
  t.equal(
    reasonOf(() => authenticate(other.key)),
    'accepted',
    'no other key is affected',
  );
  t.equal(
    await revokeCredential(world.host, tester, end),
    false,
    'a second revocation changes nothing',
  );
  const elsewhere = { project: 'p2', id: other.id, reason: 'LEAKED' };
  t.equal(await revokeCredential(world.host, tester, elsewhere), false);
  t.equal(
    reasonOf(() => authenticate(other.key)),
    'accepted',
    'another project cannot revoke it',
  );
});

test('a key expires by the clock, whether or not its timer has fired', async (t) => {
  const world = await startProject(t);
  const lifetimeMs = 10 * DAY_MS;
  const { key } = await issueCredential(world, tester, { ...credential, lifetimeMs });
  const { authenticate } = authenticator(t, world);
  t.equal(
    reasonOf(() => authenticate(key)),
    'accepted',
  );
  world.clock.jump(lifetimeMs - 1);
  t.equal(
    reasonOf(() => authenticate(key)),
    'accepted',
  );
  world.clock.jump(1);
  t.equal(
    reasonOf(() => authenticate(key)),
    'CREDENTIAL_EXPIRED',
  );
  for (const timer of world.host.dueTimers(world.clock.now(), 10)) {
    await world.host.fireTimer(timer, tester);
  }
  t.equal(
    reasonOf(() => authenticate(key)),
    'CREDENTIAL_EXPIRED',
  );
});

test('a replaced key works until its overlap ends by the clock, then is rejected as replaced', async (t) => {
  const world = await startProject(t);
  const { id, key } = await issueCredential(world, tester, credential);
  const successor = await issueCredential(world, tester, credential);
  const { authenticate } = authenticator(t, world);
  authenticate(key);
  const overlapMs = 2 * HOUR_MS;
  await submit(world.host, { project: 'p1' }, (draft) => {
    const rotated = {
      type: 'rotated',
      at: draft.at,
      successor: successor.id,
      overlapMs,
    } as const;
    return draft.send('credential', id, { ...rotated, by: 'test' }).changed;
  });
  world.clock.jump(overlapMs - 1);
  t.equal(
    reasonOf(() => authenticate(key)),
    'accepted',
  );
  world.clock.jump(1);
  t.equal(
    reasonOf(() => authenticate(key)),
    'CREDENTIAL_REVOKED',
  );
  t.equal(
    reasonOf(() => authenticate(successor.key)),
    'accepted',
  );
});

test('a verified key is not looked up again until its credential changes', async (t) => {
  const world = await startProject(t);
  const { key } = await issueCredential(world, tester, credential);
  let lookups = 0;
  const counting: AuthenticatorOptions['host'] = {
    onApplied: (listener) => world.host.onApplied(listener),
    view: (project) => world.host.view(project),
    findInstance: (machine, instance) => {
      lookups++;
      return world.host.findInstance(machine, instance);
    },
  };
  const { authenticate } = authenticator(t, world, counting);
  for (let i = 0; i < 5; i++) authenticate(key);
  t.equal(lookups, 1);
  const bad = mintKey('sk', { nowMs: START_MS, random: world.random }).text;
  for (let i = 0; i < 3; i++) reasonOf(() => authenticate(bad));
  t.equal(lookups, 4, 'a rejected key is never cached');
});

test('plain routes accept a key that may read, and answer others with status and reason', async (t) => {
  const world = await startProject(t);
  const reader = await issueCredential(world, tester, credential);
  const capabilities = ['collector'] as const;
  const bare = { ...credential, kind: 'col', capabilities } as const;
  const collector = await issueCredential(world, tester, bare);
  const readGate = createReadGate({
    authenticator: authenticator(t, world).made,
    anonymousLimits: testAnonymousLimits(t, world.clock),
    ...testBounds(world.clock),
  });
  const gate = (authorization?: string) =>
    readGate({ ip: '192.0.2.1', headers: { authorization } }, new AbortController().signal);
  t.match(await gate(`Bearer ${reader.key}`), { release: Function });
  await t.rejects(gate(`Bearer ${collector.key}`), {
    reason: 'MISSING_CAPABILITY',
    message: /needs monitoring.read, which/,
  });
  await t.rejects(gate(), {
    reason: 'MISSING_CREDENTIAL',
    message: /no Authorization header/,
  });
});

test('KEY-05: last use is visible at once, written in batches, and kept when a write fails', async (t) => {
  const clock = new VirtualClock(START_MS);
  const batches: object[] = [];
  const disk = { isFull: true };
  const store = {
    get: () => undefined,
    record: (uses: readonly object[]) => {
      if (disk.isFull) throw new Error('disk is full');
      batches.push(uses);
    },
  };
  const lastUsed = createLastUsed({ store, clock, log: silentLog });
  for (let i = 0; i < 100; i++) lastUsed.record('k1');
  t.equal(lastUsed.of('k1'), START_MS);
  t.equal(lastUsed.of('k2'), undefined);
  await clock.advance(15 * 60_000);
  disk.isFull = false;
  lastUsed.record('k2');
  await clock.advance(15 * 60_000);
  const k2 = { credential: 'k2', atMs: START_MS + 15 * 60_000 };
  t.same(batches, [[{ credential: 'k1', atMs: START_MS }, k2]]);
  lastUsed.record('k1');
  lastUsed.close();
  t.equal(batches.length, 2, 'closing writes the rest');
});
