/**
 * Principals from rows: a key within its owner's grants, an access token within its connection and
 * service account, a session within its person's memberships. Everything that can end access is
 * checked here on each request, in this order: the secret itself, its owner, its remaining
 * capabilities. Lifetimes are compared with the clock and do not depend on a timer.
 */
import type { AccessTokenClaims } from '../../../actors/ci/exchange.ts';
import {
  enrolmentIdOf,
  grantsOf,
  type KeyOwner,
  memberIdOf,
  parseOwner,
} from '../../../actors/identity/grants.ts';
import { isRecentSignIn } from '../../../actors/identity/recent-sign-in.ts';
import type { Instance } from '../../../actors/platform/host/host-port.ts';
import type { Role } from '../../../machines/identity/membership.ts';
import type { SignInMethod } from '../../../machines/identity/session.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type {
  CredentialPrincipal,
  HumanPrincipal,
  Principal,
} from '../../platform/access/principal.ts';
import type { IdentityRows } from './identity-rows.ts';

/** When access is resolved. */
interface ResolvedAt {
  readonly nowMs: number;
  /** Maximum age of a recent sign-in, ms; 0 = any. */
  readonly recentMs: number;
}

export function resolvePrincipal(
  rows: IdentityRows,
  principal: Principal,
  { nowMs, recentMs }: ResolvedAt,
): Principal {
  if (principal.kind === 'human') {
    return { ...principal, ...resolveSession(rows, principal, { nowMs, recentMs }) };
  }
  const { project, credential, tokenEpoch, expiresMs, name } = principal;
  if (tokenEpoch !== null) {
    const connection = name.slice(name.lastIndexOf('/') + 1);
    const claims = { token: credential, project, connection, tokenEpoch, expiresMs };
    return resolveToken(rows, claims, nowMs);
  }
  const row = rows.find('credential', project, credential);
  if (!row) throw unknownKey();
  return resolveKey(rows, row, nowMs);
}

export function unknownKey(): Refusal {
  const message = 'The key was not issued by this service. Check that you copied all of it';
  return new Refusal('MALFORMED_CREDENTIAL', message);
}

/** Principal of a key of any kind. Throws a `Refusal` if the key gives no access now. */
export function resolveKey(
  rows: IdentityRows,
  key: Instance<'credential'>,
  nowMs: number,
): CredentialPrincipal {
  const { context, project } = key;
  const kind = context.kind as CredentialPrincipal['kind'];
  const expiresMs = assertKeyInForce(key, nowMs);
  if (kind === 'vm') assertEnrolled(rows, key);
  const own = textsOf(context.capabilities);
  const isBounded = kind === 'pk' || kind === 'sk';
  const granted = isBounded ? ownerGrants(rows, key) : own;
  return {
    kind,
    credential: key.instance,
    name: `${String(context.owner)}/keys/${key.instance}`,
    project,
    ...bounded(own, granted),
    datacenter: typeof context.datacenter === 'string' ? context.datacenter : null,
    projects: Array.isArray(context.projects) ? textsOf(context.projects) : null,
    vm: typeof context.vm === 'string' ? context.vm : null,
    expiresMs,
    tokenEpoch: null,
  };
}

/** Principal of a verified access token. Throws a `Refusal` if it gives no access now. */
export function resolveToken(
  rows: IdentityRows,
  claims: AccessTokenClaims,
  nowMs: number,
): CredentialPrincipal {
  const { project, connection: id, token, tokenEpoch, expiresMs } = claims;
  if (nowMs >= expiresMs) {
    throw new Refusal('CREDENTIAL_EXPIRED', 'The access token has expired. Exchange again');
  }
  const connection = rows.find('ciConnection', project, id);
  if (!connection || connection.value === 'deleted') {
    throw new Refusal('CREDENTIAL_REVOKED', 'The CI connection of the access token was deleted');
  }
  if (connection.value !== 'enabled') {
    throw new Refusal('IDENTITY_DISABLED', 'The CI connection of the access token is disabled');
  }
  const account = String(connection.context.serviceAccount);
  const granted = accountGrants(rows, { project, machine: 'serviceAccount', id: account });
  // Checked after the states, because another exchange does not help while something is disabled.
  if (connection.context.tokenEpoch !== tokenEpoch) {
    const message =
      'The CI connection, or its service account, changed after the access token was made: ' +
      'exchange again';
    throw new Refusal('TOKEN_EPOCH', message);
  }
  return {
    kind: 'ci',
    credential: token,
    name: `projects/${project}/ciConnections/${id}`,
    project,
    ...bounded(textsOf(connection.context.capabilities), granted),
    datacenter: null,
    projects: null,
    vm: null,
    expiresMs,
    tokenEpoch,
  };
}

