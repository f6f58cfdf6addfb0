/**
 * The sample log is truncated, partition by partition, only below everything that is still needed:
 * rows in no chunk, unevaluated entries, and the longest window that a rule of the partition looks
 * back over.
 */
import { type Test, test } from 'tap';
import { retainSamples, sampleProgress } from '../../actors/alerting/evaluator/sample-retention.ts';
import { pastEntries } from '../../actors/telemetry/sample-log.ts';
import { FLOOR_MARGIN_MS } from '../../streams/alerting/evaluation/notification-diff.ts';
import { positionAt } from '../../streams/platform/membership/positions.ts';
import { partitionOf } from '../../streams/platform/stream.ts';
import { type AlertingWorld, openAlertingWorld, PROJECT } from '../support/alerting-on-host.ts';

const HOUR_MS = 3_600_000;
const CHECK_MS = 600_000;
/** A project of another partition. */
const OTHER = 'other';
const [OWN, OTHERS] = [partitionOf(PROJECT), partitionOf(OTHER)];

/**
 * Two entries per hour for eight hours: entry 2i - 1 of one project, and entry 2i of the other, are
 * stored at hour i - 1.
 */
async function eightHours(t: Test): Promise<AlertingWorld> {
  t.not(OWN, OTHERS);
  const world = await openAlertingWorld(t);
  for (let hour = 0; hour < 8; hour++) {
    await world.cpu(1);
    await world.cpu(1, ['vm-1'], OTHER);
    if (hour < 7) await world.clock.advance(HOUR_MS);
  }
  return world;
}

/** Positions of one partition; the other one needs nothing. */
interface Needed {
  readonly floor?: number;
  readonly through?: number;
  readonly others?: readonly number[];
  readonly owns?: boolean;
}

function needs({ floor = 17, through = 16 }: Needed) {
  return {
    history: { floor: (partition: number) => (partition === OWN ? floor : 17) },
    pipeline: {
      partitions: () => new Set([OWN, OTHERS]),
      throughOf: (partition: number) => (partition === OWN ? through : 16),
      floorOf: (partition: number) => (partition === OWN ? through + 1 : 17),
    },
  };
}

/** Kept sequences of both partitions after one check, at 7 h 10 min. */
async function kept(world: AlertingWorld, needed: Needed = {}) {
  world.run((signal) =>
    retainSamples(
      {
        ...world,
        ...needs(needed),
        memberFloors: (partition) => (partition === OWN ? (needed.others ?? []) : []),
        ownership: { owns: () => needed.owns ?? true },
      },
      signal,
    ),
  );
  await world.settle();
  await world.clock.advance(CHECK_MS);
  await world.settle();
  const [own, others]: [number[], number[]] = [[], []];
  for await (const { sequence, partition } of pastEntries(world.stream, { sequence: 1 })) {
    (partition === OWN ? own : others).push(sequence);
  }
  return { own, others };
}

/** The four youngest hours. */
const YOUNG = { own: [9, 11, 13, 15], others: [10, 12, 14, 16] };
const ALL = { own: [1, 3, 5, 7, ...YOUNG.own], others: [2, 4, 6, 8, ...YOUNG.others] };

test('entries older than four hours are removed once they are in chunks and evaluated', async (t) => {
  t.same(await kept(await eightHours(t)), YOUNG);
});

test('DUR-20: rows not yet in a chunk are kept at any age, in their own partition only', async (t) => {
  t.same(await kept(await eightHours(t), { floor: 5 }), { ...YOUNG, own: [5, 7, ...YOUNG.own] });
});

test('DUR-20: entries that another member needs are kept at any age, in their own partition only', async (t) => {
  const world = await eightHours(t);
  const others = [13, 7, 17];
  t.same(await kept(world, { others }), { ...YOUNG, own: [7, ...YOUNG.own] });
});

test('a member that does not act for the service truncates nothing', async (t) => {
  t.same(await kept(await eightHours(t), { owns: false }), ALL);
});

test('unevaluated entries are kept at any age, in their own partition only', async (t) => {
  t.same(await kept(await eightHours(t), { through: 4 }), { ...YOUNG, own: [5, 7, ...YOUNG.own] });
});

/** With the margin of a rebuild, six hours. */
const SIX_HOURS = { sustainedSeconds: (6 * HOUR_MS - FLOOR_MARGIN_MS) / 1000 };

test('DUR-20: one tenant’s long window keeps the log of its own partition only', async (t) => {
  const world = await eightHours(t);
  await world.saveRule(SIX_HOURS);
  t.same(await kept(world), { ...YOUNG, own: [5, 7, ...YOUNG.own] });
});

test('a long recovery keeps the log of its partition, and a paused rule keeps nothing', async (t) => {
  const world = await eightHours(t);
  await world.saveRule({ recoverySeconds: SIX_HOURS.sustainedSeconds }, { project: OTHER });
  await world.saveRule({ ...SIX_HOURS, enabled: false });
  t.same(await kept(world), { ...YOUNG, others: [6, 8, ...YOUNG.others] });
});

test('a member reports its position in each partition, and the lowest of all', (t) => {
  const { decided, decidedOf, floor, floors } = sampleProgress(needs({ floor: 5, through: 12 }));
  t.same([decided, floor], [12, 5]);
  t.same(
    [OWN, OTHERS].map((partition) => positionAt(decidedOf, partition)),
    [12, 16],
  );
  t.same(
    [OWN, OTHERS].map((partition) => positionAt(floors, partition)),
    [5, 17],
  );
  t.end();
});

test('the floor of a partition without entries is the reader’s position', (t) => {
  const { history, pipeline } = needs({ floor: 1, through: 12 });
  const { floor } = sampleProgress({
    history,
    pipeline: { ...pipeline, partitions: () => new Set() },
  });
  t.equal(floor, 13);
  t.end();
});
