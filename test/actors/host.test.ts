/**
 * The host on a stream in memory: what a submission comes to, what is refused, what is repeated.
 * Conflicts and lost messages are the model test's (test/commit/model.test.ts).
 */
import t from 'tap';
import { add, countingNode } from '../support/counting-node.ts';
import { FaultyLog } from '../support/faulty-stream.ts';

t.test('a decision is committed with its outcome, applied, and read back', async (t) => {
  const node = countingNode({ stream: new FaultyLog().connect() });
  t.teardown(() => node.close());
  await node.host.start();
  const first = await add(node.host, 'demo', 'a');
  t.match(first, { answer: { count: 1 }, sequence: 1, replayed: false });
  t.equal(node.host.appliedSequence(), 1);
  const view = node.host.view('demo');
  t.match(view.instance('counter', 'a'), { value: 'counting', context: { count: 1 }, version: 1 });
  t.match(view.record('counter', 'a'), { body: { count: 1 } });
  t.match(view.transitions({ limit: 10 }).items, [
    { event: { type: 'xstate.init' }, from: null, to: 'zero', sequence: 1 },
    { event: { type: 'added' }, from: 'zero', to: 'counting', sequence: 1 },
  ]);
  t.match(node.host.projects(), ['demo']);
});
