/**
 * The configured issuers as a whole: the setting that lists them, their keys over HTTP, how
 * operators see an outage or a new claim, and a token from a job's official client up to its
 * verification.
 */
import { spawn } from 'node:child_process';
import { type Test, test } from 'tap';
import { createAssertionVerifier } from '../../src/ci/assertions.ts';
import {
  BACKGROUND_RETRY_MS,
  createKeyFetcher,
  FETCH_MS,
  IssuerKeys,
  RENEW_MS,
  RETRY_PAUSE_MS,
  UNKNOWN_KEY_PAUSE_MS,
} from '../../src/ci/jwks.ts';
import { openIssuers } from '../../src/ci/open-ci.ts';
import { Closers } from '../../src/platform/closers.ts';
import { createHealth } from '../../src/platform/health.ts';
import { type Log, silentLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { ciIssuers } from '../../src/platform/settings/ci-issuers.ts';
import { BadSetting } from '../../src/platform/settings/setting-kinds.ts';
import { systemClock, VirtualClock } from '../../streams/platform/clock.ts';
import { type Behaviour, startCiIssuer } from '../support/ci-issuer.ts';

const START_MS = Date.UTC(2026, 10, 1);
const AUDIENCE = 'https://monitoring.example.com/projects/demo';
const notReady = { name: 'Refusal', reason: 'NOT_READY' };

test('public issuers are configured by name, private ones by kind and address', async (t) => {
  const github = {
    name: 'github',
    kind: 'github',
    url: 'https://token.actions.githubusercontent.com',
    keysUrl: undefined,
  };
  t.same(ciIssuers.parse('github'), [github]);
  t.same(ciIssuers.parse('none'), []);
  const list =
    'github, gitlab,buildkite,' +
    'ghes=github@https://ghe.example/_services/token,lab=gitlab@https://git.example:8443,' +
    'circle=circleci@https://oidc.circleci.com/org/1a2b,local=github@http://127.0.0.1:9000,' +
    'far=gitlab@https://git.example;keys=https://keys.example/git';
  t.same(
    ciIssuers
      .parse(list)
      .map((one) => `${one.name} ${one.kind} ${one.url} ${one.keysUrl ?? ''}`.trim()),
    [
      `github github ${github.url}`,
      'gitlab gitlab https://gitlab.com',
      'buildkite buildkite https://agent.buildkite.com',
      'ghes github https://ghe.example/_services/token',
      'lab gitlab https://git.example:8443',
      'circle circleci https://oidc.circleci.com/org/1a2b',
      'local github http://127.0.0.1:9000',
      'far gitlab https://git.example https://keys.example/git',
    ],
  );
});

test('an invalid setting is rejected with a valid alternative', async (t) => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['gitbub', /"gitbub"/],
    ['github,', /""/],
    ['circleci', /circleci=circleci@https:/],
    ['x=jenkins@https://ci.example', /jenkins/],
    ['X Y=github@https://ci.example', /X Y/],
    ['x=github@ci.example', /not an address/],
    ['x=github@http://ci.example', /https/],
    ['x=github@http://10.0.0.1', /loopback/],
    ['x=github@file:///etc/passwd', /https/],
    ['x=github@https://user:pw@ci.example', /more than a path/],
    ['x=github@https://ci.example/?a=b', /more than a path/],
    ['x=github@https://ci.example/#a', /more than a path/],
    ['x=github@https://CI.example', /https:\/\/ci\.example/],
    ['x=github@https://ci.example:443', /as its tokens do/],
    ['x=github@https://ci.example/a/../b', /as its tokens do/],
    ['x=github@https://ci.example;keys=http://keys.example', /https/],
    ['x=github@https://ci.example;keys=', /not an address/],
    ['x=github@https://ci.example;other', /"x=/],
    ['github;keys=https://keys.example', /"github;/],
    ['github,github', /twice/],
    ['github,x=github@https://token.actions.githubusercontent.com', /twice/],
  ];
  for (const [text, message] of cases) {
    t.match(refusalOf(text)?.phrase(JSON.stringify), message, text);
    t.throws(() => ciIssuers.parse(text), BadSetting, text);
  }
});

function refusalOf(text: string): BadSetting | undefined {
  try {
    ciIssuers.parse(text);
    return undefined;
  } catch (error) {
    return error as BadSetting;
  }
}

async function overHttp(t: Test) {
  const platform = await startCiIssuer();
  const fetcher = createKeyFetcher();
  t.teardown(async () => {
    await fetcher.close();
    await platform.close();
  });
  const read = (signal = AbortSignal.timeout(180_000)) => fetcher.fetch(platform.issuer, signal);
  return { platform, fetcher, read };
}

test('CI-14: keys are read from the issuer’s address without redirects', async (t) => {
  const { platform, read } = await overHttp(t);
  t.equal(await read(), await platform.fetchKeys());
  const elsewhere = await startCiIssuer();
  t.teardown(() => elsewhere.close());
  const headers = { location: elsewhere.keysUrl };
  for (const status of [301, 302, 303, 307, 308]) {
    platform.keySet.next.push({ kind: 'status', status, headers });
    await t.rejects(read(), { message: new RegExp(`answered ${status}$`) });
  }
  t.equal(elsewhere.keySet.requests, 0, 'no redirect is followed');
});

test('CI-14: the discovery document locates the keys on its issuer’s own host', async (t) => {
  const { platform, fetcher, read } = await overHttp(t);
  const { url, keysUrl, discovery } = platform;
  const says = (document: unknown) => {
    discovery.document = () => JSON.stringify(document);
  };
  for (const jwks_uri of [undefined, 7, '/keys', '']) {
    says({ issuer: url, jwks_uri });
    await t.rejects(read(), /names no jwks_uri/, String(jwks_uri));
  }
  for (const issuer of ['', `${url}/`, 'https://other.example']) {
    says({ issuer, jwks_uri: keysUrl });
    await t.rejects(read(), /belongs to another issuer/, issuer);
  }
  const elsewhere = await startCiIssuer();
  t.teardown(() => elsewhere.close());
  says({ issuer: url, jwks_uri: elsewhere.keysUrl });
  await t.rejects(read(), /names keys on 127\.0\.0\.1:\d+.*;keys=/);
  says(null);
  await t.rejects(read(), /belongs to another issuer/);
  t.equal(elsewhere.keySet.requests, 0);
  t.equal(platform.keySet.requests, 0);
  discovery.behaviour = { kind: 'status', status: 404 };
  await t.rejects(read(), /openid-configuration answered 404$/);
  const named = { url, keysUrl: elsewhere.keysUrl };
  t.equal(
    await fetcher.fetch(named, AbortSignal.timeout(180_000)),
    await elsewhere.fetchKeys(),
    'an operator may configure keys on another host',
  );
});

test('an answer that is too large or invalid is discarded', async (t) => {
  const { platform, read } = await overHttp(t);
  const large = 'x'.repeat(300 * 1024);
  platform.keySet.next.push({ kind: 'status', status: 200, body: large });
  await t.rejects(read(), /more than 256 KiB/);
  for (const status of [204, 404, 500, 503]) {
    platform.keySet.next.push({ kind: 'status', status });
    await t.rejects(read(), { message: new RegExp(`answered ${status}$`) });
  }
  platform.keySet.next.push({ kind: 'reset' });
  await t.rejects(read());
  // Not one of `next`: on a busy machine the request may be aborted before the server reads it.
  platform.keySet.behaviour = { kind: 'hang' };
  await t.rejects(read(AbortSignal.timeout(50)), 'a hanging request ends when it is aborted');
  platform.keySet.behaviour = { kind: 'answer' };
  t.equal(await read(), await platform.fetchKeys(), 'the next one is read');
});

test('configured issuers: health, metrics and log report an outage and a new claim', async (t) => {
  const clock = new VirtualClock(START_MS);
  const platform = await startCiIssuer({ now: () => clock.now() });
  const lines: string[] = [];
  const warn = (facts: object, message: string) =>
    void lines.push(`${message} ${'claim' in facts ? facts.claim : ''}`);
  const log: Log = { ...silentLog, warn };
  const metrics = createMetrics({ clock, version: 'test' });
  const health = createHealth({ clock, log: silentLog });
  const closers = new Closers(silentLog);
  t.teardown(async () => {
    await closers.closeAll();
    health.close();
    metrics.close();
    await platform.close();
  });
  const settings = { ciIssuers: [platform.issuer] };
  const issuers = openIssuers({ settings, clock, log, metrics, health, closers });
  const verify = async () => {
    const token = await platform.mint({ aud: AUDIENCE, brand_new: '1' });
    return issuers.verify(token, { issuer: 'github', audience: AUDIENCE });
  };
  const state = () =>
    health.report().parts.find(({ name }) => name === 'CI issuer github')?.health.state;
  t.equal(state(), 'ready', 'nothing is fetched before it is needed');
  t.notMatch(await metrics.text(), /svc_ci_keys_age_seconds\{/, 'no age before the first fetch');

  platform.keySet.behaviour = { kind: 'status', status: 503 };
  await t.rejects(verify(), notReady);
  t.equal(state(), 'degraded');
  t.equal(health.report().ready, true, 'the rest of the service is ready');
  t.match(lines.splice(0), [/cannot be read/]);

  platform.keySet.behaviour = { kind: 'answer' };
  await clock.advance(RETRY_PAUSE_MS);
  await verify();
  await verify();
  t.equal(state(), 'ready');
  t.equal(platform.keySet.requests, 2);
  t.match(lines, [/unknown to this version.* brand_new$/]);
  t.equal(lines.length, 1, 'a new claim is reported once');
  await clock.advance(60_000);
  const text = await metrics.text();
  t.match(text, 'svc_ci_unknown_claims_total{issuer="github"} 2');
  t.match(text, 'svc_ci_keys_fetches_total{issuer="github",outcome="ok"} 1');
  t.match(text, 'svc_ci_keys_fetches_total{issuer="github",outcome="failed"} 1');
  t.match(text, 'svc_ci_keys_age_seconds{issuer="github"} 60');
});

test('over HTTP: an issuer’s answer can end trust; a failure cannot', async (t) => {
  const clock = new VirtualClock(START_MS);
  const platform = await startCiIssuer({ now: () => clock.now() });
  const metrics = createMetrics({ clock, version: 'test' });
  const health = createHealth({ clock, log: silentLog });
  const closers = new Closers(silentLog);
  t.teardown(async () => {
    await closers.closeAll();
    health.close();
    metrics.close();
    await platform.close();
  });
  const settings = { ciIssuers: [platform.issuer] };
  const parts = { settings, clock, log: silentLog, metrics, health, closers };
  const issuers = openIssuers(parts);
  /** The outcome of a fresh token that names this key. */
  const causeOf = async (kid: string) => {
    const token = await platform.mint({ aud: AUDIENCE }, { header: { kid } });
    return issuers.verify(token, { issuer: 'github', audience: AUDIENCE }).then(
      () => 'holds',
      ({ reason, metadata }) => metadata.cause ?? reason,
    );
  };
  const { kid } = platform.key();
  const fault = () => {
    const part = health.report().parts.find(({ name }) => name === 'CI issuer github');
    if (part?.health.state !== 'degraded') return part?.health.state;
    return /cannot be read|lists no key/.exec(part.health.reason)?.[0];
  };
  /** The outcome of a valid token after the issuer's keys were read again in the background. */
  const after = async (behaviour: Behaviour): Promise<readonly unknown[]> => {
    platform.keySet.behaviour = behaviour;
    await clock.advance(fault() === 'cannot be read' ? BACKGROUND_RETRY_MS : RENEW_MS);
    await causeOf('never listed'); // Waits for the read in progress.
    return [await causeOf(kid), fault()];
  };
  t.equal(await causeOf(kid), 'holds');
  const said = (body: string): Behaviour => ({ kind: 'status', status: 200, body });
  const whole = await platform.fetchKeys();
  const failures: readonly Behaviour[] = [
    { kind: 'status', status: 503, body: '{"keys":[]}' },
    { kind: 'status', status: 302, headers: { location: platform.keysUrl } },
    { kind: 'reset' },
    said('{}'),
    said('{"keys":"x"}'),
    said(whole.slice(0, -9)),
    said('{"keys":[]}'.padEnd(300 * 1024)),
  ];
  for (const failure of failures) {
    const what = JSON.stringify(failure).slice(0, 60);
    t.same(await after(failure), ['holds', 'cannot be read'], what);
  }
  t.same(await after({ kind: 'answer' }), ['holds', 'ready']);
  t.same(await after(said('{"keys":[]}')), ['UNKNOWN_KEY', 'lists no key']);
  t.match(await metrics.text(), 'svc_ci_keys_trusted{issuer="github"} 0');
  t.same(await after({ kind: 'answer' }), ['holds', 'ready']);
  await platform.rotate({ keepOld: false });
  t.same(await after({ kind: 'answer' }), ['UNKNOWN_KEY', 'ready'], 'one key was removed');
});

test('an unreachable issuer affects only its own tokens', async (t) => {
  const clock = new VirtualClock(START_MS);
  const [away, here] = await Promise.all([
    startCiIssuer({ now: () => clock.now() }),
    startCiIssuer({ now: () => clock.now() }),
  ]);
  t.teardown(() => Promise.all([away.close(), here.close()]));
  const keys = (fetchKeys: () => Promise<string>) =>
    new IssuerKeys({ name: 'one', clock, log: silentLog, fetchKeys });
  const never = () => new Promise<string>(() => {});
  const issuers = createAssertionVerifier({
    clock,
    issuers: [
      { issuer: { ...away.issuer, name: 'away' }, keys: keys(never) },
      { issuer: here.issuer, keys: keys(here.fetchKeys) },
    ],
  });
  const waiting = issuers.verify(await away.mint({ aud: 'a' }), { issuer: 'away', audience: 'a' });
  const refused = t.rejects(waiting, notReady);
  const other = await issuers.verify(await here.mint({ aud: 'a' }), {
    issuer: 'github',
    audience: 'a',
  });
  t.equal(other.issuerUrl, here.url, 'answered while the other still waits');
  await clock.advance(FETCH_MS);
  await refused;
});

test('keys are replaced: old tokens are valid only while the old key is listed', async (t) => {
  const clock = new VirtualClock(START_MS);
  const platform = await startCiIssuer({ now: () => clock.now() });
  t.teardown(() => platform.close());
  const keys = new IssuerKeys({
    name: 'github',
    clock,
    log: silentLog,
    fetchKeys: platform.fetchKeys,
  });
  const issuers = createAssertionVerifier({
    clock,
    issuers: [{ issuer: platform.issuer, keys }],
  });
  const verify = (token: string) => issuers.verify(token, { issuer: 'github', audience: 'a' });
  const old = await platform.mint({ aud: 'a' });
  await verify(old);
  await clock.advance(UNKNOWN_KEY_PAUSE_MS);
  await platform.rotate();
  await verify(await platform.mint({ aud: 'a' }));
  await verify(old);
  await clock.advance(UNKNOWN_KEY_PAUSE_MS);
  await platform.rotate({ keepOld: false });
  await verify(await platform.mint({ aud: 'a' }));
  const gone = { name: 'Refusal', metadata: { cause: 'UNKNOWN_KEY' } };
  await t.rejects(verify(old), gone);
});

/** An issuer and its verifier, on the machine's clock. */
async function running(t: Test) {
  const platform = await startCiIssuer();
  t.teardown(() => platform.close());
  const keys = new IssuerKeys({
    name: 'github',
    clock: systemClock,
    log: silentLog,
    fetchKeys: platform.fetchKeys,
  });
  t.teardown(() => keys.close());
  const checked = createAssertionVerifier({
    issuers: [{ issuer: platform.issuer, keys }],
    clock: systemClock,
  });
  const verify = (token: string) => checked.verify(token, { issuer: 'github', audience: AUDIENCE });
  return { platform, verify };
}

/** The official client, as a job runs it: in a process with the runner's environment. */
function getIdToken(environment: Readonly<Record<string, string>>, audience: string) {
  const code = `import { getIDToken } from '@actions/core';
    try { process.stdout.write('\\nTOKEN ' + await getIDToken(${JSON.stringify(audience)})); }
    catch (error) { process.stdout.write('\\nERROR ' + error.message); }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 600_000,
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  return new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(output));
  });
}

test('a job’s official client gets a valid token here', async (t) => {
  const { platform, verify } = await running(t);
  platform.job.claims = { environment: 'production' };
  // It retries after a gateway's answers, which the real endpoint sometimes gives.
  platform.tokens.next.push({ kind: 'status', status: 503 }, { kind: 'status', status: 502 });
  const output = await getIdToken(platform.jobEnvironment, AUDIENCE);
  const token = /^TOKEN (.*)$/m.exec(output)?.[1] ?? output;
  t.match(output, `::add-mask::${token}`, 'the client masks it');
  t.same(platform.tokens.audiences, [AUDIENCE], 'the audience arrives unchanged');
  t.equal(platform.tokens.requests, 3);
  const { claims } = await verify(token);
  t.equal(claims.bound.environment, 'production');
});

test('the endpoint rejects a stranger, as the real one does', async (t) => {
  const { platform } = await running(t);
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = '', ...rest } = platform.jobEnvironment;
  const stranger = { ...rest, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'guessed' };
  const output = await getIdToken({ ...stranger, ACTIONS_ID_TOKEN_REQUEST_URL: url }, AUDIENCE);
  t.match(output, /ERROR .*401/s);
  t.equal((await fetch(`${url.split('?')[0]}?audience=x`)).status, 401);
  t.same(platform.tokens.audiences, []);
});
