/**
 * The pages of signing in, on real sockets with real people behind them: links, sessions, the
 * command line, and what happens to those who come from other sites, with planted cookies, with
 * too much or too often.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { loadConfig } from '../../src/config.ts';
import { AddressLimits } from '../../src/http/auth/address-limits.ts';
import { locationOf, validateReturnPath } from '../../src/http/auth/return-path.ts';
import { cookieName, keepsCookies, readCookie } from '../../src/http/auth/session-cookie.ts';
import { silentLog } from '../../src/log.ts';
import { createService } from '../../src/service.ts';
import { type Clock, systemClock, VirtualClock } from '../../streams/clock.ts';
import { StreamUnavailable } from '../../streams/stream.ts';
import { HOUR_MS, reasonOf } from '../support/credential-world.ts';
import { dataFolder } from '../support/program.ts';
import { Browser, sessionState, startSignInWorld } from '../support/sign-in-world.ts';

const COOKIE = 'svc_session';
const HOST_COOKIE = '__Host-svc_session';
const PAGES = ['/auth/sign-in', '/auth/link', '/auth/signed-in', '/auth/cli', '/auth/callback'];

t.test('every answer below /auth, refusals included, has the strict headers', async (t) => {
  const world = await startSignInWorld(t);
  const browser = new Browser(world);
  const answers = [
    ...(await Promise.all(PAGES.map((path) => browser.get(path)))),
    await browser.send('/auth/link', { form: { token: 'x' } }),
    await browser.send('/auth/link', { json: { token: 'x' } }),
    await browser.send('/auth/link', { body: 'x'.repeat(9_000) }),
  ];
  for (const { headers, status } of answers) {
    t.equal(headers.get('cache-control'), 'no-store', String(status));
    t.equal(headers.get('x-content-type-options'), 'nosniff');
    t.equal(headers.get('x-frame-options'), 'DENY');
    t.match(headers.get('referrer-policy'), /^(no-referrer|same-origin)$/);
    const policy = headers.get('content-security-policy') ?? '';
    t.match(policy, "default-src 'none'");
    t.match(policy, "frame-ancestors 'none'");
    t.notMatch(policy, /unsafe-inline|\*/);
  }
});

t.test('style and script of a page are those whose digests its policy names', async (t) => {
  const world = await startSignInWorld(t);
  const { text, headers } = await new Browser(world).get('/auth/link');
  const policy = headers.get('content-security-policy') ?? '';
  for (const [tag, directive] of [
    ['style', 'style-src'],
    ['script', 'script-src'],
  ]) {
    const inside = new RegExp(`<${tag}>([\\s\\S]*)</${tag}>`).exec(text)?.[1] ?? '';
    const digest = createHash('sha256').update(inside).digest('base64');
    t.match(policy, `${directive} 'sha256-${digest}'`);
  }
  t.equal(headers.get('referrer-policy'), 'same-origin', 'else a browser sends Origin: null');
  t.notMatch(text, /https?:\/\//, 'a page names no other site');
});

t.test('opening a link does nothing; its button signs in once, with a cookie', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  for (const method of ['GET', 'HEAD'] as const) await browser.send('/auth/link', { method });
  const answer = await browser.post('/auth/link', { token });
  t.equal(answer.status, 303);
  t.equal(answer.location, `${world.origin}/auth/signed-in`);
  const [set = ''] = answer.headers.getSetCookie();
  t.match(set, /^svc_session=svc_session_\w+; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/);
  t.equal(sessionState(world.people, browser.cookies.get(COOKIE)), 'live');
  t.match((await browser.get('/auth/signed-in')).text, /You are signed in/);
  const again = await new Browser(world).post('/auth/link', { token });
  t.equal(again.status, 401);
  t.match(again.text, /The link was used/);
});

