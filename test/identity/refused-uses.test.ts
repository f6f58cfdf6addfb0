/**
 * Refused uses of a project's own keys, as its owners see them: in the row of the key and in the
 * activity, with at most one commit a minute and key.
 */
import { type Test, test } from 'tap';
import { APART_MS, RefusedUses } from '../../actors/identity/refused-uses.ts';
import { startRpcWorld } from '../support/api-in-process.ts';
import { startWorld, tester } from '../support/host-in-memory.ts';
import { identitiesOf } from '../support/identities.ts';
import { settle } from '../support/people-on-host.ts';

const PROJECT = 'projects/demo';
const RULES = { projectName: PROJECT };

/** A world whose refused uses are counted, and an owner. */
async function startCounted(t: Test) {
  const world = await startRpcWorld(t, () => ({}));
  const owner = await world.signedInAs('demo', 'OWNER');
  const ask = (method: string, request: object) => world.call(method, request, { person: owner });
  const use = (key: string, method = 'ListAlertRules', request: object = RULES) =>
    world.call(method, request, { key });
  const activity = async () => {
    const { body } = await ask('ListTransitions', {
      ...RULES,
      actsOnly: true,
      events: ['keyRefused'],
    });
    const steps = (body.transitions ?? []) as { sentence: string; by: string }[];
    return steps.map(({ sentence }) => sentence);
  };
  const rows = async (more: object = {}) => {
    const { body } = await ask('ListCredentials', { ...RULES, includeEnded: true, ...more });
    return (body.credentials ?? []) as Readonly<Record<string, unknown>>[];
  };
  return { world, ask, use, activity, rows };
}

test('a revoked key that is still used is shown to the owners', async (t) => {
  const { world, ask, use, activity, rows } = await startCounted(t);
  const { id, key, account } = await world.accountKey('demo', ['monitoring.read']);
  t.equal((await use(key)).status, 200);
  const name = `${PROJECT}/serviceAccounts/${account}/keys/${id}`;
  await world.host.submit({
    project: 'demo',
    by: tester,
    decide(draft) {
      const event = { type: 'revoked', at: draft.at, reason: 'Leaked', by: tester.name } as const;
      draft.send('credential', id, event);
    },
  });
  for (let i = 0; i < 5; i++) t.match(await use(key), { reason: 'CREDENTIAL_REVOKED' });
  await settle();
  t.same(await activity(), ['was refused once as a key of Robot: 1 × CREDENTIAL_REVOKED']);
  await world.clock.advance(APART_MS);
  await settle();
  t.same(await activity(), [
    'was refused 4 times as a key of Robot: 4 × CREDENTIAL_REVOKED',
    'was refused once as a key of Robot: 1 × CREDENTIAL_REVOKED',
  ]);
  const refused = {
    refusedUses: '5',
    lastRefusedUnix: String(world.clock.now() / 1000),
    lastRefusedReason: 'CREDENTIAL_REVOKED',
  };
  t.match(
    (await rows()).find((row) => row.name === name),
    refused,
  );
  t.match((await ask('GetKey', { name })).body, refused);
});

test('a key without the capability and a key of another project are counted', async (t) => {
  const { world, use, activity } = await startCounted(t);
  const { key } = await world.accountKey('demo', ['monitoring.read']);
  const rule = { projectName: PROJECT, requestId: '00000000-0000-4000-8000-000000000000' };
  t.match(await use(key, 'DeleteAlertRule', { ...rule, projectName: undefined }), { status: 403 });
  t.match(await use(key, 'ListAlertRules', { projectName: 'projects/other' }), {
    reason: 'PROJECT_BOUNDARY',
  });
  t.match(await use(key, 'ListMembers', RULES), { reason: 'HUMAN_OPERATION' });
  await world.clock.advance(APART_MS);
  await settle();
  const [later, first] = await activity();
  t.match(first, /once as a key of Robot: 1 × MISSING_CAPABILITY/);
  t.match(later, /2 times as a key of Robot: 1 × PROJECT_BOUNDARY, 1 × HUMAN_OPERATION/);
});

test('guesses and successful uses are not counted', async (t) => {
  const { world, use, activity, rows } = await startCounted(t);
  const { key } = await world.accountKey('demo', ['monitoring.read']);
  t.equal((await use(key)).status, 200);
  t.equal((await use(`${key.slice(0, -1)}x`)).status, 401);
  await world.clock.advance(APART_MS);
  await settle();
  t.same(await activity(), []);
  t.match(await rows(), [{ refusedUses: '0' }]);
});

/** A host with one key, whose commits are counted. */
async function startHost(t: Test) {
  const world = await startWorld(t);
  const { id } = await identitiesOf(world).accountKey('demo', ['monitoring.read']);
  let commits = 0;
  const lost: number[] = [];
  const host = {
    view: world.host.view,
    submit: ((submission) => {
      commits++;
      return world.host.submit(submission);
    }) as typeof world.host.submit,
  };
  const deps = { host, clock: world.clock, onLost: (count: number) => void lost.push(count) };
  const key = { project: 'demo', key: id };
  return { world, deps, key, lost, commits: () => commits };
}

test('a storm of refusals costs one commit a minute', async (t) => {
  const { world, deps, key, commits, lost } = await startHost(t);
  const refused = new RefusedUses(deps);
  for (let second = 0; second < 180; second++) {
    for (let i = 0; i < 10; i++) refused.add(key, 'CREDENTIAL_EXPIRED');
    await world.clock.advance(1_000);
    await refused.settled();
  }
  t.ok(commits() <= 4, `${commits()} commits in three minutes`);
  await refused.close();
  const record = world.host.view('demo').record('refusedUses', key.key);
  t.match(record?.body, { count: 1_800, lastReason: 'CREDENTIAL_EXPIRED' });
  t.same(lost, []);
});

test('a stop writes the pending counts, and an unknown key costs nothing', async (t) => {
  const { world, deps, key, commits } = await startHost(t);
  const refused = new RefusedUses(deps);
  for (let i = 0; i < 3; i++) refused.add(key, 'CREDENTIAL_EXPIRED');
  refused.add({ project: 'demo', key: 'gone' }, 'CREDENTIAL_EXPIRED');
  await refused.close();
  t.match(world.host.view('demo').record('refusedUses', key.key)?.body, { count: 3 });
  t.equal(commits(), 2);
});
