/**
 * `svc login`: signs a person in on this machine, with their browser or a one-time link. The
 * command line has its own session, in a file that only this user may read.
 */

import { hash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withinTime } from '../../../streams/platform/deadline.ts';
import { ProjectService } from '../../gen/svc/project/v1/project_pb.ts';
import { parseSecret } from '../../platform/keys.ts';
import { openAccess, programOrigin } from '../client/access.ts';
import { type ActionContext, single } from '../client/action.ts';
import { asApiFault, askPlainly, SERVICE_AWAY } from '../client/api.ts';
import { EXIT_DENIED, Fault, printable, UsageError } from '../client/faults.ts';
import { json } from '../client/output.ts';
import { type StoredSession, sessionPath, writeSession } from '../client/session-file.ts';
import { localTime } from '../client/texts.ts';
import { EXIT_OK } from '../command.ts';

/** Maximum wait for the browser, ms. */
const BROWSER_WAIT_MS = 5 * 60_000;

const ANOTHER_LINK =
  'A link works once and expires soon. Run "svc admin login-link" on the service\'s machine for another one, or sign in without --link';

export const loginCommand = single({
  name: 'login',
  summary: 'Sign in with your browser or a one-time link',
  options: [
    {
      name: 'link',
      takes: 'LINK',
      help: 'A one-time link, or its token; - reads it from standard input',
    },
    { name: 'no-browser', help: 'Only print the address, and open it on this machine yourself' },
  ],
  notes: `Without --link your browser opens; sign in there and confirm. A link comes from "svc admin
login-link", from the first start of the service, or by email. The session is stored in
$XDG_CONFIG_HOME/svc/session.json (or ~/.config), readable only by you.`,
  hints: { CREDENTIAL_REVOKED: ANOTHER_LINK, CREDENTIAL_EXPIRED: ANOTHER_LINK },
  async run(context) {
    const link = await givenLink(context);
    const endpoint = endpointOf(context, link);
    const session = link
      ? await redeem(context, endpoint, { token: link.token })
      : await byBrowser(context, endpoint);
    writeSession(sessionPath(context.environment, context.ports.homeFolder), session);
    const { person, expiresUnix } = session;
    if (context.json) context.print(json({ endpoint, person, expiresUnix }));
    else {
      const { displayName } = await context.api('person').call(ProjectService.method.getSelf, {});
      const until = `session ends ${localTime(expiresUnix)} at the latest`;
      context.print(`Signed in at ${endpoint} as ${printable(displayName || person)}; ${until}\n`);
    }
    return EXIT_OK;
  },
});

interface Link {
  readonly token: string;
  /** Origin of the link, if it is a complete address. */
  readonly origin: string | undefined;
}

async function givenLink({ input, ports }: ActionContext): Promise<Link | undefined> {
  const given = input.text('link');
  if (given === undefined) return undefined;
  const text = (given === '-' ? await ports.readInput() : given).trim();
  // Words around it are ignored: "svc admin login-link" prints a sentence before the address.
  const [address = '', token = ''] =
    /(?:https?:\/\/\S*)?(svc_(?:link|inv)_[0-9A-Za-z_]+)/.exec(text) ?? [];
  if (parseSecret('link', token) === undefined && parseSecret('inv', token) === undefined) {
    throw new UsageError(
      'The link is not valid: its checksum is wrong',
      'Check that it was copied completely, including the part after #',
    );
  }
  return { token, origin: URL.canParse(address) ? programOrigin(address) : undefined };
}

function endpointOf({ input, environment, ports }: ActionContext, link: Link | undefined): string {
  const given = input.text('endpoint') || environment.SVC_ENDPOINT || link?.origin;
  return openAccess({ endpoint: given, caller: 'nobody', environment, ports }).endpoint;
}

