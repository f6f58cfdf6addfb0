/** Tools of the fault tests for a running program: destinations, rules, breaches, readiness. */
import { randomUUID } from 'node:crypto';
import { type Answer, type Program, until } from '../support/program.ts';

/** Collects nothing from this host: all readings are written by the test. */
export const faultSettings = {
  SVC_SAMPLE_INTERVAL_SECONDS: '1',
  SVC_COLLECT: 'none',
  SVC_WEBHOOK_ALLOW: '127.0.0.2',
  SVC_WEBHOOK_ALLOW_HTTP: 'on',
  // Serves `/readyz`, which gives the reasons.
  SVC_METRICS_LISTEN: '127.0.0.1:0',
} as const;

const SERIES = 'svc_vm_memory_used_bytes';
const ALERTS = 'monitoring.v1.AlertService';

export function createDestination(
  program: Program,
  url: string,
  requestId: string = randomUUID(),
): Promise<Answer> {
  return program.call(`${ALERTS}/CreateDestination`, {
    projectName: program.demo.projectName,
    requestId,
    destination: { displayName: new URL(url).pathname, webhook: { url } },
  });
}

/** Creates a destination and returns its name. Throws with the answer if it is refused. */
export async function destinationAt(program: Program, url: string): Promise<string> {
  const { status, body } = await createDestination(program, url);
  if (status !== 200) throw new Error(`CreateDestination: ${status} ${JSON.stringify(body)}`);
  return String((body.destination as { name: string }).name);
}

/** A request for a rule that a reading above 10 breaches at once, on every VM. */
export function ruleRequest(
  program: Program,
  destinationNames: readonly string[],
  { enabled = true } = {},
) {
  return {
    projectName: program.demo.projectName,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'Much memory',
      metricId: 'memory_used_bytes',
      operator: 'GREATER_THAN',
      threshold: 10,
      sustainedSeconds: 0,
      severity: 'WARNING',
      allVms: true,
      enabled,
      destinationNames,
    },
  };
}

export async function saveRule(
  program: Program,
  destinationNames: readonly string[],
): Promise<string> {
  const request = ruleRequest(program, destinationNames);
  const { status, body } = await program.call(`${ALERTS}/SaveAlertRule`, request);
  if (status !== 200) throw new Error(`SaveAlertRule: ${status} ${JSON.stringify(body)}`);
  return String(body.name);
}

/** One reading of each VM, observed now. */
export function writeReadings(
  program: Program,
  vms: readonly string[],
  value: number,
): Promise<Answer> {
  return program.call(
    'ingest.v1.IngestService/WriteSamples',
    {
      projectName: program.demo.projectName,
      rows: vms.map((vmName) => ({
        vmName,
        observedUnixMs: String(Date.now()),
        values: [{ series: SERIES, value }],
      })),
    },
    program.demo.collectorKey,
  );
}

/** Every item of a list method, over all pages. */
export async function listAll<T>(
  program: Program,
  method: string,
  field: string,
  request: object = {},
): Promise<T[]> {
  const items: T[] = [];
  let pageToken = '';
  do {
    const { status, body } = await program.call(`${ALERTS}/${method}`, {
      projectName: program.demo.projectName,
      pageSize: 500,
      pageToken,
      ...request,
    });
    if (status !== 200) throw new Error(`${method}: ${status} ${JSON.stringify(body)}`);
    items.push(...(body[field] as T[]));
    pageToken = String(body.nextPageToken ?? '');
  } while (pageToken !== '');
  return items;
}

export interface Delivery {
  readonly name: string;
  readonly incidentName: string;
  readonly destinationName: string;
  readonly event: string;
  readonly state: string;
  readonly attempts: readonly { outcome: string; httpStatus?: number; error: string }[];
}

export const deliveriesOf = (program: Program): Promise<Delivery[]> =>
  listAll(program, 'ListDeliveries', 'deliveries');

interface Readiness {
  readonly status: number;
  /** Reasons of the parts that are not ready or degraded, by part. */
  readonly reasons: Readonly<Record<string, string>>;
}

export async function readiness(program: Program): Promise<Readiness> {
  const [metricsUrl] = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(program.log()) ?? [];
  if (metricsUrl === undefined) throw new Error('The program did not say where its metrics are');
  const answer = await fetch(new URL('/readyz', metricsUrl));
  const { status } = answer;
  const { parts } = (await answer.json()) as { parts: { name: string; reason?: string }[] };
  const faulty = parts.flatMap(({ name, reason }) => (reason ? [[name, reason] as const] : []));
  return { status, reasons: Object.fromEntries(faulty) };
}

/** Waits until the program has this readiness. */
export function untilReadiness(program: Program, status: 200 | 503): Promise<Readiness> {
  return until(`readiness ${status}`, async () => {
    const now = await readiness(program);
    return now.status === status ? now : undefined;
  });
}

/** Reason in a refusal's `ErrorInfo`. */
export function reasonOf({ body }: Answer): string | undefined {
  const [detail] = (body.details ?? []) as { debug?: { reason?: string } }[];
  return detail?.debug?.reason;
}

/** Lines of the log that report an error or hold a stack trace. */
export function faultLines(program: Program): string[] {
  return program
    .log()
    .split('\n')
    .filter((line) => /"level":"(error|fatal)"|^\s+at |Uncaught|Unhandled/.test(line));
}
