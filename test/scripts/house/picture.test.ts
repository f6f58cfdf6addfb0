/** The picture of the house: the uses that it reads from a checkout, and its drawing of them. */
import { test } from 'tap';
import { type Checkout, sourcesOf } from '../../../scripts/house/checkout.ts';
import { gridOf } from '../../../scripts/house/picture/grid.ts';
import { paintGrid } from '../../../scripts/house/picture/picture.ts';

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

test('imports of a room are counted by the floor of the room that it uses', async (t) => {
  const uses = gridOf(HOUSE).uses.map(({ from, to, imports }) => {
    const counts = [...imports].map(([floor, count]) => `${floor} ${count}`);
    return `${from} > ${to}: ${counts.sort().join(', ')}`;
  });
  t.same(uses, [
    'telemetry > alerting: streams 1',
    'alerting > telemetry: actors 1, streams 1',
    'delivery > platform: src 1',
    'delivery > identity: src 1',
    'delivery > telemetry: streams 1',
    'delivery > alerting: actors 1, streams 1',
    'cli > delivery: src 1',
  ]);
});

/** The picture's part that has this title. */
function partOf(picture: string, title: string): string {
  const [, part = ''] = picture.split(`<title>${title}</title>`);
  return part.split('</g>')[0] ?? '';
}

test('each use has a mark: a line for each floor, and a bar for each imported one', async (t) => {
  const picture = paintGrid(gridOf(HOUSE));
  const uses = gridOf(HOUSE).uses.length;
  t.equal(picture.match(/<title>\w+ uses \w+: /g)?.length, uses);
  const mark = partOf(picture, 'delivery uses alerting: actors, streams');
  t.equal(mark.match(/class="track"/g)?.length, 2, 'alerting is on two floors');
  t.equal(mark.match(/class="h5"/g)?.length, 2, 'both are imported');
  const other = partOf(picture, 'cli uses delivery: src');
  t.equal(other.match(/class="track"/g)?.length, 2);
  t.equal(other.match(/class="h6"/g)?.length, 1);
});

test('a bar grows in three steps with the number of imports', async (t) => {
  const widthOf = (imports: number) => {
    const files = Array.from({ length: imports }, (_, i) => [
      `src/delivery/${i}.ts`,
      "import '../identity/auth.ts';",
    ]);
    const house = checkoutOf({ 'src/identity/auth.ts': '', ...Object.fromEntries(files) });
    const mark = partOf(paintGrid(gridOf(house)), 'delivery uses identity: src');
    return Number(/class="h1"[^>]* width="([\d.]+)"/.exec(mark)?.[1]);
  };
  const [one, three, four, fifteen, sixteen, forty] = [1, 3, 4, 15, 16, 40].map(widthOf);
  t.same([three, fifteen, forty], [one, four, sixteen]);
  t.same([four, sixteen], [2 * (one ?? 0), 3 * (one ?? 0)]);
});

test('the same checkout gives the same picture, with the edges under the roof', async (t) => {
  const picture = paintGrid(gridOf(HOUSE));
  t.equal(paintGrid(gridOf(HOUSE)), picture);
  t.match(picture, />cli</);
  t.match(picture, /<title>delivery uses its own lower floors<\/title>/);
});
