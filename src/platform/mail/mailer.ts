/**
 * Sends mail to the one server of SVC_SMTP_URL, by nodemailer. No message can make it read a file or
 * fetch an address. Every wait is bounded. Mails carry sign-in links, so mails and the password need
 * TLS unless the server is on this machine. No mail reports whether it was read.
 */
import { createTransport } from 'nodemailer';
import { isLoopbackHost } from '../settings/setting-kinds.ts';
import { mailFaultOf } from './mail-fault.ts';
import { watchedContent } from './watched-content.ts';

export { MailFault } from './mail-fault.ts';

export interface Mail {
  /** One address. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** `<unique@host>` (RFC 5322, section 3.6.4): the same for each try of one mail. */
  readonly messageId: string;
  /** The same in HTML, for clients that show it. */
  readonly html?: string;
  /** Further headers, such as `References`; nothing in them can begin another. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Pictures that the HTML shows by `cid:`. */
  readonly pictures?: readonly Picture[];
  /** Gives up when aborted. */
  readonly signal?: AbortSignal;
}

export interface Picture {
  readonly cid: string;
  readonly filename: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

export interface Mailer {
  /** Resolves once the server has taken the mail. Rejects with `MailFault`. */
  send(mail: Mail): Promise<void>;
  /** Ends the connections; what is being sent fails. */
  close(): void;
}

export interface MailerOptions {
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  readonly url: string;
  /** An address, or `Name <address>`. */
  readonly from: string;
  /**
   * true: a connection for each mail, opened when it is sent, for who has a queue of his own;
   * false (the default): two connections that mails wait for.
   */
  readonly isUnpooled?: boolean;
}

const CONNECT_MS = 10_000;
const GREETING_MS = 10_000;
/** Without a byte from the server. */
const SILENCE_MS = 30_000;
const CONNECTIONS = 2;
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/** `From` of our mails: as it was set, else a name on the host that clients know. */
export function mailSender({
  smtpFrom,
  publicUrl,
}: {
  readonly smtpFrom: string | null;
  readonly publicUrl: string | null;
}): string {
  return smtpFrom ?? `svc@${publicUrl === null ? 'localhost' : new URL(publicUrl).hostname}`;
}

export function createMailer({ url, from, isUnpooled = false }: MailerOptions): Mailer {
  // RFC 3834, section 5: no automatic answers to what a program sent.
  const defaults = { from, headers: { 'Auto-Submitted': 'auto-generated' } };
  const { pool, ...unpooled } = transportOptions(url);
  const options = isUnpooled ? unpooled : { ...unpooled, pool };
  const content = watchedContent();
  const transport = createTransport(options, defaults).use('stream', content.plugin);
  const closing = new AbortController();
  return {
    async send(mail) {
      const { messageId } = mail;
      try {
        const signals = mail.signal ? [closing.signal, mail.signal] : [closing.signal];
        await transport.sendMail({ ...composed(mail), signal: AbortSignal.any(signals) });
      } catch (error) {
        throw mailFaultOf(error, content.wasSent(messageId));
      } finally {
        content.forget(messageId);
      }
    },
    close() {
      // By itself the pool waits for a server that may be silent.
      closing.abort();
      transport.close();
    },
  };
}

/** As nodemailer takes it. */
function composed({ to, subject, text, messageId, html, headers, pictures = [] }: Mail) {
  return {
    // As an object, so that a comma in an address makes no list of it.
    to: { name: '', address: to },
    ...{ subject, text, messageId },
    ...(html !== undefined && { html }),
    ...(headers && { headers: { ...headers } }),
    attachments: pictures.map(({ content, ...picture }) => ({
      ...picture,
      content: Buffer.from(content),
      contentDisposition: 'inline' as const,
    })),
  };
}

/** Options of nodemailer for the server of an address. */
export function transportOptions(url: string) {
  const { protocol, hostname, port, username, password } = new URL(url);
  const auth = { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  return {
    pool: true as const,
    maxConnections: CONNECTIONS,
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (PORTS[protocol] ?? 587) : Number(port),
    secure: protocol === 'smtps:',
    // Without it links and a password go out in the clear where somebody hides that TLS is offered.
    requireTLS: protocol === 'smtp:' && !isLoopbackHost(hostname),
    ...(username !== '' && { auth }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}
