/**
 * Callers after a change of their state: every authenticated method, called by every kind of caller
 * in every state, compared with a table written by hand. Each caller is admitted first, so only its
 * state can cause the refusal of the very next request.
 */
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import t, { test } from 'tap';
import { enrolmentIdOf, memberIdOf } from '../../actors/identity/grants.ts';
import { Policy_Access, Policy_Role, policy } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { nextTurn } from '../../streams/platform/operators.ts';
import { cookieHeaders } from '../support/api-in-process.ts';
import {
  type AuthorisationWorld,
  allMethods,
  bearer,
  type Headers,
  type Outcome,
  startAuthorisationWorld,
  tokenOf,
} from '../support/every-method.ts';
import { reasonOf } from '../support/host-in-memory.ts';
import { isFullRun } from '../support/tries.ts';

/**
 * The columns: the access that a method declares. `OWNER` also covers EDITOR and one's own objects.
 */
const KINDS = ['READ', 'WRITE', 'ANY', 'COLLECTOR', 'VIEWER', 'OWNER', 'SIGNED_IN'] as const;
type Kind = (typeof KINDS)[number];

interface State {
  readonly name: string;
  /** Remaining permissions: one word for each of `KINDS`. */
  readonly left: string;
  /** Creates the caller; `happens` brings it into its state. */
  begin(world: AuthorisationWorld): Promise<{
    readonly headers: Headers;
    happens(): unknown;
  }>;
}

const BOTH = ['monitoring.read', 'monitoring.write'] as const;
const SECOND_MS = 1_000;

type Happens<T> = (world: AuthorisationWorld, made: T) => unknown;

/** A service account's key that may read and write. */
function key(happens: Happens<{ id: string; account: string }>): State['begin'] {
  return async (world) => {
    const made = await world.accountKey('demo', BOTH, { lifetimeMs: SECOND_MS });
    return { headers: bearer(made.key), happens: () => happens(world, made) };
  };
}

/** A personal key of an EDITOR that may read and write. */
function personal(
  happens: Happens<{ id: string; person: string; member: string }>,
): State['begin'] {
  return async (world) => {
    const person = await world.person();
    const member = await world.member('demo', person, 'EDITOR');
    const made = await world.personalKey('demo', person, BOTH, { lifetimeMs: SECOND_MS });
    const about = { id: made.id, person, member };
    return { headers: bearer(made.key), happens: () => happens(world, about) };
  };
}

/** An access token of a connection and an account that may both read and write. */
function token(happens: Happens<{ connection: string; account: string }>): State['begin'] {
  return async (world) => {
    const account = await world.account('demo', BOTH);
    const connection = await world.connection('demo', account, BOTH);
    const headers = bearer(await tokenOf(world, connection, { lifetimeMs: SECOND_MS }));
    return { headers, happens: () => happens(world, { connection, account }) };
  };
}

function collector(happens: Happens<{ id: string }>): State['begin'] {
  return async (world) => {
    const made = await world.collector('demo', undefined, { lifetimeMs: SECOND_MS });
    return { headers: bearer(made.key), happens: () => happens(world, made) };
  };
}

let vms = 0;
function agent(happens: Happens<{ id: string; vm: string }>): State['begin'] {
  return async (world) => {
    const vm = `vm-${++vms}`;
    const made = await world.agent('demo', vm, { lifetimeMs: SECOND_MS });
    return { headers: bearer(made.key), happens: () => happens(world, { id: made.id, vm }) };
  };
}

/** An OWNER's session. */
function owner(
  happens: Happens<{ person: string; session: string; secret: string; member: string }>,
): State['begin'] {
  return async (world) => {
    const signedIn = await world.signedInAs('demo', 'OWNER');
    const about = { ...signedIn, member: memberIdOf('demo', signedIn.person) };
    return { headers: cookieHeaders(signedIn), happens: () => happens(world, about) };
  };
}

const revoke: Happens<{ id: string }> = (world, { id }) =>
  world.step('demo', 'credential', id, { type: 'revoked', reason: 'LEAKED' });
const rotateOut: Happens<{ id: string }> = (world, { id }) =>
  world.step('demo', 'credential', id, { type: 'rotated', successor: 's', overlapMs: 0 });
const expire: Happens<unknown> = (world) => world.clock.jump(SECOND_MS);
const onAccount =
  (type: string, more: object = {}): Happens<{ account: string }> =>
  (world, { account }) =>
    world.step('demo', 'serviceAccount', account, { type, ...more });
const onConnection =
  (type: string, more: object = {}): Happens<{ connection: string }> =>
  (world, { connection }) =>
    world.step('demo', 'ciConnection', connection, { type, ...more });
const onMember =
  (type: string, more: object = {}): Happens<{ member: string }> =>
  (world, { member }) =>
    world.step('demo', 'membership', member, { type, ...more });
const disablePerson: Happens<{ person: string }> = (world, { person }) =>
  world.people.setPersonDisabled({ kind: 'operator', name: 'operator/test' }, person, 'Left');

