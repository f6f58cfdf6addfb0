/**
 * Continuous work on a cluster of members during faults, and the conditions that must hold
 * afterwards. Findings and times are data: a test expects no findings, and a bench prints both.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { LogVerification } from '../../actors/audit/log-verifier.ts';
import { askService } from '../../src/admin/admin-client.ts';
import { AUDIT_VERIFY_PATH, TRANSITIONS_PATH } from '../../src/admin/audit-routes.ts';
import { type Person, signInBy } from './busy-project/people.ts';
import {
  type ExpectedRule,
  expectedStarts,
  GOOD,
  lostRows,
  type MemberLoad,
  rowsAt,
  startMemberLoad,
} from './member-load.ts';
import { type Member, type MemberCluster, type MemberDisks, startMembers } from './members.ts';
import { type Demo, until } from './program.ts';
import { type Received, type Receiver, startReceiver } from './receiver.ts';

type Teardown = { teardown(end: () => unknown): unknown };

export interface ScenarioOptions extends MemberDisks {
  readonly vms: number;
  /** Interval between two rows of a VM, ms. */
  readonly everyMs: number;
}

export interface Scenario {
  readonly cluster: MemberCluster;
  readonly load: MemberLoad;
  readonly receiver: Receiver;
  /** The first owner, signed in at the first member. */
  readonly owner: Person;
  readonly rules: readonly Rule[];
  /** Name of the destination that the rules notify. */
  readonly destination: string;
  readonly startedMs: number;
  /** VMs without an incident, in turn. */
  readonly nextVm: () => string;
  /** Recoveries of VMs that still breach. */
  readonly recoveries: Promise<void>[];
}

interface Rule extends ExpectedRule {
  readonly name: string;
}

const RULES: readonly ExpectedRule[] = [
  { threshold: 10, sustainedSeconds: 0 },
  { threshold: 20, sustainedSeconds: 0 },
  { threshold: 10, sustainedSeconds: 3 },
  // Never fires.
  { threshold: 1_000, sustainedSeconds: 0 },
];
/** Value that breaches the first and the third rule. */
const HIGH = 15;
/** VMs whose messages are on their way when a member is killed. */
const BURST_VMS = 12;
/** Response time of the receiver, ms, so that some messages are in flight at any kill. */
const RECEIVER_MS = 50;
const ALERTS = 'monitoring.v1.AlertService';

export const scenarioSettings = {
  SVC_COLLECT: 'none',
  SVC_SAMPLE_INTERVAL_SECONDS: '10',
  SVC_WEBHOOK_ALLOW: '127.0.0.2',
  SVC_WEBHOOK_ALLOW_HTTP: 'on',
} as const;

/** Starts three members under load, with rules in force that notify a receiver. */
export async function startScenario(
  t: Teardown,
  { vms, everyMs, ...disks }: ScenarioOptions,
): Promise<Scenario> {
  const cluster = await startMembers(t, 3, scenarioSettings, disks);
  const { demo, members } = cluster;
  const receiver = await startReceiver(t, { address: '127.0.0.2', delayMs: RECEIVER_MS });
  const owner = await signInBy(demo.signInUrl ?? '');
  const destination = await createDestination(demo, receiver.url);
  const rules: Rule[] = [];
  for (const rule of RULES) rules.push({ ...rule, name: await saveRule(demo, rule, destination) });
  const names = Array.from({ length: vms }, (_, n) => `vm-${n}`);
  const targets = members.map(({ baseUrl }) => baseUrl);
  const startedMs = Date.now();
  const load = startMemberLoad({ demo, targets, everyMs, vms: names });
  t.teardown(() => load.stop());
  await load.written(names);
  let used = 0;
  const nextVm = () => names[used++ % names.length] ?? '';
  const recoveries: Promise<void>[] = [];
  return { cluster, load, receiver, owner, rules, destination, startedMs, nextVm, recoveries };
}

async function createDestination(demo: Demo, url: string): Promise<string> {
  const answer = await callAt(demo.baseUrl, demo, `${ALERTS}/CreateDestination`, {
    requestId: randomUUID(),
    destination: { displayName: 'Receiver', webhook: { url } },
  });
  return (answer.destination as { name: string }).name;
}

