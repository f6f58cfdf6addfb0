/**
 * The byte format of commits: round trips, rejected input, and chains whose bodies were dropped.
 */
import { test } from 'tap';
import { GENESIS, judge } from '../../../streams/platform/commit/chain.ts';
import {
  CommitCorrupt,
  decodeCommit,
  encodeCommit,
  encodeDecision,
  UnknownCommitFormat,
  verifyCommit,
} from '../../../streams/platform/commit/codec.ts';
import {
  COMMIT_BYTES_MAX,
  COMMIT_EVENTS_MAX,
  type Decision,
} from '../../../streams/platform/commit/commit.ts';
import { parsePageToken } from '../../../streams/platform/commit/page.ts';

const by = { kind: 'service', name: 'test' } as const;
const decisionOf = (id: string, body: Record<string, unknown> = { text: 'a\nb' }): Decision => ({
  by,
  steps: [],
  records: [{ kind: 'note', id, body }],
});
const about = { id: 'c1', project: 'demo', number: 1, predecessor: '', at: 1000, writer: 'n' };
const encode = (decisions: Decision[], fields = about) =>
  encodeCommit(fields, decisions.map(encodeDecision));

test('a decoded commit equals the encoded one, with the same hash', async (t) => {
  const encoded = encode([decisionOf('a'), decisionOf('b')]);
  const decoded = decodeCommit(encoded.bytes);
  t.same(decoded.commit, encoded.commit);
  t.equal(decoded.hash, encoded.hash);
  t.same(encode([decisionOf('a'), decisionOf('b')]).bytes, encoded.bytes, 'deterministic');
});

test('a changed byte, a missing decision and foreign bytes are rejected', async (t) => {
  const { bytes } = encode([decisionOf('a')]);
  const changed = Uint8Array.from(bytes);
  changed.set([0x7a], bytes.length - 6);
  t.throws(() => decodeCommit(changed), CommitCorrupt);
  const header = Buffer.from(bytes).toString().split('\n')[0] ?? '';
  t.throws(() => decodeCommit(Buffer.from(header)), CommitCorrupt);
  for (const text of ['', '{}', '[]', 'null', '{"format":1}', '{"format":"1"}', '{"format":1.5}']) {
    t.throws(() => decodeCommit(Buffer.from(text)), CommitCorrupt, text);
  }
});

test('a newer format is distinguished from damage', async (t) => {
  const newer = Buffer.from('{"format":2,"whatever":true}\nbinary perhaps');
  t.throws(() => decodeCommit(newer), UnknownCommitFormat);
  t.throws(() => decodeCommit(newer), { message: /newer program/, format: 2 });
});

test('fields added by a newer program are part of the hash', async (t) => {
  const { bytes, hash } = encode([decisionOf('a')]);
  const [header = '', ...lines] = Buffer.from(bytes).toString().split('\n');
  const newer = JSON.stringify({ ...JSON.parse(header), region: 'north' });
  const decoded = decodeCommit(Buffer.from([newer, ...lines].join('\n')));
  t.match(decoded.commit, { id: 'c1', region: 'north' });
  t.not(decoded.hash, hash, 'the hash covers unknown fields');
});

test('a chain verifies without dropped bodies, but not with changed ones', async (t) => {
  const first = encode([decisionOf('a'), decisionOf('b')]);
  const second = encode([decisionOf('c')], { ...about, number: 2, predecessor: first.hash });
  // The header, then one line per decision.
  const [header, , ...rest] = Buffer.from(first.bytes).toString().split('\n');
  const dropped = Buffer.from([header, '', ...rest].join('\n'));
  t.notOk(Buffer.from(dropped).toString().includes('"id":"a"'));
  t.equal(verifyCommit(dropped).dropped, 1);
  const { header: last, hash } = verifyCommit(dropped);
  t.equal(hash, first.hash, 'the link is unchanged');
  t.equal(
    judge({ ...last, hash }, second.commit, () => undefined),
    'next',
  );
  t.equal(
    judge(GENESIS, second.commit, () => undefined),
    'foreign',
    'a link is missing',
  );
  const swapped = Buffer.from(Buffer.from(first.bytes).toString().replace('"id":"a"', '"id":"z"'));
  t.throws(() => verifyCommit(swapped), CommitCorrupt, 'a body was changed');
  t.throws(() => decodeCommit(dropped), CommitCorrupt, 'it cannot be applied');
});

test('a value that JSON would change silently is rejected by name', async (t) => {
  for (const value of [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    new Date(0),
    new Map(),
    1n,
    [undefined],
  ]) {
    t.throws(() => encodeDecision(decisionOf('a', { reading: value })), { message: /reading/ });
  }
  const { decision } = encodeDecision(decisionOf('a', { absent: undefined }));
  t.strictSame(decision, decisionOf('a', {}), 'applied as other nodes read it');
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  t.throws(() => encodeDecision(decisionOf('a', circle)), { message: /nested/ });
});

test('a commit beyond its bounds is not created', async (t) => {
  const many = Array.from({ length: COMMIT_EVENTS_MAX + 1 }, (_, i) => decisionOf(`${i}`));
  t.throws(() => encode(many), { message: /501 events/ });
  t.doesNotThrow(() => encode(many.slice(1)));
  t.throws(() => encode([decisionOf('a', { text: 'x'.repeat(COMMIT_BYTES_MAX) })]), /bytes/);
  t.throws(
    () => encode([], { ...about, at: 1.5 }),
    CommitCorrupt,
    'a time that readers would reject',
  );
});

test('a page token of another list is the caller’s mistake', async (t) => {
  const token = Buffer.from('["a","b"]').toString('base64url');
  t.same(parsePageToken(token, ['string', 'string']), ['a', 'b']);
  for (const foreign of [token, 'x', '', '!!']) {
    t.throws(() => parsePageToken(foreign, ['number']), {
      name: 'Refusal',
      reason: 'INVALID_FIELD',
    });
  }
});