const readOnly = { displayName: 'x', capabilities: ['monitoring.read'] };
const all = (word: Outcome): string => KINDS.map(() => word).join(' ');

const states: readonly State[] = [
  // Service-account keys.                                READ WRITE ANY COLLECTOR VIEWER OWNER SIGNED_IN
  { name: 'a revoked key', begin: key(revoke), left: all('revoked') },
  { name: 'a key rotated out', begin: key(rotateOut), left: all('revoked') },
  { name: 'an expired key', begin: key(expire), left: all('expired') },
  {
    name: 'a key of a disabled account',
    begin: key(onAccount('disabled', { reason: 'x' })),
    left: all('disabled'),
  },
  {
    name: 'a key of a deleted account',
    begin: key(onAccount('deleted')),
    left: all('revoked'),
  },
  {
    name: 'a key of an account that lost the grant to write',
    begin: key(onAccount('edited', readOnly)),
    left: 'yes removed yes capability human human human',
  },
  {
    name: 'a key of an account that lost every grant',
    begin: key(onAccount('edited', { ...readOnly, capabilities: [] })),
    left: 'removed removed yes capability human human human',
  },
  {
    name: 'a key whose account was disabled and enabled again',
    begin: key(async (world, made) => {
      await onAccount('disabled', { reason: 'x' })(world, made);
      await onAccount('enabled')(world, made);
    }),
    left: 'yes yes yes capability human human human',
  },
  // Personal keys.                                       READ WRITE ANY COLLECTOR VIEWER OWNER SIGNED_IN
  { name: 'a revoked personal key', begin: personal(revoke), left: all('revoked') },
  { name: 'an expired personal key', begin: personal(expire), left: all('expired') },
  { name: 'a personal key rotated out', begin: personal(rotateOut), left: all('revoked') },
  {
    name: 'a personal key whose owner became a VIEWER',
    begin: personal(onMember('roleChanged', { role: 'VIEWER' })),
    left: 'yes removed yes capability human human human',
  },
  {
    name: 'a personal key whose owner became an OWNER',
    begin: personal(onMember('roleChanged', { role: 'OWNER' })),
    left: 'yes yes yes capability human human human',
  },
  {
    name: 'a personal key whose owner was removed',
    begin: personal(onMember('removed', { reason: 'LEFT' })),
    left: all('removed'),
  },
  {
    name: 'a personal key whose owner is locked out',
    begin: personal(disablePerson),
    left: all('disabled'),
  },
  // Access tokens of CI workflows.                       READ WRITE ANY COLLECTOR VIEWER OWNER SIGNED_IN
  { name: 'an expired access token', begin: token(expire), left: all('expired') },
  {
    name: 'a token of a disabled connection',
    begin: token(onConnection('disabled', { reason: 'x' })),
    left: all('disabled'),
  },
  {
    name: 'a token of a deleted connection',
    begin: token(onConnection('deleted')),
    left: all('revoked'),
  },
  {
    name: 'a token of an edited connection: the wrong epoch',
    begin: token(onConnection('edited', { ...readOnly, permissionsChanged: true })),
    left: all('epoch'),
  },
  {
    name: 'a token of a renamed connection',
    begin: token(
      onConnection('edited', { displayName: 'y', capabilities: BOTH, permissionsChanged: false }),
    ),
    left: 'yes yes yes capability human human human',
  },
  {
    name: 'a token whose account is disabled',
    begin: token(onAccount('disabled', { reason: 'x' })),
    left: all('disabled'),
  },
  {
    name: 'a token whose account is deleted',
    begin: token(onAccount('deleted')),
    left: all('revoked'),
  },
  {
    name: 'a token whose account lost the grant to write',
    begin: token(onAccount('edited', readOnly)),
    left: 'yes removed yes capability human human human',
  },
  // Collectors and agents.                               READ WRITE ANY COLLECTOR VIEWER OWNER SIGNED_IN
  { name: 'a revoked collector', begin: collector(revoke), left: all('revoked') },
  { name: 'a collector rotated out', begin: collector(rotateOut), left: all('revoked') },
  { name: 'an expired collector', begin: collector(expire), left: all('expired') },
  {
    name: 'a collector within the overlap of its rotation',
    begin: collector((world, { id }) =>
      world.step('demo', 'credential', id, { type: 'rotated', successor: 's', overlapMs: 500 }),
    ),
    left: 'capability capability yes yes human human human',
  },
  { name: 'a revoked agent', begin: agent(revoke), left: all('revoked') },
  { name: 'an agent rotated out', begin: agent(rotateOut), left: all('revoked') },
  { name: 'an expired agent', begin: agent(expire), left: all('expired') },
  {
    name: 'an agent of a VM that was un-enrolled',
    begin: agent((world, { vm }) =>
      world.step('demo', 'enrolment', enrolmentIdOf('demo', vm), { type: 'unenrolled' }),
    ),
    left: all('removed'),
  },
  // People.                                              READ WRITE ANY COLLECTOR VIEWER OWNER SIGNED_IN
  {
    name: 'an ended session',
    begin: owner((world, { session }) => world.people.endSession(session, 'SIGNED_OUT')),
    left: all('revoked'),
  },
  {
    name: 'a session ended everywhere',
    begin: owner((world, { person }) =>
      world.people.endAllSessions(person, 'SIGNED_OUT_EVERYWHERE'),
    ),
    left: all('revoked'),
  },
  { name: 'a locked-out person', begin: owner(disablePerson), left: all('revoked') },
  {
    name: 'a person who was removed',
    begin: owner(onMember('removed', { reason: 'LEFT' })),
    left: 'boundary boundary boundary capability boundary boundary yes',
  },
  {
    name: 'an owner who became a VIEWER',
    begin: owner(onMember('roleChanged', { role: 'VIEWER' })),
    left: 'yes role yes capability yes role yes',
  },
  {
    // The request that finds the session idle is answered `expired`, and ends it.
    name: 'a session that was found idle',
    begin: owner(async (world, { session, secret }) => {
      world.clock.jump(8 * 86_400_000);
      t.equal(
        reasonOf(() => world.people.sessionOf(secret)),
        'CREDENTIAL_EXPIRED',
      );
      while (world.row('session', session)?.value === 'active') await nextTurn();
    }),
    left: all('revoked'),
  },
  {
    name: 'a session at its absolute end',
    begin: owner((world) => world.clock.jump(31 * 86_400_000)),
    left: all('expired'),
  },
];

