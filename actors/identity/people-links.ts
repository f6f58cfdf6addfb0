/**
 * One-time links by which a person signs in. A link is used in the decision that starts the
 * session, so that only one of two concurrent uses succeeds. Only the hash of a token is stored. A
 * code for the command line ends with the session that confirmed it: both its creation and its use
 * check that this session is live.
 */
import { createHash } from 'node:crypto';
import type { SignInMethod } from '../../machines/identity/session.ts';
import type { SignInLinkContext, SignInLinkInput } from '../../machines/identity/sign-in-link.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Host, Instance, RequestKey } from '../platform/host/host-port.ts';
import {
  assertActive,
  claimOf,
  emailOrNone,
  personByClaim,
  personByEmail,
  rename,
} from './people-index.ts';
import { assertMayConfirm, type StartedSession, startSession } from './sessions.ts';
import { type SignInSecrets, sameDigest } from './sign-in-secrets.ts';
import { endSignIns, recordSignIn, signInsOf } from './sign-ins.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    keysToEnd: Readonly<Record<string, never>>;
  }
}

type Purpose = SignInLinkInput['purpose'];

const MINUTE_MS = 60_000;

/** Lifetime of an unused link, ms. */
const LINK_MS: Readonly<Record<Purpose, number>> = {
  operator: 30 * MINUTE_MS,
  email: 15 * MINUTE_MS,
  cli: 2 * MINUTE_MS,
  'first-start': 7 * 24 * 60 * MINUTE_MS,
};
/** Maximum unused emailed links of a person. Beyond it, no further mail is sent. */
const EMAIL_LINKS_MAX = 5;
/** Base64url of a SHA-256, without padding (RFC 7636, section 4.2, S256). */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

const METHOD: Readonly<Record<Purpose, SignInMethod>> = {
  operator: 'link',
  'first-start': 'link',
  email: 'email',
  cli: 'cli',
};

const SERVICE: Actor = { kind: 'service', name: 'service/sign-in' };

/** A link that was just made; its token is stored nowhere else. */
export interface IssuedLink {
  /** Id of the link. */
  readonly link: string;
  /** `svc_link_<id>_<random><checksum>`; for an invitation `svc_inv_...`. */
  readonly token: string;
  readonly expiresMs: number;
}

/** A link whose token may have been returned earlier; it is null then. */
export type RequestedLink = Omit<IssuedLink, 'token'> & { readonly token: string | null };

/** Confirmation of a code for the command line. */
export interface CliConfirmation {
  /** S256 code challenge of RFC 7636: 43 characters. */
  readonly challenge: string;
  /** Id of the person's session that confirms the code. The code ends with it. */
  readonly session: string;
}

/** A link that is mailed to the person with an address. */
export interface MailedLink extends IssuedLink {
  /** Id. */
  readonly person: string;
  readonly displayName: string;
}

/** One-time links. Each can be used once, within 2 minutes to 7 days depending on its purpose. */
export interface Links {
  /**
   * A one-time link for the person with an address; `undefined` if no active person has it. Callers
   * must not reveal which of the two it was.
   */
  linkByEmail(email: string): Promise<MailedLink | undefined>;
  /**
   * A link for a person, by purpose; `cli` is required for that purpose. Throws a `Refusal`:
   * NOT_FOUND, IDENTITY_DISABLED, CREDENTIAL_REVOKED and CREDENTIAL_EXPIRED (the confirming session
   * has ended), HUMAN_OPERATION (the confirming session belongs to a command line),
   * SIGN_IN_TOO_OLD (its sign-in is not recent).
   */
  linkFor(by: Actor, person: string, purpose: Purpose, cli?: CliConfirmation): Promise<IssuedLink>;
  /**
   * A link requested by an operator; `token` is null for a resent request. Throws like `linkFor`.
   */
  linkOnRequest(by: Actor, person: string, request: RequestKey): Promise<RequestedLink>;
}

/** The host, and the form of the links. */
export interface LinksDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly secrets: SignInSecrets;
  /** Maximum age of the sign-in that confirms a command line, ms. Default: `RECENT_MS`. */
  readonly recentMs?: number;
}

