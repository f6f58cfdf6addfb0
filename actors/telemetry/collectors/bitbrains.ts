/**
 * Rows of a trace in the Bitbrains format (GWA-T-12: one CSV per VM, one row per 300 s, all
 * gauges). Throughputs are left out, because counters made from them would be values that were
 * never observed. A VM without cores is off, whatever its last row repeats.
 */
import type { ObservedRow, ObservedValue } from './collector.ts';

/** One file of a trace. */
export interface Trace {
  /** In file order: times may repeat or decrease. */
  readonly rows: readonly ObservedRow[];
  /** Number of lines that are not rows. */
  readonly skippedLines: number;
}

const KB = 1_024;

/**
 * Columns: time (Unix seconds, though the header says ms); cores; capacity and usage in MHz; usage
 * in percent; memory provisioned and used in KB; four throughputs. Usage above 100 % is kept.
 */
export function parseTrace(text: string, vm: string): Trace {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^Timestamp/.test(line));
  const rows = lines.flatMap((line, index) => parseRow(line, vm, index));
  return { rows, skippedLines: lines.length - rows.length };
}

function parseRow(line: string, vm: string, index: number): ObservedRow[] {
  const fields = line.split(';').map(parseNumber);
  const [seconds, cores, , , cpuPct, memoryTotal, memoryUsed] = fields;
  if (seconds === undefined || cores === undefined || fields.length < 7) return [];
  const row = {
    vm,
    displayName: vm,
    observedMs: Math.round(seconds * 1_000),
    bootId: '',
    sequence: index,
    stateReason: '',
  };
  // Off: percentages and memory are left over from its last run.
  if (cores === 0) return [{ ...row, state: 'STOPPED', values: [] }];
  return [
    {
      ...row,
      vcpus: cores,
      state: 'RUNNING',
      values: [
        ...valueIn('svc_vm_cpu_utilization_pct', cpuPct),
        ...valueIn('svc_vm_memory_total_bytes', memoryTotal, KB),
        ...valueIn('svc_vm_memory_used_bytes', memoryUsed, KB),
      ],
    },
  ];
}

function valueIn(key: string, observed: number | undefined, unit = 1): ObservedValue[] {
  return observed === undefined ? [] : [[key, observed * unit]];
}

function parseNumber(text: string): number | undefined {
  const digits = text.trim();
  return /^\d{1,15}(\.\d+)?$/.test(digits) ? Number(digits) : undefined;
}
