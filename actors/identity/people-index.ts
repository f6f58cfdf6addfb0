/**
 * Index of people by account at an identity provider, and by address. Its records in `_system` are
 * keyed by digest and written in the decision that makes or changes the person, so that two
 * concurrent sign-ins cannot become two people.
 *
 * An address is *verified* when an identity provider, an emailed link or the operator vouches for
 * it. It is *claimed* when only an invitation names it, because the holder of its link need not own
 * the address. At most one person has an address verified. Any number of people may claim it, and
 * each is displayed with the mark that it is unproven.
 */
import { createHash } from 'node:crypto';
import type { LinkedIdentity, PersonContext } from '../../machines/identity/person.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { canonicalEmail, emailSpellings, parseEmailAddress } from '../platform/email-address.ts';
import type { Draft, Instance, ProjectView } from '../platform/host/host-port.ts';
import { oneLine } from '../platform/plain-text.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    personOfIdentity: { readonly person: string };
    personOfEmail: { readonly person: string };
    personOfClaim: { readonly person: string; readonly others?: readonly string[] };
    claimOfPerson: { readonly email: string };
  }
}

/** Maximum accounts of identity providers that one person may have. */
const IDENTITIES_MAX = 10;
const DISPLAY_NAME_LENGTH_MAX = 200;

const BY_IDENTITY = 'personOfIdentity';
const BY_EMAIL = 'personOfEmail';
const BY_CLAIM = 'personOfClaim';
const CLAIM_OF = 'claimOfPerson';
/**
 * Maximum claimants listed for an address; each costs an invitation and its acceptance. A further
 * claimant is marked too, but is found by the address only after another one is removed.
 */
const CLAIMANTS_MAX = 100;

type PersonIndex = typeof BY_IDENTITY | typeof BY_EMAIL;
type Records = Pick<ProjectView, 'record'>;

/** The address in its canonical form. Throws INVALID_FIELD. */
export function parseEmail(field: string, text: string): string {
  const email = parseEmailAddress(text);
  if (email !== undefined) return email;
  const fault = text.trim() === '' ? 'missing' : 'not an email address';
  throw new Refusal('INVALID_FIELD', `${field} is ${fault}: send one like ann@example.org`, {
    field,
  });
}

/** Like `parseEmail`, for an address from a third party; '' if it is not valid. */
export function emailOrNone(text: string): string {
  return parseEmailAddress(text) ?? '';
}

/** A displayable name: one line, not too long; `otherwise` if nothing is left. */
export function displayedName(text: string, otherwise: string): string {
  const name = oneLine(text, DISPLAY_NAME_LENGTH_MAX);
  return name === '' ? otherwise : name;
}

/** Key of an address in records. It is a digest, because lists of records show their keys. */
export function emailKey(email: string): string {
  return digest(['email', email]);
}

/**
 * Id of the person linked with an account at an identity provider; undefined if there is none yet.
 */
export function personByIdentity(
  view: Records,
  { issuer, subject }: LinkedIdentity,
): string | undefined {
  return personIn(view, BY_IDENTITY, digest(['identity', issuer, subject]));
}

/** The person with a verified address. */
export function personByEmail(view: Records, email: string): string | undefined {
  if (email === '') return undefined;
  for (const spelling of emailSpellings(email)) {
    const person = personIn(view, BY_EMAIL, emailKey(spelling));
    if (person !== undefined) return person;
  }
  return undefined;
}

/** The first person who claims an address. */
export function personByClaim(view: Records, email: string): string | undefined {
  return claimantsOf(view, email)[0];
}

/** All people who claim an address, in the order of their claims. */
export function claimantsOf(view: Records, email: string): readonly string[] {
  if (email === '') return [];
  const claimants = emailSpellings(email).flatMap((spelling) => {
    const body = view.record(BY_CLAIM, emailKey(spelling))?.body;
    // An older version recorded only the first.
    const others = Array.isArray(body?.others) ? body.others.map(String) : [];
    return typeof body?.person === 'string' ? [body.person, ...others] : [];
  });
  return [...new Set(claimants)];
}

/** The address that a person claims; undefined if absent, or it is verified. */
export function claimOf(view: Records, person: string): string | undefined {
  const email = view.record(CLAIM_OF, person)?.body.email;
  return typeof email === 'string' ? email : undefined;
}

