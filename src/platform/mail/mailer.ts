/**
 * Sends mail to the one server of SVC_SMTP_URL, with nodemailer. No message can make it read a file
 * or fetch an address. Every wait is bounded. Mails carry sign-in links, so mails and the password
 * need TLS unless the server is on this machine. No mail reports whether it was read.
 */

import type { Socket } from 'node:net';
import { PassThrough, type Readable } from 'node:stream';
import { dialHost, type Resolve } from '../http/dial.ts';
import { readSecretFile } from '../settings/secret-file.ts';
import { isLoopbackHost } from '../settings/setting-kinds.ts';

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
  /** Further headers, such as `References`; no value can start another header. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Pictures that the HTML shows by `cid:`. */
  readonly pictures?: readonly Picture[];
  /** Cancels the attempt when aborted. */
  readonly signal?: AbortSignal;
}

export interface Picture {
  readonly cid: string;
  readonly filename: string;
  readonly contentType: string;
  readonly content: Uint8Array;
}

export interface Mailer {
  /** Resolves once the server has accepted the mail. Rejects with `MailFault`. */
  send(mail: Mail): Promise<void>;
  /** Closes the connections; a mail that is being sent fails. */
  close(): void;
}

export interface MailerOptions {
  /** `smtp://` or `smtps://`, with user and password if the server requires them. */
  readonly url: string;
  /** An address, or `Name <address>`. */
  readonly from: string;
  /**
   * Name of this machine in the greeting (RFC 5321, section 4.1.1.1); null, the default: the domain
   * of the sender. The name of a container has no dot, and servers reject the address in its place.
   */
  readonly name?: string | null | undefined;
  /**
   * true: one connection per mail, opened when it is sent, for callers with a queue of their own;
   * false (the default): mails wait for one of two connections.
   */
  readonly isUnpooled?: boolean;
  /** Default: the operating system's. */
  readonly resolve?: Resolve;
}

const CONNECT_MS = 10_000;
const GREETING_MS = 10_000;
/** Maximum silence of the server, ms. */
const SILENCE_MS = 30_000;
const CONNECTIONS = 2;
const PORTS: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/** `From` of our mails: the setting, or a name on the host that clients know. */
export function mailSender({
  smtpFrom,
  publicUrl,
}: {
  readonly smtpFrom: string | null;
  readonly publicUrl: string | null;
}): string {
  return smtpFrom ?? `svc@${publicUrl === null ? 'localhost' : new URL(publicUrl).hostname}`;
}

/** The mail server with its whole login; null: none. Throws `ConfigError` for a bad password file. */
export function smtpUrlOf({
  smtpUrl,
  smtpPasswordFile,
}: {
  readonly smtpUrl: string | null;
  readonly smtpPasswordFile: string | null;
}): string | null {
  if (smtpUrl === null || smtpPasswordFile === null) return smtpUrl;
  const url = new URL(smtpUrl);
  url.password = encodeURIComponent(readSecretFile('SVC_SMTP_PASSWORD_FILE', smtpPasswordFile));
  return url.href;
}

/** The name in the greeting; undefined: the one that nodemailer finds. */
function greetingName({ from, name = null }: Pick<MailerOptions, 'from' | 'name'>) {
  const domain = /@([^@>\s]+\.[^@>\s]+)>?$/.exec(from)?.[1];
  return name ?? domain;
}

export function createMailer(mailer: MailerOptions): Mailer {
  const { url, from, isUnpooled = false, resolve } = mailer;
  // RFC 3834, section 5: no automatic replies to mail from a program.
  const defaults = { from, headers: { 'Auto-Submitted': 'auto-generated' } };
  const { pool, ...server } = transportOptions(url);
  const name = greetingName(mailer);
  const unpooled = name === undefined ? server : { ...server, name };
  const closing = new AbortController();
  const getSocket = dialled(unpooled, { resolve, signal: closing.signal });
  const options = { ...unpooled, getSocket, ...(!isUnpooled && { pool }) };
  const content = watchedContent();
  // Loaded with the first mail: most services have no mail server.
  const open = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport(options, defaults).use('stream', content.plugin);
  };
  let transport: ReturnType<typeof open> | undefined;
  const opened = () => {
    transport ??= open().catch((error: unknown) => {
      // The next mail tries again: a lack of descriptors is temporary.
      transport = undefined;
      throw error;
    });
    return transport;
  };
  return {
    async send(mail) {
      const { messageId } = mail;
      try {
        const signals = mail.signal ? [closing.signal, mail.signal] : [closing.signal];
        const server = await opened();
        if (needsUtf8(mail.to) && !(await offersUtf8({ ...unpooled, getSocket }))) throw noUtf8();
        await server.sendMail({ ...composed(mail), signal: AbortSignal.any(signals) });
      } catch (error) {
        throw mailFaultOf(error, content.wasSent(messageId));
      } finally {
        content.forget(messageId);
      }
    },
    close() {
      // The pool alone would wait for a server that may be silent.
      closing.abort();
      // A failed load is reported by the mail that needed it.
      void transport?.then(
        (server) => server.close(),
        () => {},
      );
    },
  };
}

