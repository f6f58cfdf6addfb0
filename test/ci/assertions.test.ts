/**
 * Verification of CI identity tokens: a genuine token, changed in one respect at a time, each with
 * the cause that the caller sees. Time is virtual, the issuer and the keys are real.
 */
import { exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { type Test, test } from 'tap';
import { type AssertionVerifierOptions, createAssertionVerifier } from '../../src/ci/assertions.ts';
import { issuerKinds } from '../../src/ci/issuer-kinds.ts';
import { IssuerKeys } from '../../src/ci/jwks.ts';
import { createLog, silentLog } from '../../src/platform/log.ts';
import type { Issuer } from '../../src/platform/settings/ci-issuers.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type CiIssuer, type ClaimChanges, startCiIssuer } from '../support/ci-issuer.ts';

const START_MS = Date.UTC(2026, 10, 1, 12, 0, 0, 400);
const NOW = Math.floor(START_MS / 1000);
const AUDIENCE = 'https://monitoring.example.com/projects/demo';

async function world(t: Test, options: Partial<Pick<Issuer, 'kind'>> = {}) {
  const clock = new VirtualClock(START_MS);
  const platform = await startCiIssuer({ now: () => clock.now() });
  t.teardown(() => platform.close());
  const unknown: string[] = [];
  const keys = new IssuerKeys({
    name: 'github',
    clock,
    log: silentLog,
    fetchKeys: platform.fetchKeys,
  });
  const issuers: AssertionVerifierOptions['issuers'] = [
    { issuer: { ...platform.issuer, ...options }, keys },
  ];
  const onUnknownClaim = (issuer: string, claim: string) => void unknown.push(`${issuer} ${claim}`);
  const checked = createAssertionVerifier({ issuers, clock, onUnknownClaim });
  const verify = (assertion: string, audience = AUDIENCE) =>
    checked.verify(assertion, { issuer: 'github', audience });
  const mint = (changes: ClaimChanges = {}, header?: ClaimChanges) =>
    platform.mint({ aud: AUDIENCE, ...changes }, header ? { header } : {});
  /** The cause of a token's refusal; `holds` if there is none. */
  const causeOf = async (assertion: string): Promise<string> => {
    try {
      await verify(assertion);
      return 'holds';
    } catch (error) {
      if (!(error instanceof Refusal) || error.reason !== 'BAD_ASSERTION') throw error;
      const { cause = '', claim } = error.metadata;
      for (const part of assertion.split('.').filter((text) => text.length > 20)) {
        if (error.message.includes(part)) throw new Error(`${cause} reveals the token`);
      }
      return claim === undefined ? cause : `${cause} ${claim}`;
    }
  };
  return { clock, platform, checked, verify, mint, causeOf, unknown };
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A token of exactly these texts, signed with the issuer's own key. */
async function signedTexts(platform: CiIssuer, header: string, payload: string | Uint8Array) {
  const data = `${encode(header)}.${Buffer.from(payload).toString('base64url')}`;
  const { privateKey } = platform.key();
  const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', privateKey, Buffer.from(data));
  return `${data}.${Buffer.from(signature).toString('base64url')}`;
}

test('a genuine token is valid, and yields its claims and the time until which it stays burned', async (t) => {
  const { verify, platform, mint, checked } = await world(t);
  const { claims, ...about } = await verify(await mint({ jti: 'once', iat: NOW - 20 }));
  t.same(about, {
    issuerUrl: platform.url,
    jti: 'once',
    issuedMs: (NOW - 20) * 1000,
    // Its end, the tolerance and a minute.
    burnUntilMs: (NOW + 300 + 30 + 60) * 1000,
  });
  t.equal(claims.bound.repository, 'octo-org/octo-repo');
  t.same(checked.names(), ['github']);
});

test('CI-03: each missing required claim is named', async (t) => {
  const { mint, causeOf } = await world(t);
  for (const claim of ['iss', 'aud', 'exp', 'iat', 'nbf', 'jti']) {
    t.equal(await causeOf(await mint({ [claim]: undefined })), `MISSING_CLAIM ${claim}`);
  }
});

test('a claim of a wrong type is rejected by its name', async (t) => {
  const { mint, causeOf, platform } = await world(t);
  const cases: readonly (readonly [string, unknown])[] = [
    ['aud', [AUDIENCE, 'https://elsewhere.example']],
    ['aud', [AUDIENCE, AUDIENCE]],
    ['aud', [[AUDIENCE]]],
    ['aud', ['']],
    ['aud', [null]],
    ['aud', []],
    ['aud', null],
    ['iss', [platform.url]],
    ['iss', { url: platform.url }],
    ['exp', String(NOW + 300)],
    ['exp', null],
    ['exp', -1],
    ['exp', 1e300],
    ['iat', true],
    ['nbf', '0'],
    ['nbf', {}],
    ['jti', 7],
    ['jti', ''],
    ['jti', 'x'.repeat(257)],
    ['repository_id', 74],
    ['environment', ['production']],
    ['event_name', { toString: 'push' }],
    ['ref', true],
  ];
  for (const [claim, value] of cases) {
    // SignJWT does not check the claims that it signs, and a compromised issuer might not either.
    const token = await mint({ [claim]: value });
    t.equal(await causeOf(token), `MALFORMED ${claim}`, `${claim}: ${JSON.stringify(value)}`);
  }
});

test('CI-02: only the exact issuer and the exact audience are accepted', async (t) => {
  const { mint, causeOf, platform, verify } = await world(t);
  const { url } = platform;
  const others = [`${url}/`, `${url}.evil.example`, `${url}/x`, url.toUpperCase(), ` ${url}`];
  for (const iss of [...others, url.slice(0, -1), 'https://token.actions.githubusercontent.com']) {
    t.equal(await causeOf(await mint({ iss })), 'WRONG_ISSUER', iss);
  }
  const audiences = [`${AUDIENCE}/`, `${AUDIENCE}2`, AUDIENCE.slice(0, -1), AUDIENCE.toUpperCase()];
  for (const aud of [...audiences, 'https://other.example/projects/demo']) {
    t.equal(await causeOf(await mint({ aud })), 'WRONG_AUDIENCE', aud);
  }
  const { message } = await verify(await mint(), `${AUDIENCE}-other`).catch((error) => error);
  t.match(message, /SVC_AUDIENCE/, 'the error names the remedy');
  t.match(message, `audience "${AUDIENCE}"`, 'and the audience of the token');
});

test('a list with one audience is valid as that audience', async (t) => {
  const { mint, causeOf } = await world(t);
  t.equal(await causeOf(await mint({ aud: [AUDIENCE] })), 'holds');
  t.equal(await causeOf(await mint({ aud: ['https://other.example'] })), 'WRONG_AUDIENCE');
});

test('a wrong issuer is named in the error, as far as it is safe to print', async (t) => {
  const { mint, platform, verify } = await world(t);
  const { url } = platform;
  const messageFor = async (iss: string): Promise<string> => {
    const { message } = await verify(await mint({ iss })).catch((error) => error);
    return message;
  };
  const own = await messageFor(`${url}/acme`);
  t.match(own, `issuer is "${url}/acme", not ${url}.`);
  t.match(own, `SVC_CI_ISSUERS (github-own=github@${url}/acme)`);
  const other = await messageFor('https://gitlab.example');
  t.match(other, 'issuer is "https://gitlab.example", not');
  t.notMatch(other, 'SVC_CI_ISSUERS');
  const hostile = await messageFor(`${url}/a\n\u001b[31m"b`);
  t.match(hostile, `"${url}/a??[31m?b"`);
  t.notMatch(hostile, 'SVC_CI_ISSUERS');
  t.match(
    await messageFor('https://user:secret@host.example'),
    /issuer is "https:\/\/\[redacted\]@/,
  );
  t.ok((await messageFor('x'.repeat(900))).length < 400, 'a long one is cut');
});

test('CI-03: a token is valid within its times and 30 seconds of tolerance', async (t) => {
  const { mint, causeOf } = await world(t);
  const at = (times: { iat?: number; nbf?: number; exp?: number }) =>
    mint(Object.fromEntries(Object.entries(times).map(([name, off]) => [name, NOW + off])));
  const cases = [
    ['holds', { exp: -29 }],
    ['EXPIRED', { exp: -30 }],
    ['EXPIRED', { exp: -86_400 }],
    ['holds', { nbf: 30 }],
    ['NOT_YET_VALID', { nbf: 31 }],
    ['holds', { iat: 30 }],
    ['NOT_YET_VALID', { iat: 31 }],
    ['holds', { iat: -630 }],
    ['TOO_OLD', { iat: -631 }],
    ['TOO_OLD', { iat: -3_600, exp: 86_400 }],
    ['holds', { nbf: -600 }],
    ['holds', { nbf: 0 }],
    ['holds', { nbf: -86_400 }],
  ] as const;
  for (const [cause, times] of cases) {
    t.equal(await causeOf(await at(times)), cause, JSON.stringify(times));
  }
});

test('the clock port decides: one token is too early, then valid, then expired', async (t) => {
  const { mint, causeOf, clock } = await world(t);
  const token = await mint({ iat: NOW + 100, nbf: NOW + 100, exp: NOW + 200 });
  t.equal(await causeOf(token), 'NOT_YET_VALID');
  await clock.advance(100_000);
  t.equal(await causeOf(token), 'holds');
  await clock.advance(130_000);
  t.equal(await causeOf(token), 'EXPIRED');
});

test('a long-lived token is remembered for one hour: its age ends it earlier', async (t) => {
  const { mint, verify } = await world(t);
  const { burnUntilMs } = await verify(await mint({ exp: NOW + 86_400 }));
  t.equal(burnUntilMs, (NOW + 3_600 + 90) * 1000);
});

test('a forged signature is rejected, however it was created', async (t) => {
  const { mint, causeOf, platform } = await world(t);
  const genuine = await mint();
  const [head = '', body = '', signature = ''] = genuine.split('.');
  const payload = platform.payload({ aud: AUDIENCE });
  const { kid, publicJwk } = platform.key();
  const forger = await generateKeyPair('RS256');
  const forged = (alg: string, key: Parameters<SignJWT['sign']>[0], more = {}) =>
    new SignJWT(payload).setProtectedHeader({ alg, kid, ...more }).sign(key);
  const { key: spki } = await publicKeyText(platform);
  const changed = encode({ ...payload, repository_id: '75' });
  const noAlgorithm = encode({ alg: 'none', typ: 'JWT', kid });
  const cases: Readonly<Record<string, readonly [string, string]>> = {
    'another key under the issuer’s kid': [
      'BAD_SIGNATURE',
      await forged('RS256', forger.privateKey),
    ],
    'another key, in the header': [
      'BAD_SIGNATURE',
      await forged('RS256', forger.privateKey, { jwk: publicJwk, jku: platform.keysUrl }),
    ],
    'another key, under another kid': [
      'UNKNOWN_KEY',
      await forged('RS256', forger.privateKey, { kid: 'x' }),
    ],
    'a changed payload': ['BAD_SIGNATURE', `${head}.${changed}.${signature}`],
    'a truncated signature': ['BAD_SIGNATURE', genuine.slice(0, -4)],
    'no signature': ['BAD_SIGNATURE', `${head}.${body}.`],
    'alg none': ['WRONG_ALGORITHM', `${noAlgorithm}.${body}.`],
    'alg none, genuine signature': ['WRONG_ALGORITHM', `${noAlgorithm}.${body}.${signature}`],
    'alg None': ['WRONG_ALGORITHM', `${encode({ alg: 'None', kid })}.${body}.`],
    'HMAC with the public key in PEM': [
      'WRONG_ALGORITHM',
      await forged('HS256', Buffer.from(spki)),
    ],
    'HMAC with the public key as JWK': [
      'WRONG_ALGORITHM',
      await forged('HS256', Buffer.from(JSON.stringify(publicJwk))),
    ],
    'no alg': ['WRONG_ALGORITHM', `${encode({ kid })}.${body}.${signature}`],
    'a list of algs': [
      'WRONG_ALGORITHM',
      `${encode({ alg: ['RS256'], kid })}.${body}.${signature}`,
    ],
  };
  for (const [what, [cause, token]] of Object.entries(cases)) {
    t.equal(await causeOf(token), cause, what);
  }
  t.equal(await causeOf(genuine), 'holds');
});

async function publicKeyText(platform: CiIssuer): Promise<{ key: string }> {
  const { kty, n, e } = platform.key().publicJwk;
  const parts = { kty: kty ?? '', n: n ?? '', e: e ?? '' };
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('jwk', parts, algorithm, true, ['verify']);
  return { key: await exportSPKI(key) };
}

test('CI-02: other RSA algorithms are rejected even with the issuer’s key', async (t) => {
  const { causeOf, platform, mint } = await world(t);
  const [, body = '', signature = ''] = (await mint()).split('.');
  for (const alg of ['RS384', 'RS512', 'PS256', 'ES256', 'EdDSA', 'rs256']) {
    const head = encode({ alg, kid: platform.key().kid });
    t.equal(await causeOf(`${head}.${body}.${signature}`), 'WRONG_ALGORITHM', alg);
  }
});

test('a text that is not a compact JWT is rejected before a second decoding', async (t) => {
  const { causeOf, mint, platform } = await world(t);
  const genuine = await mint();
  const [head = '', body = '', signature = ''] = genuine.split('.');
  const header = { alg: 'RS256', kid: platform.key().kid };
  const deep = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const malformed: Readonly<Record<string, string>> = {
    empty: '',
    'two parts': `${head}.${body}`,
    'five parts (encrypted)': `${genuine}.a.b`,
    'a trailing space': `${genuine} `,
    'a line break': `${head}.\n${body}.${signature}`,
    'JSON serialisation': JSON.stringify({ payload: body, protected: head, signature }),
    'base64 padding': `${head}=.${body}.${signature}`,
    'plain base64': `${head}.${body}.ab+/`,
    'a header that is not JSON': `${encode('{')}.${body}.${signature}`,
    'a header that is a list': `${encode([header])}.${body}.${signature}`,
    'a payload that is not an object': `${encode(header)}.${encode('"text"')}.${signature}`,
    'a null payload': `${encode(header)}.${encode('null')}.${signature}`,
    'another type': await mint({}, { typ: 'at+jwt' }),
    'a type that is not text': await mint({}, { typ: 7 }),
    'no kid': await mint({}, { kid: undefined }),
    'an empty kid': await mint({}, { kid: '' }),
    'a kid that is a number': await mint({}, { kid: 1 }),
    'a kid of 300 characters': await mint({}, { kid: 'k'.repeat(300) }),
    'a critical extension': `${encode({ ...header, crit: ['b64'], b64: false })}.${body}.x`,
    '9 levels of nesting': `${encode(header)}.${encode(deep(8))}.${signature}`,
    '4,000 levels of nesting': `${encode(header)}.${encode(deep(4_000))}.${signature}`,
    '9,000 opening brackets': `${encode(header)}.${encode('['.repeat(9_000))}.${signature}`,
  };
  for (const [what, token] of Object.entries(malformed)) {
    t.equal(await causeOf(token), 'MALFORMED', what);
  }
});

test('a genuine signature over an ambiguous form is rejected', async (t) => {
  const { causeOf, platform } = await world(t);
  const header = JSON.stringify({ alg: 'RS256', kid: platform.key().kid });
  const payload = JSON.stringify(platform.payload({ aud: AUDIENCE }));
  const inside = payload.slice(1);
  const signed = (text: string | Uint8Array, head = header) => signedTexts(platform, head, text);
  t.equal(await causeOf(await signed(payload)), 'holds', 'the base of the cases is valid');
  const cases: Readonly<Record<string, string>> = {
    'a duplicate name': await signed(`{"repository_id":"74",${inside}`),
    'an escaped duplicate name': await signed(`{"\\u0072epository_id":"74",${inside}`),
    'a duplicate name after spaces': await signed(`{"aud"${' '.repeat(200)}: "x",${inside}`),
    'a nested duplicate name': await signed(`{"x":[{"a":1,"a":2}],${inside}`),
    'a duplicate name in the header': await signed(payload, `{"alg":"none",${header.slice(1)}`),
    'a byte that is not UTF-8': await signed(
      Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff]), Buffer.from(`",${inside}`)]),
    ),
    'text after the object': await signed(`${payload}{}`),
    'a byte order mark': await signed(`\ufeff${payload}`),
    'a byte order mark in the header': await signed(payload, `\ufeff${header}`),
  };
  for (const [what, token] of Object.entries(cases)) {
    t.equal(await causeOf(token), 'MALFORMED', what);
  }
  const harmless = `{"x":[{"a":1},{"a":"a\\":{["}],"y":{"a":1},${inside}`;
  t.equal(await causeOf(await signed(harmless)), 'holds', 'equal names in different objects');
});

