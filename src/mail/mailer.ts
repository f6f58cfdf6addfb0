/**
 * Mail to the one server of SVC_SMTP_URL, by nodemailer. It may read no file and fetch no address
 * for a message, whatever the message says; every wait has an end; mails, whose links sign people in,
 * and a password go over TLS alone, unless the server is on this machine. Plain text only, nothing that tells whether it was read.
 */
import { createTransport } from 'nodemailer';
import { isLoopbackHost } from '../setting-kinds.ts';

export interface Mail {
  /** One address. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** `<unique@host>` (RFC 5322, section 3.6.4): the same for each try of one mail. */
  readonly messageId: string;
}

export interface Mailer {
  /** Resolves once the server has taken the mail. Rejects with `MailFault`. */
  send(mail: Mail): Promise<void>;
  /** Ends the connections; what is being sent fails. */
  close(): void;
}

/** The server did not take a mail. The message holds nothing of the mail. */
export class MailFault extends Error {
  /** true: this mail will not be taken later either (RFC 5321, section 4.2.1: 5yz). */
  readonly isPermanent: boolean;
  /** Of the server's answer, such as 550; undefined: it gave none. */
  readonly status: number | undefined;
  constructor(message: string, about: { isPermanent: boolean; status: number | undefined }) {
    super(message);
    this.name = 'MailFault';
    this.isPermanent = about.isPermanent;
    this.status = about.status;
  }
}

export interface MailerOptions {
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  readonly url: string;
  /** An address, or `Name <address>`. */
  readonly from: string;
}

const CONNECT_MS = 10_000;
const GREETING_MS = 10_000;
/** Without a byte from the server. */
const SILENCE_MS = 20_000;
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

export function createMailer({ url, from }: MailerOptions): Mailer {
  // RFC 3834, section 5: no automatic answers to what a program sent.
  const defaults = { from, headers: { 'Auto-Submitted': 'auto-generated' } };
  const transport = createTransport(transportOptions(url), defaults);
  const closing = new AbortController();
  return {
    async send({ to, subject, text, messageId }) {
      try {
        const { signal } = closing;
        // As an object, so that a comma in an address makes no list of it.
        const mail = { to: { name: '', address: to }, subject, text, messageId, signal };
        await transport.sendMail(mail);
      } catch (error) {
        throw faultOf(error);
      }
    },
    close() {
      // By itself the pool waits for a server that may be silent.
      closing.abort();
      transport.close();
    },
  };
}

/** What nodemailer is told about the server of an address. */
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

function faultOf(error: unknown): MailFault {
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown };
  const status = typeof responseCode === 'number' ? responseCode : undefined;
  // The server's text may repeat the address and more; its number and nodemailer's word do not.
  const told = [status, typeof code === 'string' ? code : undefined].filter((one) => one);
  return new MailFault(`The mail server did not take a mail (${told.join(' ') || 'no answer'})`, {
    status,
    isPermanent: status !== undefined && status >= 500,
  });
}
