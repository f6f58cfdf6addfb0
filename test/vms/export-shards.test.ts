/**
 * The slot of a VM in the exports, over restarts and any other event of the project: a random
 * history, whose oracle is the first slot observed for each VM.
 */

import fc from 'fast-check';
import { test } from 'tap';
import { SHARD_VMS_MAX, shardCount } from '../../actors/vms/export-shards.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import { itemsOf } from '../../streams/platform/commit/page.ts';
import { RETENTION_MS } from '../../streams/telemetry/entry.ts';
import {
  type AlertingWorld,
  cpuRow,
  openAlertingWorld,
  PROJECT,
  START_MS,
} from '../support/alerting-on-host.ts';

const SERVICE = { kind: 'service', name: 'test' } as const;

/** A registry as a start creates it: it knows only the records. */
function startRegistry({ host, clock }: AlertingWorld): VmRegistry {
  return new VmRegistry({ host, clock, datacenter: 'DC-1' });
}

async function report(registry: VmRegistry, vms: readonly string[], name = ''): Promise<void> {
  const rows = vms.map((vm) => ({ ...cpuRow(vm, START_MS, 1), displayName: `${vm} ${name}` }));
  await registry.register(PROJECT, rows);
}

/** Shard of every VM that has one. */
function places(world: AlertingWorld): Map<string, number> {
  const found = new Map<string, number>();
  const view = world.host.view(PROJECT);
  for (const { id, body } of itemsOf(1_000, (page) => view.records('vm', page))) {
    if (typeof body.exportShard === 'number') found.set(id, body.exportShard);
  }
  return found;
}

type Step =
  | {
      readonly kind: 'report';
      readonly from: number;
      readonly count: number;
      readonly name: string;
    }
  | { readonly kind: 'remove'; readonly vm: number }
  | { readonly kind: 'restart' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('report' as const),
      from: fc.nat(1_500),
      count: fc.integer({ min: 1, max: 600 }),
      name: fc.constantFrom('', 'renamed'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), vm: fc.nat(1_500) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

test('API-04: a VM never changes its shard, and a shard has at most 500 VMs', async (t) => {
  const seen = { histories: 0, places: 0, shards: 0, restarts: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
      const world = await openAlertingWorld(t);
      let registry = startRegistry(world);
      const first = new Map<string, number>();
      let shards = 0;
      for (const one of steps) {
        if (one.kind === 'restart') {
          registry = startRegistry(world);
          seen.restarts++;
        } else if (one.kind === 'report') {
          const names = Array.from({ length: one.count }, (_, i) => `vm-${(one.from + i) % 1_500}`);
          await report(registry, names, one.name);
        } else {
          const id = `vm-${one.vm}`;
          first.delete(id);
          const decide = (draft: { putRecord(change: object): void }) =>
            draft.putRecord({ kind: 'vm', id, body: null });
          await world.host.submit({ project: PROJECT, by: SERVICE, decide });
        }
        const now = places(world);
        const sizes = new Map<number, number>();
        for (const [vm, shard] of now) {
          if ((first.get(vm) ?? shard) !== shard) throw new Error(`${vm} moved to shard ${shard}`);
          first.set(vm, shard);
          sizes.set(shard, (sizes.get(shard) ?? 0) + 1);
        }
        if (Math.max(0, ...sizes.values()) > SHARD_VMS_MAX) throw new Error('a shard is too full');
        const count = shardCount(world.host.view(PROJECT));
        if (count < shards) throw new Error('a shard has disappeared');
        if ([...sizes.keys()].some((shard) => shard >= count))
          throw new Error('a shard is unlisted');
        shards = count;
        seen.places += now.size;
      }
      seen.shards = Math.max(seen.shards, shards);
      seen.histories++;
    }),
    { numRuns: 12, seed: 20_261_121 },
  );
  t.equal(seen.histories, 12);
  t.ok(seen.places > 10_000, `${seen.places} slots were compared`);
  t.ok(seen.shards > 2 && seen.restarts > 0, `${seen.shards} shards, ${seen.restarts} restarts`);
});

