/**
 * Abuse under the default limits: bodies that are too large, truncated, or unpack to a thousand
 * times their size; clients that never finish; one key, one address or one collector that asks for
 * everything. A neighbour keeps working during the attack: each of its requests is answered, with
 * what it wrote. Its times are reported without a verdict, because they depend on the machine.
 */
import { randomUUID } from 'node:crypto';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import {
  type Arena,
  displayed,
  getRequest,
  inParallel,
  rpcRequest,
  sendPatiently,
  sourceOf,
} from './arena.ts';
import { problemOf } from './judge.ts';
import { besideNeighbour, neighbourTurn, pause } from './neighbour.ts';
import { enveloped } from './requests.ts';
import type { Tenant } from './tenants.ts';
import type { Header, WireRequest } from './wire.ts';

const ALERT = '/svc.monitoring.v1.AlertService/';
const IAM = '/svc.iam.v1.AutomationService/';
const WRITE_SAMPLES = '/svc.ingest.v1.IngestService/WriteSamples';
const MIB = 2 ** 20;
/** Unpacked size of a bomb: a hundred times the largest body. */
const BOMB_BYTES = 100 * MIB;
/** Duration of the neighbour's quiet measurement and of each kind of load, ms. */
const ALONE_MS = 2_000;
const LOAD_MS = 4_000;
/** Slow and idle connections of one attacker. */
const SLOW_CONNECTIONS = 200;
const IDLE_CONNECTIONS = 600;
/** Maximum time to complete the headers, plus the two seconds of the check for late clients, ms. */
const SLOW_MS_MAX = 20_000;

export async function attackByAbuse(arena: Arena): Promise<void> {
  await tryBodies(arena);
  const alone = await besideNeighbour(arena, 'alone', () => pause(ALONE_MS));
  arena.tally.figure(`a neighbour's request takes ${alone}`);
  const slow = trySlowClients(arena);
  for (const [name, load] of Object.entries(LOADS)) {
    const summary = await besideNeighbour(arena, name, () => load(arena));
    arena.tally.figure(`beside ${name}: ${summary}`);
  }
  await slow;
  await tryNewcomer(arena);
}

/** Bodies that are too large, truncated, mislabelled, or far larger than they look. */
async function tryBodies(arena: Arena): Promise<void> {
  const { attacker, target } = arena;
  const { host } = new URL(target.origin);
  const bomb = Buffer.alloc(BOMB_BYTES, ' ');
  const valid = Buffer.from(JSON.stringify({ projectName: attacker.project }));
  const packers = {
    gzip: gzipSync,
    deflate: deflateSync,
    br: brotliCompressSync,
    zstd: zstdCompressSync,
  };
  const packed = Object.entries(packers).flatMap(([coding, pack]) => {
    const [large, small] = [pack(bomb), pack(valid)];
    return [
      { name: `a bomb in ${coding}`, coding, body: large },
      { name: `a bomb in ${coding}, twice`, coding, body: pack(large) },
      ...[0, 1, 5, small.length - 1].map((length) => ({
        name: `${coding} truncated to ${length}`,
        coding,
        body: small.subarray(0, length),
      })),
      {
        name: `${coding} with trailing bytes`,
        coding,
        body: Buffer.concat([small, Buffer.from('more')]),
      },
      { name: `bytes that are not ${coding}`, coding, body: valid },
    ];
  });
  const plain = [2, 5, 20].map((mib) => ({
    name: `${mib} MiB`,
    coding: undefined,
    body: Buffer.alloc(mib * MIB, 'x'),
  }));
  const doors: readonly (readonly [string, string, readonly Header[]])[] = [
    [WRITE_SAMPLES, 'application/json', attacker.credentials.collectorKey],
    [WRITE_SAMPLES, 'application/proto', attacker.credentials.collectorKey],
    [`${ALERT}ListAlertRules`, 'application/json', attacker.credentials.readKey],
    [`${IAM}ExchangeCiToken`, 'application/json', []],
    [`${IAM}SubmitCiVerification`, 'application/json', []],
    [`${IAM}EnrolAgent`, 'application/json', []],
    [
      `/v1/monitoring/projects/${attacker.id}/promql/api/v1/query`,
      'application/x-www-form-urlencoded',
      attacker.credentials.readKey,
    ],
    ['/auth/link', 'application/json', []],
  ];
  const tries = doors.flatMap(([path, type, credential]) =>
    [...packed, ...plain].map((one) => ({ path, type, credential, ...one })),
  );
  const before = target.residentBytes() ?? 0;
  await inParallel(tries, 4, async ({ path, type, credential, name, coding, body }, number) => {
    const headers: Header[] = [['host', host], ['content-type', type], ...credential];
    if (coding !== undefined) headers.push(['content-encoding', coding]);
    const request = { method: 'POST', path, headers, body };
    // A body that is rejected unread may be cut off while it is sent; then there is no answer to
    // read.
    await attemptCutOff(arena, `${name} to ${path} as ${type}`, request, number);
  });
  const grown = (target.residentBytes() ?? 0) - before;
  arena.tally.figure(
    `${tries.length} bad bodies increased resident memory by ${Math.round(grown / MIB)} MiB`,
  );
}

