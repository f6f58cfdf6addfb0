/**
 * Resolver of principals from rows: a key within its owner's grants, an access token within its
 * connection and service account, a session within its person's memberships. Everything that can end
 * access is checked here, on each request, in one order: the secret itself, its owner, its remaining
 * capabilities.
 */
import type { AccessTokenClaims } from '../../../actors/ci/exchange.ts';
import { grantsOf } from '../../../actors/identity/grants.ts';
import {
  enrolmentIdOf,
  type KeyOwner,
  memberIdOf,
  parseOwner,
} from '../../../actors/identity/names.ts';
import type { Instance } from '../../../actors/platform/host/host-port.ts';
import type { Role } from '../../../machines/identity/membership.ts';
import type { SignInMethod } from '../../../machines/identity/session.ts';
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { CredentialPrincipal, HumanPrincipal } from '../../platform/access/principal.ts';
import type { IdentityRows, RowKey } from './identity-rows.ts';

/** Principal of a key of any kind. Throws a `Refusal` when the key gives no access now. */
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
    vm: typeof context.vm === 'string' ? context.vm : null,
    expiresMs,
    tokenEpoch: null,
  };
}

/** Principal of a verified access token. Throws a `Refusal` when it gives no access now. */
export function resolveToken(
  rows: IdentityRows,
  claims: AccessTokenClaims,
  nowMs: number,
): CredentialPrincipal {
  const { project, connection: id, token, tokenEpoch, expiresMs } = claims;
  if (nowMs >= expiresMs) {
    throw new Refusal('CREDENTIAL_EXPIRED', 'The access token has ended: exchange again');
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
  // After the states: another exchange does not help while something is disabled.
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
    vm: null,
    expiresMs,
    tokenEpoch,
  };
}

/** Principal of a person's session. Throws a `Refusal` when session or person may not act. */
export function resolveSession(
  rows: IdentityRows,
  { session, person }: { readonly session: string; readonly person: string },
  nowMs: number,
): Omit<HumanPrincipal, 'isRotationDue'> {
  const row = rows.find('session', SYSTEM_PROJECT, session);
  const expiresMs = Number(row?.context.expiresMs);
  if (row?.value === 'expired' || nowMs >= expiresMs) {
    throw new Refusal('CREDENTIAL_EXPIRED', 'The session is over: sign in again');
  }
  if (row?.value !== 'active') {
    throw new Refusal('CREDENTIAL_REVOKED', 'The session was ended: sign in again');
  }
  assertPersonActive(rows, person);
  return {
    kind: 'human',
    person,
    session,
    name: `people/${person}`,
    method: row.context.method as SignInMethod,
    expiresMs,
    memberOf: (project) => {
      const member = memberIdOf(project, person);
      const place = rows.find('membership', project, member);
      return place?.value === 'active' ? { member, role: place.context.role as Role } : undefined;
    },
  };
}

/** When the key itself ends, Unix ms. */
function assertKeyInForce({ value, context }: Instance<'credential'>, nowMs: number): number {
  const isLive = value === 'active' || value === 'rotating';
  const expiresMs = Number(context.expiresMs);
  if (value === 'expired' || (isLive && nowMs >= expiresMs)) {
    throw new Refusal('CREDENTIAL_EXPIRED', 'The lifetime of the key has ended: use a new one');
  }
  const { overlapEndsMs } = context;
  const endsMs = typeof overlapEndsMs === 'number' ? Math.min(expiresMs, overlapEndsMs) : expiresMs;
  if (isLive && nowMs < endsMs) return endsMs;
  throw new Refusal('CREDENTIAL_REVOKED', 'The key was revoked or replaced: use its successor');
}

