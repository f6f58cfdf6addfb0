/**
 * Enrolment of VMs on a real host under a virtual clock: where it is offered, the use and lifetime
 * of a token, and that a VM has only one agent and one key at any time.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { enrolmentIdOf } from '../../actors/identity/grants.ts';
import { runTimers } from '../../actors/platform/host/timers.ts';
import type { VmBody } from '../../actors/vms/vm-directory.ts';
import { parseKey, parseSecret } from '../../src/platform/keys.ts';
import { openEnrolments } from '../../src/vms/open-vms.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { DAY_MS, HOUR_MS, START_MS, startWorld, tester } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

const VM = 'e4d1c2b0-0000-4000-8000-000000000001';
const project = 'demo';

async function enrolling(t: Test, datacenters: readonly string[] = ['DC-1', 'DC-4']) {
  const world = await startWorld(t);
  const { host, clock } = world;
  const enrolments = openEnrolments({ ...world, datacenters });
  const view = host.view(project);
  let requests = 0;
  const request = () => ({ scope: 'test', id: `r${++requests}`, fingerprint: 'f' });
  const by = tester;
  const offer = (change: object = {}) =>
    enrolments.offer({ project, vm: VM, datacenter: '', by, request: request(), ...change });
  const offeredToken = async (change: object = {}): Promise<string> => {
    const { token } = await offer({ datacenter: 'DC-1', ...change });
    if (token === null) throw new Error('A first answer without a token');
    return token;
  };
  const end = (vm = VM) => enrolments.end({ project, vm, by, request: request() });
  const state = () => view.instance('enrolment', enrolmentIdOf(project, VM));
  const keyOf = (key: string) => view.instance('credential', parseKey(key)?.id ?? '');
  const record = () => view.record('vm', VM)?.body;
  const register = (body: Partial<VmBody>) =>
    submit(host, { project, by }, (draft) => {
      const named = { displayName: 'web', datacenter: '' };
      const facts = { ...named, expandedMonitoring: false, registeredMs: draft.at };
      draft.putRecord({ kind: 'vm', id: VM, body: { ...facts, exportShard: 0, ...body } });
      return null;
    });
  /** Advances time and fires timers. */
  const pass = async (ms: number): Promise<void> => {
    const stopping = new AbortController();
    const running = runTimers(
      { host, clock, ownership: soleOwner, onFault: (_, error) => t.fail(String(error)) },
      stopping.signal,
    );
    await clock.advance(ms);
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    stopping.abort();
    await running;
  };
  return {
    ...world,
    enrolments,
    offer,
    offeredToken,
    end,
    state,
    keyOf,
    record,
    register,
    pass,
    request,
  };
}

/** Reason and message of a refusal. */
async function refusalOf(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof Refusal) return `${error.reason}: ${error.message}`;
    throw error;
  }
  return 'accepted';
}

test('issuing an agent’s key is a change that a required audit sink can hold back', async (t) => {
  const world = await enrolling(t);
  const held: unknown[] = [];
  const host: typeof world.host = {
    ...world.host,
    submit(submission) {
      held.push(submission.makesCredential);
      return world.host.submit(submission);
    },
  };
  const token = await world.offeredToken();
  await openEnrolments({ ...world, host, datacenters: ['DC-1'] }).enrol(token, 'Debian 13');
  t.same(held, [true]);
});

test('a token is exchanged for a key of its VM, once', async (t) => {
  const world = await enrolling(t);
  await world.register({ datacenter: 'DC-1' });
  const { token, expiresMs } = await world.offer();
  t.match(token, /^svc_enrol_[0-9a-f]{26}_/);
  t.equal(expiresMs, START_MS + DAY_MS);
  t.match(world.record(), { expandedMonitoring: false }, 'an offer turns nothing on');
  const agent = await world.enrolments.enrol(token ?? '', 'Debian 13, Linux 6.12');
  t.match(agent, { project, vm: VM, expiresMs: START_MS + 365 * DAY_MS });
  t.equal(parseKey(agent.key)?.kind, 'vm');
  t.match(world.keyOf(agent.key), {
    value: 'active',
    context: {
      kind: 'vm',
      capabilities: ['collector'],
      vm: VM,
      datacenter: 'DC-1',
      owner: `projects/demo/vms/${VM}`,
    },
  });
  t.match(world.state(), {
    value: 'enrolled',
    context: { system: 'Debian 13, Linux 6.12', tokenHash: '' },
  });
  t.match(world.record(), { expandedMonitoring: true, hasAgent: true, displayName: 'web' });
  const used = await refusalOf(world.enrolments.enrol(token ?? '', ''));
  const unknown = await refusalOf(world.enrolments.enrol('svc_enrol_x', ''));
  t.match(used, /^MALFORMED_CREDENTIAL: The enrolment token cannot be used/);
  t.equal(unknown, used, 'unknown and used tokens get the same answer');
});

