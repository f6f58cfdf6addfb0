/**
 * Service accounts and keys as they are decided, on a real host under a virtual clock: what follows
 * an account's end in batches and after a crash, what two requests at once come to, and how a
 * project with very many keys is read.
 */
import t, { type Test } from 'tap';
import type { Host } from '../../actors/host-port.ts';
import { AFTERMATH } from '../../actors/identity/account-aftermath.ts';
import { createAccounts } from '../../actors/identity/accounts.ts';
import { ACCOUNTS_MAX } from '../../actors/identity/accounts-port.ts';
import { startCredential } from '../../actors/identity/credentials.ts';
import { ACCOUNT_KEYS_MAX, KeyRoom, MEMBER_KEYS_MAX } from '../../actors/identity/key-room.ts';
import { createKeys } from '../../actors/identity/keys.ts';
import type { CreateKey } from '../../actors/identity/keys-port.ts';
import { type KeyOwner, ownerName } from '../../actors/identity/names.ts';
import { nextTurn } from '../../actors/turns.ts';
import { mintKey } from '../../src/auth/keys.ts';
import type { Log } from '../../src/log.ts';
import { keepFinishingAccounts } from '../../src/service-identities.ts';
import { StreamUnavailable } from '../../streams/stream.ts';
import { DAY_MS, startWorld, tester, type World } from '../support/credential-world.ts';
import { identitiesOf } from '../support/identities.ts';

const project = 'p1';
const change = { project, by: tester };

function decisionsOf(world: World, host: Host = world.host) {
  const { clock, random } = world;
  return {
    accounts: createAccounts({ host, clock, random }),
    keys: createKeys({ host, mint: (kind) => mintKey(kind, { nowMs: clock.now(), random }) }),
  };
}

async function startIdentities(t: Test) {
  const world = await startWorld(t);
  const made = { ...world, ...identitiesOf(world), ...decisionsOf(world) };
  const account = await made.account(project, ['monitoring.read', 'monitoring.write']);
  const owner: KeyOwner = { project, machine: 'serviceAccount', id: account };
  const creation: CreateKey = {
    ...{ ...change, owner, displayName: 'k', capabilities: ['monitoring.read'] },
    lifetimeMs: undefined,
  };
  /** Many at once, in few commits. */
  const manyKeys = async (count: number, of: KeyOwner = owner): Promise<void> => {
    for (let left = count; left > 0; left -= 200) {
      await world.host.submit({
        ...change,
        decide(draft) {
          for (let i = 0; i < Math.min(left, 200); i++) {
            const minted = mintKey('sk', { nowMs: draft.at, random: world.random });
            startCredential(draft, minted, {
              ...{ project, kind: 'sk', owner: ownerName(of), displayName: 'k' },
              capabilities: ['monitoring.read'],
            });
          }
        },
      });
    }
  };
  const liveKeys = (of: KeyOwner = owner) =>
    world.host.view(project).countInstances('credential', { final: false, owner: ownerName(of) });
  return { ...made, account, owner, creation, manyKeys, liveKeys, value: stateIn(world.host) };
}

function stateIn(host: Host) {
  return (machine: string, id: string) => host.view(project).instance(machine, id)?.value;
}

/** A host whose process ends after so many commits: every later one fails. */
function dyingAfter(host: Host, commits: number): Host {
  let left = commits;
  return {
    ...host,
    submit(submission) {
      if (left-- > 0) return host.submit(submission);
      throw new StreamUnavailable('The process ended', 'refused');
    },
  };
}

t.test('a disabled account’s tokens end for good, in the same commit', async (t) => {
  const { host, accounts, account, connection, send, value, row } = await startIdentities(t);
  const mine = await connection(project, account, ['monitoring.read']);
  const stopped = await connection(project, account, ['monitoring.read']);
  await send(project, 'ciConnection', stopped, { type: 'disabled', reason: '' });
  const gone = await connection(project, account, ['monitoring.read']);
  await send(project, 'ciConnection', gone, { type: 'deleted' });
  const other = await connection(project, await startOther(), ['monitoring.read']);
  const epoch = (id: string) => row('ciConnection', id)?.context.tokenEpoch;
  t.same([mine, stopped, gone, other].map(epoch), [1, 2, 2, 1]);
  const commits: number[] = [];
  host.onApplied(({ sequence }) => void commits.push(sequence));
  await accounts.disable({ ...change, account, reason: 'Leak' });
  t.equal(commits.length, 1);
  t.same([mine, stopped, gone, other].map(epoch), [2, 3, 2, 1]);
  t.equal(value('serviceAccount', account), 'disabled');
  await accounts.disable({ ...change, account, reason: 'Again' });
  t.match(row('serviceAccount', account)?.context, { disabledReason: 'Leak' });
  t.equal(commits.length, 1, 'disabled again changes nothing');
  await accounts.enable({ ...change, account });
  t.same([mine, stopped].map(epoch), [2, 3], 'enabling gives no token back');

  async function startOther(): Promise<string> {
    const { answer } = await accounts.create({
      ...{ ...change, displayName: 'Other', template: 'metrics-scraper', capabilities: [] },
    });
    return answer.account;
  }
});

