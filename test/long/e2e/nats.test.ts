/**
 * The whole path on real nats-servers of both supported versions. The test is the source of a VM's
 * CPU readings, so no machine has to be busy.
 */
import t, { type Test, test } from 'tap';
import { e2eSettings, observedVm, walkAlert } from '../../e2e/path.ts';
import { componentPath, needs } from '../../support/components.ts';
import { natsServerFor } from '../../support/nats-server.ts';
import { dataFolder, type Program, startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';

const [IDLE, BUSY] = [5, 95];

t.setTimeout(840_000);

for (const version of ['nats-server 2.10.27', 'nats-server 2.15.1'] as const) {
  test(`the whole path runs on ${version}`, needs(version), async (t) => {
    t.setTimeout(840_000);
    const server = await natsServerFor(t, { program: componentPath(version) });
    const receiver = await startReceiver(t);
    const program = await startProgram(t, dataFolder(t), {
      ...e2eSettings,
      SVC_COLLECT: 'none',
      SVC_NATS_URL: server.url,
      SVC_DEMO: 'on',
    });
    const report = startSource(t, program);
    const vm = await observedVm(program, () => true);
    const load = async () => {
      report(BUSY);
      return async () => report(IDLE);
    };
    await walkAlert(t, { program, receiver, vm, threshold: 90, load });
    t.equal(await program.stop(), 0);
  });
}

/**
 * Writes a reading of a VM every second until the test ends; the returned function sets its CPU
 * utilization, %.
 */
function startSource(t: Test, { call, demo }: Program): (utilization: number) => void {
  let value = IDLE;
  const write = async () => {
    const values = [{ series: 'svc_vm_cpu_utilization_pct', value }];
    const row = { vmName: 'vm-1', observedUnixMs: String(Date.now()), state: 'RUNNING', values };
    const request = { projectName: demo.projectName, rows: [row] };
    // The program stops before the test does.
    await call('ingest.v1.IngestService/WriteSamples', request, demo.collectorKey).catch(() => {});
  };
  void write();
  const timer = setInterval(() => void write(), 1_000);
  t.teardown(() => clearInterval(timer));
  return (utilization) => {
    value = utilization;
  };
}
