/**
 * `ProjectService` as people's clients see it: their own identity, projects, members and
 * invitations, by role, with a resend of every request. The people are signed in with real
 * sessions.
 */
import { randomUUID } from 'node:crypto';
import { type Test, test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { INVITATION_MS } from '../../machines/identity/invitation.ts';
import packageJson from '../../package.json' with { type: 'json' };
import type { InvitationMail } from '../../src/identity/api/members.ts';
import { serviceInfoOf } from '../../src/identity/api/service-info.ts';
import { type Answer, ORIGIN, type RpcWorld, startRpcWorld } from '../support/api-in-process.ts';
import type { SignedIn } from '../support/identities.ts';
import { operator, outcomeOf } from '../support/people-on-host.ts';

const PROJECT = 'projects/demo';
const requestId = () => randomUUID();

/** A world with an owner, an editor and a viewer of `demo`, and a stranger. */
async function startProjects(t: Test, change: Parameters<typeof startRpcWorld>[1] = () => ({})) {
  const world = await startRpcWorld(t, change);
  const people = {
    owner: await world.signedInAs('demo', 'OWNER'),
    editor: await world.signedInAs('demo', 'EDITOR'),
    viewer: await world.signedInAs('demo', 'VIEWER'),
    stranger: await world.signedInAs('demo', null),
  };
  const as = (person: Pick<SignedIn, 'secret'>) => (method: string, request: object) =>
    world.call(method, request, { person });
  const memberName = ({ person }: SignedIn) => `${PROJECT}/members/${memberIdOf('demo', person)}`;
  return { world, people, as, memberName };
}

/** Opens the link of an answer, as its recipient. */
function open({ people }: RpcWorld, { body }: Answer) {
  const token = String(body.link).split('#')[1] ?? '';
  return people.signInByLink({ token, agent: 'test' });
}

test('GetSelf returns the signed-in person, the method and the end of the session', async (t) => {
  const { world, people, as } = await startProjects(t);
  const person = await world.people.ensurePerson(operator, {
    displayName: 'Ann',
    email: 'Ann@example.org',
  });
  const { token } = await world.people.linkFor(operator, person, 'operator');
  const ann = await world.people.signInByLink({ token, agent: 'test' });
  t.match(await as(ann)('GetSelf', {}), {
    status: 200,
    body: {
      name: `people/${person}`,
      displayName: 'Ann',
      email: 'ann@example.org',
      signInMethod: 'link',
      sessionExpiresUnix: String(world.clock.now() / 1000 + 7 * 86_400),
    },
  });
  t.match((await as(people.viewer)('GetSelf', {})).body, { signInMethod: 'cli', email: '' });
});

test('SignOutEverywhere ends every session of the caller, and no other', async (t) => {
  const { world, people, as } = await startProjects(t);
  const second = await world.signIn(people.editor.person);
  const request = { requestId: requestId() };
  t.match(await as(people.editor)('SignOutEverywhere', request), {
    status: 200,
    body: { sessions: 2 },
  });
  for (const session of [people.editor, second]) {
    t.match(await as(session)('GetSelf', {}), { status: 401, reason: 'CREDENTIAL_REVOKED' });
  }
  t.equal((await as(people.owner)('GetSelf', {})).status, 200);
  const again = await world.signIn(people.editor.person);
  t.match((await as(again)('SignOutEverywhere', request)).body, { sessions: 2 }, 'a late resend');
  t.equal((await as(again)('GetSelf', {})).status, 200, 'ends nothing more');
});

test('projects are those of the caller, with role and membership, in pages', async (t) => {
  const { world, people, as, memberName } = await startProjects(t);
  for (const id of ['a', 'b', 'c']) {
    await world.members.createProject({
      by: operator,
      project: id,
      displayName: `Project ${id}`,
      owner: people.viewer.person,
    });
  }
  const list = (more: object = {}) => as(people.viewer)('ListProjects', more);
  const names = ({ body }: Answer) => body.projects.map(({ name }: { name: string }) => name);
  t.same(names(await list()), ['projects/a', 'projects/b', 'projects/c', PROJECT]);
  const first = await list({ pageSize: 2 });
  t.same(names(first), ['projects/a', 'projects/b']);
  await world.members.removeMember({
    project: 'demo',
    by: operator,
    reason: 'REMOVED',
    member: memberIdOf('demo', people.viewer.person),
  });
  const second = await list({ pageSize: 2, pageToken: first.body.nextPageToken });
  t.same(names(second), ['projects/c'], 'a token stays valid while projects are added and removed');
  t.equal(second.body.nextPageToken, '');
  t.match(await list({ pageToken: 'x' }), { reason: 'INVALID_FIELD' });
  t.same(names(await as(people.stranger)('ListProjects', {})), []);
  t.match((await as(people.viewer)('GetProject', { name: 'projects/a' })).body, {
    name: 'projects/a',
    displayName: 'Project a',
    role: 'OWNER',
    createdUnix: String(world.clock.now() / 1000),
    memberName: `projects/a/members/${memberIdOf('a', people.viewer.person)}`,
  });
  t.match((await as(people.editor)('GetProject', { name: PROJECT })).body, {
    role: 'EDITOR',
    memberName: memberName(people.editor),
    createdUnix: String(world.clock.now() / 1000),
  });
});

test('MEAS-13: an owner sets the look-back of a project, within bounds', async (t) => {
  const { people, as } = await startProjects(t);
  const set = (promqlLookbackSeconds?: number) =>
    as(people.owner)('UpdateProject', {
      name: PROJECT,
      requestId: requestId(),
      ...(promqlLookbackSeconds !== undefined && { promqlLookbackSeconds }),
    });
  const seen = async () =>
    (await as(people.viewer)('GetProject', { name: PROJECT })).body.promqlLookbackSeconds;
  t.equal(await seen(), 300, 'as Prometheus');
  t.match((await set(90)).body, { name: PROJECT, promqlLookbackSeconds: 90 });
  t.equal(await seen(), 90);
  for (const bad of [59, 3_601, -1, 1]) {
    t.match(
      await set(bad),
      { status: 400, metadata: { field: 'promqlLookbackSeconds' } },
      `${bad}`,
    );
  }
  t.match(await set(), { status: 400, reason: 'INVALID_FIELD' }, 'nothing to change');
  t.equal(await seen(), 90, 'a rejected change has no effect');
  for (const good of [60, 3_600]) t.match((await set(good)).body.promqlLookbackSeconds, good);
  t.match((await set(0)).body, { promqlLookbackSeconds: 300 });
  t.match((await as(people.editor)('UpdateProject', { name: PROJECT })).status, 403);
});

test('only members can read a project', async (t) => {
  const { people, as, memberName } = await startProjects(t);
  const calls: [string, object][] = [
    ['GetProject', { name: PROJECT }],
    ['GetProject', { name: 'projects/none' }],
    ['ListMembers', { projectName: PROJECT }],
    ['ListInvitations', { projectName: PROJECT }],
    ['InviteMember', { projectName: PROJECT, requestId: requestId(), email: 'a@x.org', role: 3 }],
    ['RevokeInvitation', { name: `${PROJECT}/invitations/i`, requestId: requestId() }],
    ['RemoveMember', { name: memberName(people.viewer), requestId: requestId() }],
    ['SetMemberRole', { name: memberName(people.viewer), requestId: requestId(), role: 1 }],
  ];
  for (const [method, request] of calls) {
    const answer = await as(people.stranger)(method, request);
    t.match(answer, { status: 403, reason: 'PROJECT_BOUNDARY' }, method);
  }
});

test('CreateProject is rejected unless the operator allows it', async (t) => {
  const { people, as } = await startProjects(t);
  const request = { requestId: requestId(), projectId: 'mine', displayName: 'Mine' };
  t.match(await as(people.stranger)('CreateProject', request), {
    status: 400,
    reason: 'INVALID_STATE',
    body: { message: /svc admin project create/ },
  });
});

test('the creator of a project owns it, and a resend creates it once', async (t) => {
  const { people, as } = await startProjects(t, () => ({ projectCreation: 'people' }));
  const make = as(people.stranger);
  const request = { requestId: requestId(), projectId: 'mine', displayName: ' Mine ' };
  const made = await make('CreateProject', request);
  t.match(made, {
    status: 200,
    body: { name: 'projects/mine', displayName: 'Mine', role: 'OWNER' },
  });
  t.same((await make('CreateProject', request)).body, made.body);
  const reused = { ...request, projectId: 'other' };
  t.match(await make('CreateProject', reused), { status: 400, reason: 'REQUEST_ID_REUSED' });
  const taken = { ...request, requestId: requestId() };
  t.match(await make('CreateProject', taken), { reason: 'INVALID_STATE' });
  for (const [field, bad] of [
    ['projectId', { projectId: 'Not Good' }],
    ['displayName', { displayName: '' }],
    ['requestId', { requestId: 'x' }],
  ] as const) {
    const answer = await make('CreateProject', { ...request, requestId: requestId(), ...bad });
    t.match(answer, { status: 400, metadata: { field } });
  }
});

test('the link of an invitation is returned once, and creates a member', async (t) => {
  const { world, people, as } = await startProjects(t);
  const request = {
    projectName: PROJECT,
    requestId: requestId(),
    email: ' Bob@Example.org',
    role: 'EDITOR',
  };
  const invited = await as(people.owner)('InviteMember', request);
  t.match(invited, {
    status: 200,
    body: {
      secretAvailable: true,
      emailed: false,
      invitation: {
        email: 'bob@example.org',
        role: 'EDITOR',
        state: 'PENDING',
        invitedBy: `people/${people.owner.person}`,
        invitedByDisplayName: 'OWNER',
        expiresUnix: String((world.clock.now() + INVITATION_MS) / 1000),
      },
    },
  });
  t.match(invited.body.link, new RegExp(`^${ORIGIN}/auth/link#svc_inv_[0-9A-Z]{26}_\\w{49}$`));
  const resent = await as(people.owner)('InviteMember', request);
  t.match(resent.body, { secretAvailable: false, link: '', emailed: false });
  t.same(
    resent.body.invitation,
    invited.body.invitation,
    'an exact resend returns the same invitation',
  );
  const other = await as(people.owner)('InviteMember', { ...request, role: 'OWNER' });
  t.match(other, { reason: 'REQUEST_ID_REUSED' });

  const bob = await open(world, invited);
  t.match((await as(bob)('GetProject', { name: PROJECT })).body, { role: 'EDITOR' });
  const { members } = (await as(bob)('ListMembers', { projectName: PROJECT })).body;
  t.equal(members.length, 4);
  const name = `${PROJECT}/members/${memberIdOf('demo', bob.person)}`;
  const member = members.find((each: { name: string }) => each.name === name);
  t.match(member, {
    displayName: 'bob',
    role: 'EDITOR',
    joinedUnix: String(world.clock.now() / 1000),
  });
  const list = await as(people.owner)('ListInvitations', { projectName: PROJECT });
  t.match(list.body.invitations, [{ state: 'ACCEPTED' }]);
});

test('an invitation is mailed once, if the service sends mail', async (t) => {
  const mails: InvitationMail[] = [];
  const { people, as } = await startProjects(t, () => ({
    inviteMail: (mail) => mails.push(mail) > 0,
  }));
  const request = {
    projectName: PROJECT,
    requestId: requestId(),
    email: 'b@x.org',
    role: 'VIEWER',
  };
  const invited = await as(people.owner)('InviteMember', request);
  t.equal(invited.body.emailed, true);
  await as(people.owner)('InviteMember', request);
  t.equal(mails.length, 1);
  t.match(mails[0], {
    email: 'b@x.org',
    project: 'demo',
    projectDisplayName: 'demo',
    invitedBy: 'OWNER',
  });
  t.ok(invited.body.link.endsWith(mails[0]?.token));
});

test('an invitation can be withdrawn, and an expired one is displayed as expired', async (t) => {
  const { world, people, as } = await startProjects(t);
  const owner = as(people.owner);
  const invite = async (email: string) => {
    const requested = { projectName: PROJECT, requestId: requestId(), email, role: 'VIEWER' };
    return await owner('InviteMember', requested);
  };
  const first = await invite('one@x.org');
  // Two invitations created in the same millisecond have no defined order.
  world.clock.jump(1);
  const second = await invite('two@x.org');
  const { name } = first.body.invitation;
  const request = { name, requestId: requestId() };
  t.match((await owner('RevokeInvitation', request)).body, { name, state: 'REVOKED' });
  t.match((await owner('RevokeInvitation', request)).body, { name, state: 'REVOKED' });
  t.equal(await outcomeOf(() => open(world, first)), 'CREDENTIAL_REVOKED');
  const nothing = { name: `${PROJECT}/invitations/none`, requestId: requestId() };
  t.match(await owner('RevokeInvitation', nothing), { status: 404, reason: 'NOT_FOUND' });
  world.clock.jump(INVITATION_MS);
  const fresh = await world.signIn(people.owner.person);
  const page = await as(fresh)('ListInvitations', { projectName: PROJECT, pageSize: 1 });
  t.match(page.body.invitations, [{ email: 'two@x.org', state: 'EXPIRED' }]);
  const more = { projectName: PROJECT, pageToken: page.body.nextPageToken };
  t.match((await as(fresh)('ListInvitations', more)).body.invitations, [{ state: 'REVOKED' }]);
  t.equal(await outcomeOf(() => open(world, second)), 'CREDENTIAL_EXPIRED');
});

test('owners set roles, which take effect with the next request', async (t) => {
  const { people, as, memberName } = await startProjects(t);
  const set = (person: SignedIn, role: string, by = people.owner, id = requestId()) =>
    as(by)('SetMemberRole', { name: memberName(person), requestId: id, role });
  for (const by of [people.viewer, people.editor]) {
    t.match(await set(people.viewer, 'OWNER', by), { status: 403, reason: 'MISSING_CAPABILITY' });
  }
  const id = requestId();
  t.match(await set(people.viewer, 'OWNER', people.owner, id), {
    status: 200,
    body: { name: memberName(people.viewer), role: 'OWNER' },
  });
  t.equal((await set(people.editor, 'VIEWER', people.viewer)).status, 200, 'now an owner');
  t.match(await set(people.owner, 'ROLE_UNSPECIFIED'), { metadata: { field: 'role' } });
  await set(people.viewer, 'VIEWER');
  const resent = await set(people.viewer, 'OWNER', people.owner, id);
  t.match(resent.body, { role: 'VIEWER' }, 'a late resend changes nothing');
  t.match(await set(people.owner, 'EDITOR'), {
    status: 400,
    reason: 'INVALID_STATE',
    body: { message: /no OWNER left/ },
  });
});

test('owners remove any member, any member may leave, and the project keeps an owner', async (t) => {
  const { world, people, as, memberName } = await startProjects(t);
  const remove = (who: SignedIn, by: SignedIn, id = requestId()) =>
    as(by)('RemoveMember', { name: memberName(who), requestId: id });
  const forbidden = { status: 403, reason: 'MISSING_CAPABILITY' };
  t.match(await remove(people.viewer, people.editor), forbidden);
  t.match(await remove(people.owner, people.owner), { reason: 'INVALID_STATE' });
  const key = await world.personalKey('demo', people.viewer.person, ['monitoring.read']);
  const read = () =>
    world.call('ListVMMonitoring', { projectName: PROJECT, inventoryOnly: true }, key);
  t.equal((await read()).status, 200);
  t.equal((await remove(people.viewer, people.viewer)).status, 200, 'oneself');
  t.match(await read(), { status: 401, reason: 'CREDENTIAL_REVOKED' }, 'with the personal keys');
  t.match(await as(people.viewer)('GetProject', { name: PROJECT }), { reason: 'PROJECT_BOUNDARY' });
  const id = requestId();
  t.equal((await remove(people.editor, people.owner, id)).status, 200);
  t.equal((await remove(people.editor, people.owner, id)).status, 200, 'an exact resend');
  t.match(await remove(people.editor, people.owner), { status: 404, reason: 'NOT_FOUND' });
  const { members } = (await as(people.owner)('ListMembers', { projectName: PROJECT })).body;
  t.equal(members.length, 1);
  const steps = world.host.view('demo').transitions({ limit: 100, machine: 'membership' }).items;
  const removals = steps.filter(({ event }) => event.type === 'removed');
  t.match(
    removals.map(({ by, event }) => [by.kind, by.name, event.reason]),
    [
      ['human', `people/${people.viewer.person}`, 'LEFT'],
      ['human', `people/${people.owner.person}`, 'REMOVED'],
    ],
    'the audit names the actor',
  );
});

test('API-21: credentials reach no project method', async (t) => {
  const { world } = await startProjects(t);
  const methods = [
    'GetSelf',
    'SignOutEverywhere',
    'ListProjects',
    'CreateProject',
    'GetProject',
    'ListMembers',
    'InviteMember',
    'ListInvitations',
    'RevokeInvitation',
    'RemoveMember',
    'SetMemberRole',
    'EnrolVm',
    'UnenrolVm',
  ];
  for (const key of [world.keys.write, world.keys.collector]) {
    for (const method of methods) {
      const answer = await world.call(method, {}, { key });
      t.match(answer, { status: 403, reason: 'HUMAN_OPERATION' }, method);
    }
  }
});

test('API-35: a signed-in user reads the service’s configuration without internal addresses', async (t) => {
  const { people, as } = await startProjects(t);
  const { status, body } = await as(people.stranger)('GetServiceInfo', {});
  t.equal(status, 200);
  t.same(body, {
    version: packageJson.version,
    samplingIntervalSeconds: 30,
    hasMail: false,
    ciIssuers: [
      { name: 'github', kind: 'github', url: 'https://token.actions.githubusercontent.com' },
    ],
    expandedDatacenters: ['DC-1'],
    peopleCreateProjects: false,
  });
  t.match(serviceInfoOf({ ...INFO, smtpUrl: 'smtp://u:secret@mail.example' }), { hasMail: true });
  t.notMatch(JSON.stringify(serviceInfoOf({ ...INFO, smtpUrl: 'smtp://u:secret@m' })), /secret|@m/);
});

const INFO = {
  smtpUrl: null,
  ciIssuers: [],
  expandedDatacenters: [],
  projectCreation: 'operator',
} as const;
