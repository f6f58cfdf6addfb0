/** A mail server (smtp-server) on 127.0.0.1 that keeps what it takes, for tests of what we send. */
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';

export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers, an empty line, the body; lines end in `\n`. */
  readonly source: string;
}

export interface MailServer {
  /** For SVC_SMTP_URL. */
  readonly url: string;
  readonly mails: TakenMail[];
  /** Recipients that were offered, taken or not. */
  readonly offered: string[];
  /** Refuses recipients with this status; undefined: takes them. */
  refuseWith: number | undefined;
  /** Answers nothing to what it is told. */
  isSilent: boolean;
  readonly logins: string[];
  /** Connections that are open. */
  connections: number;
}

/** Ends with the test. */
export async function startMailServer(
  t: Test,
  options: { readonly password?: string } = {},
): Promise<MailServer> {
  const { password } = options;
  const state: Omit<MailServer, 'url'> = {
    ...{ mails: [], offered: [], refuseWith: undefined, isSilent: false, logins: [] },
    connections: 0,
  };
  const server = new SMTPServer({
    ...{ authOptional: password === undefined, disabledCommands: ['STARTTLS'] },
    ...{ allowInsecureAuth: true, logger: false },
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
    onRcptTo({ address }, _session, done) {
      state.offered.push(address);
      if (state.isSilent) return;
      const { refuseWith } = state;
      if (refuseWith === undefined) done();
      else done(Object.assign(new Error(`not ${address}`), { responseCode: refuseWith }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        const source = Buffer.concat(chunks).toString('utf8').replaceAll('\r\n', '\n');
        state.mails.push({ from, to: rcptTo.map(({ address }) => address), source });
        done();
      });
    },
  });
  // A client that breaks off is the test's doing.
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(resolve)));
  const { port } = server.server.address() as { port: number };
  const user = password === undefined ? '' : `svc:${encodeURIComponent(password)}@`;
  return Object.assign(state, { url: `smtp://${user}127.0.0.1:${port}` });
}

/** A header's value in a mail, unfolded; undefined when it is not there. */
export function headerOf({ source }: TakenMail, name: string): string | undefined {
  const [head = ''] = source.split('\n\n', 1);
  const unfolded = head.replaceAll(/\n[ \t]+/g, ' ');
  return new RegExp(`^${name}: (.*)$`, 'im').exec(unfolded)?.[1];
}

/** The body of a mail, its transfer encoding undone. */
export function bodyOf(mail: TakenMail): string {
  const body = mail.source.slice(mail.source.indexOf('\n\n') + 2);
  if (headerOf(mail, 'content-transfer-encoding') !== 'quoted-printable') return body;
  return body
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
}
