/**
 * The commit core under random orders of events, drawn from seeds (`model.ts`). A failing seed is
 * printed; `node test/platform/commit/model.test.ts <seed>` runs it alone.
 */
import { test } from 'tap';
import { tries } from '../../support/tries.ts';
import { runSeeds } from './model.ts';

const SEEDS = tries(1_000);

const alone = process.argv[2] === undefined ? undefined : Number(process.argv[2]);
const seeds = alone === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [alone];

test('two nodes agree and keep every acknowledged answer on a faulty stream', (t) =>
  runSeeds(t, seeds));
