/**
 * `WatchIncidents` streams of callers that lose access: each loss ends the stream within a second
 * of virtual time, by a commit or by the clock, with a reason. Nothing else ends it.
 */
import { test } from 'tap';
import { HEARTBEAT_MS } from '../../src/alerting/api/incident-watch.ts';
import { cookieHeaders, type RpcWorld } from '../support/api-in-process.ts';
import { bearer, startWatched } from '../support/incident-watch.ts';

/** A way of losing access, with the reason that ends the open stream. */
interface Loss {
  readonly name: string;
  readonly reason: string;
  /** Creates the caller; returns its headers, and a function that removes its access. */
  begin(world: RpcWorld): Promise<{
    readonly headers: Readonly<Record<string, string>>;
    lose(): Promise<unknown>;
  }>;
}

const READ = ['monitoring.read'] as const;
const SYSTEM = '_system';

/** A signed-in viewer, and what removes their access. */
function ofViewer(
  lose: (world: RpcWorld, viewer: { person: string; session: string }) => Promise<unknown>,
): Loss['begin'] {
  return async (world) => {
    const viewer = await world.signedInAs('demo', 'VIEWER');
    return { headers: cookieHeaders(viewer), lose: () => lose(world, viewer) };
  };
}

/** A service account's key, and what removes its access. */
function ofKey(
  lose: (world: RpcWorld, key: { id: string; account: string }) => Promise<unknown>,
): Loss['begin'] {
  return async (world) => {
    const made = await world.accountKey('demo', READ, { lifetimeMs: 10 * 86_400_000 });
    return { headers: bearer(made.key), lose: () => lose(world, made) };
  };
}

/** An access token of a CI connection, and what removes its access. */
function ofToken(
  lose: (world: RpcWorld, ids: { connection: string; account: string }) => Promise<unknown>,
): Loss['begin'] {
  return async (world) => {
    const account = await world.account('demo', READ);
    const connection = await world.connection('demo', account, READ);
    const expiresMs = world.clock.now() + 15 * 60_000;
    const claims = { token: 'jti-1', project: 'demo', connection, tokenEpoch: 1, expiresMs };
    const token = await world.tokens.sign(claims);
    return { headers: bearer(token), lose: () => lose(world, { connection, account }) };
  };
}

const memberOf = (world: RpcWorld, person: string) =>
  String(
    world.host
      .view('demo')
      .instances('membership', { limit: 10 })
      .items.find(({ context }) => context.person === person)?.instance,
  );

