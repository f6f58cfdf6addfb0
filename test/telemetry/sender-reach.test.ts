/**
 * The reach of a sender: a collector may report the machines of its data center, an agent the
 * expanded series of its own VM. Rows pass the real ingest, registry and log. A rejection is
 * reported by row and series, and nothing rejected is stored.
 */

import { type Test, test } from 'tap';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import type { WriteAnswer } from '../../actors/telemetry/ingest/ingest-port.ts';
import { PartitionWriter, pastEntries } from '../../actors/telemetry/sample-log.ts';
import { Datacenters } from '../../actors/vms/datacenters.ts';
import type { IngestRow, SenderReach } from '../../actors/vms/sent-row.ts';
import type { VmBody } from '../../actors/vms/vm-directory.ts';
import { VmRegistry } from '../../actors/vms/vm-registry.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { EXPANDED_SERIES, metricCatalogue } from '../../streams/telemetry/metrics/catalogue.ts';
import {
  by,
  CPU,
  cpuRow,
  openAlertingWorld,
  PROJECT,
  START_MS,
} from '../support/alerting-on-host.ts';
import { submit } from '../support/submit.ts';

const LOAD = 'svc_vm_load1';
const DC2: SenderReach = { name: 'collectors/dc2', datacenter: 'DC-2', vm: null };
const DC3: SenderReach = { name: 'collectors/dc3', datacenter: 'DC-3', vm: null };
const ANY: SenderReach = { name: 'collectors/any', datacenter: null, vm: null };
const AGENT: SenderReach = { name: 'vms/vm-1', datacenter: 'DC-1', vm: 'vm-1' };

async function reaching(t: Test) {
  const world = await openAlertingWorld(t);
  const reports: (string | undefined)[] = [];
  const noted: string[] = [];
  // Sources of earlier parts of a test have no rows left.
  const registry = new VmRegistry({ ...world, datacenter: 'DC-1', newest: () => undefined });
  const ingest = createIngest({
    clock: world.clock,
    writer: new PartitionWriter(world),
    registry,
    clocks: { record: (what, _project, vm) => void noted.push(`${vm} ${what}`) },
    onRows: (datacenter) => void reports.push(datacenter),
    onSamples: () => {},
  });
  const write = (rows: readonly IngestRow[], reach?: SenderReach, batchId = '') =>
    ingest.write({ project: PROJECT, batchId, rows, ...(reach && { reach }) });
  const vm = (id: string) => world.host.view(PROJECT).record('vm', id)?.body;
  const put = (id: string, change: { [Field in keyof VmBody]?: VmBody[Field] | undefined }) =>
    submit(world.host, { project: PROJECT, by }, (draft) => {
      const unknown = {
        displayName: '',
        datacenter: '',
        expandedMonitoring: false,
        registeredMs: 0,
      };
      const body = { ...(draft.record('vm', id)?.body ?? unknown), ...change };
      draft.putRecord({ kind: 'vm', id, body: body as VmBody });
      return null;
    });
  return { ...world, registry, write, vm, put, reports, noted };
}

/** Stored rows as `vm boot state vcpus series=value ...`, the newest last. */
async function stored({ stream }: Awaited<ReturnType<typeof reaching>>): Promise<string[]> {
  const rows: string[] = [];
  for await (const { entry } of pastEntries(stream, { sequence: 1 })) {
    if (entry.kind !== 'batch') continue;
    const { batch } = entry;
    for (let i = 0; i < batch.count; i++) {
      const { series } = batch.layouts[batch.layout[i] ?? 0] ?? { series: [] };
      const from = batch.valueOffset[i] ?? 0;
      const values = series.map((key, at) => `${key}=${batch.values[from + at]}`);
      const boot = batch.strings[batch.boot[i] ?? 0];
      const answered = [batch.vms[batch.vm[i] ?? 0]?.vm, boot, batch.state[i], batch.vcpus[i]];
      rows.push([...answered, ...values].join(' '));
    }
  }
  return rows;
}

/** Readings from inside the guest, without any that the hypervisor reports. */
function agentRow(observedMs: number, change: Partial<IngestRow> = {}): IngestRow {
  return {
    vm: 'vm-1',
    observedMs,
    sequence: 1,
    boot: '',
    vcpus: Number.NaN,
    state: 0,
    stateReason: '',
    series: [LOAD],
    values: [1],
    ...change,
  };
}

