/**
 * Writes rows of VMs through all members at once, and records acknowledged rows. Each sender has
 * its own VMs and sends their rows in order. It resends a row until it is acknowledged, to the next
 * member if one does not answer, as a collector does. So the log has every row of a VM at least
 * once, in order, and the results of rules are known.
 */
import type { Demo } from './program.ts';

export interface SentRow {
  readonly atMs: number;
  readonly value: number;
}

export interface MemberLoadOptions {
  readonly demo: Demo;
  /** Base URLs. A sender begins with the one at its own number. */
  readonly targets: readonly string[];
  readonly vms: readonly string[];
  /** Interval between two rows of a VM, ms. */
  readonly everyMs: number;
}

export interface MemberLoad {
  /** Acknowledged rows by VM, in their order. */
  readonly acknowledged: ReadonlyMap<string, readonly SentRow[]>;
  /** Answers other than 200, by status; 0: no answer. */
  readonly failures: ReadonlyMap<number, number>;
  /** Sets the value of the next rows of these VMs. */
  set(vms: readonly string[], value: number): void;
  /** Resolves once rows of `vms` that are sent from now on have been acknowledged. */
  written(vms: readonly string[]): Promise<void>;
  /** Stops the senders. Resolves once their last rows are acknowledged. */
  stop(): Promise<void>;
}

/** Value that does not breach. */
export const GOOD = 1;
const ANSWER_MS = 6_000;
const RETRY_MS = 100;
const SERIES = 'svc_vm_memory_used_bytes';

/** Starts sending at once. */
export function startMemberLoad(options: MemberLoadOptions): MemberLoad {
  const { targets, vms, everyMs } = options;
  const values = new Map(vms.map((vm) => [vm, GOOD]));
  const acknowledged = new Map<string, SentRow[]>(vms.map((vm) => [vm, []]));
  const failures = new Map<number, number>();
  let isStopping = false;
  const run = async (sender: number): Promise<void> => {
    const own = vms.filter((_, place) => place % targets.length === sender);
    let target = sender;
    while (!isStopping) {
      const atMs = Date.now();
      const rows = own.map((vm) => ({ vm, atMs, value: values.get(vm) ?? GOOD }));
      for (;;) {
        const status = await send(options.demo, targets[target] ?? '', rows);
        if (status === 200) break;
        failures.set(status, (failures.get(status) ?? 0) + 1);
        target = (target + 1) % targets.length;
        await sleep(RETRY_MS);
      }
      for (const { vm, ...row } of rows) acknowledged.get(vm)?.push(row);
      await sleep(Math.max(0, everyMs - (Date.now() - atMs)));
    }
  };
  const running = targets.map((_, sender) => run(sender));
  return {
    acknowledged,
    failures,
    set(changed, value) {
      for (const vm of changed) values.set(vm, value);
    },
    async written(named) {
      const sinceMs = Date.now();
      const isWritten = (vm: string) => (acknowledged.get(vm)?.at(-1)?.atMs ?? 0) > sinceMs;
      while (!named.every(isWritten)) await sleep(50);
    },
    async stop() {
      isStopping = true;
      await Promise.all(running);
    },
  };
}

/** Status of the answer; 0: no answer. */
async function send(
  { projectName, collectorKey }: Demo,
  baseUrl: string,
  rows: readonly (SentRow & { readonly vm: string })[],
): Promise<number> {
  try {
    const answer = await fetch(`${baseUrl}/svc.ingest.v1.IngestService/WriteSamples`, {
      method: 'POST',
      headers: { authorization: `Bearer ${collectorKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        projectName,
        rows: rows.map(({ vm, atMs, value }) => ({
          vmName: vm,
          observedUnixMs: String(atMs),
          values: [{ series: SERIES, value }],
        })),
      }),
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

/** Rows that a member returns, by VM, in their order. Throws unless it answers. */
export async function rowsAt(
  { apiKey, projectName }: Demo,
  baseUrl: string,
  sinceMs: number,
): Promise<Map<string, SentRow[]>> {
  const seconds = Math.ceil((Date.now() - sinceMs) / 1000) + 60;
  const query = encodeURIComponent(`${SERIES}[${seconds}s]`);
  const path = `/v1/monitoring/${projectName}/promql/api/v1/query?query=${query}`;
  const answer = await fetch(baseUrl + path, { headers: { authorization: `Bearer ${apiKey}` } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${baseUrl} answered ${answer.status}: ${text.slice(0, 300)}`);
  const { data } = JSON.parse(text) as {
    data: { result: { metric: { vm: string }; values: [number, string][] }[] };
  };
  return new Map(
    data.result.map(({ metric, values }) => [
      metric.vm,
      values.map(([at, value]) => ({ atMs: Math.round(at * 1000), value: Number(value) })),
    ]),
  );
}

/** Acknowledged rows that a member does not return as they were sent, as readable lines. */
export function lostRows(
  acknowledged: ReadonlyMap<string, readonly SentRow[]>,
  stored: ReadonlyMap<string, readonly SentRow[]>,
): string[] {
  return [...acknowledged].flatMap(([vm, rows]) => {
    const there = new Map(stored.get(vm)?.map(({ atMs, value }) => [atMs, value]));
    return rows
      .filter(({ atMs, value }) => there.get(atMs) !== value)
      .map(({ atMs, value }) => `${vm} at ${atMs}: ${value}, not ${there.get(atMs)}`);
  });
}

export interface ExpectedRule {
  /** Values above it fire. */
  readonly threshold: number;
  readonly sustainedSeconds: number;
}

/** Expected starts of a rule's incidents from a VM's rows, Unix s, computed the plain way. */
export function expectedStarts(
  rows: readonly SentRow[],
  { threshold, sustainedSeconds }: ExpectedRule,
): number[] {
  const starts: number[] = [];
  let sinceMs: number | undefined;
  let hasFired = false;
  for (const { atMs, value } of rows) {
    if (value <= threshold) {
      sinceMs = undefined;
      hasFired = false;
      continue;
    }
    sinceMs ??= atMs;
    if (hasFired || atMs - sinceMs < sustainedSeconds * 1000) continue;
    hasFired = true;
    starts.push(Math.floor(sinceMs / 1000));
  }
  return starts;
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