test('only one of two agents that present a token at once gets a key', async (t) => {
  const world = await enrolling(t);
  const token = await world.offeredToken();
  const tries = await Promise.allSettled([1, 2, 3].map(() => world.enrolments.enrol(token, '')));
  t.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1);
  t.equal(world.host.view(project).instances('credential', { limit: 10 }).items.length, 1);
});

test('a token expires after exactly 24 hours, whether or not its timer has run', async (t) => {
  const world = await enrolling(t);
  const early = await world.offeredToken();
  world.clock.jump(DAY_MS - 1);
  t.equal(await refusalOf(world.enrolments.enrol(early, '')), 'accepted');
  const late = await world.offeredToken();
  world.clock.jump(DAY_MS);
  t.match(await refusalOf(world.enrolments.enrol(late, '')), /^MALFORMED_CREDENTIAL/);
});

test('after a second offer, the existing agent continues until the next one arrives', async (t) => {
  const world = await enrolling(t);
  const first = await world.enrolments.enrol(await world.offeredToken(), '');
  const lost = await world.offeredToken();
  t.match([world.state(), world.keyOf(first.key)], [{ value: 'offered' }, { value: 'active' }]);
  const token = await world.offeredToken();
  t.match(
    await refusalOf(world.enrolments.enrol(lost, '')),
    /^MALFORMED_CREDENTIAL/,
    'the newest token counts',
  );
  const second = await world.enrolments.enrol(token, '');
  t.match(world.keyOf(first.key), { value: 'revoked', context: { revokedReason: 'REPLACED' } });
  t.match(world.keyOf(second.key), { value: 'active' });
  await world.offeredToken();
  await world.pass(DAY_MS + 1);
  t.match(
    [world.state(), world.keyOf(second.key)],
    [{ value: 'enrolled' }, { value: 'active' }],
    'no other arrived in time',
  );
});

test('an unused offer expires after a day', async (t) => {
  const world = await enrolling(t);
  await world.offeredToken();
  await world.pass(DAY_MS + 1);
  t.match(world.state(), { value: 'off', context: { tokenHash: '', credential: null } });
  t.equal(world.record(), undefined, 'and registers no VM');
});

test('the end of enrolment revokes token and key at once, and can be repeated', async (t) => {
  const world = await enrolling(t);
  await world.register({ datacenter: 'DC-1' });
  t.match(await refusalOf(world.end()), /^NOT_FOUND/, 'never enrolled');
  const { key } = await world.enrolments.enrol(await world.offeredToken(), '');
  const token = await world.offeredToken();
  const before = world.host.appliedSequence();
  await world.end();
  t.equal(world.host.appliedSequence(), before + 1, 'one commit');
  t.match(world.keyOf(key), { value: 'revoked', context: { revokedReason: 'UNENROLLED' } });
  t.match(world.state(), { value: 'off', context: { credential: null } });
  t.match(world.record(), { expandedMonitoring: false, hasAgent: undefined });
  t.match(await refusalOf(world.enrolments.enrol(token, '')), /^MALFORMED_CREDENTIAL/);
  await world.end();
  const again = await world.enrolments.enrol(await world.offeredToken(), '');
  t.match([world.keyOf(again.key), world.record()], [{ value: 'active' }, { hasAgent: true }]);
});

