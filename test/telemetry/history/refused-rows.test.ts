/**
 * Rows that were accepted while the head was full are not lost, whatever happens before they are
 * stored.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { test } from 'tap';
import type { HistoryError } from '../../../sqlite/telemetry/history/history-error.ts';
import { BatchBuilder } from '../../../streams/telemetry/samples/batch.ts';
import { START } from '../../support/history-from-log.ts';
import { ThreadlessHistory } from '../../support/threadless-history.ts';
import { tries } from '../../support/tries.ts';

// Wide rows: four fill a page, and a few pages fill the head.
const series = Array.from({ length: 100 }, (_, i) => `x${i}`);
const values = series.map((_, i) => i);

function batchOf(vm: string, observedMs: number) {
  const builder = new BatchBuilder();
  builder.add({
    project: 'demo',
    vm,
    observedMs,
    sequence: 1,
    boot: '',
    vcpus: 2,
    state: 1,
    stateReason: '',
    series,
    values,
  });
  return builder.build(START);
}

test('no interleaving of refusals, flushes, restarts and recoveries loses a row', async (t) => {
  const step = fc.record({
    kind: fc.constantFrom('row', 'row', 'row', 'row', 'flush', 'release', 'recover', 'crash'),
    vm: fc.constantFrom('a', 'b', 'c'),
    movesFloors: fc.boolean(),
    isAll: fc.boolean(),
  });
  const all = { movesFloors: true, isAll: true };
  // A VM whose first row did not fit, whose later row is stored, and which is then reread from the
  // log.
  const refusedBeforeKnown = [
    ...['c', 'b', 'a'].map((vm) => ({ kind: 'row', vm, ...all })),
    ...['flush', 'release', 'row', 'flush', 'crash', 'flush', 'crash'].map((kind) => ({
      kind,
      vm: 'a',
      ...all,
    })),
  ];
  let run = 0;
  let refusals = 0;
  const parent = t.testdir();
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const folder = join(parent, String(run++));
      mkdirSync(folder);
      const history = new ThreadlessHistory(folder, { headBytesMax: 22_000 });
      const accepted = new Map<string, number[]>([...'abc'].map((vm) => [vm, []]));
      const check = (isWhole: boolean) => {
        for (const [vm, times] of accepted) {
          let read: readonly number[];
          try {
            read = [...history.read(vm, START).timesMs];
          } catch (error) {
            if (isWhole || (error as HistoryError).reason !== 'INCOMPLETE') throw error;
            refusals++;
            continue;
          }
          if (String(read) !== String(times)) throw new Error(`${vm}: ${read} for ${times}`);
        }
      };
      try {
        for (const [i, { kind, vm, movesFloors, isAll }] of steps.entries()) {
          if (kind === 'row') {
            accepted.get(vm)?.push(START + i);
            history.append(batchOf(vm, START + i));
          } else if (kind === 'flush') history.flush({ ...(!isAll && { vm }), movesFloors });
          else if (kind === 'release') history.release(isAll ? Infinity : START);
          else if (kind === 'recover') history.recover();
          else history.crash();
          check(false);
        }
        for (let round = 0; !history.recover(); round++) {
          if (round > 60) throw new Error('Rows stay missing');
          history.flush({ movesFloors: true });
          history.release(Infinity);
        }
        check(true);
        history.flush({ movesFloors: true });
        history.crash();
        while (!history.recover()) {
          history.flush({ movesFloors: true });
          history.release(Infinity);
        }
        check(true);
      } finally {
        history.close();
      }
    }),
    { numRuns: tries(60, 30), examples: [[refusedBeforeKnown]] },
  );
  t.ok(refusals > 20, `${refusals} reads were errors`);
});
