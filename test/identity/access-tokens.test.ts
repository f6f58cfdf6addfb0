/**
 * Access tokens: their claims, forgeries, their expiry, and the replacement of their key. Time is
 * virtual; the cryptography is real.
 */
import { fastify } from 'fastify';
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { test } from 'tap';
import { ACCESS_TOKEN_MS, type AccessTokenClaims } from '../../actors/ci/exchange.ts';
import {
  addJwksRoute,
  openAccessTokens,
  SIGNING_KEY_MS,
} from '../../src/identity/auth/access-tokens.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { secretsIn } from '../support/secrets-in-memory.ts';

const START_MS = Date.UTC(2026, 10, 1, 12, 0, 0, 250);
const ISSUER = 'https://monitoring.example.com';

function world() {
  const clock = new VirtualClock(START_MS);
  const values = new Map<string, Uint8Array>();
  const puts: string[] = [];
  const secrets = secretsIn(values, () => puts.push('write'));
  const issuer = { url: ISSUER };
  const open = (bounds: { cachedMax?: number } = {}) =>
    openAccessTokens({ secrets, clock, issuer: () => issuer.url, ...bounds });
  const claims = (change: Partial<AccessTokenClaims> = {}): AccessTokenClaims => ({
    token: 'token-1',
    project: 'demo',
    connection: 'connection-1',
    tokenEpoch: 3,
    expiresMs: Math.floor(clock.now() / 1000) * 1000 + ACCESS_TOKEN_MS,
    ...change,
  });
  return { clock, values, puts, issuer, open, claims };
}

const malformed = { name: 'Refusal', reason: 'MALFORMED_CREDENTIAL' };
const expired = { name: 'Refusal', reason: 'CREDENTIAL_EXPIRED' };

test('an access token names its owner in the standard claims, and verifies', async (t) => {
  const { open, claims } = world();
  const tokens = await open();
  const text = await tokens.sign(claims());
  t.ok(tokens.looksLike(text));
  t.match(decodeProtectedHeader(text), { alg: 'EdDSA', typ: 'at+jwt', kid: /^[\w-]{43}$/ });
  const issued = Math.floor(START_MS / 1000);
  t.same(decodeJwt(text), {
    iss: ISSUER,
    sub: 'connection-1',
    client_id: 'connection-1',
    aud: 'projects/demo',
    jti: 'token-1',
    token_epoch: 3,
    iat: issued,
    exp: issued + 900,
  });
  t.same(await tokens.verify(text), claims());
  t.same(await tokens.verify(text), claims(), 'again, from the cache');
});

test('only tokens have the form of a token; keys and other texts do not', async (t) => {
  const tokens = await world().open();
  const others = ['', 'svc_pk_1_a', 'a.b.c', 'eyJ.b', 'eyJa.b.c.d', 'eyJa.b. c', 'eyJa..c'];
  for (const text of [...others, `eyJa.b.${'c'.repeat(3_000)}`]) {
    t.notOk(tokens.looksLike(text), text.slice(0, 20));
  }
  t.ok(tokens.looksLike('eyJhbGciOiJFZERTQSJ9.e30.c2ln'));
});

test('LIMIT-09: an exchanged token expires after 15 minutes, even from the cache', async (t) => {
  const { open, claims, clock } = world();
  const tokens = await open();
  const text = await tokens.sign(claims());
  await clock.advance(ACCESS_TOKEN_MS - 300);
  t.equal((await tokens.verify(text)).token, 'token-1');
  await clock.advance(300);
  await t.rejects(tokens.verify(text), expired, 'from the cache');
  await t.rejects((await open()).verify(text), expired, 'not cached before');
});

