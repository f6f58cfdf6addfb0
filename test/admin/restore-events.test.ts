/**
 * `svc admin restore-events` after a service was stopped: when it refuses, and what it makes.
 * test/long/e2e/lost-events.test.ts has three running members.
 */
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import Database from 'better-sqlite3';
import { test } from 'tap';
import { systemClock } from '../../streams/platform/clock.ts';
import { eventsStream } from '../../streams/platform/commit/events.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import {
  clusterSpec,
  encodeRow,
  type MemberRecord,
  memberSubject,
} from '../../streams/platform/membership/roster.ts';
import { needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';
import { svc } from '../support/operator-commands.ts';
import { dataFolder } from '../support/program.ts';
import { startService } from '../support/service-in-process.ts';

const other: MemberRecord = {
  node: 'node-b',
  host: 'vm-b',
  pid: 42,
  startedMs: 0,
  version: '1',
  address: null,
  applied: 0,
  decided: 0,
  floor: 0,
  heard: {},
  unfit: [],
  state: 'gone',
  life: 1,
  turn: 7,
  clockMs: 0,
  clockAheadMs: 0,
  knows: 0,
};

test(
  'DUR-32: EVENTS is rebuilt only from the most advanced projection with an intact chain',
  needs('nats-server 2.15.1'),
  async (t) => {
    const server = await natsServerFor(t);
    const folder = dataFolder(t);
    const settings = { SVC_DEMO: 'on', SVC_NATS_URL: server.url };
    const service = await startService(t, folder, settings);
    const restore = (...more: string[]) =>
      svc(['admin', 'restore-events', '--data', folder, ...more], settings);
    const running = await restore();
    t.match(running, { code: 0, stdout: /^EVENTS exists and agrees/ }, running.stderr);
    await service.stop();

    const stream = await openJetStream({ url: server.url, clock: systemClock });
    t.teardown(() => stream.close());
    const before = await stream.ensure(eventsStream());
    await stream.ensure(clusterSpec);
    const nats = await connect({ servers: server.url });
    t.teardown(() => nats.close());
    const { streams } = await jetstreamManager(nats);
    await streams.delete('EVENTS');

    const record = async (row: Partial<MemberRecord>) => {
      const data = encodeRow({ ...other, ...row });
      await stream.append({ stream: clusterSpec.name, subject: memberSubject('node-b'), data });
    };
    await record({ applied: before.lastSequence + 1 });
    t.match(await restore('--furthest'), {
      code: 1,
      stderr:
        /The member on vm-b \(process 42\) has applied EVENTS up to \d+, .*: run the command there/,
    });
    await record({ applied: 1, state: 'acting' });
    t.match(await restore(), {
      code: 1,
      stderr: /Not heard: the member on vm-b \(process 42\).*add --furthest/,
    });
    await record({ applied: 1 });
    t.equal(await stream.compare(eventsStream()), undefined, 'no refusal creates it');

    const database = new Database(join(folder, 'control.db'));
    const spoil = database.prepare('UPDATE commits SET hash = ? WHERE sequence = 1');
    const hash = database.prepare('SELECT hash FROM commits WHERE sequence = 1').pluck().get();
    spoil.run('0'.repeat(64));
    t.match(await restore(), { code: 1, stderr: /the projection of this member is damaged/ });
    spoil.run(hash);
    database.close();

    t.match(await restore(), {
      code: 0,
      stdout: /^EVENTS is rebuilt and continues after commit \d+/,
    });
    const { identity, firstSequence } = await stream.state('EVENTS');
    t.equal(identity, before.identity);
    t.equal(firstSequence, before.lastSequence + 1);
    t.match(await restore(), { code: 0, stdout: /^EVENTS exists/ }, 'a second run is harmless');
    const again = await startService(t, folder, settings);
    await again.stop();

    await streams.delete('EVENTS');
    await streams.delete(clusterSpec.name);
    t.match(await restore(), { code: 1, stderr: /CLUSTER is missing too.*add --furthest/ });
    t.match(await restore('--furthest'), { code: 0, stdout: /^EVENTS is rebuilt/ });
  },
);

test('DUR-32: without NATS or a projection, the command names the alternative', async (t) => {
  const folder = dataFolder(t);
  t.match(await svc(['admin', 'restore-events', '--data', folder], {}), {
    code: 2,
    stderr: /SVC_NATS_URL is not set, so EVENTS is in the data folder/,
  });
  const service = await startService(t, folder);
  t.match(await svc(['admin', 'restore-events', '--data', folder], {}), {
    code: 1,
    stderr: /EVENTS of this service is in its data folder: restore it with "svc restore"/,
  });
  await service.stop();
});
