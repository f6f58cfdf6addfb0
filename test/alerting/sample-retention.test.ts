/**
 * The sample log is truncated only below everything that is still needed: rows in no chunk,
 * unevaluated entries, and the longest window that a rule looks back over.
 */
import { type Test, test } from 'tap';
import { retainSamples } from '../../actors/alerting/evaluator/sample-retention.ts';
import { AppliedPosition } from '../../actors/platform/host/applier.ts';
import { SAMPLES_STREAM } from '../../actors/telemetry/sample-log.ts';
import { FLOOR_MARGIN_MS } from '../../streams/alerting/evaluation/notification-diff.ts';
import { type AlertingWorld, openAlertingWorld } from '../support/alerting-on-host.ts';

const HOUR_MS = 3_600_000;
const CHECK_MS = 600_000;
const PARTITION = 7;

/** One entry per hour for eight hours: entry i is stored at hour i - 1. */
async function eightHours(t: Test): Promise<AlertingWorld> {
  const world = await openAlertingWorld(t);
  for (let hour = 0; hour < 8; hour++) {
    await world.cpu(1);
    if (hour < 7) await world.clock.advance(HOUR_MS);
  }
  return world;
}

/** The first sequence kept after one check, at 7 h 10 min. */
async function firstKept(
  world: AlertingWorld,
  needed: {
    readonly floor: number;
    readonly through: number;
    readonly others?: readonly number[];
    readonly owns?: boolean;
  },
): Promise<number> {
  world.run((signal) =>
    retainSamples(
      {
        ...world,
        history: { floor: () => needed.floor },
        pipeline: {
          partitions: () => new Set([PARTITION]),
          throughSequence: () => needed.through,
          floorOf: () => needed.through + 1,
          stored: new AppliedPosition(needed.through),
        },
        memberFloors: () => needed.others ?? [],
        ownership: { owns: () => needed.owns ?? true },
      },
      signal,
    ),
  );
  await world.settle();
  await world.clock.advance(CHECK_MS);
  await world.settle();
  return (await world.stream.state(SAMPLES_STREAM)).firstSequence;
}

test('entries older than four hours are removed once they are in chunks and evaluated', async (t) => {
  const world = await eightHours(t);
  t.equal(await firstKept(world, { floor: 9, through: 8 }), 5);
});

test('DUR-20: rows in no chunk yet are kept at any age', async (t) => {
  const world = await eightHours(t);
  t.equal(await firstKept(world, { floor: 2, through: 8 }), 2);
});

test('DUR-20: entries that another member needs are kept at any age', async (t) => {
  const world = await eightHours(t);
  t.equal(await firstKept(world, { floor: 9, through: 8, others: [7, 3, 9] }), 3);
});

test('a member that does not act for the service truncates nothing', async (t) => {
  const world = await eightHours(t);
  t.equal(await firstKept(world, { floor: 9, through: 8, owns: false }), 1);
});

test('unevaluated entries are kept at any age', async (t) => {
  const world = await eightHours(t);
  t.equal(await firstKept(world, { floor: 9, through: 2 }), 3);
});

test('a rule with a longer window keeps the log for it, with the margin of a rebuild', async (t) => {
  const world = await eightHours(t);
  const sustainedSeconds = (6 * HOUR_MS - FLOOR_MARGIN_MS) / 1000;
  await world.saveRule({ sustainedSeconds });
  t.equal(await firstKept(world, { floor: 9, through: 8 }), 3);
});
