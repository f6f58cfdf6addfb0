/** The counter of ended deliveries, by kind of destination and outcome. */
import { test } from 'tap';
import { countEndedDeliveries } from '../../src/delivery/ended-deliveries.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { accepted, delivering, failed, refused } from '../support/scripted-delivery.ts';

test('an ended delivery is counted once, with any number of attempts, by the member that acts', async (t) => {
  const world = await delivering(t);
  const counted = (owns: boolean) => {
    const metrics = createMetrics({ clock: world.clock, version: 'test' });
    const ownership = { ...soleOwner, owns: () => owns };
    const stop = countEndedDeliveries({ ...world, ownership, metrics, kinds: ['webhook'] });
    t.teardown(() => [stop(), metrics.close()]);
    return async () => {
      const text = await metrics.text();
      return Object.fromEntries(
        Array.from(
          text.matchAll(/^svc_deliveries_ended_total\{(.*)\} (\d+)$/gm),
          ([, labels = '', count]) => [
            labels.replace(/kind="(\w+)",outcome="(\w+)"/, '$1 $2'),
            Number(count),
          ],
        ),
      );
    };
  };
  const [here, elsewhere] = [counted(true), counted(false)];
  const none = {
    'webhook sent': 0,
    'webhook suppressed': 0,
    'webhook failed': 0,
    'webhook expired': 0,
  };
  t.same(await here(), none, 'an increase from zero is an increase');

  world.notifier.answer = ({ body }) => {
    const { vm } = JSON.parse(Buffer.from(body).toString('utf8'));
    if (vm === 'vm-1') return accepted;
    return vm === 'vm-2' ? { ...refused, pauseDestination: false } : failed();
  };
  await world.fire(['vm-1', 'vm-2', 'vm-3']);
  const values = () =>
    world
      .deliveries()
      .map(({ value }) => value)
      .sort();
  await world.until('two have ended', () => values().join() === 'failed,sent,waiting');
  t.same(await here(), { ...none, 'webhook sent': 1, 'webhook failed': 1 });
  await world.pass(24 * 3_600_000, 600_000);
  await world.until('the last one has ended', () => values().join() === 'expired,failed,sent');
  t.same(await here(), { ...none, 'webhook sent': 1, 'webhook failed': 1, 'webhook expired': 1 });
  t.same(await elsewhere(), none);
});