/** Grants of a key's owner. Throws a `Refusal` when the owner does not exist any more. */
function ownerGrants(rows: IdentityRows, key: Instance<'credential'>): readonly string[] {
  const owner = parseOwner(String(key.context.owner));
  if (!owner || owner.project !== key.project) {
    throw new Refusal('GRANT_REMOVED', 'The key acts for nobody: make one for a service account');
  }
  if (owner.machine === 'serviceAccount') return accountGrants(rows, owner);
  const { state, capabilities } = grantsOf(rows.of(owner.project), owner);
  if (state !== 'active') {
    const message = 'The owner of this personal key is not a member of the project any more';
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
  throw new Refusal('IDENTITY_DISABLED', 'An operator has locked this person out');
}

/**
 * An agent's key works while it is the key of its VM's expanded monitoring, also while the VM is
 * offered to another agent that has not enrolled yet.
 */
function assertEnrolled(
  rows: IdentityRows,
  { project, instance, context }: Instance<'credential'>,
): void {
  const enrolment = rows.find('enrolment', project, enrolmentIdOf(project, String(context.vm)));
  if (enrolment?.context.credential === instance) return;
  throw new Refusal('GRANT_REMOVED', 'Expanded monitoring of this VM is off, or by another agent');
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

/** Returns when access ends, Unix ms; throws a `Refusal` once it has ended. */
export type AccessCheck = () => number;

interface Watch {
  readonly check: AccessCheck;
  readonly onLost: (why: Refusal) => void;
  /** Rows that the last check has read: only their changes can change its result. */
  rows: ReadonlySet<RowKey>;
  endsMs: number;
}

/** Half of the second within which an open answer must end (API-17). */
const TICK_MS = 500;

export class Watches {
  readonly #clock: Clock;
  readonly #identities: IdentityRows;
  readonly #watches = new Set<Watch>();
  readonly #byRow = new Map<RowKey, Set<Watch>>();
  /** No later than the earliest end of all. */
  #nextEndMs = Number.POSITIVE_INFINITY;
  #cancelTick: CancelWakeUp | undefined;

  constructor(options: { readonly clock: Clock; readonly identities: IdentityRows }) {
    this.#clock = options.clock;
    this.#identities = options.identities;
  }

  /** Calls `onLost` once, when `check` throws, now or later. Returns a function that ends the watch. */
  add(check: AccessCheck, onLost: (why: Refusal) => void): () => void {
    const watch: Watch = { check, onLost, rows: new Set(), endsMs: 0 };
    this.#watches.add(watch);
    this.#check(watch);
    if (this.#watches.size > 0) this.#cancelTick ??= this.#tickLater();
    return () => this.#remove(watch);
  }

  /** To be called with the rows that a commit has changed. */
  changed(rows: ReadonlySet<RowKey>): void {
    if (this.#watches.size === 0) return;
    const affected = new Set<Watch>();
    for (const row of rows) for (const watch of this.#byRow.get(row) ?? []) affected.add(watch);
    for (const watch of affected) this.#check(watch);
  }

  close(): void {
    this.#cancelTick?.();
    this.#watches.clear();
    this.#byRow.clear();
  }

  #check(watch: Watch): void {
    this.#forgetRows(watch);
    try {
      const { answer, rows } = this.#identities.noting(watch.check);
      watch.rows = rows;
      watch.endsMs = answer;
    } catch (error) {
      this.#remove(watch);
      watch.onLost(asRefusal(error));
      return;
    }
    this.#nextEndMs = Math.min(this.#nextEndMs, watch.endsMs);
    for (const row of watch.rows) {
      const watching = this.#byRow.get(row) ?? new Set();
      watching.add(watch);
      this.#byRow.set(row, watching);
    }
  }

  #remove(watch: Watch): void {
    this.#watches.delete(watch);
    this.#forgetRows(watch);
    if (this.#watches.size > 0) return;
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
  }

  #forgetRows(watch: Watch): void {
    for (const row of watch.rows) {
      const watching = this.#byRow.get(row);
      watching?.delete(watch);
      if (watching?.size === 0) this.#byRow.delete(row);
    }
    watch.rows = new Set();
  }

  /** Ticks, rather than one wake-up at the end, because calendar time may jump. */
  #tickLater(): CancelWakeUp {
    return this.#clock.wakeAfter(TICK_MS, () => {
      this.#cancelTick = undefined;
      this.#endByClock();
      if (this.#watches.size > 0) this.#cancelTick ??= this.#tickLater();
    });
  }

  #endByClock(): void {
    const nowMs = this.#clock.now();
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const watch of [...this.#watches]) {
      if (nowMs >= watch.endsMs) this.#check(watch);
      else this.#nextEndMs = Math.min(this.#nextEndMs, watch.endsMs);
    }
  }
}

/** Any other error leaves the access unknown, so that the answer ends too. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal('NOT_READY', 'Access could not be checked: send the request again');
}
