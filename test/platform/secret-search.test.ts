/**
 * The search for planted secrets: an empty result proves nothing unless the search is known to
 * find.
 */
import { test } from 'tap';
import { formsOf, secretsIn } from '../support/secret-search.ts';

test('The search finds a secret in each of its forms', async (t) => {
  const secret = 'svc_sk_01ABC_0123456789abcdefghijklmnop';
  const forms = new Map([['it', formsOf(secret)]]);
  const around = (middle: string | Buffer) =>
    Buffer.concat([Buffer.from('xy'), Buffer.from(middle)]);
  const hidden = ['', 'a', 'ab'].map((before) => Buffer.from(before + secret + before));
  for (const text of [
    secret,
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('hex').toUpperCase(),
    ...hidden.flatMap((bytes) => [bytes.toString('base64'), bytes.toString('base64url')]),
  ]) {
    t.same(secretsIn(around(text), forms), ['it'], text);
  }
  t.same(secretsIn(around(secret.slice(0, -1)), forms), []);
});
