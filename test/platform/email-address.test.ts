/** Email addresses: one spelling for each mailbox, whatever its letters. */
import fc from 'fast-check';
import { test } from 'tap';
import { emailSpellings, parseEmailAddress } from '../../actors/platform/email-address.ts';
import { anyCharacter } from '../support/any-text.ts';
import { tries } from '../support/tries.ts';

test('an address has one spelling', async (t) => {
  for (const [text, expected] of [
    [' Kate+x@Example.com ', 'kate+x@example.com'],
    ['user@bücher.example', 'user@xn--bcher-kva.example'],
    ['User@BÜCHER.example', 'user@xn--bcher-kva.example'],
    ['user@bu\u0308cher.example', 'user@xn--bcher-kva.example'],
    ['user@XN--BCHER-KVA.example', 'user@xn--bcher-kva.example'],
    ['user@straße.example', 'user@xn--strae-oqa.example'],
    ['user@例え。jp', 'user@xn--r8jz45g.jp'],
    ['user@ｅｘａｍｐｌｅ.com', 'user@example.com'],
    ['ZOË@example.org', 'zoë@example.org'],
    ['zoe\u0308@example.org', 'zoë@example.org'],
    ['用户@例え.jp', '用户@xn--r8jz45g.jp'],
    ['a..b@example.org', 'a..b@example.org'],
    ['.a.@docomo.example', '.a.@docomo.example'],
    ['a@b_c.example', 'a@b_c.example'],
    ['ops@localhost', 'ops@localhost'],
    ["o'neil/x=1@example.org", "o'neil/x=1@example.org"],
  ] as const) {
    t.equal(parseEmailAddress(text), expected, text);
  }
});

test('an address that no mail server takes, or that passes for another, is invalid', async (t) => {
  for (const text of [
    '',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a b@example.org',
    'a@exa mple.org',
    'a@example..org',
    'a@example.org.',
    'a@-example.org',
    'a@example%2eorg',
    'a@example.org:25',
    'a@example.org/x',
    'a@bücher.example/x',
    'a@bü%63her.example',
    'a@１２７.1',
    'a@[127.0.0.1]',
    '\u212Aate@example.com',
    '\u0130da@example.com',
    'a\u200db@example.com',
    'a\u202eb@example.com',
    'a\ud800@example.com',
    'a@\ud800.example',
    `${'é'.repeat(33)}@example.com`,
    `a@${'e'.repeat(64)}.example`,
    `a@${'ebc.'.repeat(63)}e`,
  ]) {
    t.equal(parseEmailAddress(text), undefined, JSON.stringify(text));
  }
});

test('the canonical form is its own canonical form, and in lower case', async () => {
  const letter = fc.oneof(
    fc.constantFrom(...'aZ09.-_+ßüÜË\u0308\u0345\u03a3\u0130\u212a\u200d例。．ｅ'),
    anyCharacter,
  );
  const part = fc.string({ unit: letter, minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(part, part, (local, domain) => {
      const address = parseEmailAddress(`${local}@${domain}.example`);
      if (address === undefined) return true;
      const [, host = ''] = address.split('@');
      const isStable = parseEmailAddress(address) === address;
      const isFound = emailSpellings(`${local}@${domain}.example`)[0] === address;
      return (
        isStable && isFound && /^[\x21-\x7e]+$/.test(host) && address === address.toLowerCase()
      );
    }),
    { numRuns: tries(2_000) },
  );
});

test('the spelling of older versions is among those of the address', async (t) => {
  t.same(emailSpellings('user@xn--bcher-kva.example'), [
    'user@xn--bcher-kva.example',
    'user@bücher.example',
  ]);
  t.same(emailSpellings('user@bücher.example'), emailSpellings('user@xn--bcher-kva.example'));
  t.same(emailSpellings('zoe\u0308@example.org'), ['zoë@example.org', 'zoe\u0308@example.org']);
  t.same(emailSpellings('ann@example.org'), ['ann@example.org']);
});