/**
 * Judges the answer as usual; a connection that is cut off while a large body is sent counts as
 * one.
 */
async function attemptCutOff(
  arena: Arena,
  name: string,
  request: WireRequest,
  number: number,
): Promise<void> {
  const isLarge = (request.body?.length ?? 0) > MIB;
  const answer = await sendPatiently(arena, request, { source: sourceOf(number), isLast: true });
  const isCut = isLarge && answer.failure === 'closed';
  const why = isCut ? undefined : problemOf(answer, '', arena.forbidden);
  const accepted =
    answer.status === 200 && / cut to |bomb|MiB/.test(name) ? 'it was accepted' : undefined;
  arena.tally.record({
    name,
    why: why ?? accepted,
    isLimited: answer.status === 429,
    request: request.path,
    answer: displayed(answer),
  });
}

/**
 * Headers sent a byte at a time, and bodies that never arrive: the service closes each connection.
 */
async function trySlowClients(arena: Arena): Promise<void> {
  const { target, tally } = arena;
  const { host } = new URL(target.origin);
  const starts = [
    () => `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nx-slow: `,
    () => 'POST ',
    () =>
      `POST ${IAM}ExchangeCiToken HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n`,
  ];
  const beganMs = performance.now();
  await Promise.all(
    Array.from({ length: SLOW_CONNECTIONS }, async (_, i) => {
      const socket = target.wire.raw(sourceOf(0));
      socket.resume();
      socket.write(starts[i % starts.length]?.() ?? '');
      const drip = setInterval(() => socket.write('a'), 500);
      const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)));
      const ended = await Promise.race([closed, pause(SLOW_MS_MAX).then(() => false)]);
      clearInterval(drip);
      socket.destroy();
      tally.record({
        name: `slow client ${i}`,
        why: ended ? undefined : `it was still served after ${SLOW_MS_MAX / 1000} s`,
      });
    }),
  );
  tally.figure(
    `${SLOW_CONNECTIONS} slow clients were disconnected within ${((performance.now() - beganMs) / 1000).toFixed(1)} s`,
  );
}

type Load = (arena: Arena) => Promise<void>;

