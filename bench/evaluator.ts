/**
 * The cost of evaluation: 20 rules over 500 VMs (10,000 instances), one row per VM and 30 s, in CPU
 * time of the process. Rounds differ: nothing breaches, all breach without changing state, all fire
 * at once. Batches are created before the clock starts, because decoding is not evaluation; each
 * kind of round is the median of several.
 */
import { Subject } from 'rxjs';
import { createState, evaluate, timeOf } from '../streams/alerting/evaluation/pipeline.ts';
import type { EvaluationRule, LogEntry } from '../streams/telemetry/entry.ts';
import type { LoggedEntry } from '../streams/telemetry/entry-codec.ts';
import { BatchBuilder } from '../streams/telemetry/samples/batch.ts';

const VMS = 500;
const STEP_MS = 30_000;
const START_MS = 1_700_000_000_000;
const SUSTAINED_MS = 1_200_000;

/** Ten metrics of a usual row, two rules each; a row's load scales all of them. */
const metrics: readonly { readonly metricId: string; readonly threshold: number }[] = [
  { metricId: 'cpu_utilization_pct', threshold: 80 },
  { metricId: 'memory_used_bytes', threshold: 8e9 },
  { metricId: 'memory_used_pct', threshold: 80 },
  { metricId: 'disk_read_bytes_per_second', threshold: 8e6 },
  { metricId: 'disk_write_bytes_per_second', threshold: 8e6 },
  { metricId: 'disk_read_ops_per_second', threshold: 800 },
  { metricId: 'disk_write_ops_per_second', threshold: 800 },
  { metricId: 'network_receive_bytes_per_second', threshold: 8e6 },
  { metricId: 'network_transmit_bytes_per_second', threshold: 8e6 },
  { metricId: 'filesystem_used_pct', threshold: 80 },
];

const series = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_free_bytes',
  'svc_vm_disk_read_bytes_total{device="vda"}',
  'svc_vm_disk_written_bytes_total{device="vda"}',
  'svc_vm_disk_reads_completed_total{device="vda"}',
  'svc_vm_disk_writes_completed_total{device="vda"}',
  'svc_vm_network_receive_bytes_total{interface="eth0"}',
  'svc_vm_network_transmit_bytes_total{interface="eth0"}',
  'svc_vm_filesystem_size_bytes{fstype="ext4",mountpoint="/"}',
  'svc_vm_filesystem_used_bytes{fstype="ext4",mountpoint="/"}',
  'svc_vm_running',
];

interface Measured {
  readonly what: string;
  readonly aim: string;
  readonly got: string;
}

/** Runs and prints the table. */
export async function run(): Promise<void> {
  const rows: Measured[] = [];
  const before = process.memoryUsage().rss;
  const fleet = new VmFleet();
  fleet.rounds(30, 0.1);
  rows.push(line('quiet round', '< 20 ms', median(fleet.rounds(40, 0.1).times)));
  const quiet = process.memoryUsage().rss;
  // Forty samples span 1,170 of 1,200 s; the median round has breaches that settle.
  const sustaining = fleet.rounds(40, 0.95).times;
  rows.push(line('all breach, none changes state', '< 60 ms', median(sustaining)));
  const sustained = process.memoryUsage().rss;
  const firing = fleet.rounds(1, 0.95);
  rows.push(line(`all fire (${firing.edges} edges)`, '< 700 ms', median(firing.times)));
  const lasting = fleet.rounds(20, 0.95).times;
  rows.push(line('all firing, none changes state', '', median(lasting)));
  const recovering = fleet.rounds(1, 0.1);
  rows.push(line(`all recover (${recovering.edges} edges)`, '', median(recovering.times)));
  const after = process.memoryUsage().rss;
  rows.push({ what: 'resident memory before all of it', aim: '', got: megabytes(before) });
  rows.push({ what: 'after the quiet rounds', aim: '< 250 MB', got: megabytes(quiet) });
  rows.push({ what: 'after all sustained for 20 min', aim: '< 250 MB', got: megabytes(sustained) });
  rows.push({ what: 'after all fired and recovered', aim: '', got: megabytes(after) });
  console.table(rows);
}

/** A fleet and its evaluator; every VM has the same load in a round. */
class VmFleet {
  readonly #log = new Subject<LoggedEntry>();
  #edges = 0;
  readonly #totals = new Float64Array(7);
  #round = 0;

  constructor() {
    const states = new Map([[0, createState({ rules: rules(), firing: [] })]]);
    this.#log.pipe(evaluate({ states })).subscribe(({ edges }) => {
      this.#edges += edges.length;
    });
  }

  /** CPU time of each of `count` rounds at `load` (0 to 1), ms, and the total of their edges. */
  rounds(count: number, load: number): { times: number[]; edges: number } {
    const before = this.#edges;
    const times = Array.from({ length: count }, () => {
      const entries = this.#entries(load);
      const start = process.cpuUsage();
      for (const entry of entries) {
        const sequence = this.#round;
        this.#log.next({ sequence, partition: 0, storedMs: timeOf(entry), entry });
      }
      const { user, system } = process.cpuUsage(start);
      return (user + system) / 1000;
    });
    return { times, edges: this.#edges - before };
  }

  #entries(load: number): LogEntry[] {
    const atMs = START_MS + this.#round * STEP_MS;
    this.#round++;
    const perSecond = [4 * load, 1e7 * load, 1e7 * load, 1e3 * load, 1e3 * load, 1e7 * load];
    for (const [i, rate] of perSecond.entries()) {
      this.#totals[i] = (this.#totals[i] ?? 0) + rate * (STEP_MS / 1000);
    }
    const [cpu = 0, read = 0, written = 0, reads = 0, writes = 0, network = 0] = this.#totals;
    const used = 1e10 * load;
    const memory = [1e10, 1e10 - used];
    const values = [cpu, ...memory, read, written, reads, writes, network, network, 1e10, used, 1];
    const builder = new BatchBuilder();
    for (let vm = 0; vm < VMS; vm++) {
      builder.add({
        project: 'demo',
        vm: `vm-${vm}`,
        observedMs: atMs + vm,
        sequence: this.#round,
        boot: `boot-${vm}`,
        vcpus: 4,
        state: 1,
        stateReason: '',
        series,
        values,
      });
    }
    const batch = builder.build(atMs + VMS);
    return [
      { kind: 'tick', atMs: atMs + VMS },
      { kind: 'batch', batch },
    ];
  }
}

function rules(): EvaluationRule[] {
  return metrics.flatMap(({ metricId, threshold }, i) =>
    [0, 1].map((n) => ({
      project: 'demo',
      rule: `rule-${i}-${n}`,
      evaluationRevision: 1,
      metricId,
      operator: 'GREATER_THAN' as const,
      threshold: threshold * (1 - n / 10),
      sustainedMs: SUSTAINED_MS,
      recoveryMs: 0,
    })),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function line(what: string, aim: string, cpuMs: number): Measured {
  return { what, aim, got: `${cpuMs.toFixed(1)} ms` };
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`;
}

if (import.meta.main) await run();
