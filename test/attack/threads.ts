/**
 * Two hostile projects against a third, for each kind of shared thread: queries, lists, exports,
 * previews and replays. The third sends few requests at a steady pace. Each of them must be
 * answered, and their 99th percentile must be within twice the quiet one of the same run plus one
 * slice of thread time.
 */
import { randomUUID } from 'node:crypto';
import { SLICE_MS } from '../../src/telemetry/query/threads/limits.ts';
import { cpuSpec } from '../support/rule-spec.ts';
import { type Arena, displayed, getRequest, rpcRequest } from './arena.ts';
import { delayProblem, displayedDelays, measureDelays } from './delays.ts';
import { problemOf, sentText } from './judge.ts';
import { Api, createTenant, type Tenant } from './tenants.ts';
import type { WireAnswer, WireRequest } from './wire.ts';

const MONITORING = '/svc.monitoring.v1.MonitoringService/';
const ALERT = '/svc.monitoring.v1.AlertService/';
const PACE = { quietCount: 60, everyMs: 40, floodMs: 6_000 };
/** Concurrent requests of both hostile projects; each project may run eight calls. */
const FLOOD_WIDTH = 12;
/** Panels of an opened dashboard. */
const PANELS = 60;
/** VMs of a hostile project: two full pages of a list, four shards of an export. */
const VMS = 2_000;
/** VMs with twelve hours of history, one row every 30 s, which previews and replays read. */
const OLD_VMS = 20;
const OLD_ROWS = 1_440;
const ROWS_A_REQUEST = 1_000;
/** Source address of the third project alone. */
const THIRD = '127.0.2.2';

export async function attackThreads(
  arena: Arena,
  { judgesDelays }: { readonly judgesDelays: boolean },
): Promise<void> {
  const { target, attacker } = arena;
  const hostile = [attacker, await createTenant(target, 'hydra')];
  await Promise.all(hostile.map((tenant) => seed(target, tenant)));
  await openDashboard(arena);
  for (const flood of FLOODS) await floodBeside(arena, hostile, flood, judgesDelays);
}

/** One kind of thread, with the requests that use it. */
interface Flood {
  readonly name: string;
  /** The third project's request. */
  readonly little: (arena: Arena, third: Tenant) => WireRequest;
  /** A hostile project's request. */
  readonly much: (arena: Arena, hostile: Tenant, number: number) => WireRequest;
}

const vectorOne = (arena: Arena, { id, credentials }: Tenant): WireRequest =>
  getRequest(arena, queryPath(id, 'vector(1)'), credentials.readKey);

const hostileQuery =
  (expression: string) =>
  (arena: Arena, { id, credentials }: Tenant): WireRequest => ({
    ...getRequest(arena, `/v1/monitoring/projects/${id}/promql/api/v1/query`, [
      ...credentials.readKey,
      ['content-type', 'application/x-www-form-urlencoded'],
    ]),
    method: 'POST',
    body: `query=${encodeURIComponent(expression)}`,
  });

const FLOODS: readonly Flood[] = [
  {
    name: 'queries: nested subqueries of two seconds',
    little: vectorOne,
    much: hostileQuery(nestedSubqueries()),
  },
  {
    name: 'queries: an expression that ends at its deadline',
    little: vectorOne,
    much: hostileQuery(endlessExpression()),
  },
  {
    name: 'queries: a pattern of 640 repetitions',
    little: vectorOne,
    much: hostileQuery(`{__name__=~"${'(a{0,999})'.repeat(640)}"}`),
  },
  {
    name: 'lists of VMs',
    little: (arena, third) => listRequest(arena, third, 50),
    much: (arena, hostile) => listRequest(arena, hostile, 1_000),
  },
  {
    name: 'exports',
    little: (arena, third) => exportRequest(arena, third, 0),
    much: (arena, hostile, number) => exportRequest(arena, hostile, number % (VMS / 500)),
  },
  {
    name: 'previews of rules',
    little: (arena, third) => ruleRequest(arena, third, 'PreviewAlertRule', 3_600),
    much: (arena, hostile) => ruleRequest(arena, hostile, 'PreviewAlertRule', 43_200),
  },
  {
    name: 'replays of rules',
    little: (arena, third) => ruleRequest(arena, third, 'ReplayAlertRule', 3_600, third.names.Vm),
    much: (arena, hostile) =>
      ruleRequest(arena, hostile, 'ReplayAlertRule', 43_200, ...oldVms(hostile)),
  },
];

/** Nested subqueries over a week in steps of a second: eight take two seconds of a thread. */
function nestedSubqueries(offsetSeconds = 0): string {
  const offset = offsetSeconds > 0 ? ` offset ${offsetSeconds}s` : '';
  const open = 'max_over_time('.repeat(8);
  const inner = '[7d:1s])'.repeat(7);
  return `${open}svc_vm_cpu_utilization_pct${inner}[7d:1s]${offset})`;
}

/** An expression of 4.3 KB, which no thread evaluates within the deadline of a query. */
function endlessExpression(): string {
  return Array.from({ length: 20 }, (_, i) => nestedSubqueries(i)).join(' + ');
}

function queryPath(id: string, expression: string): string {
  return `/v1/monitoring/projects/${id}/promql/api/v1/query?query=${encodeURIComponent(expression)}`;
}

function listRequest(arena: Arena, { project, credentials }: Tenant, pageSize: number) {
  const body = { projectName: project, pageSize };
  return rpcRequest(arena, `${MONITORING}ListVMMonitoring`, body, credentials.readKey);
}