test('a token of 16 KiB is valid, a longer one is rejected unread', async (t) => {
  const { causeOf, mint, platform } = await world(t);
  const genuine = await mint();
  const fill = (length: number) => mint({ filler: 'x'.repeat(length) });
  const room = Math.floor(((16_384 - genuine.length) * 3) / 4) - 20;
  const largest = await fill(room);
  t.ok(largest.length > 16_300 && largest.length <= 16_384, `${largest.length} characters`);
  t.equal(await causeOf(largest), 'holds');
  t.equal(await causeOf(await fill(room + 60)), 'TOO_LARGE');
  t.equal(await causeOf('x'.repeat(1_000_000)), 'TOO_LARGE');
  t.equal(platform.keySet.requests, 0, 'nothing was fetched over HTTP here');
});

test('an invalid token causes no request for keys', async (t) => {
  const { platform, clock } = await world(t);
  let requested = 0;
  const find = async () => {
    requested++;
    return undefined;
  };
  const checked = createAssertionVerifier({
    clock,
    issuers: [{ issuer: platform.issuer, keys: { find } }],
  });
  const aim = { issuer: 'github', audience: AUDIENCE };
  for (const change of [{ aud: 'x' }, { iss: 'x' }, { exp: 1 }, { iat: NOW - 3_600 }, { jti: 1 }]) {
    const token = await platform.mint({ aud: AUDIENCE, ...change });
    await t.rejects(checked.verify(token, aim), { name: 'Refusal', reason: 'BAD_ASSERTION' });
  }
  t.equal(requested, 0);
});

