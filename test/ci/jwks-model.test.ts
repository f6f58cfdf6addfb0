/**
 * Trust in an issuer's keys, compared with a model of a dozen lines over random histories: key sets
 * that gain, lose, duplicate and break keys, every kind of outage, garbage that is valid JSON,
 * hanging answers, tokens that look up keys, and long silences. The model knows the last key set,
 * the time of its request, and whether the last read failed; earlier sets must not matter.
 */
import fc from 'fast-check';
import { generateKeyPair } from 'jose';
import { test } from 'tap';
import { FETCH_MS, FRESH_MS, IssuerKeys, RETRY_PAUSE_MS, STALE_MS } from '../../src/ci/jwks.ts';
import { silentLog } from '../../src/platform/log.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { tries } from '../support/tries.ts';

const START_MS = Date.UTC(2026, 10, 1);
const MINUTE_MS = 60_000;
const KIDS = ['a', 'b', 'c'] as const;

const made = await Promise.all(
  [0, 1].map(async () => {
    const { publicKey } = await generateKeyPair('RS256', { extractable: true });
    const { kty, n, e } = await crypto.subtle.exportKey('jwk', publicKey);
    return { kty, n, e };
  }),
);

/** An entry of a key set, and whether it is a valid key for RS256 signatures. */
interface Listed {
  readonly kid: string;
  readonly key: number;
  readonly change: object;
  readonly isForSignatures: boolean;
}

const good = { change: {}, isForSignatures: true };
const useless = [
  { use: 'enc' },
  { alg: 'RS512' },
  { kid: undefined },
  { kid: 7 },
  { kty: 'EC' },
  { e: 'Aw' },
  { key_ops: ['sign'] },
].map((change) => ({ change, isForSignatures: false }));

const listed: fc.Arbitrary<Listed> = fc
  .record({
    kid: fc.constantFrom(...KIDS),
    key: fc.constantFrom(0, 1),
    kind: fc.oneof({ weight: 4, arbitrary: fc.constant(good) }, fc.constantFrom(...useless)),
  })
  .map(({ kind, ...entry }) => ({ ...entry, ...kind }));

type Answer =
  | { readonly kind: 'set'; readonly entries: readonly Listed[] }
  | { readonly kind: 'outage'; readonly text: string | Error | 'never' };

const answers: fc.Arbitrary<Answer> = fc.oneof(
  fc.array(listed, { maxLength: 4 }).map((entries): Answer => ({ kind: 'set', entries })),
  fc
    .constantFrom<string | Error>(
      'never',
      new Error('connect ECONNREFUSED'),
      new Error('answered 503'),
      new Error('answered 302'),
      '<html>',
      '{}',
      '{"keys":"x"}',
      '{"keys":[7]}',
      '{"keys":[',
      '[]',
      'null',
      '',
    )
    .map((text): Answer => ({ kind: 'outage', text })),
);

type Step =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'ask'; readonly kid: string };

const steps: fc.Arbitrary<Step> = fc.oneof(
  answers.map((answer): Step => ({ kind: 'answer', answer })),
  fc
    .oneof(fc.integer({ min: 1, max: 20 * MINUTE_MS }), fc.constantFrom(STALE_MS, STALE_MS / 3))
    .map((ms): Step => ({ kind: 'wait', ms: ms + 7 })),
  fc.constantFrom(...KIDS, 'never listed').map((kid): Step => ({ kind: 'ask', kid })),
);

const textOf = (entries: readonly Listed[]) =>
  JSON.stringify({
    keys: entries.map(({ kid, key, change }) => ({ ...made[key], kid, ...change })),
  });

/** Ids under which a set has exactly one signing key. */
function trustedIn(entries: readonly Listed[]): ReadonlySet<string> {
  const keysOf = (kid: string) =>
    new Set(entries.filter((one) => one.isForSignatures && one.kid === kid).map(({ key }) => key));
  return new Set(KIDS.filter((kid) => keysOf(kid).size === 1));
}

function respond(answer: Answer, signal: AbortSignal): Promise<string> {
  if (answer.kind === 'set') return Promise.resolve(textOf(answer.entries));
  const { text } = answer;
  if (text instanceof Error) return Promise.reject(text);
  if (text !== 'never') return Promise.resolve(text);
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal)));
}

