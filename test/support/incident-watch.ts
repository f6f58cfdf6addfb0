/**
 * Sets up a listening API and a rule that tests can put in force, for tests of `WatchIncidents`.
 */
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { type RpcWorld, startRpcWorld } from './api-in-process.ts';
import { openStream } from './connect-stream.ts';
import { START_MS } from './host-in-memory.ts';
import { newRule } from './rule-spec.ts';

export const WATCH_PATH = '/svc.monitoring.v1.AlertService/WatchIncidents';
export const PROJECT = 'projects/demo';
const CPU = 'svc_vm_cpu_utilization_pct';

/** A world whose server listens, with one rule in force. */
export async function startWatched(t: Test) {
  const stopping = new AbortController();
  const world = await startRpcWorld(t, () => ({ stopping: stopping.signal }));
  await world.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = world.app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const watch = (
    headers: Readonly<Record<string, string>>,
    projectName = PROJECT,
    more: object = {},
  ) => openStream(url, WATCH_PATH, { projectName, ...more }, headers);
  return { ...world, url, watch, stop: () => stopping.abort(), rule: () => saveRule(world) };
}

async function saveRule({ call, write }: RpcWorld): Promise<void> {
  await write([reading(-1, 10)]);
  await call('SaveAlertRule', newRule(PROJECT, { threshold: 50 }));
}

/** A reading of a VM, `step` half minutes after the start. */
export function reading(step: number, value: number, vm = 'vm-1') {
  const observedUnixMs = START_MS + step * 30_000;
  return { vm, observedUnixMs, values: [{ series: CPU, value }] };
}

export const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
