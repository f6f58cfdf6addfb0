/** The destination kinds that a user can choose. */
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import { kindWords } from '../../src/delivery/notify/kind-words.ts';

/** Read as source, because types of the browser do not fit the server's code. */
const REGISTRATION = new URL('../../src/delivery/notify/registered-kinds.ts', import.meta.url);

test('every registered kind can be chosen, with its name and description', async (t) => {
  const lines = readFileSync(REGISTRATION, 'utf8').matchAll(/^export \{ (\w+) \}/gm);
  const registered = [...lines].map(([, kind]) => kind);
  t.same(Object.keys(kindWords).sort(), registered.sort());
});