/** Wraps the host. Links are in the chain of `_system`. */
export function createLinks(deps: LinksDeps): Links {
  const { host } = deps;
  return {
    async linkFor(by, person, purpose, cli) {
      const issued = await issue(deps, { by, person, purpose, cli });
      return { ...issued, token: newToken(issued) };
    },
    linkOnRequest: (by, person, request) =>
      issue(deps, { by, person, purpose: 'operator', request }),
    async linkByEmail(address) {
      const view = host.view(SYSTEM_PROJECT);
      const email = emailOrNone(address);
      const person = personByEmail(view, email) ?? personByClaim(view, email);
      const row = person === undefined ? undefined : view.instance('person', person);
      if (person === undefined || row?.value !== 'active') return undefined;
      const nowMs = deps.clock.now();
      const open = signInsOf(view, person).links.filter((id) => {
        const link = contextOf(view.instance('signInLink', id));
        return link?.purpose === 'email' && nowMs < link.expiresMs;
      });
      if (open.length >= EMAIL_LINKS_MAX) return undefined;
      const issued = await issue(deps, { by: SERVICE, person, purpose: 'email' });
      const { displayName } = row.context;
      return { ...issued, token: newToken(issued), person, displayName };
    },
  };
}

/** Adds a link to a decision of `_system`. Returns its end, Unix ms. */
function startLink(
  draft: Draft,
  link: { id: string; hash: string; person: string; purpose: Purpose; cli: CliConfirmation | null },
): number {
  const { id, hash, cli, ...about } = link;
  const expiresMs = draft.at + LINK_MS[link.purpose];
  recordSignIn(draft, link.person, 'link', id);
  const confirmed = { challenge: cli?.challenge ?? null, confirmedBy: cli?.session ?? null };
  draft.start('signInLink', id, {
    at: draft.at,
    ...about,
    tokenHash: hash,
    expiresMs,
    ...confirmed,
  });
  return expiresMs;
}

interface LinkRequest {
  readonly by: Actor;
  readonly person: string;
  readonly purpose: Purpose;
  readonly cli?: CliConfirmation | undefined;
  readonly request?: RequestKey;
}

/** Token of a link that was made without a request id. */
function newToken({ link, token }: RequestedLink): string {
  if (token !== null) return token;
  throw new Error(`The link ${link} was made without a request id but has no token`);
}

async function issue(
  { host, secrets, recentMs }: LinksDeps,
  { by, person, purpose, cli: given, request }: LinkRequest,
): Promise<RequestedLink> {
  const cli = purpose === 'cli' ? given : null;
  if (cli === undefined || (cli && !CHALLENGE.test(cli.challenge))) {
    const message = 'challenge is not an S256 code challenge of RFC 7636 with 43 characters';
    throw invalidField('challenge', message);
  }
  const { id, text, hash } = secrets.mint('link');
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by,
    ...(request && { request }),
    decide(draft) {
      assertActive(draft, person);
      if (cli) assertMayConfirm(draft, { session: cli.session, person, recentMs });
      return { link: id, expiresMs: startLink(draft, { id, hash, person, purpose, cli }) };
    },
  });
  return { ...answer, token: answer.link === id ? text : null };
}

/** A link presented by its holder; `verifier` is PKCE's, for the command line. */
export interface UseOfLink {
  readonly link: string;
  readonly token: string;
  readonly agent: string;
  readonly verifier?: string | undefined;
}

/** Result of using a link; `provenEmail` is '' if it proves no address. */
type UsedLink = StartedSession & { readonly provenEmail: string };

