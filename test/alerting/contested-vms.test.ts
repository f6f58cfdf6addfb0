/**
 * Notices of VMs that two collectors report as running, with a host in memory and a virtual clock.
 */
import { test } from 'tap';
import { announceContested } from '../../actors/alerting/contested-vms.ts';
import type { ContestedVm } from '../../actors/vms/vm-sources.ts';
import { cpuRow, openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';

test('SRC-19: a VM that runs in two places has a notice for as long as it does', async (t) => {
  const world = await openAlertingWorld(t);
  const { host, clock } = world;
  await world.ingest.write({
    project: PROJECT,
    batchId: '',
    rows: [{ ...cpuRow('vm-1', clock.now(), 1), displayName: 'web' }],
  });
  const about = { project: PROJECT, source: 'collectors/keys/a', other: 'collectors/keys/b' };
  let contested: ContestedVm[] = [];
  const at = (vm: string): ContestedVm => ({ ...about, vm, sinceMs: 0 });
  const start = () =>
    world.run((signal) =>
      announceContested(
        {
          host,
          clock,
          ownership: { owns: () => true },
          sources: { contested: () => contested },
        },
        signal,
      ),
    );
  const notices = () =>
    host
      .view(PROJECT)
      .records('notice', { limit: 100 })
      .items.map(({ body }) => body)
      .filter(({ kind }) => kind === 'VM_CONTESTED');
  const stop = start();
  await world.pass(60_000);
  t.same(notices(), []);
  contested = [at('vm-1')];
  await world.pass(16_000);
  t.match(notices(), [{ subject: { collection: 'vms', id: 'vm-1' }, endedMs: null }]);
  t.match(notices()[0], { text: /^The VM web runs in two places: .*\/a reports it, .*\/b are/ });
  const sequence = host.appliedSequence();
  await world.pass(600_000);
  t.equal(host.appliedSequence(), sequence, 'raised once');
  await stop();
  const stopAgain = start();
  await world.pass(60_000);
  t.match(notices(), [{ endedMs: null }], 'after a restart both must be heard again');
  contested = [];
  await world.pass(300_000);
  t.match(notices(), [{ endedMs: Number }]);
  contested = Array.from({ length: 30 }, (_, i) => at(`vm-${i + 10}`));
  await world.pass(16_000);
  t.equal(notices().filter(({ endedMs }) => endedMs === null).length, 20, 'at most 20 per project');
  await stopAgain();
});
