/**
 * A fleet with VMs whose names or mounts cannot be stored, against a real service: every VM's rows
 * are stored, and missing readings are reported by the collector, to the service's operator and to
 * the project.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { silentLog } from '../../src/platform/log.ts';
import { writeEnrolment } from '../../src/vms/agent/enrolment-file.ts';
import { startCollect } from '../../src/vms/collect/collect.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { dataFolder, runInProcess, until } from '../support/program.ts';
import { fleetDomain, virshOf } from '../support/recorded-fleet.ts';
import { startService } from '../support/service-in-process.ts';

const LIST = 'monitoring.v1.MonitoringService/ListVMMonitoring';
const QUERY = 'monitoring.v1.MonitoringService/QueryVMMonitoring';
const NOTICES = 'monitoring.v1.AlertService/ListNotices';
const URI = 'qemu:///system';

test('SRC-16: a guest with a long mount path or name loses only that reading', async (t) => {
  const data = dataFolder(t);
  const service = await startService(t, data);
  const admin = async (...words: string[]) => {
    const { code, stdout, text } = await runInProcess(['admin', ...words, '--data', data]);
    if (code !== 0) throw new Error(text);
    return stdout;
  };
  const made = await admin('collector-key', 'create', '--datacenter', 'DC-1', '--json');
  const { key, id } = JSON.parse(made);
  const folder = dataFolder(t);
  const about = { projectName: '', vmName: '', expiresUnix: 0, machine: '' };
  writeEnrolment(folder, { endpoint: service.demo.baseUrl, key, ...about });
  const mappingPath = join(folder, 'collect.map');
  writeFileSync(mappingPath, `source ${URI}\nname * project demo`);
  const [web, long, many] = [
    { ...fleetDomain(1, 'web'), mounts: ['/', '/data'] },
    { ...fleetDomain(2, 'n'.repeat(230)), mounts: ['/', `/${'m'.repeat(220)}`] },
    { ...fleetDomain(3, 'many'), mounts: Array.from({ length: 600 }, (_, i) => `/mnt/${i}`) },
  ];
  const collect = startCollect({
    folder,
    mappingPath,
    intervalMs: 1_000,
    bytesMax: 2 ** 24,
    fileSystems: true,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    run: virshOf({ [URI]: [web, long, many] }),
  });
  t.teardown(() => collect.stop());

  const status = await until('the readings that are left out', () => {
    const { notStorable = [], ...rest } = collect.status();
    return notStorable.length >= 2 ? { notStorable, ...rest } : undefined;
  });
  t.match(status.notStorable.join('\n'), /readings of VM "n+" cannot .* has 221 characters/);
  t.match(status.notStorable.join('\n'), /VM "many" cannot .* 1000 series/);
  t.match(status.projects, [{ project: 'demo', droppedRows: 0 }]);
  t.same(status.faults, []);

  const vms = await until('all VMs', async () => {
    const { body } = await service.call(LIST, { projectName: 'projects/demo' });
    const found = body.vms as readonly { readonly displayName: string; readonly name: string }[];
    return found.length === 3 ? found : undefined;
  });
  t.same(vms.map(({ displayName }) => displayName).sort(), ['many', 'n'.repeat(200), 'web']);
  const untilNow = () => {
    const now = Math.floor(systemClock.now() / 1000);
    return {
      name: `projects/demo/vms/${long.uuid}`,
      metricIds: ['filesystem_used_pct'],
      startTimeUnix: String(now - 60),
      endTimeUnix: String(now),
      stepSeconds: 30,
    };
  };
  const [mounts, listed, notice] = await Promise.all([
    until('mounts', async () => {
      const { body } = await service.call(QUERY, untilNow());
      const series = body.series as readonly { readonly labels: { readonly mountpoint: string } }[];
      return series.length > 0 ? series.map(({ labels }) => labels.mountpoint) : undefined;
    }),
    until('the operator', async () => {
      const text = await admin('collectors');
      return /not stored/.test(text) ? text : undefined;
    }),
    until('the notice', async () => {
      const { body } = await service.call(NOTICES, { projectName: 'projects/demo' });
      return (body.notices as readonly object[])[0];
    }),
  ]);
  t.same(mounts, ['/'], 'its other mount is stored');
  t.match(listed, new RegExp(`${id} +demo +${long.uuid} +\\S+ +BAD_(LABEL|FIELD) +\\d+`));
  t.match(notice, { kind: 'READINGS_REFUSED', text: /arrive but are not stored/ });
});
