/**
 * Unlimited changes over the API: one key edits its rule until it is rejected. The project's owner,
 * an acknowledgement and another project are not affected.
 */
import { randomUUID } from 'node:crypto';
import { test } from 'tap';
import { RULE_TEMPLATES } from '../../actors/alerting/rule-templates.ts';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { type ProjectLimits, setLimits } from '../../actors/platform/project-limits.ts';
import { type RpcWorld, startRpcWorld } from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { newRule } from '../support/rule-spec.ts';
import { submit } from '../support/submit.ts';

const PROJECT = 'projects/demo';
/** Longest text that a rule accepts. */
const RUNBOOK = 'x'.repeat(1_900);

const limited = (world: RpcWorld, limits: Partial<ProjectLimits>) =>
  submit(world.host, { project: 'demo' }, (draft) => ({ ...setLimits(draft, limits) }));

async function save(
  world: RpcWorld,
  { id = randomUUID(), version = 0, key = world.keys.write, project = PROJECT } = {},
) {
  return await world.call(
    'SaveAlertRule',
    {
      projectName: project,
      id,
      requestId: randomUUID(),
      expectedVersion: String(version),
      spec: { ...RULE_TEMPLATES[0]?.spec, runbookText: `${version} ${RUNBOOK}` },
    },
    { key },
  );
}

/** Edits one rule until an edit is rejected; returns the number of edits and the refusal. */
async function flood(world: RpcWorld) {
  const id = randomUUID();
  for (let version = 0; ; version++) {
    const answer = await save(world, { id, version });
    if (answer.status !== 200) return { edits: version, answer };
  }
}

const used = async (world: RpcWorld, name: string) => {
  const { body } = await world.call('GetProjectLimits', { projectName: PROJECT });
  const limits: { name: string; used: string; limit: string }[] = body.limits;
  return limits.find((each) => each.name === name);
};

test('LIMIT-23: a flood of edits is rejected after its burst', async (t) => {
  const world = await startRpcWorld(t);
  await limited(world, { changesPerSecond: 1 });
  const { edits, answer } = await flood(world);
  t.equal(edits, 120);
  t.match(answer, {
    status: 429,
    reason: 'TOO_MANY_REQUESTS',
    headers: { 'retry-after': '1' },
    metadata: { limit: 'changesPerSecond', retryAfterSeconds: '1' },
  });
  t.match(await used(world, 'changesPerSecond'), { used: '1', limit: '1' });
  const owner = await world.signedInAs('demo', 'OWNER');
  const account = await world.accountKey('demo', ['monitoring.write']);
  const asOwner = { person: owner };
  const listed = await world.call(
    'ListKeys',
    {
      parent: `${PROJECT}/serviceAccounts/${account.account}`,
    },
    asOwner,
  );
  const revoke = { name: listed.body.keys[0].name, reason: 'leaked', requestId: randomUUID() };
  t.match(await world.call('RevokeKey', revoke, asOwner), { status: 200 });
  const again = { ...revoke, requestId: randomUUID() };
  t.match(await world.call('RevokeKey', again, asOwner), { status: 200 }, 'it is already revoked');
  const other = await world.issue('other', ['monitoring.write']);
  t.match(await save(world, { key: other, project: 'projects/other' }), { status: 200 });
  await world.clock.advance(1_000);
  t.match(await save(world), { status: 200 }, 'accepted after the second that the refusal named');
});

test('LIMIT-24: bytes, creations and deletions per day are limited', async (t) => {
  const world = await startRpcWorld(t);
  const id = randomUUID();
  t.match(await save(world, { id }), { status: 200 });
  t.match(await used(world, 'thingsPerDay'), { used: '1' });
  await limited(world, { thingsPerDay: 1 });
  t.match(await save(world), {
    status: 400,
    reason: 'LIMIT_EXCEEDED',
    metadata: { of: 'thingsPerDay', limit: '1', current: '1' },
  });
  t.match(await save(world, { id, version: 1 }), { status: 200 }, 'an edit creates nothing');
  const { used: bytes } = (await used(world, 'changeBytesPerDay')) ?? {};
  t.ok(Number(bytes) > 2 * RUNBOOK.length, `${bytes} bytes`);
  await limited(world, { changeBytesPerDay: Number(bytes) });
  t.match(await save(world, { id, version: 2 }), {
    status: 400,
    reason: 'LIMIT_EXCEEDED',
    metadata: { of: 'changeBytesPerDay', limit: bytes, current: bytes },
    body: { message: /wait until 2026-01-02T00:00:00.000Z/ },
  });
});

