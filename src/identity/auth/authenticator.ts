/**
 * Authenticator of requests by key, access token or session. Verified secrets are cached by digest,
 * because what they prove never changes. Their permissions are read on each request from rows that
 * applied commits keep fresh, so that a revocation takes effect on the next request. Lifetimes are
 * also checked on each request and do not depend on a timer.
 */
import { timingSafeEqual } from 'node:crypto';
import type { AccessTokenClaims } from '../../../actors/ci/exchange.ts';
import {
  enrolmentIdOf,
  type GrantedRows,
  grantsOf,
  type KeyOwner,
  memberIdOf,
  parseOwner,
} from '../../../actors/identity/grants.ts';
import type { People } from '../../../actors/identity/people.ts';
import type { Host, Instance } from '../../../actors/platform/host/host-port.ts';
import type { Role } from '../../../machines/identity/membership.ts';
import type { SignInMethod } from '../../../machines/identity/session.ts';
import { BoundedCache } from '../../../streams/platform/bounded-cache.ts';
import type { CancelWakeUp, Clock } from '../../../streams/platform/clock.ts';
import { type Commit, SYSTEM_PROJECT } from '../../../streams/platform/commit/commit.ts';
import type { StoredInstance } from '../../../streams/platform/commit/projection.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { Authenticator } from '../../platform/access/authenticator.ts';
import type {
  CredentialPrincipal,
  HumanPrincipal,
  Principal,
} from '../../platform/access/principal.ts';
import { hashKey, parseKey } from '../../platform/keys.ts';
import type { AccessTokens } from './access-tokens.ts';

/** Sessions of people; without them cookies are ignored. */
export interface SessionPorts {
  readonly people: Pick<People, 'sessionOf'>;
  /** The session's secret in a Cookie header for this origin; undefined = none. */
  readonly readCookie: (cookie: string, origin: string) => string | undefined;
  /** Origin of this service, as browsers send it. */
  readonly origin: () => string;
}

export interface AuthenticatorOptions {
  readonly host: Pick<Host, 'findInstance' | 'onApplied' | 'view'>;
  readonly clock: Clock;
  /** Called with the id of each accepted credential; for an access token, its connection's id. */
  readonly recordUse: (credential: string) => void;
  /** Absent if access tokens are not accepted. */
  readonly tokens?: Pick<AccessTokens, 'looksLike' | 'verify'>;
  readonly sessions?: SessionPorts;
  /** The reason why this process cannot vouch for any credential now. Absent if it always can. */
  readonly refusal?: () => string | undefined;
}

/** Maximum verified keys in the cache, about 300 bytes each. Anyone may hold many keys. */
const SECRETS_MAX = 20_000;
const BEARER = /^Bearer +([^\s]+) *$/i;

/** `close` stops following the host's commits. */
export function createAuthenticator(
  options: AuthenticatorOptions,
): Authenticator & { close(): void } {
  const { host, clock } = options;
  const rows = new IdentityRows(host);
  const watches = new Watches({ clock, identities: rows });
  const unfollow = host.onApplied(({ commit }) => {
    const changed = rows.applied(commit);
    if (changed.size > 0) watches.changed(changed);
  });
  const verifier = new Verifier(options, rows);
  const revalidate = <P extends Principal>(principal: P): P => {
    assertVouching(options);
    // The kind of the resolved principal is that of the given one.
    return resolvePrincipal(rows, principal, clock.now()) as P;
  };
  return {
    authenticateKey: (authorization) => verifier.key(bearerOf(authorization)),
    authenticate: (authorization) => verifier.bearer(authorization),
    identify: ({ authorization, cookie, origin }) =>
      authorization === undefined && options.sessions && cookie !== undefined
        ? verifier.session(options.sessions, cookie, origin)
        : verifier.bearer(authorization),
    revalidate,
    watch: (principal, onLost, use) =>
      watches.add(() => {
        const now = revalidate(principal);
        use?.(now);
        return now.expiresMs;
      }, onLost),
    close() {
      unfollow();
      watches.close();
    },
  };
}

function assertVouching({ refusal }: AuthenticatorOptions): void {
  const reason = refusal?.();
  if (reason !== undefined) throw new Refusal('NOT_READY', reason);
}

/** Credential of a verified key: the part that never changes. */
interface KnownKey {
  readonly project: string;
  readonly id: string;
}

class Verifier {
  readonly #options: AuthenticatorOptions;
  readonly #rows: IdentityRows;
  readonly #keys = new BoundedCache<string, KnownKey>(SECRETS_MAX);

