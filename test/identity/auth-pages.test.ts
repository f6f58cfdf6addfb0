/**
 * The sign-in pages, on real sockets with real people behind them: links, cookies, sessions and the
 * command line, and the service from its start.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { keepsCookies } from '../../src/identity/sign-in/session-cookie.ts';
import { silentLog } from '../../src/platform/log.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { createService } from '../../src/service/service.ts';
import { type Clock, systemClock } from '../../streams/platform/clock.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { HOUR_MS, tester } from '../support/host-in-memory.ts';
import { settle } from '../support/people-on-host.ts';
import { dataFolder } from '../support/program.ts';
import { Browser, sessionState, startSignInWorld } from '../support/sign-in-server.ts';

const COOKIE = 'svc_session';
const HOST_COOKIE = '__Host-svc_session';

test('opening a link does nothing; its button signs in once, with a cookie', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  for (const method of ['GET', 'HEAD'] as const) await browser.send('/auth/link', { method });
  const answer = await browser.post('/auth/link', { token });
  t.equal(answer.status, 303);
  t.equal(answer.location, `${world.origin}/`);
  const [set = ''] = answer.headers.getSetCookie();
  t.match(set, /^svc_session=svc_session_\w+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/);
  t.equal(sessionState(world.people, browser.cookies.get(COOKIE)), 'live');
  t.match((await browser.get('/auth/signed-in')).text, /You are signed in/);
  const again = await new Browser(world).post('/auth/link', { token });
  t.equal(again.status, 401);
  t.match(again.text, /The link was used/);
});

test('on https the cookie has the prefix that other hosts and paths cannot set', async (t) => {
  const world = await startSignInWorld(t, { SVC_PUBLIC_URL: 'https://svc.example.com' });
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  const { headers, status } = await browser.post('/auth/link', { token });
  t.equal(status, 303);
  const [set = ''] = headers.getSetCookie();
  t.match(set, /^__Host-svc_session=\w+; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/);
  t.notMatch(set, /Domain/i);
  // Other hosts and paths could set the unprefixed name there.
  const secret = browser.cookies.get(HOST_COOKIE) ?? '';
  const other = await new Browser(world).get('/auth/signed-in', { cookie: `${COOKIE}=${secret}` });
  t.equal(other.location, 'https://svc.example.com/auth/sign-in');
});

test('sign-in is disabled if cookies would be sent in the clear', async (t) => {
  const world = await startSignInWorld(t, { SVC_PUBLIC_URL: 'http://svc.example.com' });
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  const answer = await browser.post('/auth/link', { token });
  t.equal(answer.status, 403);
  t.match(answer.text, /Use https/);
  t.same(answer.headers.getSetCookie(), []);
  for (const [origin, keeps] of [
    ['https://a.b', true],
    ['http://localhost:1', true],
    ['http://127.9.9.9', true],
    ['http://[::1]:80', true],
    ['http://127.0.0.1.evil.example', false],
    ['http://10.0.0.1', false],
  ] as const) {
    t.equal(keepsCookies(origin), keeps, origin);
  }
});

test('a program redeems a link as JSON without Origin, and gets a cookie and a secret', async (t) => {
  const world = await startSignInWorld(t);
  const person = await world.person('ada@example.com');
  const { token } = await world.operatorLink(person);
  const browser = new Browser(world);
  const answer = await browser.send('/auth/link', { json: { token } });
  t.equal(answer.status, 200);
  const { session } = JSON.parse(answer.text);
  t.same(Object.keys(session).sort(), ['cookieName', 'expiresUnix', 'person', 'secret']);
  t.equal(session.person, person);
  t.equal(session.cookieName, COOKIE);
  t.equal(session.secret, browser.cookies.get(COOKIE));
  t.equal(session.expiresUnix, String(world.clock.now() / 1000 + 604_800));
  const refused = await new Browser(world).send('/auth/link', { json: { token } });
  t.equal(refused.status, 401);
  t.match(JSON.parse(refused.text), {
    code: 'unauthenticated',
    details: [{ debug: { reason: 'CREDENTIAL_REVOKED' } }],
  });
});

test('signing out ends one session or all of the person, and removes the cookie', async (t) => {
  const world = await startSignInWorld(t);
  const ada = await world.person('ada@example.com');
  const browsers = [new Browser(world), new Browser(world), new Browser(world)];
  const secrets: string[] = [];
  for (const browser of browsers) {
    await browser.post('/auth/link', { token: (await world.operatorLink(ada)).token });
    secrets.push(browser.cookies.get(COOKIE) ?? '');
  }
  const [first, second] = browsers as [Browser, Browser, Browser];
  const states = () => secrets.map((secret) => sessionState(world.people, secret));
  t.match((await first.post('/auth/logout', {})).text, /Signed out/);
  t.equal(first.cookies.has(COOKIE), false);
  t.same(states(), ['CREDENTIAL_REVOKED', 'live', 'live']);
  const answer = await second.send('/auth/logout', {
    json: { everywhere: true },
    headers: { origin: world.origin },
  });
  t.same(JSON.parse(answer.text), { sessionsEnded: 2 });
  t.same(new Set(states()), new Set(['CREDENTIAL_REVOKED']));
  t.equal((await first.post('/auth/logout', {})).status, 200, 'repeating it is harmless');
});

test('the signed-in user accepts an invitation, after a notice that says so', async (t) => {
  const world = await startSignInWorld(t);
  const about = { by: tester, project: 'blue' };
  await world.members.createProject({ ...about, displayName: 'Blue', owner: null });
  const invite = (email: string) =>
    world.members.invitations.invite({ ...about, email, role: 'VIEWER' });
  const ada = await world.person('ada@example.com');
  const browser = new Browser(world);
  await browser.post('/auth/link', { token: (await world.operatorLink(ada)).token });
  const named = /You are signed in here as <strong>Ada \(ada@example\.com\)<\/strong>, who would accept/;
  t.match((await browser.get('/auth/link')).text, named);
  const { token } = await invite('ada.at.work@example.com');
  t.equal((await browser.post('/auth/link', { token: token ?? '' })).status, 303);
  t.equal(world.people.sessionOf(browser.cookies.get(COOKIE) ?? '').person, ada);
  const other = new Browser(world);
  t.notMatch((await other.get('/auth/link')).text, /signed in here/);
  const { token: second } = await invite('bob@example.com');
  t.equal((await other.post('/auth/link', { token: second ?? '' })).status, 303);
  t.not(world.people.sessionOf(other.cookies.get(COOKIE) ?? '').person, ada);
});

test('a session with an old secret gets a new cookie with the next page', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  await browser.post('/auth/link', { token });
  const before = browser.cookies.get(COOKIE);
  await browser.get('/auth/signed-in');
  t.equal(browser.cookies.get(COOKIE), before, 'not while it is young');
  t.notMatch(await world.metrics(), /svc_session_rotations_total\{/, 'no rotation is attempted');
  world.clock.jump(HOUR_MS);
  const [a, b] = await Promise.all([
    browser.get('/auth/signed-in'),
    browser.get('/auth/signed-in'),
  ]);
  t.same([a?.status, b?.status], [200, 200]);
  const after = browser.cookies.get(COOKIE);
  t.not(after, before);
  t.equal(sessionState(world.people, before), 'live', 'requests in flight still have the old one');
  t.equal(sessionState(world.people, after), 'live');
  await settle();
  world.clock.jump(61_000);
  t.equal(sessionState(world.people, after), 'live');
  t.equal(sessionState(world.people, before), 'CREDENTIAL_REVOKED');
});

test('a secret that cannot be rotated stays, and an expired cookie is removed', async (t) => {
  const world = await startSignInWorld(t, {}, (people) => ({
    ...people,
    rotate: () => Promise.reject(new Error('the stream gives no answer')),
  }));
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  await browser.post('/auth/link', { token });
  world.clock.jump(HOUR_MS);
  t.equal((await browser.get('/auth/signed-in')).status, 200);
  t.match(await world.metrics(), /svc_session_rotations_total\{outcome="failed"\} 1/);
  t.ok(world.logged.some((line) => line.includes('A session kept its secret')));
  world.clock.jump(13 * HOUR_MS);
  const answer = await browser.get('/auth/signed-in');
  t.equal(answer.location, `${world.origin}/auth/sign-in`);
  t.equal(browser.cookies.has(COOKIE), false);
});

test('while nothing can be stored a sign-in fails temporarily, and the fault is not displayed', async (t) => {
  let error: Error = new StreamUnavailable('the disk of planted-host is full', 'refused');
  const world = await startSignInWorld(t, {}, (people) => ({
    ...people,
    signInByLink: () => Promise.reject(error),
  }));
  const browser = new Browser(world);
  const away = await browser.post('/auth/link', { token: 'x' });
  t.equal(away.status, 503);
  t.equal(away.headers.get('retry-after'), '1');
  t.match(away.text, /The service cannot store anything at the moment. Try again/);
  error = new Error('planted-host failed');
  for (const answer of [
    await browser.post('/auth/link', { token: 'x' }),
    await browser.send('/auth/link', { json: { token: 'x' } }),
  ]) {
    t.equal(answer.status, 500);
    t.match(answer.text, answer.headers.get('x-request-id') ?? '');
    t.notMatch(answer.text, 'planted-host');
  }
  t.equal(world.logged.filter((line) => line.includes('planted-host')).length, 2);
});

test('svc login: the signed-in user confirms, and the code works only for its requester', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const verifier = 'v'.repeat(43);
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const requested = { port: '45678', state: 's'.repeat(22), challenge };
  const path = `/auth/cli?${new URLSearchParams(requested)}`;
  const browser = new Browser(world);
  const sent = new URL((await browser.get(path)).location);
  t.equal(sent.pathname, '/auth/sign-in');
  t.match(await browser.post('/auth/cli', requested), { status: 401 });
  await browser.post('/auth/link', { token });
  const back = new URL((await browser.get(sent.pathname + sent.search)).location);
  t.same(Object.fromEntries(back.searchParams), requested, 'the request survives the sign-in');
  const page = await browser.get(path);
  t.match(page.text, /svc login/);
  t.match(
    page.headers.get('content-security-policy'),
    "form-action 'self' http://127.0.0.1:45678;",
  );
  const { location, status } = await browser.post('/auth/cli', requested);
  t.equal(status, 303);
  const local = new URL(location);
  t.equal(local.origin, 'http://127.0.0.1:45678');
  t.equal(local.searchParams.get('state'), requested.state);
  const code = local.searchParams.get('code') ?? '';
  const program = new Browser(world);
  const stolen = await program.send('/auth/link', { json: { token: code } });
  t.equal(stolen.status, 401, 'without the verifier it opens nothing');
  const answer = await program.send('/auth/link', { json: { token: code, verifier } });
  t.equal(answer.status, 200);
  t.equal(world.people.sessionOf(JSON.parse(answer.text).session.secret).method, 'cli');
  const again = await program.post('/auth/cli', requested);
  t.equal(again.status, 403, 'it cannot renew itself');
  t.match(again.text, /cannot confirm another sign-in. Sign in by a link/);
});

test('from its start the service accepts sessions on RPC from its own pages', async (t) => {
  const folder = dataFolder(t);
  const { settings } = loadConfig([], {
    SVC_DATA: folder,
    SVC_LISTEN: '127.0.0.1:0',
    SVC_METRICS_LISTEN: 'off',
    SVC_COLLECT: 'none',
  });
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const service = await createService({ settings, log: silentLog, ports: { clock } });
  t.teardown(() => service.stop());
  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Record<
    string,
    string
  >;
  const origin = service.address;
  const pages = new URL(demo.signInUrl ?? '').origin;
  const browser = new Browser({ address: origin, origin: pages });
  const token = new URL(demo.signInUrl ?? '').hash.slice(1);
  t.equal((await browser.post('/auth/link', { token })).status, 303);
  const path = '/svc.project.v1.ProjectService';
  const call = (method: string, request: object, headers: Record<string, string>) =>
    browser.send(`${path}/${method}`, { json: request, headers });
  const listed = await call('ListProjects', {}, { origin: pages });
  t.equal(listed.status, 200);
  t.match(JSON.parse(listed.text), { projects: [{ name: 'projects/demo' }] });
  for (const headers of [{}, { origin: 'null' }, { origin: 'https://evil.example' }]) {
    t.equal((await call('ListProjects', {}, headers)).status, 401, JSON.stringify(headers));
  }
  const target = '/v1/monitoring/projects/demo/scrape-targets';
  t.equal(
    (await browser.get(target, { origin: pages })).status,
    401,
    'plain routes accept bearers only',
  );

  const before = browser.cookies.get(COOKIE);
  aheadMs = HOUR_MS;
  const refused = await call('GetProject', { name: 'projects/other' }, { origin: pages });
  t.equal(refused.status, 403);
  const after = browser.cookies.get(COOKIE);
  t.not(after, before, 'a refusal delivers the new secret too');
  t.equal((await call('ListProjects', {}, { origin: pages })).status, 200);
  t.equal(browser.cookies.get(COOKIE), after);
  t.equal((await browser.post('/auth/logout', {})).status, 200);
  browser.cookies.set(COOKIE, after ?? '');
  t.equal((await call('ListProjects', {}, { origin: pages })).status, 401);
});