/** Resolves with the rule's name once every later row is evaluated against it. */
async function saveRule(demo: Demo, rule: ExpectedRule, destination: string): Promise<string> {
  const id = randomUUID();
  const name = `${demo.projectName}/alertRules/${id}`;
  await callAt(demo.baseUrl, demo, `${ALERTS}/SaveAlertRule`, {
    id,
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      ...rule,
      displayName: `Above ${rule.threshold}`,
      metricId: 'memory_used_bytes',
      operator: 'GREATER_THAN',
      severity: 'WARNING',
      allVms: true,
      destinationNames: [destination],
    },
  });
  await until('the rule is applied', async () => {
    const saved = await callAt(demo.baseUrl, demo, `${ALERTS}/GetAlertRule`, { name });
    return saved.syncStatus === 'APPLIED' || undefined;
  });
  return name;
}

/**
 * Answer of one member to a method, sent again while that member may not act: on a busy machine its
 * record can be late. Throws unless the status is 200 then.
 */
export async function callAt(
  baseUrl: string,
  { apiKey, projectName }: Pick<Demo, 'apiKey' | 'projectName'>,
  method: string,
  request: object,
): Promise<Record<string, unknown>> {
  const { status, text } = await until(`${method} is answered`, async () => {
    const answer = await post(baseUrl, apiKey, method, { projectName, ...request });
    return answer.status === 503 && answer.text.includes('NOT_READY') ? undefined : answer;
  });
  if (status !== 200) throw new Error(`${method} answered ${status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function post(baseUrl: string, key: string, method: string, request: object) {
  const answer = await fetch(`${baseUrl}/svc.${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(120_000),
  });
  return { status: answer.status, text: await answer.text() };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Time from the call to the webhook of a VM that breaches from now on, ms. The VM recovers later,
 * beside what the scenario does next.
 */
export async function untilWebhook(scenario: Scenario): Promise<number> {
  const { load, receiver } = scenario;
  const vm = scenario.nextVm();
  const sinceMs = Date.now();
  load.set([vm], HIGH);
  const isIt = ({ body, atMs }: Received) =>
    atMs >= sinceMs && body.type === 'incident.firing' && vmOf(body.data) === vm;
  const first = await until(`a webhook of ${vm}`, () => receiver.received.find(isIt));
  // Longer than the three seconds that the rule requires.
  scenario.recoveries.push(sleep(4_000).then(() => load.set([vm], GOOD)));
  return first.atMs - sinceMs;
}

function vmOf({ vmName }: Received['body']['data']): string {
  return String(vmName).split('/').at(-1) ?? '';
}

/**
 * Kills the member that owns the project with SIGKILL, during a burst of messages. Resolves with
 * the time until the webhook of a VM that breached later, ms.
 */
export async function killOwner(scenario: Scenario): Promise<number> {
  const { load, receiver } = scenario;
  const owner = await ownerOf(scenario);
  const burst = Array.from({ length: BURST_VMS }, scenario.nextVm);
  const before = receiver.received.length;
  load.set(burst, HIGH);
  await until('the burst arrives', () => receiver.received.length > before || undefined);
  await owner.kill();
  const tookMs = await untilWebhook(scenario);
  load.set(burst, GOOD);
  await owner.start();
  return tookMs;
}

/**
 * Fills the disk of the owner, which must be its own. Resolves with the time until the webhook of a
 * VM that breached then, ms, and with what frees the disk.
 */
export async function fillOwnersDisk(scenario: Scenario) {
  const owner = await ownerOf(scenario);
  const filler = join(owner.folder, 'filler');
  fill(filler);
  const tookMs = await untilWebhook(scenario);
  return { owner, tookMs, free: () => rmSync(filler) };
}

/** Writes to the file until its disk has no room. */
export function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (const block = Buffer.alloc(2 ** 16); ; ) writeSync(file, block);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

/** Suspends the owner for 20 s. It wakes up in the belief that nothing has happened. */
export async function suspendOwner(scenario: Scenario): Promise<number> {
  const owner = await ownerOf(scenario);
  owner.suspend();
  const tookMs = await untilWebhook(scenario);
  await sleep(Math.max(0, 20_000 - tookMs));
  owner.resume();
  await untilReady(owner);
  return tookMs;
}

/** Cuts the running owner off from all nats-servers for 20 s. */
export async function cutOwner(scenario: Scenario): Promise<number> {
  const owner = await ownerOf(scenario);
  owner.cut();
  const tookMs = await untilWebhook(scenario);
  await sleep(Math.max(0, 20_000 - tookMs));
  owner.mend();
  await untilReady(owner);
  return tookMs;
}

/**
 * Restarts each member in turn, as a rolling upgrade does; the next one follows once it is ready.
 * Resolves with the time from the last restart to a webhook, ms.
 */
export async function replaceMembers(scenario: Scenario): Promise<number> {
  for (const member of scenario.cluster.members) {
    await member.stop();
    await member.start();
    await untilReady(member);
  }
  return untilWebhook(scenario);
}

/** A silence of a VM, and when the member that owns its project is cut off. */
interface Silence {
  /** Silence that is reported, s. */
  readonly thresholdSeconds: number;
  readonly cutMs: number;
}

/**
 * A VM reports once, and the member that owns its project is cut off after `cutMs` until that
 * silence is reported. Resolves with the time from its row until then, and with the time from the
 * cut until a webhook of another VM, ms. `examine` ignores that rule.
 */
export async function cutOwnerDuringSilence(
  scenario: Scenario,
  { thresholdSeconds, cutMs }: Silence,
): Promise<{ readonly silenceMs: number; readonly webhookMs: number }> {
  const { cluster, receiver } = scenario;
  const { demo } = cluster;
  const vm = 'vm-silent';
  const sinceMs = Date.now();
  const row = { vmName: vm, observedUnixMs: String(sinceMs) };
  const values = [{ series: 'svc_vm_memory_used_bytes', value: GOOD }];
  const collector = { apiKey: demo.collectorKey, projectName: demo.projectName };
  await callAt(demo.baseUrl, collector, 'ingest.v1.IngestService/WriteSamples', {
    rows: [{ ...row, values }],
  });
  const destination = scenario.destination;
  await callAt(demo.baseUrl, demo, `${ALERTS}/SaveAlertRule`, {
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'Silence',
      metricId: 'telemetry_age_seconds',
      operator: 'GREATER_THAN',
      threshold: thresholdSeconds,
      sustainedSeconds: 0,
      severity: 'CRITICAL',
      vmNames: [`${demo.projectName}/vms/${vm}`],
      destinationNames: [destination],
    },
  });
  await sleep(cutMs);
  const owner = await ownerOf(scenario);
  owner.cut();
  const noticed = until('the silence is detected', () =>
    receiver.received.find(({ body }) => vmOf(body.data) === vm),
  );
  const [found, webhookMs] = await Promise.all([noticed, untilWebhook(scenario)]);
  owner.mend();
  await untilReady(owner);
  return { silenceMs: found.atMs - sinceMs, webhookMs };
}

