/**
 * Three members on three nats-servers, started as a user does, through every fault that they must
 * survive, under load. Times are printed without a verdict.
 */
import t, { type Test, test } from 'tap';
import { needs } from '../../support/components.ts';
import {
  callAt,
  cutOwnerDuringSilence,
  examine,
  findingsOf,
  killLeader,
  killOwner,
  NOTHING_FOUND,
  replaceMembers,
  revokeKey,
  type Scenario,
  scenarioSettings,
  startScenario,
  suspendOwner,
  untilReady,
  untilWebhook,
} from '../../support/member-scenario.ts';
import { type MemberCluster, masterKeyFile } from '../../support/members.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, runToEnd, until } from '../../support/program.ts';

const nats = 'nats-server 2.15.1';
const REVOCATIONS = 10;
const SILENT_SECONDS = 30;
t.setTimeout(840_000);

const faults: Readonly<Record<string, (scenario: Scenario, t: Test) => Promise<number>>> = {
  'nothing happens': untilWebhook,
  'the owner is killed': killOwner,
  'the owner is suspended for 20 s': suspendOwner,
  'the owner is cut off while a VM is silent': async (scenario, t) => {
    const silence = { thresholdSeconds: SILENT_SECONDS, cutMs: 10_000 };
    const { silenceMs, webhookMs } = await cutOwnerDuringSilence(scenario, silence);
    // docs/operations/cluster.md promises 150 s.
    t.comment(`its silence is reported after ${Math.round(silenceMs / 1000)} s`);
    t.ok(silenceMs > SILENT_SECONDS * 1_000, 'the silence is not reported before the threshold');
    return webhookMs;
  },
  'the leader of SAMPLES_0 is killed': (scenario) => killLeader(scenario, 'SAMPLES_0'),
  'the leader of EVENTS is killed': (scenario) => killLeader(scenario, 'EVENTS'),
  'the leader of CLUSTER is killed': (scenario) => killLeader(scenario, 'CLUSTER'),
  'an empty member joins, and is lost again': async (scenario) => {
    const { cluster } = scenario;
    const joining = await cluster.add();
    await joining.start();
    const tookMs = await untilWebhook(scenario);
    await joining.kill();
    cluster.remove(joining);
    return tookMs;
  },
  'the members are replaced one by one': replaceMembers,
};

test('DUR-27: faults of three members lose no acknowledged data', needs(nats), async (t) => {
  const scenario = await startScenario(t, { vms: 24, everyMs: 1_000 });
  for (const [what, happen] of Object.entries(faults)) {
    t.comment(`${what}: a webhook after ${Math.round(await happen(scenario, t))} ms`);
  }
  await revocations(t, scenario);
  await skewedClock(t, scenario);
  const { rows, fired, sent, duplicates, ...outcome } = await examine(scenario);
  t.comment(`${rows} rows, ${fired} incidents, ${sent} messages, ${duplicates} of them duplicates`);
  t.same(findingsOf({ rows, fired, sent, duplicates, ...outcome }), NOTHING_FOUND);
  const { failures } = scenario.load;
  t.notOk(failures.has(400) || failures.has(500), 'no failure except "not now"');
  await t.test('DUR-27: rejected starts give the reason and harm no member', async (t) => {
    await rejectedStarts(t, scenario.cluster);
  });
});

async function revocations(t: Test, scenario: Scenario): Promise<void> {
  const took: number[] = [];
  for (let i = 0; i < REVOCATIONS; i++) {
    const { tookMs, statuses } = await revokeKey(scenario);
    took.push(tookMs);
    t.same(statuses, [401, 401, 401], 'a revoked key is refused everywhere');
  }
  const median = took.sort((a, b) => a - b)[took.length / 2] ?? 0;
  t.comment(`revocations are answered after ${Math.round(median)} ms (median)`);
  const [, , cut] = scenario.cluster.members;
  const { tookMs, statuses } = await revokeKey(scenario, { meanwhile: () => cut?.cut() });
  t.same(statuses, [401, 401, 503], 'a member that is cut off accepts no key');
  t.comment(`with a member cut off a revocation is answered after ${Math.round(tookMs)} ms`);
  cut?.mend();
  if (cut) await untilReady(cut);
}

/** The member reports it and makes no decisions; the others continue. */
async function skewedClock(t: Test, scenario: Scenario): Promise<void> {
  const { cluster } = scenario;
  for (const clockShiftMs of [15_000, -15_000]) {
    const member = await cluster.add({ clockShiftMs });
    member.start().catch(() => {});
    const side = clockShiftMs > 0 ? 'ahead of' : 'behind';
    const sentence = new RegExp(`clock of this machine is 1[45] s ${side} the clock of NATS`);
    await until(
      'it reports that its clock is wrong',
      () => sentence.test(member.log()) || undefined,
    );
    t.equal(await member.isReady(), false);
    t.comment(`with a wrong clock: a webhook after ${Math.round(await untilWebhook(scenario))} ms`);
    for (const project of ['demo', '_system']) {
      const owner = await cluster.ownerOf(project);
      t.not(owner?.number, member.number, `it does not act for ${project}`);
    }
    await member.kill();
    cluster.remove(member);
  }
}

async function rejectedStarts(t: Test, cluster: MemberCluster): Promise<void> {
  const [member] = cluster.members;
  const url = cluster.nats.urls.join(',');
  const refusal = async (settings: Readonly<Record<string, string>>): Promise<string> => {
    const { code, text } = await runToEnd(['serve'], {
      SVC_DATA: dataFolder(t),
      SVC_LISTEN: '127.0.0.1:0',
      SVC_METRICS_LISTEN: 'off',
      ...scenarioSettings,
      SVC_NATS_URL: url,
      ...settings,
    });
    t.ok(code === 1 || code === 2, `it ends with ${code}`);
    return text;
  };
  t.match(await refusal({ SVC_MASTER_KEY_FILE: masterKeyFile(t) }), /master key/);
  t.match(await refusal({}), /master key/, 'without a master key it creates none');

  const plain = await natsServerFor(t, { jetStream: false });
  t.match(await refusal({ SVC_NATS_URL: plain.url }), /JetStream/);

  const other = await natsServerFor(t);
  const folder = member?.folder ?? '';
  await member?.stop();
  const key = { SVC_MASTER_KEY_FILE: cluster.keyFile };
  const elsewhere = { SVC_DATA: folder, ...key, SVC_NATS_URL: other.url };
  t.match(
    await refusal(elsewhere),
    /EVENTS is missing on NATS/,
    'a data folder of another cluster',
  );

  await member?.start();
  const { demo } = cluster;
  const rules = await callAt(demo.baseUrl, demo, 'monitoring.v1.AlertService/ListAlertRules', {});
  t.ok(rules, 'afterwards the member answers');
}
