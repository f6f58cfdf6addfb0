/** Parts of checkpoints: unusual values, what is shared in memory, and damage of every kind. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { test } from 'tap';
import {
  CHECKPOINT_FORM,
  DamagedCheckpoint,
  decodeEdges,
  type EncodedVm,
  encodeEdges,
  endRestore,
  restoreHead,
  restoreVm,
} from '../../streams/alerting/evaluation/checkpoint/checkpoint-codec.ts';
import type { EvaluationState } from '../../streams/alerting/evaluation/state.ts';
import type { Edge } from '../../streams/telemetry/entry.ts';
import { type Checkpoint, checkpointOf, restored } from '../support/checkpoints.ts';
import { type Partition, partitions } from '../support/evaluation-partition.ts';
import { cpuRule, EvaluationWorld, PROJECT, START_MS } from '../support/evaluation-scenario.ts';
import { textOf, textOfState } from '../support/evaluation-state.ts';
import { beginState, endBacklog, PartitionFold } from '../support/partition-fold.ts';
import { tries } from '../support/tries.ts';

const SEED = 20_261_128;

/** A state in the middle of a log, and the edges that led to it. */
interface Folded {
  readonly state: EvaluationState;
  readonly edges: readonly Edge[];
}

function folded({ seed, log }: Partition): Folded {
  const fold = new PartitionFold(log, beginState(seed));
  endBacklog(fold.state);
  const edges = log.flatMap(() => [...fold.step()]);
  return { state: fold.state, edges };
}

const logs = partitions(40);

function someState(): EvaluationState {
  const [partition] = fc.sample(logs, { seed: SEED, numRuns: 1 }) as [Partition];
  return folded(partition).state;
}

test('a project’s rows, inputs and texts are shared in memory again', async (t) => {
  const state = restored(checkpointOf(someState()));
  const [first, second] = ['vm-1', 'vm-2'].map((vm) => {
    const buffers = state.projects.get(PROJECT)?.vms.get(vm)?.buffers;
    return {
      root: buffers?.get('filesystem_used_pct{mountpoint="/"}'),
      age: buffers?.get('telemetry_age_seconds'),
    };
  });
  t.ok(first?.root?.rows.length);
  const ages = new Set(first?.age?.rows.map(({ row }) => row));
  t.ok(
    first?.root?.rows.every(({ row }) => ages.has(row)),
    'one row for all buffers of a VM',
  );
  t.equal(first?.age?.rows.at(-1)?.input, second?.age?.rows.at(-1)?.input);
  t.equal(first?.root?.derivation, second?.root?.derivation, 'that of the catalogue');
});

const unusual: readonly number[] = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  -0,
  0,
  0.1,
  1 / 3,
  Number.MAX_SAFE_INTEGER,
  -Number.MAX_VALUE,
  Number.MIN_VALUE,
  1_700_000_000_000.25,
];

/** Fields whose values the codec checks, by which rows are sorted, or that follow from others. */
const CHECKED: ReadonlySet<string> = new Set([
  ...['phase', 'settledRows', 'instances', 'unevaluated', 'kind', 'type', 'power'],
  ...[
    'rows',
    'values',
    'rule',
    'rules',
    'buffer',
    'derivation',
    'routes',
    'routesVersion',
    'version',
  ],
  ...['plans', 'plansByList', 'planCharacters', 'stale', 'open', 'projects', 'aheadFromMs'],
  ...['vm', 'labels', 'metricId', 'generation', 'suppressed', 'blind', 'incidents'],
]);

/** Replaces every number and text below `object` that may be anything. */
function scramble(object: object, next: () => number): void {
  for (const [name, value] of Object.entries(object)) {
    if (CHECKED.has(name)) continue;
    if (typeof value === 'number')
      Object.assign(object, { [name]: unusual[next() % unusual.length] });
    else if (typeof value === 'string') Object.assign(object, { [name]: textAt(next()) });
    else if (value instanceof Map) for (const each of value.values()) scrambleIn(each, next);
    else scrambleIn(value, next);
  }
}

function scrambleIn(value: unknown, next: () => number): void {
  if (typeof value === 'object' && value !== null) scramble(value, next);
}

function textAt(number: number): string {
  const texts = ['', '\ud800', 'a\udc00b', 'é💾', 'x'.repeat(3_000), 'NEW_WORD', '0'.repeat(36)];
  return texts[number % texts.length] ?? '';
}

