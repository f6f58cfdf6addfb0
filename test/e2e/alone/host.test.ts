/**
 * The whole path on one host, on each kind of stream at the same time: the embedded one, with a
 * crash and a graceful stop, and real nats-servers of both supported versions. They watch the same
 * machine, and so share one load of it.
 */
import t from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { dataFolder, startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { e2eSettings, observedVm, sharedLoad, walkAlert } from '../path.ts';

const servers = ['nats-server 2.10.27', 'nats-server 2.15.1'] as const;

t.jobs = 1 + servers.length;
t.setTimeout(240_000);
const atOnce = { buffered: true, timeout: 240_000 };
const load = sharedLoad(1 + servers.filter((name) => needs(name).skip === undefined).length);

t.test(
  'a stranger sees readings, saves a rule, loads the CPU and gets a signed webhook',
  atOnce,
  async (t) => {
    const folder = dataFolder(t);
    const receiver = await startReceiver(t);
    const program = await startProgram(t, folder, e2eSettings);
    const vm = await observedVm(program, () => true);
    t.equal(vm.state, 'RUNNING');
    t.ok((vm.memoryUsedBytes ?? 0) > 0, 'memory is observed');
    const { rule, incident } = await walkAlert(t, { program, receiver, vm, threshold: 90, load });

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
    const ofIncident = receiver.received.filter(({ body }) => body.data.incidentName === incident);
    t.equal(ofIncident.length, 2, 'nobody is notified twice after the restart');
    t.equal(await restarted.stop(), 0, 'a graceful stop ends with 0');
  },
);

for (const version of servers) {
  t.test(`the whole path runs on ${version}`, { ...needs(version), ...atOnce }, async (t) => {
    const server = await startNatsServer({
      program: componentPath(version),
      folder: dataFolder(t),
    });
    t.teardown(() => server.kill());
    const receiver = await startReceiver(t);
    const program = await startProgram(t, dataFolder(t), {
      ...e2eSettings,
      SVC_NATS_URL: server.url,
      SVC_DEMO: 'on',
    });
    const vm = await observedVm(program, () => true);
    await walkAlert(t, { program, receiver, vm, threshold: 90, load });
    t.equal(await program.stop(), 0);
  });
}