async function forgeries() {
  const { open, claims } = world();
  const tokens = await open();
  const genuine = await tokens.sign(claims());
  const jwk = (await tokens.jwks()).keys[0] as { kid: string; x: string };
  const forger = await generateKeyPair('EdDSA', { extractable: true });
  const { kid } = jwk;
  const payload = decodeJwt(genuine);
  const signed = (alg: string, key: Parameters<SignJWT['sign']>[0], header = {}) =>
    new SignJWT(payload).setProtectedHeader({ alg, typ: 'at+jwt', kid, ...header }).sign(key);
  const [head = '', body = '', signature = ''] = genuine.split('.');
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const changed = encode({ ...payload, aud: 'projects/other' });
  const none = encode({ alg: 'none', typ: 'at+jwt', kid });
  const other = await openOther(claims());
  return {
    tokens,
    genuine,
    texts: {
      'another key under our kid': await signed('EdDSA', forger.privateKey),
      'HMAC with our public key': await signed('HS256', Buffer.from(JSON.stringify(jwk))),
      'HMAC with the bytes of our public key': await signed(
        'HS256',
        Buffer.from(jwk.x, 'base64url'),
      ),
      'a key of its own in the header': await signed('EdDSA', forger.privateKey, {
        jwk: await exportJWK(forger.publicKey),
      }),
      'no algorithm': `${none}.${body}.`,
      'no algorithm, our signature': `${none}.${body}.${signature}`,
      'no signature': `${head}.${body}.`,
      'another project': `${head}.${changed}.${signature}`,
      'another service': other,
      'an unknown kid': await signed('EdDSA', forger.privateKey, { kid: 'x' }),
      'cut off': genuine.slice(0, -3),
      'not base64': `${head}.${body}.%%%`,
      'not JSON': `eyJh.${body}.${signature}`,
      'much too long': `${genuine}${'A'.repeat(5_000)}`,
    },
  };
}

async function openOther(claims: AccessTokenClaims): Promise<string> {
  return (await world().open()).sign(claims);
}

test('a forged or damaged token is rejected, always with the same answer', async (t) => {
  const { tokens, texts, genuine } = await forgeries();
  for (const [what, text] of Object.entries(texts)) {
    await t.rejects(tokens.verify(text), malformed, what);
    await t.rejects(tokens.verify(text), malformed, `${what}, again`);
  }
  t.equal((await tokens.verify(genuine)).project, 'demo', 'the genuine token is still valid');
});

test('a token of ours for another purpose is rejected', async (t) => {
  const { open, claims, values } = world();
  const tokens = await open();
  await tokens.sign(claims());
  const [stored] = [...values.values()];
  const [{ jwk }] = JSON.parse(Buffer.from(stored ?? []).toString());
  const kid = ((await tokens.jwks()).keys[0] as { kid: string }).kid;
  const payload = { client_id: 'c', token_epoch: 1, sub: 'c', aud: 'projects/demo', jti: 'j' };
  const make = async (change: object, typ = 'at+jwt') =>
    new SignJWT({ iss: ISSUER, ...payload, ...change })
      .setProtectedHeader({ alg: 'EdDSA', typ, kid })
      .setIssuedAt(START_MS / 1000)
      .setExpirationTime(START_MS / 1000 + 60)
      .sign(jwk);
  t.equal((await tokens.verify(await make({}))).connection, 'c', 'the base of the cases is valid');
  await t.rejects(tokens.verify(await make({}, 'JWT')), malformed, 'another type');
  const bad = [
    { iss: `${ISSUER}.evil.example` },
    { iss: undefined },
    { aud: ['projects/demo'] },
    { aud: 'demo' },
    { jti: 7 },
    { jti: undefined },
    { token_epoch: '1' },
    { token_epoch: undefined },
    { sub: undefined },
  ];
  for (const change of bad) {
    await t.rejects(tokens.verify(await make(change)), malformed, JSON.stringify(change));
  }
});

test('another public URL ends the tokens issued under the old one', async (t) => {
  const { open, claims, issuer } = world();
  const tokens = await open();
  const text = await tokens.sign(claims());
  await tokens.verify(text);
  issuer.url = 'https://elsewhere.example.com';
  await t.rejects(tokens.verify(text), malformed);
});

test('the key is created once, at first use, and sealed before it signs', async (t) => {
  const { open, claims, puts, values } = world();
  const tokens = await open();
  t.same(await tokens.jwks(), { keys: [] });
  t.equal(values.size, 0);
  const [first = '', second = ''] = await Promise.all([
    tokens.sign(claims({ token: 'a' })),
    tokens.sign(claims({ token: 'b' })),
  ]);
  t.equal(puts.length, 1, 'two concurrent calls share one key');
  t.equal(decodeProtectedHeader(first).kid, decodeProtectedHeader(second).kid);
  t.equal((await (await open()).verify(first)).token, 'a', 'it survives a restart');
});