type GotSocket = (error: Error | null, options: { connection: Socket } | false) => void;

/**
 * Opens connections by the rule of all outgoing clients. Nodemailer would leave each attempt to
 * Node's quarter of a second.
 */
function dialled(
  { host, port }: { readonly host: string; readonly port: number },
  { resolve, signal }: { readonly resolve?: Resolve | undefined; readonly signal: AbortSignal },
) {
  return (_options: unknown, done: GotSocket): void =>
    dialHost(
      { host, port, timeoutMs: CONNECT_MS, signal, ...(resolve && { resolve }) },
      (error, connection) => (connection ? done(null, { connection }) : done(error, false)),
    );
}

/** True if the address can be sent only to a server with SMTPUTF8: a domain has an ASCII form. */
function needsUtf8(address: string): boolean {
  return /[^\x20-\x7e]/.test(address.slice(0, address.lastIndexOf('@')));
}

/**
 * Asks the server over a connection of its own, because nodemailer sends such an address to any
 * server, and what then happens depends on it. Rejects with the error of the connection.
 */
async function offersUtf8({
  getSocket,
  ...options
}: Omit<ReturnType<typeof transportOptions>, 'pool'> & {
  readonly getSocket: ReturnType<typeof dialled>;
}): Promise<boolean> {
  const { default: SmtpConnection } = await import('nodemailer/lib/smtp-connection');
  let isOffered = false;
  const listen = (_about: unknown, line: unknown): void => {
    isOffered ||= /^250[ -]SMTPUTF8\s*$/im.test(String(line));
  };
  const silent = () => {};
  const logger = { trace: silent, debug: listen, info: silent, warn: silent, error: silent };
  return new Promise((resolve, reject) => {
    getSocket(options, (error, socket) => {
      if (!socket) return reject(error);
      const server = new SmtpConnection({ ...options, ...socket, logger, transactionLog: true });
      server.once('error', reject);
      server.connect((failed) => {
        if (failed) return reject(failed);
        server.quit();
        resolve(isOffered);
      });
    });
  });
}

/** In the words of RFC 6531, section 3.5, for a server that does not know it. */
function noUtf8(): MailFault {
  return new MailFault('The mail server offers no SMTPUTF8', {
    status: 553,
    isPermanent: true,
    step: 'recipient',
    answer: '553 5.6.7 The mail server offers no SMTPUTF8',
  });
}

