/**
 * Keys of an issuer: how often they are fetched, which keys are used while the issuer does not
 * answer, and which answers are accepted. The cache is tested on a virtual clock with a fake fetch;
 * reading over HTTP on a real server.
 */
import { generateKeyPair } from 'jose';
import { test } from 'tap';
import {
  BACKGROUND_RETRY_MS,
  FETCH_MS,
  FRESH_MS,
  IssuerKeys,
  RENEW_MS,
  RETRY_PAUSE_MS,
  STALE_MS,
  UNKNOWN_KEY_PAUSE_MS,
} from '../../src/ci/jwks.ts';
import { type Log, silentLog } from '../../src/platform/log.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const START_MS = Date.UTC(2026, 10, 1);
const notReady = { name: 'Refusal', reason: 'NOT_READY' };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

const rsa = await publicKeys(3);

async function publicKeys(count: number) {
  const made = await Promise.all(
    Array.from({ length: count }, () => generateKeyPair('RS256', { extractable: true })),
  );
  const exported = await Promise.all(
    made.map(({ publicKey }) => crypto.subtle.exportKey('jwk', publicKey)),
  );
  return exported.map(({ kty, n, e }) => ({ kty, n, e }));
}

const setOf = (...kids: readonly string[]) =>
  JSON.stringify({ keys: kids.map((kid, i) => ({ ...rsa[i % rsa.length], kid, alg: 'RS256' })) });

/** Keys whose issuer answers as the test says: a text, an error, or never. */
function world() {
  const clock = new VirtualClock(START_MS);
  const lines: string[] = [];
  const note = (_facts: object, message: string) => void lines.push(message);
  const log: Log = { ...silentLog, warn: note, info: note };
  const issuer = { answer: setOf('a') as string | Error | 'never', fetches: 0, atOnce: 0, most: 0 };
  const aborted: boolean[] = [];
  const keys = new IssuerKeys({
    name: 'github',
    clock,
    log,
    fetchKeys: async (signal) => {
      issuer.fetches++;
      issuer.most = Math.max(issuer.most, ++issuer.atOnce);
      try {
        await turn();
        if (issuer.answer === 'never') {
          return await new Promise<string>((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted.push(true);
              reject(new Error('aborted'));
            });
          });
        }
        if (issuer.answer instanceof Error) throw issuer.answer;
        return issuer.answer;
      } finally {
        issuer.atOnce--;
      }
    },
  });
  const has = async (kid: string) => (await keys.find(kid)) !== undefined;
  return { clock, keys, issuer, has, lines, aborted };
}

test('keys are read for the first token, and once for concurrent tokens', async (t) => {
  const { keys, issuer, has } = world();
  t.equal(issuer.fetches, 0);
  t.equal(keys.ageMs(), undefined);
  const found = await Promise.all(Array.from({ length: 200 }, () => has('a')));
  t.ok(found.every(Boolean));
  t.equal(issuer.fetches, 1);
  t.equal(keys.ageMs(), 0);
  t.same(keys.health(), { state: 'ready' });
});

test('CI-14: keys are fresh for 10 minutes and renewed in the background after 5', async (t) => {
  const { clock, issuer, has } = world();
  await has('a');
  await clock.advance(RENEW_MS - 1);
  t.equal(await has('a'), true);
  t.equal(issuer.fetches, 1, 'young enough');
  issuer.answer = 'never';
  await clock.advance(1);
  t.equal(await has('a'), true, 'no token waits for the renewal');
  t.equal(issuer.fetches, 2);
  t.equal(await has('a'), true);
  t.equal(issuer.fetches, 2, 'one at a time');
});

test('a key removed by its issuer is rejected after the next read, whether or not it was looked up', async (t) => {
  const { clock, issuer, has, lines } = world();
  await has('a');
  issuer.answer = setOf('b');
  await clock.advance(RENEW_MS);
  t.equal(await has('b'), true, 'waits for the read in progress');
  t.equal(await has('a'), false);
  t.equal(issuer.fetches, 2);
  t.same(lines, ['The issuer withdrew keys. Tokens signed with them are rejected']);
  issuer.answer = new Error('answered 503');
  await clock.advance(FRESH_MS);
  await t.rejects(has('a'), notReady, 'a later outage does not restore it');
  t.equal(await has('b'), true);
});

test('an empty key set ends trust in every key, and health reports it', async (t) => {
  const { clock, keys, issuer, has, lines } = world();
  await has('a');
  issuer.answer = '{"keys":[]}';
  await clock.advance(RENEW_MS);
  t.equal(await has('never listed'), false, 'the read in progress has ended');
  t.equal(await has('a'), false, 'the issuer has stated that it has none');
  t.equal(keys.trusted(), 0);
  t.match(keys.health(), {
    state: 'degraded',
    reason:
      'github lists no key for RS256 signatures, so all of its tokens are rejected until it does',
  });
  t.match(lines, [/lists no key for RS256 signatures/]);
  issuer.answer = new Error('answered 503');
  await clock.advance(RENEW_MS);
  await t.rejects(has('a'), notReady, 'an outage does not restore them');
  t.match(keys.health(), { reason: /cannot be read.*lists no key/ }, 'both are reported');
  issuer.answer = setOf('a');
  await clock.advance(BACKGROUND_RETRY_MS);
  t.equal(await has('a'), true, 'trust recovers once the provider corrects its mistake');
  t.same(keys.health(), { state: 'ready' });
});

