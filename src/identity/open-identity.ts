/**
 * Opens the identity room: people and their sign-in, service accounts and keys, access tokens, the
 * authenticator, reports of leaked secrets, and the repairs that run in the background.
 */
import type { FastifyInstance } from 'fastify';
import { finishLeftovers } from '../../actors/identity/account-aftermath.ts';
import { type Accounts, createAccounts } from '../../actors/identity/accounts.ts';
import { completeClaimIndex } from '../../actors/identity/email-index.ts';
import { createKeys, type Keys } from '../../actors/identity/keys.ts';
import { recordLeaksOfPeople } from '../../actors/identity/leaks.ts';
import { createMembers, type Members } from '../../actors/identity/members.ts';
import { createOutsideUses } from '../../actors/identity/outside-uses.ts';
import { createPeople, type People, type PeopleDeps } from '../../actors/identity/people.ts';
import { RefusedUses } from '../../actors/identity/refused-uses.ts';
import type { SignInSecrets } from '../../actors/identity/sign-in-secrets.ts';
import type { RunningHost } from '../../actors/platform/host/host.ts';
import type { Host } from '../../actors/platform/host/host-port.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Ownership } from '../../streams/platform/membership/membership.ts';
import { Sleep } from '../../streams/platform/pause.ts';
import type { AnonymousLimits } from '../platform/http/anonymous-limits.ts';
import type { Origins } from '../platform/http/service-address.ts';
import { hashKey, mintKey, mintSecret, parseSecret } from '../platform/keys.ts';
import type { Log } from '../platform/log.ts';
import type { RoomBase, Storage } from '../platform/room-base.ts';
import { addJwksRoute, openAccessTokens } from './auth/access-tokens.ts';
import { createAuthenticator } from './auth/authenticator.ts';
import { createLastUsed } from './auth/last-used.ts';
import { addLeakedKeysRoute, createLeakReports } from './auth/leaked-keys.ts';
import { invitationMails } from './invite-mail.ts';
import { openSignIn } from './open-sign-in.ts';
import { readSessionCookie } from './sign-in/session-cookie.ts';

/**
 * A member that hears nothing from the others for this long stops authenticating, ms: one lease.
 */
const KEY_LEAD_MS = 6_000;

export interface IdentityParts {
  readonly base: RoomBase;
  readonly storage: Pick<Storage, 'member' | 'ownership' | 'secrets' | 'deriveKey'>;
  readonly host: RunningHost;
  /** Known when the server listens. */
  readonly address: Origins;
}

/** `closers` closes it. Throws like `openSignIn` and `openAccessTokens`. */
export async function openIdentity({ base, storage, host, address }: IdentityParts) {
  const { settings, clock, random, log, metrics, closers } = base;
  const { member, ownership, secrets, deriveKey } = storage;
  const { origin, ownOrigin } = address;
  const lastUsed = createLastUsed({ store: secrets.lastUsed, clock, log });
  closers.add('last used', () => lastUsed.close());
  const leadMs = secrets.isShared ? KEY_LEAD_MS : 0;
  const tokens = await openAccessTokens({ secrets, clock, leadMs, issuer: origin });
  const onFault = reportFaults(base);
  const recentMs = settings.recentSignInMinutes * 60_000;
  const ports = { host, clock, random, lastSeen: lastUsed, recentMs, onFault };
  const identities = createIdentities(ports);
  const { people } = identities;
  const { addRoutes: addSignInRoutes, ...signIn } = openSignIn({
    base,
    people,
    deriveKey,
    address,
  });
  const { mail } = signIn;
  const sessions = { people, readCookie: readSessionCookie, origin: ownOrigin };
  const refusedUses = openRefusedUses(base, host);
  const authenticator = createAuthenticator({
    host,
    clock,
    tokens,
    sessions,
    recentMs,
    recordUse: lastUsed.record,
    recordRefused: (key, reason) => refusedUses.add(key, reason),
    recordOutside: createOutsideUses({ host, clock, onFault }),
    refusal: () => member.refusal(),
  });
  closers.add('authenticator', () => authenticator.close());
  const repairs = { host, ownership, clock, log };
  closers.add('account ends', keepFinishingAccounts(repairs));
  closers.add('claim marks', keepMarkingClaims(repairs));
  closers.add('leak notices', keepRecordingLeaks(repairs));
  const leaks = createLeakReports({ host, clock, tokens, metrics, log });
  return {
    ...identities,
    ...signIn,
    lastUsed,
    tokens,
    authenticator,
    leaks,
    ...(mail && { inviteMail: invitationMails({ mail, origin, clock, random }, host) }),
    async addIdentityRoutes(app: FastifyInstance, anonymousLimits: AnonymousLimits) {
      await addSignInRoutes(app);
      await addLeakedKeysRoute(app, { leaks, anonymousLimits, log, metrics });
      addJwksRoute(app, tokens);
    },
  };
}

