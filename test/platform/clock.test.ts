/** The machine's clock; the virtual one is tested by all that runs on it. */
import t from 'tap';
import { systemClock } from '../../streams/platform/clock.ts';

t.test('a delay that is over wakes at once, and Node has nothing to warn of', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  await new Promise<void>((resolve) => systemClock.wakeAfter(-5, resolve));
  // Node emits warnings asynchronously.
  await new Promise((resolve) => setImmediate(resolve));
  t.same(warnings, []);
});

t.test('a wake-up that was cancelled does not come', async (t) => {
  const cancel = systemClock.wakeAfter(0, () => t.fail('it came'));
  cancel();
  cancel();
  await new Promise<void>((resolve) => systemClock.wakeAfter(5, resolve));
});
