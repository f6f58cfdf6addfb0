/**
 * `WatchIncidents` over a real connection: what is told, in which order, and every way in which it
 * ends. Time is virtual; only bytes take their own.
 */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { create } from '@bufbuild/protobuf';
import { ConnectError, createContextValues, createHandlerContext } from '@connectrpc/connect';
import t, { type Test } from 'tap';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { silentLog } from '../../src/log.ts';
import { callerKey } from '../../src/rpc/caller.ts';
import { IncidentFeed, WAITING_MAX } from '../../src/rpc/incident-feed.ts';
import {
  cutOffKey,
  HEARTBEAT_MS,
  incidentWatch,
  WATCHES_MAX,
} from '../../src/rpc/incident-watch.ts';
import type { Commit } from '../../streams/commit/commit.ts';
import { Refusal } from '../../streams/refusal.ts';
import { openStream } from '../support/connect-stream.ts';
import { START_MS } from '../support/credential-world.ts';
import { cookieHeaders, type RpcWorld, startRpcWorld } from '../support/rpc-world.ts';

const PATH = '/svc.monitoring.v1.AlertService/WatchIncidents';
const PROJECT = 'projects/demo';
const CPU = 'svc_vm_cpu_utilization_pct';

/** A world whose server listens, with one rule in force. */
async function startWatched(t: Test) {
  const stopping = new AbortController();
  const world = await startRpcWorld(t, () => ({ stopping: stopping.signal }));
  await world.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = world.app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const watch = (headers: Readonly<Record<string, string>>, projectName = PROJECT) =>
    openStream(url, PATH, { projectName }, headers);
  return { ...world, url, watch, stop: () => stopping.abort(), rule: () => saveRule(world) };
}

async function saveRule({ call, write }: RpcWorld): Promise<void> {
  await write([reading(-1, 10)]);
  await call('SaveAlertRule', {
    ...{ projectName: PROJECT, id: randomUUID(), requestId: randomUUID(), expectedVersion: '0' },
    spec: {
      ...{ displayName: 'CPU', metricId: 'cpu_utilization_pct', operator: 'GREATER_THAN' },
      ...{ threshold: 50, severity: 'WARNING', allVms: true },
    },
  });
}