  constructor(options: AuthenticatorOptions, rows: IdentityRows) {
    this.#options = options;
    this.#rows = rows;
  }

  async bearer(authorization: string | undefined): Promise<CredentialPrincipal> {
    const text = bearerOf(authorization);
    return this.#options.tokens?.looksLike(text) ? this.#token(text) : this.key(text);
  }

  key(text: string): CredentialPrincipal {
    assertVouching(this.#options);
    const digest = hashKey(text);
    const known = this.#keys.get(digest) ?? this.#verifyKey(text, digest);
    const { recordUse, clock } = this.#options;
    const row = this.#rows.find('credential', known.project, known.id);
    if (!row) throw unknownKey();
    const principal = resolveKey(this.#rows, row, clock.now());
    recordUse(known.id);
    return principal;
  }

  /** Answers the same for every unknown key, so that callers cannot learn which ids exist. */
  #verifyKey(text: string, digest: string): KnownKey {
    const parsed = parseKey(text);
    const found = parsed && this.#rows.findCredential(parsed.id);
    const stored = String(found?.context.hash ?? '').padEnd(64, '0');
    // An unknown id is compared too, so that the duration is the same.
    const isSame = timingSafeEqual(Buffer.from(digest), Buffer.from(stored.slice(0, 64)));
    if (!found || !isSame) throw unknownKey();
    const known = { project: found.project, id: found.instance };
    this.#keys.set(digest, known);
    return known;
  }

  async #token(text: string): Promise<CredentialPrincipal> {
    assertVouching(this.#options);
    const { tokens, clock, recordUse } = this.#options;
    const claims = await tokens?.verify(text);
    if (!claims) throw unknownKey();
    const principal = resolveToken(this.#rows, claims, clock.now());
    // Tokens live for minutes, so owners want to know when the connection was used.
    recordUse(claims.connection);
    return principal;
  }

  async session(
    { people, readCookie, origin }: SessionPorts,
    cookie: string,
    shownOrigin: string | undefined,
  ): Promise<HumanPrincipal> {
    assertVouching(this.#options);
    const own = origin();
    const secret = readCookie(cookie, own);
    // Other cookies of the host identify no one.
    if (secret === undefined) throw nothingShown();
    if (shownOrigin !== own) {
      const seen = shownOrigin === undefined ? 'none' : `"${shownOrigin.slice(0, 100)}"`;
      const message = `A session requires the header "Origin: ${own}", not ${seen}`;
      throw new Refusal('MISSING_CREDENTIAL', message);
    }
    const live = people.sessionOf(secret);
    const principal = resolveSession(this.#rows, live, this.#options.clock.now());
    return { ...principal, isRotationDue: live.isRotationDue };
  }
}

function resolvePrincipal(rows: IdentityRows, principal: Principal, nowMs: number): Principal {
  if (principal.kind === 'human') {
    return { ...principal, ...resolveSession(rows, principal, nowMs) };
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

/** The bearer token of a header. Throws a `Refusal`: MISSING_CREDENTIAL, MALFORMED_CREDENTIAL. */
function bearerOf(authorization: string | undefined): string {
  if (authorization === undefined || authorization === '') {
    throw nothingShown();
  }
  const text = BEARER.exec(authorization)?.[1];
  if (text === undefined) {
    throw new Refusal(
      'MALFORMED_CREDENTIAL',
      'The Authorization header must be "Bearer <key>" with one key and nothing after it',
    );
  }
  return text;
}

function nothingShown(): Refusal {
  return new Refusal(
    'MISSING_CREDENTIAL',
    'The request has no Authorization header: send "Authorization: Bearer <key>"',
  );
}

function unknownKey(): Refusal {
  const message = 'The key was not issued by this service. Check that you copied all of it';
  return new Refusal('MALFORMED_CREDENTIAL', message);
}

// Principals from rows: a key within its owner's grants, an access token within its connection and
// service account, a session within its person's memberships. Everything that can end access is
// checked here on each request, in this order: the secret itself, its owner, its remaining
// capabilities.

/** Principal of a key of any kind. Throws a `Refusal` if the key gives no access now. */
function resolveKey(
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
function resolveSession(
  rows: IdentityRows,
  { session, person }: { readonly session: string; readonly person: string },
  nowMs: number,
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
    memberOf: (project) => {
      const member = memberIdOf(project, person);
      const place = rows.find('membership', project, member);
      return place?.value === 'active' ? { member, role: place.context.role as Role } : undefined;
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

/** Returns the time when access ends, Unix ms. Throws a `Refusal` once it has ended. */
export type AccessCheck = () => number;

interface Watch {
  readonly check: AccessCheck;
  readonly onLost: (why: Refusal) => void;
  /** Rows that the last check read. Only their changes can change its result. */
  rows: ReadonlySet<RowKey>;
  endsMs: number;
}

/** Half of the second within which an open response must end (API-17). */
const TICK_MS = 500;

class Watches {
  readonly #clock: Clock;
  readonly #identities: IdentityRows;
  readonly #watches = new Set<Watch>();
  readonly #byRow = new Map<RowKey, Set<Watch>>();
  /** No later than the earliest end of all checks. */
  #nextEndMs = Number.POSITIVE_INFINITY;
  #cancelTick: CancelWakeUp | undefined;

  constructor(options: { readonly clock: Clock; readonly identities: IdentityRows }) {
    this.#clock = options.clock;
    this.#identities = options.identities;
  }

  /** Calls `onLost` once, when `check` throws, now or later. Returns a function that stops it. */
  add(check: AccessCheck, onLost: (why: Refusal) => void): () => void {
    const watch: Watch = { check, onLost, rows: new Set(), endsMs: 0 };
    this.#watches.add(watch);
    this.#check(watch);
    if (this.#watches.size > 0) this.#cancelTick ??= this.#tickLater();
    return () => this.#remove(watch);
  }

  /** To be called with the rows that a commit changed. */
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

  /** Ticks instead of one wake-up at the end, because calendar time may jump. */
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

/** Any other error leaves the access unknown, so the response ends too. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  return new Refusal('NOT_READY', 'Access could not be checked. Send the request again');
}

// The cache of identity rows. Each row is kept until a commit changes it. A request reads several
// rows (key, account, member, person), and reading them from SQLite would cost more than the rest
// of its authentication. Commits are applied and reported in one turn of the event loop, so that no
// reader sees a row older than the last applied commit.

/** Machines on whose rows access depends. */
type AccessMachine =
  | 'credential'
  | 'serviceAccount'
  | 'membership'
  | 'person'
  | 'ciConnection'
  | 'enrolment'
  | 'session';

const ACCESS_MACHINES: ReadonlySet<string> = new Set<AccessMachine>([
  'credential',
  'serviceAccount',
  'membership',
  'person',
  'ciConnection',
  'enrolment',
  'session',
]);

/** Maximum rows in the cache, about 1 KB each. Bounded, because anyone may hold many keys. */
const ROWS_MAX = 20_000;

/** Identifies a row among those of all machines and projects. */
export type RowKey = string;

export class IdentityRows {
  readonly #host: Pick<Host, 'view' | 'findInstance'>;
  readonly #rows = new BoundedCache<RowKey, StoredInstance>(ROWS_MAX);
  #noted: Set<RowKey> | undefined;

  constructor(host: Pick<Host, 'view' | 'findInstance'>) {
    this.#host = host;
  }

  /** The current row. Missing rows are not cached. */
  find<M extends AccessMachine>(machine: M, project: string, id: string): Instance<M> | undefined {
    const key = rowKey(machine, project, id);
    this.#noted?.add(key);
    const kept = this.#rows.get(key);
    // The key names the machine.
    if (kept) return kept as Instance<M>;
    const found = this.#host.view(project).instance(machine, id);
    if (found) this.#rows.set(key, found);
    return found;
  }

  /** View of one project's rows. */
  of(project: string): GrantedRows {
    return { instance: (machine, id) => this.find(machine, project, id) };
  }

  /** A credential by its id, in any project. */
  findCredential(id: string): Instance<'credential'> | undefined {
    const found = this.#host.findInstance('credential', id);
    if (found) this.#rows.set(rowKey('credential', found.project, id), found);
    return found;
  }

  /** Result of `read`, with the keys of all rows that it read. */
  noting<T>(read: () => T): { readonly answer: T; readonly rows: ReadonlySet<RowKey> } {
    const rows = new Set<RowKey>();
    this.#noted = rows;
    try {
      return { answer: read(), rows };
    } finally {
      this.#noted = undefined;
    }
  }

  /** Drops the rows that a commit has changed, and returns their keys. */
  applied({ project, decisions }: Commit): ReadonlySet<RowKey> {
    const changed = new Set<RowKey>();
    for (const { steps } of decisions) {
      for (const { machine, instance } of steps) {
        if (!ACCESS_MACHINES.has(machine)) continue;
        const key = rowKey(machine, project, instance);
        this.#rows.delete(key);
        changed.add(key);
      }
    }
    return changed;
  }
}

function rowKey(machine: string, project: string, id: string): RowKey {
  return `${machine} ${project} ${id}`;
}
