/**
 * Credentials: one that is changed, truncated, guessed, ended or misplaced opens nothing, and none
 * opens a method that its kind may not call. Each is first used correctly, so that its rejection
 * means something.
 */
import { Policy_Access, Policy_Role } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { type Arena, attempt, inParallel, rpcRequest, sourceOf } from './arena.ts';
import { kindsFor } from './corpus.ts';
import { doors, refused } from './doors.ts';
import { endedCredentials } from './ended-credentials.ts';
import { forgedSecrets, forgedTokens } from './forgeries.ts';
import { tryCookies, tryHeaders } from './misplaced-credentials.ts';
import { type AttackedMethod, methods, requestOf } from './requests.ts';
import type { CredentialKind } from './tenants.ts';
import type { WireAnswer } from './wire.ts';

const WIDTH = 12;
const BEARERS = ['personalKey', 'readKey', 'writeKey', 'collectorKey', 'vmKey'] as const;

export async function attackCredentials(arena: Arena): Promise<void> {
  await tryControls(arena);
  await tryForgeries(arena);
  await tryWrongKinds(arena);
  await tryHeaders(arena);
  await tryCookies(arena);
  for (const { name, headers, isHuman } of await endedCredentials(arena)) {
    for (const request of doors(arena, headers, isHuman))
      await attempt(arena, `${name} at ${request.path}`, request, refused);
  }
  await tryControls(arena);
}

/**
 * The unchanged credentials are accepted; otherwise the class would hold by rejecting everything.
 */
async function tryControls(arena: Arena): Promise<void> {
  const { attacker } = arena;
  const accepted = ({ status, text }: WireAnswer) =>
    status === 200 ? undefined : `the real one got ${status} ${text}`;
  for (const kind of [
    'owner',
    'viewer',
    'personalKey',
    'readKey',
    'writeKey',
    'ciToken',
  ] as const) {
    const [rpc] = doors(arena, attacker.credentials[kind]);
    if (rpc) await attempt(arena, `control: ${kind}`, rpc, accepted);
  }
  const write = doors(arena, attacker.credentials.collectorKey)[3];
  if (write) await attempt(arena, 'control: collectorKey', write, accepted);
}

async function tryForgeries(arena: Arena): Promise<void> {
  const { attacker, victim, dice } = arena;
  const forged = [
    ...BEARERS.flatMap((kind) =>
      forgedSecrets(attacker.secrets[kind] ?? '', dice).map((secret) => ({ kind, secret })),
    ),
    ...(await forgedTokens(arena, attacker.secrets.ciToken ?? '', victim)).map((secret) => ({
      kind: 'ciToken',
      secret,
    })),
  ];
  const tries = forged.flatMap(({ kind, secret }) =>
    doors(arena, [['authorization', `Bearer ${secret}`]]).map((request) => ({
      kind,
      secret,
      request,
    })),
  );
  await inParallel(tries, WIDTH, async ({ kind, secret, request }, number) => {
    await attempt(
      arena,
      `${kind} forged as ${JSON.stringify(secret)} at ${request.path}`,
      request,
      refused,
      { source: sourceOf(number), isLast: !/^[!-~]*$/.test(secret) },
    );
  });
  // A character that a cookie cannot hold may truncate the value to the real secret.
  const forgedSessions = forgedSecrets(attacker.secrets.ownerSession ?? '', dice).filter(
    (secret) => !/[;\u00a0]/.test(secret),
  );
  const sessions = forgedSessions.map((secret) => {
    const [cookie] = attacker.credentials.owner;
    const name = cookie?.[1].split('=', 1)[0];
    return doors(
      arena,
      [
        ['cookie', `${name}=${secret}`],
        ['origin', arena.target.origin],
      ],
      true,
    );
  });
  await inParallel(sessions.flat(), WIDTH, async (request, number) => {
    const name = `session forged as ${JSON.stringify(request.headers[2])}`;
    await attempt(arena, name, request, refused, { source: sourceOf(number), isLast: true });
  });
}

/** True if the policy lets this kind, with the tenant's permissions, call the method. */
function mayCall(method: AttackedMethod, kind: CredentialKind): boolean {
  const { access, role } = method.policy;
  if (access === Policy_Access.NONE || access === Policy_Access.ANY) return true;
  if (access === Policy_Access.HUMAN && kind === 'viewer') {
    return role !== Policy_Role.EDITOR && role !== Policy_Role.OWNER;
  }
  return kindsFor(method).includes(kind);
}

async function tryWrongKinds(arena: Arena): Promise<void> {
  const { attacker } = arena;
  const kinds = Object.keys(attacker.credentials) as CredentialKind[];
  const tries = methods.flatMap((method) =>
    kinds
      .filter((kind) => !method.isStream && !mayCall(method, kind))
      .map((kind) => ({ method, kind })),
  );
  const denied = ({ status }: WireAnswer) =>
    status === 401 || status === 403 ? undefined : `answered ${status}: its kind may not call this`;
  await inParallel(tries, WIDTH, async ({ method, kind }, number) => {
    const request = rpcRequest(
      arena,
      method.path,
      requestOf(method, attacker),
      attacker.credentials[kind],
    );
    await attempt(arena, `${method.name} as ${kind}`, request, denied, {
      source: sourceOf(number),
    });
  });
  // Without any credential: every method except those that need none.
  const closed = methods.filter(
    ({ policy, isStream }) => policy.access !== Policy_Access.NONE && !isStream,
  );
  await inParallel(closed, WIDTH, async (method, number) => {
    const request = rpcRequest(arena, method.path, requestOf(method, attacker), []);
    await attempt(arena, `${method.name} without a credential`, request, denied, {
      source: sourceOf(number),
    });
  });
}