/** Answer of ingest without its position in the log. */
function withoutPosition({ sequence: _, ...answer }: WriteAnswer) {
  return answer;
}

test('a collector of a data center registers its VMs there and reports only for it', async (t) => {
  const world = await reaching(t);
  await world.write([cpuRow('vm-1', START_MS, 1)], ANY);
  await world.write([cpuRow('vm-2', START_MS, 1)], DC2);
  t.match(world.vm('vm-1'), { datacenter: 'DC-1' }, 'not bound: the node’s');
  t.match(world.vm('vm-2'), { datacenter: 'DC-2' });
  const answer = await world.write(
    [cpuRow('vm-2', START_MS + 1, 2), cpuRow('vm-1', START_MS + 1, 3), cpuRow('vm-3', START_MS, 4)],
    DC2,
  );
  t.same(withoutPosition(answer), {
    accepted: 2,
    duplicates: 0,
    rejected: [{ row: 1, series: '', reason: 'OTHER_DATACENTER' }],
  });
  t.same(world.reports, [undefined, 'DC-2', 'DC-2']);
  t.equal((await stored(world)).length, 4, 'the rejected row is in no log');
  const refused = await world.write([cpuRow('vm-2', START_MS + 2, 5)], DC3);
  t.match(refused, { accepted: 0, rejected: [{ reason: 'OTHER_DATACENTER' }] });
  t.equal(world.reports.length, 3, 'rows that were all rejected are not a report');
});

test('the first of two data centers that report a new VM at once gets it', async (t) => {
  const world = await reaching(t);
  const answers = await Promise.all([
    world.write([cpuRow('vm-9', START_MS, 1)], DC2),
    world.write([cpuRow('vm-9', START_MS, 2), cpuRow('vm-8', START_MS, 2)], DC3),
  ]);
  t.match(answers, [
    { accepted: 1, rejected: [] },
    { accepted: 1, rejected: [{ row: 0, series: '', reason: 'OTHER_DATACENTER' }] },
  ]);
  t.match(world.vm('vm-9'), { datacenter: 'DC-2' });
  t.equal((await stored(world)).length, 2);
});

test('another data center’s VM is known after a restart, and only the node can move it', async (t) => {
  const world = await reaching(t);
  await world.write([cpuRow('vm-2', START_MS, 1)], DC2);
  const after = new VmRegistry({ ...world, datacenter: 'DC-9' });
  t.match(after.finder(PROJECT)('vm-2'), { datacenter: 'DC-2' });
  const renamed = () => ({ ...cpuRow('vm-2', world.clock.now(), 1), displayName: 'db' });
  /** Once the previous source has been silent for three intervals. */
  const takeOver = async (reach?: SenderReach): Promise<void> => {
    for (let round = 0; round < 4; round++) {
      await world.clock.advance(30_000);
      await world.write([renamed()], reach);
    }
  };
  await takeOver(ANY);
  t.match(world.vm('vm-2'), { datacenter: 'DC-2', displayName: 'db' }, 'an unbound key moves none');
  await takeOver();
  t.match(world.vm('vm-2'), { datacenter: 'DC-1' }, 'the node’s own collector observes it here');
  t.match(await world.write([cpuRow('vm-2', START_MS + 1, 1)], DC2), {
    rejected: [{ reason: 'OTHER_DATACENTER' }],
  });
});

test('the expanded series are those that only a guest can report', async (t) => {
  t.same([...EXPANDED_SERIES].sort(), [
    'svc_vm_load1',
    'svc_vm_memory_available_bytes',
    'svc_vm_processes_running',
    'svc_vm_swap_used_bytes',
  ]);
  const others = [...metricCatalogue.values()].filter(({ expanded }) => !expanded);
  t.notOk(others.some(({ promqlName }) => EXPANDED_SERIES.has(promqlName)));
});

