/**
 * Where the browser brings the code of `svc login` to: a listener on a free port of 127.0.0.1 alone
 * (RFC 8252, section 7.3). It takes one request with the state that this very command made up, and
 * nothing else; the code is good for nothing without the verifier, which never leaves this process.
 */
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LoginListener {
  readonly port: number;
  /** The code that the browser brought. */
  readonly code: Promise<string>;
  /** Shows the waiting browser the outcome, and stops listening. */
  close(outcome: { readonly title: string; readonly sentence: string }): Promise<void>;
}

/** Listens from when it resolves on. */
export async function openLoginListener(state: string): Promise<LoginListener> {
  const { promise: code, resolve } = Promise.withResolvers<string>();
  let browser: ServerResponse | undefined;
  const server = createServer((request, response) => {
    const found = codeOf(request, state, port);
    if (found === undefined || browser !== undefined) {
      sendPage(response, 404, { title: 'Not found', sentence: 'svc login did not ask for this.' });
      return;
    }
    // Answered once the code is redeemed: the page then says what came of it.
    browser = response;
    resolve(found);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A listening TCP server has an address of this kind.
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

function codeOf({ method, url = '', headers }: IncomingMessage, state: string, port: number) {
  // Another name for this address would be another site's (DNS rebinding).
  if (method !== 'GET' || headers.host !== `127.0.0.1:${port}`) return undefined;
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  const code = searchParams.get('code');
  const isOurs = isSame(searchParams.get('state') ?? '', state);
  return pathname === '/' && isOurs && code ? code : undefined;
}

function isSame(given: string, state: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(state)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Texts are our own and hold no markup. */
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
