/**
 * Which of several sources reports a VM: rows of two collectors through the real ingest, registry,
 * host and log. Each test replays an incident: a failover, a migration, a clone, a replaced
 * collector.
 */
import { type Test, test } from 'tap';
import { startCredential } from '../../actors/identity/credentials.ts';
import { createIngest } from '../../actors/telemetry/ingest/ingest.ts';
import { PartitionWriter, pastEntries } from '../../actors/telemetry/sample-log.ts';
import type { IngestRow, SenderReach } from '../../actors/vms/sent-row.ts';
import { VmRegistry, type VmRegistryDeps } from '../../actors/vms/vm-registry.ts';
import { retireVms } from '../../actors/vms/vm-retirement.ts';
import { vmSourceIdOf } from '../../actors/vms/vm-source-decisions.ts';
import type { NewestReport } from '../../actors/vms/vm-sources.ts';
import { type SourceClaim, takeOver } from '../../machines/vms/vm-source.ts';
import { derive, inputsOf, newDerived } from '../../streams/telemetry/metrics/derive.ts';
import { VM_STATES, type VmState } from '../../streams/telemetry/samples/batch.ts';
import { by, openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';
import { submit } from '../support/submit.ts';

const A: SenderReach = { name: 'collectors/keys/a', datacenter: 'DC-1', vm: null };
const B: SenderReach = { name: 'collectors/keys/b', datacenter: 'DC-1', vm: null };
const C: SenderReach = { name: 'collectors/keys/c', datacenter: 'DC-1', vm: null };
const CPU = 'svc_vm_cpu_seconds_total';
const VM = 'vm-1';
const ROUND_MS = 30_000;

interface Said {
  readonly state?: VmState;
  readonly reason?: string;
  readonly boot?: string;
  readonly cpu?: number;
  readonly observedMs?: number;
}

function rowOf(said: Said, nowMs: number): IngestRow {
  const { state = 'RUNNING', reason = '', boot = 'domain-1', cpu = 1, observedMs = nowMs } = said;
  const runs = state === 'RUNNING' || state === 'UNKNOWN';
  return {
    vm: VM,
    observedMs,
    sequence: observedMs,
    boot: runs ? boot : '',
    vcpus: runs ? 1 : Number.NaN,
    state: VM_STATES.indexOf(state),
    stateReason: reason,
    ...(runs ? { series: [CPU], values: [cpu] } : { series: [], values: [] }),
  };
}

async function openSources(t: Test, options: Partial<VmRegistryDeps> = {}) {
  const world = await openAlertingWorld(t);
  const { host, clock, stream } = world;
  // Keys a, b and c work until a test revokes one.
  await submit(host, { project: PROJECT, by }, (draft) => {
    for (const id of ['a', 'b', 'c']) {
      startCredential(draft, { id, text: '', hash: id, lastFour: id } as never, {
        project: PROJECT,
        kind: 'col',
        capabilities: ['collector'],
        owner: 'collectors',
        displayName: id,
        createdBy: by.name,
        datacenter: 'DC-1',
        lifetimeMs: 86_400_000,
      });
    }
  });
  const newest = new Map<string, NewestReport>();
  const refusals: string[] = [];
  const open = () => {
    const registry = new VmRegistry({
      host,
      clock,
      datacenter: 'DC-1',
      newest: (_, vm) => newest.get(vm),
      ...options,
    });
    const ingest = createIngest({
      clock,
      registry,
      writer: new PartitionWriter({ stream, clock }),
      refusal: () => refusals[0],
      onRows: () => {},
      onSamples: () => {},
    });
    return { registry, ingest };
  };
  const members = [open()];
  const member = (i = 0) => members[i] as ReturnType<typeof open>;
  /** Sends a row. Resolves with whether it was stored. */
  const say = async (reach: SenderReach | undefined, said: Said = {}, i = 0): Promise<boolean> => {
    const row = rowOf(said, clock.now());
    const rows = [row];
    const request = { project: PROJECT, batchId: '', rows, ...(reach && { reach }) };
    const { rejected } = await member(i).ingest.write(
      reach ? request : { ...request, source: 'libvirt' },
    );
    for (const { reason } of rejected) t.equal(reason, 'REPORTED_ELSEWHERE');
    const { observedMs, state, stateReason, values } = row;
    const isStored = rejected.length === 0;
    if (isStored && observedMs >= (newest.get(VM)?.observedMs ?? 0)) {
      newest.set(VM, { observedMs, state, stateReason, hasReadings: values.length > 0 });
    }
    return isStored;
  };
  const reportedBy = () => host.view(PROJECT).record('vm', VM)?.body.reportedBy;
  return {
    ...world,
    say,
    newest,
    refusals,
    member,
    reportedBy,
    /** Adds a member of the service, or the same one after a restart. */
    join: () => members.push(open()) - 1,
    source: () => host.view(PROJECT).instance('vmSource', vmSourceIdOf(PROJECT, VM)),
    /**
     * Sends the rows of each source in each round. Resolves with the stored ones, round by round.
     */
    async rounds(count: number, said: readonly (readonly [SenderReach, Said | undefined])[]) {
      const stored: string[] = [];
      for (let round = 0; round < count; round++) {
        const names: string[] = [];
        for (const [reach, what] of said) {
          await clock.advance(ROUND_MS / said.length);
          if (what && (await say(reach, what))) names.push(reach.name.at(-1) ?? '');
        }
        stored.push(names.join(''));
      }
      return stored;
    },
  };
}

const CRASHED: Said = { state: 'CRASHED', reason: 'crashed' };
const OFF: Said = { state: 'STOPPED', reason: 'shutdown' };
const INCOMING: Said = { state: 'PAUSED', reason: 'migration' };
const AWAY: Said = { state: 'STOPPED', reason: 'migrated' };

test('SRC-18: after a failover the running copy is reported, and the crashed one never again', async (t) => {
  const world = await openSources(t);
  t.same(
    await world.rounds(3, [
      [A, {}],
      [B, OFF],
    ]),
    ['a', 'a', 'a'],
  );
  t.same(
    await world.rounds(1, [
      [A, CRASHED],
      [B, OFF],
    ]),
    ['a'],
    'it is down, as observed',
  );
  t.same(
    await world.rounds(4, [
      [A, CRASHED],
      [B, { boot: 'domain-9' }],
    ]),
    ['ab', 'b', 'b', 'b'],
  );
  t.match(world.reportedBy(), {
    source: B.name,
    before: A.name,
    turn: 2,
    reason: 'RUNS_ELSEWHERE',
  });
  t.match(world.source()?.context, { source: B.name, turn: 2 });
});

test('SRC-18: a live migration has one reporter at a time, and no gap', async (t) => {
  const world = await openSources(t);
  t.same(
    await world.rounds(3, [
      [A, {}],
      [B, INCOMING],
    ]),
    ['a', 'a', 'a'],
  );
  t.same(
    await world.rounds(3, [
      [A, AWAY],
      [B, {}],
    ]),
    ['b', 'b', 'b'],
  );
  t.match(world.reportedBy(), { source: B.name, turn: 2, reason: 'LEFT' });
  t.same(
    await world.rounds(3, [
      [B, AWAY],
      [A, {}],
    ]),
    ['a', 'a', 'a'],
    'and back',
  );
});

test('SRC-18: a copy that is paused for a migration yields to a running one', async (t) => {
  const world = await openSources(t);
  await world.rounds(1, [[A, {}]]);
  t.same(
    await world.rounds(1, [
      [A, INCOMING],
      [B, {}],
    ]),
    ['ab'],
  );
  t.match(world.reportedBy(), { source: B.name });
});

test('SRC-18: a silent source is replaced after three intervals, and not before', async (t) => {
  const world = await openSources(t);
  await world.rounds(1, [
    [A, {}],
    [B, OFF],
  ]);
  t.same(
    await world.rounds(4, [
      [A, undefined],
      [B, OFF],
    ]),
    ['', '', 'b', 'b'],
  );
  t.match(world.reportedBy(), { source: B.name, reason: 'SILENT' });
  t.same(
    await world.rounds(2, [
      [A, {}],
      [B, OFF],
    ]),
    ['a', 'a'],
    'a running copy is accepted at once',
  );
});

test('SRC-18: a VM that starts elsewhere is taken over once its source has missed a round', async (t) => {
  const world = await openSources(t);
  await world.rounds(5, [
    [A, {}],
    [B, OFF],
  ]);
  const fresh = { boot: 'domain-4' };
  t.same(
    await world.rounds(3, [
      [A, undefined],
      [B, fresh],
    ]),
    ['', 'b', 'b'],
  );
  t.match(world.reportedBy(), { reason: 'STARTED_ELSEWHERE' });
  t.same(
    await world.rounds(4, [
      [A, {}],
      [B, fresh],
    ]),
    ['b', 'b', 'b', 'b'],
    'and it stays there',
  );
});

test('SRC-19: the first of two permanent clones is reported, with one commit in all', async (t) => {
  const world = await openSources(t);
  await world.rounds(1, [
    [A, {}],
    [B, {}],
  ]);
  const sequence = world.host.appliedSequence();
  t.same(
    new Set(
      await world.rounds(20, [
        [A, {}],
        [B, {}],
      ]),
    ),
    new Set(['a']),
  );
  t.equal(world.host.appliedSequence(), sequence, 'a rejected row commits nothing');
  const { sources } = world.member().registry;
  t.match(sources.contested(), [{ project: PROJECT, vm: VM, source: A.name, other: B.name }]);
  t.same([...sources.refusedOf(B.name)], [[PROJECT, { vms: 1, running: 1 }]]);
  t.same([...sources.refusedOf(A.name)], []);
  const nowMs = world.clock.now();
  t.ok(sources.isReportedElsewhere(PROJECT, VM, nowMs - 60_000, nowMs));
  t.notOk(sources.isReportedElsewhere(PROJECT, VM, 0, nowMs - 3_600_000));
});

test('SRC-19: a left-over definition is rejected, and casts no doubt on the readings', async (t) => {
  const world = await openSources(t);
  await world.rounds(6, [
    [A, {}],
    [B, OFF],
    [C, AWAY],
  ]);
  const { sources } = world.member().registry;
  const nowMs = world.clock.now();
  t.notOk(sources.isReportedElsewhere(PROJECT, VM, nowMs - 60_000, nowMs));
  t.same(sources.contested(), []);
  t.same([...sources.refusedOf(B.name)], [[PROJECT, { vms: 1, running: 0 }]]);
});

test('SRC-18: copies that run in turn take the VM over at most every three intervals', async (t) => {
  const world = await openSources(t);
  await world.rounds(1, [
    [A, {}],
    [B, CRASHED],
  ]);
  for (let i = 0; i < 10; i++) {
    await world.rounds(1, [
      [A, CRASHED],
      [B, {}],
    ]);
    await world.rounds(1, [
      [A, {}],
      [B, CRASHED],
    ]);
  }
  t.ok(
    (world.reportedBy()?.turn ?? 0) <= 1 + 20 / 3,
    `${world.reportedBy()?.turn} turns in 20 rounds`,
  );
});

test('SRC-18: a source whose key was revoked is replaced at once', async (t) => {
  const world = await openSources(t);
  await world.rounds(3, [[A, {}]]);
  t.same(await world.rounds(1, [[B, {}]]), [''], 'it may still report');
  await submit(world.host, { project: PROJECT, by }, (draft) =>
    draft.send('credential', 'a', { type: 'revoked', at: draft.at, reason: 'X', by: 'x' }),
  );
  t.same(await world.rounds(1, [[B, {}]]), ['b']);
  t.match(world.reportedBy(), { reason: 'KEY_ENDED' });
});

test('SRC-18: the source is known after a restart and at another member', async (t) => {
  const world = await openSources(t);
  await world.rounds(2, [
    [B, {}],
    [A, CRASHED],
  ]);
  await world.clock.advance(600_000);
  const other = world.join();
  t.notOk(await world.say(A, CRASHED, other), 'our own downtime is not a source’s silence');
  t.ok(await world.say(B, {}, other));
  for (let round = 0; round < 10; round++) {
    await world.clock.advance(ROUND_MS);
    t.ok(await world.say(B, {}, 0));
    t.notOk(await world.say(A, {}, other), 'each through its own member');
  }
});

test('SRC-18: no source counts as silent while none could be received', async (t) => {
  const world = await openSources(t);
  await world.rounds(2, [
    [B, {}],
    [A, CRASHED],
  ]);
  await world.clock.advance(900_000);
  t.notOk(await world.say(A, CRASHED), 'the network is back, and A is first');
  t.ok(await world.say(B, {}));
});

test('SRC-18: rows that waited on disk count for the time in which their source had the VM', async (t) => {
  const world = await openSources(t);
  await world.rounds(2, [
    [A, {}],
    [B, OFF],
  ]);
  const atMs = world.clock.now();
  t.same(await world.rounds(4, [[B, OFF]]), ['', '', 'b', 'b']);
  t.ok(await world.say(A, { observedMs: atMs + 1_000 }), 'observed before B took over');
  t.notOk(await world.say(C, { observedMs: atMs + 2_000 }), 'C never had it');
  t.match(world.reportedBy(), { source: B.name });
});

test('SRC-18: a row from the time of a source that has left is not one of the source before it', async (t) => {
  const { say, rounds, clock, reportedBy } = await openSources(t);
  await rounds(1, [[A, {}]]);
  await say(A, AWAY);
  await rounds(1, [[B, {}]]);
  const duringB = clock.now() + ROUND_MS / 2;
  await rounds(1, [[B, {}]]);
  const beforeB = duringB - 2 * ROUND_MS;
  await say(B, AWAY);
  t.equal(await say(A, { observedMs: beforeB }), true, 'a delayed row of its own turn');
  t.match(reportedBy(), { source: B.name, turn: 2, hasLeft: true });
  t.equal(await say(A, { observedMs: duringB }), true);
  t.match(reportedBy(), { source: A.name, turn: 3, sinceMs: duringB });
});

test('SRC-18: a delayed row of a source that has left does not bring the VM back to it', async (t) => {
  const { say, rounds, clock, reportedBy, stream } = await openSources(t);
  await rounds(1, [[A, {}]]);
  await say(A, AWAY);
  await rounds(2, [[B, {}]]);
  const observedMs = clock.now() - ROUND_MS / 2;
  await say(B, AWAY);
  t.equal(await say(B, { observedMs }), true);
  t.match(reportedBy(), { source: B.name, turn: 2, hasLeft: true });
  const boots: string[] = [];
  for await (const { entry } of pastEntries(stream, { sequence: 1 })) {
    if (entry.kind === 'batch') boots.push(String(entry.batch.strings[entry.batch.boot[0] ?? 0]));
  }
  t.equal(boots.at(-1), boots.at(-2), 'the same run as the other rows of its turn');
  await rounds(1, [[A, {}]]);
  t.match(reportedBy(), { source: A.name, turn: 3 });
});

test('SRC-18: a member that may not know the source stores nothing, not even from its own hosts', async (t) => {
  const { say, refusals, clock } = await openSources(t);
  t.ok(await say(A));
  refusals.push('This member may have been replaced');
  await clock.advance(ROUND_MS);
  for (const reach of [A, undefined]) {
    await t.rejects(say(reach), { reason: 'NOT_READY', message: /may have been replaced/ });
  }
  refusals.pop();
  t.ok(await say(A));
});

test('SRC-18: two first rows at the same moment give one source', async (t) => {
  const world = await openSources(t);
  const stored = await Promise.all([world.say(A), world.say(B)]);
  t.same(stored, [true, false]);
});

test('SRC-18: all libvirts of a process are one source, and those of two members are two', async (t) => {
  const world = await openSources(t, { machine: 'host-1' });
  const { sources } = world.member().registry;
  t.equal(sources.nameOf({ source: 'libvirt qemu:///system' }), 'libvirt on host-1');
  t.equal(sources.nameOf({ source: 'libvirt qemu:///session' }), 'libvirt on host-1');
  t.equal(sources.nameOf({ reach: A, source: undefined }), A.name);
});

test('SRC-18: an agent reports its own series, whichever collector reports the VM', async (t) => {
  const world = await openSources(t);
  await world.rounds(1, [[A, {}]]);
  const agent: SenderReach = { name: 'vms/vm-1', datacenter: 'DC-1', vm: VM };
  const load = { series: ['svc_vm_load1'], values: [1], state: 0, vcpus: Number.NaN, boot: '' };
  const about = { vm: VM, observedMs: world.clock.now(), sequence: 1, stateReason: '' };
  const { ingest } = world.member();
  const answer = await ingest.write({
    project: PROJECT,
    batchId: '',
    reach: agent,
    rows: [{ ...about, ...load }],
  });
  t.match(answer, { accepted: 1, rejected: [] });
  t.match(world.reportedBy(), { source: A.name, turn: 1 });
});

test('SRC-20: a source that no longer lists a VM leaves it to the one that reports it', async (t) => {
  const world = await openSources(t);
  await world.rounds(3, [
    [A, {}],
    [B, {}],
  ]);
  const { sources } = world.member().registry;
  const retireAs = async (name: string) =>
    (await retireVms(world.host, { project: PROJECT, by, vms: [VM], sender: { name, sources } }))
      .answer;
  t.same(await retireAs(B.name), { retired: [], refused: [{ vm: VM, reason: 'OTHER_SOURCE' }] });
  t.match(world.reportedBy(), { source: A.name }, 'a source cannot retire another source’s VM');
  t.match(await retireAs(A.name), { retired: [], refused: [{ reason: 'OTHER_SOURCE' }] });
  t.same(await world.rounds(1, [[B, {}]]), ['b']);
  await world.rounds(4, [[B, {}]]);
  t.match(await retireAs(B.name), { retired: [VM] });
  t.equal(world.source()?.value, 'retired');
  await world.clock.advance(ROUND_MS);
  t.ok(await world.say(C), 'the next report makes it a new VM');
  t.match(world.reportedBy(), { source: C.name, turn: 3 });
});

test('SRC-21: no increase spans the counters of two sources', async (t) => {
  const world = await openSources(t);
  await world.rounds(1, [
    [A, { cpu: 10 }],
    [B, OFF],
  ]);
  await world.rounds(1, [
    [A, OFF],
    [B, { cpu: 1_000_000 }],
  ]);
  const boots: string[] = [];
  for await (const { entry } of pastEntries(world.stream, { sequence: 1 })) {
    if (entry.kind !== 'batch') continue;
    for (const [i, boot] of entry.batch.boot.entries()) {
      if (entry.batch.state[i] === 1) boots.push(entry.batch.strings[boot] ?? '');
    }
  }
  t.same(boots, ['domain-1', 'domain-1 @2'], 'the same number of a domain, on two hosts');
  const rate = { from: 'rate', series: CPU } as const;
  const [input] = inputsOf(rate, [CPU]);
  const at = (boot: string, value: number, observedMs: number) => ({
    row: { observedMs, boot, vcpus: 1, state: 1, values: [value] },
    input: input as NonNullable<typeof input>,
  });
  const out = newDerived();
  const between = (after: string, value: number) =>
    derive(rate, at('domain-1', 10, 0), at(after, value, 10_000), out);
  t.equal(between('domain-1', 20), 1);
  t.equal(between('domain-2', 5), 0.5, 'a boot begins at 0');
  t.same(between('domain-1 @2', 20), Number.NaN, 'another source begins at any value');
  t.same(between('domain-1 @2', 5), Number.NaN);
  t.same(between('domain-2 @2', 5), Number.NaN);
});

test('SRC-18: a claim is granted for a reason, and refused without one', async (t) => {
  const present = { sourceBefore: '', sinceMs: 0, reason: null, hasLeft: false };
  const claim: SourceClaim = {
    source: 'b',
    copy: 'RUNNING',
    observedMs: 1_000_000,
    isFresh: false,
    presentCopy: 'RUNNING',
    presentSilentMs: 0,
    isPresentEnded: false,
  };
  const granted = (change: Partial<SourceClaim>, of = {}) =>
    takeOver({ ...present, ...of }, { ...claim, ...change });
  t.equal(granted({}), undefined);
  t.equal(granted({ presentCopy: 'PAUSED' }), 'RUNS_ELSEWHERE');
  t.equal(granted({ presentCopy: 'DOWN', copy: 'PAUSED' }), 'RUNS_ELSEWHERE');
  t.equal(granted({ presentCopy: 'DOWN', copy: 'DOWN' }), undefined);
  t.equal(granted({ presentSilentMs: 90_000 }), undefined);
  t.equal(granted({ presentSilentMs: 90_001 }), 'SILENT');
  t.equal(granted({ isFresh: true, presentSilentMs: 45_000 }), undefined);
  t.equal(granted({ isFresh: true, presentSilentMs: 45_001 }), 'STARTED_ELSEWHERE');
  t.equal(granted({ isFresh: true, copy: 'DOWN', presentSilentMs: 45_001 }), undefined);
  t.equal(granted({ isPresentEnded: true, copy: 'DOWN' }), 'KEY_ENDED');
  t.equal(granted({}, { hasLeft: true }), 'LEFT');
  t.equal(granted({ copy: 'DOWN' }, { hasLeft: true, sinceMs: 990_000 }), undefined);
  t.equal(
    granted({ copy: 'DOWN' }, { hasLeft: true }),
    'LEFT',
    'it has no source: earlier knowledge counts',
  );
  const back = { sourceBefore: 'b', reason: 'RUNS_ELSEWHERE', sinceMs: 950_000 } as const;
  t.equal(granted({ presentCopy: 'DOWN' }, back), undefined, 'it was there a moment ago');
  t.equal(granted({ presentCopy: 'DOWN' }, { ...back, sinceMs: 900_000 }), 'RUNS_ELSEWHERE');
  t.equal(granted({ presentCopy: 'DOWN' }, { ...back, reason: 'SILENT' }), 'RUNS_ELSEWHERE');
});

test('DUR-28: a report from before the step does not count as recent for an hour', async (t) => {
  const HOUR_MS = 3_600_000;
  const world = await openSources(t);
  const { registry } = world.member();
  const both = [
    [A, {}],
    [B, { boot: 'domain-9' }],
  ] as const;
  await world.rounds(2, both);
  world.clock.jump(HOUR_MS);
  await world.rounds(6, both);
  t.equal(registry.sources.contested().length, 1);
  world.clock.jump(-HOUR_MS);
  t.same(registry.sources.contested(), [], 'until it is heard again');
  await world.rounds(6, both);
  t.equal(registry.sources.contested().length, 1);
});