t.test('on https the cookie has the prefix that other hosts and paths cannot set', async (t) => {
  const world = await startSignInWorld(t, { SVC_PUBLIC_URL: 'https://svc.example.com' });
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  const { headers, status } = await browser.post('/auth/link', { token });
  t.equal(status, 303);
  const [set = ''] = headers.getSetCookie();
  t.match(set, /^__Host-svc_session=\w+; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/);
  t.notMatch(set, /Domain/i);
  // The unprefixed name is anybody's to set there.
  const secret = browser.cookies.get(HOST_COOKIE) ?? '';
  const other = await new Browser(world).get('/auth/signed-in', { cookie: `${COOKIE}=${secret}` });
  t.equal(other.location, 'https://svc.example.com/auth/sign-in');
});

t.test('where cookies would travel in the clear, nobody can sign in', async (t) => {
  const world = await startSignInWorld(t, { SVC_PUBLIC_URL: 'http://svc.example.com' });
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  const answer = await browser.post('/auth/link', { token });
  t.equal(answer.status, 403);
  t.match(answer.text, /takes https/);
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

t.test('a post that another site may have caused is refused before anything is done', async (t) => {
  const world = await startSignInWorld(t);
  const { origin } = world;
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  const cases: [string, Record<string, string>][] = [
    ['no Origin', {}],
    ['another origin', { origin: 'https://evil.example' }],
    ['Origin: null', { origin: 'null' }],
    ['an origin that begins as ours does', { origin: `${origin}.evil.example` }],
    ['our host on another port', { origin: 'http://127.0.0.1:1' }],
    ['our host on another scheme', { origin: origin.replace('http:', 'https:') }],
    ['two origins', { origin: `${origin}, https://evil.example` }],
    ['our Origin, said to be cross-site', { origin, 'sec-fetch-site': 'cross-site' }],
    ['our Origin, said to be of a sibling', { origin, 'sec-fetch-site': 'same-site' }],
  ];
  for (const [what, headers] of cases) {
    for (const path of ['/auth/link', '/auth/logout', '/auth/email', '/auth/cli']) {
      const answer = await browser.send(path, { form: { token }, headers });
      t.equal(answer.status, 403, `${what}: ${path}`);
    }
  }
  t.equal(browser.cookies.size, 0);
  t.match(await world.metrics(), /svc_sign_in_refusals_total\{cause="fetch_site"\} 8/);
  t.equal((await browser.post('/auth/link', { token })).status, 303, 'the link is still good');
  const signOut = await browser.send('/auth/logout', { json: {} });
  t.equal(signOut.status, 403, 'JSON with our cookie needs an Origin as well');
  t.equal(sessionState(world.people, browser.cookies.get(COOKIE)), 'live');
});

t.test('a program redeems a link as JSON without Origin, and gets cookie and secret', async (t) => {
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

t.test('two session cookies are refused, and the link they came with is not used up', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const headers = { origin: world.origin, cookie: `${COOKIE}=a; other=1; ${COOKIE}=b` };
  const answer = await new Browser(world).send('/auth/link', { form: { token }, headers });
  t.equal(answer.status, 401);
  t.match(answer.text, /2 cookies svc_session/);
  const page = await new Browser(world).get('/auth/signed-in', { cookie: headers.cookie });
  t.equal(page.status, 401);
  t.equal((await new Browser(world).post('/auth/link', { token })).status, 303);
  t.equal(readCookie('a=1; svc_session=x=y ;b', 'svc_session'), 'x=y');
  t.equal(readCookie('xsvc_session=1; Svc_session=2', 'svc_session'), undefined);
  t.equal(cookieName('https://a', 'login'), '__Host-svc_login');
});

t.test('a session that was there before a sign-in is ended and never kept', async (t) => {
  const world = await startSignInWorld(t);
  const attacker = new Browser(world);
  const mallory = await world.operatorLink(await world.person('mallory@example.com'));
  await attacker.post('/auth/link', { token: mallory.token });
  const planted = attacker.cookies.get(COOKIE) ?? '';

  const victim = new Browser(world);
  victim.cookies.set(COOKIE, planted);
  const ada = await world.person('ada@example.com');
  const { token } = await world.operatorLink(ada);
  t.equal((await victim.post('/auth/link', { token })).status, 303);
  const own = victim.cookies.get(COOKIE) ?? '';
  t.not(own, planted);
  t.equal(world.people.sessionOf(own).person, ada);
  t.equal(sessionState(world.people, planted), 'CREDENTIAL_REVOKED');

  const made = new Browser(world);
  made.cookies.set(COOKIE, 'svc_session_chosen_by_somebody');
  const { token: second } = await world.operatorLink(ada);
  t.equal((await made.post('/auth/link', { token: second })).status, 303);
  t.not(made.cookies.get(COOKIE), 'svc_session_chosen_by_somebody');
});

t.test(
  'signing out ends the session, or all of the person, and takes the cookie away',
  async (t) => {
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
    t.equal((await first.post('/auth/logout', {})).status, 200, 'once more is harmless');
  },
);

t.test('a session whose secret is old gets a new cookie with the next page', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  await browser.post('/auth/link', { token });
  const before = browser.cookies.get(COOKIE);
  await browser.get('/auth/signed-in');
  t.equal(browser.cookies.get(COOKIE), before, 'not while it is young');
  t.notMatch(await world.metrics(), /svc_session_rotations_total\{/, 'nor is it tried');
  world.clock.jump(HOUR_MS);
  const [a, b] = await Promise.all([
    browser.get('/auth/signed-in'),
    browser.get('/auth/signed-in'),
  ]);
  t.same([a?.status, b?.status], [200, 200]);
  const after = browser.cookies.get(COOKIE);
  t.not(after, before);
  t.equal(sessionState(world.people, before), 'live', 'requests under way still have the old one');
  t.equal(sessionState(world.people, after), 'live');
  world.clock.jump(61_000);
  t.equal(sessionState(world.people, after), 'live');
  t.equal(sessionState(world.people, before), 'CREDENTIAL_REVOKED');
});

t.test('a secret that cannot be changed stays, and a dead cookie is taken away', async (t) => {
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

t.test(
  'while nothing can be kept a sign-in is refused for now, and the fault not shown',
  async (t) => {
    let error: Error = new StreamUnavailable('the disk of planted-host is full', 'refused');
    const world = await startSignInWorld(t, {}, (people) => ({
      ...people,
      signInByLink: () => Promise.reject(error),
    }));
    const browser = new Browser(world);
    const away = await browser.post('/auth/link', { token: 'x' });
    t.equal(away.status, 503);
    t.equal(away.headers.get('retry-after'), '1');
    t.match(away.text, /Nothing can be kept at the moment: try again/);
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
  },
);

t.test('where to go after signing in is a path of this service or is refused', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  await browser.post('/auth/link', { token });
  const refused = [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '\\/evil.example',
    '/a\\..\\b',
    'javascript:alert(1)',
    '/\t/evil.example',
    '/ok\r\nSet-Cookie: a=b',
    'evil',
    `/${'x'.repeat(2_000)}`,
  ];
  for (const path of refused) {
    for (const page of ['/auth/sign-in', '/auth/login']) {
      const answer = await browser.get(`${page}?${new URLSearchParams({ return: path })}`);
      t.equal(answer.status, 400, JSON.stringify(path));
      t.equal(answer.location, '');
    }
  }
  t.equal((await browser.get('/auth/sign-in?return=/a&return=/b')).status, 400);
  for (const path of ['/', '/dashboard?a=b#c', '/.//evil.example', '/%2F/evil.example']) {
    const { location } = await browser.get(
      `/auth/sign-in?${new URLSearchParams({ return: path })}`,
    );
    t.equal(new URL(location).origin, world.origin, path);
  }
  t.equal(locationOf('https://a.b', validateReturnPath('/x?y=1')), 'https://a.b/x?y=1');
});

t.test(
  'svc login: who is signed in confirms, and the code works for its maker alone',
  async (t) => {
    const world = await startSignInWorld(t);
    const { token } = await world.operatorLink(await world.person('ada@example.com'));
    const verifier = 'v'.repeat(43);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const asked = { port: '45678', state: 's'.repeat(22), challenge };
    const path = `/auth/cli?${new URLSearchParams(asked)}`;
    const browser = new Browser(world);
    const sent = new URL((await browser.get(path)).location);
    t.equal(sent.pathname, '/auth/sign-in');
    t.match(await browser.post('/auth/cli', asked), { status: 401 });
    await browser.post('/auth/link', { token });
    const back = new URL((await browser.get(sent.pathname + sent.search)).location);
    t.same(Object.fromEntries(back.searchParams), asked, 'the request outlives the sign-in');
    const page = await browser.get(path);
    t.match(page.text, /svc login/);
    t.match(
      page.headers.get('content-security-policy'),
      "form-action 'self' http://127.0.0.1:45678;",
    );
    const { location, status } = await browser.post('/auth/cli', asked);
    t.equal(status, 303);
    const local = new URL(location);
    t.equal(local.origin, 'http://127.0.0.1:45678');
    t.equal(local.searchParams.get('state'), asked.state);
    const code = local.searchParams.get('code') ?? '';
    const program = new Browser(world);
    const stolen = await program.send('/auth/link', { json: { token: code } });
    t.equal(stolen.status, 401, 'without the verifier it opens nothing');
    const answer = await program.send('/auth/link', { json: { token: code, verifier } });
    t.equal(answer.status, 200);
    t.equal(world.people.sessionOf(JSON.parse(answer.text).session.secret).method, 'cli');
  },
);

t.test('what svc login asks for is checked, so that nothing else is made of it', async (t) => {
  const world = await startSignInWorld(t);
  const good = { port: '1', state: 's'.repeat(16), challenge: 'c'.repeat(43) };
  const browser = new Browser(world);
  t.equal((await browser.get(`/auth/cli?${new URLSearchParams(good)}`)).status, 303);
  for (const bad of [
    { port: '0' },
    { port: '65536' },
    { port: '80@evil.example' },
    { port: '1e3' },
    { state: 'short' },
    { state: '"><script>alert(1)</script>' },
    { challenge: 'c'.repeat(42) },
  ]) {
    const answer = await browser.get(`/auth/cli?${new URLSearchParams({ ...good, ...bad })}`);
    t.equal(answer.status, 400, JSON.stringify(bad));
    t.notMatch(answer.text, '<script>alert');
  }
});

t.test('a body that is too large, of another type, doubled or unknown is refused', async (t) => {
  const world = await startSignInWorld(t);
  const { origin } = world;
  const browser = new Browser(world);
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin };
  const json = { 'content-type': 'application/json' };
  const cases: [string, Record<string, string>, number, RegExp][] = [
    [`token=${'x'.repeat(8_200)}`, form, 413, /too large/],
    ['token=a&token=b', form, 400, /more than once/],
    ['token=a&admin=on', form, 400, /not one of token, verifier/],
    ['', form, 400, /token is missing/],
    ['token=a', { 'content-type': 'text/plain', origin }, 415, /not a form/],
    ['{"token":', json, 400, /not JSON/],
    ['[1]', json, 400, /not a JSON object/],
    ['{"token":{"a":1}}', json, 400, /must be text/],
    ['{"__proto__":{"token":"x"}}', json, 400, /not one of/],
    ['{"token":"svc_link_planted', json, 400, /^(?!.*planted)/s],
  ];
  for (const [body, headers, status, said] of cases) {
    const answer = await browser.send('/auth/link', { body, headers });
    t.equal(answer.status, status, body.slice(0, 40));
    t.match(answer.text, said);
  }
});

t.test('no secret of a sign-in is in a log line, at debug level, or in an answer', async (t) => {
  const world = await startSignInWorld(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  await browser.send(`/auth/link?token=${token}`, { json: { token: `${token}x` } });
  await browser.send('/auth/link', { body: `{"token": "${token}`, headers: {} });
  await browser.post('/auth/link', { token });
  const secret = browser.cookies.get(COOKIE) ?? '';
  const page = await browser.get('/auth/signed-in');
  t.ok(secret.length > 60 && world.logged.length > 0);
  for (const planted of [token.slice(-49), secret.slice(-49)]) {
    t.notOk(world.logged.some((line) => line.includes(planted)));
    t.notMatch(page.text, planted);
  }
});

t.test('who asks too often from one address waits, and others do not', async (t) => {
  const world = await startSignInWorld(t, { SVC_TRUSTED_PROXY: '127.0.0.1' });
  const browser = new Browser(world);
  const guess = (address: string) =>
    browser.send('/auth/link', { json: { token: 'x' }, headers: { 'x-forwarded-for': address } });
  for (let i = 0; i < 20; i++) t.equal((await guess('192.0.2.1')).status, 401);
  const refused = await guess('192.0.2.1');
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '6');
  t.match(JSON.parse(refused.text), { code: 'resource_exhausted' });
  t.equal((await guess('192.0.2.2')).status, 401);
  t.match(await world.metrics(), /svc_sign_in_refusals_total\{cause="TOO_MANY_REQUESTS"\} 1/);
  await world.clock.advance(6_000);
  t.equal((await guess('192.0.2.1')).status, 401);
  t.equal((await guess('192.0.2.1')).status, 429);
});

t.test(
  'an address of IPv6 counts with its network, and what is remembered is bounded',
  async (t) => {
    const clock = new VirtualClock(0);
    const limits = new AddressLimits(clock, { burst: 1, refillMs: 1_000 });
    const ask = (address: string) => reasonOf(() => limits.assertAllowed(address));
    t.equal(ask('2001:db8::1'), 'accepted');
    t.equal(ask('2001:db8::ffff:1'), 'TOO_MANY_REQUESTS');
    t.equal(ask('2001:db8:0:1::1'), 'accepted');
    t.equal(ask('192.0.2.1'), 'accepted');
    t.equal(ask('::ffff:192.0.2.1'), 'TOO_MANY_REQUESTS');
    for (let i = 0; i < 10_000; i++) limits.takeFrom(`other ${i}`);
    t.equal(ask('2001:db8::1'), 'accepted', 'asked longest ago: it is forgotten');
  },
);

t.test('the service as it starts: a session counts on RPC, from its own pages alone', async (t) => {
  const folder = dataFolder(t);
  const { settings } = loadConfig([], {
    ...{ SVC_DATA: folder, SVC_LISTEN: '127.0.0.1:0' },
    ...{ SVC_METRICS_LISTEN: 'off', SVC_COLLECT: 'none' },
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
  const browser = new Browser({ address: origin, origin });
  const token = new URL(demo.signInUrl ?? '').hash.slice(1);
  t.equal((await browser.post('/auth/link', { token })).status, 303);
  const path = '/svc.project.v1.ProjectService';
  const call = (method: string, request: object, headers: Record<string, string>) =>
    browser.send(`${path}/${method}`, { json: request, headers });
  const listed = await call('ListProjects', {}, { origin });
  t.equal(listed.status, 200);
  t.match(JSON.parse(listed.text), { projects: [{ name: 'projects/demo' }] });
  for (const headers of [{}, { origin: 'null' }, { origin: 'https://evil.example' }]) {
    t.equal((await call('ListProjects', {}, headers)).status, 401, JSON.stringify(headers));
  }
  const target = '/v1/monitoring/projects/demo/scrape-targets';
  t.equal((await browser.get(target, { origin })).status, 401, 'plain routes take bearers only');

  const before = browser.cookies.get(COOKIE);
  aheadMs = HOUR_MS;
  const refused = await call('GetProject', { name: 'projects/other' }, { origin });
  t.equal(refused.status, 403);
  const after = browser.cookies.get(COOKIE);
  t.not(after, before, 'a refusal hands the new secret over as well');
  t.equal((await call('ListProjects', {}, { origin })).status, 200);
  t.equal(browser.cookies.get(COOKIE), after);
  t.equal((await browser.post('/auth/logout', {})).status, 200);
  browser.cookies.set(COOKIE, after ?? '');
  t.equal((await call('ListProjects', {}, { origin })).status, 401);
});