/** A reading of a VM, so many half minutes after the start. */
function reading(step: number, value: number, vm = 'vm-1') {
  const observedUnixMs = START_MS + step * 30_000;
  return { vm, observedUnixMs, values: [{ series: CPU, value }] };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

t.test(
  'A watch tells the open incidents, then each change, then that nothing changed',
  async (t) => {
    const world = await startWatched(t);
    await world.rule();
    await world.write([reading(0, 90)]);
    const stream = await world.watch(bearer(world.keys.read));
    await stream.received(1);
    t.match(stream.messages[0], {
      ...{ kind: 'SNAPSHOT', snapshotContinues: false },
      incidents: [{ state: 'FIRING', vmName: `${PROJECT}/vms/vm-1`, value: 90 }],
    });
    await world.write([reading(1, 95, 'vm-2')]);
    await world.write([reading(2, 5)]);
    await stream.received(3);
    t.match(stream.messages.slice(1), [
      { kind: 'CHANGES', incidents: [{ state: 'FIRING', vmName: `${PROJECT}/vms/vm-2` }] },
      { kind: 'CHANGES', incidents: [{ state: 'RECOVERED', vmName: `${PROJECT}/vms/vm-1` }] },
    ]);
    const [snapshot, fired, recovered] = stream.messages.map(({ sequence }) => Number(sequence));
    t.ok(Number(snapshot) < Number(fired) && Number(fired) < Number(recovered), 'positions grow');
    await world.clock.advance(HEARTBEAT_MS);
    await stream.received(4);
    t.match(stream.messages[3], { kind: 'HEARTBEAT', incidents: [] });
    const later = await world.watch(bearer(world.keys.read));
    await later.received(1);
    t.match(
      later.messages[0].incidents,
      [{ vmName: `${PROJECT}/vms/vm-2` }],
      'what is closed is not',
    );
    stream.close();
    later.close();
  },
);

t.test('A project without incidents is told so at once', async (t) => {
  const world = await startWatched(t);
  const stream = await world.watch(bearer(world.keys.read));
  await stream.received(1);
  t.match(stream.messages[0], { kind: 'SNAPSHOT', incidents: [], snapshotContinues: false });
  stream.close();
});

t.test('Who may not watch is told why in the stream, and nothing else', async (t) => {
  const world = await startWatched(t);
  const refused = async (headers: Readonly<Record<string, string>>, projectName?: string) => {
    const stream = await world.watch(headers, projectName);
    const { reason } = await stream.ended;
    t.same(stream.messages, []);
    return reason;
  };
  t.equal(await refused({}), 'MISSING_CREDENTIAL');
  t.equal(await refused(bearer(world.keys.collector)), 'MISSING_CAPABILITY');
  t.equal(await refused(bearer(world.keys.other)), 'PROJECT_BOUNDARY');
  t.equal(await refused(bearer(world.keys.read), 'projects/nowhere'), 'PROJECT_BOUNDARY');
  t.equal(await refused(bearer(world.keys.read), 'demo'), 'INVALID_FIELD');
  const stranger = await world.signedInAs('demo', null);
  t.equal(await refused(cookieHeaders(stranger)), 'PROJECT_BOUNDARY');
  t.same(world.lines, [], 'nothing was logged: every refusal is the caller’s');
});

/** Each way of losing access, and the reason with which the open stream ends. */
interface Loss {
  readonly name: string;
  readonly reason: string;
  /** Makes the caller; answers its headers, and what takes its access away. */
  begin(world: RpcWorld): Promise<{
    readonly headers: Readonly<Record<string, string>>;
    lose(): Promise<unknown>;
  }>;
}

const READ = ['monitoring.read'] as const;
const SYSTEM = '_system';

/** A signed-in viewer, and what happens to them. */
function ofViewer(
  lose: (world: RpcWorld, viewer: { person: string; session: string }) => Promise<unknown>,
): Loss['begin'] {
  return async (world) => {
    const viewer = await world.signedInAs('demo', 'VIEWER');
    return { headers: cookieHeaders(viewer), lose: () => lose(world, viewer) };
  };
}

/** A service account's key, and what happens to it. */
function ofKey(
  lose: (world: RpcWorld, key: { id: string; account: string }) => Promise<unknown>,
): Loss['begin'] {
  return async (world) => {
    const made = await world.accountKey('demo', READ, { lifetimeMs: 10 * 86_400_000 });
    return { headers: bearer(made.key), lose: () => lose(world, made) };
  };
}

/** An access token of a CI connection, and what happens to them. */
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
        ...{ type: 'rotated', successor: 's', overlapMs: 3_600_000 },
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
        ...{ type: 'edited', displayName: 'Robot', capabilities: ['monitoring.write'] },
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
        ...{ type: 'edited', displayName: 'CI', capabilities: READ, permissionsChanged: true },
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
    name: 'its access token is over',
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
    name: 'its session is over',
    reason: 'CREDENTIAL_EXPIRED',
    begin: ofViewer(async (world) => world.clock.jump(31 * 86_400_000)),
  },
  {
    name: 'its person is locked out',
    reason: 'IDENTITY_DISABLED',
    begin: ofViewer((world, { person }) =>
      world.step(SYSTEM, 'person', person, { type: 'disabled', reason: 'x' }),
    ),
  },
  {
    name: 'its person is removed from the project',
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

t.test('An open watch ends within a second once access is lost, and says why', async (t) => {
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
    t.match(end.message, /\w+ \w+/, `${name}: in a sentence`);
    await world.clock.advance(HEARTBEAT_MS);
    if (!/lifetime|over/.test(name)) await other.received(2);
    other.close();
  }
});

t.test('What changes of others, or changes nothing that is needed, ends no watch', async (t) => {
  const world = await startWatched(t);
  const viewer = await world.signedInAs('demo', 'EDITOR');
  const made = await world.accountKey('demo', ['monitoring.read', 'monitoring.write']);
  const other = await world.accountKey('demo', READ);
  const streams = [await world.watch(cookieHeaders(viewer)), await world.watch(bearer(made.key))];
  await Promise.all(streams.map((stream) => stream.received(1)));
  await world.step('demo', 'credential', other.id, { type: 'revoked', reason: 'x' });
  await world.step('demo', 'membership', memberOf(world, viewer.person), {
    ...{ type: 'roleChanged', role: 'VIEWER' },
  });
  await world.step('demo', 'serviceAccount', made.account, {
    ...{ type: 'edited', displayName: 'Robot', capabilities: ['monitoring.read'] },
  });
  await world.clock.advance(HEARTBEAT_MS);
  await Promise.all(streams.map((stream) => stream.received(2)));
  t.same(
    streams.map(({ messages }) => messages[1].kind),
    ['HEARTBEAT', 'HEARTBEAT'],
  );
  for (const stream of streams) stream.close();
});

