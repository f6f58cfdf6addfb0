/**
 * Keys that are revoked while requests with them are in flight, over real connections. The test
 * chooses their number: a few in `test/identity`, a thousand in `test/long`.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Test } from 'tap';
import { startCredential } from '../../actors/identity/credentials.ts';
import { mintKey } from '../../src/platform/keys.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { cookieHeaders, startRpcWorld } from '../support/api-in-process.ts';
import { tester } from '../support/host-in-memory.ts';
import { submit } from '../support/submit.ts';

type Headers = Readonly<Record<string, string>>;
const IAM = '/svc.iam.v1.AutomationService/';
const READ = '/svc.monitoring.v1.AlertService/ListAlertRules';
const PROJECT = 'projects/demo';
/** Requests in flight with a key while it is revoked. */
const LOAD = 2;
/** Rejected credentials are limited by address, so the attempts come from many addresses. */
const ADDRESSES = 20;

/** Revokes keys one after another while each is in use: no request after the answer succeeds. */
export async function revokeUnderLoad(t: Test, tries: number): Promise<void> {
  const { makeKeys, revoke, read } = await startRevoking(t);
  const underWay = { accepted: 0, refused: 0 };
  const record = async (headers: Headers) => {
    const { status } = await read(headers);
    if (status === 200) underWay.accepted++;
    else underWay.refused++;
  };
  const seen = new Map<number | undefined, number>();
  for (const { name, headers } of await makeKeys(tries)) {
    let isAnswered = false;
    // One is in flight before the revocation, and at least one at any time until it is answered.
    const before = record(headers);
    const beside = (async () => {
      while (!isAnswered) await record(headers);
    })();
    const { status } = await revoke(name);
    isAnswered = true;
    if (status !== 200) t.fail(`the revocation answers ${status}`);
    const after = await read(headers);
    seen.set(after.status, (seen.get(after.status) ?? 0) + 1);
    await Promise.all([before, beside]);
  }
  t.equal(seen.get(200) ?? 0, 0, 'requests that succeeded after the answer');
  t.same([...seen], [[401, tries]], 'every one of them was rejected with the right status');
  t.ok(underWay.accepted >= tries, `${underWay.accepted} succeeded while their key was good`);
  t.ok(underWay.refused > 0, `${underWay.refused} used a key that had just been revoked`);
}

/** A listening world with an owner and a service account, and calls over kept connections. */
export async function startRevoking(t: Test) {
  const world = await startRpcWorld(t);
  const url = await world.app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: LOAD + 2 });
  t.teardown(() => agent.destroy());
  const owner = cookieHeaders(await world.signedInAs('demo', 'OWNER'));
  const account = await world.account('demo', ['monitoring.read', 'monitoring.write']);
  let begun = 0;
  const begin = (path: string, headers: Headers): ClientRequest =>
    request(new URL(path, url), {
      method: 'POST',
      agent,
      localAddress: `127.0.0.${1 + (begun++ % ADDRESSES)}`,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const call = async (path: string, headers: Headers, body: object) => {
    const sent = begin(path, headers);
    sent.end(JSON.stringify(body));
    return answered(sent);
  };
  const makeKey = async () => {
    const { body } = await call(`${IAM}CreateKey`, owner, {
      parent: `${PROJECT}/serviceAccounts/${account}`,
      requestId: randomUUID(),
      displayName: 'k',
      capabilities: ['monitoring.read', 'monitoring.write'],
    });
    return { name: body.key.name, headers: { authorization: `Bearer ${body.secret}` } };
  };
  /** Creates many keys, a hundred per commit: only their end is under test. */
  const makeKeys = async (count: number) => {
    const owner = `${PROJECT}/serviceAccounts/${account}`;
    const { host, clock } = world;
    const random = systemRandom;
    const all = Array.from({ length: count }, () => mintKey('sk', { nowMs: clock.now(), random }));
    for (let first = 0; first < count; first += 100) {
      await submit(host, { project: 'demo' }, (draft) => {
        for (const minted of all.slice(first, first + 100)) {
          startCredential(draft, minted, {
            project: 'demo',
            kind: 'sk',
            capabilities: ['monitoring.read'],
            owner,
            displayName: 'k',
            createdBy: tester.name,
          });
        }
      });
    }
    return all.map(({ id, text }) => ({
      name: `${owner}/keys/${id}`,
      headers: { authorization: `Bearer ${text}` },
    }));
  };
  const revoke = (name: string) =>
    call(`${IAM}RevokeKey`, owner, { name, requestId: randomUUID(), reason: 'LEAKED' });
  const read = (headers: Headers) => call(READ, headers, { projectName: PROJECT });
  return { ...world, begin, makeKey, makeKeys, revoke, read };
}

/** The answer to a request, its body read as JSON. */
export async function answered(sent: ClientRequest) {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // Answers are read by tests that know their shape.
  // biome-ignore lint/suspicious/noExplicitAny: JSON of several methods
  const body: any = await json(response);
  return { status: response.statusCode, body };
}