/** The mail as nodemailer takes it. */
function composed({ to, subject, text, messageId, html, headers, pictures = [] }: Mail) {
  return {
    // An object, so that a comma in an address does not make a list of it.
    to: { name: '', address: to },
    subject,
    text,
    messageId,
    // A server that offers DSN (RFC 3461) then names the mail in its reports, and returns no content.
    dsn: { id: messageId.slice(1, -1), return: 'headers' as const, notify: 'failure' as const },
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
    // Without it, links and a password are sent in the clear if an attacker hides the offer of TLS.
    requireTLS: protocol === 'smtp:' && !isLoopbackHost(hostname),
    ...(username !== '' && { auth }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: SILENCE_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/**
 * Step reached: `setup`, which is everything before the login; `login`; the `sender`'s address; the
 * `recipient`'s; the `content`.
 */
export type MailStep = 'setup' | 'login' | 'sender' | 'recipient' | 'content';

interface About {
  readonly step: MailStep;
  readonly status: number | undefined;
  readonly isPermanent: boolean;
  readonly mayBeTaken: boolean;
  readonly isTlsFault: boolean;
  readonly answer: string;
}

/** Statuses by which a server says that an address accepts no mail (RFC 5321, RFC 7504). */
const BOUNCES: ReadonlySet<number> = new Set([550, 551, 553, 521]);

/**
 * The server did not accept a mail. Neither the message nor its fields contain any part of the
 * mail.
 */
export class MailFault extends Error {
  /** true: the server will not accept this mail later either (RFC 5321, section 4.2.1: 5yz). */
  readonly isPermanent: boolean;
  /** Status of the server's response, such as 550; undefined if it gave none. */
  readonly status: number | undefined;
  readonly step: MailStep;
  /** true: the mail was sent completely without a response, so it may have been accepted. */
  readonly mayBeTaken: boolean;
  /** true: TLS, which we require, was not available. */
  readonly isTlsFault: boolean;
  // Private: a log prints fields, and servers repeat addresses.
  readonly #answer: string;

  constructor(message: string, about: Pick<About, 'isPermanent' | 'status'> & Partial<About>) {
    super(message);
    this.name = 'MailFault';
    this.isPermanent = about.isPermanent;
    this.status = about.status;
    this.step = about.step ?? 'setup';
    this.mayBeTaken = about.mayBeTaken ?? false;
    this.isTlsFault = about.isTlsFault ?? false;
    this.#answer = about.answer ?? '';
  }

  /** The server's response as received: it may repeat the address. '' if it gave none. */
  answer(): string {
    return this.#answer;
  }

  /** True if the server says that the address accepts no mail. 5.7.x is its policy (RFC 3463). */
  isBounce(): boolean {
    const isOfAddress = this.step === 'recipient' && BOUNCES.has(this.status ?? 0);
    return isOfAddress && this.enhancedStatus()?.startsWith('5.7.') !== true;
  }

  /** Enhanced status of the response, such as 5.1.1 (RFC 3463). */
  enhancedStatus(): string | undefined {
    return /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(this.#answer)?.[1];
  }
}

/** Why an address gets no more mail, as a sentence for its project. */
export function bounceReason(fault: MailFault): string {
  const status = fault.enhancedStatus() ?? fault.status;
  return status === '5.6.7'
    ? 'The address has letters beyond ASCII before the @, and the mail server offers no SMTPUTF8 for them (5.6.7)'
    : `The mail server reports that the address accepts no mail (${status})`;
}

/** Made from nodemailer's error. */
function mailFaultOf(error: unknown, wasSent: boolean): MailFault {
  if (error instanceof MailFault) return error;
  const { responseCode, code, command, response } = error as Readonly<Record<string, unknown>>;
  const status = typeof responseCode === 'number' ? responseCode : undefined;
  // The server's text may repeat the address and more; its number and nodemailer's code do not.
  const codes = [status, typeof code === 'string' ? code : undefined].filter((one) => one);
  return new MailFault(
    `The mail server did not accept a mail (${codes.join(' ') || 'no answer'})`,
    {
      status,
      isPermanent: status !== undefined && status >= 500,
      step: stepOf(code, command),
      mayBeTaken: wasSent && status === undefined,
      isTlsFault: code === 'ETLS',
      answer: typeof response === 'string' ? response : '',
    },
  );
}

function stepOf(code: unknown, command: unknown): MailStep {
  if (code === 'EAUTH' || String(command).startsWith('AUTH')) return 'login';
  switch (command) {
    case 'MAIL FROM':
      return 'sender';
    case 'RCPT TO':
      return 'recipient';
    case 'DATA':
      return 'content';
    default:
      return 'setup';
  }
}

interface ComposedMail {
  readonly message: {
    messageId(): string;
    processFunc(through: (content: Readable) => Readable): void;
  };
}

function watchedContent() {
  const sent = new Set<string>();
  return {
    /** For nodemailer's step `stream`. */
    plugin({ message }: ComposedMail, done: (error?: Error | null) => void): void {
      const messageId = message.messageId();
      message.processFunc((content) => {
        const passed = new PassThrough();
        content.on('error', (error) => passed.destroy(error));
        passed.on('end', () => void sent.add(messageId));
        return content.pipe(passed);
      });
      done();
    },
    wasSent: (messageId: string): boolean => sent.has(messageId),
    forget: (messageId: string): void => void sent.delete(messageId),
  };
}