/** Uses the link and starts its session, or does neither. */
export async function signInByOwnLink(
  { host, secrets }: Pick<LinksDeps, 'host' | 'secrets'>,
  use: UseOfLink,
): Promise<UsedLink> {
  // Checked before the decision, because a token's digest never changes. So guesses cost no commit.
  const presented = host.view(SYSTEM_PROJECT).instance('signInLink', use.link);
  const isToken = sameDigest(contextOf(presented)?.tokenHash, secrets.hash(use.token));
  if (!presented || !isToken) throw unknownLink();
  const session = secrets.mint('session');
  const { answer } = await host.submit({
    project: SYSTEM_PROJECT,
    by: { kind: 'human', name: personNameOf(presented) },
    decide(draft) {
      const row = draft.instance('signInLink', use.link);
      const link = contextOf(row);
      if (!row || !link) throw unknownLink();
      assertUnused(row, draft.at);
      checkVerifier(link.challenge, use.verifier);
      const { person, purpose } = link;
      assertActive(draft, person);
      const confirmedBy = link.confirmedBy ?? '';
      // Its sign-in was recent when it confirmed.
      if (purpose === 'cli') assertMayConfirm(draft, { session: confirmedBy, person, recentMs: 0 });
      draft.send('signInLink', use.link, { type: 'used', at: draft.at, session: session.id });
      const provenEmail = purpose === 'email' ? proveEmail(draft, person) : '';
      const method = METHOD[purpose];
      const about = { id: session.id, hash: session.hash, person, method, agent: use.agent };
      const begun = { ...about, ...(purpose === 'cli' && { confirmedBy }) };
      return { person, expiresMs: startSession(draft, begun), provenEmail };
    },
  });
  return { session: session.id, secret: session.text, ...answer };
}

/**
 * Using an emailed link proves the address: a claimed one becomes verified, for this person alone.
 */
function proveEmail(draft: Draft, person: string): string {
  const { displayName, email } = assertActive(draft, person);
  const claimed = claimOf(draft, person);
  if (email !== '' || claimed === undefined) return email;
  adopt(draft, person, { displayName, email: claimed });
  return claimed;
}

/** Record of a person whose personal keys must still be ended, because the address was proven. */
export const KEYS_TO_END = 'keysToEnd';

/**
 * Gives the person who joined by an invitation to the owner of its address. The holder of that link
 * may have been someone else, so everything that was started until then ends.
 */
export function adopt(
  draft: Draft,
  person: string,
  owner: { readonly displayName: string; readonly email: string },
): void {
  rename(draft, person, owner);
  endSignIns(draft, person, 'ADDRESS_VERIFIED');
  // Keys are in the chains of projects. The sign-in ends them before it responds.
  draft.putRecord({ kind: KEYS_TO_END, id: person, body: {} });
}

/** Throws CREDENTIAL_REVOKED for a used or revoked link, CREDENTIAL_EXPIRED for an expired one. */
function assertUnused(row: Instance<'signInLink'>, atMs: number): void {
  if (row.value === 'used' || row.value === 'revoked') {
    throw new Refusal('CREDENTIAL_REVOKED', 'The link was used, or replaced by a newer one', {
      cause: String(row.value).toUpperCase(),
    });
  }
  if (row.value === 'issued' && atMs < (contextOf(row)?.expiresMs ?? 0)) return;
  throw new Refusal('CREDENTIAL_EXPIRED', 'The link has expired. Request a new one');
}

/**
 * RFC 7636, section 4.6. A wrong verifier does not use up the link, which expires after two
 * minutes.
 */
function checkVerifier(challenge: string | null, verifier: string | undefined): void {
  if (challenge === null) return;
  const expected = createHash('sha256').update(challenge).digest('hex');
  const presented = createHash('sha256')
    .update(verifier ?? '')
    .digest('base64url');
  if (sameDigest(expected, createHash('sha256').update(presented).digest('hex'))) return;
  throw new Refusal('MALFORMED_CREDENTIAL', 'The code was not made for this command line');
}

/** The refusal of a text that is not a link of this service. */
export function unknownLink(): Refusal {
  return new Refusal(
    'MALFORMED_CREDENTIAL',
    'The link was not issued by this service. Check that you copied all of it',
  );
}

function personNameOf(row: Instance<'signInLink'> | undefined): string {
  return `people/${contextOf(row)?.person ?? 'unknown'}`;
}

function contextOf(row: Instance<'signInLink'> | undefined): SignInLinkContext | undefined {
  return row?.context;
}
