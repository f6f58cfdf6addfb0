/**
 * The whole path on this host: readings of its own CPU, a rule, a load, a signed webhook, a crash and
 * a graceful stop. On nats-server: test/long/e2e/nats.test.ts.
 */
import t, { test } from 'tap';
import { e2eSettings, loadThisHost, observedVm, walkAlert } from '../../../e2e/path.ts';
import { dataFolder, startProgram } from '../../../support/program.ts';
import { startReceiver } from '../../../support/receiver.ts';

t.setTimeout(840_000);

test('a stranger sees readings, saves a rule, loads the CPU and gets a signed webhook', {
  timeout: 840_000,
}, async (t) => {
  const folder = dataFolder(t);
  const receiver = await startReceiver(t);
  const program = await startProgram(t, folder, e2eSettings);
  const vm = await observedVm(program, () => true);
  t.equal(vm.state, 'RUNNING');
  t.ok((vm.memoryUsedBytes ?? 0) > 0, 'memory is observed');
  const { rule, incident } = await walkAlert(t, {
    program,
    receiver,
    vm,
    threshold: 35,
    load: loadThisHost,
  });

  await program.kill();
  const restarted = await startProgram(t, folder, e2eSettings);
  const { body } = await restarted.call('monitoring.v1.AlertService/GetAlertRule', {
    name: rule,
  });
  t.match(body, { name: rule, appliedVersion: '1', syncStatus: 'APPLIED' }, 'kept through a kill');
  const now = Math.floor(Date.now() / 1000);
  const query = await restarted.call('monitoring.v1.MonitoringService/QueryVMMonitoring', {
    name: vm.name,
    metricIds: ['cpu_utilization_pct'],
    startTimeUnix: String(now - 600),
    endTimeUnix: String(now),
    stepSeconds: 30,
  });
  t.match(query, { status: 200, body: { stepSeconds: 30, quality: { state: /LIVE|PARTIAL/ } } });
  t.equal((query.body.series as unknown[]).length, 1, 'history is kept through a kill');
  const ofIncident = receiver.received.filter(({ body }) => body.data.incidentName === incident);
  t.equal(ofIncident.length, 2, 'no user is notified twice after the restart');
  t.equal(await restarted.stop(), 0, 'a graceful stop ends with 0');
});
