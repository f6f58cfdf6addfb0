/**
 * `WatchIncidents` over a real connection: its messages, their order, and every way in which it
 * ends. Time is virtual; only bytes take real time.
 */

import { create } from '@bufbuild/protobuf';
import { ConnectError, createContextValues, createHandlerContext } from '@connectrpc/connect';
import { test } from 'tap';
import {
  cutOffKey,
  HEARTBEAT_MS,
  IncidentFeed,
  incidentWatch,
  WAITING_MAX,
} from '../../src/alerting/api/incident-watch.ts';
import { AlertService } from '../../src/gen/svc/monitoring/v1/alert_pb.ts';
import { callerKey } from '../../src/platform/api/caller.ts';
import { silentLog } from '../../src/platform/log.ts';
import type { Commit } from '../../streams/platform/commit/commit.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { cookieHeaders, startRpcWorld } from '../support/api-in-process.ts';
import { bearer, PROJECT, reading, startWatched, WATCH_PATH } from '../support/incident-watch.ts';
import { until as untilEvent } from '../support/program.ts';

const READ = ['monitoring.read'] as const;

test('API-17: a watch sends open incidents, then each change, then heartbeats', async (t) => {
  const world = await startWatched(t);
  await world.rule();
  await world.write([reading(0, 90)]);
  const stream = await world.watch(bearer(world.keys.read));
  await stream.received(1);
  t.match(stream.messages[0], {
    kind: 'SNAPSHOT',
    snapshotContinues: false,
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
    'closed incidents are not sent',
  );
  stream.close();
  later.close();
});

test('a watch of a project without incidents reports that immediately', async (t) => {
  const world = await startWatched(t);
  const stream = await world.watch(bearer(world.keys.read));
  await stream.received(1);
  t.match(stream.messages[0], { kind: 'SNAPSHOT', incidents: [], snapshotContinues: false });
  stream.close();
});

test('a caller without access gets only the reason in the stream', async (t) => {
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
  t.same(world.lines, [], 'nothing was logged: every rejection is the caller’s fault');
});

test('a stopping service ends its watches with a reason to reconnect', async (t) => {
  const world = await startWatched(t);
  const stream = await world.watch(bearer(world.keys.read));
  await stream.received(1);
  world.stop();
  t.equal((await stream.ended).reason, 'NOT_READY');
});

test('a project has a limit on its watches, and a closed one makes room', async (t) => {
  const world = await startWatched(t);
  const open = (key = world.keys.read) => world.watch(bearer(key));
  const ofOne = Array.from({ length: 50 }, () => open());
  const streams = await Promise.all(ofOne);
  await Promise.all(streams.map((stream) => stream.received(1)));
  const refused = await (await open()).ended;
  t.match(refused, { reason: 'TOO_MANY_REQUESTS' }, 'half of them are for one caller');
  streams.push(...(await Promise.all(ofOne.map(() => open(world.keys.write)))));
  await Promise.all(streams.map((stream) => stream.received(1)));
  const third = await world.issue('demo', ['monitoring.read']);
  t.equal((await (await open(third)).ended).reason, 'TOO_MANY_REQUESTS');
  streams[0]?.close();
  await t.resolves(
    until(async () => {
      const stream = await open();
      const first = await Promise.race([stream.received(1).then(() => 'answered'), stream.ended]);
      if (first === 'answered') streams.push(stream);
      return first === 'answered';
    }),
  );
  for (const stream of streams) stream.close();
});

/**
 * Polls until the condition holds, for effects of a closed connection, which no clock of ours
 * reports.
 */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  await untilEvent(String(isSo), async () => (await isSo()) || undefined);
}

