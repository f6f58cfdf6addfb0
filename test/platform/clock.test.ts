/** The machine's clock. Every test that runs on virtual time covers the virtual clock. */
import { test } from 'tap';
import { systemClock } from '../../streams/platform/clock.ts';

test('an elapsed delay wakes at once, without a warning from Node', async (t) => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  process.on('warning', note);
  t.teardown(() => process.off('warning', note));
  await new Promise<void>((resolve) => systemClock.wakeAfter(-5, resolve));
  // Node emits warnings asynchronously.
  await new Promise((resolve) => setImmediate(resolve));
  t.same(warnings, []);
});

test('a cancelled wake-up does not fire', async (t) => {
  const cancel = systemClock.wakeAfter(0, () => t.fail('it came'));
  cancel();
  cancel();
  await new Promise<void>((resolve) => systemClock.wakeAfter(5, resolve));
});