/**
 * Kills the nats-server that leads a stream with SIGKILL. Resolves with the time until a webhook,
 * ms.
 */
export async function killLeader({ ...scenario }: Scenario, stream: string): Promise<number> {
  const { nats } = scenario.cluster;
  const server = await until(`${stream} has a leader`, () =>
    nats.leaderOf(stream).catch(() => undefined),
  );
  await server.kill();
  const tookMs = await untilWebhook(scenario);
  await server.start();
  await nats.untilWhole();
  return tookMs;
}

/**
 * Deletes a stream under the members. Resolves with the times until a webhook, and until a member
 * has logged `line` and all are ready and act again, ms.
 */
export async function deleteStream(scenario: Scenario, stream: string, line: RegExp) {
  const { nats, members } = scenario.cluster;
  const before = members.map((member) => member.log().length);
  const newLines = () => members.map((member, i) => member.log().slice(before[i])).join('');
  await nats.deleteStream(stream);
  const sinceMs = performance.now();
  const heal = async (): Promise<number> => {
    await until(`a member logs ${line}`, () => line.test(newLines()) || undefined);
    await Promise.all(members.map(untilReady));
    await ownerOf(scenario);
    return performance.now() - sinceMs;
  };
  const [webhookMs, healedMs] = await Promise.all([untilWebhook(scenario), heal()]);
  return { webhookMs, healedMs };
}

async function ownerOf({ cluster }: Scenario): Promise<Member> {
  return until('the project has an owner', () => cluster.ownerOf('demo'));
}

export async function untilReady(member: Member): Promise<void> {
  await until(
    `member ${member.number} is ready`,
    async () => (await member.isReady()) || undefined,
  );
}

