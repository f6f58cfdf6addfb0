/**
 * Exchanges of CI identities over HTTP: the program as a user starts it, in its own process, with
 * cached keys of a local issuer; every assertion is fresh and signed (RS256) before the clock
 * starts. Rates per core use the CPU time of the service's process, because the sender shares the
 * machine. The bench repeats this with 100,000 keys in the project, then sends forged, replayed and
 * malformed assertions. Finally it measures the latency for other callers during 10,000 exchanges
 * per minute, half of them malformed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { type CiIssuer, startCiIssuer } from '../test/support/ci-issuer.ts';
import { type Demo, startProgram } from '../test/support/program.ts';
import { seedConnection, seedKeys, TRUST_NAME } from './support/exchange-seed.ts';
import { processCost } from './support/process-cost.ts';
import { type Scope, withScope } from './support/scope.ts';

/** Number of exchanges until the compiler has settled; not counted. */
const WARM_UP = 3_000;
const EXCHANGES = 4_000;
/** The round with the least CPU counts: other work on the machine can only add time. */
const ROUNDS = 3;
const CONNECTIONS = 32;
const PACED_MS = 10_000;
const PACED_A_MINUTE = 10_000;
const KEYS = [0, 100_000];
const AIM = '≥ 1,000/s per core';

type Row = Record<string, string | number>;

/** Measures and prints two tables. */
export async function run(): Promise<void> {
  const rows: Row[] = [];
  for (const keys of KEYS) rows.push(...(await withScope((scope) => measure(scope, keys))));
  console.table(rows);
  console.table(await withScope(measureOthers));
}

interface Started {
  readonly demo: Demo;
  readonly mint: (count: number) => Promise<string[]>;
}