test('numbers and texts of all kinds survive a round trip', async () => {
  const property = fc.property(logs, fc.nat(), (partition, start) => {
    const { state } = folded(partition);
    let count = start;
    const next = () => count++;
    scramble(state, next);
    for (const { vms, rules } of state.projects.values()) {
      for (const { buffers, facts } of vms.values()) {
        scramble(facts, next);
        for (const buffer of buffers.values()) {
          scramble(buffer, next);
          for (const instance of buffer.instances) scramble(instance, next);
          buffer.instances[0] && Object.assign(buffer.instances[0], { failure: textAt(next()) });
        }
      }
      for (const { rule } of rules.values()) {
        Object.assign(rule, {
          threshold: unusual[next() % unusual.length],
          operator: textAt(next()),
        });
      }
    }
    state.aheadFromMs = Number.POSITIVE_INFINITY;
    return textOfState(restored(checkpointOf(state))) === textOfState(state);
  });
  fc.assert(property, { seed: SEED, numRuns: tries(100) });
});

test('edges survive a round trip with all their fields', async () => {
  const property = fc.property(logs, fc.nat(), (partition, start) => {
    const { edges } = folded(partition);
    let count = start;
    const some = edges.slice(0, 30);
    const scrambled = some.map((edge) => structuredClone(edge));
    for (const edge of scrambled) scramble(edge, () => count++);
    return [some, scrambled].every(
      (all: readonly Edge[]) => textOf(decodeEdges(encodeEdges(all))) === textOf(all),
    );
  });
  fc.assert(property, { seed: SEED, numRuns: tries(100) });
});

test('a missing or duplicate VM, or one of another state, is rejected', async (t) => {
  const checkpoint = checkpointOf(someState());
  const { head, vms } = checkpoint;
  const [first] = vms as [EncodedVm];
  t.throws(() => restored({ head, vms: vms.slice(1) }), DamagedCheckpoint);
  t.throws(() => restored({ head, vms: [...vms, first] }), DamagedCheckpoint);
  const renamed = vms.map((vm) => (vm === first ? { ...vm, vm: 'vm-9' } : vm));
  t.throws(() => restored({ head, vms: renamed }), DamagedCheckpoint);
  const moved = vms.map((vm) => (vm === first ? { ...vm, project: 'third' } : vm));
  t.throws(() => restored({ head, vms: moved }), DamagedCheckpoint);
});

test('the VMs held by a data center are encoded in pieces of bounded size, all of which are required', async (t) => {
  const vms = Array.from({ length: 2_500 }, (_, i) => `vm-${i}`);
  const rule = cpuRule({ metricId: 'telemetry_age_seconds', threshold: 300, sustainedMs: 0 });
  const world = new EvaluationWorld([rule]);
  world.rows(vms.map((vm, i) => ({ at: i % 30, vm })));
  const placed = vms.map((vm) => ({ project: PROJECT, vm, datacenter: 'DC-1' }));
  const outages = [{ datacenter: 'DC-1', sinceMs: START_MS }];
  for (const at of [135, 340]) world.tick(at, { outages, placed, clockAhead: [] });
  world.state.isLive = true;
  const { head, vms: all } = checkpointOf(world.state);
  const pieces = all.filter(({ vm }) => vm === '');
  t.same(
    pieces.map(({ piece }) => piece),
    [0, 1, 2, 3],
  );
  t.ok(pieces.every(({ data }) => data.length < 20_000));
  t.equal(textOfState(restored({ head, vms: all })), textOfState(world.state));
  for (const { piece } of pieces) {
    const others = all.filter((each) => each.vm !== '' || each.piece !== piece);
    t.throws(() => restored({ head, vms: others }), DamagedCheckpoint, `piece ${piece}`);
  }
});

test('a head in another format is rejected', async (t) => {
  const { head } = checkpointOf(someState());
  const content = head.subarray(0, -4);
  t.throws(() => restoreHead(sealed(content, 'head', CHECKPOINT_FORM + 1)), DamagedCheckpoint);
  t.ok(restoreHead(sealed(content, 'head')));
});

test('only a log that was read to its end gives a checkpoint', async (t) => {
  const state = someState();
  for (const isWrong of [{ isLive: false }, { isReplaying: true }, { aheadFromMs: 5 }]) {
    t.throws(() => checkpointOf({ ...state, ...isWrong }), RangeError);
  }
});

test('the bytes of a format never change', async (t) => {
  const world = new EvaluationWorld([
    cpuRule({ sustainedMs: 60_000, vms: ['vm-1', 'vm-2'] }),
    cpuRule({ rule: 'rule-2', metricId: 'telemetry_age_seconds', threshold: 60 }),
  ]);
  world.tick(0);
  world.cpu(95, [0, 30, 60]);
  world.rows([
    { at: 30, cpu: 10, series: { 'svc_vm_load1{a="b"}': 0.5 } },
    { at: 90, vm: 'vm-2' },
  ]);
  world.tick(240);
  world.state.isLive = true;
  const { head, vms } = checkpointOf(world.state);
  const digest = createHash('sha256');
  for (const bytes of [head, ...vms.map(({ data }) => data)]) digest.update(bytes);
  t.same(
    [CHECKPOINT_FORM, digest.digest('hex').slice(0, 16)],
    [2, 'f059f50fcfc8993d'],
    'other bytes need another CHECKPOINT_FORM',
  );
});

