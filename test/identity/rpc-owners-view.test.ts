/**
 * An owner's view of everything that can access the project: a member's personal keys, and every
 * credential as one list; and the notices to those affected. No other role, no other project and no
 * program's credential sees any of it.
 */
import { randomUUID } from 'node:crypto';
import { type Test, test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import type { Answer } from '../support/api-in-process.ts';
import { startKeysWorld } from '../support/keys-api.ts';
import { submit } from '../support/submit.ts';

const PROJECT = 'projects/demo';

/** The world of keys with an editor who has a personal key. */
async function startWithMember(t: Test) {
  const world = await startKeysWorld(t);
  const editor = await world.signedInAs('demo', 'EDITOR');
  const parent = `${PROJECT}/members/${memberIdOf('demo', editor.person)}`;
  const made = await world.as(editor)('CreateKey', {
    parent,
    displayName: 'laptop',
    capabilities: ['monitoring.read'],
  });
  t.equal(made.status, 200);
  const notices = async (person = world.owner): Promise<Answer['body'][]> => {
    const path = '/svc.monitoring.v1.AlertService/ListNotices';
    const body = JSON.stringify({ projectName: PROJECT });
    return (await world.send(path, body, { person })).body.notices;
  };
  return { ...world, editor, parent, name: made.body.key.name, secret: made.body.secret, notices };
}

test("an OWNER lists, sees and revokes a member's personal keys, and creates none", async (t) => {
  const { call, parent, name, secret, reads, editor, owner, as, notices } =
    await startWithMember(t);
  const listed = await call('ListKeys', { parent });
  t.match(listed.body.keys, [{ name, displayName: 'laptop', state: 'ACTIVE' }]);
  t.notMatch(JSON.stringify(listed.body), secret);
  t.match((await call('GetKey', { name })).body, { name, last4: secret.slice(-4) });
  for (const [method, request] of [
    ['CreateKey', { parent, displayName: 'x', capabilities: ['monitoring.read'] }],
    ['RotateKey', { name }],
  ] as const) {
    const refused = await call(method, request);
    t.match(refused, { status: 403, reason: 'MISSING_CAPABILITY' });
    const message = `${method} is only for the member it belongs to: no role can do it for them`;
    t.equal(refused.body.message, message, 'the refusal does not contradict itself');
  }
  t.equal(await reads(secret), 'accepted');
  const revoked = await call('RevokeKey', { name, reason: 'laptop lost' });
  t.match(revoked.body, { state: 'REVOKED', revokedReason: 'laptop lost' });
  t.equal(await reads(secret), 'CREDENTIAL_REVOKED');
  const [notice] = await notices(editor);
  t.match(notice, { kind: 'ACCESS_CHANGED', subjectName: PROJECT });
  const key = `Your personal key "laptop" (…${secret.slice(-4)})`;
  t.equal(notice.text, `${key} was revoked by Ada (people/${owner.person})`);
  await as(editor)('RevokeKey', { name });
  t.equal(
    (await notices(editor))[0].text,
    notice.text,
    'a member who ends their own key is not notified',
  );
});

test('others have no access to a member’s keys', async (t) => {
  const { as, signedInAs, send, keys, parent, name } = await startWithMember(t);
  const others = [await signedInAs('demo', 'EDITOR'), await signedInAs('demo', 'VIEWER')];
  const calls = [
    ['ListKeys', { parent }],
    ['GetKey', { name }],
    ['RevokeKey', { name }],
  ] as const;
  for (const [method, request] of calls) {
    for (const other of others) {
      const refused = await as(other)(method, request);
      t.match(refused, { status: 403, reason: 'MISSING_CAPABILITY' });
      t.match(
        refused.body.message,
        /is not for the role .*: ask an OWNER, or the member it belongs to/,
      );
    }
    const stranger = await signedInAs('other', 'OWNER');
    t.equal((await as(stranger)(method, request)).reason, 'PROJECT_BOUNDARY');
    const path = `/svc.iam.v1.AutomationService/${method}`;
    const body = JSON.stringify({ ...request, requestId: randomUUID() });
    for (const key of [keys.read, keys.write]) {
      t.equal((await send(path, body, { key })).reason, 'HUMAN_OPERATION');
    }
  }
});

test('owners are notified of a new key and a new owner, others are not', async (t) => {
  const { notices, editor, owner, send, parent, keys } = await startWithMember(t);
  const [notice] = await notices();
  t.ok(notice.text.includes(`was made by Ada (people/${editor.person}): for monitoring.read`));
  t.same(await notices(editor), [], 'an editor gets no notice for owners');
  const path = '/svc.monitoring.v1.AlertService/ListNotices';
  const asKey = await send(path, JSON.stringify({ projectName: PROJECT }), { key: keys.write });
  t.same(asKey.body.notices, [], 'nor does a credential');
  const raised = { name: parent, role: 'OWNER', requestId: randomUUID() };
  const setRole = '/svc.project.v1.ProjectService/SetMemberRole';
  t.equal((await send(setRole, JSON.stringify(raised), { person: owner })).status, 200);
  const added = (await notices())[0].text;
  t.ok(
    added.includes(
      `Ada (people/${editor.person}) was made an OWNER by Ada (people/${owner.person})`,
    ),
  );
});

test('one list has every credential, with its owner and the time of its last use', async (t) => {
  const world = await startWithMember(t);
  const { call, name, secret, reads, collector, agent, connection, host, editor } = world;
  const account = await world.account();
  const sk = await world.key(account, { displayName: 'robot' });
  await collector('demo');
  await agent('demo', 'vm-1');
  await connection('demo', account.split('/').at(-1) ?? '', ['monitoring.read']);
  await reads(secret);
  const all: Answer['body'][] = [];
  for (let pageToken = ''; ; ) {
    const request = { projectName: PROJECT, pageSize: 2, pageToken };
    const { body } = await call('ListCredentials', request);
    all.push(...body.credentials);
    t.ok(body.credentials.length <= 2);
    pageToken = body.nextPageToken;
    if (pageToken === '') break;
  }
  const kinds = new Set(all.map(({ kind }) => kind));
  t.same([...kinds].sort(), [
    'CI_CONNECTION',
    'COLLECTOR_KEY',
    'PERSONAL_KEY',
    'SERVICE_ACCOUNT_KEY',
    'VM_KEY',
  ]);
  t.equal(new Set(all.map((each) => each.name)).size, all.length, 'each once');
  const own = all.find((each) => each.name === name);
  t.match(own, { state: 'ACTIVE', last4: secret.slice(-4), ownerDisplayName: 'Ada' });
  t.match(own.lastUsedUnix, /^\d+$/);
  const unused = all.find((each) => each.name === sk.body.key.name);
  t.match(unused, { displayName: 'robot', ownerName: account });
  t.notOk('lastUsedUnix' in unused, 'never used is absent, not 0');
  t.notMatch(JSON.stringify(all), /svc_(pk|sk|col|vm)_/);

  await submit(
    host,
    { project: '_system', by: { kind: 'operator', name: 'operator/test' } },
    (draft) =>
      void draft.send('person', editor.person, {
        type: 'disabled',
        at: draft.at,
        reason: 'x',
        by: 'operator/test',
      }),
  );
  const only = { projectName: PROJECT, kinds: ['PERSONAL_KEY'] };
  const locked = (await call('ListCredentials', only)).body.credentials;
  t.match(
    locked.filter((each: { name: string }) => each.name === name),
    [{ state: 'DISABLED', effectiveCapabilities: [] }],
    'an ended credential is not displayed as working',
  );
  await call('RevokeKey', { name });
  const names = async (request: object) =>
    (await call('ListCredentials', request)).body.credentials.map(
      (each: Answer['body']) => each.name,
    );
  t.notOk((await names(only)).includes(name));
  t.ok((await names({ ...only, includeEnded: true })).includes(name));
});