/** The claimed address, displayed with the mark that it is unproven; '' = none. */
export function unprovenEmailOf(view: Records, person: string, verifiedEmail: string): string {
  return verifiedEmail === '' ? (claimOf(view, person) ?? '') : '';
}

/** Id of the person that an invitation's link makes; the same for each attempt. */
export function invitedPersonId(invitation: string): string {
  return createHash('sha256').update(`invited ${invitation}`).digest('hex').slice(0, 26);
}

/** The row of a person. Throws a `Refusal` NOT_FOUND. */
export function personRow(view: Pick<ProjectView, 'instance'>, person: string): Instance<'person'> {
  const row = view.instance('person', person);
  if (row) return row;
  throw new Refusal('NOT_FOUND', `There is no person ${person}`);
}

/** Name and address of a person. */
interface NameAndEmail {
  readonly displayName: string;
  /** Verified; '' = none. */
  readonly email: string;
}

/**
 * Name and address that memberships store. A person who joined by an invitation is displayed with
 * the invited address and the mark that it is unproven, so that an owner sees whose invitation it
 * was.
 */
export function memberFactsOf(
  view: Records,
  person: string,
  { displayName, email }: NameAndEmail,
): NameAndEmail {
  const claimed = email === '' ? claimOf(view, person) : undefined;
  if (claimed === undefined) return { displayName, email };
  return { email, displayName: `${displayName} (invited as ${claimed}, not proven)` };
}

/** Throws NOT_FOUND and IDENTITY_DISABLED. */
export function assertActive(view: Pick<ProjectView, 'instance'>, person: string): PersonContext {
  const row = personRow(view, person);
  if (row.value === 'active') return row.context;
  throw new Refusal(
    'IDENTITY_DISABLED',
    'The person is locked out. Ask the operator for the reason',
  );
}

/** A person to make, with the address and account by which they are found. */
export interface NewPerson {
  readonly id: string;
  readonly displayName: string;
  /** Verified; '' = none. */
  readonly email: string;
  readonly identity?: LinkedIdentity;
}

/** Address and account must not belong to another person. */
export function startPerson(draft: Draft, { id, identity, ...about }: NewPerson): void {
  draft.start('person', id, { at: draft.at, ...about, identity: identity ?? null });
  if (about.email !== '') put(draft, BY_EMAIL, emailKey(about.email), id);
  if (identity) putIdentity(draft, id, identity);
}

/** Throws LIMIT_EXCEEDED. */
export function linkIdentity(draft: Draft, person: string, identity: LinkedIdentity): void {
  const { identities } = personRow(draft, person).context;
  if (identities.length >= IDENTITIES_MAX) {
    throw new Refusal('LIMIT_EXCEEDED', `A person has at most ${IDENTITIES_MAX} accounts`, {
      limit: String(IDENTITIES_MAX),
    });
  }
  const { issuer, subject } = identity;
  draft.send('person', person, { type: 'identityLinked', at: draft.at, issuer, subject });
  putIdentity(draft, person, identity);
}

/** Removes an account that is linked with the person. */
export function unlinkIdentity(
  draft: Draft,
  person: string,
  { identity: { issuer, subject }, by }: { readonly identity: LinkedIdentity; readonly by: string },
): void {
  draft.send('person', person, { type: 'identityUnlinked', at: draft.at, by, issuer, subject });
  remove(draft, BY_IDENTITY, digest(['identity', issuer, subject]));
}

/** Records the address of an invitation as claimed, whoever else claims or owns it. */
export function claimEmail(draft: Draft, person: string, address: string): void {
  const email = canonicalEmail(address);
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
  const [canonical = email, ...older] = emailSpellings(email);
  draft.putRecord({ kind: BY_CLAIM, id: emailKey(canonical), body });
  for (const id of older.map(emailKey)) {
    if (draft.record(BY_CLAIM, id)) draft.putRecord({ kind: BY_CLAIM, id, body: null });
  }
}

/**
 * Gives a person a name and a verified address; '' = unchanged. An address that belongs to another
 * person stays with that person.
 */
export function rename(
  draft: Draft,
  person: string,
  to: { readonly displayName: string; readonly email: string },
): void {
  const before = personRow(draft, person).context;
  const holder = personByEmail(draft, to.email);
  const isFree = to.email !== '' && (holder === undefined || holder === person);
  const email = isFree ? to.email : before.email;
  const displayName = to.displayName === '' ? before.displayName : to.displayName;
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

/** Digest of JSON, which separates the parts whatever they contain. */
function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
