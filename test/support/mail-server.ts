/** A mail server (smtp-server) on 127.0.0.1 that stores accepted mails, for tests of sent mail. */
import type { Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers, an empty line, the body. Lines end in `\n`. */
  readonly source: string;
}

export interface MailServer {
  /** For SVC_SMTP_URL. */
  readonly url: string;
  readonly mails: TakenMail[];
  /** Recipients that were offered, accepted or not. */
  readonly offered: string[];
  /** Status with which recipients are refused; undefined: they are accepted. */
  refuseWith: number | undefined;
  /** Refuses the sender or the content instead, or the recipient with a text of its own. */
  refusal: Refusal | undefined;
  /** Point of a mail at which the connection is closed without an answer. */
  breaksOff: 'in the content' | 'after the content' | undefined;
  /** Reads commands without answering them. */
  isSilent: boolean;
  /** Addresses for which it is silent. */
  isSilentFor: (address: string) => boolean;
  readonly logins: string[];
  /** Names in EHLO, one for each mail offered. */
  readonly greetings: string[];
  /** Number of open connections. */
  connections: number;
}

export interface Refusal {
  readonly at: 'sender' | 'recipient' | 'content';
  readonly status: number;
  /** Begins with an enhanced status, if there is one. */
  readonly text: string;
}

/** Starts a server that ends with the test. */
export async function startMailServer(
  t: { teardown(end: () => unknown): unknown },
  options: { readonly password?: string; readonly hidesUtf8?: boolean } = {},
): Promise<MailServer> {
  const { password, hidesUtf8 = false } = options;
  const state: Omit<MailServer, 'url'> = {
    mails: [],
    offered: [],
    refuseWith: undefined,
    isSilent: false,
    isSilentFor: () => false,
    logins: [],
    greetings: [],
    connections: 0,
    refusal: undefined,
    breaksOff: undefined,
  };
  const refuse = (at: Refusal['at']) => {
    const { refusal } = state;
    if (refusal?.at !== at) return undefined;
    return Object.assign(new Error(refusal.text), { responseCode: refusal.status });
  };
  const server = new SMTPServer({
    authOptional: password === undefined,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    logger: false,
    hideSMTPUTF8: hidesUtf8,
    disableReverseLookup: true,
    onConnect(_session, done) {
      state.connections++;
      done();
    },
    onClose: () => void state.connections--,
    onAuth({ username = '', password: given }, _session, done) {
      state.logins.push(username);
      if (given === password) done(null, { user: username });
      else done(new Error('no'));
    },
    onMailFrom(_address, { hostNameAppearsAs }, done) {
      state.greetings.push(String(hostNameAppearsAs));
      done(refuse('sender'));
    },
    onRcptTo({ address }, _session, done) {
      state.offered.push(address);
      if (state.isSilent || state.isSilentFor(address)) return;
      const { refuseWith } = state;
      if (refuseWith === undefined) done(refuse('recipient'));
      else done(Object.assign(new Error(`not ${address}`), { responseCode: refuseWith }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if (state.breaksOff === 'in the content') breakOff();
      });
      stream.on('end', () => {
        if (state.breaksOff) return breakOff();
        const refused = refuse('content');
        if (refused) return done(refused);
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        const source = Buffer.concat(chunks).toString('utf8').replaceAll('\r\n', '\n');
        state.mails.push({ from, to: rcptTo.map(({ address }) => address), source });
        done();
      });
    },
  });
  const sockets = new Set<Socket>();
  const breakOff = () => {
    for (const socket of sockets) socket.destroy();
  };
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // A client that disconnects is part of the test.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = server.server.address() as { port: number };
  const user = password === undefined ? '' : `svc:${encodeURIComponent(password)}@`;
  return Object.assign(state, { url: `smtp://${user}127.0.0.1:${port}` });
}

/** Value of a header in a mail, unfolded; undefined if the mail does not have it. */
export function headerOf({ source }: TakenMail, name: string): string | undefined {
  const [head = ''] = source.split('\n\n', 1);
  const unfolded = head.replaceAll(/\n[ \t]+/g, ' ');
  return new RegExp(`^${name}: (.*)$`, 'im').exec(unfolded)?.[1];
}

/** Body of a mail after decoding its transfer encoding. */
export function bodyOf(mail: TakenMail): string {
  const body = mail.source.slice(mail.source.indexOf('\n\n') + 2);
  if (headerOf(mail, 'content-transfer-encoding') !== 'quoted-printable') return body;
  return body
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}