test('API-04: a slot passes to a new VM seven days after its VM was retired', async (t) => {
  const world = await openAlertingWorld(t);
  const registry = startRegistry(world);
  const names = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => `vm-${from + i}`);
  const retire = async (vms: readonly string[]) => {
    for (let i = 0; i < vms.length; i += 200) {
      const by = SERVICE;
      await retireVms(world.host, { project: PROJECT, by, vms: vms.slice(i, i + 200) });
    }
  };
  const shards = () => shardCount(world.host.view(PROJECT));
  await report(registry, names(0, SHARD_VMS_MAX));
  await retire(names(0, 450));
  await world.clock.advance(RETENTION_MS);
  await report(registry, names(1_000, 10));
  t.equal(shards(), 2, 'history of the retired VMs is still stored');
  await world.clock.advance(1);
  await report(registry, names(2_000, 900));
  t.equal(shards(), 2, '490 slots of the second shard were free, and 450 of the first');
  const now = places(world);
  const inFirst = [...now].filter(([, shard]) => shard === 0).map(([vm]) => vm);
  t.equal(inFirst.length, SHARD_VMS_MAX);
  t.equal(inFirst.filter((vm) => Number(vm.slice(3)) < SHARD_VMS_MAX).length, 90, '410 passed on');
  t.match([now.get('vm-449'), now.get('vm-450')], [0, 0], 'unneeded slots stay with their VMs');

  // A VM that returns gets a slot like a new one, and no slot is taken twice.
  const again = startRegistry(world);
  const at = world.clock.now();
  const rows = names(0, 450).map((vm) => ({ ...cpuRow(vm, at, 1), displayName: vm }));
  await again.register(PROJECT, rows);
  const sizes = new Map<number, number>();
  for (const [, shard] of places(world)) sizes.set(shard, (sizes.get(shard) ?? 0) + 1);
  t.same([...sizes].sort(), [
    [0, SHARD_VMS_MAX],
    [1, SHARD_VMS_MAX],
    [2, 410],
  ]);
});

test('VMs that an older version registered get their slot with their next row', async (t) => {
  const world = await openAlertingWorld(t);
  const decide = (draft: { putRecord(change: object): void }) => {
    for (const id of ['old-1', 'old-2']) {
      const body = { displayName: id, datacenter: 'DC-1', expandedMonitoring: false };
      draft.putRecord({ kind: 'vm', id, body: { ...body, registeredMs: START_MS - 1 } });
    }
  };
  await world.host.submit({ project: PROJECT, by: SERVICE, decide });
  t.same([...places(world)], []);
  const registry = startRegistry(world);
  await report(registry, ['old-2', 'new']);
  t.same([...places(world)].sort(), [
    ['new', 0],
    ['old-2', 0],
  ]);
  const vm = world.host.view(PROJECT).record('vm', 'old-2');
  t.match(vm?.body, { registeredMs: START_MS - 1 });
  const before = world.host.appliedSequence();
  await report(registry, ['old-2', 'new']);
  t.equal(world.host.appliedSequence(), before, 'once');
});

test('VMs that register at the same moment do not share a slot', async (t) => {
  const world = await openAlertingWorld(t);
  const registry = startRegistry(world);
  const vms = Array.from({ length: SHARD_VMS_MAX + 5 }, (_, i) => `vm-${i}`);
  await report(registry, vms.slice(0, SHARD_VMS_MAX - 5));
  await Promise.all(vms.slice(SHARD_VMS_MAX - 5).map((vm) => report(registry, [vm])));
  const shards = [...places(world).values()];
  t.equal(shards.filter((shard) => shard === 0).length, SHARD_VMS_MAX);
  t.equal(shards.filter((shard) => shard === 1).length, 5);
});
