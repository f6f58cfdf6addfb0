/**
 * Randomly damaged expressions: a word is lost, duplicated, replaced or moved. Both engines must
 * agree on whether the result is an expression.
 */
import type { Dice } from './dice.ts';
import { type Piece, textOf } from './piece.ts';

const WORDS = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  '"',
  "'",
  '`',
  '=',
  '==',
  '=~',
  '!',
  '!=',
  '@',
  ':',
  '\\',
  '+',
  '-',
  '/',
  '^',
  ' ',
  '\n',
  '#x',
  'é',
  '$',
  '_',
  '..',
  'offset',
  'bool',
  'on',
  'by',
  'and',
  'unless',
  'atan2',
  'group_left',
  'ignoring',
  'without',
  'sum',
  'topk',
  'count_values',
  'rate',
  'gauge',
  'a:b',
  'le',
  'start()',
  'time()',
  '5m',
  '[5m]',
  '[5m:]',
  '1',
  '0x',
  '1e',
  '.5.',
  '0s',
  '1h30m',
  'Inf',
  '{}',
  '"a"',
];

/** One piece without parts, because nothing in it can be left out. */
export function mutate(piece: Piece, dice: Dice): Piece {
  const words = textOf(piece).split(/\b|(?<=\W)|(?=\W)/);
  for (let changes = dice.between(1, 2); changes > 0; changes--) {
    const at = dice.between(0, words.length - 1);
    dice.weighted<unknown>([
      [1, () => words.splice(at, 1, '')],
      [1, () => words.splice(at, 0, dice.pick(WORDS))],
      [1, () => words.splice(at, 1, dice.pick(WORDS))],
      [1, () => words.splice(at, 0, ...words.splice(dice.between(0, words.length - 1), 1))],
    ]);
  }
  return { type: piece.type, parts: [words.join('')] };
}