test('an agent writes expanded series of its own VM, and nothing else', async (t) => {
  const world = await reaching(t);
  await world.write([
    { ...cpuRow('vm-1', START_MS, 1), displayName: 'web' },
    cpuRow('vm-2', START_MS, 1),
  ]);
  const before = world.host.appliedSequence();
  const rows = [
    agentRow(START_MS + 1),
    agentRow(START_MS + 2, { vm: 'vm-2' }),
    agentRow(START_MS + 3, { series: [LOAD, CPU], values: [2, 100] }),
    agentRow(START_MS + 4, { series: [CPU, 'my_own'], values: [100, 1] }),
    agentRow(START_MS + 5, {
      vcpus: 64,
      state: 3,
      stateReason: 'shutdown',
      displayName: 'evil',
      boot: 'b',
      sequence: 9,
    }),
    agentRow(START_MS + 6, { series: [`${LOAD}{a="b"}`], values: [1] }),
    agentRow(START_MS + 7, { series: [], values: [] }),
  ];
  const answer = await world.write(rows, AGENT);
  t.same(withoutPosition(answer), {
    accepted: 3,
    duplicates: 0,
    rejected: [
      { row: 1, series: '', reason: 'OTHER_VM' },
      { row: 2, series: CPU, reason: 'NOT_EXPANDED' },
      { row: 3, series: CPU, reason: 'NOT_EXPANDED' },
      { row: 3, series: 'my_own', reason: 'NOT_EXPANDED' },
      { row: 4, series: 'vcpus', reason: 'NOT_EXPANDED' },
      { row: 4, series: 'state', reason: 'NOT_EXPANDED' },
      { row: 4, series: 'displayName', reason: 'NOT_EXPANDED' },
      { row: 5, series: `${LOAD}{a="b"}`, reason: 'NOT_EXPANDED' },
      { row: 6, series: '', reason: 'NOT_EXPANDED' },
    ],
  });
  t.same((await stored(world)).slice(2), [
    `vm-1  0 NaN ${LOAD}=1`,
    `vm-1  0 NaN ${LOAD}=2`,
    `vm-1  0 NaN ${LOAD}=1`,
  ]);
  t.match(
    world.vm('vm-1'),
    { displayName: 'web', expandedMonitoring: false },
    'and neither do its rows',
  );
  t.equal(world.host.appliedSequence(), before, 'they cause no commit');
  t.same(world.reports, [undefined], 'an agent keeps no data center live');
});

test('a guest’s clock is not its VM’s: an agent’s faults mark no other reading', async (t) => {
  const world = await reaching(t);
  await world.write([{ ...cpuRow('vm-1', START_MS, 1), sequence: 1 }]);
  const answer = await world.write(
    [agentRow(START_MS + 3_600_000), agentRow(START_MS + 40_000, { sequence: 1 })],
    AGENT,
  );
  t.match(answer, { accepted: 1, rejected: [{ row: 0, reason: 'CLOCK_AHEAD' }] });
  await world.write([agentRow(START_MS + 5_000, { sequence: 9 })], AGENT);
  const own = { ...cpuRow('vm-1', START_MS + 10_000, 1), sequence: 2 };
  t.match(await world.write([own]), { duplicates: 0 });
  t.same(world.noted, []);
  await world.write([{ ...cpuRow('vm-1', START_MS + 3_600_000, 1) }], ANY);
  t.same(world.noted, ['vm-1 CLOCK_AHEAD'], 'a collector’s is recorded');
});

test('only an agent reports expanded series: no collector does, for any VM', async (t) => {
  const world = await reaching(t);
  const labelled = `${LOAD}{a="b"}`;
  const both = (ms: number, series = LOAD) => ({
    ...cpuRow('vm-1', START_MS + ms, 1),
    series: [CPU, series],
    values: [1, 2],
  });
  for (const [i, reach] of [ANY, DC2, undefined].entries()) {
    const vm = `vm-${i + 10}`;
    const answer = await world.write(
      [
        { ...both(0), vm },
        { ...both(1, labelled), vm },
      ],
      reach,
    );
    t.same(withoutPosition(answer), {
      accepted: 2,
      duplicates: 0,
      rejected: [
        { row: 0, series: LOAD, reason: 'NOT_EXPANDED' },
        { row: 1, series: labelled, reason: 'NOT_EXPANDED' },
      ],
    });
    t.match(world.vm(vm), { expandedMonitoring: false }, 'it turns nothing on');
  }
  await world.put('vm-1', {
    displayName: 'web',
    datacenter: 'DC-1',
    registeredMs: START_MS,
    exportShard: 0,
    hasAgent: true,
    expandedMonitoring: true,
  });
  t.same((await world.write([both(2)], ANY)).rejected, [
    { row: 0, series: LOAD, reason: 'TOLD_BY_AGENT' },
  ]);
  t.match(await world.write([agentRow(START_MS + 3)], AGENT), { accepted: 1 });
  t.match(world.vm('vm-1'), { hasAgent: true }, 'its rows leave that unchanged');
  await world.put('vm-1', { hasAgent: undefined, expandedMonitoring: false });
  await world.write([agentRow(START_MS + 4)], AGENT);
  const off = { expandedMonitoring: false };
  t.match(world.vm('vm-1'), off, 'a late row of an agent turns nothing on');
  await submit(world.host, { project: PROJECT, by }, (draft) =>
    draft.putRecord({ kind: 'vm', id: 'vm-1', body: null }),
  );
  await world.write([agentRow(START_MS + 5)], AGENT);
  t.equal(world.vm('vm-1'), undefined, 'nor does it restore a removed VM');
});

