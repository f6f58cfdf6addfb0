/** The whole path on one host with the embedded stream, with a crash and a graceful stop in it. */
import t from 'tap';
import { dataFolder, startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { burnThisHost, e2eSettings, observedVm, walkAlert } from '../path.ts';

t.test(
  'a stranger sees readings, saves a rule, loads the CPU and gets a signed webhook',
  async (t) => {
    t.setTimeout(150_000);
    const folder = dataFolder(t);
    const receiver = await startReceiver(t);
    const program = await startProgram(t, folder, e2eSettings);
    const vm = await observedVm(program, () => true);
    t.equal(vm.state, 'RUNNING');
    t.ok((vm.memoryUsedBytes ?? 0) > 0, 'memory is observed');
    const { rule } = await walkAlert(t, {
      program,
      receiver,
      vm,
      threshold: 90,
      load: burnThisHost,
    });

    await program.kill();
    const restarted = await startProgram(t, folder, e2eSettings);
    const { body } = await restarted.call('monitoring.v1.AlertService/GetAlertRule', {
      name: rule,
    });
    t.match(
      body,
      { name: rule, appliedVersion: '1', syncStatus: 'APPLIED' },
      'kept through a kill',
    );
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
    t.equal(receiver.received.length, 2, 'nobody is told twice after the restart');
    t.equal(await restarted.stop(), 0, 'a graceful stop ends with 0');
  },
);
