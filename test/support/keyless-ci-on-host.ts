/**
 * Keyless CI on a real host with the real machines, without the API: a service account, and plain
 * JSON in place of a CI platform's signed tokens, so that a test states a token's exact claims.
 */

import type { Test } from 'tap';
import type { AssertionVerifier, WorkflowIdentity } from '../../actors/ci/assertion.ts';
import { createKeylessCi, type ExchangeOutcome, type KeylessCi } from '../../actors/ci/exchange.ts';
import type { PairingCodes } from '../../actors/ci/verifications.ts';
import type { EventOf } from '../../actors/platform/host/host-port.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import { hashKey, mintSecret } from '../../src/platform/keys.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import type { OnceStore } from '../../streams/platform/once-store.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type StreamWorld, startWorld, type World } from './host-in-memory.ts';
import { submit } from './submit.ts';

export const PROJECT = 'demo';
export const ACCOUNT = 'deployer';
const PUBLIC_URL = 'https://monitoring.example';
export const AUDIENCE = `${PUBLIC_URL}/projects/${PROJECT}`;
/** Network of the tests' jobs. */
export const NETWORK = '192.0.2.1';
export const owner: Actor = { kind: 'human', name: 'people/olga' };

/** Claims of a push to the main branch of `acme/shop`. */
export const BOUND = {
  repository: 'acme/shop',
  repository_id: '1001',
  repository_owner: 'acme',
  repository_owner_id: '77',
  workflow_ref: 'acme/shop/.github/workflows/deploy.yml@refs/heads/main',
  job_workflow_ref: 'acme/shop/.github/workflows/deploy.yml@refs/heads/main',
  ref: 'refs/heads/main',
  ref_type: 'branch',
  event_name: 'push',
  environment: null,
  runner_environment: 'github-hosted',
} as const satisfies WorkflowIdentity['bound'];

export const RECORDED = {
  actor: 'olga',
  run_id: '900',
  sha: 'd2e26ac5133a120b985d98b020f09d045eeeb609',
} as const satisfies WorkflowIdentity['recorded'];

export const OWNER_CLAIMS = ['repository_id', 'repository_owner_id'] as const;
export const NAME_CLAIMS = ['repository', 'repository_owner'] as const;

/** Content of a test token. Omitted fields are valid. */
export interface TestToken {
  readonly bound?: Readonly<Record<string, unknown>>;
  readonly recorded?: WorkflowIdentity['recorded'];
  readonly refused?: WorkflowIdentity['refused'];
  readonly warnings?: readonly string[];
  readonly jti?: string;
  readonly audience?: string;
  readonly issuer?: string;
  /** Time of issue, Unix ms; usually now. */
  readonly issuedMs?: number;
}

export interface CiWorld extends StreamWorld {
  readonly ci: KeylessCi;
  /** Outcomes of exchanges, in order. */
  readonly outcomes: ExchangeOutcome[];
  /** Refusals that could not be recorded. */
  readonly lost: number[];
  /** Outcomes of wrong pairing codes, in order. */
  readonly wrongCodes: string[];
  readonly burned: Set<string>;
  /** URLs of the configured issuers, by name. The operator can change them. */
  readonly issuers: Record<string, string>;
  /** Runs while an assertion is being verified; verification waits for it. */
  meanwhile: (() => Promise<unknown>) | undefined;
  /** A fresh assertion. */
  assertion(token?: TestToken): string;
  /** A fresh request key. */
  request(): { scope: string; id: string; fingerprint: string };
  /** Approves a connection for the token's claims. Resolves with its id. */
  connect(token?: TestToken, capabilities?: readonly string[]): Promise<string>;
  /**
   * Exchanges for the connection. Resolves with the cause or reason of a refusal, or `EXCHANGED`.
   */
  tryExchange(connection: string, token?: TestToken): Promise<string>;
}

