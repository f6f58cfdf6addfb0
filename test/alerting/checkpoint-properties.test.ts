/**
 * A checkpoint taken between any two entries of any log, and folded with the entries after it, gives
 * the edges and the state of the whole fold.
 */
import fc from 'fast-check';
import { test } from 'tap';
import { createState } from '../../streams/alerting/evaluation/pipeline.ts';
import { checkpointOf, restored, textOfCheckpoint } from '../support/checkpoints.ts';
import { arrivals } from '../support/evaluation-arrivals.ts';
import { fold } from '../support/evaluation-fold.ts';
import { textOfState } from '../support/evaluation-state.ts';
import { tries } from '../support/tries.ts';

test('EVAL-18: checkpoint and tail decide like the whole log of one series', async () => {
  const property = fc.property(arrivals(), fc.nat(), ({ rule, log }, at) => {
    const whole = createState({ rules: [rule], firing: [] });
    whole.isLive = true;
    const cut = at % (log.length + 1);
    for (const entry of log.slice(0, cut)) fold(whole, entry);
    const checkpoint = checkpointOf(whole);
    const state = restored(checkpoint);
    if (textOfState(state) !== textOfState(whole)) return false;
    if (textOfCheckpoint(checkpointOf(state)) !== textOfCheckpoint(checkpoint)) return false;
    return log.slice(cut).every((entry) => {
      const expected = fold(whole, entry).edges;
      const { edges } = fold(state, entry);
      return JSON.stringify(edges) === JSON.stringify(expected);
    });
  });
  fc.assert(property, { seed: 20_261_128, numRuns: tries(500) });
});