/** `closers` writes the pending counts. */
function openRefusedUses({ clock, metrics, log, closers }: RoomBase, host: RunningHost) {
  const lost = metrics.counter(
    'svc_refused_uses_lost_total',
    'Refused uses of keys that could not be recorded',
  );
  const refusedUses = new RefusedUses({
    host,
    clock,
    onLost(refusals, error) {
      lost.inc({}, refusals);
      log.debug({ err: error, refusals, part: 'people' }, 'Refused uses of a key are not counted');
    },
  });
  closers.add('refused uses', () => refusedUses.close());
  return refusedUses;
}

/** Counts and logs failures of changes that have no waiting caller. */
function reportFaults({ metrics, log }: RoomBase): (what: string, error: unknown) => void {
  const faults = metrics.counter('svc_people_faults_total', 'Failed changes of people');
  return (what, error) => {
    faults.inc();
    log.error({ err: error, part: 'people' }, what);
  };
}

export interface Identities {
  readonly people: People;
  readonly members: Members;
  readonly accounts: Accounts;
  readonly keys: Keys;
}

export function createIdentities(ports: Omit<PeopleDeps, 'secrets' | 'invitations'>): Identities {
  const { host, clock, random } = ports;
  const secrets = createSignInSecrets(ports);
  const members = createMembers({ ...ports, secrets });
  return {
    people: createPeople({ ...ports, secrets, invitations: members.invitations }),
    members,
    accounts: createAccounts({ host, clock, random }),
    keys: createKeys({ host, mint: (kind) => mintKey(kind, { nowMs: clock.now(), random }) }),
  };
}

function createSignInSecrets({
  clock,
  random,
}: Pick<PeopleDeps, 'clock' | 'random'>): SignInSecrets {
  return {
    mint: (kind, id) =>
      mintSecret(kind, { nowMs: clock.now(), random, ...(id !== undefined && { id }) }),
    parse: parseSecret,
    hash: hashKey,
  };
}

/** Interval between two runs of a repair, ms. It also runs as soon as this member starts to act. */
const REPAIR_EVERY_MS = 10 * 60_000;

interface RepairOptions<H> {
  readonly host: H;
  /** The member that acts for `_system` runs the repairs for all. */
  readonly ownership: Pick<Ownership, 'owns' | 'onChange'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Revokes the keys and connections of deleted accounts that a crash or an outage left behind. They
 * give no access, but lists show them as if they did. Returns a function that stops it.
 */
export function keepFinishingAccounts(
  options: RepairOptions<Pick<Host, 'submit' | 'view' | 'projects'>>,
): () => Promise<void> {
  return keepRepairing(options, {
    repair: () => finishLeftovers(options.host),
    onFault: 'Cleaning up deleted service accounts is not complete yet',
  });
}

/** Marks people with an unproven address that an older version did not mark. */
function keepMarkingClaims(
  options: RepairOptions<Pick<Host, 'submit' | 'view' | 'projects' | 'findInstancesOf'>>,
): () => Promise<void> {
  return keepRepairing(options, {
    repair: () => completeClaimIndex(options.host),
    onFault: 'Marking unproven addresses is not complete yet',
  });
}

/** Notifies projects of a leaked session that a crash left unreported. */
function keepRecordingLeaks(
  options: RepairOptions<Pick<Host, 'submit' | 'view' | 'findInstancesOf'>>,
): () => Promise<void> {
  return keepRepairing(options, {
    repair: () => recordLeaksOfPeople(options.host),
    onFault: 'Notifying projects of leaked sessions is not complete yet',
  });
}

function keepRepairing(
  { clock, log, ownership }: Pick<RepairOptions<unknown>, 'clock' | 'log' | 'ownership'>,
  { repair, onFault }: { readonly repair: () => Promise<void>; readonly onFault: string },
): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const between = new Sleep(clock);
  const undo = ownership.onChange(() => between.wake());
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        if (ownership.owns(SYSTEM_PROJECT)) await repair();
      } catch (error) {
        log.warn({ err: error, part: 'accounts' }, onFault);
      }
      await between.pause(REPAIR_EVERY_MS, signal);
    }
  };
  const running = run();
  return async () => {
    undo();
    stopping.abort();
    await running;
  };
}
