/**
 * Addresses: webhooks and chats never reach a non-public network, however the address is written,
 * named or redirected to. Canary listeners on this machine show any request that arrives.
 */
import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import { chatUrls, LITERALS, NAMES, oddUrls } from './address-forms.ts';
import { type Arena, attempt, inParallel, rpcRequest, sendPatiently, sourceOf } from './arena.ts';
import { ALLOWED_ADDRESS, listen, Undo } from './target.ts';
import { Api } from './tenants.ts';
import type { WireAnswer } from './wire.ts';

const ALERT = '/svc.monitoring.v1.AlertService/';
/** Maximum time until every first attempt has been made; unresolvable names take a while, ms. */
const ATTEMPTS_MS = 20_000;
/** Maximum number of destinations kept while their test messages are in flight. */
const DESTINATIONS_MAX = 90;
const WIDTH = 6;

/** Listeners that no request may reach. */
interface Canaries {
  readonly port: number;
  /** Visitors, by listener. */
  readonly visits: string[];
}

export async function attackAddresses(arena: Arena): Promise<void> {
  const undo = new Undo();
  try {
    const canaries = await startCanaries(undo);
    await arena.target.admin('limits', 'set', arena.attacker.id, '--destinations', '100');
    await tryUrls(arena, canaries);
    await tryRedirects(arena, undo, canaries);
    await untilAttempted(arena);
    const why =
      canaries.visits.length === 0 ? undefined : `requests arrived: ${canaries.visits.join(', ')}`;
    arena.tally.record({ name: 'no request reached the listeners', why });
  } finally {
    await undo.all();
  }
}

/** Listens on every address of this machine that must be unreachable, all on one port. */
export async function startCanaries(undo: Undo): Promise<Canaries> {
  const visits: string[] = [];
  const open = (address: string, port: number): Promise<number | undefined> =>
    new Promise((resolve) => {
      const server: Server = createServer((socket) => {
        visits.push(`${address} from ${socket.remoteAddress}`);
        socket.destroy();
      });
      server.once('error', () => resolve(undefined));
      server.listen(port, address, () => {
        undo.teardown(() => server.close());
        const bound = server.address();
        resolve(typeof bound === 'object' && bound !== null ? bound.port : undefined);
      });
    });
  const port = await open('127.0.0.1', 0);
  if (port === undefined) throw new Error('No canary listens on 127.0.0.1');
  for (const address of ['127.0.0.2', '127.0.1.1', '::1', ...ownAddresses()])
    await open(address, port);
  return { port, visits };
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0)
    .map(({ address }) => address);
}

type Kind = 'webhook' | 'slack' | 'teams' | 'discord';

async function tryUrls(arena: Arena, { port }: Canaries): Promise<void> {
  const literals = [
    ...LITERALS,
    ...ownAddresses().map((address) => (address.includes(':') ? `[${address}]` : address)),
  ];
  const tries: { readonly kind: Kind; readonly url: string; readonly mustRefuse: boolean }[] = [];
  for (const host of literals) {
    for (const url of [
      `https://${host}:${port}/x`,
      `http://${host}:${port}/x`,
      `https://${host}/x`,
      `https://user@${host}:${port}/`,
    ]) {
      tries.push({ kind: 'webhook', url, mustRefuse: true });
    }
    for (const kind of ['slack', 'teams', 'discord'] as const) {
      tries.push({ kind, url: `https://${host}:${port}/services/T/B/x`, mustRefuse: true });
    }
  }
  for (const host of NAMES) {
    for (const url of [`https://${host}:${port}/x`, `https://${host}/x`])
      tries.push({ kind: 'webhook', url, mustRefuse: false });
    tries.push({ kind: 'webhook', url: `http://${host}:${port}/x`, mustRefuse: true });
    for (const kind of ['slack', 'teams', 'discord'] as const)
      tries.push({ kind, url: `https://${host}:${port}/x`, mustRefuse: true });
  }
  for (const url of oddUrls(port)) {
    tries.push({
      kind: 'webhook',
      url,
      mustRefuse: !leadsAway(url),
    });
  }
  for (const [kind, url] of chatUrls(port)) tries.push({ kind, url, mustRefuse: true });
  await inParallel(tries, WIDTH, async ({ kind, url, mustRefuse }, number) => {
    await tryDestination(arena, { name: `${kind} to ${url}`, kind, url, mustRefuse }, number);
  });
}

