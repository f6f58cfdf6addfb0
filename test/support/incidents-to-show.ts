/**
 * Incidents in a program that was started as a user starts it, for tests of its pages: readings are
 * written by the demo's collector key, rules are saved by its API key.
 */
import { randomUUID } from 'node:crypto';
import { type Program, until } from './program.ts';

type Json = Record<string, unknown>;

/** One reading of `cpu_utilization_pct`; a VM's first one registers it. */
export interface Reading {
  readonly vm: string;
  /** Name to show. */
  readonly displayName?: string;
  readonly atMs: number;
  readonly percent: number;
}

const ALERTS = 'monitoring.v1.AlertService';

/** Calls a method; throws what the service refused. */
async function ask<T = Json>(
  program: Program,
  method: string,
  request: Json,
  key?: string,
): Promise<T> {
  const { status, body } = await program.call(method, request, key);
  if (status !== 200) throw new Error(`${method}: ${status} ${JSON.stringify(body)}`);
  return body as T;
}

export async function writeReadings(program: Program, readings: readonly Reading[]): Promise<void> {
  const { projectName, collectorKey } = program.demo;
  const rows = readings.map(({ vm, displayName = vm, atMs, percent }) => ({
    ...{ vmName: `${projectName}/vms/${vm}`, displayName, observedUnixMs: String(atMs) },
    ...{ bootId: 'boot', sequence: String(atMs), vcpus: 2, state: 'RUNNING' },
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

/** Saves a rule on `cpu_utilization_pct` above 90 %; resolves with its name. */
export async function saveRule(program: Program, spec: Json = {}): Promise<string> {
  const { projectName } = program.demo;
  const { name } = await ask<{ name: string }>(program, `${ALERTS}/SaveAlertRule`, {
    ...{ projectName, id: randomUUID(), requestId: randomUUID(), expectedVersion: '0' },
    spec: {
      ...{ displayName: 'CPU is busy', metricId: 'cpu_utilization_pct', severity: 'CRITICAL' },
      ...{ operator: 'GREATER_THAN', threshold: 90, sustainedSeconds: 0, allVms: true },
      ...spec,
    },
  });
  return name;
}

export interface ShownIncident {
  readonly name: string;
  readonly vmName: string;
  readonly ruleName: string;
  readonly state: string;
  readonly acknowledged?: { readonly note: string };
  readonly snoozedUntilUnix?: string;
  readonly startedUnix: string;
}

export async function listIncidents(program: Program, filter: Json = {}): Promise<ShownIncident[]> {
  const { projectName } = program.demo;
  const request = { projectName, pageSize: 1_000, ...filter };
  const answer = await ask<{ incidents?: ShownIncident[] }>(
    program,
    `${ALERTS}/ListIncidents`,
    request,
  );
  return answer.incidents ?? [];
}

/** Resolves once so many incidents fire. */
export function untilFiring(program: Program, count: number): Promise<ShownIncident[]> {
  return until(`${count} incidents fire`, async () => {
    const firing = await listIncidents(program, { state: 'FIRING' });
    return firing.length >= count ? firing : undefined;
  });
}
