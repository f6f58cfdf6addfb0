/**
 * `ListVMMonitoring` on the wire: old values are never displayed as current, and pages stay right.
 */
import { test } from 'tap';
import { HistoryError } from '../../sqlite/telemetry/history/history-error.ts';
import { noRows } from '../../sqlite/telemetry/history/rows.ts';
import { vmMethods } from '../../src/telemetry/query/vm/vm-queries.ts';
import {
  type RpcWorld,
  type SampleRow,
  START_SECONDS,
  startRpcWorld,
  VM,
} from '../support/api-in-process.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';
import { tries } from '../support/tries.ts';

const CPU = 'svc_vm_cpu_utilization_pct';
const MEMORY = 'svc_vm_memory_used_bytes';
const at = (secondsAgo: number) => String(START_SECONDS - secondsAgo);

/** A row `secondsAgo` before the start. */
function row(secondsAgo: number, cpu?: number, more: Partial<SampleRow> = {}): SampleRow {
  const values = cpu === undefined ? [] : [{ series: CPU, value: cpu }];
  return { observedUnixMs: START_MS - secondsAgo * 1000, state: 'RUNNING', values, ...more };
}

test('The inventory', async (t) => {
  const list = async (world: RpcWorld, request: object = {}) =>
    (await world.call('ListVMMonitoring', { projectName: 'projects/demo', ...request })).body;
  const memory = (value: number) => ({ series: MEMORY, value });

  await t.test(
    'API-19: the inventory returns newest values only while they are fresh, 0 included',
    async (t) => {
      const world = await startRpcWorld(t);
      const values = [{ series: CPU, value: 0 }, memory(1024)];
      await world.write([row(0, undefined, { values, vcpus: 2, displayName: 'web' })]);
      t.same((await list(world)).vms, [
        {
          name: VM,
          displayName: 'web',
          state: 'RUNNING',
          datacenter: 'DC-1',
          vcpus: 2,
          telemetry: { state: 'LIVE', lastObservedUnix: at(0) },
          lastState: 'RUNNING',
          stateObservedUnix: at(0),
          expandedMonitoring: false,
          cpuUtilizationPct: 0,
          memoryUsedBytes: 1024,
          expanded: { available: true, reason: '', state: 'OFF' },
        },
      ]);
      const [bare] = (await list(world, { inventoryOnly: true })).vms;
      t.notOk('cpuUtilizationPct' in bare, 'without metrics, only the inventory');
      await world.clock.advance(90_001);
      const [old] = (await list(world)).vms;
      t.match(old, { state: 'UNKNOWN', telemetry: { state: 'STALE', lastObservedUnix: at(0) } });
      t.notOk(
        'cpuUtilizationPct' in old || 'memoryUsedBytes' in old,
        'old values are not returned',
      );
    },
  );
  await t.test('a VM whose rows are older than retention is listed without them', async (t) => {
    const world = await startRpcWorld(t);
    await world.write([row(0, 50, { vcpus: 2, displayName: 'web' })]);
    await world.clock.advance(7 * 86_400_000);
    const [last] = (await list(world)).vms;
    t.match(last, { telemetry: { state: 'STALE', lastObservedUnix: at(0) } }, 'at seven days');
    await world.clock.advance(1);
    const [vm] = (await list(world)).vms;
    t.match(vm, { name: VM, displayName: 'web', state: 'UNKNOWN', telemetry: { state: 'NEVER' } });
    t.notOk('lastObservedUnix' in vm.telemetry || 'vcpus' in vm, 'its values have expired');
    await world.write([row(-7 * 86_400, 60, { vcpus: 4 })]);
    const [again] = (await list(world)).vms;
    t.match(again, { displayName: 'web', telemetry: { state: 'LIVE' }, cpuUtilizationPct: 60 });
  });
  await t.test(
    'a value that the newest row lacks is returned only if it is fresh itself',
    async (t) => {
      const world = await startRpcWorld(t);
      await world.write([row(120, 50), row(0, undefined, { values: [memory(1)] })]);
      const [vm] = (await list(world)).vms;
      t.notOk('cpuUtilizationPct' in vm);
      t.equal(vm.memoryUsedBytes, 1);
    },
  );
  await t.test('a row from inside the guest does not hide the hypervisor’s values', async (t) => {
    const world = await startRpcWorld(t);
    const { key } = await world.agent('demo', 'vm-1');
    const guest = async (secondsAgo: number) => {
      const observedUnixMs = START_MS - secondsAgo * 1000;
      const values = [{ series: 'svc_vm_load1', value: 1 }];
      const rows = [{ vmName: 'vm-1', observedUnixMs, values }];
      const answer = await world.call(
        'WriteSamples',
        { projectName: 'projects/demo', rows },
        { key },
      );
      t.match(answer.body, { accepted: '1' });
      await world.settled();
    };
    await world.write([row(20, 5, { vcpus: 4 })]);
    await guest(0);
    const [vm] = (await list(world)).vms;
    t.match(vm, { state: 'RUNNING', vcpus: 4, cpuUtilizationPct: 5 });
    await guest(-60);
    await world.clock.advance(90_000);
    await guest(-80);
    const [later] = (await list(world)).vms;
    t.match(
      later,
      { state: 'UNKNOWN', telemetry: { state: 'LIVE' } },
      'nor is it returned for ever',
    );
    t.match(later, { lastState: 'RUNNING', stateObservedUnix: at(20) }, 'but as the last one');
    await world.clock.advance(1_800_000);
    for (let ago = -90; ago >= -1_800; ago -= 30) await guest(ago);
    const [latest] = (await list(world)).vms;
    t.match(latest, { state: 'UNKNOWN', telemetry: { state: 'LIVE' } }, 'after half an hour');
    t.match(latest, { lastState: 'RUNNING', stateObservedUnix: at(20) });
    t.notOk('vcpus' in later || 'cpuUtilizationPct' in later);
  });
  for (const state of ['RUNNING', 'PAUSED', 'STOPPED', 'CRASHED'] as const) {
    await t.test(`MEAS-10: ${state} is UNKNOWN once it is 90 s old, and remembered`, async (t) => {
      const world = await startRpcWorld(t);
      const hasValues = state === 'RUNNING' || state === 'PAUSED';
      await world.write([row(0, hasValues ? 5 : undefined, { state })]);
      const counted = async (states: string[]) => (await list(world, { states })).totalSize;
      const seen = async () => {
        const [vm] = (await list(world, { inventoryOnly: true })).vms;
        const one = (await world.call('GetVMMonitoring', { name: VM })).body;
        t.match(one, { state: vm.state, lastState: state, stateObservedUnix: at(0) });
        return [vm.state, vm.lastState, await counted([state]), await counted(['UNKNOWN'])];
      };
      await world.clock.advance(90_000);
      t.same(await seen(), [state, state, 1, 0], 'at 90 s');
      await world.clock.advance(1);
      t.same(await seen(), ['UNKNOWN', state, 0, 1], 'a millisecond later');
      await world.clock.advance(24 * 60_000);
      t.same(await seen(), ['UNKNOWN', state, 0, 1], 'after 24 minutes');
      await world.write([row(-1_530, 5)]);
      t.match(
        (await list(world)).vms,
        [{ state: 'RUNNING', lastState: 'RUNNING' }],
        'it is running again',
      );
    });
  }
  await t.test('MEAS-10: a VM without a reported state has no last state', async (t) => {
    const world = await startRpcWorld(t);
    await world.write([row(0, 5, { state: 'UNKNOWN' })]);
    const [vm] = (await list(world)).vms;
    t.match(vm, { state: 'UNKNOWN', telemetry: { state: 'LIVE' } });
    t.notOk('lastState' in vm || 'stateObservedUnix' in vm);
  });
  await t.test('API-19: VM states are UNKNOWN while their data center is stale', async (t) => {
    const world = await startRpcWorld(t);
    await world.write([row(0, 5)]);
    world.datacenterStates.set('DC-1', 'stale');
    const [vm] = (await list(world)).vms;
    t.match(vm, { state: 'UNKNOWN', telemetry: { state: 'STALE' } });
    t.match(vm, { lastState: 'RUNNING', stateObservedUnix: at(0) });
    t.notOk('cpuUtilizationPct' in vm);
  });
  await t.test('pages stay right while VMs are added', async (t) => {
    const world = await startRpcWorld(t);
    const add = (ids: string[]) => world.write(ids.map((vm) => row(0, 1, { vm })));
    await add(['b', 'd', 'f', 'h']);
    const first = await list(world, { pageSize: 2 });
    await add(['a', 'c', 'e', 'g']);
    const second = await list(world, { pageSize: 3, pageToken: first.nextPageToken });
    const last = await list(world, { pageSize: 3, pageToken: second.nextPageToken });
    const names = (page: { vms: { name: string }[] }) => page.vms.map(({ name }) => name.at(-1));
    t.same([names(first), names(second), names(last)], [['b', 'd'], ['e', 'f', 'g'], ['h']]);
    t.equal(last.nextPageToken, '');
  });
  await t.test(
    'pages of thousands of VMs stay right while VMs are added and removed',
    async (t) => {
      const world = await startRpcWorld(t);
      const id = (i: number) => `vm-${String(i).padStart(5, '0')}`;
      const add = (ids: readonly string[]) => world.write(ids.map((vm) => row(0, 1, { vm })));
      // Even numbers exist first; odd ones are added while pages are read.
      const there = Array.from({ length: tries(10_000, 2_500) }, (_, i) => id(2 * i));
      for (let i = 0; i < there.length; i += 1000) await add(there.slice(i, i + 1000));
      const gone: string[] = [];
      const remove = async (ids: readonly string[]) => {
        gone.push(...ids);
        await submit(
          world.host,
          { project: 'demo', by: { kind: 'operator', name: 'test' } },
          (draft) => {
            for (const vm of ids) draft.putRecord({ kind: 'vm', id: vm, body: null });
          },
        );
      };
      const reported: string[] = [];
      let pageToken = '';
      for (let page = 0; page === 0 || pageToken !== ''; page++) {
        const answer = await list(world, { pageSize: 900, pageToken });
        reported.push(...answer.vms.map(({ name }: { name: string }) => name.split('/').at(-1)));
        pageToken = answer.nextPageToken;
        // Before and after the page; the token's own VM is removed, too.
        await add([id(page), id(2 * 900 * (page + 1) + 1)]);
        await remove([reported.at(-1) ?? '', id(2 * (there.length - 1 - page))]);
      }
      t.same(reported, [...reported].sort(), 'in the order of their names');
      t.equal(new Set(reported).size, reported.length, 'none is repeated');
      const stayed = there.filter((vm) => !gone.includes(vm));
      t.same(
        stayed.filter((vm) => !reported.includes(vm)),
        [],
        'no VM that existed throughout is left out',
      );
    },
  );
  await t.test('a VM whose storage is damaged is not live; the others are unchanged', async (t) => {
    const expanded = { isAvailable: true, state: 'OFF' };
    const named = { displayName: 'x', datacenter: 'DC-1', expandedMonitoring: false } as const;
    const known = { ...named, expanded };
    const vms = ['good', 'bad', 'new'].map((id) => ({ ...known, id, datacenterState: 'live' }));
    const history = {
      newest(_project: string, vm: string) {
        if (vm === 'bad') throw new HistoryError('DAMAGED', 'Chunk 7: checksum');
        if (vm === 'new') return undefined;
        const stated = { observedMs: START_MS, state: 1 };
        return { observedMs: START_MS, stated, vcpus: 2, columns: noRows() };
      },
    };
    // The part of a history view that the method uses.
    const { vmInventory } = vmMethods(history as unknown as Parameters<typeof vmMethods>[0]);
    const call = { project: 'demo', nextPageToken: '', totalSize: 3, nowMs: START_MS, vms };
    const requested = { ...call, inventoryOnly: false, format: 'json' };
    const { result } = vmInventory?.(requested as never, () => false) ?? {};
    const { bytes, failures } = result as { bytes: Uint8Array; failures: object[] };
    t.same(failures, [{ vm: 'bad', message: 'Chunk 7: checksum' }]);
    const [good, bad, unseen] = JSON.parse(Buffer.from(bytes).toString()).vms;
    t.match(good, { state: 'RUNNING', vcpus: 2, telemetry: { state: 'LIVE' } });
    t.same(bad.telemetry, { state: 'ERROR' });
    t.match([bad, unseen], [{ state: 'UNKNOWN' }, { telemetry: { state: 'NEVER' } }]);
  });
  await t.test('bad pages are refused', async (t) => {
    const world = await startRpcWorld(t);
    const bad = (request: object) =>
      world.call('ListVMMonitoring', { projectName: 'projects/demo', ...request });
    t.match(await bad({ pageSize: -1 }), { status: 400, metadata: { field: 'pageSize' } });
    for (const pageToken of ['x', 'e30', Buffer.from('["vms","zz"]').toString('base64url')]) {
      t.match(await bad({ pageToken }), { status: 400, metadata: { field: 'pageToken' } });
    }
    const others = Buffer.from('["vms of other","[\\"\\",\\"vm-1\\"]"]').toString('base64url');
    t.match(await bad({ pageToken: others }), { status: 400, reason: 'INVALID_FIELD' });
    const alerts = Buffer.from('["alertRule","W10"]').toString('base64url');
    t.match(await bad({ pageToken: alerts }), { status: 400, reason: 'INVALID_FIELD' });
  });
});
