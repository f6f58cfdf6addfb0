/**
 * EVENTS deleted under three members: it is rebuilt from a member's projection, while they run and
 * after they have stopped. Times are printed without a verdict.
 */
import t, { test } from 'tap';
import { needs } from '../../support/components.ts';
import {
  examine,
  findingsOf,
  NOTHING_FOUND,
  type Scenario,
  startScenario,
  untilReady,
  untilWebhook,
} from '../../support/member-scenario.ts';
import type { Member } from '../../support/members.ts';
import { svc } from '../../support/operator-commands.ts';
import { runToEnd, until } from '../../support/program.ts';

const nats = 'nats-server 2.15.1';
t.setTimeout(600_000);
const MISSING = /EVENTS is missing on NATS\. .*run .{1,2}svc admin restore-events/;

test(
  'DUR-32: EVENTS is rebuilt from a projection, and no acknowledged data is lost',
  needs(nats),
  async (t) => {
    const scenario = await startScenario(t, { vms: 12, everyMs: 500 });
    const { members, nats } = scenario.cluster;
    await untilWebhook(scenario);
    const [first] = members;

    await nats.deleteStream('EVENTS');
    for (const member of members) {
      await until('it names the command', () => MISSING.test(member.log()) || undefined);
    }
    const sinceMs = performance.now();
    // All at once: whoever is first makes it, and the others find it.
    const answers = await Promise.all(members.map((member) => restoreEvents(scenario, member)));
    t.ok(
      answers.some(({ stdout }) => /EVENTS is rebuilt and continues after commit/.test(stdout)),
      JSON.stringify(answers),
    );
    for (const { code, stderr } of answers) t.equal(code, 0, stderr);
    await Promise.all(members.map(untilReady));
    t.comment(
      `while running: ready ${Math.round(performance.now() - sinceMs)} ms after the command`,
    );
    t.comment(`a webhook after ${Math.round(await untilWebhook(scenario))} ms`);
    t.match(await restoreEvents(scenario, first), { code: 0, stdout: /EVENTS exists/ });

    for (const member of members) await member.stop();
    await nats.deleteStream('EVENTS');
    const refused = await runToEnd(['serve'], environmentOf(scenario, first));
    t.equal(refused.code, 1);
    t.match(refused.text, MISSING);
    // Each member wrote its last position when it stopped.
    const offline = await Promise.all(members.map((member) => restoreEvents(scenario, member)));
    t.ok(
      offline.some(({ stdout }) => /EVENTS is rebuilt/.test(stdout)),
      JSON.stringify(offline),
    );
    const startedMs = performance.now();
    await Promise.all(members.map((member) => member.start()));
    t.comment(
      `after a stop: ready ${Math.round(performance.now() - startedMs)} ms after the start`,
    );
    const joining = await scenario.cluster.add();
    await joining.start();
    t.comment(`a webhook after ${Math.round(await untilWebhook(scenario))} ms`);

    const { rows, fired, sent, duplicates, ...outcome } = await examine(scenario);
    const { audit, ...findings } = findingsOf({ rows, fired, sent, duplicates, ...outcome });
    t.comment(`${rows} rows, ${fired} incidents, ${sent} messages, ${duplicates} duplicates`);
    t.same({ ...findings, audit: [] }, NOTHING_FOUND);
    t.ok(audit.length > 0, 'bodies of commits are lost, and their headers are verified');
    for (const finding of audit) t.match(finding, /Its body is missing/);
  },
);

function environmentOf({ cluster }: Scenario, member: Member | undefined) {
  return {
    SVC_DATA: member?.folder ?? '',
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_MASTER_KEY_FILE: cluster.keyFile,
    SVC_NATS_URL: cluster.nats.urls.join(','),
  };
}

function restoreEvents(scenario: Scenario, member: Member | undefined) {
  return svc(['admin', 'restore-events'], environmentOf(scenario, member));
}