async function byBrowser(context: ActionContext, endpoint: string): Promise<StoredSession> {
  const { input, ports, report } = context;
  const secretText = (): string => Buffer.from(ports.random.bytes(32)).toString('base64url');
  const [state, verifier] = [secretText(), secretText()];
  const listener = await openLoginListener(state);
  let outcome = { title: 'Not signed in', sentence: 'svc login shows the reason.' };
  try {
    // RFC 7636, section 4.2: S256.
    const challenge = hash('sha256', verifier, 'base64url');
    const query = new URLSearchParams({ port: String(listener.port), state, challenge });
    const url = `${endpoint}/auth/cli?${query}`;
    const isOpened = !input.isOn('no-browser') && (await ports.openBrowser(url));
    report(isOpened ? 'Opening your browser. If it does not open, visit:' : 'Open this address:');
    report(`  ${url}`);
    const token = await untilCode(context, listener.code);
    const session = await redeem(context, endpoint, { token, verifier });
    outcome = {
      title: 'Signed in',
      sentence: 'You can close this page and return to the terminal.',
    };
    return session;
  } finally {
    await listener.close(outcome);
  }
}

async function untilCode({ ports }: ActionContext, code: Promise<string>): Promise<string> {
  const found = await withinTime(ports.clock, BROWSER_WAIT_MS, code);
  if (found !== undefined) return found;
  throw new Fault('The browser did not return within 5 minutes', {
    exitCode: EXIT_DENIED,
    hint: 'Run it again, or sign in with a link: svc login --link -',
  });
}

async function redeem(
  { timeoutMs }: ActionContext,
  endpoint: string,
  proof: { readonly token: string; readonly verifier?: string },
): Promise<StoredSession> {
  const answer = await askPlainly({
    method: 'POST',
    url: `${endpoint}/auth/link`,
    headers: { 'content-type': 'application/json', origin: endpoint },
    body: JSON.stringify(proof),
    timeoutMs,
    ifUnreached: SERVICE_AWAY,
  });
  if (answer.status !== 200) throw asApiFault(answer);
  const session = parseSession(answer.text, endpoint);
  if (session) return session;
  throw new Fault(`${endpoint} did not return a session for the sign-in`);
}

function parseSession(text: string, endpoint: string): StoredSession | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { session } = (answer ?? {}) as { session?: Record<string, unknown> };
  const { secret, cookieName, person, expiresUnix } = session ?? {};
  if (typeof secret !== 'string' || typeof cookieName !== 'string') return undefined;
  const name = String(person);
  return {
    endpoint,
    secret,
    cookieName,
    expiresUnix: Number(expiresUnix),
    person: name.startsWith('people/') ? name : `people/${name}`,
  };
}

export interface LoginListener {
  readonly port: number;
  /** The code that the browser delivered. */
  readonly code: Promise<string>;
  /** Shows the outcome in the waiting browser and stops listening. */
  close(outcome: { readonly title: string; readonly sentence: string }): Promise<void>;
}

/** Listens as soon as it resolves. */
async function openLoginListener(state: string): Promise<LoginListener> {
  const { promise: code, resolve } = Promise.withResolvers<string>();
  let browser: ServerResponse | undefined;
  const server = createServer((request, response) => {
    const found = codeOf(request, state, port);
    if (found === undefined || browser !== undefined) {
      sendPage(response, 404, { title: 'Not found', sentence: 'svc login did not request this.' });
      return;
    }
    // Answered once the code is redeemed, because the page then shows the outcome.
    browser = response;
    resolve(found);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A listening TCP server has an address of this type.
  const { port } = server.address() as AddressInfo;
  return {
    port,
    code,
    async close(outcome) {
      const closed = once(server, 'close');
      if (browser) {
        sendPage(browser, 200, outcome);
        await once(browser, 'close');
      }
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Names under which a service sends the browser back: the second one if it has the first itself. */
const HOSTS = ['127.0.0.1', 'svc-login.localhost'];

function codeOf({ method, url = '', headers }: IncomingMessage, state: string, port: number) {
  // A different host name would belong to another site (DNS rebinding).
  const isHere = HOSTS.some((name) => headers.host === `${name}:${port}`);
  if (method !== 'GET' || !isHere) return undefined;
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const code = searchParams.get('code');
  const isOurs = isSame(searchParams.get('state') ?? '', state);
  return pathname === '/' && isOurs && code ? code : undefined;
}

function isSame(given: string, state: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(state)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Texts are our own and contain no markup. */
function sendPage(
  response: ServerResponse,
  status: number,
  { title, sentence }: { readonly title: string; readonly sentence: string },
): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(`<!doctype html><title>${title}</title><h1>${title}</h1><p>${sentence}</p>\n`);
}
