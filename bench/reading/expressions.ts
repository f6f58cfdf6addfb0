/**
 * The fifteen measured reads: typical dashboard queries on 200 VMs. Times are relative to the end
 * of the data; each system gets exactly the same path and parameters.
 */
import { fleetVm } from '../../test/support/fleet.ts';

export interface Read {
  readonly name: string;
  /** Path of the query API: `query`, `query_range`, `series`, `label/vm/values`. */
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Answered from an index or a few samples: part of the light mix. */
  readonly light?: boolean;
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ONE = fleetVm(42);

/** The reads over data that ends at `endSeconds`, a multiple of 30 minutes, Unix seconds. */
export function readsUntil(endSeconds: number): readonly Read[] {
  const instant = (name: string, query: string, light = false): Read => {
    return { name, path: 'query', parameters: { query, time: String(endSeconds) }, light };
  };
  const range = (name: string, query: string, seconds: number, step: number, light = false) => {
    const [start, end] = [String(endSeconds - seconds), String(endSeconds)];
    return {
      name,
      path: 'query_range',
      parameters: { query, start, end, step: String(step) },
      light,
    };
  };
  const lately = { start: String(endSeconds - HOUR), end: String(endSeconds) };
  return [
    instant('instant sum(rate)', 'sum(rate(svc_vm_cpu_seconds_total[5m]))', true),
    instant('instant topk(5, rate)', 'topk(5, rate(svc_vm_network_receive_bytes_total[5m]))', true),
    range('one VM, 1 h at 30 s', `svc_vm_memory_free_bytes{vm="${ONE}"}`, HOUR, 30, true),
    instant('one VM raw, 24 h', `svc_vm_cpu_seconds_total{vm="${ONE}"}[24h]`, true),
    range('sum(rate), 1 h at 30 s', 'sum(rate(svc_vm_cpu_seconds_total[2m]))', HOUR, 30),
    range('sum by (datacenter), 1 h at 60 s', 'sum by (datacenter) (svc_vm_load1)', HOUR, 60),
    range(
      'topk(5, rate), 1 h at 60 s',
      'topk(5, rate(svc_vm_disk_written_bytes_total[5m]))',
      HOUR,
      60,
    ),
    range('sum(rate), 6 h at 60 s', 'sum(rate(svc_vm_cpu_seconds_total[5m]))', 6 * HOUR, 60),
    range(
      'quantile, 6 h at 60 s',
      'quantile(0.95, rate(svc_vm_cpu_seconds_total[5m]))',
      6 * HOUR,
      60,
    ),
    range(
      'join, 24 h at 120 s',
      'avg(1 - svc_vm_memory_free_bytes / on (vm) svc_vm_memory_total_bytes)',
      ...([DAY, 120] as const),
    ),
    range(
      'sum(increase), 24 h at 120 s',
      'sum(increase(svc_vm_network_transmit_bytes_total[1h]))',
      ...([DAY, 120] as const),
    ),
    range(
      'avg_over_time, 7 d at 1800 s',
      'avg(avg_over_time(svc_vm_load1[30m]))',
      7 * DAY - HOUR,
      1800,
    ),
    range(
      'max_over_time, 7 d at 1800 s',
      'max(max_over_time(svc_vm_load1[1h]))',
      7 * DAY - HOUR,
      1800,
    ),
    { name: 'label values', path: 'label/vm/values', parameters: lately, light: true },
    {
      name: 'series',
      path: 'series',
      parameters: { ...lately, 'match[]': 'svc_vm_disk_read_bytes_total' },
      light: true,
    },
  ];
}
