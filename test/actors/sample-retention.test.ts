/** Truncation of the sample log: never what somebody still needs, and an outage is told. */
import t from 'tap';
import { retainSamples, truncateSamples } from '../../actors/sample-retention.ts';
import { StreamUnavailable } from '../../streams/stream.ts';
import { cpuRow, openAlertingWorld, PROJECT } from '../support/alerting-world.ts';

const HOUR_MS = 3_600_000;

t.test('what is stored and older than every window goes; an outage is told', async (t) => {
  const world = await openAlertingWorld(t);
  const writeHours = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      const rows = [cpuRow('vm-1', world.clock.now(), 1)];
      await world.ingest.write({ project: PROJECT, batchId: '', rows });
      await world.pass(HOUR_MS);
    }
  };
  await writeHours(10);
  const floor = { is: 3 };
  const deps = {
    ...world,
    history: { floor: () => floor.is },
    pipeline: { partitions: () => new Set([0]), throughSequence: () => 10 },
  };
  t.equal(await truncateSamples(deps), 3, 'what is in no chunk yet is kept');
  floor.is = 100;
  t.equal(await truncateSamples(deps), 7, 'four hours are kept');
  await world.saveRule({ sustainedSeconds: 5 * 3_600 });
  await writeHours(3);
  deps.pipeline.throughSequence = () => 13;
  t.equal(await truncateSamples(deps), 9, 'and as many as a rule looks back over');

  const told: unknown[] = [];
  const stream = new Proxy(world.stream, {
    get: (target, name) =>
      name === 'state'
        ? () => Promise.reject(new StreamUnavailable('No answer', 'refused'))
        : Reflect.get(target, name),
  });
  const onLost = (error: unknown): void => void told.push(error);
  world.run((signal) => retainSamples({ ...deps, stream, onLost }, signal));
  await world.pass(600_000);
  await world.pass(600_000);
  t.match(told, [{ name: 'StreamUnavailable' }, { name: 'StreamUnavailable' }]);
});
