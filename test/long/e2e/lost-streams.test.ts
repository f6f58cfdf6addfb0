/**
 * Streams that someone deletes under three running members on three nats-servers, under load. Times
 * are printed without a verdict.
 */
import t, { test } from 'tap';
import { askService } from '../../../src/admin/admin-client.ts';
import { SNAPSHOT_PATH } from '../../../src/admin/snapshot-routes.ts';
import { needs } from '../../support/components.ts';
import {
  deleteStream,
  examine,
  findingsOf,
  NOTHING_FOUND,
  type Scenario,
  startScenario,
  untilReady,
  untilWebhook,
} from '../../support/member-scenario.ts';

const nats = 'nats-server 2.15.1';
t.setTimeout(600_000);

const madeAgain = (stream: string) => new RegExp(`The stream ${stream} was missing`);
/** Streams whose content can be restored, each with the log line that reports it. */
const STREAMS = {
  DELIVERIES: madeAgain('DELIVERIES'),
  SAMPLES_0: /The stream SAMPLES_0 was deleted and recreated: rows in memory are flushed/,
  CLUSTER: madeAgain('CLUSTER'),
  SEALED: madeAgain('SEALED'),
};

test(
  'DUR-31: deleted streams are created again while the service runs, and no row is lost',
  needs(nats),
  async (t) => {
    const scenario = await startScenario(t, { vms: 12, everyMs: 1_000 });
    const { members, nats } = scenario.cluster;
    t.comment(`before: a webhook after ${Math.round(await untilWebhook(scenario))} ms`);
    for (const [stream, line] of Object.entries(STREAMS)) {
      const { webhookMs, healedMs } = await deleteStream(scenario, stream, line);
      t.comment(
        `${stream} deleted: healed after ${Math.round(healedMs)} ms, webhook after ${Math.round(webhookMs)} ms`,
      );
    }
    t.match(logs(scenario), /Secrets written by other members do not arrive here/, 'not ready');
    for (const { folder } of members) await askService(folder, SNAPSHOT_PATH);
    await nats.deleteStream('SNAPSHOTS');
    for (const { folder } of members) await askService(folder, SNAPSHOT_PATH);
    // A killed member has only its disk, and the log that begins after the rows from before.
    for (const member of members) {
      await member.kill();
      await member.start();
      await untilReady(member);
    }
    const { rows, fired, sent, duplicates, ...outcome } = await examine(scenario);
    t.comment(`${rows} rows, ${fired} incidents, ${sent} messages, ${duplicates} duplicates`);
    t.same(findingsOf({ rows, fired, sent, duplicates, ...outcome }), NOTHING_FOUND);
    t.notMatch(logs(scenario), /readings are missing/, 'no restart reports a gap of history');
  },
);

function logs({ cluster }: Scenario): string {
  return cluster.members.map((member) => member.log()).join('\n');
}
