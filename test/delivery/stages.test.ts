/** Paths of stages: the order, and the end of a path before its last stage. */
import { test } from 'tap';
import { Ended, pathOf } from '../../actors/delivery/stages.ts';

/** A path whose stages record their calls; the named one ends it. */
function recordingPath(ends?: 'first' | 'second') {
  const calls: string[] = [];
  const stage = (name: 'first' | 'second') => async (input: string) => {
    calls.push(`${name} ${input}`);
    return name === ends ? new Ended(`ended by ${name}`) : `${input}+`;
  };
  const last = async (input: string) => {
    calls.push(`last ${input}`);
    return `sent ${input}`;
  };
  return {
    calls,
    path: pathOf<string, string, string, string>(stage('first'), stage('second'), last),
  };
}

test('Each stage receives the previous result, and the last one returns the final result', async (t) => {
  const { calls, path } = recordingPath();
  t.equal(await path('a'), 'sent a++');
  t.same(calls, ['first a', 'second a+', 'last a++']);
});

test('A stage that ends the path returns its result, and no later stage runs', async (t) => {
  const first = recordingPath('first');
  t.equal(await first.path('a'), 'ended by first');
  t.same(first.calls, ['first a']);
  const second = recordingPath('second');
  t.equal(await second.path('a'), 'ended by second');
  t.same(second.calls, ['first a', 'second a+']);
});

test('A fault in a stage rejects the whole path', async (t) => {
  const fault = () => Promise.reject(new Error('no disk'));
  const path = pathOf<string, string, string, string>(
    fault,
    async (a) => a,
    async (a) => a,
  );
  await t.rejects(path('a'), { message: 'no disk' });
});