test('LIMIT-25: access can be revoked when no change is allowed', async (t) => {
  const world = await startRpcWorld(t);
  const owner = { person: await world.signedInAs('demo', 'OWNER') };
  const [leaving, lowered] = [await world.person('Eve'), await world.person('Bob')];
  for (const person of [leaving, lowered]) await world.member('demo', person, 'EDITOR');
  await world.personalKey('demo', leaving, ['monitoring.read']);
  const disabled = await world.accountKey('demo', ['monitoring.read']);
  const deleted = await world.accountKey('demo', ['monitoring.read']);
  const connections = [];
  for (let i = 0; i < 3; i++) {
    const { account } = i === 0 ? disabled : deleted;
    connections.push(await world.connection('demo', account, ['monitoring.read']));
  }
  await world.agent('demo', 'vm-1');
  const invitee = { projectName: PROJECT, email: 'a@example.test', role: 'EDITOR' };
  const invited = await world.call('InviteMember', { ...invitee, requestId: randomUUID() }, owner);
  const hook = { displayName: 'hook', webhook: { url: 'https://hooks.example.com/x' } };
  const created = await world.call('CreateDestination', {
    projectName: PROJECT,
    requestId: randomUUID(),
    destination: hook,
  });
  const destination = { name: created.body.destination.name };
  await limited(world, { changesPerSecond: 0, changeBytesPerDay: 0, thingsPerDay: 0 });
  const refused = await world.call(
    'CreateServiceAccount',
    {
      projectName: PROJECT,
      requestId: randomUUID(),
      displayName: 'x',
      capabilities: ['monitoring.read'],
    },
    owner,
  );
  t.match(refused, { status: 400, reason: 'LIMIT_EXCEEDED' }, JSON.stringify(refused.body));

  const accountOf = ({ account }: { account: string }) => `${PROJECT}/serviceAccounts/${account}`;
  const memberOf = (person: string) => `${PROJECT}/members/${memberIdOf('demo', person)}`;
  const ends: readonly (readonly [string, object])[] = [
    ['RevokeKey', { name: `${accountOf(deleted)}/keys/${deleted.id}`, reason: 'leaked' }],
    ['DisableCiConnection', { name: `${PROJECT}/ciConnections/${connections[1]}` }],
    ['DeleteCiConnection', { name: `${PROJECT}/ciConnections/${connections[2]}` }],
    ['DisableServiceAccount', { name: accountOf(disabled) }],
    ['DeleteServiceAccount', { name: accountOf(deleted) }],
    ['SetMemberRole', { name: memberOf(lowered), role: 'VIEWER' }],
    ['RemoveMember', { name: memberOf(leaving) }],
    ['RevokeInvitation', { name: invited.body.invitation.name }],
    ['UnenrolVm', { vmName: `${PROJECT}/vms/vm-1` }],
    ['PauseDestination', destination],
    ['DeleteDestination', destination],
  ];
  for (const [method, request] of ends) {
    const before = world.host.appliedSequence();
    const answer = await world.call(method, { ...request, requestId: randomUUID() }, owner);
    t.equal(answer.status, 200, `${method}: ${JSON.stringify(answer.body)}`);
    t.ok(world.host.appliedSequence() > before, `${method} was committed`);
  }
});

test('LIMIT-25: an incident can be acknowledged when no change is allowed', async (t) => {
  const world = await startRpcWorld(t);
  await world.call('SaveAlertRule', newRule(PROJECT));
  const values = [{ series: 'svc_vm_cpu_utilization_pct', value: 95 }];
  await world.write([{ vm: 'vm-1', observedUnixMs: START_MS, values }]);
  const { incidents } = (await world.call('ListIncidents', { projectName: PROJECT })).body;
  const { name } = incidents[0];
  await limited(world, { changesPerSecond: 0, changeBytesPerDay: 0, thingsPerDay: 0 });
  const editor = { person: await world.signedInAs('demo', 'EDITOR') };
  const untilUnix = String(START_MS / 1000 + 3_600);
  const snooze = { name, untilUnix, requestId: randomUUID() };
  t.match(await world.call('SnoozeIncident', snooze, editor), { reason: 'LIMIT_EXCEEDED' });
  const acknowledge = { name, note: 'mine', requestId: randomUUID() };
  t.match(await world.call('AcknowledgeIncident', acknowledge, editor), { status: 200 });
});