export interface Revocation {
  /** Time until the answer, ms. */
  readonly tookMs: number;
  /** Statuses with the key right after it, by member. */
  readonly statuses: readonly number[];
}

/** Creates a key that every member knows, revokes it through one of them, and tries it at all. */
export async function revokeKey(
  { cluster, owner }: Scenario,
  { meanwhile = () => {} }: { readonly meanwhile?: () => void } = {},
): Promise<Revocation> {
  const { members, demo } = cluster;
  const parent = `${demo.projectName}/serviceAccounts/demo`;
  const made = await owner.call('iam.v1.AutomationService/CreateKey', {
    parent,
    requestId: randomUUID(),
    displayName: 'Of the test',
    capabilities: ['monitoring.read'],
  });
  const secret = String(made.secret);
  const { name } = made.key as { name: string };
  const status = (member: Member) => statusWith(member, demo, secret);
  await until('every member knows the key', async () => {
    const statuses = await Promise.all(members.map(status));
    return statuses.every((each) => each === 200) || undefined;
  });
  meanwhile();
  const sinceMs = performance.now();
  await owner.call('iam.v1.AutomationService/RevokeKey', { name, requestId: randomUUID() });
  const tookMs = performance.now() - sinceMs;
  return { tookMs, statuses: await Promise.all(members.map(status)) };
}

/** Status of a call with this key; 0: no answer. */
async function statusWith(
  { baseUrl }: Member,
  { projectName }: Demo,
  key: string,
): Promise<number> {
  const request = { projectName };
  return post(baseUrl, key, `${ALERTS}/ListAlertRules`, request).then(
    (answer) => answer.status,
    () => 0,
  );
}

/** Violations as readable lines; all lists are empty if all is well. */
export interface Findings {
  readonly lostRows: readonly string[];
  readonly incidents: readonly string[];
  readonly deliveries: readonly string[];
  /** Transitions of data centers to `stale`, although rows arrived all the time. */
  readonly stale: readonly string[];
  readonly audit: readonly string[];
}

export interface Outcome extends Findings {
  readonly rows: number;
  readonly fired: number;
  readonly sent: number;
  /** Messages that arrived twice, each explained by an attempt with an unknown outcome. */
  readonly duplicates: number;
}

/**
 * Waits until all VMs have recovered, stops the load, waits until no work is in progress, and checks
 * everything through every member.
 */
export async function examine(scenario: Scenario): Promise<Outcome> {
  const { cluster, load } = scenario;
  await Promise.all(scenario.recoveries);
  await load.written([...load.acknowledged.keys()]);
  await load.stop();
  const { members } = cluster;
  const incidents: string[] = [];
  const lost: string[] = [];
  const audit: string[] = [];
  for (const member of members) {
    const who = (words: string) => `member ${member.number}: ${words}`;
    lost.push(...(await rowsLostAt(scenario, member)).map(who));
    incidents.push(...(await wrongIncidents(scenario, member)).map(who));
    audit.push(...(await brokenChains(member)).map(who));
  }
  const { faults: deliveries, sent, duplicates } = await examineDeliveries(scenario);
  const starts = scenario.rules.flatMap((rule) => expectedOf(scenario, rule));
  const rows = [...load.acknowledged.values()].reduce((sum, { length }) => sum + length, 0);
  return {
    lostRows: lost,
    incidents,
    deliveries,
    audit,
    stale: await staleSteps(members),
    rows,
    fired: starts.length,
    sent,
    duplicates,
  };
}

/** Findings if all is well. */
export const NOTHING_FOUND: Findings = {
  lostRows: [],
  incidents: [],
  deliveries: [],
  stale: [],
  audit: [],
};

export function findingsOf({ lostRows, incidents, deliveries, stale, audit }: Outcome): Findings {
  return { lostRows, incidents, deliveries, stale, audit };
}

/** A member may be slightly behind the log. */
async function rowsLostAt({ cluster, load, startedMs }: Scenario, { baseUrl }: Member) {
  let lost: string[] = [];
  await until('every row can be read', async () => {
    lost = lostRows(load.acknowledged, await rowsAt(cluster.demo, baseUrl, startedMs));
    return lost.length === 0 || undefined;
  }).catch(() => {});
  return lost.slice(0, 5);
}

function expectedOf({ load }: Scenario, rule: Rule): string[] {
  return [...load.acknowledged].flatMap(([vm, rows]) =>
    expectedStarts(rows, rule).map((start) => `${rule.name} ${vm} from ${start}`),
  );
}

