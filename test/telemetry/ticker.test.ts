/** Ticks: one each 15 s for every partition that has a project, and none made up afterwards. */
import t from 'tap';
import { pastEntries } from '../../actors/telemetry/sample-log.ts';
import { TICK_MS, tick } from '../../actors/telemetry/ticker.ts';
import { partitionOf } from '../../streams/platform/stream.ts';
import { openAlertingWorld, START_MS } from '../support/alerting-on-host.ts';

t.test('each partition with a project is ticked, the system and an outage are not', async (t) => {
  const world = await openAlertingWorld(t);
  const ticks = async () => {
    const found: string[] = [];
    for await (const { entry, partition } of pastEntries(world.stream, { sequence: 1 })) {
      if (entry.kind === 'tick') found.push(`${partition} @ ${(entry.atMs - START_MS) / 1000}`);
    }
    return found;
  };
  const projects = ['demo', 'other'];
  t.not(partitionOf('demo'), partitionOf('other'));
  for (const project of projects) await world.saveRule({}, { project });
  await world.host.submit({
    ...{ project: '_system', by: { kind: 'service', name: 'test' } },
    decide: (draft) => void draft.putRecord({ kind: 'note', id: '1', body: {} }),
  });
  let lost = 0;
  const stop = world.run((signal) => tick({ ...world, onLost: () => lost++ }, signal));
  await world.pass(TICK_MS);
  const at = (second: number) => projects.map((each) => `${partitionOf(each)} @ ${second}`);
  t.same((await ticks()).sort(), [...at(0), ...at(15)].sort());
  world.faults.append = () => 'refused';
  await world.pass(TICK_MS);
  world.faults.append = () => undefined;
  await world.pass(TICK_MS);
  t.same((await ticks()).slice(4).sort(), at(45).sort());
  t.equal(lost, 2, 'each lost one is reported');
  await stop();
  await world.pass(TICK_MS);
  t.equal((await ticks()).length, 6);
});
