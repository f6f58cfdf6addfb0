/**
 * How people are found: by an account at an identity provider, or by an address. Records of
 * `_system`, keyed by digest and written in the decision that makes or changes the person, so that
 * two sign-ins at once cannot become two people.
 *
 * An address is *verified* when an identity provider, an emailed link or the operator vouches for
 * it; one that only an invitation names is *claimed*: whoever held the link need not own it. One
 * person at most has an address verified; any number may claim it, and each is shown with the mark
 * that it is not proven.
 */
import { createHash } from 'node:crypto';
import type { LinkedIdentity, PersonContext } from '../../machines/identity/person.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Draft, Instance, ProjectView } from '../platform/host/host-port.ts';
import { isOneLine, oneLine } from '../platform/one-line.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    personOfIdentity: { readonly person: string };
    personOfEmail: { readonly person: string };
    personOfClaim: { readonly person: string; readonly others?: readonly string[] };
    claimOfPerson: { readonly email: string };
  }
}

/** Accounts of identity providers that one person may have. */
const IDENTITIES_MAX = 10;
/** RFC 5321, section 4.5.3.1.3, without the angle brackets. */
const EMAIL_LENGTH_MAX = 254;
const EMAIL = /^[^\s@<>()",;:\\[\]]{1,64}@[^\s@<>()",;:\\[\]]+$/;
const DISPLAY_NAME_LENGTH_MAX = 200;

const BY_IDENTITY = 'personOfIdentity';
const BY_EMAIL = 'personOfEmail';
const BY_CLAIM = 'personOfClaim';
const CLAIM_OF = 'claimOfPerson';
/**
 * Claimants that are listed by their address: each costs an invitation and its acceptance. One beyond
 * them is marked like all others, and is found by its address once another is not there any more.
 */
const CLAIMANTS_MAX = 100;

type PersonIndex = typeof BY_IDENTITY | typeof BY_EMAIL;
type Records = Pick<ProjectView, 'record'>;

/** The address as it is compared: trimmed, lower case. Throws INVALID_FIELD. */
export function parseEmail(field: string, text: string): string {
  const email = text.trim().toLowerCase();
  if (isEmail(email)) return email;
  const seen = email === '' ? 'missing' : 'no email address';
  throw new Refusal('INVALID_FIELD', `${field} is ${seen}: say one like ann@example.org`, {
    field,
  });
}

/** The same for an address that somebody else tells, who need not hear of it: '' when it is none. */
export function emailOrNone(text: string): string {
  const email = text.trim().toLowerCase();
  return isEmail(email) ? email : '';
}

function isEmail(text: string): boolean {
  return text.length <= EMAIL_LENGTH_MAX && EMAIL.test(text) && isOneLine(text);
}

/** A name fit to be shown: one line, not too long; `otherwise` when nothing is left. */
export function shownName(text: string, otherwise: string): string {
  const name = oneLine(text, DISPLAY_NAME_LENGTH_MAX);
  return name === '' ? otherwise : name;
}

/** Key of an address in records: they are listed by key, and an address need not be shown there. */
export function emailKey(email: string): string {
  return digest(['email', email]);
}

export function personByIdentity(
  view: Records,
  { issuer, subject }: LinkedIdentity,
): string | undefined {
  return personIn(view, BY_IDENTITY, digest(['identity', issuer, subject]));
}

/** Of a verified address. */
export function personByEmail(view: Records, email: string): string | undefined {
  return email === '' ? undefined : personIn(view, BY_EMAIL, emailKey(email));
}

/** The first who joined by an invitation to that address and has not been seen to own it. */
export function personByClaim(view: Records, email: string): string | undefined {
  return claimantsOf(view, email)[0];
}

/** Everybody who claims an address and has not been seen to own it, the first one first. */
export function claimantsOf(view: Records, email: string): readonly string[] {
  const body = email === '' ? undefined : view.record(BY_CLAIM, emailKey(email))?.body;
  // An older version wrote the first alone.
  const others = Array.isArray(body?.others) ? body.others.map(String) : [];
  return typeof body?.person === 'string' ? [body.person, ...others] : [];
}

/** The address that a person claims; undefined when none, or it is verified by now. */
export function claimOf(view: Records, person: string): string | undefined {
  const email = view.record(CLAIM_OF, person)?.body.email;
  return typeof email === 'string' ? email : undefined;
}

/** The address to show with the mark that it is not proven; '' = none. */
export function unprovenEmailOf(view: Records, person: string, verifiedEmail: string): string {
  return verifiedEmail === '' ? (claimOf(view, person) ?? '') : '';
}

/** Id of the person that the link of an invitation makes: the same at each try. */
export function invitedPersonId(invitation: string): string {
  return createHash('sha256').update(`invited ${invitation}`).digest('hex').slice(0, 26);
}

export function personRow(view: Pick<ProjectView, 'instance'>, person: string): Instance<'person'> {
  const row = view.instance('person', person);
  if (row) return row;
  throw new Refusal('NOT_FOUND', `There is no person ${person}`);
}

