/**
 * A neighbour of the attacker: another project that keeps writing and reading with a key and an
 * address of its own. The attack may only affect its times.
 */
import { randomUUID } from 'node:crypto';
import { type Arena, displayed, getRequest, rpcRequest } from './arena.ts';
import type { WireAnswer, WireRequest } from './wire.ts';

const MONITORING = '/svc.monitoring.v1.MonitoringService/';
const ALERT = '/svc.monitoring.v1.AlertService/';
const WRITE_SAMPLES = '/svc.ingest.v1.IngestService/WriteSamples';
/** Source address of the neighbour alone. */
const NEIGHBOUR = '127.0.2.1';

/** Writes and reads as the neighbour during `job`; resolves with its times, as text. */
export async function besideNeighbour(
  arena: Arena,
  name: string,
  job: () => Promise<void>,
): Promise<string> {
  const times: number[] = [];
  const state = { isOver: false };
  const working = (async () => {
    for (let turn = 0; !state.isOver || turn < 3; turn++)
      times.push(...(await neighbourTurn(arena, name, turn)));
  })();
  await job();
  state.isOver = true;
  await working;
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor((times.length - 1) * share)] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, of ${times.length} requests`;
}

/**
 * Writes a reading and reads it back, and lists its rules and its VMs; resolves with the times, ms.
 */
export async function neighbourTurn(
  arena: Arena,
  when: string,
  turn: number,
  vm = `${arena.victim.project}/vms/neighbour`,
): Promise<number[]> {
  const times: number[] = [];
  for (const { request, judge } of requestsOf(arena, vm, 1_000 + turn)) {
    const beganMs = performance.now();
    const answer = await arena.target.wire.send(request, { source: NEIGHBOUR });
    times.push(performance.now() - beganMs);
    arena.tally.record({
      name: `neighbour beside ${when}: ${request.path}`,
      isLimited: answer.status === 429,
      why: answer.failure ?? judge(answer),
      request: request.path,
      answer: displayed(answer),
    });
  }
  await pause(20);
  return times;
}

interface Requested {
  readonly request: WireRequest;
  readonly judge: (answer: WireAnswer) => string | undefined;
}

function requestsOf(arena: Arena, vm: string, value: number): Requested[] {
  const { project, credentials, id } = arena.victim;
  const { collectorKey, readKey } = credentials;
  const values = [{ series: 'svc_vm_memory_used_bytes', value }];
  const rows = [{ vmName: vm, observedUnixMs: String(Date.now()), bootId: 'boot-1', values }];
  const write = { projectName: project, batchId: randomUUID(), rows };
  const query = encodeURIComponent(`svc_vm_memory_used_bytes{vm="${vm.split('/').at(-1)}"}`);
  const path = `/v1/monitoring/projects/${id}/promql/api/v1/query?query=${query}`;
  const body = { projectName: project };
  return [
    { request: rpcRequest(arena, WRITE_SAMPLES, write, collectorKey), judge: acceptedIn },
    {
      request: getRequest(arena, path, readKey),
      judge: ({ text }) => (text.includes(`"${value}"`) ? undefined : 'its reading is missing'),
    },
    { request: rpcRequest(arena, `${ALERT}ListAlertRules`, body, readKey), judge: answered },
    {
      request: rpcRequest(arena, `${MONITORING}ListVMMonitoring`, body, readKey),
      judge: ({ text }) => (text.includes(`"${vm}"`) ? undefined : 'its VM is not listed'),
    },
  ];
}

function answered({ status }: WireAnswer): string | undefined {
  return status === 200 ? undefined : `answered ${status}`;
}

function acceptedIn({ status, text }: WireAnswer): string | undefined {
  return status === 200 && /"accepted":"1"/.test(text)
    ? undefined
    : `its reading was not accepted: ${status}`;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
