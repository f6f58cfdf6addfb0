/**
 * Three members on three nats-servers, as a user starts them, at work: a key is revoked while one is cut
 * off, the one that acts is killed, one joins. Afterwards everything that was acknowledged is at every
 * member, each incident is there once and each message was sent once. All faults: `test/long/e2e`.
 */
import t from 'tap';
import { needs } from '../support/components.ts';
import {
  examine,
  findingsOf,
  killOwner,
  NOTHING_FOUND,
  revokeKey,
  startScenario,
  untilReady,
  untilWebhook,
} from '../support/member-scenario.ts';

const nats = 'nats-server 2.15.1';
t.setTimeout(280_000);

t.test(
  'three members: the owner is killed, a key revoked, a member joins',
  needs(nats),
  async (t) => {
    const scenario = await startScenario(t, { vms: 48, everyMs: 500 });
    const { cluster, load } = scenario;
    t.comment(`a webhook after ${Math.round(await untilWebhook(scenario))} ms`);
    const [, , third] = cluster.members;
    const { tookMs, statuses } = await revokeKey(scenario, { meanwhile: () => third?.cut() });
    t.same(statuses, [401, 401, 503], 'a revoked key, and a member that could not hear of it');
    t.comment(`answered after ${Math.round(tookMs)} ms`);
    third?.mend();
    if (third) await untilReady(third);
    t.comment(`killed: the successor's first webhook after ${await killOwner(scenario)} ms`);
    const joining = await cluster.add();
    const sinceMs = performance.now();
    await joining.start();
    t.comment(`an empty member is ready after ${Math.round(performance.now() - sinceMs)} ms`);
    const { rows, sent, duplicates, ...outcome } = await examine(scenario);
    t.comment(`${rows} rows, ${sent} messages, ${duplicates} of them twice`);
    t.ok(rows > 500 && sent > 0);
    t.same(findingsOf({ rows, sent, duplicates, ...outcome }), NOTHING_FOUND);
    t.notOk(load.failures.has(400) || load.failures.has(500), 'no answer but "not now"');
  },
);
