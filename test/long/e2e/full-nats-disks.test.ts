/**
 * The disks of all nats-servers full at once, under three members and load. Times are printed
 * without a verdict.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { test } from 'tap';
import { needs } from '../../support/components.ts';
import {
  examine,
  fill,
  findingsOf,
  NOTHING_FOUND,
  startScenario,
  untilReady,
  untilWebhook,
} from '../../support/member-scenario.ts';
import { until } from '../../support/program.ts';

t.setTimeout(600_000);
/**
 * Faults that a member finds by itself, and those that the monitoring addresses of the servers
 * report.
 */
const NAMED = [
  /If all run, a disk may be full, as their logs say: free space there, then restart those servers/,
  /nats-server nats-\d is unhealthy: .*Its disk is full or failed.*: free space there, then restart/,
];

test(
  'DUR-33: full disks of all nats-servers are named, and lose no acknowledged data',
  needs('nats-server 2.15.1', 'tmpfs mounts'),
  async (t) => {
    const scenario = await startScenario(t, { vms: 12, everyMs: 500, natsDiskMib: 160 });
    const { nats, natsFolder, members } = scenario.cluster;
    await untilWebhook(scenario);
    const filler = join(natsFolder, 'filler');
    fill(filler);
    const sinceMs = performance.now();
    for (const member of members) {
      for (const named of NAMED) {
        await until(`it logs ${named}`, () => named.test(member.log()) || undefined);
      }
      t.equal(await member.isReady(), false);
    }
    t.comment(`every member names it after ${Math.round(performance.now() - sinceMs)} ms`);
    rmSync(filler);
    for (const server of nats.servers) {
      await server.kill();
      await server.start();
    }
    await nats.untilWhole();
    const restartedMs = performance.now();
    await Promise.all(members.map(untilReady));
    t.comment(`ready ${Math.round(performance.now() - restartedMs)} ms after the restarts`);
    t.comment(`a webhook after ${Math.round(await untilWebhook(scenario))} ms`);
    const { rows, fired, sent, duplicates, ...outcome } = await examine(scenario);
    t.comment(`${rows} rows, ${fired} incidents, ${sent} messages, ${duplicates} duplicates`);
    t.same(findingsOf({ rows, fired, sent, duplicates, ...outcome }), NOTHING_FOUND);
  },
);
