/**
 * Exchanges of CI identities over HTTP: the program as a user starts it, in a process of its own,
 * with warm keys of a local issuer; every assertion is fresh, signed (RS256) before the clock runs.
 * Per core is what the service's process used of CPU, because the sender shares the machine. Again
 * with 100,000 keys in the project; then what strangers send: forged, replayed, and garbage.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { type CiIssuer, startCiIssuer } from '../test/support/ci-issuer.ts';
import { type Demo, startProgram } from '../test/support/program.ts';
import { seedConnection, seedKeys, TRUST_NAME } from './support/exchange-seed.ts';
import { processCost } from './support/process-cost.ts';
import { type Scope, withScope } from './support/scope.ts';

/** Until the compiler has settled; not counted. */
const WARM_UP = 3_000;
const EXCHANGES = 8_000;
const CONNECTIONS = 32;
const KEYS = [0, 100_000];
const AIM = '≥ 1,000/s a core';

type Row = Record<string, string | number>;

/** Measures and prints one table. */
export async function run(): Promise<void> {
  const rows: Row[] = [];
  for (const keys of KEYS) rows.push(...(await withScope((scope) => measure(scope, keys))));
  console.table(rows);
}

async function measure(scope: Scope, keys: number): Promise<Row[]> {
  const folder = mkdtempSync(`${tmpdir()}/exchange-bench-`);
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const platform = await startCiIssuer();
  scope.teardown(() => platform.close());
  const settings = { SVC_COLLECT: 'none', SVC_DEMO: 'on', SVC_CI_ISSUERS: platform.setting };
  const first = await startProgram(scope, folder, settings);
  await first.stop();
  const audience = await seedConnection(folder, platform);
  await seedKeys(folder, keys);
  const { demo } = await startProgram(scope, folder, settings);
  await send(demo, await mint(platform, audience, WARM_UP), 200);
  const fresh = await mint(platform, audience, EXCHANGES);
  const row = async (what: string, assertions: readonly string[], status: number, aim: string) => ({
    'keys in the project': keys.toLocaleString('en'),
    what,
    ...(await cost(demo, assertions, status)),
    aim,
  });
  const rows = [await row('exchanged', fresh, 200, AIM)];
  if (keys > 0) return rows;
  const forged = fresh.map((assertion) => `${assertion.slice(0, -12)}${'A'.repeat(12)}`);
  const garbage = fresh.map((_, i) => `garbage${i}`);
  return [
    ...rows,
    await row('refused: replayed', fresh, 401, ''),
    await row('refused: forged', forged, 401, ''),
    await row('refused: garbage', garbage, 401, ''),
  ];
}

async function cost(demo: Demo, assertions: readonly string[], status: number) {
  const before = await processCost(demo);
  const { seconds, p50Ms, p99Ms } = await send(demo, assertions, status);
  const after = await processCost(demo);
  const cpuSeconds = after.cpuSeconds - before.cpuSeconds;
  return {
    'a core': `${Math.round(assertions.length / cpuSeconds).toLocaleString('en')}/s`,
    'CPU ms each': ((cpuSeconds / assertions.length) * 1000).toFixed(3),
    'seen by the sender': `${Math.round(assertions.length / seconds).toLocaleString('en')}/s`,
    'answer p50 ms': p50Ms.toFixed(1),
    'p99 ms': p99Ms.toFixed(1),
  };
}

async function mint(platform: CiIssuer, audience: string, count: number): Promise<string[]> {
  const assertions: string[] = [];
  for (let i = 0; i < count; i++) assertions.push(await platform.mint({ aud: audience }));
  return assertions;
}

/** Sends one after another on each connection. Throws when an answer has another status. */
async function send(demo: Demo, assertions: readonly string[], status: number) {
  const took: number[] = [];
  const fromMs = performance.now();
  let next = 0;
  const take = () => assertions[next++];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, () =>
      converse(demo, { take, status, onAnswer: (ms) => took.push(ms) }),
    ),
  );
  const seconds = (performance.now() - fromMs) / 1000;
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor(took.length * share)] ?? 0;
  return { seconds, p50Ms: at(0.5), p99Ms: at(0.99) };
}

interface Conversation {
  readonly take: () => string | undefined;
  readonly status: number;
  readonly onAnswer: (ms: number) => void;
}

function converse({ baseUrl }: Demo, { take, status, onAnswer }: Conversation): Promise<void> {
  const { hostname, port, host } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
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