t.test('A stopping service ends its watches with a reason to come again', async (t) => {
  const world = await startWatched(t);
  const stream = await world.watch(bearer(world.keys.read));
  await stream.received(1);
  world.stop();
  t.equal((await stream.ended).reason, 'NOT_READY');
});

t.test('A project has a bound on its watches, and a closed one makes room', async (t) => {
  const world = await startWatched(t);
  const open = () => world.watch(bearer(world.keys.read));
  const streams = await Promise.all(Array.from({ length: WATCHES_MAX }, open));
  await Promise.all(streams.map((stream) => stream.received(1)));
  t.equal((await (await open()).ended).reason, 'TOO_MANY_REQUESTS');
  streams[0]?.close();
  await t.resolves(
    until(async () => {
      const stream = await open();
      const first = await Promise.race([stream.received(1).then(() => 'told'), stream.ended]);
      if (first === 'told') streams.push(stream);
      return first === 'told';
    }),
  );
  for (const stream of streams) stream.close();
});

/** Asks until it is so: for what follows a closed connection, which no clock of ours tells. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await isSo()); turn++) {
    if (turn > 1_000) throw new Error('It never came to be so');
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

t.test(
  'A reader who does not read is cut off soon after the end, one who does is told',
  async (t) => {
    for (const isReading of [true, false]) {
      const world = await startRpcWorld(t);
      const made = await world.accountKey('demo', READ);
      const principal = await world.authenticator.authenticate(`Bearer ${made.key}`);
      let cutOffs = 0;
      const contextValues = createContextValues()
        .set(callerKey, { principal, authenticator: world.authenticator })
        .set(cutOffKey, () => void cutOffs++);
      const method = AlertService.method.watchIncidents;
      const context = createHandlerContext({
        ...{ service: AlertService, method, contextValues, url: PATH },
        ...{ protocolName: 'connect', requestMethod: 'POST' },
      });
      const { host, clock } = world;
      const { watchIncidents } = incidentWatch({ host, clock, log: silentLog });
      const request = create(method.input, { projectName: PROJECT });
      const told = watchIncidents(request, context)[Symbol.asyncIterator]();
      t.match((await told.next()).value, { snapshotContinues: false });
      await world.step('demo', 'credential', made.id, { type: 'revoked', reason: 'LEAKED' });
      if (isReading) await t.rejects(told.next(), ConnectError);
      await world.clock.advance(499);
      t.equal(cutOffs, 0);
      await world.clock.advance(1);
      t.equal(cutOffs, isReading ? 0 : 1);
    }
  },
);

function incidentBody(note: string) {
  return {
    ...{ id: 'i', alertInstance: 'a', rule: 'r', ruleVersion: 1, ruleDisplayName: 'R' },
    ...{ severity: 'WARNING', metricId: 'm', operator: 'GREATER_THAN', threshold: 1 },
    ...{ sustainedSeconds: 0, vm: 'vm-1', labels: '', state: 'FIRING', startedMs: 1, firedMs: 1 },
    ...{ recoveredMs: null, retiredMs: null, retireReason: null, value: 1, valueMs: 1 },
    ...{ dataMissingSinceMs: null, snoozedUntilMs: null, correctedAfterNotification: false },
    acknowledged: { by: 'people/p', atMs: 1, note },
  };
}

t.test('A feed holds so many changes and no more, and none once it has ended', (t) => {
  let tell: (applied: { commit: Commit; sequence: number }) => void = () => {};
  let following = 0;
  const host = {
    onApplied(listener: typeof tell) {
      tell = listener;
      following++;
      return () => void following--;
    },
  };
  const feed = new IncidentFeed(host, 'demo');
  const records = Array.from({ length: WAITING_MAX }, (_, i) => ({
    ...{ kind: 'incident', id: `i-${i}`, body: incidentBody('') },
  }));
  const commit = (project: string, more: object[]) =>
    ({ project, decisions: [{ records: more }] }) as unknown as Commit;
  tell({ commit: commit('other', records), sequence: 1 });
  t.same(feed.take(10), []);
  tell({ commit: commit('demo', [{ kind: 'vm', id: 'v', body: {} }, ...records]), sequence: 2 });
  t.equal(feed.take(10).length, 10);
  t.equal(feed.ended, undefined);
  tell({ commit: commit('demo', records.slice(0, 11)), sequence: 3 });
  t.match(feed.ended, { reason: 'TOO_MANY_REQUESTS', message: /read faster/ });
  t.throws(() => feed.take(1), Refusal);
  t.equal(following, 0, 'it follows no more');
  t.end();
});
