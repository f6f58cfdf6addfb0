/**
 * The revocation barrier: a change that narrows access is answered once every member has it, and a
 * member that may have missed it authenticates no credential.
 */
import { test } from 'tap';
import { narrowsAccess, withRevocationBarrier } from '../../actors/identity/revocation-barrier.ts';
import { createAuthenticator } from '../../src/identity/auth/authenticator.ts';
import type { Actor, Commit } from '../../streams/platform/commit/commit.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';

const by = { kind: 'service', name: 'test' } as const;

function commitOf(machine: string, type: string): Pick<Commit, 'decisions'> {
  const step = { machine, version: 1, instance: 'i', from: null, to: 'x' };
  const rest = { context: {}, timers: [], final: false, event: { type, at: 0 } };
  return { decisions: [{ by, steps: [{ ...step, ...rest }], records: [] }] };
}

test('removals narrow access; grants, uses and expiries do not', async (t) => {
  for (const [machine, type] of [
    ['credential', 'revoked'],
    ['credential', 'rotated'],
    ['session', 'ended'],
    ['person', 'disabled'],
    ['membership', 'removed'],
    ['membership', 'roleChanged'],
    ['serviceAccount', 'edited'],
    ['ciConnection', 'tokensEnded'],
    ['recipient', 'removed'],
  ] as const) {
    t.ok(narrowsAccess(commitOf(machine, type)), `${machine} ${type}`);
  }
  for (const [machine, type] of [
    ['credential', 'xstate.init'],
    ['session', 'rotated'],
    ['membership', 'rejoined'],
    ['ciConnection', 'exchanged'],
    ['alertInstance', 'removed'],
  ] as const) {
    t.notOk(narrowsAccess(commitOf(machine, type)), `${machine} ${type}`);
  }
});

async function guarded(t: Parameters<typeof openAlertingWorld>[0]) {
  const world = await openAlertingWorld(t);
  const waits: { sequence: number; resolve: () => void; reject: (error: Error) => void }[] = [];
  let announced = 0;
  const member = {
    isAlone: false,
    refusal: (): string | undefined => undefined,
    announce: () => void announced++,
    untilApplied: (sequence: number, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        waits.push({ sequence, resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const host = withRevocationBarrier(world.host, { member, clock: world.clock });
  const anna = { person: 'anna', displayName: 'Anna', email: 'anna@example.org' };
  const start = {
    ...anna,
    project: PROJECT,
    at: 0,
    subject: 'anna',
    role: 'EDITOR',
    by: 'x',
  } as const;
  const make = (id: string, actor: Actor = by) =>
    host.submit({
      project: PROJECT,
      by: actor,
      decide: (draft) => void draft.start('membership', id, start),
    });
  const remove = (id: string, request?: string) =>
    host.submit({
      project: PROJECT,
      by,
      ...(request && { request: { scope: PROJECT, id: request, fingerprint: '' } }),
      decide(draft) {
        const removed = { type: 'removed', at: draft.at, reason: 'LEFT', by: 'test' } as const;
        draft.send('membership', id, removed);
        return { done: true };
      },
    });
  return { ...world, member, waits, make, remove, announced: () => announced };
}

test('DUR-25: a removal is answered once the other members have applied it', async (t) => {
  const world = await guarded(t);
  await world.make('m1');
  t.same([world.waits.length, world.announced()], [0, 0], 'a grant does not wait');
  let answer: unknown;
  const removal = world.remove('m1', 'r1').then((committed) => {
    answer = committed.answer;
  });
  await world.until('it waits', () => world.waits.length === 1);
  t.equal(world.announced(), 1, 'this member announces at once what it has applied');
  t.equal(world.waits[0]?.sequence, world.host.appliedSequence());
  t.equal(answer, undefined);
  world.waits[0]?.resolve();
  await removal;
  t.same(answer, { done: true });
  const again = world.remove('m1', 'r1');
  await world.until('an exact resend waits as well', () => world.waits.length === 2);
  world.waits[1]?.reject(new StreamUnavailable('Not connected', 'refused'));
  await t.rejects(again, StreamUnavailable, 'and is not answered while the others are unknown');
});

test('DUR-25: a member rejected while a change waits does not decide it', async (t) => {
  const world = await guarded(t);
  const made = world.make('m1');
  world.member.refusal = () => 'The clock of this machine is 38 s ahead';
  await t.rejects(made, { name: 'StreamUnavailable', message: /38 s ahead/ });
  t.equal(world.host.view(PROJECT).instance('membership', 'm1'), undefined);
  t.equal(world.host.counters().decisionFaults, 0, 'not counted as a fault');
});

test('an internal decision that shares the commit does not wait', async (t) => {
  const world = await guarded(t);
  await world.make('m1');
  const removal = world.remove('m1');
  const other = world.make('m2', { kind: 'service', name: 'deliverer' });
  const person = world.make('m3', { kind: 'human', name: 'users/anna' });
  const { sequence } = await other;
  await world.until('the others wait', () => world.waits.length === 2);
  t.same(
    world.waits.map((wait) => wait.sequence),
    [sequence, sequence],
    'all are in one commit',
  );
  for (const { resolve } of world.waits) resolve();
  await Promise.all([removal, person]);
});

test('a removal that is not confirmed everywhere is rejected, and can be resent', async (t) => {
  const world = await guarded(t);
  await world.make('m1');
  const removal = world.remove('m1');
  removal.catch(() => {});
  await world.until('it waits', () => world.waits.length === 1);
  await world.pass(10_000);
  await t.rejects(removal, { reason: 'NOT_READY', message: /send the same request again/ });
});

test('a member that may not decide commits nothing', async (t) => {
  const world = await guarded(t);
  world.member.refusal = () => 'The clock of this machine is 15 s ahead';
  const before = world.host.appliedSequence();
  await t.rejects(world.make('m1'), { outcome: 'refused', message: /15 s ahead/ });
  t.equal(world.host.appliedSequence(), before);
});

test('a single process does not wait', async (t) => {
  const world = await openAlertingWorld(t);
  const nobody = { announce() {}, untilApplied: () => Promise.reject(new Error()) };
  const member = { ...nobody, isAlone: true, refusal: () => undefined };
  t.equal(withRevocationBarrier(world.host, { member, clock: world.clock }), world.host);
});

test('DUR-25: a member that may have missed a revocation authenticates no credential', async (t) => {
  const { host, clock } = await openAlertingWorld(t);
  const cut = 'This member may have been replaced';
  const authenticator = createAuthenticator({
    host,
    clock,
    recordUse: () => {},
    refusal: () => cut,
  });
  t.teardown(() => authenticator.close());
  const refused = { reason: 'NOT_READY', message: cut };
  t.throws(() => authenticator.authenticateKey('Bearer sk_1'), refused);
  await t.rejects(authenticator.authenticate('Bearer sk_1', '127.0.0.1'), refused);
  await t.rejects(
    authenticator.identify({
      authorization: 'Bearer sk_1',
      cookie: undefined,
      origin: '',
      address: '127.0.0.1',
    }),
    refused,
  );
});