/** Loads, each from its given number of addresses, for `LOAD_MS`. */
const LOADS: Readonly<Record<string, Load>> = {
  '64 parallel lists of one key': (arena) => {
    const { project, credentials } = arena.attacker;
    const body = { projectName: project, pageSize: 1000 };
    return flood(arena, 64, () =>
      rpcRequest(arena, '/svc.audit.v1.AuditService/ListTransitions', body, credentials.readKey),
    );
  },
  '64 parallel queries of one key': (arena) => {
    const { id, credentials } = arena.attacker;
    const query = encodeURIComponent('sum_over_time(count({__name__=~".+"})[6h:1s])');
    const path = `/v1/monitoring/projects/${id}/promql/api/v1/query?query=${query}`;
    return flood(arena, 64, () => getRequest(arena, path, credentials.readKey));
  },
  'a flood of unauthenticated callers': (arena) => {
    const padding = 'x'.repeat(200_000);
    const body = () => ({
      trustName: `${arena.attacker.names.CiConnection}`,
      assertion: `${randomUUID()}${padding}`,
    });
    return flood(arena, 32, () => rpcRequest(arena, `${IAM}ExchangeCiToken`, body(), []));
  },
  'strangers without a credential': (arena) =>
    flood(arena, 32, () =>
      rpcRequest(arena, `${ALERT}ListIncidents`, {}, [['authorization', 'Bearer svc_sk_x_y']]),
    ),
  'idle connections of one address': async (arena) => {
    const sockets = Array.from({ length: IDLE_CONNECTIONS }, () =>
      arena.target.wire.raw(sourceOf(1)),
    );
    await pause(LOAD_MS);
    for (const socket of sockets) socket.destroy();
  },
  '200 streams of one key': async (arena) => {
    const { project, credentials } = arena.attacker;
    const base = rpcRequest(arena, `${ALERT}WatchIncidents`, {}, credentials.readKey);
    const request = {
      ...base,
      headers: base.headers.map(
        ([name, value]): Header => [
          name,
          name === 'content-type' ? 'application/connect+json' : value,
        ],
      ),
      body: enveloped(JSON.stringify({ projectName: project })),
    };
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        arena.target.wire.send(request, { source: sourceOf(i), timeoutMs: LOAD_MS, isLast: true }),
      ),
    );
  },
  'a collector that invents VMs, boots and series': (arena) => {
    let number = 0;
    return flood(arena, 8, () => {
      number++;
      return rpcRequest(
        arena,
        WRITE_SAMPLES,
        {
          projectName: arena.attacker.project,
          batchId: randomUUID(),
          rows: madeUpRows(arena.attacker, number),
        },
        arena.attacker.credentials.collectorKey,
      );
    });
  },
};

/** About 900 KiB of texts that were never sent before. */
function madeUpRows({ project }: Tenant, number: number): object[] {
  return Array.from({ length: 1_000 }, (_, i) => ({
    vmName: `${project}/vms/made-up-${number % 50}-${i % 100}`,
    observedUnixMs: String(Date.now()),
    bootId: `${randomUUID()}-${'b'.repeat(200)}`,
    state: 'RUNNING',
    stateReason: `${randomUUID()}-${'r'.repeat(100)}`,
    values: [
      {
        series: `made_up_${number}_${i}`,
        labels: { a: randomUUID(), b: 'c'.repeat(100) },
        value: i,
      },
    ],
  }));
}

/**
 * Keeps `width` requests in flight until the time is over. The attacker may get any answer but a
 * fault.
 */
async function flood(arena: Arena, width: number, make: () => WireRequest): Promise<void> {
  const endMs = performance.now() + LOAD_MS;
  const one = async (number: number): Promise<void> => {
    while (performance.now() < endMs) {
      const request = make();
      const answer = await arena.target.wire.send(request, { source: sourceOf(number % 4) });
      const isFault = answer.status >= 500 && ![503, 504].includes(answer.status);
      const isLimited = answer.status === 429;
      const why = isFault ? `answered ${answer.status}` : undefined;
      arena.tally.record({
        name: `flood of ${request.path}`,
        why,
        isLimited,
        request: request.path,
        answer: answer.text,
      });
      // A rejected client that retries at once would only measure its own rate.
      if (isLimited || answer.failure !== undefined) await pause(10);
    }
  };
  await Promise.all(Array.from({ length: width }, (_, i) => one(i)));
}

/** After all loads: a VM that the neighbour never had before, with its first reading. */
async function tryNewcomer(arena: Arena): Promise<void> {
  for (let i = 0; i < 5; i++) {
    const vm = `${arena.victim.project}/vms/newcomer-${i}`;
    await neighbourTurn(arena, `all loads, with the new VM ${i}`, i, vm);
  }
}