test('MEAS-08: expanded monitoring is offered only in its data centers, where the VM is', async (t) => {
  const world = await enrolling(t);
  t.match(await refusalOf(world.offer()), /^INVALID_FIELD: datacenter is missing/);
  t.match(
    await refusalOf(world.offer({ datacenter: 'DC-2' })),
    'INVALID_STATE: Expanded monitoring is available only in DC-1, DC-4; the VM is in DC-2',
  );
  await world.register({ datacenter: 'DC-2' });
  t.match(await refusalOf(world.offer()), /^INVALID_STATE/);
  t.match(
    await refusalOf(world.offer({ datacenter: 'DC-1' })),
    /^INVALID_FIELD: .*the VM is in DC-2/,
  );
  await world.register({ datacenter: 'DC-4' });
  const token = await world.offeredToken({ datacenter: '' });
  await world.register({ datacenter: 'DC-2' });
  t.match(
    await refusalOf(world.enrolments.enrol(token, '')),
    /^INVALID_STATE/,
    'it moved in the meantime',
  );
  await world.register({ datacenter: 'DC-4' });
  t.equal(
    await refusalOf(world.enrolments.enrol(token, '')),
    'accepted',
    'the token was not used up',
  );
  const none = await enrolling(t, []);
  t.match(await refusalOf(none.offer({ datacenter: 'DC-1' })), /in no data center/);
});

test('an unknown VM is registered by its agent, until a collector reports it', async (t) => {
  const world = await enrolling(t);
  const { key } = await world.enrolments.enrol(await world.offeredToken(), '');
  t.same(world.record(), {
    displayName: VM,
    datacenter: 'DC-1',
    expandedMonitoring: true,
    registeredMs: START_MS,
    hasAgent: true,
    isExpected: true,
    exportShard: 0,
  });
  t.match(world.keyOf(key), { context: { datacenter: 'DC-1' } });
});

test('a VM that is unenrolled before any collector reported it stays, without its agent', async (t) => {
  const world = await enrolling(t);
  await world.enrolments.enrol(await world.offeredToken(), '');
  await world.end();
  t.same(
    world.record(),
    {
      displayName: VM,
      datacenter: 'DC-1',
      expandedMonitoring: false,
      registeredMs: START_MS,
      isExpected: true,
      exportShard: 0,
    },
    'the agent’s reports still belong to a VM',
  );
  t.match(world.state(), { value: 'off' }, 'earlier changes stay in its history');
  const token = await world.offeredToken({ datacenter: 'DC-4' });
  const { key } = await world.enrolments.enrol(token, '');
  const placed = { datacenter: 'DC-4', hasAgent: true, isExpected: true, exportShard: 0 };
  t.match(world.record(), placed, 'it can be enrolled again, even in another data center');
  t.match(world.keyOf(key), { context: { datacenter: 'DC-4' } });
});

test('an offer that is revoked before an agent arrives leaves no VM', async (t) => {
  const world = await enrolling(t);
  await world.offeredToken();
  await world.end();
  t.equal(world.record(), undefined, 'a mistyped id is not kept as a VM that never reports');
});

test('a resend answers without the token, and another body is refused', async (t) => {
  const world = await enrolling(t);
  const request = world.request();
  const first = await world.offer({ datacenter: 'DC-1', request });
  world.clock.jump(HOUR_MS);
  const again = await world.offer({ datacenter: 'DC-1', request });
  t.same(again, { token: null, expiresMs: first.expiresMs });
  const other = world.offer({ datacenter: 'DC-1', request: { ...request, fingerprint: 'g' } });
  t.match(await refusalOf(other), /^REQUEST_ID_REUSED/);
});

test('the same VM id in two projects is two VMs', async (t) => {
  const world = await enrolling(t);
  const here = await world.offeredToken();
  const there = await world.offeredToken({ project: 'other' });
  t.not(parseSecret('enrol', here), parseSecret('enrol', there));
  t.match(await world.enrolments.enrol(there, ''), { project: 'other', vm: VM });
  t.match(await world.enrolments.enrol(here, ''), { project: 'demo', vm: VM });
});

test('strangers’ attempts cost no commit, and no secret is in the log', async (t) => {
  const world = await enrolling(t);
  const token = await world.offeredToken();
  const before = world.host.appliedSequence();
  const forged = `${token.slice(0, 40)}x${token.slice(41)}`;
  for (const text of ['', 'x', forged, `${token} `]) {
    t.match(await refusalOf(world.enrolments.enrol(text, '')), /^MALFORMED_CREDENTIAL/);
  }
  t.equal(world.host.appliedSequence(), before);
  const { key } = await world.enrolments.enrol(token, 'x'.repeat(10_000));
  const { items } = world.host.view(project).transitions({ limit: 100 });
  const text = JSON.stringify([items, world.state(), world.keyOf(key)]);
  t.notMatch(text, token);
  t.notMatch(text, key);
  t.equal(String(world.state()?.context.system).length, 200);
});
