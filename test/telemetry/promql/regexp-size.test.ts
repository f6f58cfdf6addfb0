/**
 * The size of a pattern is known before it is compiled. It is compared with the compiler itself,
 * for random patterns, and for patterns that took seconds and a gigabyte to compile.
 */
import fc from 'fast-check';
import { RE2JS, RE2JSException } from 're2js';
import { test } from 'tap';
import {
  compileRegexp,
  createMatcher,
  RegexpBudget,
} from '../../../src/telemetry/promql/matcher.ts';
import { regexpSize } from '../../../src/telemetry/promql/regexp-size.ts';
import { occurrences, tries } from '../../support/tries.ts';

/** Instructions that the compiler emits; undefined = it rejects the pattern. */
function compiledSize(pattern: string): number | undefined {
  try {
    return RE2JS.compile(pattern, RE2JS.DOTALL).programSize();
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}

const atom = fc.oneof(
  fc.constantFrom(
    ...[
      'a',
      'b',
      'ab',
      'ß',
      '😀',
      '.',
      '^',
      '$',
      '\\d',
      '\\W',
      '\\b',
      '\\A',
      '\\z',
      '\\.',
      '{',
      '}',
    ],
    ...['{,3}', '{01}', '\\x41', '\\x{10FFFF}', '\\x{10}', '\\101', '\\n', '\\pN', '\\p{Greek}'],
    ...['\\P{^L}', '[a-z]', '[^a]', '[]a]', '[^]a]', '[\\]{3}]', '[[:alpha:](]', '[\\p{L}|{2}]'],
    ...['[\\x{41}-\\x{5A}]', '\\Qa{9}(\\E', '\\Q\\E', '(?i)', '(?s-m)', '(?U)', '[a-]', '\\Q|*'],
  ),
  fc.string({ maxLength: 3 }),
);

const repetition = fc.oneof(
  fc.constantFrom('*', '+', '?', '*?', '+?', '??', '{0}', '{1}', '{2,}', '{0,}', '{1,}', '{0,0}'),
  fc
    .tuple(fc.nat({ max: 12 }), fc.nat({ max: 12 }))
    .map(([least, more]) => `{${least},${least + more}}`),
  fc.nat({ max: 40 }).map((count) => `{${count}}?`),
);

const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
  pattern: fc
    .array(fc.array(tie('piece'), { maxLength: 4 }), { minLength: 1, maxLength: 3 })
    .map((alternatives) => alternatives.map((pieces) => pieces.join('')).join('|')),
  piece: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atom,
    fc.tuple(atom, repetition).map((parts) => parts.join('')),
    fc
      .tuple(fc.constantFrom('(', '(?:', '(?i:', '(?P<n>', '(?<m>'), tie('pattern'), repetition)
      .map(([open, inner, times]) => `${open}${inner})${times}`),
    tie('pattern').map((inner) => `(${inner})`),
  ),
}));

test('LIMIT-21: a pattern compiles to no more instructions than its computed size', async (t) => {
  let compiled = 0;
  fc.assert(
    fc.property(pattern, (text) => {
      const { instructions } = regexpSize(text);
      if (instructions > 50_000) return;
      const size = compiledSize(text);
      if (size === undefined) return;
      compiled++;
      if (size > instructions) throw new Error(`${size} instructions, not ${instructions}`);
    }),
    { numRuns: tries(3_000) },
  );
  t.ok(compiled > occurrences(500), `${compiled} of them were valid`);
});

test('LIMIT-21: the size of a pattern without alternatives is exact except for one loop', async (t) => {
  const rows: readonly (readonly [pattern: string, size: number])[] = [
    ['abc', 5],
    ['(a{0,999})', 2_002],
    ['(a{0,999})'.repeat(640), 640 * 2_000 + 2],
    ['(?:(?:x{10}){10}){10}', 1_002],
    ['((a{2}b){3}){4}', 4 * (3 * (3 + 2) + 2) + 2 - 2 * 3 * 4 + 2 * 3 * 4],
    ['\\p{L}{990}', 992],
    ['(?i)[a-z]{5}', 7],
    ['a{3}?b', 6],
    ['[]{4}]{2}', 4],
    ['\\Qa{9}\\E{2}', 7],
    ['a{01}', 7],
  ];
  for (const [text, size] of rows) {
    t.equal(regexpSize(text).instructions, size, text.slice(0, 40));
    if (size < 10_000) t.equal(compiledSize(text), size, `${text.slice(0, 40)}, as compiled`);
  }
});

test('LIMIT-21: a pattern that expands too far is refused before it is compiled', async (t) => {
  const calls = t.capture(RE2JS, 'compile', RE2JS.compile);
  const tooLarge = [
    '(a{0,999})'.repeat(640),
    '(a{0,999})'.repeat(15),
    '(a{0,999}){0,999}',
    '((x{100}){100}){100}',
    '(?i)((\\p{L}|b){30}|c){900}',
    '\\p{L}'.repeat(3_000),
    `[${'\\p{L}'.repeat(3_200)}]`,
    `(?i)${'\\p{L}|'.repeat(2_500)}a`,
    `(${'[^\\P{Greek}]'.repeat(100)}){3}|${'\\pN'.repeat(101)}`,
  ];
  for (const text of tooLarge) {
    const displayed = text.slice(0, 30);
    t.throws(() => compileRegexp(text), { message: /too large: / }, displayed);
    t.throws(() => createMatcher('a', '=~', text), { message: /at most|more than \d+/ }, displayed);
    t.throws(() => createMatcher('a', '!~', text), { message: /use (smaller|fewer)/ }, displayed);
  }
  t.same(calls(), [], 'the compiler was never called');
  t.ok(compileRegexp('(prod|test)-[a-z]{1,20}-\\d+'));
  t.equal(calls().length, 1);
});

test('LIMIT-21: an accepted pattern has at most 2,000 instructions', async () => {
  fc.assert(
    fc.property(pattern, fc.nat({ max: 999 }), (text, count) => {
      try {
        const size = compileRegexp(`(?:${text}){${count}}`).programSize();
        if (size > 2_000) throw new Error(`${size} instructions`);
      } catch (error) {
        if (!(error instanceof Error && error.message.startsWith('error parsing regexp')))
          throw error;
      }
    }),
    { numRuns: tries(300) },
  );
});

test('LIMIT-21: the patterns of one expression are bounded together before they are compiled', async (t) => {
  const budget = new RegexpBudget();
  const calls = t.capture(RE2JS, 'compile', RE2JS.compile);
  // It compiles to a few instructions, because its alternatives become one class.
  const alike = '[a-z]|'.repeat(4_000);
  t.throws(
    () => {
      for (let i = 0; i < 25; i++) createMatcher('a', '=~', `${alike}${i}.*`, budget);
    },
    { message: /too large: more than 20000 instructions in all .* together/ },
  );
  t.equal(calls().length, 4, 'within 40,000 instructions');
});
