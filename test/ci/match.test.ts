/**
 * Comparison of identities: random claim sets against an oracle, because a workflow is the approved
 * one exactly when every bound claim has the approved value.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { compareClaims } from '../../actors/ci/assertion.ts';
import { digestOf } from '../../actors/ci/verifications.ts';
import type { ObservedClaims } from '../../machines/ci/ci-verification.ts';
import {
  BOUND,
  NAME_CLAIMS,
  OWNER_CLAIMS,
  RECORDED,
  startCiWorld,
} from '../support/keyless-ci-on-host.ts';
import { occurrences, tries } from '../support/tries.ts';

const owned = (ownerClaims: readonly string[]) => ({ ownerClaims, nameClaims: NAME_CLAIMS });

test('Changing a name in the platform’s map is a renaming, whatever the new name', async (t) => {
  const approved = { 'project-id': '1', 'vcs-origin': 'github.com/acme/app', step: 'a' };
  const renamed = (change: ObservedClaims) => {
    const maps = { ownerClaims: ['project-id'], nameClaims: ['vcs-origin'] };
    const compared = compareClaims(approved, { ...approved, ...change }, maps);
    return !compared.isSame && compared.isRenamed;
  };
  t.equal(renamed({ 'vcs-origin': 'github.com/acme/store' }), true);
  t.equal(renamed({ step: 'b' }), false);
  t.equal(
    renamed({ 'vcs-origin': 'x', 'project-id': '2' }),
    false,
    'under other ids it is another workflow',
  );
});

test('CI-12: expected values are shown only if every owner id matches', async (t) => {
  const displayed = { ...BOUND, ref: 'refs/heads/x' };
  const isDisplayed = (ownerClaims: readonly string[], change: ObservedClaims = {}) => {
    const compared = compareClaims(BOUND, { ...displayed, ...change }, owned(ownerClaims));
    return !compared.isSame && compared.differences.every((one) => 'expected' in one);
  };
  t.equal(isDisplayed(OWNER_CLAIMS), true);
  t.equal(isDisplayed([]), false, 'an empty list of ids proves nothing');
  t.equal(isDisplayed(OWNER_CLAIMS, { repository_owner_id: '78' }), false);
  t.equal(isDisplayed(OWNER_CLAIMS, { repository_owner_id: null }), false);
  t.equal(isDisplayed(['environment']), false, 'an id that is absent on both sides proves nothing');
  t.equal(
    compareClaims({}, {}, owned(OWNER_CLAIMS)).isSame,
    false,
    'nor does a connection without claims',
  );
  t.equal(compareClaims({}, BOUND, owned(OWNER_CLAIMS)).isSame, false);
  t.equal(compareClaims(BOUND, { ...BOUND, enterprise_id: '5' }, owned(OWNER_CLAIMS)).isSame, true);
  const odd = { ...BOUND, ref: 7 } as unknown as ObservedClaims;
  t.equal(
    compareClaims(odd, odd, owned(OWNER_CLAIMS)).isSame,
    false,
    'a value that is not text never matches',
  );
  const absent = { ...BOUND, constructor: null } as unknown as ObservedClaims;
  t.equal(
    compareClaims(absent, BOUND, owned(OWNER_CLAIMS)).isSame,
    true,
    'inherited properties of objects are not claims',
  );
});

/** Few values, so that sets are often nearly equal; names of inherited properties are included. */
const claimValue = fc.constantFrom<unknown>('a', 'b', '', null, undefined, 7, true, ['a'], {
  a: 1,
});
const claimName = fc.constantFrom(
  'ref',
  'event',
  'id',
  'env',
  '__proto__',
  'constructor',
  'toString',
);
const ownClaims = (entries: readonly (readonly [string, unknown])[]): ObservedClaims => {
  const claims = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of entries) claims[name] = value;
  return claims as ObservedClaims;
};
const claimSet = fc.array(fc.tuple(claimName, claimValue), { maxLength: 7 });

test('Random claim sets are the same exactly when every bound claim has the approved value', async (t) => {
  const near = fc.tuple(claimSet, claimSet, fc.array(claimName));
  let same = 0;
  fc.assert(
    fc.property(near, ([entries, changes, kept]) => {
      // An approval contains only texts and absences.
      const texts = entries.map(([name, value]) => [
        name,
        typeof value === 'string' ? value : null,
      ]);
      const approved = ownClaims([...(texts as [string, unknown][]), ['repository_id', '1']]);
      const changed = changes.filter(([name]) => !kept.includes(name));
      const displayed = ownClaims([...Object.entries(approved), ...changed]);
      const isSame = Object.keys(approved).every((name) => {
        const [wanted, got] = [approved[name], displayed[name]];
        return wanted === null ? got === null || got === undefined : wanted === got;
      });
      if (isSame) same++;
      return compareClaims(approved, displayed, owned(['repository_id'])).isSame === isSame;
    }),
    { numRuns: tries(5_000) },
  );
  t.ok(same > occurrences(500), `${same} were the same`);
});

test('An exchange of random claim sets succeeds exactly when all bound claims are approved', async (t) => {
  const world = await startCiWorld(t);
  const id = await world.connect();
  const names = Object.keys(BOUND) as (keyof typeof BOUND)[];
  const change = fc.tuple(
    fc.constantFrom(...names),
    fc.constantFrom('push', 'branch', 'x', null, 7),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 3 }), async (changes) => {
      const bound = Object.fromEntries(changes);
      const isSame = names.every((name) => !(name in bound) || bound[name] === BOUND[name]);
      return ((await world.tryExchange(id, { bound })) === 'EXCHANGED') === isSame;
    }),
    { numRuns: tries(300) },
  );
  t.ok(world.outcomes.includes('EXCHANGED'), 'both were seen');
});

test('The digest does not depend on the order of the claims', async (t) => {
  const reversed = Object.fromEntries(Object.entries(BOUND).reverse()) as ObservedClaims;
  const digest = digestOf({ bound: BOUND, recorded: RECORDED });
  t.match(digest, /^[0-9a-f]{64}$/);
  t.equal(digestOf({ bound: reversed, recorded: RECORDED }), digest);
  const others: ObservedClaims[] = [
    { ...BOUND, environment: '' },
    { ...BOUND, environment: 'null' },
    { ...BOUND, ref: 'refs/heads/dev' },
    { ...BOUND, more: null },
  ];
  const digests = others.map((bound) => digestOf({ bound, recorded: RECORDED }));
  t.equal(new Set([digest, ...digests]).size, others.length + 1, 'any difference changes it');
  t.not(
    digestOf({ bound: { ...BOUND, ...RECORDED }, recorded: {} }),
    digest,
    'so does the choice of bound claims',
  );
});
