/** The search for words of the old dialect: what it finds, where, and what it ignores. */
import t from 'tap';
import { oldWordsIn } from '../../../scripts/house/old-words.ts';
import { commentShares, textParts } from '../../../scripts/house/text-kinds.ts';

const MODULE = `/** What the module holds. */
import { pause } from './pause.ts';

// The owner is told of it.
export function tellOwner(lane: string): void {
  pause('The owner was told', \`of \${lane} at once\`, 'told');
}
`;

t.test('a use is listed with its reader: people, engineers, readers of tests', async (t) => {
  const found = (path: string) =>
    oldWordsIn(path, MODULE).map(({ reader, place, word }) => `${reader} ${place} ${word}`);
  t.same(found('src/a.ts'), [
    'comments src/a.ts:1 What or How at the head of a file',
    'comments src/a.ts:4 tell, told, telling',
    'people src/a.ts:6 tell, told, telling',
    'code src/a.ts:6 tell, told, telling',
    'code src/a.ts:5 tell, told, telling',
    'code src/a.ts:5 lane',
    'code src/a.ts:6 lane',
  ]);
  t.match(found('test/a.test.ts')[2], /^tests /, 'a sentence in a test is its name');
});

t.test('documents and comments of .proto files are read by people', async (t) => {
  t.match(oldWordsIn('docs/a.md', 'One line.\nWhat fires of it is retired.\n'), [
    { reader: 'people', place: 'docs/a.md:2', word: 'what fires of it' },
  ]);
  t.match(oldWordsIn('src/proto/a.proto', 'message Told {\n  // Empty = not told.\n}\n'), [
    { reader: 'people', place: 'src/proto/a.proto:2' },
  ]);
});

t.test('honest uses are ignored', async (t) => {
  const honest = [
    'Two clocks cannot be told apart.',
    'It tells a late sample from an early one.',
    'Please tell us.',
    'The claims of a JWT are read.',
    'Intelligent, foretold, a room of the house.',
  ];
  t.same(
    honest.flatMap((line) => oldWordsIn('docs/a.md', line)),
    [],
  );
});

t.test('a stored name is ignored in the file that maps it, and nowhere else', async (t) => {
  const module = "export const body = { kind: 'ownersTold', told: [], untold: [] };\n";
  t.same(oldWordsIn('actors/identity/access-notices.ts', module), []);
  t.equal(oldWordsIn('actors/identity/grants.ts', module).length, 2);
});

t.test('parts of a module keep their lines; types count as code', async (t) => {
  const parts = textParts("/* one */\nconst a: 'two' = call('three', `four`);\ntype B = 'told';\n");
  t.same(
    parts.map(({ kind, line, text }) => [kind, line, text.trim()]),
    [
      ['comment', 1, 'one'],
      ['string', 2, 'three'],
      ['string', 2, 'four'],
      ['code', 2, "const a: 'two' = call(       , `    `);"],
      ['code', 3, "type B = 'told';"],
    ],
  );
});

t.test('comment lines are lines without code, among those that are not empty', async (t) => {
  t.same(commentShares('/**\n * One.\n */\n\n  const a = 1; // x\n// y\n'), {
    lines: { comment: 4, all: 5 },
    characters: { comment: 3 + 6 + 2 + 4, all: 3 + 6 + 2 + 17 + 4 },
  });
});
