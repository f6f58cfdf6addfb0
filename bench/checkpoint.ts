/**
 * The cost of checkpoints of evaluation: 10,000 VMs with two rules on two metrics and rows of five
 * minutes, in CPU time of the process and bytes for a VM. Encoding and restoring are repeated, and
 * the median is printed.
 */
import { zstdCompressSync } from 'node:zlib';
import { from, map } from 'rxjs';
import {
  type EncodedVm,
  encodedVms,
  encodeHead,
  endRestore,
  restoreHead,
  restoreVm,
} from '../streams/alerting/evaluation/checkpoint/checkpoint-codec.ts';
import { createState, evaluate, timeOf } from '../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationState } from '../streams/alerting/evaluation/state.ts';
import type { EvaluationRule, LogEntry } from '../streams/telemetry/entry.ts';
import { BatchBuilder } from '../streams/telemetry/samples/batch.ts';

const VMS = 10_000;
const STEP_MS = 30_000;
/** Rows of five minutes, and the settled one before them. */
const ROUNDS = 14;
const START_MS = 1_700_000_000_000;
const TRIES = 7;

const series = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_free_bytes',
  'svc_vm_disk_read_bytes_total{device="vda"}',
  'svc_vm_disk_written_bytes_total{device="vda"}',
  'svc_vm_network_receive_bytes_total{interface="eth0"}',
  'svc_vm_network_transmit_bytes_total{interface="eth0"}',
  'svc_vm_running',
];

/** Runs and prints the table. */
export async function run(): Promise<void> {
  const state = folded();
  let vms: EncodedVm[] = [];
  const encoding = medianMs(() => {
    vms = [...encodedVms(state)];
  });
  const head = encodeHead(state);
  const restoring = medianMs(() => {
    const again = restoreHead(head);
    for (const vm of vms) restoreVm(again, vm);
    endRestore(again);
  });
  const bytes = vms.reduce((sum, { data }) => sum + data.length, 0);
  const packed = zstdCompressSync(Buffer.concat(vms.map(({ data }) => data))).length;
  console.table([
    { what: 'encoding a VM', aim: '< 15 µs', got: `${perVm(encoding * 1000)} µs` },
    { what: 'restoring a VM', aim: '', got: `${perVm(restoring * 1000)} µs` },
    { what: 'a VM', aim: '< 600 bytes', got: `${perVm(bytes)} bytes` },
    { what: 'a VM, all compressed together', aim: '', got: `${perVm(packed)} bytes` },
    { what: 'the head', aim: '', got: `${head.length} bytes` },
  ]);
}

function perVm(total: number): string {
  return (total / VMS).toFixed(1);
}

function medianMs(work: () => void): number {
  const times = Array.from({ length: TRIES }, () => {
    const start = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  return times.sort((a, b) => a - b)[Math.floor(TRIES / 2)] ?? 0;
}

function folded(): EvaluationState {
  const state = createState({ rules: rules(), firing: [] });
  state.isLive = true;
  from(log())
    .pipe(
      map((entry, i) => ({ sequence: i + 1, partition: 0, storedMs: timeOf(entry), entry })),
      evaluate({ states: new Map([[0, state]]) }),
    )
    .subscribe();
  return state;
}

function rules(): EvaluationRule[] {
  return ['cpu_utilization_pct', 'memory_used_pct'].map((metricId, i) => ({
    project: 'demo',
    rule: `0a1b2c3d-0000-4000-8000-00000000000${i}`,
    evaluationRevision: 1,
    metricId,
    operator: 'GREATER_THAN',
    threshold: 80,
    sustainedMs: 300_000,
    recoveryMs: 0,
  }));
}

/** Rounds of rows with usual figures: counters with milliseconds, bytes in pages. */
function* log(): Generator<LogEntry> {
  for (let round = 0; round < ROUNDS; round++) {
    const atMs = START_MS + round * STEP_MS;
    const builder = new BatchBuilder();
    for (let vm = 0; vm < VMS; vm++) builder.add({ project: 'demo', ...rowOf(vm, round, atMs) });
    yield { kind: 'tick', atMs };
    yield { kind: 'batch', batch: builder.build(atMs + VMS) };
  }
}

function rowOf(vm: number, round: number, atMs: number) {
  const noise = (salt: number): number => ((vm * 7919 + round * 104_729 + salt) % 997) / 997;
  const cpu = Math.round((1e5 + vm + round * 60 * noise(1)) * 1000) / 1000;
  const total = 8 * 1024 ** 3;
  const free = 4096 * Math.round(1e6 * (0.5 + noise(2)));
  const traffic = Math.round(1e9 + round * 1e6 * noise(3));
  return {
    vm: `9f8e7d6c-1111-4222-8333-${String(vm).padStart(12, '0')}`,
    observedMs: atMs + vm,
    sequence: round + 1000,
    boot: `boot-${vm}`,
    vcpus: 4,
    state: 1,
    stateReason: '',
    series,
    values: [cpu, total, free, traffic, traffic, traffic, traffic, 1],
  };
}
