/**
 * `svc admin streams`: the streams, their content and copies, and changes of the number of copies;
 * and how `/readyz` and the metrics report copies. On embedded streams and on one real nats-server;
 * test/long/platform/stream-cluster.test.ts uses three.
 */
import { test } from 'tap';
import { Closers } from '../../src/platform/closers.ts';
import { copiesHealth, watchCopies } from '../../src/platform/copies-check.ts';
import { createHealth, operatorReport } from '../../src/platform/health.ts';
import { silentLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import type { StreamDescription } from '../../streams/platform/jetstream/stream-copies.ts';
import { needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';
import { svc } from '../support/operator-commands.ts';
import { dataFolder } from '../support/program.ts';
import { startService } from '../support/service-in-process.ts';

test('embedded streams have one copy, in the data folder', async (t) => {
  const folder = dataFolder(t);
  const service = await startService(t, folder);
  const { code, stdout } = await svc(['admin', 'streams', '--data', folder]);
  t.equal(code, 0);
  t.match(stdout, /^STREAM +MESSAGES +SIZE +COPIES +LEADER +FOLLOWERS +CONSUMERS +SUBJECTS$/m);
  t.match(stdout, /^EVENTS +\d+ +- +1 of 1 +- +- +- +svc\.events\.\*\.\*$/m);
  t.match(stdout, /^DELIVERIES +0 /m);
  t.match(stdout, /The streams are embedded in the data folder\n$/);
  const refused = await svc(['admin', 'streams', '--replicas', '3', '--data', folder]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /embedded in this process and have one copy: docs\/operations\/cluster/);
  await service.stop();
});

const newest = 'nats-server 2.15.1';
test(
  'the streams of a single nats-server are listed, and it rejects three copies',
  needs(newest),
  async (t) => {
    const server = await natsServerFor(t);
    const folder = dataFolder(t);
    const more = { SVC_DEMO: 'on', SVC_NATS_URL: server.url };
    const service = await startService(t, folder, more);
    const { stdout } = await svc(['admin', 'streams', '--json', '--data', folder]);
    const { on, streams } = JSON.parse(stdout);
    t.equal(on, 'NATS');
    const events = streams.find(({ name }: StreamDescription) => name === 'EVENTS');
    t.match(events, { copies: { wanted: 1, set: 1, current: 1 }, subjects: ['svc.events.*.*'] });
    t.ok(events.messages > 0 && events.bytes > 0);
    const table = await svc(['admin', 'streams', '--replicas', '1', '--data', folder]);
    t.match(table.stdout, /^EVENTS +\d+ +[\d.]+ \w+ +1 of 1 +- +- +\d+ +svc\.events\.\*\.\*$/m);
    const refused = await svc(['admin', 'streams', '--replicas', '3', '--data', folder]);
    t.equal(refused.code, 1);
    t.match(refused.stderr, /cannot have 3 copies: the nats-server is in no cluster/);
    t.equal((await svc(['admin', 'streams', '--replicas', '2', '--data', folder])).code, 2);
    await service.stop();
  },
);

test('the setting is 1, 3 or 5, and needs NATS', async (t) => {
  const url = { SVC_NATS_URL: 'nats://a' };
  const settingsOf = (text: string) =>
    loadConfig([], { ...url, SVC_STREAM_REPLICAS: text }).settings.streamReplicas;
  t.same([settingsOf('1'), settingsOf('3'), settingsOf('5')], [1, 3, 5]);
  t.equal(loadConfig([], url).settings.streamReplicas, null, 'decided by the number of servers');
  t.throws(() => settingsOf('2'), /SVC_STREAM_REPLICAS must be one of 1, 3, 5/);
  const embedded = { SVC_STREAM_REPLICAS: '3' };
  t.throws(() => loadConfig([], embedded), /SVC_STREAM_REPLICAS needs SVC_NATS_URL/);
});

function stream(name: string, wanted: number, set: number, away: readonly string[] = []) {
  const followers = ['nats-2', 'nats-3'].slice(0, set - 1).map((server) => ({
    server,
    lag: 7,
    isCurrent: !away.includes(server),
    isOffline: server === 'nats-3',
  }));
  const copies = { wanted, set, current: set - away.length };
  return {
    name,
    subjects: [],
    messages: 4,
    bytes: 1_000,
    consumers: 0,
    copies,
    followers,
  } satisfies StreamDescription;
}

test('DUR-23: missing and lagging copies are degraded, with a remedy', async (t) => {
  const good = [stream('EVENTS', 3, 3), stream('LOG', 1, 3)];
  t.match(copiesHealth(good, []), { state: 'ready' });
  const few = [stream('EVENTS', 3, 1), stream('LOG', 3, 1), stream('NEW', 3, 3)];
  t.match(copiesHealth(few, []), {
    state: 'degraded',
    reason:
      'EVENTS, LOG: 1 of 3 copies. Run "svc admin streams --replicas 3" to make the others, ' +
      'or set SVC_STREAM_REPLICAS=1 to accept that the loss of a server loses data',
  });
  const away = [stream('EVENTS', 3, 3, ['nats-2', 'nats-3']), stream('LOG', 3, 3, ['nats-3'])];
  t.match(copiesHealth(away, good), { state: 'ready' }, 'a single observation may be an election');
  t.match(copiesHealth(away, away), {
    state: 'degraded',
    reason: 'EVENTS, LOG: copies are behind or away: nats-2 is behind, nats-3 is offline',
  });
});

/** Lets every answer be handled. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('copies are polled every 10 s, and a lost answer keeps the last state', async (t) => {
  const clock = new VirtualClock(Date.parse('2026-03-01T12:00:00Z'));
  const metrics = createMetrics({ clock, version: 'test' });
  const health = createHealth({ clock, log: silentLog });
  const closers = new Closers(silentLog);
  const answers = [[stream('EVENTS', 3, 1)], undefined, [stream('EVENTS', 3, 3)]];
  let requested = 0;
  watchCopies(
    { clock, metrics, health, closers },
    {
      async describe() {
        const answer = answers[requested++];
        if (answer === undefined) throw new Error('no answer');
        return answer;
      },
    },
  );
  const state = () => operatorReport(health.report()).parts[0]?.state;
  await turn();
  t.equal(state(), 'degraded');
  t.ok(health.report().ready, 'and ready');
  t.match(await metrics.text(), /svc_stream_copies\{stream="EVENTS",which="set"\} 1\n/);
  t.match(await metrics.text(), /svc_stream_bytes\{stream="EVENTS"\} 1000\n/);
  await clock.advance(10_000);
  await turn();
  t.same([requested, state()], [2, 'degraded']);
  await clock.advance(10_000);
  await turn();
  t.same([requested, state()], [3, 'ready']);
  await closers.closeAll();
  await clock.advance(60_000);
  t.equal(requested, 3);
  health.close();
  metrics.close();
});