test('an issuer that is not configured is reported', async (t) => {
  const { checked, mint } = await world(t);
  const requested = checked.verify(await mint(), { issuer: 'gitlab', audience: AUDIENCE });
  await t.rejects(requested, { name: 'Refusal', reason: 'NOT_READY', message: /SVC_CI_ISSUERS/ });
});

test('CI-13: an unknown claim is reported by name, and the token stays valid', async (t) => {
  const { mint, verify, unknown } = await world(t);
  await verify(await mint());
  t.same(unknown, [], 'every claim of a real token is known');
  await verify(await mint({ repo_property_tier: 'gold', environment: 'x', enterprise_id: '2' }));
  t.same(unknown, []);
  await verify(await mint({ brand_new: 'x', constructor: 'y', repo_propertyless: 'z' }));
  t.same(unknown, ['github brand_new', 'github constructor', 'github repo_propertyless']);
});

test('CI-03: a token without jti is burned by its own digest, once and in one form', async (t) => {
  const { mint, verify, causeOf } = await world(t, { kind: 'circleci' });
  const token = await mint({ jti: undefined, nbf: undefined });
  const { jti } = await verify(token);
  t.match(jti, /^sha256:[0-9a-f]{64}$/);
  t.equal((await verify(token)).jti, jti);
  t.not((await verify(await mint({ jti: undefined, run_id: '2' }))).jti, jti);
  t.equal((await verify(await mint({ jti: 'its own' }))).jti, 'its own');
  t.equal(await causeOf(await mint({ jti: 7 })), 'MALFORMED jti', 'an existing one must be valid');
  t.equal(await causeOf(await mint({ nbf: NOW + 60 })), 'NOT_YET_VALID');
  t.equal(await causeOf(await mint({ exp: undefined })), 'MISSING_CLAIM exp');
  t.same(issuerKinds.github.lacks, []);
  t.same(issuerKinds.gitlab.lacks, []);
});

test('no token is readable in a log line, at any position', async (t) => {
  const { mint } = await world(t);
  const token = await mint();
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  const log = createLog({ level: 'debug', readable: false, clock: new VirtualClock(0), write });
  log.debug({ assertion: token, deep: { list: [token] } }, `Refused ${token}, sent by a job`);
  log.error({ err: new Error(`cannot verify "${token}"`) }, 'Failed');
  t.equal(lines.length, 2);
  for (const part of token.split('.')) t.notOk(lines.join('').includes(part));
  t.match(lines[0], /Refused \[redacted token\], sent by a job/);
});
