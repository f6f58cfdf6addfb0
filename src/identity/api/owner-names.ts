/** Names of what belongs to an identity: `projects/p/serviceAccounts/s/keys/k`, and its parent. */
import { type KeyOwner, parseOwner } from '../../../actors/identity/names.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { ID, parseProjectName } from '../../platform/api/resource-name.ts';

const OWNER = new RegExp(`^(projects/[^/]+)/(?:serviceAccounts|members)/${ID}$`);
const KEY = new RegExp(`^(.+)/keys/(${ID})$`);

/** The identity of a name. Throws INVALID_FIELD for what is none. */
export function parseOwnerName(field: string, name: string): KeyOwner {
  const [, project] = OWNER.exec(name) ?? [];
  const owner = project === undefined ? undefined : parseOwner(name);
  if (project === undefined || owner === undefined) throw notAName(field, name, '');
  parseProjectName(field, project);
  return owner;
}

/** Owner and id of a key's name. Throws INVALID_FIELD for what is none. */
export function parseKeyName(field: string, name: string): { owner: KeyOwner; key: string } {
  const [, parent, key] = KEY.exec(name) ?? [];
  if (parent === undefined || key === undefined) throw notAName(field, name, '/keys/...');
  return { owner: parseOwnerName(field, parent), key };
}

function notAName(field: string, name: string, rest: string): Refusal {
  const seen = name.length > 200 ? `${name.slice(0, 200)}...` : name;
  return new Refusal(
    'INVALID_FIELD',
    `${field} is "${seen}": a name like projects/demo/serviceAccounts/...${rest} or ` +
      `projects/demo/members/...${rest} is needed`,
    { field },
  );
}
