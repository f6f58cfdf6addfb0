/** The bounded cache evicts the entry that was set longest ago, and no other. */
import { test } from 'tap';
import { BoundedCache } from '../../streams/platform/bounded-cache.ts';

test('a new entry beyond the bound evicts the oldest one', async (t) => {
  const cache = new BoundedCache<string, number>(3);
  for (const [i, key] of ['a', 'b', 'c'].entries()) cache.set(key, i);
  cache.set('a', 10);
  const read = (keys: string) => [...keys].map((key) => cache.get(key));
  t.same(read('abc'), [10, 1, 2], 'a known key evicts nothing');
  cache.set('d', 3);
  t.same(read('abcd'), [10, undefined, 2, 3], 'a key that is set again counts as new');
  cache.delete('c');
  cache.set('e', 4);
  t.same(read('ade'), [10, 3, 4], 'a deleted key frees its slot');
});
