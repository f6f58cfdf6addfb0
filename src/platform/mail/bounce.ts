/**
 * Reads bounces: reports of mail servers that a mail they had accepted was not delivered (RFC 3464,
 * in the container of RFC 6522; RFC 6533 for addresses beyond ASCII). Only structure is read, never
 * the text for people, which has a form and a language of its own in every mail server.
 */

/** The report about one recipient of one mail. */
export interface Bounce {
  /** `Message-ID` or envelope id of the mail, without angle brackets. */
  readonly messageId: string;
  /** `failed` for a permanent failure; `delayed`, `delivered`, `relayed` or `expanded`. */
  readonly action: string;
  /** Enhanced status (RFC 3463), such as 5.1.1. */
  readonly status: string;
}

/** Most characters that are read; a report has the failed mail at its end. */
const SOURCE_CHARS_MAX = 1024 * 1024;
/** Most recipients of one report. Ours have one. */
const RECIPIENTS_MAX = 50;
const DEPTH_MAX = 4;

const REPORTS = /^message\/(?:global-)?delivery-status$/;
const ORIGINALS = /^(?:message\/rfc822|text\/rfc822-headers|message\/global(?:-headers)?)$/;

/** One report for each recipient; empty if the mail is not a report about a delivery. */
export function parseBounces(source: string): Bounce[] {
  const parts = leavesOf(entityOf(source.slice(0, SOURCE_CHARS_MAX).replaceAll('\r\n', '\n')));
  const report = parts.find(({ type }) => REPORTS.test(type));
  if (!report) return [];
  const [about = '', ...recipients] = report.body.split(/\n[ \t]*\n+/);
  const original = parts.find(({ type }) => ORIGINALS.test(type));
  const messageId = idIn(original?.body ?? '') ?? fieldOf(about, 'original-envelope-id') ?? '';
  if (messageId === '') return [];
  return recipients.slice(0, RECIPIENTS_MAX).flatMap((fields) => {
    const action = fieldOf(fields, 'action')?.toLowerCase();
    const status = statusIn(fields);
    return action && status ? [{ messageId, action, status }] : [];
  });
}

/**
 * True if the address itself accepts no mail: it does not exist, is disabled or moved. Everything
 * else is about the message, the way or a policy.
 */
export function isAboutAddress({ action, status }: Bounce): boolean {
  return action === 'failed' && /^5\.(?:0\.0|1\.\d+|2\.[012]|4\.4)$/.test(status);
}

/** The status, or that of the remote server's reply if the reporting one gives only a class. */
function statusIn(fields: string): string | undefined {
  const [status] = /^\d\.\d{1,3}\.\d{1,3}/.exec(fieldOf(fields, 'status') ?? '') ?? [];
  if (status !== '5.0.0') return status;
  const reply = fieldOf(fields, 'diagnostic-code') ?? '';
  return /^smtp\s*;\s*\d{3}[ -](5\.\d{1,3}\.\d{1,3})\b/i.exec(reply)?.[1] ?? status;
}

interface Entity {
  readonly head: string;
  /** Media type in lower case. */
  readonly type: string;
  readonly body: string;
}

function entityOf(text: string): Entity {
  const end = text.startsWith('\n') ? 0 : text.indexOf('\n\n');
  const head = end < 0 ? text : text.slice(0, end);
  const body = end < 0 ? '' : text.slice(end + (end === 0 ? 1 : 2));
  const [type = ''] = (fieldOf(head, 'content-type') ?? 'text/plain').split(';', 1);
  const entity = { head, type: type.trim().toLowerCase() };
  return { ...entity, body: decoded(body, fieldOf(head, 'content-transfer-encoding') ?? '') };
}

function leavesOf(entity: Entity, depth = 0): Entity[] {
  if (!entity.type.startsWith('multipart/') || depth >= DEPTH_MAX) return [entity];
  const type = fieldOf(entity.head, 'content-type') ?? '';
  const [, quoted, bare] = /;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;]{1,70}))/i.exec(type) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) return [];
  const [, ...parts] = `\n${entity.body}`.split(`\n--${boundary}`);
  return parts
    .filter((part) => !part.startsWith('--'))
    .map((part) => part.slice(part.indexOf('\n') + 1))
    .flatMap((part) => leavesOf(entityOf(part), depth + 1));
}

function decoded(body: string, encoding: string): string {
  switch (encoding.trim().toLowerCase()) {
    case 'base64':
      return Buffer.from(body, 'base64').toString('utf8').replaceAll('\r\n', '\n');
    case 'quoted-printable':
      return body
        .replaceAll(/[ \t]*=\n/g, '')
        .replaceAll(/=([\dA-F]{2})/gi, (_, hex: string) =>
          String.fromCharCode(Number.parseInt(hex, 16)),
        );
    default:
      return body;
  }
}

/** Value of the first field with the name, unfolded; undefined if absent. */
function fieldOf(fields: string, name: string): string | undefined {
  const unfolded = fields.replaceAll(/\n[ \t]+/g, ' ').split('\n');
  const line = unfolded.find((one) => one.toLowerCase().startsWith(`${name}:`));
  return line?.slice(name.length + 1).trim();
}

function idIn(original: string): string | undefined {
  const [head = ''] = original.split('\n\n', 1);
  return /<([^<>\s]{1,250})>/.exec(fieldOf(head, 'message-id') ?? '')?.[1];
}
