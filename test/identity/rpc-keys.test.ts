/**
 * Service accounts and keys over the API, as signed-in people use them: IDN, KEY and AUTH-01 to
 * AUTH-03.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { parseKey } from '../../src/platform/keys.ts';
import { START_SECONDS } from '../support/api-in-process.ts';
import { DAY_MS, HOUR_MS, tester } from '../support/host-in-memory.ts';
import { DAY, PROJECT, startKeysWorld } from '../support/keys-api.ts';
import { submit } from '../support/submit.ts';

test('IDN-02, IDN-04: service accounts are created from two permission templates with the listed grants', async (t) => {
  const { call, account, keys, send } = await startKeysWorld(t);
  const listed = await call('ListPermissionTemplates', { projectName: PROJECT });
  t.match(listed.body.templates, [
    {
      template: 'metrics-scraper',
      displayName: 'Metrics scraper',
      capabilities: ['monitoring.read'],
    },
    {
      template: 'alert-manager',
      displayName: 'Alert manager',
      capabilities: ['monitoring.read', 'monitoring.write'],
    },
  ]);
  const path = '/svc.iam.v1.AutomationService/ListPermissionTemplates';
  const body = JSON.stringify({ projectName: PROJECT });
  t.equal((await send(path, body, { key: keys.read })).status, 200, 'open to any credential');
  t.equal((await send(path, body, { key: keys.other })).reason, 'PROJECT_BOUNDARY');
  const scraper = await call('GetServiceAccount', {
    name: await account({ template: 'metrics-scraper' }),
  });
  t.match(scraper.body, {
    displayName: 'Robot',
    state: 'ACTIVE',
    template: 'metrics-scraper',
    capabilities: ['monitoring.read'],
    createdUnix: String(START_SECONDS),
    activeKeys: 0,
    activeConnections: 0,
  });
  t.match(scraper.body, { createdBy: /^people\//, createdByDisplayName: 'OWNER' });
  const create = { projectName: PROJECT, displayName: 'x' };
  for (const [wrong, field] of [
    [{ template: 'root' }, 'template'],
    [{ template: 'alert-manager', capabilities: ['monitoring.read'] }, 'template'],
    [{}, 'capabilities'],
    [{ capabilities: ['console'] }, 'capabilities'],
    [{ capabilities: ['collector'] }, 'capabilities'],
    [{ template: 'alert-manager', displayName: ' ' }, 'displayName'],
    [{ template: 'alert-manager', displayName: 'x'.repeat(201) }, 'displayName'],
    [{ template: 'alert-manager', displayName: 'a\u001b[2J' }, 'displayName'],
  ] as const) {
    const refused = await call('CreateServiceAccount', { ...create, ...wrong });
    t.match(refused, { status: 400, reason: 'INVALID_FIELD', metadata: { field } });
  }
});

test('a service account is created, edited, listed, disabled, enabled and deleted', async (t) => {
  const { call, account, key, clock } = await startKeysWorld(t);
  clock.jump(1000);
  const name = await account();
  clock.jump(1000);
  const other = await account({ capabilities: ['monitoring.write', 'monitoring.read'] });
  const first = await call('ListServiceAccounts', { projectName: PROJECT, pageSize: 1 });
  // The world's own accounts come first: the list is in order of age.
  t.equal(first.body.serviceAccounts.length, 1);
  t.not(first.body.nextPageToken, '');
  const all = await call('ListServiceAccounts', { projectName: PROJECT });
  const names = all.body.serviceAccounts.map((row: { name: string }) => row.name);
  t.same(names.slice(-2), [name, other]);
  const edited = await call('UpdateServiceAccount', {
    name,
    displayName: 'Reader',
    capabilities: { values: ['monitoring.read'] },
  });
  t.match(edited.body, { name, displayName: 'Reader', capabilities: ['monitoring.read'] });
  const named = await call('UpdateServiceAccount', { name, displayName: 'Only this' });
  t.match(named.body, { displayName: 'Only this', capabilities: ['monitoring.read'] });
  await key(name);
  const disabled = await call('DisableServiceAccount', { name, reason: 'Audit' });
  t.match(disabled.body, { state: 'DISABLED', activeKeys: 1, disabledReason: 'Audit' });
  const again = await call('DisableServiceAccount', { name });
  t.match(again.body, { state: 'DISABLED', disabledReason: 'Audit' }, 'the first reason stays');
  t.match(await key(name), { status: 400, reason: 'INVALID_STATE' });
  t.match((await call('EnableServiceAccount', { name })).body, {
    state: 'ACTIVE',
    disabledReason: '',
  });
  t.same((await call('DeleteServiceAccount', { name })).body, {});
  for (const method of ['Get', 'Update', 'Disable', 'Enable', 'Delete']) {
    t.match(await call(`${method}ServiceAccount`, { name }), { status: 404, reason: 'NOT_FOUND' });
  }
  t.match(await key(name), { status: 404, reason: 'NOT_FOUND' });
  t.match(await call('ListKeys', { parent: name }), { status: 404, reason: 'NOT_FOUND' });
  const left = await call('ListServiceAccounts', { projectName: PROJECT });
  t.notOk(left.body.serviceAccounts.some((row: { name: string }) => row.name === name));
});

test('IDN-06, LIMIT-11: the key lifetime is 90 days by default and at most 1 year', async (t) => {
  const { account, key } = await startKeysWorld(t);
  const parent = await account();
  const usual = await key(parent);
  t.equal(usual.body.key.expiresUnix, String(START_SECONDS + 90 * DAY));
  const longest = await key(parent, { lifetimeSeconds: 365 * DAY });
  t.equal(longest.body.key.expiresUnix, String(START_SECONDS + 365 * DAY));
  for (const lifetimeSeconds of [365 * DAY + 1, -1, 2 ** 31 - 1]) {
    const refused = await key(parent, { lifetimeSeconds });
    t.match(refused, {
      status: 400,
      reason: 'INVALID_FIELD',
      metadata: { field: 'lifetimeSeconds' },
    });
  }
});

test('KEY-03, AUTH-03: a secret is returned once, its metadata always', async (t) => {
  const { account, key, call, reads, clock } = await startKeysWorld(t);
  const parent = await account();
  const made = await key(parent, { displayName: 'Dashboards' });
  const { secret } = made.body;
  t.match(made.body, { secretAvailable: true });
  t.match(secret, /^svc_sk_[0-9A-Z]{26}_[0-9A-Za-z]{49}$/, 'a prefix that scanners know');
  t.equal(await reads(secret), 'accepted');
  clock.jump(HOUR_MS);
  const got = await call('GetKey', { name: made.body.key.name });
  t.match(got.body, {
    name: `${parent}/keys/${parseKey(secret)?.id}`,
    displayName: 'Dashboards',
    state: 'ACTIVE',
    last4: secret.slice(-4),
    capabilities: ['monitoring.read'],
    effectiveCapabilities: ['monitoring.read'],
    createdUnix: String(START_SECONDS),
    lastUsedUnix: String(START_SECONDS),
    expiryWarning: 'NONE',
    successor: '',
    revokedReason: '',
  });
  t.match(got.body, { createdBy: /^people\//, createdByDisplayName: 'OWNER' });
  t.notOk('overlapEndsUnix' in got.body);
  const unused = await key(parent);
  t.notOk('lastUsedUnix' in unused.body.key, 'never used is absent, not zero');
  const listed = await call('ListKeys', { parent });
  t.equal(listed.body.keys.length, 2);
  t.notMatch(JSON.stringify([got.body, listed.body]), secret.slice(-49));
});

test('KEY-06, AUTH-03: an exact resend returns metadata without the secret, and another body is refused', async (t) => {
  const { account, call } = await startKeysWorld(t);
  const parent = await account();
  const requestId: string = randomUUID();
  const request = { parent, displayName: 'k', capabilities: ['monitoring.read'] };
  const first = await call('CreateKey', request, { requestId });
  const again = await call('CreateKey', request, { requestId });
  t.match(first.body, { secretAvailable: true });
  t.same(again.body, { ...first.body, secret: '', secretAvailable: false });
  const other = await call('CreateKey', { ...request, displayName: 'j' }, { requestId });
  t.match(other, { status: 400, reason: 'REQUEST_ID_REUSED' });
  const name = first.body.key.name;
  const rotation = { name, overlapSeconds: 60 };
  const rotatedBy: string = randomUUID();
  const rotated = await call('RotateKey', rotation, { requestId: rotatedBy });
  const repeated = await call('RotateKey', rotation, { requestId: rotatedBy });
  t.match(rotated.body, { secretAvailable: true });
  t.same(repeated.body, { ...rotated.body, secret: '', secretAvailable: false });
  const longer = { ...rotation, overlapSeconds: 61 };
  const reused = await call('RotateKey', longer, { requestId: rotatedBy });
  t.match(reused, { status: 400, reason: 'REQUEST_ID_REUSED' });
  const crossed = await call('RevokeKey', { name, reason: 'x' }, { requestId: rotatedBy });
  t.match(crossed, { status: 400, reason: 'REQUEST_ID_REUSED' }, 'another method is another body');
  t.equal((await call('ListKeys', { parent })).body.keys.length, 2, 'nothing was created twice');
});

test('IDN-09: every change, creation and rotation included, requires a request_id', async (t) => {
  const { account, call, key } = await startKeysWorld(t);
  const name = await account();
  const made = (await key(name)).body.key.name;
  const changes: [string, object][] = [
    ['CreateKey', { parent: name, displayName: 'k', capabilities: ['monitoring.read'] }],
    ['RotateKey', { name: made }],
    ['RevokeKey', { name: made }],
    ['CreateServiceAccount', { projectName: PROJECT, displayName: 'x', template: 'alert-manager' }],
    ['UpdateServiceAccount', { name, displayName: 'y' }],
    ['DisableServiceAccount', { name }],
    ['EnableServiceAccount', { name }],
    ['DeleteServiceAccount', { name }],
  ];
  for (const [method, request] of changes) {
    for (const requestId of ['', 'no-uuid']) {
      const refused = await call(method, request, { requestId });
      const metadata = { field: 'requestId' };
      t.match(refused, { status: 400, reason: 'INVALID_FIELD', metadata }, method);
    }
  }
  t.match((await call('GetKey', { name: made })).body, { state: 'ACTIVE' }, 'nothing was done');
});

test('KEY-06: identical concurrent requests create one key and return its secret once', async (t) => {
  const { account, call } = await startKeysWorld(t);
  const parent = await account();
  const requestId: string = randomUUID();
  const request = { parent, displayName: 'k', capabilities: ['monitoring.read'] };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => call('CreateKey', request, { requestId })),
  );
  const withSecret = answers.filter(({ body }) => body.secretAvailable === true);
  t.equal(withSecret.length, 1);
  for (const answer of answers) {
    if (answer === withSecret[0]) t.match(answer.body.secret, /^svc_sk_/);
    else t.match(answer.body, { secret: '', secretAvailable: false });
    t.equal(answer.body.key.name, withSecret[0]?.body.key.name);
  }
  t.equal((await call('ListKeys', { parent })).body.keys.length, 1);
});

test('AUTH-03: a lost secret is replaced by revoking its key and creating or rotating again', async (t) => {
  const { account, call, key, reads } = await startKeysWorld(t);
  const parent = await account();
  const lost = (await key(parent)).body;
  t.match((await call('RevokeKey', { name: lost.key.name, reason: 'Lost' })).body, {
    state: 'REVOKED',
    revokedReason: 'Lost',
    effectiveCapabilities: [],
  });
  t.equal(await reads(lost.secret), 'CREDENTIAL_REVOKED');
  const created = (await key(parent)).body;
  t.equal(await reads(created.secret), 'accepted');

  const name = created.key.name;
  const first = (await call('RotateKey', { name, overlapSeconds: 3600 })).body;
  const early = await call('RotateKey', { name, overlapSeconds: 3600 });
  t.match(early, { status: 400, reason: 'INVALID_STATE' }, 'its successor works');
  await call('RevokeKey', { name: first.key.name });
  const second = (await call('RotateKey', { name, overlapSeconds: 3600 })).body;
  t.match(second, { secretAvailable: true });
  t.equal(await reads(second.secret), 'accepted');
  t.equal(await reads(created.secret), 'accepted', 'the overlap lasts');
  t.match((await call('GetKey', { name })).body, { successor: second.key.name });
});

test('IDN-07, LIMIT-12: the rotation overlap is at most 24 hours, none by default', async (t) => {
  const { account, call, key, reads, clock } = await startKeysWorld(t);
  const parent = await account();
  const old = (await key(parent, { lifetimeSeconds: 10 * DAY })).body;
  clock.jump(DAY_MS);
  for (const overlapSeconds of [DAY + 1, -1]) {
    const refused = await call('RotateKey', { name: old.key.name, overlapSeconds });
    t.match(refused, { status: 400, metadata: { field: 'overlapSeconds' } });
  }
  const next = (await call('RotateKey', { name: old.key.name, overlapSeconds: DAY })).body;
  t.match(next.key, {
    capabilities: old.key.capabilities,
    displayName: old.key.displayName,
    expiresUnix: String(START_SECONDS + 91 * DAY),
  });
  t.match((await call('GetKey', { name: old.key.name })).body, {
    state: 'ROTATING',
    overlapEndsUnix: String(START_SECONDS + 2 * DAY),
    successor: next.key.name,
    expiryWarning: 'WITHIN_1_DAY',
  });
  clock.jump(DAY_MS - 1);
  t.same([await reads(old.secret), await reads(next.secret)], ['accepted', 'accepted']);
  clock.jump(1);
  t.same([await reads(old.secret), await reads(next.secret)], ['CREDENTIAL_REVOKED', 'accepted']);
  const ended = (await call('GetKey', { name: old.key.name })).body;
  t.match(ended, { state: 'REVOKED', revokedReason: 'ROTATED' });
  t.match(await call('RotateKey', { name: old.key.name }), {
    status: 400,
    reason: 'INVALID_STATE',
  });

  const last = (await call('RotateKey', { name: next.key.name, overlapSeconds: 0 })).body;
  t.equal(await reads(next.secret), 'CREDENTIAL_REVOKED', 'replaced at once');
  t.equal(await reads(last.secret), 'accepted');
});

test('Immediate revocation stops access without waiting for expiry', async (t) => {
  const { account, call, key, reads } = await startKeysWorld(t);
  const made = (await key(await account())).body;
  t.equal(await reads(made.secret), 'accepted');
  await call('RevokeKey', { name: made.key.name });
  t.equal(await reads(made.secret), 'CREDENTIAL_REVOKED');
  const again = await call('RevokeKey', { name: made.key.name, reason: 'Later' });
  t.match(again.body, { state: 'REVOKED', revokedReason: 'REVOKED' }, 'harmless, and unchanged');
  const long = await call('RevokeKey', { name: made.key.name, reason: 'x'.repeat(501) });
  t.match(long, { status: 400, metadata: { field: 'reason' } });
});

test('AUTH-02: keys cannot exceed the current permissions of their account', async (t) => {
  const { account, call, key } = await startKeysWorld(t);
  const parent = await account({ template: 'metrics-scraper' });
  t.match(await key(parent, { capabilities: ['monitoring.read', 'monitoring.write'] }), {
    status: 403,
    reason: 'MISSING_CAPABILITY',
    metadata: { capability: 'monitoring.write' },
  });
  for (const capabilities of [[], ['collector'], ['*']]) {
    const refused = await key(parent, { capabilities });
    t.match(refused, { status: 400, metadata: { field: 'capabilities' } });
  }
  const twice = await key(parent, { capabilities: ['monitoring.read', 'monitoring.read'] });
  t.same(twice.body.key.capabilities, ['monitoring.read']);
  const wide = await account();
  const both = { capabilities: ['monitoring.read', 'monitoring.write'] };
  const made = (await key(wide, both)).body.key;
  const narrow = { values: ['monitoring.read'] };
  await call('UpdateServiceAccount', { name: wide, capabilities: narrow });
  t.match((await call('GetKey', { name: made.name })).body, {
    capabilities: ['monitoring.read', 'monitoring.write'],
    effectiveCapabilities: ['monitoring.read'],
  });
});

test('IDN-08: a disabled identity or a removed grant affects the next request', async (t) => {
  const { account, call, key, reads, send } = await startKeysWorld(t);
  const name = await account();
  const both = { capabilities: ['monitoring.read', 'monitoring.write'] };
  const { secret } = (await key(name, both)).body;
  t.equal(await reads(secret), 'accepted');
  await call('DisableServiceAccount', { name, reason: 'Leak' });
  t.equal(await reads(secret), 'IDENTITY_DISABLED');
  await call('EnableServiceAccount', { name });
  t.equal(await reads(secret), 'accepted');
  await call('UpdateServiceAccount', { name, capabilities: { values: ['monitoring.write'] } });
  t.not(await reads(secret), 'accepted');
  await call('UpdateServiceAccount', { name, capabilities: { values: [] } });
  t.not(await reads(secret), 'accepted');
  await call('UpdateServiceAccount', { name, capabilities: { values: ['monitoring.read'] } });
  t.equal(await reads(secret), 'accepted');
  const write = JSON.stringify({ projectName: PROJECT, name: `${PROJECT}/alertRules/x` });
  const path = '/svc.monitoring.v1.AlertService/DeleteAlertRule';
  const refused = await send(path, write, { key: secret });
  t.equal(refused.status, 403, 'grants that were not restored are missing');
  await call('DeleteServiceAccount', { name });
  t.not(await reads(secret), 'accepted');
});

test('IDN-02: service account keys survive their creator’s departure, personal keys do not', async (t) => {
  const { account, key, as, reads, signedInAs, host } = await startKeysWorld(t);
  const name = await account();
  const leaver = await signedInAs('demo', 'OWNER');
  const member = `${PROJECT}/members/${memberIdOf('demo', leaver.person)}`;
  const asLeaver = as(leaver);
  const request = { displayName: 'k', capabilities: ['monitoring.read'] };
  const shared = (await asLeaver('CreateKey', { parent: name, ...request })).body;
  const own = (await asLeaver('CreateKey', { parent: member, ...request })).body;
  t.match(own.secret, /^svc_pk_/);
  t.match(own.key.name, new RegExp(`^${member}/keys/`));
  t.same([await reads(shared.secret), await reads(own.secret)], ['accepted', 'accepted']);
  await submit(host, { project: 'demo' }, (draft) => {
    const removed = { type: 'removed', at: draft.at, reason: 'LEFT', by: tester.name } as const;
    draft.send('membership', memberIdOf('demo', leaver.person), removed);
  });
  t.equal(await reads(shared.secret), 'accepted');
  t.equal(await reads(own.secret), 'GRANT_REMOVED');
  t.match(await asLeaver('ListKeys', { parent: member }), { reason: 'PROJECT_BOUNDARY' });
  t.equal((await key(name)).status, 200);
});

test('IDN-01, AUTH-02: a personal key acts within its owner’s current access', async (t) => {
  const { as, signedInAs, reads, host } = await startKeysWorld(t);
  const editor = await signedInAs('demo', 'EDITOR');
  const member = memberIdOf('demo', editor.person);
  const parent = `${PROJECT}/members/${member}`;
  const asEditor = as(editor);
  const both = ['monitoring.read', 'monitoring.write'];
  const made = await asEditor('CreateKey', { parent, displayName: 'k', capabilities: both });
  t.match(made.body.key, { effectiveCapabilities: both });
  t.equal((await asEditor('ListKeys', { parent })).body.keys.length, 1);
  await submit(host, { project: 'demo' }, (draft) => {
    const changed = {
      type: 'roleChanged',
      at: draft.at,
      role: 'VIEWER',
      by: tester.name,
    } as const;
    draft.send('membership', member, changed);
  });
  t.match((await asEditor('GetKey', { name: made.body.key.name })).body, {
    capabilities: both,
    effectiveCapabilities: ['monitoring.read'],
  });
  t.equal(await reads(made.body.secret), 'accepted');
  const more = await asEditor('CreateKey', { parent, displayName: 'k', capabilities: both });
  t.match(more, { status: 403, reason: 'MISSING_CAPABILITY' });
  const next = await asEditor('RotateKey', { name: made.body.key.name });
  t.match(next.body.secret, /^svc_pk_/);
  t.match(next.body.key, { capabilities: both, effectiveCapabilities: ['monitoring.read'] });
  t.equal(await reads(made.body.secret), 'CREDENTIAL_REVOKED');
  t.equal(await reads(next.body.secret), 'accepted', 'limited by the role, as the old key was');
});
