/** Our RxJS operators, by marble diagrams on virtual time: values, order, errors, subscriptions. */
import {
  concatMap,
  from,
  map,
  NEVER,
  type Observable,
  of,
  pipe,
  Subject,
  take,
  tap,
  throwError,
} from 'rxjs';
import { test } from 'tap';
import {
  mapInOrder,
  mapInSlices,
  oneAtATime,
  type Steps,
  valuesNow,
} from '../../streams/platform/operators.ts';
import { marbles } from '../support/marbles.ts';

test('mapInOrder passes plain results at once', async (t) => {
  marbles(t, ({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('-a-(bc)-|');
    expectObservable(source.pipe(mapInOrder((value) => value.toUpperCase()))).toBe('-A-(BC)-|');
    expectSubscriptions(source.subscriptions).toBe('^-------!');
  });
});

test('mapInOrder lets later values wait for an observable, one at a time', async (t) => {
  marbles(t, ({ hot, cold, expectObservable, expectSubscriptions }) => {
    const first = cold('---x|');
    const second = cold('-y|');
    const source = hot('-abac-|');
    const waits = { a: first, b: second };
    const mapped = source.pipe(mapInOrder((value) => waits[value as 'a'] ?? value));
    expectObservable(mapped).toBe('----x-y---x(c|)');
    expectSubscriptions(first.subscriptions).toBe(['-^---!', '-------^---!']);
    expectSubscriptions(second.subscriptions).toBe('-----^-!');
    expectSubscriptions(source.subscriptions).toBe('^-----!');
  });
});

test('mapInOrder ends with the first error of the source or of an inner observable', async (t) => {
  const fails = new Error('thrown');
  const thrown = () => {
    throw fails;
  };
  marbles(t, ({ hot, cold, expectObservable, expectSubscriptions }) => {
    const source = hot('-a-b-|');
    const inner = hot('---#');
    expectObservable(source.pipe(mapInOrder(() => inner))).toBe('---#');
    expectObservable(source.pipe(mapInOrder(thrown))).toBe('-#', undefined, fails);
    const later = cold('-a#');
    expectObservable(later.pipe(mapInOrder((value) => value))).toBe('-a#');
    const waiting = (value: string) => (value === 'a' ? of('x') : throwError(() => fails));
    expectObservable(source.pipe(mapInOrder(waiting))).toBe('-x-#', undefined, fails);
    expectSubscriptions(source.subscriptions).toBe(['^--!', '^!', '^--!']);
  });
});

test('mapInOrder unsubscribes from the source and the inner observable', async (t) => {
  marbles(t, ({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('-a----');
    const inner = hot('--x---y');
    expectObservable(source.pipe(mapInOrder(() => inner)), '^---!').toBe('--x--');
    expectSubscriptions(source.subscriptions).toBe('^---!');
    expectSubscriptions(inner.subscriptions).toBe('-^--!');
  });
});

test('mapInOrder does not grow the stack for observables that end at once', async (t) => {
  const values = Array.from({ length: 50_000 }, (_, i) => i);
  const gate = new Subject<number>();
  const seen: number[] = [];
  const source = from([-1, ...values]);
  source
    .pipe(mapInOrder((value) => (value < 0 ? gate.pipe(take(1)) : of(value))))
    .subscribe((value) => seen.push(value));
  gate.next(-1);
  t.same(seen, [-1, ...values]);
});

function* stepsOf(count: number): Steps<string> {
  for (let i = 0; i < count; i++) yield;
  return `${count} steps`;
}

const counts = { a: 0, b: 3, c: 1 };
const done = { x: '0 steps', y: '3 steps', z: '1 steps' };

test('mapInSlices without a pacer does all of the work at once', async (t) => {
  marbles(t, ({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('-a-bc|', counts);
    expectObservable(source.pipe(mapInSlices(stepsOf))).toBe('-x-yz|', done);
    expectSubscriptions(source.subscriptions).toBe('^----!');
  });
});

test('mapInSlices spreads steps over the turns of its pacer, in order', async (t) => {
  marbles(t, ({ hot, expectObservable, expectSubscriptions }, pacer) => {
    const source = hot('-a-bc|', counts);
    // The fourth `next()` of b has its result, three turns later; then c takes one more turn.
    expectObservable(source.pipe(mapInSlices(stepsOf, pacer))).toBe('-x----y(z|)', done);
    expectSubscriptions(source.subscriptions).toBe('^----!');
  });
});

test('mapInSlices stops with its turn when it is unsubscribed, and fails with its steps', async (t) => {
  let steps = 0;
  function* counted(): Steps<string> {
    for (;;) {
      if (++steps > 100) throw new Error('too many');
      yield;
    }
  }
  marbles(t, ({ hot, expectObservable, expectSubscriptions }, pacer) => {
    const source = hot('-a-', counts);
    expectObservable(source.pipe(mapInSlices(counted, pacer)), '^---!').toBe('-----');
    expectSubscriptions(source.subscriptions).toBe('^---!');
  });
  t.equal(steps, 3, 'one per turn, until it was unsubscribed');
  marbles(t, ({ hot, expectObservable }, pacer) => {
    steps = 98;
    const failed = hot('-a-', counts).pipe(mapInSlices(counted, pacer));
    expectObservable(failed).toBe('---#', undefined, new Error('too many'));
  });
});

test('oneAtATime admits a value when the one before has passed all stages', async (t) => {
  marbles(t, ({ hot, cold, expectObservable, expectSubscriptions }) => {
    const first = cold('-a|');
    const second = cold('--b|');
    const source = hot('-xy---z-|');
    const entered: string[] = [];
    const stages = pipe(
      tap((value: string) => entered.push(value)),
      concatMap((value) => first.pipe(map(() => value))),
      concatMap((value) => second.pipe(map(() => value))),
    );
    // Without `oneAtATime` the first stage would accept y while the second has x.
    expectObservable(source.pipe(oneAtATime(stages))).toBe('----x--y--z|');
    expectSubscriptions(source.subscriptions).toBe('^-------!');
    expectSubscriptions(first.subscriptions).toBe(['-^-!', '----^-!', '-------^-!']);
    expectSubscriptions(second.subscriptions).toBe(['--^--!', '-----^--!', '--------^--!']);
  });
});

test('oneAtATime ends with an error, and with its subscriber', async (t) => {
  marbles(t, ({ hot, cold, expectObservable, expectSubscriptions }) => {
    const source = hot('-xy---z-|');
    const slow = cold('--a|');
    const stages = concatMap((value: string) => slow.pipe(map(() => value)));
    expectObservable(source.pipe(oneAtATime(stages)), '^---!').toBe('---x-');
    const failing = concatMap((value: string) => (value === 'y' ? cold('#') : of(value)));
    expectObservable(source.pipe(oneAtATime(failing))).toBe('-x#');
    expectObservable(hot('-x#').pipe(oneAtATime(stages))).toBe('--#');
    expectSubscriptions(source.subscriptions).toBe(['^---!', '^-!']);
    expectSubscriptions(slow.subscriptions).toBe(['-^--!', '-^!']);
  });
});

test('oneAtATime continues after a recovered failure, and skips values that it does not admit', async (t) => {
  marbles(t, ({ hot, cold, expectObservable }) => {
    const failed: string[] = [];
    const slow = cold('--a|');
    const stages = concatMap((value: string) => {
      if (value === 'x') throw new Error('at once');
      return value === 'y' ? cold('--#') : slow.pipe(map(() => value));
    });
    const admission = {
      admits: (value: string) => value !== 'n',
      recover: (value: string) => void failed.push(value),
    };
    const source = hot('-xyznza-|');
    expectObservable(source.pipe(oneAtATime(stages, admission))).toBe('------z--z--a|');
    const recover = (_: string, error: unknown) => {
      throw error;
    };
    const failing = concatMap((): Observable<string> => cold('-#', undefined, new Error('failed')));
    const ended = hot('-x--|').pipe(oneAtATime(failing, { recover }));
    expectObservable(ended).toBe('--#', undefined, new Error('failed'));
  });
});

test('oneAtATime accepts any number of synchronous values', async (t) => {
  const values = Array.from({ length: 50_000 }, (_, i) => i);
  t.same(
    valuesNow(from(values).pipe(oneAtATime(map((n) => n + 1)))),
    values.map((n) => n + 1),
  );
});

test('valuesNow returns the synchronous values, and throws their error', async (t) => {
  t.same(valuesNow(from([1, 2]).pipe(map((n) => n + 1))), [2, 3]);
  t.throws(() => valuesNow(throwError(() => new Error('failed'))), new Error('failed'));
  t.throws(() => valuesNow(NEVER), /waits/);
});
