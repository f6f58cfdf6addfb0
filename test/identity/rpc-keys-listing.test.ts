/**
 * Listings of keys over the API: who may manage whose keys, listings and their warnings, and that a
 * secret appears in one answer only.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { DAY_MS } from '../support/host-in-memory.ts';
import { DAY, PROJECT, startKeysWorld } from '../support/keys-api.ts';

test('owners manage accounts and keys, and each member their own keys', async (t) => {
  const { account, key, as, signedInAs, keys, send } = await startKeysWorld(t);
  const name = await account();
  const made = (await key(name)).body.key;
  const editor = await signedInAs('demo', 'EDITOR');
  const stranger = await signedInAs('other', 'OWNER');
  const about = { parent: name, displayName: 'k', capabilities: ['monitoring.read'] };
  const requests: [string, object][] = [
    ['CreateServiceAccount', { projectName: PROJECT, displayName: 'x', template: 'alert-manager' }],
    ['ListServiceAccounts', { projectName: PROJECT }],
    ['GetServiceAccount', { name }],
    ['UpdateServiceAccount', { name }],
    ['DisableServiceAccount', { name }],
    ['EnableServiceAccount', { name }],
    ['DeleteServiceAccount', { name }],
    ['CreateKey', about],
    ['RotateKey', { name: made.name }],
    ['RevokeKey', { name: made.name }],
    ['ListKeys', { parent: name }],
    ['GetKey', { name: made.name }],
  ];
  for (const [method, request] of requests) {
    t.equal((await as(editor)(method, request)).reason, 'MISSING_CAPABILITY', method);
    t.equal((await as(stranger)(method, request)).reason, 'PROJECT_BOUNDARY', method);
    const path = `/svc.iam.v1.AutomationService/${method}`;
    const withKey = await send(path, JSON.stringify(request), { key: keys.write });
    t.equal(withKey.reason, 'HUMAN_OPERATION', method);
  }
  const elsewhere = {
    ...about,
    parent: `projects/other/members/${memberIdOf('other', editor.person)}`,
  };
  t.equal((await as(editor)('CreateKey', elsewhere)).reason, 'PROJECT_BOUNDARY');
});

test('a name of another owner’s key, or no name at all, finds nothing', async (t) => {
  const { account, key, call } = await startKeysWorld(t);
  const [mine, other] = [await account(), await account()];
  const made = (await key(mine)).body.key;
  const id = made.name.split('/').pop();
  for (const method of ['GetKey', 'RotateKey', 'RevokeKey']) {
    const wrong = await call(method, { name: `${other}/keys/${id}` });
    t.match(wrong, { status: 404, reason: 'NOT_FOUND' }, method);
    for (const name of [
      '',
      mine,
      `${mine}/keys/`,
      `${mine}/keys/a/b`,
      `projects/demo/vms/v/keys/k`,
    ]) {
      t.match(await call(method, { name }), { status: 400, metadata: { field: 'name' } });
    }
  }
  for (const parent of ['', 'projects/demo', `${PROJECT}/vms/v`, `${mine}/keys`]) {
    t.match(await call('ListKeys', { parent }), { status: 400, metadata: { field: 'parent' } });
  }
});

test('KEY-04: listed keys warn 14, 7 and 1 days before they expire', async (t) => {
  const { account, key, as, owner, clock, signIn } = await startKeysWorld(t);
  const parent = await account();
  await key(parent, { lifetimeSeconds: 20 * DAY });
  const seen: string[] = [];
  const look = async () => {
    // A session lasts a week, so the viewer signs in again each time.
    const call = as(await signIn(owner.person));
    const { keys } = (await call('ListKeys', { parent, includeEnded: true })).body;
    seen.push(`${keys[0].state} ${keys[0].expiryWarning}`);
  };
  await look();
  for (const step of [6 * DAY_MS - 1, 1, 7 * DAY_MS - 1, 1, 6 * DAY_MS - 1, 1, DAY_MS - 1, 1]) {
    clock.jump(step);
    await look();
  }
  t.same(seen, [
    'ACTIVE NONE',
    'ACTIVE NONE',
    'ACTIVE WITHIN_14_DAYS',
    'ACTIVE WITHIN_14_DAYS',
    'ACTIVE WITHIN_7_DAYS',
    'ACTIVE WITHIN_7_DAYS',
    'ACTIVE WITHIN_1_DAY',
    'ACTIVE WITHIN_1_DAY',
    'EXPIRED NONE',
  ]);
  const live = await as(await signIn(owner.person))('ListKeys', { parent });
  t.same(live.body.keys, [], 'by the clock, before its timer fires');
});

test('keys are listed in pages, for one owner, with ended ones on request', async (t) => {
  const { account, key, call, clock } = await startKeysWorld(t);
  const [parent, other] = [await account(), await account()];
  const made: string[] = [];
  for (let i = 0; i < 5; i++) {
    clock.jump(1000);
    made.push((await key(parent)).body.key.name);
    await key(other);
  }
  await call('RevokeKey', { name: made[1] });
  const pages = async (request: object) => {
    const names: string[][] = [];
    let pageToken = '';
    do {
      const { body } = await call('ListKeys', { parent, pageSize: 2, pageToken, ...request });
      names.push(body.keys.map((item: { name: string }) => item.name));
      pageToken = body.nextPageToken;
    } while (pageToken !== '');
    return names;
  };
  const live = made.filter((_, i) => i !== 1);
  t.same(await pages({}), [live.slice(0, 2), live.slice(2)]);
  t.same((await pages({ includeEnded: true })).flat(), made);
  const { body } = await call('ListKeys', { parent, pageSize: 2 });
  const foreign = { parent: other, pageToken: body.nextPageToken };
  t.match(await call('ListKeys', foreign), { status: 400, metadata: { field: 'pageToken' } });
});

test('KEY-03: no file and no log line contains a key’s secret', async (t) => {
  const { account, key, call, lines } = await startKeysWorld(t);
  const parent = await account();
  const made = (await key(parent)).body;
  const rotated = (await call('RotateKey', { name: made.key.name })).body;
  const files = readdirSync(t.testdirName).map((name) => join(t.testdirName, name));
  t.ok(files.some((path) => path.endsWith('control.db')));
  for (const { secret } of [made, rotated]) {
    for (const path of files) t.notOk(readFileSync(path).includes(secret.slice(-49)), path);
    t.notMatch(lines.join('\n'), secret.slice(-49));
  }
});

test('API-34: keys of all service accounts are one list without members’ keys', async (t) => {
  const { account, key, as, call, signedInAs } = await startKeysWorld(t);
  const names = [await account(), await account()];
  const made: string[] = [];
  for (const name of names) made.push((await key(name)).body.key.name);
  const parent = `${PROJECT}/serviceAccounts/-`;
  const { body } = await call('ListKeys', { parent });
  const listed: string[] = body.keys.map(({ name }: { name: string }) => name);
  t.same(
    listed.filter((name) => made.includes(name)),
    made,
  );
  t.ok(listed.every((name) => name.includes('/serviceAccounts/')));
  const pages = [];
  let pageToken = '';
  do {
    const page = (await call('ListKeys', { parent, pageSize: 1, pageToken })).body;
    pages.push(...page.keys);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  t.same(pages, body.keys);
  const editor = await signedInAs('demo', 'EDITOR');
  t.equal((await as(editor)('ListKeys', { parent })).reason, 'MISSING_CAPABILITY');
  const elsewhere = { parent: 'projects/other/serviceAccounts/-' };
  t.equal((await call('ListKeys', elsewhere)).reason, 'PROJECT_BOUNDARY');
});