test('a key signs for 90 days, and verifies until its tokens have expired', async (t) => {
  const { open, claims, clock, values } = world();
  const tokens = await open();
  await tokens.sign(claims());
  await clock.advance(SIGNING_KEY_MS - 1_000);
  const last = await tokens.sign(claims({ token: 'last' }));
  await clock.advance(1_000);
  const next = await tokens.sign(claims({ token: 'next' }));
  t.not(decodeProtectedHeader(last).kid, decodeProtectedHeader(next).kid);
  t.equal((await tokens.jwks()).keys.length, 2);
  const stored = [...values.values()].map((value) => JSON.parse(Buffer.from(value).toString()));
  t.same(
    stored[0].map(({ jwk }: { jwk: object }) => 'd' in jwk),
    [true, false],
    'the private part of the old key was deleted',
  );
  const restarted = await open();
  for (const one of [tokens, restarted]) {
    t.equal((await one.verify(last)).token, 'last');
    t.equal((await one.verify(next)).token, 'next');
  }
  await clock.advance(ACCESS_TOKEN_MS + 60_000);
  t.equal((await tokens.jwks()).keys.length, 1, 'the old key is no longer listed');
  await t.rejects(restarted.verify(last), expired);
});

test('the public keys are at /.well-known/jwks.json, without any private part', async (t) => {
  const { open, claims } = world();
  const tokens = await open();
  const text = await tokens.sign(claims());
  const app = fastify();
  t.teardown(() => app.close());
  addJwksRoute(app, tokens);
  const answer = await app.inject('/.well-known/jwks.json');
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['content-type'], 'application/jwk-set+json; charset=utf-8');
  const [key, ...more] = answer.json().keys;
  t.same(more, []);
  t.same(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
  t.equal(key.kid, decodeProtectedHeader(text).kid);
});

test('the cache of verified tokens is bounded, and evicts the oldest first', async (t) => {
  const { open, claims } = world();
  const tokens = await open({ cachedMax: 50 });
  const texts: string[] = [];
  for (let i = 0; i < 51; i++) texts.push(await tokens.sign(claims({ token: `t${i}` })));
  const verifications = t.capture(crypto.subtle, 'verify', crypto.subtle.verify);
  const looks = async (i: number) => {
    t.equal((await tokens.verify(texts[i] ?? '')).token, `t${i}`);
    return verifications().length;
  };
  for (let i = 0; i < 50; i++) t.equal(await looks(i), 1, 'each is verified once');
  for (let i = 0; i < 50; i++) t.equal(await looks(i), 0, 'then it is cached');
  t.equal(await looks(50), 1);
  t.equal(await looks(1), 0);
  t.equal(await looks(0), 1, 'the oldest one was evicted');
});

/** Two members that share one store, each with an elapsed time of its own. */
async function members(count = 2) {
  const { clock, puts, values } = world();
  const secrets = secretsIn(values, () => puts.push('write'));
  const open = () => openAccessTokens({ secrets, clock, issuer: () => ISSUER, leadMs: 6_000 });
  return { clock, puts, open, all: await Promise.all(Array.from({ length: count }, open)) };
}

const kidOf = (text: string) => decodeProtectedHeader(text).kid;

test('members that start at once create one key, and it signs 6 s later', async (t) => {
  const { clock, puts, all } = await members();
  const [a, b] = all;
  if (!a || !b) throw new Error('two were opened');
  t.equal(puts.length, 1);
  t.same(await a.jwks(), await b.jwks());
  const { claims } = world();
  let isSigned = false;
  const signing = a.sign(claims()).then((text) => {
    isSigned = true;
    return text;
  });
  await clock.advance(5_999);
  t.notOk(isSigned, 'not before every member verifies with it');
  await clock.advance(1);
  t.equal((await b.verify(await signing)).token, 'token-1', 'one signs, the other verifies');
});

test('DUR-22: members that replace a key at once share one, published before it signs', async (t) => {
  const { clock, all, open } = await members();
  const { claims } = world();
  const sign = (one: (typeof all)[number]) =>
    one.sign(claims({ expiresMs: Math.floor(clock.now() / 1000) * 1000 + ACCESS_TOKEN_MS }));
  await clock.advance(6_000);
  const old = kidOf(await sign(all[0] as (typeof all)[number]));
  await clock.advance(SIGNING_KEY_MS);
  const during = await Promise.all(all.map(sign));
  t.same(during.map(kidOf), [old, old], 'the old one signs until the new one may');
  for (const one of all) t.equal((await one.jwks()).keys.length, 2, 'one new key, published');
  await clock.advance(6_000);
  const after = await Promise.all(all.map(sign));
  t.equal(new Set(after.map(kidOf)).size, 1);
  t.not(kidOf(after[0] ?? ''), old);
  const joined = await open();
  for (const text of [...during, ...after]) {
    for (const one of [...all, joined]) t.equal((await one.verify(text)).token, 'token-1');
  }
  await clock.advance(ACCESS_TOKEN_MS + 60_000);
  t.equal((await joined.jwks()).keys.length, 1);
});
