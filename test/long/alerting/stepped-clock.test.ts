/**
 * The real program under libfaketime: the machine's clock runs an hour ahead for some seconds and
 * is set back. Elapsed time is not shifted, as on a machine whose clock is set.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import t, { test } from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { dataFolder, type Program, startProgram, until } from '../../support/program.ts';

const HOUR_MS = 3_600_000;
const ALERTS = 'monitoring.v1.AlertService';

interface Incident {
  readonly vmDisplayName: string;
  readonly state: string;
}

function callsOf(program: Program) {
  const { demo } = program;
  const projectName = demo.projectName;
  return {
    async write(values: Readonly<Record<string, number>>, aheadMs: number): Promise<void> {
      const rows = Object.entries(values).map(([vm, value]) => ({
        vmName: vm,
        displayName: vm,
        observedUnixMs: String(Date.now() + aheadMs),
        vcpus: 2,
        values: [{ series: 'svc_vm_cpu_utilization_pct', value }],
      }));
      const request = { projectName, batchId: randomUUID(), rows };
      const method = 'ingest.v1.IngestService/WriteSamples';
      const { status, body } = await program.call(method, request, demo.collectorKey);
      t.match({ status, rejected: body.rejected ?? [] }, { status: 200, rejected: [] });
    },
    async saveRule(vms: readonly string[]): Promise<void> {
      const spec = {
        displayName: 'stepped',
        metricId: 'cpu_utilization_pct',
        operator: 'GREATER_THAN',
        threshold: 90,
        sustainedSeconds: 0,
        severity: 'CRITICAL',
        allVms: false,
        vmNames: vms.map((vm) => `${projectName}/vms/${vm}`),
        enabled: true,
      };
      const id = randomUUID();
      const saved = await program.call(`${ALERTS}/SaveAlertRule`, {
        projectName,
        id,
        requestId: randomUUID(),
        expectedVersion: '0',
        spec,
      });
      t.equal(saved.status, 200, JSON.stringify(saved.body));
    },
    async incident(vm: string, state: string): Promise<Incident> {
      return await until(`${vm} is ${state}`, async () => {
        const { body } = await program.call(`${ALERTS}/ListIncidents`, { projectName });
        const incidents = (body.incidents ?? []) as Incident[];
        return incidents.find((one) => one.vmDisplayName === vm && one.state === state);
      });
    },
  };
}

test('DUR-28: VMs that reported while the clock was ahead are evaluated at once after it was set back', {
  ...needs('libfaketime'),
  timeout: 840_000,
}, async (t) => {
  const folder = dataFolder(t);
  const shift = join(folder, 'clock-shift');
  const setClock = (seconds: number) => writeFileSync(shift, `${seconds < 0 ? '' : '+'}${seconds}`);
  setClock(0);
  const settings = {
    LD_PRELOAD: componentPath('libfaketime'),
    FAKETIME_TIMESTAMP_FILE: shift,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
    SVC_COLLECT: 'none',
  };
  const data = join(folder, 'data');
  const program = await startProgram(t, data, settings);
  const calls = callsOf(program);
  await calls.write({ 'vm-a': 10, 'vm-b': 10 }, 0);
  await calls.saveRule(['vm-a', 'vm-b']);
  setClock(3600);
  await calls.write({ 'vm-a': 10, 'vm-b': 10 }, HOUR_MS);
  await sleep(6_000);
  await calls.write({ 'vm-a': 10, 'vm-b': 95 }, HOUR_MS);
  await calls.incident('vm-b', 'FIRING');
  setClock(0);
  await calls.write({ 'vm-a': 95, 'vm-b': 95 }, 0);
  await calls.incident('vm-a', 'FIRING');
  await calls.incident('vm-b', 'FIRING');
  await until('the log reports the step', async () =>
    /The clock of this machine was set back by 3[56]\d\d s/.test(program.log()) ? true : undefined,
  );
  const { status, text } = await program.get('/readyz');
  t.equal(status, 200);
  const { parts } = JSON.parse(text) as { parts: { name: string; state: string }[] };
  t.match(
    parts.find(({ name }) => name === 'clock'),
    { state: 'degraded' },
  );
  t.equal(await program.stop(), 0, program.log());

  // A program that starts after the step reads the earlier log.
  const again = await startProgram(t, data, settings);
  const later = callsOf(again);
  await later.incident('vm-a', 'FIRING');
  await later.incident('vm-b', 'FIRING');
  await later.write({ 'vm-a': 10, 'vm-b': 10 }, 0);
  await later.incident('vm-a', 'RECOVERED');
  await later.incident('vm-b', 'RECOVERED');
  await later.write({ 'vm-a': 96 }, 0);
  await later.incident('vm-a', 'FIRING');
});
