/**
 * Answers of the monitoring addresses of nats-servers, real ones included, and their presentation
 * in health.
 */
import { test } from 'tap';
import { Closers } from '../../src/platform/closers.ts';
import { createHealth, operatorReport } from '../../src/platform/health.ts';
import { silentLog } from '../../src/platform/log.ts';
import {
  type NatsServerFacts,
  natsServersHealth,
  readFacts,
  watchNatsServers,
} from '../../src/platform/nats-monitor.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';

const good: NatsServerFacts = { server: 'nats-1', syncMs: 0 };

test('DUR-33: a full disk is named before other faults, with a remedy', async (t) => {
  const full = { server: 'nats-2', fault: 'write error: no space left on device' };
  const silent = { server: 'http://c', fault: 'its monitoring address does not answer (x)' };
  t.same(natsServersHealth([good]), { state: 'ready' });
  t.match(natsServersHealth([silent, full, good]), {
    state: 'degraded',
    summary: 'The disk of a nats-server is full or failed',
    reason:
      'nats-server nats-2 is unhealthy: write error: no space left on device; http://c too. Its disk ' +
      'is full or failed, as its log says: free space there, then restart that nats-server. Nothing ' +
      'acknowledged is lost',
  });
  t.match(natsServersHealth([silent]), {
    reason: /nats-server http:\/\/c is unhealthy: its monitoring .*See its log$/,
    summary: 'A nats-server is unhealthy',
  });
});

test('DUR-34: a sync_interval other than always is reported', async (t) => {
  t.match(natsServersHealth([good, { server: 'nats-3', syncMs: 120_000 }]), {
    state: 'degraded',
    reason: /^nats-3: sync_interval is 120 s, .*Set sync_interval: always in the block jetstream/,
  });
  t.same(natsServersHealth([{ server: 'nats-4' }]), { state: 'ready' }, 'an old server is silent');
});

test('DUR-33, DUR-34: answers in any form are read', async (t) => {
  const config = { sync_interval: 120_000_000_000, sync_always: true };
  const varz = { server_name: 'nats-1', jetstream: { config } };
  t.same(readFacts('a', varz, { status: 'ok' }), { server: 'nats-1', syncMs: 0 });
  const late = { ...varz, jetstream: { config: { sync_interval: 120_000_000_000 } } };
  t.same(readFacts('a', late, { status: 'ok' }), { server: 'nats-1', syncMs: 120_000 });
  const unhealthy = { status: 'unavailable', error: 'JetStream not enabled (10076)' };
  t.same(readFacts('a', {}, unhealthy), { server: 'a', fault: unhealthy.error });
  for (const odd of [null, 'text', 7, []]) {
    t.same(readFacts('a', odd, odd), { server: 'a', fault: 'undefined' });
  }
});

for (const sync of ['always', '"2m"'] as const) {
  test(
    `DUR-34: a real server with sync_interval ${sync}`,
    needs('nats-server 2.15.1'),
    async (t) => {
      const server = await natsServerFor(t, {
        isMonitored: true,
        syncInterval: sync,
        settings: 'server_name: lone',
      });
      const closers = new Closers(silentLog);
      const health = createHealth({ clock: systemClock, log: silentLog });
      t.teardown(async () => {
        health.close();
        await closers.closeAll();
      });
      const asked = Promise.withResolvers<void>();
      const clock = {
        ...systemClock,
        // The monitor waits for the next look once the first has ended.
        wakeAfter(ms: number, wake: () => void) {
          if (ms === 10_000) asked.resolve();
          return systemClock.wakeAfter(ms, wake);
        },
      };
      watchNatsServers({ clock, health, closers }, [server.monitorUrl]);
      await asked.promise;
      const [part] = operatorReport(health.report()).parts;
      if (sync === 'always') t.same(part, { name: 'nats-servers', state: 'ready' });
      else t.match(part, { state: 'degraded', reason: /^lone: sync_interval is 120 s/ });
    },
  );
}

test('the setting takes several addresses, and needs NATS', async (t) => {
  const url = { SVC_NATS_URL: 'nats://a' };
  const of = (text: string) =>
    loadConfig([], { ...url, SVC_NATS_MONITOR_URL: text }).settings.natsMonitorUrl;
  t.same(of('http://a:8222/, https://b'), ['http://a:8222', 'https://b']);
  t.throws(() => of('nats://a'), /SVC_NATS_MONITOR_URL/);
  t.throws(() => of('http://u:p@a'), /carries a user name or password/);
  const embedded = { SVC_NATS_MONITOR_URL: 'http://a' };
  t.throws(() => loadConfig([], embedded), /SVC_NATS_MONITOR_URL needs SVC_NATS_URL/);
});