test('a client that stops reading is cut off soon after the end; one that reads gets the reason', async (t) => {
  for (const isReading of [true, false]) {
    const world = await startRpcWorld(t);
    const made = await world.accountKey('demo', READ);
    const { authenticator } = world;
    const principal = await authenticator.authenticate(`Bearer ${made.key}`, '127.0.0.1');
    let cutOffs = 0;
    const contextValues = createContextValues()
      .set(callerKey, { principal, authenticator })
      .set(cutOffKey, () => void cutOffs++);
    const method = AlertService.method.watchIncidents;
    const context = createHandlerContext({
      service: AlertService,
      method,
      contextValues,
      url: WATCH_PATH,
      protocolName: 'connect',
      requestMethod: 'POST',
    });
    const { host, clock, gate } = world;
    const { watchIncidents } = incidentWatch({ host, clock, gate, log: silentLog });
    const request = create(method.input, { projectName: PROJECT });
    const updates = watchIncidents(request, context)[Symbol.asyncIterator]();
    t.match((await updates.next()).value, { snapshotContinues: false });
    await world.step('demo', 'credential', made.id, { type: 'revoked', reason: 'LEAKED' });
    if (isReading) await t.rejects(updates.next(), ConnectError);
    await world.clock.advance(499);
    t.equal(cutOffs, 0);
    await world.clock.advance(1);
    t.equal(cutOffs, isReading ? 0 : 1);
  }
});

function incidentBody(note: string) {
  return {
    id: 'i',
    alertInstance: 'a',
    rule: 'r',
    ruleVersion: 1,
    ruleDisplayName: 'R',
    severity: 'WARNING',
    metricId: 'm',
    operator: 'GREATER_THAN',
    threshold: 1,
    sustainedSeconds: 0,
    vm: 'vm-1',
    labels: '',
    state: 'FIRING',
    startedMs: 1,
    firedMs: 1,
    recoveredMs: null,
    retiredMs: null,
    retireReason: null,
    value: 1,
    valueMs: 1,
    dataMissingSinceMs: null,
    snoozedUntilMs: null,
    correctedAfterNotification: false,
    acknowledged: { by: 'people/p', atMs: 1, note },
  };
}

test('a feed holds a bounded number of changes, and none after its end', async (t) => {
  let publish: (applied: { commit: Commit; sequence: number }) => void = () => {};
  let following = 0;
  const host = {
    onApplied(listener: typeof publish) {
      publish = listener;
      following++;
      return () => void following--;
    },
  };
  const feed = new IncidentFeed(host, 'demo');
  const records = Array.from({ length: WAITING_MAX }, (_, i) => ({
    kind: 'incident',
    id: `i-${i}`,
    body: incidentBody(''),
  }));
  const commit = (project: string, more: object[]) =>
    ({ project, decisions: [{ records: more }] }) as unknown as Commit;
  publish({ commit: commit('other', records), sequence: 1 });
  t.same(feed.take(10), []);
  publish({ commit: commit('demo', [{ kind: 'vm', id: 'v', body: {} }, ...records]), sequence: 2 });
  t.equal(feed.take(10).length, 10);
  t.equal(feed.ended, undefined);
  publish({ commit: commit('demo', records.slice(0, 11)), sequence: 3 });
  t.match(feed.ended, { reason: 'TOO_MANY_REQUESTS', message: /read faster/ });
  t.throws(() => feed.take(1), Refusal);
  t.equal(following, 0, 'it stops following');
});

test('API-36: a watch of changes begins with its position and misses no later change', async (t) => {
  const world = await startWatched(t);
  await world.rule();
  await world.write([reading(0, 90)]);
  const stream = await world.watch(bearer(world.keys.read), PROJECT, { changesOnly: true });
  await stream.received(1);
  t.match(stream.messages[0], { kind: 'HEARTBEAT', incidents: [], snapshotContinues: false });
  const position = String(stream.messages[0].sequence);
  t.equal(position, String(world.host.appliedSequence()));
  await world.write([reading(1, 95, 'vm-2')]);
  await world.write([reading(2, 5)]);
  await stream.received(3);
  t.match(stream.messages.slice(1), [
    { kind: 'CHANGES', incidents: [{ state: 'FIRING', vmName: `${PROJECT}/vms/vm-2` }] },
    { kind: 'CHANGES', incidents: [{ state: 'RECOVERED', vmName: `${PROJECT}/vms/vm-1` }] },
  ]);
  t.ok(Number(stream.messages[1].sequence) > Number(position));
  const { incidentName = '' } = {
    incidentName: stream.messages[1].incidents[0].alertInstanceName,
  };
  t.match(incidentName, /^projects\/demo\/alertInstances\//);
  const found = await world.call('GetAlertInstance', { name: incidentName });
  t.match(found.body, { name: incidentName, vmName: `${PROJECT}/vms/vm-2`, state: 'FIRING' });
  stream.close();
});
