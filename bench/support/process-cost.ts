/** Resources used so far by a service process, from its `/metrics`: works for any process. */
import type { Demo } from '../../test/support/program.ts';

export interface ProcessCost {
  /** User and system, all threads, seconds. */
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/** Throws if `/metrics` does not respond or lacks a figure. */
export async function processCost({ baseUrl, apiKey }: Demo): Promise<ProcessCost> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const answer = await fetch(`${baseUrl}/metrics`, { headers });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`/metrics returned ${answer.status}: ${text.slice(0, 200)}`);
  return {
    cpuSeconds: figure(text, 'process_cpu_seconds_total'),
    residentBytes: figure(text, 'process_resident_memory_bytes'),
  };
}

function figure(text: string, name: string): number {
  const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? [];
  if (value === undefined) throw new Error(`/metrics has no ${name}`);
  return Number(value);
}
