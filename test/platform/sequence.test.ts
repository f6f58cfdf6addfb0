/**
 * Position tokens: their content, which they do not reveal, and the values that are accepted as
 * tokens.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { AppliedPosition } from '../../actors/platform/host/applier.ts';
import { createPositions } from '../../src/platform/http/sequence.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import { testBounds } from '../support/bounds.ts';
import { tries } from '../support/tries.ts';

const clock = new VirtualClock(0);
const waiter = {
  caller: { tenant: 'projects/demo', name: 'key' },
  signal: new AbortController().signal,
};
const positionsOf = (key: number, seed = key, waitFor = async (_sequence: number) => {}) =>
  createPositions({
    host: { appliedSequence: () => 1_000, waitFor },
    clock,
    random: seededRandom(seed),
    gate: testBounds(clock).gate,
    key: new Uint8Array(32).fill(key),
  });

test('a token holds its position on every node with the key, and on no other', async (t) => {
  const [here, there, elsewhere] = [positionsOf(1), positionsOf(1, 9), positionsOf(2)];
  fc.assert(
    fc.property(fc.nat(2 ** 31), (sequence) => {
      const token = here.tokenOf(sequence);
      t.equal(there.sequenceOf(token), sequence);
      t.equal(elsewhere.sequenceOf(token), undefined);
    }),
    { numRuns: tries(50), seed: 1 },
  );
  t.equal(here.sequenceOf(here.current()), 1_000);
});

test('tokens of one position have nothing in common', async (t) => {
  const positions = positionsOf(1);
  const tokens = Array.from({ length: 100 }, () => positions.tokenOf(7));
  t.equal(new Set(tokens.map((token) => token.slice(0, 6))).size, 100);
  t.equal(new Set(tokens.map((token) => token.slice(-6))).size, 100);
});

/** Records the positions waited for. */
function waitedFor() {
  const waits: number[] = [];
  const positions = positionsOf(1, 1, async (sequence) => void waits.push(sequence));
  return { waits, positions };
}

test('the largest position of several tokens counts, in any order', async (t) => {
  const { waits, positions } = waitedFor();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 32 }),
      async (sequences) => {
        waits.length = 0;
        const list = sequences.map((sequence) => positions.tokenOf(sequence));
        await positions.waitFor(list.join(sequences.length % 2 ? ',' : ' , '), waiter);
        const largest = Math.max(...sequences);
        t.same(waits, largest > 1_000 ? [largest] : []);
      },
    ),
    { numRuns: tries(50), seed: 1 },
  );
  const tooMany = Array.from({ length: 33 }, () => positions.tokenOf(1)).join();
  await t.rejects(positions.waitFor(tooMany, waiter), {
    name: 'Refusal',
    reason: 'INVALID_FIELD',
    message: /more than 32 tokens/,
  });
});

test('the token of another installation is ignored, alone and beside others', async (t) => {
  const { waits, positions } = waitedFor();
  const foreign = positionsOf(2).tokenOf(9_000);
  await t.resolves(positions.waitFor(foreign, waiter));
  t.same(waits, []);
  await positions.waitFor(`${foreign}, ${positions.tokenOf(2_000)}, `, waiter);
  t.same(waits, [2_000]);
});

test('forged or changed tokens do not cause a wait', async (t) => {
  const { waits, positions } = waitedFor();
  const token = positions.tokenOf(2_000);
  const changed = Array.from({ length: 128 }, (_, bit) => {
    const bytes = Buffer.from(token, 'base64url');
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    return bytes.toString('base64url');
  });
  const madeUp = ['', '42', '-3', 'x', `${token}A`, token.slice(1), `${token.slice(1)}=`, '\u0662'];
  for (const wrong of [...changed, ...madeUp]) {
    await t.resolves(positions.waitFor(wrong, waiter), wrong);
  }
  t.same(waits, []);
  await positions.waitFor(token, waiter);
  t.same(waits, [2_000]);
});

test('API-15: a read with the position of a write waits until history has its rows', async (t) => {
  const samples = new AppliedPosition(6);
  const host = { appliedSequence: () => 40, waitFor: async () => {} };
  const { gate } = testBounds(clock);
  const positions = createPositions({
    host,
    samples,
    clock,
    gate,
    random: seededRandom(1),
    key: new Uint8Array(32),
  });
  const written = positions.afterWrite(7);
  t.equal(written.split(', ').length, 2, 'the applied and the stored position');
  t.equal(positions.sequenceOf(written.split(', ')[0] ?? ''), 40);
  t.equal(
    positions.sequenceOf(written.split(', ')[1] ?? ''),
    undefined,
    'it belongs to another log',
  );
  t.equal(positions.afterWrite(0).split(', ').length, 1, 'nothing was stored');
  let isOver = false;
  const waiting = positions.waitFor(written, waiter).then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.notOk(isOver);
  samples.advance(7);
  await waiting;
  const never = positions.waitFor(positions.afterWrite(9), waiter);
  never.catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(6_000);
  await t.rejects(never, { name: 'Refusal', reason: 'NOT_READY' });
});
