/**
 * Service accounts on a real host under a virtual clock: the consequences of ending an account, in
 * batches, and after a crash.
 */

import { test } from 'tap';
import { AFTERMATH } from '../../actors/identity/account-aftermath.ts';
import { ACCOUNTS_MAX } from '../../actors/identity/accounts.ts';
import { keepFinishingAccounts } from '../../src/identity/open-identity.ts';
import { createLog, type Log } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import {
  change,
  decisionsOf,
  dyingAfter,
  project,
  startIdentities,
} from '../support/accounts-on-host.ts';
import { tester } from '../support/host-in-memory.ts';
import { dataFolder, until } from '../support/program.ts';

test('disabling an account ends its tokens for good, in the same commit', async (t) => {
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
  t.equal(commits.length, 1, 'disabling it again changes nothing');
  await accounts.enable({ ...change, account });
  t.same([mine, stopped].map(epoch), [2, 3], 'enabling restores no token');

  async function startOther(): Promise<string> {
    const { answer } = await accounts.create({
      ...change,
      displayName: 'Other',
      template: 'metrics-scraper',
      capabilities: [],
    });
    return answer.account;
  }
});

test('owners are notified when an account gains permissions', async (t) => {
  const { host, accounts, account } = await startIdentities(t);
  const edit = (displayName?: string, capabilities?: string[]) =>
    accounts.update({ ...change, account, displayName, capabilities });
  const noted = () =>
    host
      .view(project)
      .records('notice', { limit: 9 })
      .items.flatMap(({ body }) =>
        body.kind === 'ACCESS_CHANGED' ? body.changes.map(({ text }) => text) : [],
      );
  await edit(undefined, ['monitoring.read']);
  await edit('Other');
  await accounts.disable({ ...change, account, reason: 'Quiet' });
  t.same(noted(), [], 'fewer permissions cause no notice of this kind');
  await accounts.enable({ ...change, account });
  await accounts.enable({ ...change, account });
  await edit(undefined, ['monitoring.read', 'monitoring.write']);
  t.match(noted(), [
    /^The service account Other .* was enabled again by /,
    /was granted monitoring\.write by /,
  ]);
  t.equal(noted().length, 2);
});

test('deleting an account deletes its connections and keys, in batches', async (t) => {
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
    `${sizes} steps per commit`,
  );
  t.same(host.view(project).records(AFTERMATH, { limit: 10 }).items, [], 'nothing is left over');
  await t.rejects(keys.create(creation), { name: 'Refusal', reason: 'NOT_FOUND' });
  await t.rejects(accounts.delete({ ...change, account }), {
    name: 'Refusal',
    reason: 'NOT_FOUND',
  });
});

test('a deletion interrupted by a crash is finished by its resend or the next', async (t) => {
  const world = await startIdentities(t);
  const { host, accounts, account, manyKeys, liveKeys, value } = world;
  await manyKeys(450);
  const request = { scope: 's', id: 'r', fingerprint: 'f' };
  const dying = decisionsOf(world, dyingAfter(host, 1)).accounts;
  await t.rejects(dying.delete({ ...change, request, account }), { name: 'StreamUnavailable' });
  t.equal(value('serviceAccount', account), 'deleted', 'the account’s own step is first');
  t.ok(liveKeys() > 0, 'keys remain, but the deleted account rejects them');
  const dyingAgain = decisionsOf(world, dyingAfter(host, 1)).accounts;
  await t.rejects(dyingAgain.delete({ ...change, request, account }));
  const { replayed } = await accounts.delete({ ...change, request, account });
  t.equal(replayed, true);
  t.equal(liveKeys(), 0);
  t.same(host.view(project).records(AFTERMATH, { limit: 10 }).items, []);
});

test('a deletion interrupted by a crash is finished at the next start, resent or not', async (t) => {
  const world = await startIdentities(t);
  const { host, account, manyKeys, liveKeys, clock } = world;
  await manyKeys(450);
  const dying = decisionsOf(world, dyingAfter(host, 1)).accounts;
  await t.rejects(dying.delete({ ...change, account }), { name: 'StreamUnavailable' });
  t.ok(liveKeys() > 0);
  const warned: string[] = [];
  const note = (_facts: object, message: string) => void warned.push(message);
  const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
  const ports = { clock, log, ownership: soleOwner };
  const stop = keepFinishingAccounts({ ...ports, host: dyingAfter(host, 1) });
  const settled = async () => {
    for (let turn = 0; turn < 200; turn++) await nextTurn();
  };
  await settled();
  await stop();
  t.same(warned, ['Cleaning up deleted service accounts is not complete yet'], 'a fault is logged');
  t.ok(liveKeys() > 0);

  const commits: string[] = [];
  host.onApplied(({ commit }) => {
    for (const { by, steps } of commit.decisions) {
      commits.push(by.name, ...steps.slice(0, 1).map(({ event }) => String(event.by)));
    }
  });
  const stopAgain = keepFinishingAccounts({ ...ports, host });
  await settled();
  t.equal(liveKeys(), 0);
  t.same(host.view(project).records(AFTERMATH, { limit: 10 }).items, []);
  t.same(
    commits.slice(0, 2),
    ['service/accounts', tester.name],
    'the original caller stays recorded',
  );
  await stopAgain();
  t.equal(warned.length, 1);
});

test('a start finishes the interrupted deletion of a service account', async (t) => {
  const before = await startIdentities(t);
  const { host, stream, account, manyKeys, liveKeys, clock } = before;
  // The service uses the current time: keys of another time would have expired.
  const follow = () => clock.jump(systemClock.now() - clock.now());
  follow();
  // The stream does too: a member whose clock differs from it decides nothing.
  const following = setInterval(follow, 100);
  t.teardown(() => clearInterval(following));
  await manyKeys(450);
  const dying = decisionsOf(before, dyingAfter(host, 1)).accounts;
  await t.rejects(dying.delete({ ...change, account }), { name: 'StreamUnavailable' });
  t.ok(liveKeys() > 0);
  const { settings } = loadConfig([], {
    SVC_DATA: dataFolder(t),
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_COLLECT: 'none',
    SVC_DEMO: 'off',
  });
  const log = createLog({ level: 'error', readable: false, clock: systemClock, write: t.fail });
  const service = await createService({ settings, log, ports: { stream } });
  t.teardown(() => service.stop());
  await until('no key is listed as if it worked', () => liveKeys() === 0 || undefined);
});

test('an account is not enabled before all of its tokens have ended', async (t) => {
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
  await t.rejects(decisionsOf(world, dyingAfter(host, 0)).accounts.enable({ ...change, account }));
  t.equal(value('serviceAccount', account), 'disabled');
  await accounts.enable({ ...change, account });
  t.same(epochs(), new Set([2]), 'each ended once');
  t.equal(value('serviceAccount', account), 'active');
});

test('an account deleted while its disabling is unfinished is still deleted completely', async (t) => {
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

test('a project has at most a thousand service accounts', async (t) => {
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