t.test('a deleted account takes its connections and its keys along, in batches', async (t) => {
  const { host, accounts, account, connection, manyKeys, liveKeys, value, creation, keys } =
    await startIdentities(t);
  await manyKeys(450);
  const ci = await connection(project, account, ['monitoring.read']);
  const sizes: number[] = [];
  host.onApplied(({ commit }) =>
    sizes.push(commit.decisions.reduce((sum, { steps }) => sum + steps.length, 0)),
  );
  await accounts.delete({ ...change, account });
  t.equal(value('serviceAccount', account), 'deleted');
  t.equal(value('ciConnection', ci), 'deleted');
  t.equal(liveKeys(), 0);
  t.ok(sizes.length > 2);
  t.ok(
    sizes.every((size) => size <= 201),
    `${sizes} steps a commit`,
  );
  t.same(host.view(project).records(AFTERMATH, { limit: 10 }).items, [], 'nothing is left over');
  await t.rejects(keys.create(creation), { name: 'Refusal', reason: 'NOT_FOUND' });
  await t.rejects(accounts.delete({ ...change, account }), {
    name: 'Refusal',
    reason: 'NOT_FOUND',
  });
});

t.test('what a crash leaves of a deletion is finished by its resend, or the next', async (t) => {
  const world = await startIdentities(t);
  const { host, accounts, account, manyKeys, liveKeys, value } = world;
  await manyKeys(450);
  const request = { scope: 's', id: 'r', fingerprint: 'f' };
  const dying = decisionsOf(world, dyingAfter(host, 1)).accounts;
  await t.rejects(dying.delete({ ...change, request, account }), { name: 'StreamUnavailable' });
  t.equal(value('serviceAccount', account), 'deleted', 'the account’s own step is first');
  t.ok(liveKeys() > 0, 'keys are left, which the deleted account refuses anyway');
  const dyingAgain = decisionsOf(world, dyingAfter(host, 1)).accounts;
  await t.rejects(dyingAgain.delete({ ...change, request, account }));
  const { replayed } = await accounts.delete({ ...change, request, account });
  t.equal(replayed, true);
  t.equal(liveKeys(), 0);
  t.same(host.view(project).records(AFTERMATH, { limit: 10 }).items, []);
});

t.test(
  'what a crash left of a deletion is finished by the next start, sent again or not',
  async (t) => {
    const world = await startIdentities(t);
    const { host, account, manyKeys, liveKeys, clock } = world;
    await manyKeys(450);
    const dying = decisionsOf(world, dyingAfter(host, 1)).accounts;
    await t.rejects(dying.delete({ ...change, account }), { name: 'StreamUnavailable' });
    t.ok(liveKeys() > 0);
    const warned: string[] = [];
    const note = (_facts: object, message: string) => void warned.push(message);
    const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
    const stop = keepFinishingAccounts({ host: dyingAfter(host, 1), clock, log });
    const settled = async () => {
      for (let turn = 0; turn < 200; turn++) await nextTurn();
    };
    await settled();
    await stop();
    t.same(warned, ['Ends of service accounts are not whole yet'], 'a fault is told');
    t.ok(liveKeys() > 0);

    const commits: string[] = [];
    host.onApplied(({ commit }) => {
      for (const { by, steps } of commit.decisions) {
        commits.push(by.name, ...steps.slice(0, 1).map(({ event }) => String(event.by)));
      }
    });
    const stopAgain = keepFinishingAccounts({ host, clock, log });
    await settled();
    t.equal(liveKeys(), 0);
    t.same(host.view(project).records(AFTERMATH, { limit: 10 }).items, []);
    t.same(commits.slice(0, 2), ['service/accounts', tester.name], 'who caused it stays told');
    await stopAgain();
    t.equal(warned.length, 1);
  },
);

