/**
 * `PreviewAlertRule` on the wire: what a rule would have done over stored history, how complete
 * that is, and that nothing comes of it but the answer.
 */
import Database from 'better-sqlite3';
import t from 'tap';
import { START_MS } from '../support/credential-world.ts';
import {
  type RpcWorld,
  type SampleRow,
  START_SECONDS,
  startRpcWorld,
  VM,
  withThreads,
} from '../support/rpc-world.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const OTHER = 'projects/demo/vms/vm-2';
const spec = {
  ...{ displayName: 'CPU', metricId: 'cpu_utilization_pct', operator: 'GREATER_THAN' },
  ...{ threshold: 90, sustainedSeconds: 300, severity: 'WARNING', allVms: true },
};

/** Unix seconds, as the API writes them. */
const ago = (seconds: number) => String(START_SECONDS - seconds);

function preview(world: RpcWorld, change: object = {}, request: object = {}) {
  return world.call('PreviewAlertRule', {
    ...{ projectName: 'projects/demo', historySeconds: 3600, spec: { ...spec, ...change } },
    ...request,
  });
}

/** Rows every 30 s from `fromAgo` to `toAgo` seconds before now, with the CPU of each second. */
function rows(
  fromAgo: number,
  toAgo: number,
  cpu: (secondsAgo: number) => number | undefined,
  vm = 'vm-1',
): SampleRow[] {
  const all: SampleRow[] = [];
  for (let at = fromAgo; at >= toAgo; at -= 30) {
    const value = cpu(at);
    const observedUnixMs = START_MS - at * 1000;
    const values = value === undefined ? [] : [{ series: CPU, value }];
    all.push({ vm, observedUnixMs, state: 'RUNNING', vcpus: 2, values });
  }
  return all;
}

/** Busy from 2400 to 1800 seconds ago, and since 600 seconds. */
const busyTwice = (at: number) => ((at <= 2400 && at > 1800) || at <= 600 ? 95 : 10);

t.test('A preview tells when the rule would have fired, and when recovered', async (t) => {
  const world = await startRpcWorld(t);
  await world.write(rows(3600, 0, busyTwice));
  await world.write(rows(3600, 0, () => 20, 'vm-2'));
  t.match(await preview(world), {
    status: 200,
    body: {
      ...{ queryStatus: 'OK', historyStatus: 'COMPLETE', truncated: false },
      ...{ evaluatedSamples: '240', expectedSamples: '240' },
      wouldHaveFired: [
        { vmName: VM, labels: {}, startUnix: ago(2400), endUnix: ago(1800) },
        { vmName: VM, labels: {}, startUnix: ago(600), endUnix: undefined },
      ],
    },
  });
  const { body } = await preview(world, { sustainedSeconds: 900 });
  t.same(body.wouldHaveFired, [], 'neither lasted for 15 minutes');
});