export function contextOfPerson(row: Instance<'person'>): PersonContext {
  return row.context;
}

/** What projects are told of a person. */
interface ToldPerson {
  readonly displayName: string;
  /** Verified; '' = none. */
  readonly email: string;
}

/**
 * What memberships keep of a person: who joined by an invitation is shown with the invited address
 * and the word that it is not proven, so that an owner sees whose invitation was taken.
 */
export function toldOf(
  view: Records,
  person: string,
  { displayName, email }: ToldPerson,
): ToldPerson {
  const claimed = email === '' ? claimOf(view, person) : undefined;
  if (claimed === undefined) return { displayName, email };
  return { email, displayName: `${displayName} (invited as ${claimed}, not proven)` };
}

/** Throws NOT_FOUND and IDENTITY_DISABLED. */
export function assertActive(view: Pick<ProjectView, 'instance'>, person: string): PersonContext {
  const row = personRow(view, person);
  if (row.value === 'active') return contextOfPerson(row);
  throw new Refusal('IDENTITY_DISABLED', 'The person is locked out: the operator can tell why');
}

export interface NewPerson {
  readonly id: string;
  readonly displayName: string;
  /** Verified; '' = none. */
  readonly email: string;
  readonly identity?: LinkedIdentity;
}

/** The address and the account must be nobody's yet. */
export function startPerson(draft: Draft, { id, identity, ...about }: NewPerson): void {
  draft.start('person', id, { at: draft.at, ...about, identity: identity ?? null });
  if (about.email !== '') put(draft, BY_EMAIL, emailKey(about.email), id);
  if (identity) putIdentity(draft, id, identity);
}

/** Throws LIMIT_EXCEEDED. */
export function linkIdentity(draft: Draft, person: string, identity: LinkedIdentity): void {
  const { identities } = contextOfPerson(personRow(draft, person));
  if (identities.length >= IDENTITIES_MAX) {
    throw new Refusal('LIMIT_EXCEEDED', `A person has at most ${IDENTITIES_MAX} accounts`, {
      limit: String(IDENTITIES_MAX),
    });
  }
  const { issuer, subject } = identity;
  draft.send('person', person, { type: 'identityLinked', at: draft.at, issuer, subject });
  putIdentity(draft, person, identity);
}

/** Notes the address that an invitation names, whoever else claims or owns it. */
export function claimEmail(draft: Draft, person: string, email: string): void {
  if (personByEmail(draft, email) === person || claimOf(draft, person) === email) return;
  dropClaim(draft, person);
  putClaimants(draft, email, [...claimantsOf(draft, email), person].slice(0, CLAIMANTS_MAX));
  draft.putRecord({ kind: CLAIM_OF, id: person, body: { email } });
}

function dropClaim(draft: Draft, person: string): void {
  const email = claimOf(draft, person);
  if (email === undefined) return;
  remove(draft, CLAIM_OF, person);
  putClaimants(
    draft,
    email,
    claimantsOf(draft, email).filter((one) => one !== person),
  );
}

function putClaimants(draft: Draft, email: string, claimants: readonly string[]): void {
  const [person, ...others] = claimants;
  const body = person === undefined ? null : { person, ...(others.length > 0 && { others }) };
  draft.putRecord({ kind: BY_CLAIM, id: emailKey(email), body });
}

/**
 * Gives a person a name and a verified address, '' = as before; an address that is another
 * person's stays theirs.
 */
export function rename(
  draft: Draft,
  person: string,
  told: { readonly displayName: string; readonly email: string },
): void {
  const before = contextOfPerson(personRow(draft, person));
  const holder = personByEmail(draft, told.email);
  const isFree = told.email !== '' && (holder === undefined || holder === person);
  const email = isFree ? told.email : before.email;
  const displayName = told.displayName === '' ? before.displayName : told.displayName;
  if (email === before.email && displayName === before.displayName) return;
  draft.send('person', person, { type: 'renamed', at: draft.at, displayName, email });
  if (email === before.email) return;
  if (before.email !== '') remove(draft, BY_EMAIL, emailKey(before.email));
  put(draft, BY_EMAIL, emailKey(email), person);
  dropClaim(draft, person);
}

function putIdentity(draft: Draft, person: string, { issuer, subject }: LinkedIdentity): void {
  put(draft, BY_IDENTITY, digest(['identity', issuer, subject]), person);
}

function put(draft: Draft, kind: PersonIndex, id: string, person: string): void {
  draft.putRecord({ kind, id, body: { person } });
}

function remove(draft: Draft, kind: PersonIndex | typeof CLAIM_OF, id: string): void {
  draft.putRecord({ kind, id, body: null });
}

function personIn(view: Records, kind: PersonIndex, id: string): string | undefined {
  return view.record(kind, id)?.body.person;
}

/** JSON keeps parts apart whatever they contain. */
function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
