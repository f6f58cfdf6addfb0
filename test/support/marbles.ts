/** Marble diagrams on virtual time; one frame is one ms. */
import { TestScheduler } from 'rxjs/testing';
import type { Pacer } from '../../streams/platform/operators.ts';

interface Assertions {
  same(found: unknown, wanted: unknown): void;
}

/** Runs marbles in virtual time. `paced`: a pacer whose turns last one frame and one step. */
export function marbles(
  t: Assertions,
  test: (helpers: Parameters<Parameters<TestScheduler['run']>[0]>[0], paced: Pacer) => void,
): void {
  const scheduler = new TestScheduler((actual, expected) => t.same(actual, expected));
  scheduler.run((helpers) => {
    test(helpers, {
      isSpent: () => true,
      nextTurn: (resume) => {
        const turn = scheduler.schedule(() => resume(), 1);
        return () => turn.unsubscribe();
      },
    });
  });
}
