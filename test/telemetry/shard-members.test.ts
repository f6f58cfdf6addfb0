/** Which VMs an export shard is made of: those that are there, whatever came and went. */
import t from 'tap';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import { ShardMembers } from '../../src/telemetry/export/shard-members.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { by, openAlertingWorld, PROJECT } from '../support/alerting-world.ts';

t.test('a retired VM leaves its shard, and comes back into it', async (t) => {
  const world = await openAlertingWorld(t);
  const { host } = world;
  await world.cpu(1, ['vm-1', 'vm-2']);
  const following = new ShardMembers({ host, clock: systemClock });
  t.teardown(() => following.close());
  const ids = async (members: ShardMembers) =>
    (await members.of(PROJECT, 0)).map(({ vm }) => vm).sort();
  t.same(await ids(following), ['vm-1', 'vm-2']);
  await retireVms(host, { project: PROJECT, by, vms: ['vm-1'] });
  t.same(await ids(following), ['vm-2']);
  const later = new ShardMembers({ host, clock: systemClock });
  t.teardown(() => later.close());
  t.same(await ids(later), ['vm-2'], 'also where it was never followed');
  await world.pass(30_000);
  await world.cpu(1, ['vm-1']);
  t.same(await ids(following), ['vm-1', 'vm-2']);
});