interface Model {
  trusted: ReadonlySet<string>;
  isAway: boolean;
}

function wanted({ trusted, isAway }: Model, kid: string): string {
  if (trusted.has(kid)) return 'trusted';
  return isAway ? 'NOT_READY' : 'unknown';
}

/** Runs one history against the cache and the model. Throws at the first difference. */
async function live(history: readonly Step[]): Promise<void> {
  const clock = new VirtualClock(START_MS);
  const model: Model = { trusted: new Set(), isAway: false };
  let readAtMs: number | undefined;
  let answer: Answer = { kind: 'set', entries: [] };
  let underWay: { readonly answer: Answer; readonly atMs: number } | undefined;
  const sentMs: number[] = [];
  const keys = new IssuerKeys({
    name: 'github',
    clock,
    log: silentLog,
    fetchKeys(signal) {
      underWay = { answer, atMs: clock.elapsed() };
      sentMs.push(underWay.atMs);
      return respond(answer, signal);
    },
    onFetched() {
      if (underWay === undefined) throw new Error('No request is in flight');
      model.isAway = underWay.answer.kind === 'outage';
      if (underWay.answer.kind === 'set') {
        model.trusted = trustedIn(underWay.answer.entries);
        readAtMs = underWay.atMs;
      }
      underWay = undefined;
    },
  });
  /** Time passes in steps, each of which lets attempts end that are due. */
  const wait = async (ms: number) => {
    for (let left = ms; left > 0; left -= MINUTE_MS) {
      await clock.advance(Math.min(left, MINUTE_MS));
      await ended();
    }
  };
  const ended = async () => {
    while (underWay && !hangs(underWay.answer)) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  };
  const ageMs = () => (readAtMs === undefined ? undefined : clock.elapsed() - readAtMs);
  const isUsable = () => (ageMs() ?? Number.POSITIVE_INFINITY) <= STALE_MS;
  /** The cache's answer, and the model's answer at that moment. */
  const ask = async (kid: string) => {
    const found = keys
      .find(kid)
      .then(
        (key) => (key ? 'trusted' : 'unknown'),
        (error) => (error instanceof Refusal ? error.reason : String(error)),
      )
      .then((got) => ({ got, wanted: isUsable() ? wanted(model, kid) : 'NOT_READY' }));
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (underWay && hangs(underWay.answer)) await clock.advance(FETCH_MS);
    return found;
  };
  for (const step of history) {
    if (step.kind === 'answer') {
      ({ answer } = step);
    } else if (step.kind === 'wait') {
      await wait(step.ms);
    } else {
      const outcome = await ask(step.kid);
      equal(outcome.got, outcome.wanted, `${step.kid} at ${clock.elapsed()} ms`);
      await ended();
      equal(keys.trusted(), isUsable() ? model.trusted.size : undefined, 'trusted keys');
      const isQuiet = !model.isAway && model.trusted.size > 0;
      if (!isQuiet) equal(keys.health().state, 'degraded', 'health');
      const age = ageMs() ?? 0;
      if (!model.isAway && age > FRESH_MS) throw new Error(`Keys from ${age} ms ago were used`);
    }
  }
  keys.close();
  assertCadence(sentMs);
}

/** @param sentMs time when each read began */
function assertCadence(sentMs: readonly number[]): void {
  for (const [i, atMs] of sentMs.entries()) {
    const sinceMs = atMs - (sentMs[i - 1] ?? Number.NEGATIVE_INFINITY);
    if (sinceMs < RETRY_PAUSE_MS) throw new Error(`Two reads within ${sinceMs} ms`);
    if (i > 0 && sinceMs > FRESH_MS) throw new Error(`No read for ${sinceMs} ms`);
  }
}

const hangs = (answer: Answer): boolean => answer.kind === 'outage' && answer.text === 'never';

function equal(got: unknown, wanted: unknown, what: string): void {
  if (got !== wanted) throw new Error(`${what}: got ${got}, wanted ${wanted}`);
}

test('whatever an issuer answers, trust follows its last key set and no other', async (t) => {
  await fc.assert(fc.asyncProperty(fc.array(steps, { minLength: 10, maxLength: 40 }), live), {
    seed: 20261101,
    numRuns: tries(25),
  });
  t.pass('25 histories');
});
