/**
 * Texts of the service's mails: plain text, short, one link each, no tracking. The secret is in the
 * link's fragment, which browsers do not send to servers and which therefore appears in no access
 * log.
 */
import { oneLine as cutLine } from '../../../actors/platform/plain-text.ts';

export interface Letter {
  readonly subject: string;
  readonly text: string;
}

/** Address of the page that shows a link's token to its holder and to no one else. */
export function linkAddress(origin: string, token: string, page = '/auth/link'): string {
  return `${origin}${page}#${token}`;
}

export interface LinkToSend {
  /** Origin of the service, as clients reach it. */
  readonly origin: string;
  readonly token: string;
  readonly expiresMs: number;
  readonly nowMs: number;
}

/** @param link `page`: the page that accepts the link, with the path to return to in its query */
export function signInLetter(link: LinkToSend & { readonly page?: string }): Letter {
  const host = hostOf(link.origin);
  return {
    subject: `Sign in to ${host}`,
    text: lines(
      `Someone, probably you, requested a link to sign in to ${host}:`,
      linkAddress(link.origin, link.token, link.page),
      `It works once, ${lifetime(link)}. If this was not you, ignore this mail: no one can sign in without the link.`,
    ),
  };
}

/** The page at which the holder of an address confirms it; the token stays in the browser until then. */
function verificationAddress(origin: string, token: string): string {
  return `${origin}/v1/recipients/verify#${token}`;
}

export interface VerificationToSend extends LinkToSend {
  readonly projectDisplayName: string;
  readonly destinationDisplayName: string;
}

export function verificationLetter(verification: VerificationToSend): Letter {
  const host = hostOf(verification.origin);
  const project = quoted(verification.projectDisplayName);
  const destination = quoted(verification.destinationDisplayName);
  return {
    subject: `Confirm that alerts of ${project} may be mailed to you`,
    text: lines(
      `Someone in the project ${project} on ${host} wants to send alerts to this address, through the destination "${destination}". To agree, open:`,
      verificationAddress(verification.origin, verification.token),
      `The link works once, ${lifetime(verification)}. If you do not agree, ignore this mail: no alerts are sent to you unless you open the link.`,
    ),
  };
}

export interface InvitationToSend extends LinkToSend {
  readonly projectDisplayName: string;
  readonly invitedBy: string;
}

export function invitationLetter(invitation: InvitationToSend): Letter {
  const host = hostOf(invitation.origin);
  const project = quoted(invitation.projectDisplayName);
  return {
    subject: `Invitation to ${project} on ${host}`,
    text: lines(
      `${quoted(invitation.invitedBy)} invites you to the project ${project} on ${host}. To accept, open:`,
      linkAddress(invitation.origin, invitation.token),
      `It works once, ${lifetime(invitation)}. If you did not expect an invitation, ignore this mail.`,
    ),
  };
}

function lines(...paragraphs: readonly string[]): string {
  return `${paragraphs.join('\n\n')}\n`;
}

function hostOf(origin: string): string {
  return new URL(origin).host;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

function lifetime({ expiresMs, nowMs }: LinkToSend): string {
  const ms = Math.max(MINUTE_MS, expiresMs - nowMs);
  if (ms < 2 * HOUR_MS) return `within ${Math.round(ms / MINUTE_MS)} minutes`;
  if (ms < 48 * HOUR_MS) return `within ${Math.round(ms / HOUR_MS)} hours`;
  return `within ${Math.round(ms / (24 * HOUR_MS))} days`;
}

/**
 * Names are other people's words: a line break in one would start a header or a paragraph, and an
 * address in one would become a link in our mail. A space keeps mail clients from linking it.
 */
function quoted(name: string): string {
  return cutLine(name, 100)
    .replaceAll('://', ': //')
    .replaceAll(/\bwww\./gi, '$& ');
}
