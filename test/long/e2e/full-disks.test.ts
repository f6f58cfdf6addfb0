/**
 * Full disks under three members and load: first that of the project's owner, then those of all
 * nats-servers at once. Times are printed without a verdict.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test, test } from 'tap';
import { needs } from '../../support/components.ts';
import {
  examine,
  fill,
  fillOwnersDisk,
  findingsOf,
  NOTHING_FOUND,
  type Scenario,
  startScenario,
  untilReady,
  untilWebhook,
} from '../../support/member-scenario.ts';
import { until, untilLogged } from '../../support/program.ts';

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
  'full disks lose no acknowledged data',
  needs('nats-server 2.15.1', 'tmpfs mounts'),
  async (t) => {
    const disks = { diskMib: 200, natsDiskMib: 160 };
    const scenario = await startScenario(t, { vms: 12, everyMs: 1_000, ...disks });
    await t.test('DUR-30: while the disk of the owner is full, another member acts', (t) =>
      fillOne(t, scenario),
    );
    await t.test('DUR-33: full disks of all nats-servers are named', (t) => fillAll(t, scenario));
    const { rows, fired, sent, duplicates, ...outcome } = await examine(scenario);
    t.comment(`${rows} rows, ${fired} incidents, ${sent} messages, ${duplicates} duplicates`);
    t.same(findingsOf({ rows, fired, sent, duplicates, ...outcome }), NOTHING_FOUND);
  },
);

async function fillOne(t: Test, scenario: Scenario): Promise<void> {
  const { cluster } = scenario;
  const quietMs = await untilWebhook(scenario);
  const { owner, tookMs, free } = await fillOwnersDisk(scenario);
  t.comment(`a webhook after ${Math.round(quietMs)} ms before, ${Math.round(tookMs)} ms then`);
  const others = cluster.members.filter((member) => member !== owner);
  t.not(await cluster.ownerOf('demo'), owner, 'another member acts');
  await untilLogged(owner, /MiB free, less than 32: free some space/);
  for (const other of others) await untilLogged(other, /Standing down: .*The data disk is full/);
  for (const member of others) t.equal(await member.isReady(), true);
  free();
  await untilReady(owner);
  await until('it acts again', async () => {
    const answer = await fetch(`${owner.baseUrl}/readyz`);
    const { parts } = (await answer.json()) as { readonly parts: { readonly state: string }[] };
    return parts.every(({ state }) => state === 'ready') || undefined;
  });
}

async function fillAll(t: Test, scenario: Scenario): Promise<void> {
  const { nats, natsFolder, members } = scenario.cluster;
  await untilWebhook(scenario);
  const filler = join(natsFolder, 'filler');
  fill(filler);
  const sinceMs = performance.now();
  for (const member of members) {
    for (const named of NAMED) await untilLogged(member, named);
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
}
