/** The error of a mail that was not accepted: whose fault it is, and whether a retry can help. */

/**
 * How far it came: `setup`, which is everything before the login; `login`; the `sender`'s address;
 * the `recipient`'s; the `content`.
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

/** Answers by which a server says that an address takes no mail (RFC 5321, RFC 7504). */
const BOUNCES: ReadonlySet<number> = new Set([550, 551, 553, 521]);

/** The server did not take a mail. Neither the message nor its fields hold anything of the mail. */
export class MailFault extends Error {
  /** true: this mail will not be taken later either (RFC 5321, section 4.2.1: 5yz). */
  readonly isPermanent: boolean;
  /** Of the server's answer, such as 550; undefined: it gave none. */
  readonly status: number | undefined;
  readonly step: MailStep;
  /** All of it was sent, and no answer came: perhaps it was taken. */
  readonly mayBeTaken: boolean;
  /** TLS could not be had, though we insist on it. */
  readonly isTlsFault: boolean;
  // No field of its own: a log prints those, and servers repeat addresses.
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

  /** The server's answer as it came: it may repeat the address. '' where it gave none. */
  answer(): string {
    return this.#answer;
  }

  /** Does the server say that the address takes no mail? 5.7.x is its policy (RFC 3463). */
  isBounce(): boolean {
    const isOfAddress = this.step === 'recipient' && BOUNCES.has(this.status ?? 0);
    return isOfAddress && this.enhancedStatus()?.startsWith('5.7.') !== true;
  }

  /** The enhanced status of the answer, such as 5.1.1 (RFC 3463). */
  enhancedStatus(): string | undefined {
    return /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(this.#answer)?.[1];
  }
}

/** From what nodemailer threw. */
export function mailFaultOf(error: unknown, wasSent: boolean): MailFault {
  const { responseCode, code, command, response } = error as Readonly<Record<string, unknown>>;
  const status = typeof responseCode === 'number' ? responseCode : undefined;
  // The server's text may repeat the address and more; its number and nodemailer's word do not.
  const codes = [status, typeof code === 'string' ? code : undefined].filter((one) => one);
  return new MailFault(`The mail server did not take a mail (${codes.join(' ') || 'no answer'})`, {
    status,
    isPermanent: status !== undefined && status >= 500,
    step: stepOf(code, command),
    mayBeTaken: wasSent && status === undefined,
    isTlsFault: code === 'ETLS',
    answer: typeof response === 'string' ? response : '',
  });
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
