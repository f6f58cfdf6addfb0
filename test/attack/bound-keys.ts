/**
 * Bound keys: a key that is bound to networks opens nothing from another address, whatever headers
 * pretend, at every door. From its own network it is used first, and last.
 */
import { type Arena, attempt, inParallel, sourceOf } from './arena.ts';
import { doors } from './doors.ts';
import { reasonOf } from './judge.ts';
import { Api } from './tenants.ts';
import type { Header, WireAnswer, WireRequest } from './wire.ts';

const WIDTH = 6;
/** Source addresses of the class: one inside the network of the keys, and those of `sourceOf`. */
const INSIDE = '127.7.7.7';
const NETWORKS = ['127.7.7.0/24', '2001:db8:7::/48'];

/** Headers by which a proxy reports an address. None is trusted here. */
const PRETENCES: readonly (readonly Header[])[] = [
  [],
  [['x-forwarded-for', INSIDE]],
  [['x-forwarded-for', `${INSIDE}, 127.0.0.1`]],
  [
    ['x-forwarded-for', '192.0.2.1'],
    ['x-forwarded-for', INSIDE],
  ],
  [['x-forwarded-for', '::ffff:127.7.7.7']],
  [['forwarded', `for=${INSIDE};proto=https`]],
  [['x-real-ip', INSIDE]],
  [['x-client-ip', INSIDE]],
  [['true-client-ip', INSIDE]],
  [['cf-connecting-ip', INSIDE]],
  [['x-originating-ip', INSIDE]],
  [['via', `1.1 ${INSIDE}`]],
];

export async function attackBoundKeys(arena: Arena): Promise<void> {
  const keys = await boundKeys(arena);
  await tryInside(arena, keys);
  const tries = keys.flatMap(({ name, secret, places }) =>
    PRETENCES.flatMap((pretence) => {
      const headers: readonly Header[] = [['authorization', `Bearer ${secret}`], ...pretence];
      return doorsAt(arena, headers, places).map((request) => ({ name, pretence, request }));
    }),
  );
  await inParallel(tries, WIDTH, async ({ name, pretence, request }, number) => {
    const said = `${name} from elsewhere with ${JSON.stringify(pretence)} at ${request.path}`;
    await attempt(arena, said, request, outside, { source: sourceOf(number) });
  });
  await tryInside(arena, keys);
}

interface BoundKey {
  readonly name: string;
  readonly secret: string;
  /** Positions in `doors` that an unbound key of this kind opens. */
  readonly places: readonly number[];
}

async function boundKeys({ target, attacker }: Arena): Promise<BoundKey[]> {
  const api = new Api(target);
  const { owner } = attacker.credentials;
  const create = async (name: string, parent: string, places: readonly number[]) => {
    const body = { parent, displayName: 'Bound', capabilities: ['monitoring.read'] };
    const bound = { ...body, networks: NETWORKS };
    const { secret } = await api.change('iam.v1.AutomationService/CreateKey', bound, owner);
    return { name, secret: String(secret), places };
  };
  const { key } = await target.admin(
    ...['collector-key', 'create', '--datacenter', 'DC-1', '--project', attacker.id],
    ...NETWORKS.flatMap((network) => ['--network', network]),
  );
  return [
    await create('a personal key', attacker.names.Member, [0, 1, 2]),
    await create('an account key', attacker.names.ServiceAccount, [0, 1, 2]),
    { name: 'a collector key', secret: String(key), places: [3] },
  ];
}

function doorsAt(
  arena: Arena,
  headers: readonly Header[],
  places: readonly number[],
): WireRequest[] {
  return doors(arena, headers).filter((_, place) => places.includes(place));
}

/** Otherwise the class would hold by rejecting everything. */
async function tryInside(arena: Arena, keys: readonly BoundKey[]): Promise<void> {
  for (const { name, secret, places } of keys) {
    for (const request of doorsAt(arena, [['authorization', `Bearer ${secret}`]], places)) {
      const inside = (answer: WireAnswer) =>
        outside(answer) === undefined || answer.status === 401
          ? `the network of the key got ${answer.status}`
          : undefined;
      await attempt(arena, `${name} at ${request.path}`, request, inside, { source: INSIDE });
    }
  }
}

function outside(answer: WireAnswer): string | undefined {
  const reason = reasonOf(answer) ?? '';
  const isRefused = answer.status === 403 && answer.text.includes('NETWORK_NOT_ALLOWED');
  return isRefused ? undefined : `answered ${answer.status} ${reason}`;
}
