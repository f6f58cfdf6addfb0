/** The voice ratchet: which sentences count, and that a limit is never raised. */
import { test } from 'tap';
import { patternOf } from '../../scripts/voice/patterns.ts';
import { countsOf, findingsOf, lowered, overLimit, roomOf } from '../../scripts/voice/ratchet.ts';
import { sentencesOf } from '../../scripts/voice/sentences.ts';

/** Assembled here, so that the check of this repository does not count its own example. */
const BAD = `${'What'} waits to be sent is cancelled.`;

test('each form is found in a sentence, and plain English is not', async (t) => {
  const cases: [sentence: string, name: string | undefined][] = [
    [BAD, 'clause as subject (what)'],
    [`${'Whoever'} asks gets an answer.`, 'clause as subject (who, those that)'],
    [`${'Of'} each class a few may run.`, 'fronted Of'],
    ['It waits for 5 seconds at'.concat(' most.'), 'postposed bound'],
    ['A member renews its record'.concat(' so often.'), 'so often, so long'],
    ['The door is open to '.concat('every', 'body.'), 'nobody, somebody'],
    ['Work '.concat('goes', ' on afterwards.'), 'come, go on, stand, lie'],
    ['The answer is'.concat(' waited for.'), 'is waited for'],
    ['The reason'.concat(' is said.'), 'is none, is said'],
    ['Queued notifications are cancelled.', undefined],
    ['What is the interval of a flush?', undefined],
    ['Each party may run at most 5 calls.', undefined],
    ['Of course it returns.', undefined],
  ];
  for (const [sentence, name] of cases) t.equal(patternOf(sentence)?.name, name, sentence);
});

test('comments, strings and prose are read; code and short names are not', async (t) => {
  const code = [
    '/** Stops every reader.',
    ' * Then closes the file. */',
    "const shortName = 'a b c';",
    "const text = 'the file cannot be opened';",
    '  // A line of its own,',
    '  // continued here.',
    'const value = first - second;',
  ].join('\n');
  t.same(sentencesOf('a.ts', code), [
    'Stops every reader.',
    'Then closes the file.',
    'A line of its own, continued here.',
    'the file cannot be opened',
  ]);
  const page =
    '# A title of a page\n\n```sh\nsvc serve and more\n```\n\n- One thing. Another thing.\n';
  t.same(sentencesOf('a.md', page), ['A title of a page', 'Another thing.']);
});

test('findings are counted by room', async (t) => {
  t.equal(roomOf('src/telemetry/query/a.ts'), 'src/telemetry');
  t.equal(roomOf('docs/alerting.md'), 'docs');
  t.equal(roomOf('README.md'), 'README.md');
  const findings = ['src/cli/a/b.ts', 'src/cli/c/d.ts', 'docs/a.md'].flatMap((path) =>
    findingsOf(path, path.endsWith('.md') ? BAD : `// ${BAD}`),
  );
  t.same(
    [...countsOf(findings)],
    [
      ['src/cli', 2],
      ['docs', 1],
    ],
  );
});

test('a room over its limit fails with its sentences', async (t) => {
  const findings = findingsOf('src/cli/a/b.ts', `// ${BAD}`);
  t.same(overLimit(findings, { 'src/cli': 1 }), []);
  const [title, sentence] = overLimit(findings, {});
  t.match(title, /^src\/cli has 1 sentences to rewrite, at most 0 are allowed/);
  t.ok(sentence?.includes(BAD));
  t.match(sentence, /Name the thing/);
});

test('limits are lowered to the counts, and never raised', async (t) => {
  const counts = new Map([
    ['src/cli', 9],
    ['docs', 2],
  ]);
  t.same(lowered({ docs: 5, 'src/cli': 4, test: 3 }, counts), { docs: 2, 'src/cli': 4 });
});
