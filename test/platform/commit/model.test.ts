/**
 * The commit core under every order of events that seeds can think of (`model.ts`): some of them.
 * `test/long` runs many more. A failing seed is printed:
 * `node test/platform/commit/model.test.ts <seed>` runs it alone.
 */
import t from 'tap';
import { runSeeds } from './model.ts';

const SEEDS = 250;

const alone = process.argv[2] === undefined ? undefined : Number(process.argv[2]);
const seeds = alone === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [alone];

t.test('two nodes agree and keep their word, whatever the stream does', (t) => runSeeds(t, seeds));
