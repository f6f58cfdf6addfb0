/** The only copy of VM records in memory: it follows commits, in each way of reading it. */
import { test } from 'tap';
import { VmDirectory, vmDirectoryOf } from '../../actors/vms/vm-directory.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import { by, openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';

function shardOf(directory: VmDirectory): string[] {
  return Array.from(directory.shard(PROJECT, 0), ([vm]) => vm).sort();
}

test('a retired VM leaves its shard, and returns to it when it is reported', async (t) => {
  const world = await openAlertingWorld(t);
  const { host } = world;
  await world.cpu(1, ['vm-1', 'vm-2']);
  const following = new VmDirectory(host);
  t.same(shardOf(following), ['vm-1', 'vm-2']);
  await retireVms(host, { project: PROJECT, by, vms: ['vm-1'] });
  t.same(shardOf(following), ['vm-2']);
  t.ok(following.vms(PROJECT).get('vm-1')?.retiredMs, 'its record stays');
  const later = new VmDirectory(host);
  await later.load(PROJECT);
  t.same(shardOf(later), ['vm-2'], 'even in a directory that reads the records afterwards');
  await world.pass(30_000);
  await world.cpu(1, ['vm-1']);
  t.same(shardOf(following), ['vm-1', 'vm-2']);
  t.equal(vmDirectoryOf(host), vmDirectoryOf(host), 'a host has one directory');
});

test('a commit during a read of records in slices is in the directory', async (t) => {
  const world = await openAlertingWorld(t);
  const { host } = world;
  await world.cpu(1, ['vm-1', 'vm-2']);
  const directory = new VmDirectory(host);
  const changed: string[] = [];
  directory.onChange((project, vm) => changed.push(`${project} ${vm}`));
  const loading = directory.load(PROJECT);
  await retireVms(host, { project: PROJECT, by, vms: ['vm-2'] });
  await loading;
  t.same(shardOf(directory), ['vm-1']);
  t.same(changed, [`${PROJECT} vm-2`]);
  t.equal(directory.revision(PROJECT), 1);
});