/** True if each of our parsers takes it for an address outside this machine. */
function leadsAway(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, username } = new URL(url);
  return protocol === 'https:' && username === '' && /^(example\.com|\.|\.\.)$/.test(hostname);
}

interface DestinationTry {
  readonly name: string;
  readonly kind: Kind;
  readonly url: string;
  readonly mustRefuse: boolean;
}

/** Saves it. If that is accepted, sends a test message to it and leaves it for the attempt. */
export async function tryDestination(
  arena: Arena,
  one: DestinationTry,
  number: number,
): Promise<void> {
  const { attacker } = arena;
  const body = {
    projectName: attacker.project,
    requestId: randomUUID(),
    destination: { displayName: `Try ${number}`, [one.kind]: { url: one.url } },
  };
  const request = rpcRequest(
    arena,
    `${ALERT}CreateDestination`,
    body,
    attacker.credentials.writeKey,
  );
  const judge = ({ status }: WireAnswer) => {
    if (status === 200 && one.mustRefuse) return 'it was accepted';
    return status === 200 || status === 400 ? undefined : `answered ${status}`;
  };
  const answer = await attempt(arena, one.name, request, judge, { source: sourceOf(number) });
  if (answer.status !== 200) return;
  const { name } = (JSON.parse(answer.text) as { destination: { name: string } }).destination;
  const test = rpcRequest(
    arena,
    `${ALERT}SendTestNotification`,
    { name, requestId: randomUUID() },
    attacker.credentials.owner,
  );
  await attempt(arena, `${one.name}: a test message`, test, ({ status }) =>
    status === 200 ? undefined : `answered ${status}`,
  );
  await makeRoom(arena);
}

/** Deletes the tried destinations to make room for more. */
async function makeRoom(arena: Arena): Promise<void> {
  const { attacker } = arena;
  const body = { projectName: attacker.project, pageSize: 200 };
  const listed = await sendPatiently(
    arena,
    rpcRequest(arena, `${ALERT}ListDestinations`, body, attacker.credentials.writeKey),
  );
  const { destinations } = JSON.parse(listed.text) as {
    destinations: { name: string; displayName: string }[];
  };
  if (destinations.length < DESTINATIONS_MAX) return;
  await untilAttempted(arena);
  for (const { name, displayName } of destinations) {
    if (!displayName.startsWith('Try ')) continue;
    const gone = { name, requestId: randomUUID() };
    await sendPatiently(
      arena,
      rpcRequest(arena, `${ALERT}DeleteDestination`, gone, attacker.credentials.writeKey),
    );
  }
}

/** A permitted endpoint that redirects every request to a forbidden one. */
async function tryRedirects(arena: Arena, undo: Undo, { port }: Canaries): Promise<void> {
  const server = createHttpServer((request, response) => {
    const requested = new URL(request.url ?? '/', 'http://x');
    request.resume();
    response.writeHead(Number(requested.searchParams.get('status')), {
      location: requested.searchParams.get('to') ?? '',
    });
    response.end();
  });
  const from = `http://${ALLOWED_ADDRESS}:${await listen(undo, server, ALLOWED_ADDRESS)}`;
  const places = [
    `http://127.0.0.1:${port}/`,
    `//127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://[::1]:${port}/`,
    `https://127.0.0.1:${port}/`,
  ];
  const tries = [301, 302, 303, 307, 308].flatMap((status) =>
    places.map((to) => `${from}/?${new URLSearchParams({ status: String(status), to })}`),
  );
  await inParallel(tries, WIDTH, async (url, number) => {
    await tryDestination(
      arena,
      { name: `a redirect: ${url}`, kind: 'webhook', url, mustRefuse: false },
      number,
    );
  });
}

/** Waits until every test message has had its first attempt, or the time is over. */
export async function untilAttempted(arena: Arena): Promise<void> {
  const { attacker, target } = arena;
  const api = new Api(target);
  const endMs = performance.now() + ATTEMPTS_MS;
  while (performance.now() < endMs) {
    const requested = { projectName: attacker.project, pageSize: 1000 };
    const { deliveries } = await api.call(
      'monitoring.v1.AlertService/ListDeliveries',
      requested,
      attacker.credentials.readKey,
    );
    const waiting = (deliveries as { state: string; attempts: unknown[] }[]).filter(
      ({ state, attempts }) => /^(QUEUED|RECHECKING|SENDING)$/.test(state) && attempts.length < 2,
    );
    if (waiting.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
