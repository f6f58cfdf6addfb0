/**
 * Keyless CI over the API: the real handlers, real verification of identity tokens against a local
 * issuer that behaves like GitHub's, once-only keys in a real table, and a person who owns the
 * project.
 */
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Test } from 'tap';
import { openOnceStore } from '../../sqlite/platform/once-store.ts';
import { createAssertionVerifier } from '../../src/ci/assertions.ts';
import { IssuerKeys } from '../../src/ci/jwks.ts';
import { openCi } from '../../src/ci/open-ci.ts';
import { Closers } from '../../src/platform/closers.ts';
import { createHealth } from '../../src/platform/health.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { type Answer, type CallOptions, ORIGIN, startRpcWorld } from './api-in-process.ts';
import { type ClaimChanges, startCiIssuer } from './ci-issuer.ts';

const SERVICE = '/svc.iam.v1.AutomationService/';
export const PROJECT_NAME = 'projects/demo';

export type CiRpcWorld = Awaited<ReturnType<typeof startCiRpcWorld>>;

/** Starts a world that ends with the test. */
export async function startCiRpcWorld(t: Test) {
  let nowMs = (): number => Date.now();
  const platform = await startCiIssuer({ now: () => nowMs() });
  t.teardown(() => platform.close());
  const outage = Object.assign(platform, { keysAway: false });
  let keyless: ReturnType<typeof openCi> | undefined;
  const world = await startRpcWorld(t, (parts) => {
    const { host, clock, random, log, publicUrl } = parts;
    nowMs = () => clock.now();
    const closers = new Closers(log);
    const path = join(dirname(parts.controlPath), 'claims.db');
    const onceStore = openOnceStore({ path, clock });
    closers.add('once-store', () => onceStore.close());
    const metrics = createMetrics({ clock, version: 'test' });
    closers.add('metrics', () => metrics.close());
    const fetchKeys = () =>
      outage.keysAway ? Promise.reject(new Error('The issuer is away')) : platform.fetchKeys();
    const keys = new IssuerKeys({ name: 'github', fetchKeys, clock, log });
    closers.add('keys', () => keys.close());
    const assertions = createAssertionVerifier({
      clock,
      issuers: [{ issuer: platform.issuer, keys }],
    });
    const settings = { ciIssuers: [platform.issuer] };
    const health = createHealth({ clock, log });
    keyless = openCi({
      base: { settings, clock, random, log, metrics, health, closers },
      storage: { onceStore },
      host,
      assertions,
      publicUrl,
      tokens: parts.tokens,
    });
    t.teardown(() => closers.closeAll());
    return keyless;
  });
  const owner = await world.signedInAs('demo', 'OWNER');
  const audience = `${ORIGIN}/projects/demo`;
  const post = (method: string, body: object, options: CallOptions): Promise<Answer> =>
    world.send(SERVICE + method, JSON.stringify(body), options);
  /** Calls a method as the owner. A mutation gets a request id of its own. */
  const ci = (method: string, body: object, options: CallOptions = { person: owner }) => {
    const requestId = /^(Get|List)/.test(method) ? {} : { requestId: String(randomUUID()) };
    return post(method, { ...requestId, ...body }, options);
  };
  /** Calls a method as a CI job: only the body proves its identity. */
  const anonymous = (method: string, body: object, options: CallOptions = {}) =>
    post(method, body, { key: null, ...options });
  const mint = (claims: ClaimChanges = {}) => platform.mint({ aud: audience, ...claims });
  const account = `${PROJECT_NAME}/serviceAccounts/${await world.account('demo', BOTH)}`;
  const start = (more: object = {}) =>
    ci('StartCiVerification', {
      serviceAccountName: account,
      displayName: 'Deploy',
      capabilities: BOTH,
      ...more,
    });
  const exchange = async (trustName: string, claims?: ClaimChanges) =>
    anonymous('ExchangeCiToken', { trustName, assertion: await mint(claims) });
  /** Approves a connection for these claims. Resolves with its trust name. */
  async function connect(claims?: ClaimChanges, capabilities: readonly string[] = BOTH) {
    const { setupId, pairingCode, verification } = (await start()).body;
    const assertion = await mint(claims);
    const proof = { setupId, pairingCode, assertion };
    const { claimsDigest } = (await anonymous('SubmitCiVerification', proof)).body;
    const approval = { name: verification.name, capabilities, claimsDigest };
    return String((await ci('ApproveCiVerification', approval)).body.name);
  }
  return {
    ...world,
    owner,
    audience,
    ci,
    anonymous,
    mint,
    account,
    start,
    exchange,
    connect,
    platform: outage,
    /** Resolves once no refusal is being recorded. */
    notesSettled: async () => keyless?.ci.settled(),
  };
}

const BOTH = ['monitoring.read', 'monitoring.write'];

/** Makes a request with this bearer. Resolves with the reason if it fails. */
export async function reads(
  world: CiRpcWorld,
  key: string,
  projectName = PROJECT_NAME,
): Promise<string> {
  const request = { projectName, inventoryOnly: true };
  const answer = await world.call('ListVMMonitoring', request, { key });
  return answer.status === 200 ? 'accepted' : String(answer.reason);
}
