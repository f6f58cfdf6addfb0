/**
 * More destinations that hang at once than attempts are in flight: a quiet project's delivery does
 * not wait for them. The real deliverer under a virtual clock; only the endpoints are stand-ins.
 */
import { test } from 'tap';
import { accepted, failed, openDeliveryWorld } from '../../support/scripted-delivery.ts';

const PROJECTS = 200;
const DESTINATIONS = 5;
const SILENT = failed({ unknown: true, error: 'No response within the time limit of an attempt' });

test('HOOK-15: 1,000 destinations that hang at once delay no other project', async (t) => {
  const world = await openDeliveryWorld(t);
  const { notifier, host } = world;
  const putInForce = async (project: string, count: number) => {
    const destinationNames: string[] = [];
    for (let i = 0; i < count; i++) destinationNames.push(await world.addDestination(project));
    await world.putInForce({ destinationNames }, { project });
  };
  const projects = Array.from({ length: PROJECTS }, (_, i) => `crowd-${i}`);
  for (const project of projects) await putInForce(project, DESTINATIONS);
  await putInForce('quiet', 1);
  const [quiet] = host.view('quiet').instances('destination', { limit: 1 }).items;
  const quietUrl = world.sealed.get(String(quiet?.context.urlId));
  let ofQuiet = 0;
  notifier.answer = ({ target }) => {
    if (!('url' in target) || target.url !== quietUrl) return undefined;
    ofQuiet++;
    return accepted;
  };
  world.startTimers();
  world.startDeliverer();
  await world.settle();

  for (const project of projects) await world.fire(['vm-1', 'vm-2'], { project });
  await world.settle(400);
  const hanging = notifier.hanging;
  await world.fire(['vm-1'], { project: 'quiet' });
  await world.until('the delivery of the quiet project', () => ofQuiet === 1);
  t.equal(hanging, PROJECTS * DESTINATIONS, 'every destination hangs');
  t.equal(notifier.hanging, hanging, 'no attempt had to end first');

  // Later rounds: destinations that hang are known, and use only their share.
  for (let round = 2; round <= 4; round++) {
    notifier.release(SILENT);
    await world.settle(400);
    await world.clock.advance(60_000);
    await world.settle(400);
    const before = notifier.hanging;
    t.ok(before > 0, 'they are tried again');
    await world.fire([`vm-${round}`], { project: 'quiet' });
    await world.until('the next delivery of the quiet project', () => ofQuiet === round);
    t.ok(notifier.hanging >= before, `round ${round}: no attempt had to end first`);
  }
  notifier.answer = () => accepted;
  notifier.release(accepted);
  await world.settle(400);
  t.same(world.reportedFaults(), []);
});