function sealed(content: Uint8Array, name: string, form = CHECKPOINT_FORM): Uint8Array {
  const end = Buffer.alloc(4);
  end.writeUInt32LE(crc32(content, crc32(`${form} ${name}`)));
  return Buffer.concat([content, end]);
}

/** A way to damage bytes: at a place, cut, extended, flipped or overwritten. */
const damage = fc.record({
  how: fc.constantFrom('cut', 'extend', 'flip', 'flip', 'fill', 'repeat'),
  at: fc.nat(),
  bit: fc.nat(7),
  length: fc.integer({ min: 1, max: 9 }),
});
type Damage = typeof damage extends fc.Arbitrary<infer D> ? D : never;

function damaged(bytes: Uint8Array, { how, at, bit, length }: Damage): Uint8Array {
  const place = at % bytes.length;
  const copy = Buffer.from(bytes);
  if (how === 'cut') return copy.subarray(0, place);
  if (how === 'extend') return Buffer.concat([copy, copy.subarray(place, place + length)]);
  if (how === 'repeat') {
    return Buffer.concat([copy.subarray(0, place + length), copy.subarray(place)]);
  }
  if (how === 'fill') copy.subarray(place, place + length).fill(255);
  else copy[place] = (copy[place] ?? 0) ^ (1 << bit);
  return copy;
}

/** The parts of a checkpoint, and the restoration of each with other bytes. */
function partsOf(checkpoint: Checkpoint, edges: readonly Edge[]) {
  const { head, vms } = checkpoint;
  return [
    { name: 'head', bytes: head, restore: (bytes: Uint8Array) => ({ head: bytes, vms }) },
    ...vms.map((vm) => ({
      name: vm.piece === 0 ? `${vm.project}/${vm.vm}` : `${vm.project}/${vm.vm}/${vm.piece}`,
      bytes: vm.data,
      restore: (data: Uint8Array) => ({
        head,
        vms: vms.map((each) => (each === vm ? { ...vm, data } : each)),
      }),
    })),
    { name: 'edges', bytes: encodeEdges(edges), restore: undefined },
  ];
}

test('damaged bytes are rejected or restore the same state', async (t) => {
  let rejected = 0;
  const property = fc.property(
    logs,
    fc.array(damage, { minLength: 30, maxLength: 30 }),
    (partition, all) => {
      const of = folded(partition);
      const checkpoint = checkpointOf(of.state);
      const text = textOfState(of.state);
      const parts = partsOf(checkpoint, of.edges);
      return all.every((each, i) => {
        const part = parts[i % parts.length];
        if (!part) return false;
        const bytes = damaged(part.bytes, each);
        try {
          if (!part.restore) return textOf(decodeEdges(bytes)) === textOf(of.edges);
          return textOfState(restored(part.restore(bytes))) === text;
        } catch (error) {
          rejected++;
          return error instanceof DamagedCheckpoint;
        }
      });
    },
  );
  fc.assert(property, { seed: SEED, numRuns: tries(60) });
  t.ok(rejected > 100, `${rejected} were rejected`);
});

test('damaged bytes with a valid checksum cause no unexpected error', async (t) => {
  let restoredParts = 0;
  const property = fc.property(
    logs,
    fc.array(damage, { minLength: 60, maxLength: 60 }),
    (partition, all) => {
      const of = folded(partition);
      const { head, vms } = checkpointOf(of.state);
      const parts = partsOf({ head, vms }, of.edges);
      return all.every((each, i) => {
        const part = parts[i % parts.length];
        const bytes = part && damaged(part.bytes.subarray(0, -4), each);
        if (!part || !bytes) return false;
        const whole = sealed(bytes, part.name);
        try {
          if (part.name === 'edges') decodeEdges(whole);
          else if (part.name === 'head') restoreHead(whole);
          else {
            const [project = '', vm = '', piece = '0'] = part.name.split('/');
            const state = restoreHead(head);
            restoreVm(state, { project, vm, piece: Number(piece), data: whole });
            endRestore(state);
          }
          restoredParts++;
          return true;
        } catch (error) {
          return error instanceof DamagedCheckpoint;
        }
      });
    },
  );
  fc.assert(property, { seed: SEED, numRuns: tries(100) });
  t.ok(restoredParts > 10, `${restoredParts} were restored nevertheless`);
});
