/** Sharing the main thread: long work lets others run. */
import { lastValueFrom, of } from 'rxjs';
import { test } from 'tap';
import { mapInSlices, TimeSlices } from '../../streams/platform/operators.ts';

test('API-31: long work yields whenever its slice is used up', async (t) => {
  let nowMs = 0;
  let others = 0;
  let isOver = false;
  const slices = new TimeSlices({ elapsed: () => nowMs } as ConstructorParameters<
    typeof TimeSlices
  >[0]);
  const other = (): void => {
    others++;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  function* steps(): Generator<undefined, string, undefined> {
    for (let i = 0; i < 100; i++) {
      nowMs++;
      yield;
    }
    return 'done';
  }
  t.equal(await lastValueFrom(of(1).pipe(mapInSlices(steps, slices))), 'done');
  isOver = true;
  t.ok(others >= 10, `${others} slices of others in 100 ms of work`);
});
