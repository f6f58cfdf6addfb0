/**
 * Cost of authentication: a key, an access token and a session separately, in a project with one
 * key and with 100,000, for callers whose rows are in memory and for those whose rows are read from
 * the database. Then whole requests to the program as a user starts it, with few keys and with
 * many, by CPU time of its process per request.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCredential } from '../actors/identity/credentials.ts';
import { createHost, type RunningHost } from '../actors/platform/host/host.ts';
import { machineDefinitions } from '../machines/audit/registry.ts';
import { openInstanceStore } from '../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../sqlite/platform/embedded-stream/embedded-stream.ts';
import { openAccessTokens } from '../src/identity/auth/access-tokens.ts';
import { createAuthenticator } from '../src/identity/auth/authenticator.ts';
import { createIdentities } from '../src/identity/open-identity.ts';
import { readSessionCookie } from '../src/identity/sign-in/session-cookie.ts';
import type { Authenticator } from '../src/platform/access/authenticator.ts';
import { mintKey } from '../src/platform/keys.ts';
import { systemClock } from '../streams/platform/clock.ts';
import { systemRandom } from '../streams/platform/random.ts';
import { identitiesOf } from '../test/support/identities.ts';
import { type Demo, startProgram } from '../test/support/program.ts';
import { secretsIn } from '../test/support/secrets-in-memory.ts';
import { seedKeys } from './support/exchange-seed.ts';
import { processCost } from './support/process-cost.ts';
import { type Scope, withScope } from './support/scope.ts';

const MANY = 100_000;
const CALLS = 20_000;
const KEYS_A_DECISION = 100;
const PROJECT = 'demo';
const ORIGIN = 'http://127.0.0.1:8080';
const READ = ['monitoring.read'] as const;
const BY = { kind: 'operator', name: 'bench' } as const;
const AIM = '< 50';

const REQUESTS = 6_000;
const CONNECTIONS = 16;
/** The round with the least CPU counts: other work on the machine can only add time. */
const ROUNDS = 3;

type Row = Record<string, string | number>;

/** Measures and prints two tables. */
export async function run(): Promise<void> {
  console.table([
    ...(await withScope((scope) => measureAlone(scope, 1))),
    ...(await withScope((scope) => measureAlone(scope, MANY))),
  ]);
  const few = await withScope((scope) => measureRequests(scope, 0));
  const many = await withScope((scope) => measureRequests(scope, MANY));
  console.table([requestRow('a few', few, few), requestRow(MANY.toLocaleString('en'), many, few)]);
}

/** Time per authentication method with this many keys in the project, µs. */
async function measureAlone(scope: Scope, keys: number): Promise<Row[]> {
  const host = await openHost(scope);
  const people = createIdentities({
    host,
    clock: systemClock,
    random: systemRandom,
    lastSeen: { record: () => {}, of: () => undefined },
    onFault(what, error) {
      throw new Error(what, { cause: error });
    },
  });
  const sealed = new Map<string, Uint8Array>();
  const tokens = await openAccessTokens({
    secrets: secretsIn(sealed),
    clock: systemClock,
    issuer: () => ORIGIN,
  });
  const authenticator = createAuthenticator({
    host,
    clock: systemClock,
    tokens,
    recordUse: () => {},
    sessions: { people: people.people, readCookie: readSessionCookie, origin: () => ORIGIN },
  });
  scope.teardown(() => authenticator.close());
  const world = identitiesOf({ host, clock: systemClock, random: systemRandom, ...people });
  const account = await world.account(PROJECT, READ);
  const made = await makeKeys(host, account, keys);
  const connection = await world.connection(PROJECT, account, READ);
  const claims = { project: PROJECT, connection, tokenEpoch: 1 };
  const expiresMs = systemClock.now() + 900_000;
  const token = await tokens.sign({ ...claims, token: 'jti', expiresMs });
  const { secret } = await world.signedInAs(PROJECT, 'OWNER');
  const cookie = `svc_session=${secret}`;
  const displayed = { authorization: undefined, cookie, origin: ORIGIN, address: '127.0.0.1' };
  const person = await authenticator.identify(displayed);
  const unknown = mintKey('sk', { nowMs: systemClock.now(), random: systemRandom }).text;
  const one = `Bearer ${made[0]}`;
  const row = async (what: string, call: (i: number) => unknown): Promise<Row> => ({
    'keys in the project': keys.toLocaleString('en'),
    what,
    'µs each': (await microseconds(call)).toFixed(1),
    aim: AIM,
  });
  return [
    await row('a key', () => authenticator.authenticateKey(one)),
    ...(keys > 1
      ? [
          await row('each of the keys in turn, read from the database', (i) =>
            authenticator.authenticateKey(`Bearer ${made[(i * 7) % keys]}`),
          ),
        ]
      : []),
    await row('an invalid key', () => refused(authenticator, unknown)),
    await row('an access token', () => authenticator.authenticate(`Bearer ${token}`, '127.0.0.1')),
    await row('a session', () => authenticator.identify(displayed)),
    await row('a person’s membership in the project', () =>
      person.kind === 'human' ? person.memberOf(PROJECT) : undefined,
    ),
  ];
}