/** Starts a world that ends with the test. `beside`: as a second node on that world's stream. */
export async function startCiWorld(t: Test, beside?: CiWorld): Promise<CiWorld> {
  const world = await startWorld(t, beside);
  const { host, clock, random } = world;
  const outcomes: ExchangeOutcome[] = [];
  const lost: number[] = [];
  const wrongCodes: string[] = [];
  const issuers = { github: 'https://github.example', gitlab: 'https://gitlab.example' };
  const burned = beside?.burned ?? new Set<string>();
  const ci = createKeylessCi({
    host,
    clock,
    random,
    assertions: plainAssertions(issuers, clock, async () => {
      const { meanwhile } = made;
      made.meanwhile = undefined;
      await meanwhile?.();
    }),
    onceStore: onceStoreIn(burned),
    tokens: { sign: async (claims) => `token ${JSON.stringify(claims)}` },
    codes: pairingCodes(world),
    publicUrl: () => PUBLIC_URL,
    count: (outcome) => void outcomes.push(outcome),
    countWrongCode: (outcome) => void wrongCodes.push(outcome),
    onLost: (refusals) => void lost.push(refusals),
  });
  if (!beside) await startAccount(world, ACCOUNT);
  let serial = 0;
  const node = beside ? 'b' : 'a';
  const assertion = (token: TestToken = {}) =>
    JSON.stringify({ jti: `${node}${serial++}`, ...token });
  const request = () => ({ scope: owner.name, id: `${node}${serial++}`, fingerprint: 'f' });
  const change = () => ({ project: PROJECT, by: owner, request: request() });
  const connect: CiWorld['connect'] = async (token, capabilities = ['monitoring.read']) => {
    const started = await ci.start({
      ...change(),
      serviceAccount: ACCOUNT,
      displayName: 'Deploy',
      capabilities,
      issuer: '',
    });
    const { verification, pairingCode = '' } = started.answer;
    const proof = {
      setupId: verification,
      pairingCode,
      network: NETWORK,
      assertion: assertion(token),
    };
    const { digest } = await ci.submitProof(proof);
    const approval = { verification, displayName: '', capabilities, digest };
    return (await ci.approve({ ...change(), ...approval })).answer.connection;
  };
  const tryExchange: CiWorld['tryExchange'] = (connection, token) =>
    causeOf(ci.exchange({ project: PROJECT, connection, assertion: assertion(token) }));
  t.teardown(() => ci.close());
  const made: CiWorld = {
    ...world,
    ci,
    outcomes,
    lost,
    wrongCodes,
    burned,
    issuers,
    assertion,
    request,
    connect,
    tryExchange,
    meanwhile: undefined,
  };
  return made;
}

/** A service account that may read and write. */
async function startAccount({ host }: Pick<World, 'host'>, id: string): Promise<void> {
  const capabilities = ['monitoring.read', 'monitoring.write'];
  await submit(host, { project: PROJECT }, (draft) => {
    const named = { displayName: 'Deployer', template: null, createdBy: 'people/olga' };
    const input = { at: draft.at, project: PROJECT, capabilities, ...named };
    draft.start('serviceAccount', id, input);
  });
}

/** Sends an event to one of the project's instances. */
export async function send<M extends MachineName>(
  { host }: Pick<World, 'host'>,
  machine: M,
  instance: string,
  event: { readonly type: string } & Readonly<Record<string, unknown>>,
): Promise<void> {
  await submit(
    host,
    { project: PROJECT },
    (draft) =>
      void draft.send(machine, instance, { by: 'test', ...event, at: draft.at } as EventOf<M>),
  );
}

/** `EXCHANGED`, or the cause of the refusal, or its reason if it has no cause. */
export async function causeOf(attempt: Promise<unknown>): Promise<string> {
  const refusal = await refusalOf(attempt);
  return refusal ? (refusal.metadata.cause ?? refusal.reason) : 'EXCHANGED';
}

/** Refusal of an attempt; undefined if it succeeds. */
export async function refusalOf(attempt: Promise<unknown>): Promise<Refusal | undefined> {
  try {
    await attempt;
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

/** Tokens that are JSON without a signature: their claims are those of the test. */
function plainAssertions(
  issuers: Readonly<Record<string, string>>,
  clock: Clock,
  onCheck: () => Promise<void> = async () => {},
): AssertionVerifier {
  return {
    names: () => Object.keys(issuers),
    urlOf: (name) => issuers[name],
    async verify(assertion, expected) {
      await onCheck();
      const token = tokenIn(assertion);
      if (!token) throw new Refusal('BAD_ASSERTION', 'Not a token', { cause: 'MALFORMED' });
      const { issuer = 'github', audience = AUDIENCE, jti = '' } = token;
      if (issuer !== expected.issuer || audience !== expected.audience) {
        throw new Refusal('BAD_ASSERTION', 'Not for us', { cause: 'AUDIENCE' });
      }
      return {
        issuerUrl: issuers[issuer] ?? '',
        jti,
        issuedMs: token.issuedMs ?? clock.now(),
        burnUntilMs: clock.now() + 600_000,
        claims: {
          bound: { ...BOUND, ...token.bound } as WorkflowIdentity['bound'],
          recorded: token.recorded ?? RECORDED,
          ownerClaims: OWNER_CLAIMS,
          nameClaims: NAME_CLAIMS,
          run: (token.recorded ?? RECORDED).run_id ?? null,
          refused: token.refused ?? [],
          warnings: token.warnings ?? [],
        },
      };
    },
  };
}

function tokenIn(assertion: string): TestToken | undefined {
  try {
    return JSON.parse(assertion);
  } catch {
    return undefined;
  }
}

function onceStoreIn(burned: Set<string>): OnceStore {
  return {
    async takeOnce(key) {
      if (burned.has(key)) return false;
      burned.add(key);
      return true;
    },
  };
}

/** The real pairing codes. */
function pairingCodes({ clock, random }: Pick<World, 'clock' | 'random'>): PairingCodes {
  return {
    mint: (id) => mintSecret('pair', { nowMs: clock.now(), random, id }),
    hash: hashKey,
  };
}
