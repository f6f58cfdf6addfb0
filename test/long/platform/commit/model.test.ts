/**
 * The commit core under a thousand orders of events (`test/platform/commit/model.ts`). A failing seed
 * is printed: `node test/platform/commit/model.test.ts <seed>` runs it alone.
 */
import t from 'tap';
import { runSeeds } from '../../../platform/commit/model.ts';

const SEEDS = 1_000;

t.test(`two nodes agree and keep their word, over ${SEEDS} seeds`, (t) =>
  runSeeds(
    t,
    Array.from({ length: SEEDS }, (_, i) => i + 1),
  ),
);