/** Principal of a person's session. Throws a `Refusal` if the session or the person may not act. */
export function resolveSession(
  rows: IdentityRows,
  { session, person }: { readonly session: string; readonly person: string },
  { nowMs, recentMs }: ResolvedAt,
): Omit<HumanPrincipal, 'isRotationDue'> {
  const row = rows.find('session', SYSTEM_PROJECT, session);
  const expiresMs = Number(row?.context.expiresMs);
  if (row?.value === 'expired' || nowMs >= expiresMs) {
    throw new Refusal('CREDENTIAL_EXPIRED', 'The session has expired. Sign in again');
  }
  if (row?.value !== 'active') {
    throw new Refusal('CREDENTIAL_REVOKED', 'The session was ended. Sign in again');
  }
  assertPersonActive(rows, person);
  return {
    kind: 'human',
    person,
    session,
    name: `people/${person}`,
    method: row.context.method as SignInMethod,
    expiresMs,
    isRecent: isRecentSignIn(row.context, nowMs, recentMs),
    memberOf: (project) => {
      const member = memberIdOf(project, person);
      const membership = rows.find('membership', project, member);
      return membership?.value === 'active'
        ? { member, role: membership.context.role as Role }
        : undefined;
    },
  };
}

/** Returns the time when the key itself ends, Unix ms. */
function assertKeyInForce({ value, context }: Instance<'credential'>, nowMs: number): number {
  const isLive = value === 'active' || value === 'rotating';
  const expiresMs = Number(context.expiresMs);
  if (value === 'expired' || (isLive && nowMs >= expiresMs)) {
    throw new Refusal('CREDENTIAL_EXPIRED', 'The key has expired. Use a new one');
  }
  const { overlapEndsMs } = context;
  const endsMs = typeof overlapEndsMs === 'number' ? Math.min(expiresMs, overlapEndsMs) : expiresMs;
  if (isLive && nowMs < endsMs) return endsMs;
  throw new Refusal('CREDENTIAL_REVOKED', 'The key was revoked or replaced. Use its successor');
}

/** Grants of a key's owner. Throws a `Refusal` if the owner no longer exists. */
function ownerGrants(rows: IdentityRows, key: Instance<'credential'>): readonly string[] {
  const owner = parseOwner(String(key.context.owner));
  if (!owner || owner.project !== key.project) {
    throw new Refusal('GRANT_REMOVED', 'The key has no owner. Make one for a service account');
  }
  if (owner.machine === 'serviceAccount') return accountGrants(rows, owner);
  const { state, capabilities } = grantsOf(rows.of(owner.project), owner);
  if (state !== 'active') {
    const message = 'The owner of this personal key is no longer a member of the project';
    throw new Refusal('GRANT_REMOVED', message);
  }
  const member = rows.find('membership', owner.project, owner.id);
  assertPersonActive(rows, String(member?.context.person));
  return capabilities;
}

function accountGrants(rows: IdentityRows, account: KeyOwner): readonly string[] {
  const { state, capabilities } = grantsOf(rows.of(account.project), account);
  if (state === 'active') return capabilities;
  if (state === 'disabled') {
    throw new Refusal('IDENTITY_DISABLED', 'The service account of this credential is disabled');
  }
  throw new Refusal('CREDENTIAL_REVOKED', 'The service account of this credential was deleted');
}

function assertPersonActive(rows: IdentityRows, person: string): void {
  if (rows.find('person', SYSTEM_PROJECT, person)?.value === 'active') return;
  throw new Refusal('IDENTITY_DISABLED', 'The operator has locked this person out');
}

/**
 * An agent's key works while it is the key of its VM's expanded monitoring, even while the VM is
 * offered to another agent that has not enrolled yet.
 */
function assertEnrolled(
  rows: IdentityRows,
  { project, instance, context }: Instance<'credential'>,
): void {
  const enrolment = rows.find('enrolment', project, enrolmentIdOf(project, String(context.vm)));
  if (enrolment?.context.credential === instance) return;
  throw new Refusal('GRANT_REMOVED', 'Expanded monitoring is off, or has another agent');
}

function bounded(own: readonly string[], granted: readonly string[]) {
  return {
    capabilities: own.filter((capability) => granted.includes(capability)),
    withdrawn: own.filter((capability) => !granted.includes(capability)),
  };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
