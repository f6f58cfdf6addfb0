/**
 * The one rule for email addresses: invitations, sign-in, identity providers, mail and destinations
 * all use this file, so an address that an invitation accepts is found by each sign-in.
 *
 * - The domain is in ASCII: labels beyond ASCII become punycode, as browsers do (UTS 46).
 * - The local part may have letters beyond ASCII (SMTPUTF8, RFC 6531), in NFC (RFC 6532).
 * - Both are in lower case. No mail server in use distinguishes case, and people do not either.
 * - Dots stay as they are: `a..b` and `a.b` are two mailboxes at some providers, and one at others.
 *
 * Older versions stored other spellings. They are not migrated, because they are in signed history:
 * lookups try them (`emailSpellings`), and comparisons are of the canonical form (`canonicalEmail`).
 */
import { domainToUnicode } from 'node:url';
import { isOneLine } from './plain-text.ts';

/** RFC 5321, section 4.5.3.1, in octets. */
const LOCAL_BYTES_MAX = 64;
const ADDRESS_BYTES_MAX = 254;
const DOMAIN_CHARS_MAX = 253;

/** Without the characters that need quotes or that delimit addresses. */
const LOCAL = /^[^\s@<>()",;:\\[\]\p{Default_Ignorable_Code_Point}]+$/u;
/** Underscores are not host names (RFC 952), but mail is delivered to such domains. */
const DOMAIN =
  /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** The canonical form of an address; undefined if it is invalid. Space around it is ignored. */
export function parseEmailAddress(text: string): string | undefined {
  const trimmed = text.trim();
  const at = trimmed.lastIndexOf('@');
  const local = canonicalLocal(trimmed.slice(0, Math.max(0, at)));
  const domain = asciiDomain(trimmed.slice(at + 1));
  if (local === undefined || domain === undefined) return undefined;
  const address = `${local}@${domain}`;
  return Buffer.byteLength(address) <= ADDRESS_BYTES_MAX ? address : undefined;
}

/** The canonical form of a stored address; unchanged if it is no longer valid. */
export function canonicalEmail(stored: string): string {
  return parseEmailAddress(stored) ?? stored;
}

/**
 * All spellings under which an address may be stored, the canonical one first: older versions kept
 * the letters of a domain, and whatever else was entered, in lower case.
 */
export function emailSpellings(text: string): readonly string[] {
  const email = canonicalEmail(text);
  const at = email.lastIndexOf('@') + 1;
  const domain = email.slice(at);
  const lettered = domain.includes('xn--') ? domainToUnicode(domain) : domain;
  // An invalid label has no letters.
  const inLetters = lettered === '' ? email : email.slice(0, at) + lettered;
  return [...new Set([email, inLetters, text.trim().toLowerCase()])];
}

function canonicalLocal(text: string): string | undefined {
  if (!LOCAL.test(text) || !isOneLine(text)) return undefined;
  if (becomesAscii(text) || becomesAscii(text.normalize('NFC'))) return undefined;
  const local = text.normalize('NFC').toLowerCase().normalize('NFC');
  return Buffer.byteLength(local) <= LOCAL_BYTES_MAX ? local : undefined;
}

/**
 * True if a letter beyond ASCII becomes one of ASCII (the Kelvin sign becomes `k`): one address
 * would pass for another.
 */
function becomesAscii(text: string): boolean {
  for (const letter of text.match(/[^\0-\x7f]/gu) ?? []) {
    if (/[\0-\x7f]/.test(letter.normalize('NFC').toLowerCase())) return true;
  }
  return false;
}

function asciiDomain(text: string): string | undefined {
  const isPlain = /^[\x21-\x7e]*$/.test(text) && !/xn--/i.test(text);
  const domain = isPlain ? text.toLowerCase() : punycodeOf(text);
  return domain.length <= DOMAIN_CHARS_MAX && DOMAIN.test(domain) ? domain : undefined;
}

/** By the parser that browsers use for the hosts of URLs; '' if the domain is invalid. */
function punycodeOf(domain: string): string {
  // Checked first: a URL has more than a host, and decodes `%` in it.
  if (/[^A-Za-z0-9._\-\x80-\u{10ffff}]/u.test(domain)) return '';
  const host = URL.parse(`http://${domain}`)?.hostname ?? '';
  // Digits of other scripts would become an IPv4 address.
  return /(?:^|\.)\d+$/.test(host) ? '' : host;
}