test('the credential that registers a VM is recorded by its name', async (t) => {
  const world = await reaching(t);
  const seen: Actor[] = [];
  world.host.onApplied(({ commit }) => void seen.push(...commit.decisions.map(({ by }) => by)));
  await world.write([cpuRow('vm-2', START_MS, 1)], DC2);
  await world.write([cpuRow('vm-3', START_MS, 1)]);
  t.same(seen, [
    { kind: 'collector', name: 'collectors/dc2' },
    { kind: 'collector', name: 'DC-1' },
  ]);
});

test('a VM whose agent reports first belongs to the data center of its first collector', async (t) => {
  const world = await reaching(t);
  const expected = { displayName: 'vm-1', datacenter: 'DC-1', expandedMonitoring: true };
  const facts = {
    registeredMs: START_MS,
    exportShard: 0,
    hasAgent: true,
    isExpected: true,
  } as const;
  await world.put('vm-1', { ...expected, ...facts });
  t.match(await world.write([agentRow(START_MS)], AGENT), { accepted: 1 });
  t.match(world.vm('vm-1'), { isExpected: true });
  await world.write([{ ...cpuRow('vm-1', START_MS + 1, 1), displayName: 'web' }], DC2);
  const { isExpected: _, ...known } = facts;
  const reportedBy = { source: 'collectors/dc2', turn: 1, sinceMs: START_MS };
  t.same(world.vm('vm-1'), {
    ...expected,
    ...known,
    reportedBy,
    datacenter: 'DC-2',
    displayName: 'web',
  });
  t.match(await world.write([agentRow(START_MS + 2)], AGENT), {
    accepted: 0,
    rejected: [{ row: 0, series: '', reason: 'OTHER_DATACENTER' }],
  });
});

test('the same batch id from two senders is two batches', async (t) => {
  const world = await reaching(t);
  await world.write([cpuRow('vm-1', START_MS, 1)], DC2, 'b');
  const other = await world.write([cpuRow('vm-1', START_MS, 1)], DC3, 'b');
  t.match(other, { accepted: 0, rejected: [{ reason: 'OTHER_DATACENTER' }] });
  const same: SenderReach = { ...DC2, name: 'collectors/beside' };
  const beside = await world.write([cpuRow('vm-1', START_MS, 1)], same, 'b');
  t.match(beside, { accepted: 0, rejected: [{ reason: 'REPORTED_ELSEWHERE' }] });
});

test('a data center that has ever reported is judged after a restart, too', async (t) => {
  const world = await openAlertingWorld(t);
  const start = () => {
    const datacenters = new Datacenters({ ...world, datacenter: 'DC-1', silenceMs: 90_000 });
    const stop = world.run((signal) => datacenters.run(['DC-1'], 5_000, signal));
    return { datacenters, stop };
  };
  const first = start();
  first.datacenters.reported('DC-2');
  await world.pass(10_000, 5_000);
  t.match(world.host.view('_system').instance('datacenter', 'DC-2'), { value: 'live' });
  await first.stop();
  const { datacenters } = start();
  await world.pass(80_000, 5_000);
  datacenters.reported('DC-1');
  await world.pass(20_000, 5_000);
  t.equal(datacenters.stateOf('DC-2'), 'stale', 'its collectors are silent');
  t.equal(datacenters.stateOf('DC-1'), 'live', 'and those of another are not');
});
