/** One-line text: accepted characters, and the replacement of all others. */
import fc from 'fast-check';
import { test } from 'tap';
import { asOneLine, isOneLine, isPlainText, oneLine } from '../../actors/platform/plain-text.ts';
import { anyText } from '../support/any-text.ts';

test('names in every script and emoji are one line, hidden characters are not', async (t) => {
  const good = [
    'Größe 7',
    '監視',
    'می\u200cخواهم',
    'क्\u200dष',
    '👩\u200d💻',
    '❤\ufe0f',
    'العربية',
    '',
    'a\u00a0b',
    'naïve',
    "O'Neil <ann>",
    'x"\\y',
  ];
  for (const name of good) t.ok(isOneLine(name), JSON.stringify(name));
  const bidi = [0x61c, 0x200e, 0x200f, ...range(0x202a, 0x202e), ...range(0x2066, 0x2069)];
  const controls = [...range(0, 0x1f), ...range(0x7f, 0x9f), 0x2028, 0x2029];
  const invisible = [0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x2060, 0x3164, 0xfeff, 0xe0041, 0xd800];
  for (const code of [...bidi, ...controls, ...invisible]) {
    const name = `a${String.fromCodePoint(code)}b`;
    t.notOk(isOneLine(name), code.toString(16));
    t.equal(asOneLine(name), code === 0xd800 ? 'a\ufffdb' : 'a b', code.toString(16));
  }
  t.ok(isPlainText('two\nlines,\tone tab'));
  t.notOk(isPlainText('two\r\nlines'));
});

test('any input becomes one line, and cleaning it twice changes nothing', async (t) => {
  const hidden = fc.constantFrom('\r', '\n', '\u202e', '\u200b', '\ud800', '\u{e0041}', ' ');
  const text = fc.array(fc.oneof(anyText(), hidden)).map((all) => all.join(''));
  fc.assert(
    fc.property(text, fc.nat(50), (given, charsMax) => {
      const line = oneLine(given, charsMax);
      return line.length <= charsMax && isOneLine(line) && asOneLine(line) === line;
    }),
  );
  t.pass();
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