async function start(scope: Scope, keys: number): Promise<Started> {
  const folder = mkdtempSync(`${tmpdir()}/exchange-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const platform = await startCiIssuer();
  scope.teardown(() => platform.close());
  const settings = {
    SVC_COLLECT: 'none',
    SVC_DEMO: 'on',
    SVC_METRICS_ON_API: 'on',
    SVC_CI_ISSUERS: platform.setting,
  };
  const first = await startProgram(scope, folder, settings);
  await first.stop();
  const audience = await seedConnection(folder, platform);
  await seedKeys(folder, keys);
  const { demo } = await startProgram(scope, folder, settings);
  const mint = (count: number) => mintAll(platform, audience, count);
  await send(demo, await mint(WARM_UP), 200);
  return { demo, mint };
}

async function measure(scope: Scope, keys: number): Promise<Row[]> {
  const { demo, mint } = await start(scope, keys);
  const row = (what: string, figures: Row, aim = ''): Row => ({
    'keys in the project': keys.toLocaleString('en'),
    what,
    ...figures,
    aim,
  });
  const rounds: Cost[] = [];
  let fresh: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    fresh = await mint(EXCHANGES);
    rounds.push(await cost(demo, fresh, 200));
  }
  const [best] = rounds.toSorted((a, b) => a.cpuMs - b.cpuMs);
  const rows = best ? [row('exchanged', figuresOf(best), AIM)] : [];
  if (keys > 0) return rows;
  const forged = fresh.map((assertion) => `${assertion.slice(0, -12)}${'A'.repeat(12)}`);
  const garbage = fresh.map((_, i) => `garbage${i}`);
  for (const [what, assertions] of Object.entries({ replayed: fresh, forged, garbage })) {
    rows.push(row(`rejected: ${what}`, figuresOf(await cost(demo, assertions, 401))));
  }
  return rows;
}

/** Duration of a read alone, and during exchanges at a steady rate. */
async function measureOthers(scope: Scope): Promise<Row[]> {
  const { demo, mint } = await start(scope, 0);
  const count = Math.round((PACED_A_MINUTE / 60_000) * PACED_MS);
  const fresh = await mint(Math.ceil(count / 2));
  const alone = await readFor(demo, PACED_MS / 2);
  const pace = Array.from({ length: count }, async (_, i) => {
    await new Promise((resolve) => setTimeout(resolve, (i * PACED_MS) / count));
    const assertion = i % 2 === 0 ? fresh[i / 2] : undefined;
    await send(demo, [assertion ?? `garbage${i}`], assertion ? 200 : 401);
  });
  const beside = await readFor(demo, PACED_MS);
  await Promise.all(pace);
  return [
    { 'reads of the inventory': 'alone', ...alone },
    { 'reads of the inventory': 'beside 10,000 exchanges per minute', ...beside },
  ];
}

/** Reads one after another; throws unless all return 200. */
async function readFor({ baseUrl, apiKey, projectName }: Demo, durationMs: number): Promise<Row> {
  const took: number[] = [];
  const fromMs = performance.now();
  while (performance.now() - fromMs < durationMs) {
    const requestedMs = performance.now();
    const answer = await fetch(`${baseUrl}/svc.monitoring.v1.MonitoringService/ListVMMonitoring`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ projectName }),
    });
    await answer.text();
    if (!answer.ok) throw new Error(`A read returned ${answer.status}`);
    took.push(performance.now() - requestedMs);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => (took[Math.floor(took.length * share)] ?? 0).toFixed(1);
  return { reads: took.length, 'p50 ms': at(0.5), 'p99 ms': at(0.99) };
}

interface Cost {
  readonly count: number;
  readonly seconds: number;
  /** CPU time of the service's process per exchange, ms. */
  readonly cpuMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function cost(demo: Demo, assertions: readonly string[], status: number): Promise<Cost> {
  const count = assertions.length;
  const before = await processCost(demo);
  const sent = await send(demo, assertions, status);
  const after = await processCost(demo);
  return { ...sent, count, cpuMs: ((after.cpuSeconds - before.cpuSeconds) / count) * 1000 };
}

function figuresOf({ count, seconds, cpuMs, p50Ms, p99Ms }: Cost): Row {
  return {
    'a core': `${Math.round(1000 / cpuMs).toLocaleString('en')}/s`,
    'CPU ms each': cpuMs.toFixed(3),
    'measured by the sender': `${Math.round(count / seconds).toLocaleString('en')}/s`,
    'response p50 ms': p50Ms.toFixed(1),
    'p99 ms': p99Ms.toFixed(1),
  };
}

async function mintAll(platform: CiIssuer, audience: string, count: number): Promise<string[]> {
  const assertions: string[] = [];
  for (let i = 0; i < count; i++) assertions.push(await platform.mint({ aud: audience }));
  return assertions;
}

/** Sends one after another on each connection. Throws if a response has another status. */
async function send(demo: Demo, assertions: readonly string[], status: number) {
  const took: number[] = [];
  const fromMs = performance.now();
  let next = 0;
  const take = () => assertions[next++];
  await Promise.all(
    Array.from({ length: Math.min(CONNECTIONS, assertions.length) }, () => {
      const localAddress = nextAddress();
      return converse(demo, { take, status, localAddress, onAnswer: (ms) => took.push(ms) });
    }),
  );
  const seconds = (performance.now() - fromMs) / 1000;
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] ?? 0;
  return { seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

let addresses = 0;

/** Runners of a fleet: failures per address are bounded. */
function nextAddress(): string {
  return `127.0.1.${1 + (addresses++ % CONNECTIONS)}`;
}

interface Conversation {
  readonly localAddress: string;
  readonly take: () => string | undefined;
  readonly status: number;
  readonly onAnswer: (ms: number) => void;
}

function converse(
  { baseUrl }: Demo,
  { take, status, localAddress, onAnswer }: Conversation,
): Promise<void> {
  const { hostname, port, host } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(port), host: hostname, localAddress });
    socket.setNoDelay(true);
    let sentMs = 0;
    const ask = (): void => {
      const assertion = take();
      if (assertion === undefined) {
        socket.end();
        return;
      }
      sentMs = performance.now();
      socket.write(requestOf(host, assertion));
    };
    socket.on('connect', ask);
    socket.on('data', (answer) => {
      if (answer.indexOf(`HTTP/1.1 ${status}`) !== 0) {
        reject(new Error(answer.toString('latin1').slice(0, 1_000)));
        socket.destroy();
        return;
      }
      onAnswer(performance.now() - sentMs);
      ask();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve());
  });
}

function requestOf(host: string, assertion: string): string {
  const body = JSON.stringify({ trustName: TRUST_NAME, assertion });
  const head = [
    'POST /svc.iam.v1.AutomationService/ExchangeCiToken HTTP/1.1',
    `host: ${host}`,
    'content-type: application/json',
    'connect-protocol-version: 1',
    `content-length: ${body.length}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

if (import.meta.main) await run();