async function wrongIncidents(scenario: Scenario, { baseUrl }: Member): Promise<string[]> {
  const expected = new Set(scenario.rules.flatMap((rule) => expectedOf(scenario, rule)));
  const names = new Set(scenario.rules.map(({ name }) => name));
  let wrong: string[] = [];
  await until('the incidents match the expected ones', async () => {
    const there = (await listAll(scenario, baseUrl, 'ListIncidents', 'incidents'))
      .filter(({ ruleName }) => names.has(String(ruleName)))
      .map(
        ({ ruleName, vmName, startedUnix }) =>
          `${ruleName} ${String(vmName).split('/').at(-1)} from ${startedUnix}`,
      );
    const counts = Map.groupBy(there, (each) => each);
    wrong = [
      ...[...expected].filter((each) => !counts.has(each)).map((each) => `missing: ${each}`),
      ...[...counts].flatMap(([each, { length }]) => [
        ...(expected.has(each) ? [] : [`unexpected: ${each}`]),
        ...(length > 1 ? [`${length} times: ${each}`] : []),
      ]),
    ];
    return wrong.length === 0 || undefined;
  }).catch(() => {});
  return wrong;
}

async function listAll(
  { cluster: { demo } }: Scenario,
  baseUrl: string,
  method: string,
  field: string,
): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  let pageToken = '';
  do {
    const request = { pageSize: 500, pageToken };
    const body = await callAt(baseUrl, demo, `${ALERTS}/${method}`, request);
    items.push(...((body[field] ?? []) as Record<string, unknown>[]));
    pageToken = String(body.nextPageToken ?? '');
  } while (pageToken !== '');
  return items;
}

const DONE = new Set(['SENT', 'SUPPRESSED']);

/**
 * One accepted attempt per delivery. A message that arrived more often has an attempt with an
 * unknown outcome.
 */
async function examineDeliveries(scenario: Scenario) {
  const { receiver, cluster } = scenario;
  const baseUrl = cluster.members[0]?.baseUrl ?? '';
  const list = () => listAll(scenario, baseUrl, 'ListDeliveries', 'deliveries');
  await until(
    'every delivery has ended',
    async () => (await list()).every(({ state }) => DONE.has(String(state))) || undefined,
  ).catch(() => {});
  const copies = Map.groupBy(receiver.received, ({ headers }) => headers['webhook-id'] ?? '');
  const deliveries = await list();
  const faults: string[] = [];
  let [sent, duplicates] = [0, 0];
  for (const { name, state, attempts } of deliveries) {
    const outcomes = (attempts as { outcome: string }[]).map(({ outcome }) => outcome);
    const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
    const arrived = copies.get(String(name).split('/').at(-1) ?? '')?.length ?? 0;
    const is = `${name} is ${state} after [${outcomes}], and arrived ${arrived} times`;
    const isSent = state === 'SENT' && count('accepted') === 1 && arrived >= 1;
    const isSuppressed = state === 'SUPPRESSED' && count('accepted') === 0;
    if (!isSent && !isSuppressed) faults.push(is);
    else if (arrived > count('accepted') + count('unknown')) faults.push(`too often: ${is}`);
    if (isSent) sent++;
    duplicates += Math.max(0, arrived - 1);
  }
  const known = new Set(deliveries.map(({ name }) => String(name).split('/').at(-1)));
  for (const id of copies.keys()) if (!known.has(id)) faults.push(`unknown delivery ${id}`);
  return { faults, sent, duplicates };
}

async function staleSteps(members: readonly Member[]): Promise<string[]> {
  const ask = { machine: 'datacenter', limit: '1000' };
  const answer = await askService(members[0]?.folder ?? '', TRANSITIONS_PATH, () => {}, ask);
  const { transitions } = answer as { transitions: { event: string; toState: string }[] };
  return transitions
    .filter(({ toState }) => toState === 'stale')
    .map((each) => JSON.stringify(each));
}

async function brokenChains({ folder }: Member): Promise<string[]> {
  const { hasLog, projects } = (await askService(folder, AUDIT_VERIFY_PATH)) as LogVerification;
  const broken = projects.filter((project) => project.broken !== null);
  return [
    ...(hasLog ? [] : ['it has no log']),
    ...broken.map((each) => JSON.stringify(each.broken)),
  ];
}
