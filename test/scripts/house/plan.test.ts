/**
 * The check of the plan of rooms, and the circles that it finds, on small checkouts of a few lines
 * each.
 */
import { test } from 'tap';
import { type Checkout, sourcesOf } from '../../../scripts/house/checkout.ts';
import { circlesOf, fileCircles, folderCircles } from '../../../scripts/house/circles.ts';
import { circleFindings, placeFindings } from '../../../scripts/house/plan.ts';

const ORDER = ['platform', 'telemetry', 'alerting', 'main.ts'];
/** Every room of the order, so that none is missing. */
const ALL = {
  'src/platform/log.ts': '',
  'streams/telemetry/sample.ts': '',
  'actors/alerting/rules.ts': '',
  'src/main.ts': '',
};

function checkoutOf(files: Readonly<Record<string, string>>): Checkout {
  const texts = new Map(Object.entries(files));
  return { root: '', paths: [...texts.keys()], sources: sourcesOf(texts), tests: [] };
}

function findings(files: Readonly<Record<string, string>>): string[] {
  const checkout = checkoutOf({ ...ALL, ...files });
  return [...placeFindings(checkout, ORDER), ...circleFindings(checkout)];
}

test('a checkout that follows the plan has no findings', async (t) => {
  const files = {
    'src/main.ts': "import { log } from './platform/log.ts';",
    'actors/alerting/rules.ts': "import '../../streams/telemetry/sample.ts';",
    'actors/README.md': 'Read rules.ts first.',
  };
  t.same(findings(files), []);
});

test('each violation of the plan is one finding, with its file and reason', async (t) => {
  const cases: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [
      { 'streams/telemetry/sample.ts': "import '../../actors/alerting/rules.ts';" },
      /^streams\/telemetry\/sample\.ts imports actors\/alerting\/rules\.ts: imports go down/,
    ],
    [
      { 'actors/telemetry/ingest.ts': "import type { Rule } from '../alerting/rules.ts';" },
      /^actors\/telemetry\/ingest\.ts imports .*: alerting comes after telemetry in the order/,
    ],
    [{ 'src/demo.ts': '' }, /^src\/demo\.ts is in no room/],
    [{ 'src/gate/gate.ts': '' }, /^src\/gate is not a room/],
    [
      {
        'src/platform/log.ts': "import { level } from './level.ts';",
        'src/platform/level.ts': "import type { Log } from './log.ts';",
      },
      /^circle of files: src\/platform\/level\.ts, src\/platform\/log\.ts$/,
    ],
  ];
  for (const [files, wanted] of cases) {
    const found = findings(files);
    t.equal(found.length, 1, found.join('\n'));
    t.match(found[0], wanted);
  }
});

test('a declared room that is on no floor is a finding', async (t) => {
  t.same(placeFindings(checkoutOf(ALL), [...ORDER, 'billing']), [
    'billing is declared but is on no floor',
  ]);
});

test('a folder and a file beside it that import each other are a circle of folders', async (t) => {
  const { sources } = checkoutOf({
    'src/platform/http/server.ts': "import { text } from '../text.ts';",
    'src/platform/http/page.ts': '',
    'src/platform/text.ts': "import { page } from './http/page.ts';",
  });
  t.same(fileCircles(sources), [], 'no file imports itself indirectly');
  t.same(folderCircles(sources), [{ folder: 'src/platform', children: ['http/', 'text.ts'] }]);
});

test('dependencies include imports of every kind and entries of threads, but no packages', async (t) => {
  const { sources } = checkoutOf({
    'src/a.ts': [
      "import xstate from 'xstate';",
      "import { b } from './b.ts';",
      "export type { C } from './folder/c.ts';",
      "type D = import('./d.ts').D;",
      "import './missing.ts';",
      "new URL('./thread.ts', import.meta.url);",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a module.
      'new URL(`./worker.${extension}`, import.meta.url);',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of a module.
      "new URL(`./threads/${name}.${extension}`, import.meta.url); run('read');",
    ].join('\n'),
    'src/b.ts': '',
    'src/folder/c.ts': '',
    'src/d.ts': '',
    'src/thread.ts': '',
    'src/worker.ts': '',
    'src/threads/read.ts': '',
    'src/threads/write.ts': '',
  });
  t.same(sources.get('src/a.ts')?.imports, [
    'src/b.ts',
    'src/d.ts',
    'src/folder/c.ts',
    'src/thread.ts',
    'src/threads/read.ts',
    'src/worker.ts',
  ]);
});

test('two circles that share no node are two, and a chain is not a circle', async (t) => {
  const graph = new Map(
    Object.entries({ a: ['b'], b: ['c'], c: ['a', 'd'], d: ['e'], e: ['f'], f: ['e'] }),
  );
  t.same(circlesOf(graph), [
    ['a', 'b', 'c'],
    ['e', 'f'],
  ]);
});
