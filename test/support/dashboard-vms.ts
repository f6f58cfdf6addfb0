/**
 * VMs for the dashboard's tests, written as a collector writes them: a VM with an hour of readings
 * and a gap, one whose last reading is isolated, one that fell silent, one whose name is markup,
 * and as many more as a list needs.
 */
import type { Demo } from './program.ts';

const STEP_MS = 30_000;
const MINUTE_MS = 60_000;
export const MARKUP = '<img src=x onerror="svcTestViolation(1)">&amp;';

interface Reading {
  readonly series: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Writes rows with the collector's key. Throws if they are refused. */
async function write(demo: Demo, rows: readonly unknown[]): Promise<void> {
  const answer = await fetch(`${demo.baseUrl}/svc.ingest.v1.IngestService/WriteSamples`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${demo.collectorKey}`,
      'content-type': 'application/json',
      'connect-protocol-version': '1',
    },
    body: JSON.stringify({ projectName: demo.projectName, rows }),
  });
  if (!answer.ok) throw new Error(`WriteSamples: ${await answer.text()}`);
}

function row(vm: string, displayName: string, atMs: number, i: number): unknown {
  const values: Reading[] = [
    { series: 'svc_vm_cpu_seconds_total', value: 100 + i * 6 + 3 * Math.sin(i / 5) },
    { series: 'svc_vm_memory_total_bytes', value: 4 * 2 ** 30 },
    { series: 'svc_vm_memory_free_bytes', value: (2 + Math.sin(i / 9) / 2) * 2 ** 30 },
    { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vda' }, value: i * 90_000 },
    { series: 'svc_vm_disk_read_bytes_total', labels: { device: 'vdb' }, value: i * 40_000 },
    { series: 'svc_vm_network_receive_bytes_total', labels: { interface: 'eth0' }, value: i * 5e5 },
    {
      series: 'svc_vm_filesystem_size_bytes',
      labels: { mountpoint: '/var', fstype: 'ext4' },
      value: 40 * 2 ** 30,
    },
    {
      series: 'svc_vm_filesystem_used_bytes',
      labels: { mountpoint: '/var', fstype: 'ext4' },
      value: (20 + i / 60) * 2 ** 30,
    },
  ];
  return {
    vmName: vm,
    displayName,
    observedUnixMs: String(Math.floor(atMs)),
    vcpus: 2,
    state: 'RUNNING',
    values,
  };
}

/** A VM whose memory libvirt has never polled. */
function unpolledRow(atMs: number): unknown {
  const labels = { cause: 'MEMORY_NOT_POLLED', reading: 'memory' };
  return {
    vmName: 'unpolled-vm',
    displayName: 'Not polled',
    vcpus: 2,
    state: 'RUNNING',
    observedUnixMs: String(Math.floor(atMs)),
    values: [{ series: 'svc_vm_reading_absent', labels, value: 1 }],
  };
}

/**
 * `unpolled-vm` has no memory, with a cause. `gap-vm` has an hour of readings with fifteen minutes
 * missing, and one isolated reading in the middle of them. `stale-vm` ended twenty minutes ago;
 * `markup-vm` is named `MARKUP`. `more` further VMs have one reading each.
 */
export async function writeVms(demo: Demo, nowMs: number, more = 0): Promise<void> {
  const times = Array.from({ length: 121 }, (_, i) => nowMs - (120 - i) * STEP_MS);
  const isIn = (ms: number, from: number, to: number): boolean =>
    ms > nowMs - from * MINUTE_MS && ms < nowMs - to * MINUTE_MS;
  const lone = nowMs - 30 * MINUTE_MS;
  const kept = times.filter((ms) => !isIn(ms, 38, 22) || ms === lone);
  await write(
    demo,
    kept.map((ms, i) => row('gap-vm', 'Gap', ms, i)),
  );
  const ended = times.filter((ms) => ms < nowMs - 20 * MINUTE_MS);
  await write(
    demo,
    ended.map((ms, i) => row('stale-vm', 'Silent', ms, i)),
  );
  await write(
    demo,
    times.slice(-8).map((ms, i) => row('markup-vm', MARKUP, ms, i)),
  );
  await write(
    demo,
    times.slice(-8).map((ms) => unpolledRow(ms)),
  );
  for (let first = 0; first < more; first += 100) {
    const numbers = Array.from({ length: Math.min(100, more - first) }, (_, i) => first + i);
    await write(
      demo,
      numbers.map((n) => row(`vm-${n}`, `Machine ${n}`, nowMs - (n % 20) * 1_000, n)),
    );
  }
}