const losses: readonly Loss[] = [
  {
    name: 'its key is revoked',
    reason: 'CREDENTIAL_REVOKED',
    begin: ofKey((world, { id }) =>
      world.step('demo', 'credential', id, { type: 'revoked', reason: 'LEAKED' }),
    ),
  },
  {
    name: 'the lifetime of its key ends',
    reason: 'CREDENTIAL_EXPIRED',
    begin: ofKey(async (world) => world.clock.jump(10 * 86_400_000)),
  },
  {
    name: 'its key is rotated out at once',
    reason: 'CREDENTIAL_REVOKED',
    begin: ofKey((world, { id }) =>
      world.step('demo', 'credential', id, { type: 'rotated', successor: 's', overlapMs: 0 }),
    ),
  },
  {
    name: 'the overlap of its rotated key ends',
    reason: 'CREDENTIAL_REVOKED',
    begin: ofKey(async (world, { id }) => {
      await world.step('demo', 'credential', id, {
        type: 'rotated',
        successor: 's',
        overlapMs: 3_600_000,
      });
      world.clock.jump(3_600_000);
    }),
  },
  {
    name: 'its service account is disabled',
    reason: 'IDENTITY_DISABLED',
    begin: ofKey((world, { account }) =>
      world.step('demo', 'serviceAccount', account, { type: 'disabled', reason: 'x' }),
    ),
  },
  {
    name: 'its service account is deleted',
    reason: 'CREDENTIAL_REVOKED',
    begin: ofKey((world, { account }) =>
      world.step('demo', 'serviceAccount', account, { type: 'deleted' }),
    ),
  },
  {
    name: 'its service account loses the grant',
    reason: 'GRANT_REMOVED',
    begin: ofKey((world, { account }) =>
      world.step('demo', 'serviceAccount', account, {
        type: 'edited',
        displayName: 'Robot',
        capabilities: ['monitoring.write'],
      }),
    ),
  },
  {
    name: 'its connection is disabled',
    reason: 'IDENTITY_DISABLED',
    begin: ofToken((world, { connection }) =>
      world.step('demo', 'ciConnection', connection, { type: 'disabled', reason: 'x' }),
    ),
  },
  {
    name: 'the epoch of its connection is raised',
    reason: 'TOKEN_EPOCH',
    begin: ofToken((world, { connection }) =>
      world.step('demo', 'ciConnection', connection, {
        type: 'edited',
        displayName: 'CI',
        capabilities: READ,
        permissionsChanged: true,
      }),
    ),
  },
  {
    name: 'the service account of its connection is disabled',
    reason: 'IDENTITY_DISABLED',
    begin: ofToken((world, { account }) =>
      world.step('demo', 'serviceAccount', account, { type: 'disabled', reason: 'x' }),
    ),
  },
  {
    name: 'its access token expires',
    reason: 'CREDENTIAL_EXPIRED',
    begin: ofToken(async (world) => world.clock.jump(15 * 60_000)),
  },
  {
    name: 'its session is ended',
    reason: 'CREDENTIAL_REVOKED',
    begin: ofViewer((world, { session }) =>
      world.step(SYSTEM, 'session', session, { type: 'ended', reason: 'SIGNED_OUT' }),
    ),
  },
  {
    name: 'its session expires',
    reason: 'CREDENTIAL_EXPIRED',
    begin: ofViewer(async (world) => world.clock.jump(31 * 86_400_000)),
  },
  {
    name: 'its user is locked out',
    reason: 'IDENTITY_DISABLED',
    begin: ofViewer((world, { person }) =>
      world.step(SYSTEM, 'person', person, { type: 'disabled', reason: 'x' }),
    ),
  },
  {
    name: 'its user is removed from the project',
    reason: 'PROJECT_BOUNDARY',
    begin: ofViewer((world, { person }) =>
      world.step('demo', 'membership', memberOf(world, person), { type: 'removed', reason: 'x' }),
    ),
  },
  {
    name: 'the owner of its personal key is removed from the project',
    reason: 'GRANT_REMOVED',
    async begin(world) {
      const { person } = await world.signedInAs('demo', 'VIEWER');
      const { key } = await world.personalKey('demo', person, READ);
      const member = memberOf(world, person);
      const lose = () => world.step('demo', 'membership', member, { type: 'removed', reason: 'x' });
      return { headers: bearer(key), lose };
    },
  },
];

test('API-17: a watch ends within a second after its caller loses access, with the reason', async (t) => {
  for (const { name, reason, begin } of losses) {
    const world = await startWatched(t);
    const { headers, lose } = await begin(world);
    const stream = await world.watch(headers);
    await stream.received(1);
    const other = await world.watch(bearer(world.keys.write));
    await other.received(1);
    await lose();
    await world.clock.advance(1_000);
    const end = await stream.ended;
    t.equal(end.reason, reason, name);
    t.match(end.message, /\w+ \w+/, `${name}: with a readable message`);
    await world.clock.advance(HEARTBEAT_MS);
    if (!/lifetime|over/.test(name)) await other.received(2);
    other.close();
  }
});

test('changes to other callers, or without effect on access, end no watch', async (t) => {
  const world = await startWatched(t);
  const viewer = await world.signedInAs('demo', 'EDITOR');
  const made = await world.accountKey('demo', ['monitoring.read', 'monitoring.write']);
  const other = await world.accountKey('demo', READ);
  const streams = [await world.watch(cookieHeaders(viewer)), await world.watch(bearer(made.key))];
  await Promise.all(streams.map((stream) => stream.received(1)));
  await world.step('demo', 'credential', other.id, { type: 'revoked', reason: 'x' });
  await world.step('demo', 'membership', memberOf(world, viewer.person), {
    type: 'roleChanged',
    role: 'VIEWER',
  });
  await world.step('demo', 'serviceAccount', made.account, {
    type: 'edited',
    displayName: 'Robot',
    capabilities: ['monitoring.read'],
  });
  await world.clock.advance(HEARTBEAT_MS);
  await Promise.all(streams.map((stream) => stream.received(2)));
  t.same(
    streams.map(({ messages }) => messages[1].kind),
    ['HEARTBEAT', 'HEARTBEAT'],
  );
  for (const stream of streams) stream.close();
});
