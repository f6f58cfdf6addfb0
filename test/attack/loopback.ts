/**
 * Sessions on plain http of one machine: a browser sends a cookie to every port of its host, so that
 * a program on another port gets whatever the host of the pages does not keep to itself. A jar
 * stores cookies as browsers do, by host alone, and shows what each other host would receive.
 */
import { type Arena, attempt, getRequest } from './arena.ts';
import type { Header, WireAnswer, WireRequest } from './wire.ts';

/** Other names of this machine, at which other programs listen. */
const OTHER_NAMES = ['127.0.0.1', 'localhost', '[::1]', 'other.localhost', '127.0.0.2'];
const PAGES = [
  '/',
  '/projects/demo',
  '/auth/sign-in',
  '/auth/link',
  '/auth/signed-in',
  '/auth/login',
  '/auth/callback?code=c&state=s',
  '/auth/cli?port=9000&state=aaaaaaaaaaaaaaaa&challenge=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
];
const OTHER_PORT = 9000;

/** Cookies by host, as RFC 6265 stores those without a Domain. */
class Jar {
  readonly #byHost = new Map<string, Map<string, string>>();

  /** The problem with a Set-Cookie for a browser at this host; undefined if it is as required. */
  keep(host: string, answer: WireAnswer): string | undefined {
    const set = answer.headers.get('set-cookie');
    if (set === undefined) return undefined;
    if (/domain=/i.test(set)) return `a cookie for further hosts: ${set}`;
    const [pair = ''] = set.split(';');
    const [name = '', value = ''] = pair.split('=');
    const cookies = this.#byHost.get(host) ?? new Map<string, string>();
    this.#byHost.set(host, cookies);
    if (value === '') cookies.delete(name);
    else cookies.set(name, value);
    return undefined;
  }

  /** The Cookie header to any port of the host; empty without cookies. */
  sentTo(host: string): string {
    const cookies = [...(this.#byHost.get(host) ?? [])];
    return cookies.map(([name, value]) => `${name}=${value}`).join('; ');
  }
}

export async function attackLoopback(arena: Arena): Promise<void> {
  const { target, attacker } = arena;
  const link = async () => {
    const made = await target.admin('login-link', `${attacker.canary}-owner@example.test`);
    return new URL(String(made.link));
  };
  const first = await link();
  const pages = { host: first.host, name: first.hostname, origin: first.origin };
  const jar = new Jar();
  const { port } = new URL(target.origin);

  for (const name of OTHER_NAMES) {
    const host = `${name}:${port}`;
    for (const path of PAGES) {
      const answer = await attempt(arena, `${path} at ${name}`, at(arena, host, path), (got) =>
        got.headers.get('location') === `http://${pages.host}${path}`
          ? undefined
          : 'the page was not redirected to its own host',
      );
      jar.keep(name, answer);
    }
    const form = formAt(host, `http://${host}`, { token: first.hash.slice(1) });
    jar.keep(name, await attempt(arena, `a sign-in at ${name}`, form, refusedForm));
  }

  const signIn = formAt(pages.host, pages.origin, { token: first.hash.slice(1) });
  const signedIn = await attempt(
    arena,
    'control: a sign-in at the host of the pages',
    signIn,
    (got) =>
      got.status === 303 ? undefined : 'the link did not sign in, or a refused try used it up',
  );
  record(arena, 'the session has one host', jar.keep(pages.name, signedIn));
  const cookie = jar.sentTo(pages.name);
  record(arena, 'control: the browser has a session', cookie === '' ? 'it has none' : undefined);
  for (const name of [...OTHER_NAMES, new URL(target.origin).hostname]) {
    const sent = jar.sentTo(name);
    record(arena, `the browser's cookies at ${name}:${OTHER_PORT}`, sent === '' ? undefined : sent);
  }
  await tryCommandLine(arena, pages, cookie);
  await tryOtherPorts(arena, pages, cookie);
}

interface Pages {
  readonly host: string;
  readonly name: string;
  readonly origin: string;
}

/** The sign-in of the command line leads the browser to a port that anyone may listen on. */
async function tryCommandLine(arena: Arena, pages: Pages, cookie: string): Promise<void> {
  const fields = { port: String(OTHER_PORT), state: 'a'.repeat(16), challenge: 'a'.repeat(43) };
  const request = formAt(pages.host, pages.origin, fields, '/auth/cli', cookie);
  await attempt(arena, 'the browser sign-in of svc login', request, (got) => {
    const location = got.headers.get('location') ?? '';
    if (!URL.canParse(location)) return 'it leads nowhere';
    const { hostname } = new URL(location);
    return hostname === pages.name ? `it leads to ${hostname}, which gets the session` : undefined;
  });
}

/** A page of another program under the same host name, whose requests have its own Origin. */
async function tryOtherPorts(arena: Arena, pages: Pages, cookie: string): Promise<void> {
  const other = `http://${pages.name}:${OTHER_PORT}`;
  const rpc: WireRequest = {
    method: 'POST',
    path: '/svc.project.v1.ProjectService/ListProjects',
    body: '{}',
    headers: [
      ['host', pages.host],
      ['content-type', 'application/json'],
      ['origin', other],
      ['cookie', cookie],
    ],
  };
  await attempt(arena, 'a call by a page of another port', rpc, (got) =>
    got.status === 401 ? undefined : `answered ${got.status}`,
  );
  for (const path of ['/auth/logout', '/auth/cli', '/auth/link']) {
    const form = formAt(pages.host, other, {}, path, cookie);
    await attempt(arena, `${path} by a page of another port`, form, refusedForm);
  }
  const own = {
    ...rpc,
    headers: [...rpc.headers.slice(0, 2), ['origin', pages.origin], rpc.headers[3]],
  };
  await attempt(arena, 'control: a call by the pages', own as WireRequest, (got) =>
    got.status === 200 ? undefined : `answered ${got.status}`,
  );
}

function record(arena: Arena, name: string, why: string | undefined): void {
  arena.tally.record({ name, why });
}

function refusedForm({ status }: WireAnswer): string | undefined {
  return status === 403 ? undefined : `answered ${status} instead of a rejection`;
}

function at(arena: Arena, host: string, path: string): WireRequest {
  const request = getRequest(arena, path, []);
  return { ...request, headers: [['host', host]] };
}

function formAt(
  host: string,
  origin: string,
  fields: Readonly<Record<string, string>>,
  path = '/auth/link',
  cookie = '',
): WireRequest {
  const headers: Header[] = [
    ['host', host],
    ['origin', origin],
    ['sec-fetch-site', 'same-origin'],
    ['content-type', 'application/x-www-form-urlencoded'],
  ];
  if (cookie !== '') headers.push(['cookie', cookie]);
  return { method: 'POST', path, headers, body: new URLSearchParams(fields).toString() };
}