test('a closed key set reads nothing more', async (t) => {
  const { clock, keys, issuer, has } = world();
  await has('a');
  keys.close();
  await clock.advance(FRESH_MS);
  t.equal(issuer.fetches, 1);
});

test('a machine that was suspended reads the keys again before it trusts one', async (t) => {
  const { clock, issuer, has } = world();
  await has('a');
  issuer.answer = setOf('b');
  // Only calendar time has passed, because the processor's clock stood still.
  clock.jump(3 * STALE_MS);
  t.equal(await has('a'), false);
});

test('CI-14: the last keys of an unreachable issuer are valid for 24 hours, with an alarm', async (t) => {
  const { clock, keys, issuer, has, lines } = world();
  await has('a');
  issuer.answer = new Error('connect ECONNREFUSED');
  await clock.advance(FRESH_MS + 1);
  t.equal(await has('a'), true);
  t.match(keys.health(), { state: 'degraded', reason: /github.*ECONNREFUSED.*10 minutes ago/ });
  t.same(lines, ['The keys of the issuer cannot be read'], 'reported once');
  await clock.advance(STALE_MS - FRESH_MS - 1);
  t.equal(await has('a'), true, 'up to the last moment');
  await clock.advance(1);
  await t.rejects(has('a'), notReady);
  t.match(keys.health(), { state: 'degraded', reason: /rejected until then/ });
  issuer.answer = setOf('a');
  await clock.advance(RETRY_PAUSE_MS);
  t.equal(await has('a'), true, 'it recovers by itself');
  t.same(keys.health(), { state: 'ready' });
  t.equal(lines.at(-1), 'The keys of the issuer can be read again');
});

test('once an outage is known, tokens of known keys do not wait for an attempt', async (t) => {
  const { clock, issuer, has } = world();
  await has('a');
  issuer.answer = 'never';
  await clock.advance(FRESH_MS + 1);
  const first = has('a');
  await turn();
  await clock.advance(FETCH_MS);
  t.equal(await first, true, 'the first one waited');
  await clock.advance(RETRY_PAUSE_MS);
  const before = issuer.fetches;
  t.equal(await has('a'), true, 'answered while an attempt hangs');
  t.equal(issuer.fetches, before + 1);
  issuer.answer = setOf('b');
  await clock.advance(FETCH_MS + RETRY_PAUSE_MS);
  t.equal(await has('a'), true);
  t.equal(await has('b'), true, 'which looks up the unknown key');
  t.equal(await has('a'), false, 'an unlisted key is gone');
});

test('until an issuer’s first answer, its tokens are rejected as not ready, with a retry time', async (t) => {
  const { clock, keys, issuer, has } = world();
  issuer.answer = new Error('answered 500');
  const refusal = await has('a').catch((error) => error);
  t.match(refusal, { ...notReady, metadata: { retryAfterSeconds: '10' } });
  t.match(keys.health(), { state: 'degraded', reason: /rejected until then/ });
  for (let i = 0; i < 500; i++) await t.rejects(has('a'), notReady);
  t.equal(issuer.fetches, 1, 'a failed attempt counts as one');
  await clock.advance(RETRY_PAUSE_MS);
  issuer.answer = setOf('a');
  t.equal(await has('a'), true);
});

test('with a hanging issuer all tokens wait for one attempt, for at most 5 seconds', async (t) => {
  const { clock, issuer, has, aborted } = world();
  issuer.answer = 'never';
  const waiting = Array.from({ length: 300 }, () => t.rejects(has('a'), notReady));
  await turn();
  t.equal(issuer.fetches, 1);
  await clock.advance(FETCH_MS);
  await Promise.all(waiting);
  t.same(aborted, [true], 'the request is aborted');
  await t.rejects(has('a'), notReady, 'later tokens are answered at once');
  t.equal(issuer.fetches, 1);
});

test('the number of waiting tokens is bounded; others are rejected at once with a retry time', async (t) => {
  const { clock, issuer, keys } = world();
  issuer.answer = 'never';
  const outcomes = { early: 0, late: 0 };
  let isOver = false;
  const tries = Array.from({ length: 1_500 }, () =>
    keys.find('a').catch(() => void outcomes[isOver ? 'late' : 'early']++),
  );
  await turn();
  isOver = true;
  await clock.advance(FETCH_MS);
  await Promise.all(tries);
  t.same(outcomes, { early: 500, late: 1_000 });
});

test('CI-14: unknown key ids cause at most two requests per minute to the issuer', async (t) => {
  const { clock, issuer, has } = world();
  await has('a');
  await clock.advance(UNKNOWN_KEY_PAUSE_MS);
  for (let second = 0; second < 120; second++) {
    for (let i = 0; i < 50; i++) t.equal(await has(`made up ${second} ${i}`), false);
    await clock.advance(1_000);
  }
  // At 0, 30, 60 and 90 s; the first read is not counted.
  t.equal(issuer.fetches, 1 + 4);
  t.equal(issuer.most, 1, 'never two at a time');
});

