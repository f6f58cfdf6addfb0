/**
 * Three nats-servers and three members as a user starts them, under load: the delay of a webhook
 * caused by each fault, revocations, an empty member. `--kills N` adds N kills of the project's
 * owner and N/5 of the leader of SAMPLES_0 or EVENTS; `--leaders N` sets the latter to N. At the
 * end it counts acknowledged rows that cannot be read at every member, wrong incidents, and
 * duplicate messages.
 */
import { parseArgs } from 'node:util';
import {
  cutOwner,
  examine,
  killLeader,
  killOwner,
  type Outcome,
  revokeKey,
  type Scenario,
  startScenario,
  untilReady,
  untilWebhook,
} from '../test/support/member-scenario.ts';
import { withScope } from './support/scope.ts';

const VMS = 200;
const EVERY_MS = 1_000;
const REVOCATIONS = 20;
const WEBHOOKS = 5;
/** Number of kills of members per kill of a leader. */
const KILLS_PER_LEADER = 5;

interface Line {
  readonly aim: string;
  readonly times: readonly number[];
}

/** Runs and prints two tables: times and losses. */
export async function run(flags: readonly string[] = []): Promise<void> {
  const { values } = parseArgs({
    args: [...flags],
    options: { kills: { type: 'string' }, leaders: { type: 'string' } },
  });
  const kills = Number(values.kills ?? 1);
  const leaders = Number(values.leaders ?? Math.ceil(kills / KILLS_PER_LEADER));
  for (const [flag, number] of Object.entries({ kills, leaders })) {
    if (!(Number.isSafeInteger(number) && number > 0)) throw new Error(`--${flag} needs a number`);
  }
  await withScope(async (scope) => {
    const scenario = await startScenario(scope, { vms: VMS, everyMs: EVERY_MS });
    const lines = await measure(scenario, { kills, leaders });
    console.table(
      Object.fromEntries(Object.entries(lines).map(([what, line]) => [what, row(line)])),
    );
    print(await examine(scenario), kills);
  });
}

async function measure(
  scenario: Scenario,
  { kills, leaders }: { readonly kills: number; readonly leaders: number },
): Promise<Record<string, Line>> {
  const webhooks = await times(WEBHOOKS, () => untilWebhook(scenario));
  const revocations = await times(REVOCATIONS, () => revoke(scenario));
  const revokedCut = await revokeBesideCut(scenario);
  const joined = await join(scenario);
  const cut = await cutOwner(scenario);
  const killed = await times(kills, () => killOwner(scenario));
  const lost = { SAMPLES_0: [] as number[], EVENTS: [] as number[] };
  for (let n = 0; n < leaders; n++) {
    const stream = n % 2 === 0 ? 'SAMPLES_0' : 'EVENTS';
    lost[stream].push(await killLeader(scenario, stream));
  }
  return {
    'row to webhook': { times: webhooks, aim: '' },
    'owner killed, to webhook': { times: killed, aim: '< 10 s' },
    'owner cut off, to webhook': { times: [cut], aim: '< 10 s' },
    'leader of SAMPLES_0 killed, to webhook': { times: lost.SAMPLES_0, aim: '< 15 s' },
    'leader of EVENTS killed, to webhook': { times: lost.EVENTS, aim: '< 15 s' },
    revocation: { times: revocations, aim: 'median < 0.1 s' },
    'revocation, a member cut off': { times: [revokedCut], aim: '< 6 s' },
    'empty member to ready': { times: [joined], aim: '< 60 s' },
  };
}

async function times(count: number, act: (n: number) => Promise<number>): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < count; n++) took.push(await act(n));
  return took;
}

async function revoke(scenario: Scenario, meanwhile = () => {}): Promise<number> {
  const { tookMs, statuses } = await revokeKey(scenario, { meanwhile });
  if (statuses.includes(200)) throw new Error(`A revoked key was accepted: ${statuses}`);
  return tookMs;
}

async function revokeBesideCut(scenario: Scenario): Promise<number> {
  const last = scenario.cluster.members.at(-1);
  if (last === undefined) throw new Error('There is no member');
  const tookMs = await revoke(scenario, () => last.cut());
  last.mend();
  await untilReady(last);
  return tookMs;
}

/** The member leaves again: the other measurements use three members. */
async function join({ cluster }: Scenario): Promise<number> {
  const member = await cluster.add();
  const startedMs = performance.now();
  await member.start();
  const tookMs = performance.now() - startedMs;
  await member.stop();
  cluster.remove(member);
  return tookMs;
}

function row({ times: unsorted, aim }: Line) {
  const sorted = unsorted.toSorted((a, b) => a - b);
  const seconds = (ms: number | undefined) => `${((ms ?? 0) / 1000).toFixed(2)} s`;
  const median = seconds(sorted[Math.floor(sorted.length / 2)]);
  return { tries: sorted.length, median, worst: seconds(sorted.at(-1)), aim };
}

function print(outcome: Outcome, kills: number): void {
  const { rows, fired, sent, duplicates, ...findings } = outcome;
  console.table([
    {
      kills,
      'rows acknowledged': rows,
      lost: findings.lostRows.length,
      incidents: fired,
      wrong: findings.incidents.length,
      messages: sent,
      twice: duplicates,
      faulty: findings.deliveries.length,
    },
  ]);
  for (const [what, found] of Object.entries(findings)) {
    for (const words of found) console.log(`${what}: ${words}`);
  }
}

if (import.meta.main) await run(process.argv.slice(2));
