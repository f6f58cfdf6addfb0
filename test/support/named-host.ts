/**
 * Requests to this machine under any host name, as browsers make them to names under `.localhost`.
 * `fetch` cannot set the Host header, and most resolvers do not know those names.
 */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface NamedHostAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Follows no redirect. @param host Host header, such as `svc-1.localhost:8080` */
export async function requestAs(
  host: string,
  url: URL | string,
  init: {
    readonly method: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string | undefined;
  },
): Promise<NamedHostAnswer> {
  const sent = request(url, { method: init.method, headers: { ...init.headers, host } });
  const responded = once(sent, 'response') as Promise<[IncomingMessage]>;
  sent.end(init.body);
  const [response] = await responded;
  const headers = new Headers();
  const { rawHeaders } = response;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    headers.append(rawHeaders[i] ?? '', rawHeaders[i + 1] ?? '');
  }
  return { status: response.statusCode ?? 0, headers, text: await text(response) };
}

/** Host and port of the pages of the service at `origin`: that of `origin` if browsers stay there. */
export async function pageHostOf(origin: string): Promise<string> {
  const init = { method: 'GET', headers: { accept: 'text/html' } };
  const { headers } = await requestAs(new URL(origin).host, new URL('/', origin), init);
  return new URL(headers.get('location') ?? origin, origin).host;
}

/** The page to which a browser is led from an address that programs use. */
export async function pageAt(address: string): Promise<NamedHostAnswer> {
  const init = { method: 'GET', headers: { accept: 'text/html' } };
  for (let url = new URL(address); ; ) {
    const answer = await requestAs(url.host, new URL(url.pathname + url.search, address), init);
    const location = answer.headers.get('location');
    if (location === null) return answer;
    url = new URL(location, url);
  }
}
