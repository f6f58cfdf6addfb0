/**
 * Incidents in a program as a user starts it, for tests of its pages: the demo's collector key
 * writes readings, its API key saves rules.
 */
import { randomUUID } from 'node:crypto';
import { type ServiceUnderTest, until } from './program.ts';

type Json = Record<string, unknown>;

/** One reading of `cpu_utilization_pct`; a VM's first one registers it. */
export interface Reading {
  readonly vm: string;
  /** Display name. */
  readonly displayName?: string;
  readonly atMs: number;
  readonly percent: number;
}

const ALERTS = 'monitoring.v1.AlertService';

/** Calls a method. Throws with the service's refusal. */
async function ask<T = Json>(
  program: ServiceUnderTest,
  method: string,
  request: Json,
  key?: string,
): Promise<T> {
  const { status, body } = await program.call(method, request, key);
  if (status !== 200) throw new Error(`${method}: ${status} ${JSON.stringify(body)}`);
  return body as T;
}

export async function writeReadings(
  program: ServiceUnderTest,
  readings: readonly Reading[],
): Promise<void> {
  const { projectName, collectorKey } = program.demo;
  const rows = readings.map(({ vm, displayName = vm, atMs, percent }) => ({
    vmName: `${projectName}/vms/${vm}`,
    displayName,
    observedUnixMs: String(atMs),
    bootId: 'boot',
    sequence: String(atMs),
    vcpus: 2,
    state: 'RUNNING',
    values: [{ series: 'svc_vm_cpu_utilization_pct', value: percent }],
  }));
  for (let i = 0; i < rows.length; i += 500) {
    const request = { projectName, batchId: randomUUID(), rows: rows.slice(i, i + 500) };
    const answer = await ask(
      program,
      'ingest.v1.IngestService/WriteSamples',
      request,
      collectorKey,
    );
    const refused = answer.refused as unknown[] | undefined;
    if (refused !== undefined && refused.length > 0) throw new Error(JSON.stringify(refused[0]));
  }
}

/** Number of values that keeps a request below 1 MiB. */
const VALUES_MAX = 4_000;

/** Writes one row for each VM `vm-N`, whose file systems are 90 % full, each an alert instance. */
export async function fillFilesystems(
  program: ServiceUnderTest,
  { vms, mounts }: { readonly vms: number; readonly mounts: number },
): Promise<void> {
  const { projectName, collectorKey } = program.demo;
  const values = Array.from({ length: mounts }, (_, mount) => {
    const labels = { mountpoint: `/srv/${mount}`, fstype: 'ext4' };
    return [
      { series: 'svc_vm_filesystem_size_bytes', labels, value: 1_000 },
      { series: 'svc_vm_filesystem_used_bytes', labels, value: 900 },
    ];
  }).flat();
  const rows = Array.from({ length: vms }, (_, n) => ({
    vmName: `vm-${n}`,
    displayName: `vm-${n}`,
    observedUnixMs: String(Date.now()),
    bootId: 'boot',
    sequence: '1',
    vcpus: 2,
    state: 'RUNNING',
    values,
  }));
  const count = Math.floor(VALUES_MAX / values.length);
  for (let from = 0; from < vms; from += count) {
    const request = { projectName, rows: rows.slice(from, from + count) };
    await ask(program, 'ingest.v1.IngestService/WriteSamples', request, collectorKey);
  }
}

/** Resolves once this many incidents fire, by the overview's count. */
export async function untilOpen(program: ServiceUnderTest, count: number): Promise<void> {
  const { projectName } = program.demo;
  const probe = async (): Promise<true | undefined> => {
    const answer = await ask<{ incidents?: { firing: string } }>(
      program,
      `${ALERTS}/GetProjectOverview`,
      { projectName },
    );
    return Number(answer.incidents?.firing) >= count || undefined;
  };
  await until(`${count} incidents fire`, probe);
}

/** Saves a rule on `cpu_utilization_pct` above 90 %. Resolves with its name. */
export async function saveRule(program: ServiceUnderTest, spec: Json = {}): Promise<string> {
  const { projectName } = program.demo;
  const { name } = await ask<{ name: string }>(program, `${ALERTS}/SaveAlertRule`, {
    projectName,
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec: {
      displayName: 'CPU is busy',
      metricId: 'cpu_utilization_pct',
      severity: 'CRITICAL',
      operator: 'GREATER_THAN',
      threshold: 90,
      sustainedSeconds: 0,
      allVms: true,
      ...spec,
    },
  });
  return name;
}

export interface DisplayedIncident {
  readonly name: string;
  readonly vmName: string;
  readonly ruleName: string;
  readonly state: string;
  readonly acknowledged?: { readonly note: string };
  readonly snoozedUntilUnix?: string;
  readonly startedUnix: string;
}

export async function listIncidents(
  program: ServiceUnderTest,
  filter: Json = {},
): Promise<DisplayedIncident[]> {
  const { projectName } = program.demo;
  const request = { projectName, pageSize: 1_000, ...filter };
  const answer = await ask<{ incidents?: DisplayedIncident[] }>(
    program,
    `${ALERTS}/ListIncidents`,
    request,
  );
  return answer.incidents ?? [];
}

/** Resolves once this many incidents fire. */
export function untilFiring(
  program: ServiceUnderTest,
  count: number,
): Promise<DisplayedIncident[]> {
  return until(`${count} incidents fire`, async () => {
    const firing = await listIncidents(program, { state: 'FIRING' });
    return firing.length >= count ? firing : undefined;
  });
}

/** Resolves once a VM is listed by this name. Pages read names only when they are opened. */
export async function untilNamed(program: ServiceUnderTest, displayName: string): Promise<void> {
  const request = { projectName: program.demo.projectName, pageSize: 1_000, inventoryOnly: true };
  await until(`a VM is called ${displayName}`, async () => {
    const method = 'monitoring.v1.MonitoringService/ListVMMonitoring';
    const answer = await ask<{ vms?: { displayName: string }[] }>(program, method, request);
    return answer.vms?.some((vm) => vm.displayName === displayName) || undefined;
  });
}