t.test('a member has 100 keys that work at most, and may still replace one', async (t) => {
  const { keys, creation, manyKeys, liveKeys, person, member } = await startIdentities(t);
  const owner: KeyOwner = {
    project,
    machine: 'membership',
    id: await member(project, await person(), 'VIEWER'),
  };
  await manyKeys(MEMBER_KEYS_MAX - 1, owner);
  const [last, refused] = await Promise.allSettled([
    keys.create({ ...creation, owner }),
    keys.create({ ...creation, owner }),
  ]);
  t.equal(last.status, 'fulfilled');
  const full = { reason: 'LIMIT_EXCEEDED', metadata: { limit: '100' } };
  t.match(refused, { status: 'rejected', reason: full });
  t.equal(liveKeys(owner), MEMBER_KEYS_MAX);
  const key = last.status === 'fulfilled' ? last.value.key : '';
  const rotation = { ...change, owner, key, lifetimeMs: undefined };
  await t.rejects(keys.rotate({ ...rotation, overlapMs: DAY_MS }), { name: 'Refusal', ...full });
  const replaced = await keys.rotate({ ...rotation, overlapMs: 0 });
  t.equal(liveKeys(owner), MEMBER_KEYS_MAX);
  await keys.revoke({ ...change, owner, key: replaced.key, reason: '' });
  t.match((await keys.create({ ...creation, owner })).secret, /^svc_pk_/);
});

t.test('an account has 200,000 keys at most; very many are not counted for each', (t) => {
  const owner: KeyOwner = { project, machine: 'serviceAccount', id: 'robot' };
  let [live, counts] = [0, 0];
  const view = {
    countInstances: () => {
      counts++;
      return live;
    },
  };
  const room = new KeyRoom();
  const make = (count: number): void => {
    for (let i = 0; i < count; i++, live++) room.assertRoom(view, owner);
  };
  make(10);
  t.equal(counts, 10, 'few are counted each time');
  [live, counts] = [100_000, 0];
  make(1_000);
  t.equal(counts, 5, 'one count for 200 decisions');
  live = ACCOUNT_KEYS_MAX - 250;
  make(250);
  t.equal(live, ACCOUNT_KEYS_MAX);
  t.throws(() => make(1), { name: 'Refusal', message: /at most 200000 keys that work/ });
  live--;
  make(1);
  t.throws(() => make(1), { name: 'Refusal' }, 'to the last one');
  t.end();
});

t.test(
  'an account whose tokens could not all be ended is not enabled before they are',
  async (t) => {
    const world = await startIdentities(t);
    const { host, accounts, account, connection, value, row } = world;
    const many: string[] = [];
    for (let i = 0; i < 230; i++) many.push(await connection(project, account, []));
    const epochs = () => new Set(many.map((id) => row('ciConnection', id)?.context.tokenEpoch));
    const dying = decisionsOf(world, dyingAfter(host, 1)).accounts;
    await t.rejects(dying.disable({ ...change, account, reason: '' }), {
      name: 'StreamUnavailable',
    });
    t.same(epochs(), new Set([1, 2]), 'some are left');
    await t.rejects(
      decisionsOf(world, dyingAfter(host, 0)).accounts.enable({ ...change, account }),
    );
    t.equal(value('serviceAccount', account), 'disabled');
    await accounts.enable({ ...change, account });
    t.same(epochs(), new Set([2]), 'each ended once');
    t.equal(value('serviceAccount', account), 'active');
  },
);

t.test('disabled with leftovers, then deleted: the deletion is what goes on', async (t) => {
  const world = await startIdentities(t);
  const { host, accounts, account, connection, value } = world;
  const many: string[] = [];
  for (let i = 0; i < 230; i++) many.push(await connection(project, account, []));
  const dying = decisionsOf(world, dyingAfter(host, 1)).accounts;
  await t.rejects(dying.disable({ ...change, account, reason: '' }));
  const dyingLater = decisionsOf(world, dyingAfter(host, 2)).accounts;
  await t.rejects(dyingLater.delete({ ...change, account }));
  t.equal(value('serviceAccount', account), 'deleted');
  await t.rejects(accounts.delete({ ...change, account }), {
    name: 'Refusal',
    reason: 'NOT_FOUND',
  });
  t.same(new Set(many.map((id) => value('ciConnection', id))), new Set(['deleted']));
  t.same(host.view(project).records(AFTERMATH, { limit: 10 }).items, []);
});

t.test('a project has a thousand service accounts at most', async (t) => {
  const { accounts, host, account } = await startIdentities(t);
  const create = () =>
    accounts.create({ ...change, displayName: 'x', template: 'alert-manager', capabilities: [] });
  await Promise.all(Array.from({ length: ACCOUNTS_MAX - 1 }, create));
  t.equal(host.view(project).countInstances('serviceAccount', { final: false }), ACCOUNTS_MAX);
  await t.rejects(create(), {
    name: 'Refusal',
    reason: 'LIMIT_EXCEEDED',
    metadata: { limit: '1000' },
  });
  await accounts.delete({ ...change, account });
  await create();
});

