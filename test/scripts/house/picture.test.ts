/**
 * The picture of the house: what it draws of a checkout, and that its lines do not cross its cells.
 */
import t from 'tap';
import { type Checkout, sourcesOf } from '../../../scripts/house/checkout.ts';
import { crossings, tracksOf } from '../../../scripts/house/picture/channels.ts';
import { gridOf, rowOf } from '../../../scripts/house/picture/grid.ts';
import { paintGrid } from '../../../scripts/house/picture/picture.ts';
import {
  CELL_HEIGHT,
  CELL_WIDTH,
  columnLeft,
  columns,
  planOf,
} from '../../../scripts/house/picture/routes.ts';

function checkoutOf(files: Readonly<Record<string, string>>): Checkout {
  const texts = new Map(Object.entries(files));
  return { root: '', paths: [...texts.keys()], sources: sourcesOf(texts), tests: [] };
}

const HOUSE = checkoutOf({
  'src/delivery/sender.ts': [
    "import '../../actors/alerting/rules.ts';",
    "import '../../streams/telemetry/sample.ts';",
    "import '../identity/auth.ts';",
    "import '../platform/log.ts';",
  ].join('\n'),
  'src/delivery/again.ts': "import '../../streams/alerting/fold.ts';",
  'src/identity/auth.ts': '',
  'src/platform/log.ts': '',
  'src/telemetry/query.ts': "import '../../streams/alerting/fold.ts';",
  'src/cli/main.ts': "import '../delivery/sender.ts';",
  'actors/telemetry/ingest.ts': '',
  'actors/alerting/rules.ts': "import '../telemetry/ingest.ts';",
  'sqlite/telemetry/history.ts': '',
  'streams/telemetry/sample.ts': '',
  'streams/alerting/fold.ts': "import '../telemetry/sample.ts';",
  'machines/delivery/delivery.ts': '',
});

t.test('a room that uses another on two floors gets one arrow, to the higher floor', async (t) => {
  const uses = gridOf(HOUSE).uses.map(
    ({ from, to, imports }) => `${from.floor}/${from.room} > ${to.floor}/${to.room} ${imports}`,
  );
  t.same(uses, [
    'src/telemetry > streams/alerting 1',
    'src/delivery > src/identity 1',
    'src/delivery > actors/alerting 2',
    'src/delivery > streams/telemetry 1',
    'actors/alerting > actors/telemetry 1',
    'streams/alerting > streams/telemetry 1',
  ]);
});

t.test('no line runs through a cell other than those at its ends', async (t) => {
  const grid = gridOf(HOUSE);
  const { routes, rowTops } = planOf(grid, 0);
  t.equal(routes.length, grid.uses.length);
  for (const { use, points } of routes) {
    for (const cell of grid.cells.filter(({ room }) => columns.includes(room))) {
      if (cell === use.from || cell === use.to) continue;
      const left = columnLeft(cell.room);
      const top = rowTops[rowOf(cell)] ?? 0;
      for (const [i, a] of points.entries()) {
        const b = points[i + 1] ?? a;
        const meets =
          Math.max(a.x, b.x) > left &&
          Math.min(a.x, b.x) < left + CELL_WIDTH &&
          Math.max(a.y, b.y) > top &&
          Math.min(a.y, b.y) < top + CELL_HEIGHT;
        t.notOk(meets, `${use.from.room} to ${use.to.room}, at ${cell.floor}/${cell.room}`);
      }
    }
  }
});

t.test(
  'the same checkout gives the same picture: every cell, every arrow, the edges above',
  async (t) => {
    const picture = paintGrid(gridOf(HOUSE));
    t.equal(paintGrid(gridOf(HOUSE)), picture);
    t.equal(picture.match(/class="line /g)?.length, 6);
    t.match(picture, />cli</);
    t.match(picture, /<title>streams\/alerting uses telemetry<\/title>/);
  },
);

t.test('lines are ordered to cross least, and share a track if they are far apart', async (t) => {
  const fromAbove = { above: [10, 40], below: [] };
  const toBelow = { above: [], below: [20, 30] };
  t.equal(crossings([0, 1], [fromAbove, toBelow]), 0);
  t.equal(crossings([1, 0], [fromAbove, toBelow]), 2);
  t.same(tracksOf([toBelow, fromAbove]), [1, 0], 'lines from above stay above');
  const apart = [
    { above: [0], below: [10] },
    { above: [90], below: [99] },
  ];
  t.same(tracksOf(apart), [0, 0]);
});
