/** The destination kinds that a user can choose. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import {
  kindHelp,
  kindNames,
  urlHelp,
} from '../../src/dashboard/pages/delivery/destination-texts.ts';
import { KINDS } from '../../src/dashboard/pages/delivery/destination-words.ts';

/** Read as source, because types of the browser do not fit the server's code. */
const REGISTRATION = new URL('../../src/delivery/notify/registered-kinds.ts', import.meta.url);

t.test('every registered kind can be chosen, with its name and description', async (t) => {
  const lines = readFileSync(REGISTRATION, 'utf8').matchAll(/^export \{ (\w+) \}/gm);
  const registered = [...lines].map(([, kind]) => kind);
  t.same([...KINDS].sort(), registered.sort());
  for (const kind of KINDS) {
    t.ok(kindNames[kind] && kindHelp[kind], kind);
    t.equal(kind in urlHelp, kind !== 'email', kind);
  }
});
