/** The hook for commit messages: which ones it rejects, and why. */
import { test } from 'tap';
import { messageProblems } from '../../scripts/commit-message.ts';

test('a subject with an area and an imperative is accepted', async (t) => {
  for (const subject of [
    'history: split long days into chunks',
    'delivery: resume sending after the deliverer restarts',
    'cli: report misspelt names and unreachable services',
    'docs: explain v2.1 of the archive',
  ]) {
    t.same(messageProblems(`${subject}\n`), [], subject);
  }
  t.same(messageProblems('cli: name the file\n\nIt was lost.\n# a comment of git\n'), []);
  t.same(messageProblems("Merge branch 'x'"), []);
});

test('a message that does not follow the rules is rejected with the reason', async (t) => {
  const cases: [message: string, reason: RegExp][] = [
    ['fixed stuff', /area: imperative/],
    ['cli: Fix names', /area: imperative/],
    ['cli: fixes names', /imperative/],
    ['cli: adding names', /imperative/],
    ['cli: the names', /imperative/],
    ['cli: fix names; docs: add a page', /several sentences/],
    [`cli: fix ${'x'.repeat(80)}`, /characters/],
    ['cli: fix names\nbecause', /second line is not blank/],
    [`cli: fix names\n\n${'word '.repeat(30)}`, /longer than 100/],
    [`cli: tell ${'every'}body`, /nobody, somebody/],
  ];
  for (const [message, reason] of cases) {
    t.match(messageProblems(message).join('\n'), reason, message);
  }
});
