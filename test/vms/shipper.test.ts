/**
 * The shipper and its buffer on a real disk, against a service that refuses batches because of one
 * row: the batch is split, only that row is dropped, and each other row is stored once.
 */
import { join } from 'node:path';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import { type BufferedBatch, RowBuffer } from '../../src/vms/agent/row-buffer.ts';
import type { SendOutcome } from '../../src/vms/agent/sender.ts';
import { Shipper } from '../../src/vms/agent/shipper.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { START_MS } from '../support/host-in-memory.ts';
import { tries } from '../support/tries.ts';

const stored: SendOutcome = { kind: 'stored', accepted: 1, rejected: [] };
const enrolment = { endpoint: 'http://x', key: 'k', projectName: 'projects/demo', vmName: '' };

interface Sent {
  readonly id: string;
  readonly rows: readonly number[];
}

/** A shipper of `count` rows, and the service's answer to each batch. */
function openWorld(t: Test, count: number, answer: (sent: Sent) => SendOutcome) {
  const clock = new VirtualClock(START_MS);
  const random = seededRandom(1);
  const folder = join(t.testdir(), 'buffer');
  const open = () => new RowBuffer({ folder, clock, random, onDropped: () => {} });
  const first = open();
  first.appendAll(
    Array.from({ length: count }, (_, i) => ({ observedMs: START_MS + i, values: [] })),
  );
  first.close();
  const sent: Sent[] = [];
  const outcomes: { readonly rows: readonly number[]; readonly kind: string }[] = [];
  const numbers = ({ rows }: BufferedBatch) => rows.map((row) => row.observedMs - START_MS);
  const run = async (until: (buffer: RowBuffer) => boolean) => {
    const buffer = open();
    const stopping = new AbortController();
    const shipper = new Shipper({
      buffer,
      clock,
      random,
      enrolment: () => enrolment,
      send: async (_, batch) => {
        const one = { id: batch.id, rows: numbers(batch) };
        sent.push(one);
        return answer(one);
      },
      onOutcome: (batch, { kind }) => void outcomes.push({ rows: numbers(batch), kind }),
    });
    const ended = shipper.run(stopping.signal);
    for (let turn = 0; !until(buffer); turn++) {
      if (turn > 10_000) throw new Error('The rows were not sent');
      await clock.advance(60_000);
    }
    stopping.abort();
    await ended;
    buffer.close();
  };
  const isEmpty = (buffer: RowBuffer) => buffer.stats().rows === 0;
  const ofKind = (kind: string) =>
    outcomes.filter((one) => one.kind === kind).flatMap(({ rows }) => rows);
  return { sent, run, isEmpty, ofKind };
}

const refusing =
  (bad: ReadonlySet<number>) =>
  ({ rows }: Sent): SendOutcome =>
    rows.some((row) => bad.has(row)) ? { kind: 'refused', message: 'INVALID_FIELD: no' } : stored;

test('SRC-17: a refused batch is split until only the bad row is left', async (t) => {
  const world = openWorld(t, 100, refusing(new Set([37])));
  await world.run(world.isEmpty);
  t.same(world.ofKind('refused'), [37], 'dropped alone');
  const kept = world.ofKind('stored');
  t.same(
    kept,
    Array.from({ length: 100 }, (_, i) => i).filter((row) => row !== 37),
    'all others are stored, in order',
  );
  t.ok(world.sent.length < 20, `${world.sent.length} requests`);
});

test('SRC-17: any set of bad rows leaves each other row stored once', async (t) => {
  const property = fc.asyncProperty(
    fc.uniqueArray(fc.nat(29), { maxLength: 30 }),
    async (chosen) => {
      const bad = new Set(chosen);
      const world = openWorld(t, 30, refusing(bad));
      await world.run(world.isEmpty);
      const all = [...world.ofKind('stored'), ...world.ofKind('refused')].sort((a, b) => a - b);
      return (
        String(all) === String(Array.from({ length: 30 }, (_, i) => i)) &&
        world.ofKind('refused').every((row) => bad.has(row))
      );
    },
  );
  await fc.assert(property, { numRuns: tries(30) });
});

test('SRC-17: a service that is down while a batch is split loses no row', async (t) => {
  const refuse = refusing(new Set([3]));
  let calls = 0;
  const world = openWorld(t, 8, (sent) =>
    ++calls % 2 === 0 ? { kind: 'later', message: 'away' } : refuse(sent),
  );
  await world.run(world.isEmpty);
  t.same(world.ofKind('refused'), [3]);
  t.same(world.ofKind('stored'), [0, 1, 2, 4, 5, 6, 7]);
});

test('SRC-17: after a crash the parts have the same ids and rows', async (t) => {
  const refuse = refusing(new Set([2]));
  let isAway = false;
  const world = openWorld(t, 6, (sent) => {
    if (isAway) return { kind: 'later', message: 'away' };
    const outcome = refuse(sent);
    isAway = outcome.kind === 'stored';
    return outcome;
  });
  await world.run(() => isAway);
  const before = new Map(world.sent.map(({ id, rows }) => [id, String(rows)]));
  world.sent.length = 0;
  await world.run((buffer) => {
    isAway = false;
    return world.isEmpty(buffer);
  });
  t.same(world.ofKind('refused'), [2]);
  for (const { id, rows } of world.sent) {
    if (before.has(id)) t.equal(String(rows), before.get(id), id);
  }
  t.ok(world.sent.some(({ id }) => before.has(id)));
});