function refused(authenticator: Authenticator, key: string): void {
  try {
    authenticator.authenticateKey(`Bearer ${key}`);
  } catch {
    return;
  }
  throw new Error('An invalid key was accepted');
}

/** Minimum of a few rounds, to exclude other work on the machine. */
async function microseconds(call: (i: number) => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  let next = 0;
  for (let round = 0; round < ROUNDS + 1; round++) {
    const fromMs = performance.now();
    for (let i = 0; i < CALLS; i++) await call(next++);
    best = Math.min(best, ((performance.now() - fromMs) / CALLS) * 1000);
  }
  return best;
}

async function openHost(scope: Scope): Promise<RunningHost> {
  const folder = mkdtempSync(join(tmpdir(), 'authentication-bench-'));
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'control.db');
  const database = openDatabase({ path, synchronous: 'NORMAL', migrations: [] });
  const [clock, random] = [systemClock, systemRandom];
  const stream = openEmbeddedStream({ storage: join(folder, 'events.db'), clock, random });
  const host = createHost({
    stream,
    store: openInstanceStore(database),
    clock,
    random,
    node: 'bench',
    machines: machineDefinitions,
    expand: () => {},
  });
  await host.start();
  scope.teardown(async () => {
    await host.stop();
    await stream.close();
    database.close();
  });
  return host;
}

/** Creates keys of the account and returns their texts. */
async function makeKeys(host: RunningHost, account: string, count: number): Promise<string[]> {
  const owner = `projects/${PROJECT}/serviceAccounts/${account}`;
  const texts: string[] = [];
  while (texts.length < count) {
    const minted = Array.from({ length: Math.min(KEYS_A_DECISION, count - texts.length) }, () =>
      mintKey('sk', { nowMs: systemClock.now(), random: systemRandom }),
    );
    await host.submit({
      project: PROJECT,
      by: BY,
      decide(draft) {
        for (const key of minted) {
          const about = { project: PROJECT, displayName: 'k', owner, kind: 'sk' } as const;
          startCredential(draft, key, { ...about, capabilities: READ });
        }
      },
    });
    texts.push(...minted.map(({ text }) => text));
  }
  return texts;
}

/** CPU time of one small request with a key, ms: minimum of a few rounds. */
async function measureRequests(scope: Scope, keys: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'authentication-bench-'));
  scope.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const settings = { SVC_COLLECT: 'none', SVC_DEMO: 'on', SVC_METRICS_ON_API: 'on' };
  const first = await startProgram(scope, folder, settings);
  await first.stop();
  await seedKeys(folder, keys);
  const { demo } = await startProgram(scope, folder, settings);
  await sendRequests(demo);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const before = await processCost(demo);
    await sendRequests(demo);
    const after = await processCost(demo);
    best = Math.min(best, ((after.cpuSeconds - before.cpuSeconds) / REQUESTS) * 1000);
  }
  return best;
}

async function sendRequests({ baseUrl, apiKey, projectName }: Demo): Promise<void> {
  let left = REQUESTS;
  const converse = async (): Promise<void> => {
    while (left-- > 0) {
      const url = `${baseUrl}/svc.iam.v1.AutomationService/ListPermissionTemplates`;
      const answer = await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ projectName }),
      });
      await answer.text();
      if (!answer.ok) throw new Error(`A request returned ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, converse));
}

function requestRow(keys: string, cpuMs: number, fewMs: number): Row {
  return {
    'keys in the project': keys,
    what: 'a request with a key, of the program',
    'CPU ms each': cpuMs.toFixed(3),
    compared: `${((cpuMs / fewMs - 1) * 100).toFixed(0)} %`,
    aim: '≤ 10 % more',
  };
}
