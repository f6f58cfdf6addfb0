/**
 * A storm of `WriteSamples` requests that records acknowledged rows. Each sender writes its own VM,
 * one row per 30 s of observation time, so that a query at the finest step shows each row. It
 * counts only guarantees to clients.
 */
import { create, toBinary, toJson } from '@bufbuild/protobuf';
import type { Test } from 'tap';
import { WriteSamplesRequestSchema } from '../../src/gen/svc/ingest/v1/ingest_pb.ts';

export interface StormTarget {
  readonly baseUrl: string;
  readonly collectorKey: string;
}

export interface StormOptions {
  /** Prefix of the VMs' names; a second storm needs another one. */
  readonly name: string;
  readonly format: 'json' | 'binary';
  readonly senders?: number;
  /** Pause of a sender after each answer, ms. Default 0. */
  readonly everyMs?: number;
}

/** Acknowledged rows by VM id; the values are the rows' numbers. */
export type Acknowledged = ReadonlyMap<string, ReadonlySet<number>>;

export interface Storm {
  readonly acknowledged: Acknowledged;
  /** Answers by status; 0 = no answer. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Bodies of refusals, the first for each status. */
  readonly refusals: ReadonlyMap<number, string>;
  rows(): number;
  /** Stops the senders. Resolves once the last answer has arrived. */
  stop(): Promise<void>;
}

const STEP_SECONDS = 30;
const ROWS_PER_BATCH = 5;
/** A query returns at most 10,000 points. */
const ROWS_MAX = 9_900;
/** Early enough for all rows of a sender, and well within retention. */
const startSeconds = Math.floor(Date.now() / 1000 / STEP_SECONDS) * STEP_SECONDS - 4 * 86_400;

/** Starts sending at once. */
export function startStorm(target: StormTarget, options: StormOptions): Storm {
  const { name, format, senders = 6 } = options;
  const acknowledged = new Map<string, Set<number>>();
  const statuses = new Map<number, number>();
  const refusals = new Map<number, string>();
  let stopping = false;
  const run = async (vm: string): Promise<void> => {
    const kept = new Set<number>();
    acknowledged.set(vm, kept);
    for (let first = 1; !stopping && first < ROWS_MAX; first += ROWS_PER_BATCH) {
      const numbers = Array.from({ length: ROWS_PER_BATCH }, (_, i) => first + i);
      const { status, text } = await send(target, format, vm, numbers);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) for (const number of numbers) kept.add(number);
      else {
        if (!refusals.has(status)) refusals.set(status, text);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      if (options.everyMs) await new Promise((resolve) => setTimeout(resolve, options.everyMs));
    }
  };
  const running = Array.from({ length: senders }, (_, i) => run(`${name}-${i}`));
  return {
    acknowledged,
    statuses,
    refusals,
    rows: () => [...acknowledged.values()].reduce((sum, { size }) => sum + size, 0),
    stop: async () => {
      stopping = true;
      await Promise.all(running);
    },
  };
}

/** Sends one batch and returns its status; 0 if the connection ended without an answer. */
async function send(
  { baseUrl, collectorKey }: StormTarget,
  format: StormOptions['format'],
  vm: string,
  numbers: readonly number[],
): Promise<{ status: number; text: string }> {
  const request = create(WriteSamplesRequestSchema, {
    projectName: 'projects/demo',
    batchId: `${vm}/${numbers[0]}`,
    rows: numbers.map((number) => ({
      vmName: vm,
      observedUnixMs: BigInt((startSeconds + number * STEP_SECONDS) * 1000),
      sequence: BigInt(number),
      values: [{ series: 'svc_vm_memory_total_bytes', value: number }],
    })),
  });
  const isJson = format === 'json';
  try {
    const answer = await fetch(`${baseUrl}/svc.ingest.v1.IngestService/WriteSamples`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${collectorKey}`,
        'content-type': isJson ? 'application/json' : 'application/proto',
      },
      body: isJson
        ? JSON.stringify(toJson(WriteSamplesRequestSchema, request))
        : toBinary(WriteSamplesRequestSchema, request),
      signal: AbortSignal.timeout(120_000),
    });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    return { status: 0, text: String(error) };
  }
}

/** Fails `t` unless each acknowledged row is returned once, with its own value. */
export async function checkStored(
  t: Test,
  target: { readonly baseUrl: string; readonly apiKey: string },
  acknowledged: Acknowledged,
): Promise<void> {
  for (const [vm, numbers] of acknowledged) {
    const stored = await storedRows(target, vm, Math.max(1, ...numbers));
    const missing = [...numbers].filter((number) => !stored.includes(number));
    t.same(missing, [], `every acknowledged row of ${vm} is stored (${numbers.size})`);
    t.equal(new Set(stored).size, stored.length, `no row of ${vm} is stored twice`);
  }
}

async function storedRows(
  { baseUrl, apiKey }: { readonly baseUrl: string; readonly apiKey: string },
  vm: string,
  last: number,
): Promise<number[]> {
  const answer = await fetch(`${baseUrl}/svc.monitoring.v1.MonitoringService/QueryVMMonitoring`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: `projects/demo/vms/${vm}`,
      metricIds: ['memory_total_bytes'],
      startTimeUnix: String(startSeconds),
      endTimeUnix: String(startSeconds + last * STEP_SECONDS),
      stepSeconds: STEP_SECONDS,
    }),
  });
  const text = await answer.text();
  if (answer.status === 404) return [];
  if (answer.status !== 200) throw new Error(`QueryVMMonitoring ${vm}: ${answer.status} ${text}`);
  const body = JSON.parse(text) as { series?: { points: { value: number }[] }[] };
  return (body.series?.[0]?.points ?? []).map(({ value }) => value);
}