function exportRequest(arena: Arena, { id, credentials }: Tenant, shard: number) {
  const path = `/v1/monitoring/projects/${id}/export?shard=${shard}`;
  return getRequest(arena, path, credentials.readKey);
}

function ruleRequest(
  arena: Arena,
  { project, credentials }: Tenant,
  method: 'PreviewAlertRule' | 'ReplayAlertRule',
  historySeconds: number,
  ...vmNames: readonly string[]
) {
  const spec = cpuSpec({ threshold: 50 });
  const body = { projectName: project, spec, historySeconds, ...(vmNames[0] && { vmNames }) };
  return rpcRequest(arena, `${ALERT}${method}`, body, credentials.readKey);
}

async function floodBeside(
  arena: Arena,
  hostile: readonly Tenant[],
  flood: Flood,
  judgesDelays: boolean,
): Promise<void> {
  const { target, victim: third, tally } = arena;
  const ask = async (): Promise<WireAnswer> => {
    const request = flood.little(arena, third);
    const answer = await target.wire.send(request, { source: THIRD });
    tally.record({
      name: `the third project beside ${flood.name}`,
      isLimited: answer.status === 429,
      why: answeredProblem(answer),
      request: request.path,
      answer: displayed(answer),
    });
    return answer;
  };
  const delays = await measureDelays(
    ask,
    (isOver) => hostileFlood(arena, hostile, flood, isOver),
    PACE,
  );
  tally.figure(`${flood.name}: ${displayedDelays(delays)}`);
  if (!judgesDelays) return;
  tally.record({ name: `times beside ${flood.name}`, why: delayProblem(delays, SLICE_MS) });
}

function answeredProblem({ status, failure }: WireAnswer): string | undefined {
  return status === 200 ? undefined : `it was not answered: ${failure ?? status}`;
}

/** The hostile projects take turns; each answer must be a documented one. */
async function hostileFlood(
  arena: Arena,
  hostile: readonly Tenant[],
  flood: Flood,
  isOver: () => boolean,
): Promise<void> {
  const worker = async (_: unknown, number: number): Promise<void> => {
    const tenant = hostile[number % hostile.length] ?? arena.attacker;
    for (let i = 0; !isOver(); i++) {
      const request = flood.much(arena, tenant, i);
      const answer = await arena.target.wire.send(request, { source: `127.0.3.${number + 1}` });
      const isLimited = answer.status === 429;
      const forbidden = { ...arena.forbidden, texts: arena.victim.texts };
      const why = problemOf(answer, sentText(request), forbidden);
      tally(arena, `flood of ${flood.name}`, { why, isLimited, request, answer });
      if (isLimited || answer.failure !== undefined) await new Promise((go) => setTimeout(go, 50));
    }
  };
  await Promise.all(Array.from({ length: FLOOD_WIDTH }, worker));
}

function tally(
  arena: Arena,
  name: string,
  outcome: {
    readonly why: string | undefined;
    readonly isLimited: boolean;
    readonly request: WireRequest;
    readonly answer: WireAnswer;
  },
): void {
  const { why, isLimited, request, answer } = outcome;
  arena.tally.record({
    name,
    why,
    isLimited,
    request: sentText(request),
    answer: displayed(answer),
  });
}

/** A dashboard opens: all its panels send requests at once under one key, and all are answered. */
async function openDashboard(arena: Arena): Promise<void> {
  const { target, victim: third } = arena;
  const panel = async (_: unknown, number: number): Promise<void> => {
    const path = queryPath(third.id, `rate(svc_vm_cpu_seconds_total[5m]) + ${number}`);
    const request = getRequest(arena, path, third.credentials.readKey);
    const answer = await target.wire.send(request, { source: THIRD });
    const isLimited = answer.status === 429;
    const why = answeredProblem(answer);
    tally(arena, `panel ${number} of ${PANELS} at once`, { why, isLimited, request, answer });
  };
  await Promise.all(Array.from({ length: PANELS }, panel));
}

function oldVms({ project }: Tenant): string[] {
  return Array.from({ length: OLD_VMS }, (_, i) => `${project}/vms/fleet-${i}`);
}

/** Writes the VMs of a hostile project, and the history of some of them. */
async function seed(target: Arena['target'], { project, credentials }: Tenant): Promise<void> {
  const api = new Api(target);
  const nowMs = Date.now();
  const row = (vm: number, atMs: number) => ({
    vmName: `${project}/vms/fleet-${vm}`,
    observedUnixMs: String(atMs),
    bootId: 'boot-1',
    vcpus: 2,
    state: 'RUNNING',
    values: [
      { series: 'svc_vm_cpu_utilization_pct', value: (atMs / 30_000) % 100 },
      { series: 'svc_vm_memory_used_bytes', value: atMs % 1_000_000 },
    ],
  });
  const rows = [
    ...Array.from({ length: VMS }, (_, vm) => row(vm, nowMs)),
    ...Array.from({ length: OLD_VMS * OLD_ROWS }, (_, i) =>
      row(i % OLD_VMS, nowMs - (OLD_ROWS - Math.floor(i / OLD_VMS)) * 30_000),
    ),
  ];
  for (let i = 0; i < rows.length; i += ROWS_A_REQUEST) {
    const body = {
      projectName: project,
      batchId: randomUUID(),
      rows: rows.slice(i, i + ROWS_A_REQUEST),
    };
    await api.call('ingest.v1.IngestService/WriteSamples', body, credentials.collectorKey);
  }
}
