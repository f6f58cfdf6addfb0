/**
 * Recorded readings of real machines (GWA-T-12 Bitbrains "Rnd") as batches: their usage as the
 * counters and gauges that a collector would have reported. Rates become counters of whole bytes,
 * CPU becomes seconds; nothing is interpolated, the step stays at 300 s.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { BatchBuilder, type Row, type SampleBatch } from '../streams/telemetry/samples/batch.ts';
import { optionalPath } from '../test/support/components.ts';

const SERIES = [
  'svc_vm_cpu_seconds_total',
  'svc_vm_memory_total_bytes',
  'svc_vm_memory_used_bytes',
  'svc_vm_disk_read_bytes_total{device="vda"}',
  'svc_vm_disk_written_bytes_total{device="vda"}',
  'svc_vm_network_receive_bytes_total{interface="eth0"}',
  'svc_vm_network_transmit_bytes_total{interface="eth0"}',
];
const STEP_SECONDS = 300;

/** Eight days of 104 VMs in order of time, one batch per step; undefined without the traces. */
export async function bitbrainsBatches(): Promise<SampleBatch[] | undefined> {
  const shared = optionalPath('shared folder');
  if (shared === undefined) return undefined;
  const folder = join(shared, 'data/traces/bitbrains-rnd/2013-09-16_8d');
  const files = readdirSync(folder);
  const rows = files.flatMap((file) => {
    const vm = file.replace(/\D.*$/, '');
    return rowsOf(vm, gunzipSync(readFileSync(join(folder, file))).toString());
  });
  rows.sort((a, b) => a.observedMs - b.observedMs);
  const builder = new BatchBuilder();
  const batches: SampleBatch[] = [];
  let untilMs = 0;
  for (const row of rows) {
    if (row.observedMs >= untilMs) {
      if (builder.count > 0) batches.push(builder.build(untilMs));
      untilMs = row.observedMs + STEP_SECONDS * 1000;
    }
    builder.add(row);
  }
  batches.push(builder.build(untilMs));
  return batches;
}

function rowsOf(vm: string, text: string): Row[] {
  const totals = [0, 0, 0, 0, 0];
  const counters = (perSecond: number[]) =>
    perSecond.map((rate, i) => {
      totals[i] = (totals[i] ?? 0) + Math.round(rate * STEP_SECONDS);
      return totals[i] ?? 0;
    });
  const lines = text.trim().split('\n').slice(1);
  return lines.map((line, i) => {
    const fields = line.split(/;\s*/).map(Number);
    const [time = 0, cores = 0, , , percent = 0, memory = 0, used = 0] = fields;
    const [, , , , , , , read = 0, written = 0, received = 0, sent = 0] = fields;
    const perSecond = [read, written, received, sent].map((kilobytes) => kilobytes * 1024);
    const [milliseconds = 0, ...bytes] = counters([percent * cores * 10, ...perSecond]);
    return {
      project: 'demo',
      vm,
      observedMs: time * 1000,
      sequence: i,
      boot: '',
      vcpus: cores,
      state: cores > 0 ? 1 : 3,
      stateReason: '',
      series: SERIES,
      values: [milliseconds / 1000, memory * 1024, Math.round(used * 1024), ...bytes],
    };
  });
}