test('failed attempts count against a storm of unknown key ids too', async (t) => {
  const { clock, issuer, has } = world();
  await has('a');
  issuer.answer = new Error('answered 503');
  await clock.advance(UNKNOWN_KEY_PAUSE_MS);
  for (let second = 0; second < 120; second++) {
    for (let i = 0; i < 20; i++) await t.rejects(has(`made up ${i}`), notReady);
    t.equal(await has('a'), true, 'known keys stay valid until then');
    await clock.advance(1_000);
  }
  t.equal(issuer.fetches, 1 + 4);
});

test('a new key of the issuer is found by its first token', async (t) => {
  const { clock, issuer, has } = world();
  await has('a');
  issuer.answer = setOf('a', 'b');
  await clock.advance(UNKNOWN_KEY_PAUSE_MS);
  t.equal(await has('b'), true);
  t.equal(await has('a'), true);
  t.equal(issuer.fetches, 2);
});

test('during an outage an unknown key is not reported as wrong', async (t) => {
  const { clock, issuer, has } = world();
  await has('a');
  issuer.answer = new Error('away');
  await clock.advance(UNKNOWN_KEY_PAUSE_MS);
  await t.rejects(has('b'), notReady, 'it may be the issuer’s new one');
  issuer.answer = setOf('a', 'b');
  await clock.advance(UNKNOWN_KEY_PAUSE_MS);
  t.equal(await has('b'), true);
});

test('an answer that is not a key set leaves the current keys in place', async (t) => {
  const { clock, keys, issuer, has } = world();
  await has('a');
  const answers: Readonly<Record<string, string>> = {
    'not JSON': '<html>',
    'not an object': '"keys"',
    null: 'null',
    'an empty object': '{}',
    'not a list': '{"keys":{}}',
    'a text': '{"keys":"x"}',
    'a list of nulls': '{"keys":[null]}',
    'keys without a type': '{"keys":[{"kid":"b"}]}',
    'a truncated set': setOf('b').slice(0, 200),
    '101 keys': setOf(...Array.from({ length: 101 }, (_, i) => `k${i}`)),
  };
  for (const [what, answer] of Object.entries(answers)) {
    issuer.answer = answer;
    await clock.advance(RENEW_MS);
    t.equal(await has('a'), true, what);
    t.equal(keys.health().state, 'degraded', what);
  }
});

test('a key that is too weak, or not for RS256 signatures, is ignored', async (t) => {
  const [rsaKey] = rsa;
  const unusable: readonly unknown[] = [
    { ...rsaKey, kid: 'a', use: 'enc' },
    { ...rsaKey, kid: 'a', key_ops: ['encrypt'] },
    { ...rsaKey, kid: 'a', alg: 'RS512' },
    { ...rsaKey, kid: 7 },
    { ...rsaKey, kid: '' },
    { ...rsaKey, kid: 'k'.repeat(300) },
    { ...rsaKey },
    { kty: 'oct', k: 'c2VjcmV0', kid: 'a', alg: 'HS256' },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'a' },
    { ...rsaKey, kid: 'a', e: undefined },
    { ...rsaKey, kid: 'a', e: 'AQ' },
    { ...rsaKey, kid: 'a', e: 'Aw' },
    { ...rsaKey, kid: 'a', n: '_'.repeat(171) },
    { ...rsaKey, kid: 'a', n: '_'.repeat(1_400) },
    { ...rsaKey, kid: 'a', n: '!'.repeat(342) },
    { ...rsaKey, kid: 'a', n: `${'A'.repeat(342)}AQAB` },
  ];
  for (const key of unusable) {
    const { issuer, has, keys } = world();
    issuer.answer = JSON.stringify({ keys: [key] });
    t.equal(await has('a'), false, JSON.stringify(key)?.slice(0, 60));
    t.match(keys.health(), { state: 'degraded', reason: /lists no key for RS256/ });
  }
});

test('different keys under one id are ambiguous, so none of them is trusted', async (t) => {
  const { issuer, has, keys } = world();
  issuer.answer = setOf('b', 'b', 'a');
  t.equal(await has('b'), false);
  t.equal(await has('a'), true);
  t.match(keys.health(), { state: 'degraded', reason: /different keys under one id \("b"\)/ });
  const twice = world();
  const [{ ...key } = {}] = rsa;
  twice.issuer.answer = JSON.stringify({ keys: [1, 2].map(() => ({ ...key, kid: 'b' })) });
  t.equal(await twice.has('b'), true, 'the same key twice is one key');
});

test('one broken key does not affect the others', async (t) => {
  const { issuer, has } = world();
  const [rsaKey] = rsa;
  const broken = { ...rsaKey, kid: 'x', n: `${'A'.repeat(342)}AQAB` };
  issuer.answer = JSON.stringify({ keys: [broken, { ...rsaKey, kid: 'good', use: 'sig' }] });
  t.equal(await has('good'), true);
});