t.test('the request of a key and the key are one commit, and hold no secret', async (t) => {
  const { host, keys, creation } = await startIdentities(t);
  const commits: string[] = [];
  host.onApplied(({ commit }) => void commits.push(JSON.stringify(commit.decisions)));
  const request = { scope: 's', id: 'r', fingerprint: 'f' };
  const [first, joined] = await Promise.all([
    keys.create({ ...creation, request }),
    keys.create({ ...creation, request }),
  ]);
  const later = await keys.create({ ...creation, request });
  t.match(first.secret, /^svc_sk_/);
  t.same([joined.secret, later.secret], [null, null]);
  t.same([joined.key, later.key], [first.key, first.key]);
  t.equal(commits.length, 1);
  t.match(commits[0], `"id":"r"`);
  t.match(commits[0], first.key);
  t.notMatch(commits[0], String(first.secret).slice(-49));
  await t.rejects(keys.create({ ...creation, request: { ...request, fingerprint: 'g' } }), {
    name: 'Refusal',
    reason: 'REQUEST_ID_REUSED',
  });
});

t.test('a grant removed while a key is being made is seen by the decision', async (t) => {
  const { accounts, keys, account, creation } = await startIdentities(t);
  const capabilities = ['monitoring.write'];
  const [narrowed, refused] = await Promise.allSettled([
    accounts.update({
      ...{ ...change, account, displayName: undefined, capabilities: ['monitoring.read'] },
    }),
    keys.create({ ...creation, capabilities }),
  ]);
  t.equal(narrowed.status, 'fulfilled');
  t.match(refused, { status: 'rejected', reason: { reason: 'MISSING_CAPABILITY' } });
});

t.test('a key that ended by the clock cannot be rotated, before its timer has run', async (t) => {
  const { keys, creation, owner, clock, host } = await startIdentities(t);
  const rotation = { ...change, owner, overlapMs: DAY_MS, lifetimeMs: undefined };
  const short = await keys.create({ ...creation, lifetimeMs: DAY_MS });
  const rotated = await keys.create({ ...creation });
  await keys.rotate({ ...rotation, key: rotated.key });
  clock.jump(DAY_MS);
  t.equal(host.view(project).instance('credential', short.key)?.value, 'active');
  for (const { key } of [short, rotated]) {
    await t.rejects(keys.rotate({ ...rotation, key }), {
      name: 'Refusal',
      reason: 'INVALID_STATE',
    });
  }
});

t.test('of a chain of rotations one key is the newest: none forks while it works', async (t) => {
  const { keys, creation, owner, liveKeys, clock } = await startIdentities(t);
  const rotation = { ...change, owner, overlapMs: DAY_MS, lifetimeMs: undefined };
  const first = await keys.create(creation);
  const second = await keys.rotate({ ...rotation, key: first.key });
  const third = await keys.rotate({ ...rotation, key: second.key, overlapMs: 0 });
  const forked = keys.rotate({ ...rotation, key: first.key });
  await t.rejects(forked, {
    name: 'Refusal',
    reason: 'INVALID_STATE',
    metadata: { successor: third.key },
  });
  await keys.revoke({ ...change, owner, key: third.key, reason: '' });
  t.equal(liveKeys(), 1);
  clock.jump(DAY_MS / 2);
  const fourth = await keys.rotate({ ...rotation, key: first.key });
  t.match(fourth.secret, /^svc_sk_/);
  const late = fourth.key;
  clock.jump(DAY_MS / 2);
  await keys.revoke({ ...change, owner, key: late, reason: '' });
  // A day after the first rotation the overlap is over, whatever was asked at the second.
  await t.rejects(keys.rotate({ ...rotation, key: first.key }), {
    name: 'Refusal',
    reason: 'INVALID_STATE',
  });
});

t.test('one owner’s keys are read without the project’s 20,000 others', async (t) => {
  const { host, owner, manyKeys, liveKeys } = await startIdentities(t);
  await manyKeys(20_000);
  const view = host.view(project);
  const few: KeyOwner = { ...owner, id: 'few' };
  await manyKeys(3, few);
  const read = () =>
    view.instances('credential', { owner: ownerName(few), final: false, limit: 50 }).items.length;
  t.equal(read(), 3);
  t.equal(liveKeys(few), 3);
  // Reading and parsing 20,000 rows takes 100 ms and more; these take a tenth of one.
  t.ok(fastest(read) < 10);
  t.ok(fastest(() => liveKeys(few)) < 10);
});

/** The least of 20 measurements, ms. */
function fastest(act: () => unknown): number {
  const times = Array.from({ length: 20 }, () => {
    const start = performance.now();
    act();
    return performance.now() - start;
  });
  return Math.min(...times);
}