function kindOf(method: DescMethod): Kind | undefined {
  const { access, role } = getOption(method, policy);
  if (access === Policy_Access.NONE) return undefined;
  if (access !== Policy_Access.HUMAN) {
    return (['READ', 'WRITE', 'ANY', 'COLLECTOR'] as const).find(
      (kind) => Policy_Access[kind] === access,
    );
  }
  if (role === Policy_Role.SIGNED_IN) return 'SIGNED_IN';
  return role === Policy_Role.VIEWER ? 'VIEWER' : 'OWNER';
}

test('ERR-04: every method rejects a caller from the first request after a change of state', async (t) => {
  const world = await startAuthorisationWorld(t);
  const methods = (await allMethods()).filter((method) => kindOf(method) !== undefined);
  const probe = methods.find(({ name }) => name === 'ListAlertRules');
  const probeOfCollectors = methods.find(({ name }) => name === 'WriteSamples');
  if (!probe || !probeOfCollectors) throw new Error('The methods to call first no longer exist');
  for (const [number, { name, begin, left }] of states.entries()) {
    // A full run calls every method in every state, others a fifth of them in turn.
    const called = isFullRun() ? methods : methods.filter((_, i) => i % 5 === number % 5);
    const words = left.split(' ');
    const { headers, happens } = await begin(world);
    const isReporting = /collector|agent/.test(name);
    const before = await world.callAs(isReporting ? probeOfCollectors : probe, headers);
    t.equal(before, 'yes', `${name}: admitted before`);
    await happens();
    for (const method of called) {
      const expected = words[KINDS.indexOf(kindOf(method) ?? 'READ')];
      const seen = await world.callAs(method, headers, ownerOf(method));
      if (seen !== expected)
        t.fail(`${name}: ${method.name} is ${seen}, the table says ${expected}`);
    }
    t.pass(`${name}: ${called.length} methods`);
  }
  t.same(world.lines, [], 'nothing was logged: every refusal is the caller’s mistake');
});

function ownerOf({ name }: DescMethod): { owner: string } {
  return { owner: name === 'RemoveMember' ? '/members/none' : '/serviceAccounts/none' };
}

test('Access is checked again for each request, on plain routes too', async (t) => {
  const world = await startAuthorisationWorld(t);
  const routes = ['/promql/api/v1/labels', '/scrape-targets', '/export?shard=0'];
  const expected: readonly (readonly [State['begin'], number])[] = [
    [key(revoke), 401],
    [key(onAccount('disabled', { reason: 'x' })), 403],
    [key(onAccount('edited', { ...readOnly, capabilities: ['monitoring.write'] })), 403],
    [token(onConnection('edited', { ...readOnly, permissionsChanged: true })), 401],
    [personal(onMember('removed', { reason: 'LEFT' })), 403],
    [personal(disablePerson), 403],
    [key(expire), 401],
  ];
  for (const [begin, status] of expected) {
    const { headers, happens } = await begin(world);
    const urls = routes.map((route) => `/v1/monitoring/projects/demo${route}`);
    for (const url of urls) t.equal(await world.get(url, headers), 200, url);
    t.equal(await world.get('/metrics', headers), 200);
    await happens();
    for (const url of [...urls, '/metrics']) t.equal(await world.get(url, headers), status, url);
  }
});
