/**
 * Sign-in on a real server at 127.0.0.1: real people on a real host, the real routes, a virtual
 * clock. `Browser` stores cookies as a browser does; the test sets Origin and Sec-Fetch-Site.
 */
import type { FastifyInstance } from 'fastify';
import type { Test } from 'tap';
import type { Members } from '../../actors/identity/members.ts';
import type { People } from '../../actors/identity/people.ts';
import type { IssuedLink } from '../../actors/identity/people-links.ts';
import { createIdentities } from '../../src/identity/open-identity.ts';
import { openSignIn, type SignIn } from '../../src/identity/open-sign-in.ts';
import { Closers } from '../../src/platform/closers.ts';
import { createHealth } from '../../src/platform/health.ts';
import { openHttpServer } from '../../src/platform/http/server.ts';
import { type Origins, ServiceAddress } from '../../src/platform/http/service-address.ts';
import { createLog, type Log } from '../../src/platform/log.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { startWorld, tester, type World } from './host-in-memory.ts';
import { type NamedHostAnswer, requestAs } from './named-host.ts';

export interface SignInWorld extends World {
  readonly people: People;
  readonly members: Members;
  readonly signIn: SignIn;
  /** `http://127.0.0.1:<port>`, where the server listens. */
  readonly address: string;
  /** Value of SVC_PUBLIC_URL, or the address. */
  readonly origin: string;
  /** Complete log lines, at debug level. */
  readonly logged: string[];
  /** The service's own metrics as text. */
  metrics(): Promise<string>;
  /** Creates a person with that address. */
  person(email: string): Promise<string>;
  operatorLink(person: string): Promise<IssuedLink>;
  /** Closes everything open, as the service does. Also called at the end of the test. */
  stop(): Promise<void>;
}

/** Parts for routes beside those of sign-in. */
export interface SignInWorldParts extends World, Origins {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly people: People;
  readonly mail: SignIn['mail'];
  readonly rotateCookie: SignIn['rotateCookie'];
  readonly deriveKey: (purpose: string) => Uint8Array;
}

/**
 * Starts a world that ends with the test. `wrap` replaces parts of `People`, for faults;
 * `addRoutes` adds routes of other parts; `pageHost` is the host name of pages.
 */
export async function startSignInWorld(
  t: Test,
  environment: Readonly<Record<string, string>> = {},
  wrap: (people: People) => People = (people) => people,
  addRoutes: (app: FastifyInstance, parts: SignInWorldParts) => Promise<void> = async () => {},
  pageHost?: string,
): Promise<SignInWorld> {
  const world = await startWorld(t);
  const { clock, random, host } = world;
  const { settings } = loadConfig([], { SVC_LISTEN: '127.0.0.1:0', ...environment });
  const logged: string[] = [];
  const write = (line: string) => void logged.push(line);
  const log = createLog({ level: 'debug', readable: false, clock, write });
  const metrics = createMetrics({ clock, version: '1' });
  const health = createHealth({ clock, log });
  const closers = new Closers(log);
  t.teardown(async () => {
    await closers.closeAll();
    health.close();
    metrics.close();
  });
  const seen = new Map<string, number>();
  const lastSeen = {
    record: (session: string) => void seen.set(session, clock.now()),
    of: (session: string) => seen.get(session),
  };
  const onFault = (what: string, err: unknown) => log.error({ err }, what);
  const recentMs = settings.recentSignInMinutes * 60_000;
  const ports = { host, clock, random, lastSeen, recentMs, onFault };
  const { people: real, members } = createIdentities(ports);
  const people = wrap(real);
  const deriveKey = (purpose: string) => new Uint8Array(32).fill(purpose.length);
  const origins = new ServiceAddress(settings.publicUrl, pageHost);
  const base = { settings, clock, random, log, metrics, closers };
  const signIn = openSignIn({ base, people, deriveKey, address: origins });
  const server = await openHttpServer({
    ...base,
    health,
    address: origins,
    isReader: async () => true,
    readGate: async () => ({ release: () => {} }),
    async addRoutes(app) {
      await signIn.addRoutes(app);
      const parts = { people, log, metrics, deriveKey, ...origins };
      await addRoutes(app, { ...world, ...signIn, ...parts });
    },
  });
  // The virtual clock would never close a connection that a test keeps open.
  t.teardown(() => server.app.server.closeAllConnections());
  closers.add('http', () => server.close());
  const bound = server.app.server.address() as { port: number };
  return {
    ...world,
    people,
    members,
    signIn,
    logged,
    origin: server.baseUrl,
    address: `http://127.0.0.1:${bound.port}`,
    metrics: () => metrics.text(),
    person: (email) => people.ensurePerson(tester, { displayName: 'Ada', email }),
    stop: () => closers.closeAll(),
    operatorLink: (person) => people.linkFor(tester, person, 'operator'),
  };
}

export interface Sent {
  readonly method?: 'GET' | 'POST' | 'HEAD';
  /** Fields sent as a form. */
  readonly form?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Target of a redirect. */
  readonly location: string;
}

/** One browser at one service. Does not follow redirects. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly #address: string;
  readonly #origin: string;
  /** Host header, if the origin's name is resolved by browsers only. */
  readonly #host: string | undefined;

  constructor({ address, origin }: Pick<SignInWorld, 'address' | 'origin'>) {
    this.#address = address;
    this.#origin = origin;
    const { host, hostname } = new URL(origin);
    this.#host = hostname.endsWith('.localhost') ? host : undefined;
  }

  /** Requests a page, as a navigation does. */
  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send(path, { method: 'GET', headers });
  }

  /** Posts a form of one of the service's own pages. */
  post(path: string, form: Readonly<Record<string, string>>): Promise<Answer> {
    const headers = { origin: this.#origin, 'sec-fetch-site': 'same-origin' };
    return this.send(path, { form, headers });
  }

  async send(path: string, sent: Sent): Promise<Answer> {
    const { form, json, method = 'POST', headers = {} } = sent;
    const jar = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const body = form ? new URLSearchParams(form).toString() : (sent.body ?? JSON.stringify(json));
    const type = form ? 'application/x-www-form-urlencoded' : 'application/json';
    const hasBody = body !== undefined;
    const all = {
      ...(jar !== '' && { cookie: jar }),
      ...(hasBody && { 'content-type': type }),
      ...headers,
    };
    const url = new URL(path, this.#address);
    const host = headers.host ?? this.#host;
    const answer =
      host === undefined
        ? await plainly(url, { method, body, headers: all })
        : await requestAs(host, url, { method, body, headers: all });
    for (const set of answer.headers.getSetCookie()) this.#keep(set);
    return { ...answer, location: answer.headers.get('location') ?? '' };
  }

  #keep(set: string): void {
    const [pair = ''] = set.split(';', 1);
    const at = pair.indexOf('=');
    const name = pair.slice(0, at);
    if (/; Max-Age=0(;|$)/.test(set)) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(at + 1));
  }
}

async function plainly(
  url: URL,
  init: { method: string; body: string | undefined; headers: Readonly<Record<string, string>> },
): Promise<NamedHostAnswer> {
  const { body, ...rest } = init;
  const answer = await fetch(url, {
    ...rest,
    redirect: 'manual',
    ...(body !== undefined && { body }),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** Session of a secret, or the reason why it is refused. */
export function sessionState(people: People, secret: string | undefined): string {
  try {
    people.sessionOf(secret ?? '');
    return 'live';
  } catch (error) {
    return (error as { reason?: string }).reason ?? String(error);
  }
}
