/** Names of resources: their ids are unchanged in the address of a page. */
import { test } from 'tap';
import { ID } from '../../actors/platform/resource-id.ts';
import { parseName } from '../../src/platform/api/resource-name.ts';

const idOf = (id: string) => parseName('name', `projects/demo/vms/${id}`, 'vms').id;

test('an id is valid only if a browser keeps it unchanged in a path', async (t) => {
  const alone = new RegExp(`^${ID}$`);
  for (const id of ['.', '..', '...', '.a', 'a.', '..a', 'a..b', ':', '-', 'web-1', 'a:b_c.d']) {
    const { pathname } = new URL(`https://svc.example/projects/demo/vms/${id}/history`);
    const isKept = pathname === `/projects/demo/vms/${id}/history`;
    t.equal(alone.test(id), isKept, id);
    if (isKept) t.equal(idOf(id), id);
    else t.throws(() => idOf(id), { message: /^name is / }, id);
  }
});

test('an id within a longer name follows the same rule', async (t) => {
  const key = new RegExp(`^members/${ID}/keys/(${ID})$`);
  t.ok(key.test('members/..a/keys/k.'));
  for (const name of ['members/../keys/k', 'members/./keys/k', 'members/m/keys/..']) {
    t.notOk(key.test(name), name);
  }
});
