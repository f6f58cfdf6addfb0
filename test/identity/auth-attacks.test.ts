/**
 * Attacks on the sign-in pages: requests of other sites, planted cookies, redirect targets,
 * malformed bodies, guessing.
 */
import { createHash } from 'node:crypto';
import { test } from 'tap';
import { locationOf, validateReturnPath } from '../../src/identity/sign-in/request-fields.ts';
import { loginCookieName, readCookie } from '../../src/identity/sign-in/session-cookie.ts';
import { AddressLimits } from '../../src/platform/http/anonymous-limits.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { reasonOf } from '../support/host-in-memory.ts';
import { Browser, sessionState, startSignInWorld } from '../support/sign-in-server.ts';

const COOKIE = 'svc_session';
const PAGES = ['/auth/sign-in', '/auth/link', '/auth/signed-in', '/auth/cli', '/auth/callback'];

test('every answer under /auth, refusals included, has the strict headers', async (t) => {
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

test('the policy of a page lists the digests of its style and script', async (t) => {
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
  t.equal(headers.get('referrer-policy'), 'same-origin', 'otherwise a browser sends Origin: null');
  t.notMatch(text, /https?:\/\//, 'a page refers to no other site');
});

test('a POST that another site may have caused is rejected without effect', async (t) => {
  const world = await startSignInWorld(t);
  const { origin } = world;
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  const cases: [string, Record<string, string>][] = [
    ['no Origin', {}],
    ['another origin', { origin: 'https://evil.example' }],
    ['Origin: null', { origin: 'null' }],
    ['an origin that starts with ours', { origin: `${origin}.evil.example` }],
    ['our host on another port', { origin: 'http://127.0.0.1:1' }],
    ['our host on another scheme', { origin: origin.replace('http:', 'https:') }],
    ['two origins', { origin: `${origin}, https://evil.example` }],
    ['our Origin, declared as cross-site', { origin, 'sec-fetch-site': 'cross-site' }],
    ['our Origin, declared as of a sibling', { origin, 'sec-fetch-site': 'same-site' }],
  ];
  for (const [what, headers] of cases) {
    for (const path of ['/auth/link', '/auth/logout', '/auth/email', '/auth/cli']) {
      const answer = await browser.send(path, { form: { token }, headers });
      t.equal(answer.status, 403, `${what}: ${path}`);
    }
  }
  t.equal(browser.cookies.size, 0);
  t.match(await world.metrics(), /svc_sign_in_refusals_total\{cause="fetch_site"\} 8/);
  t.equal((await browser.post('/auth/link', { token })).status, 303, 'the link is still valid');
  const signOut = await browser.send('/auth/logout', { json: {} });
  t.equal(signOut.status, 403, 'JSON with our cookie needs an Origin too');
  t.equal(sessionState(world.people, browser.cookies.get(COOKIE)), 'live');
});

test('two session cookies are rejected, and their link is not used up', async (t) => {
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
  t.equal(loginCookieName('https://a', 'abcdefghij'), '__Host-svc_login_abcdefgh');
});

test('a sign-in ends the earlier session', async (t) => {
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

test('the target after signing in is a path of this service, or is rejected', async (t) => {
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

test('the parameters of svc login are validated', async (t) => {
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

test('a body too large, of another type, duplicated or unknown is rejected', async (t) => {
  const world = await startSignInWorld(t);
  const { origin } = world;
  const browser = new Browser(world);
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin };
  const json = { 'content-type': 'application/json' };
  const cases: [string, Record<string, string>, number, RegExp][] = [
    [`token=${'x'.repeat(8_200)}`, form, 413, /too large/],
    ['token=a&token=b', form, 400, /more than once/],
    ['token=a&admin=on', form, 400, /Allowed fields: token, verifier/],
    ['', form, 400, /token is missing/],
    ['token=a', { 'content-type': 'text/plain', origin }, 415, /neither a form nor/],
    ['{"token":', json, 400, /not JSON/],
    ['[1]', json, 400, /not a JSON object/],
    ['{"token":{"a":1}}', json, 400, /must be text/],
    ['{"__proto__":{"token":"x"}}', json, 400, /unknown field/],
    ['{"token":"svc_link_planted', json, 400, /^(?!.*planted)/s],
  ];
  for (const [body, headers, status, said] of cases) {
    const answer = await browser.send('/auth/link', { body, headers });
    t.equal(answer.status, status, body.slice(0, 40));
    t.match(answer.text, said);
  }
});

test('no log line and no answer contains a secret of a sign-in', async (t) => {
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

test('one address is limited without affecting others', async (t) => {
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

test('an IPv6 address is counted by its network, and the number of remembered ones is bounded', async (t) => {
  const clock = new VirtualClock(0);
  const limits = new AddressLimits(clock, { burst: 1, refillMs: 1_000 });
  const ask = (address: string) => reasonOf(() => limits.assertAllowed(address));
  t.equal(ask('2001:db8::1'), 'accepted');
  t.equal(ask('2001:db8::ffff:1'), 'TOO_MANY_REQUESTS');
  t.equal(ask('2001:db8:0:1::1'), 'accepted');
  t.equal(ask('192.0.2.1'), 'accepted');
  t.equal(ask('::ffff:192.0.2.1'), 'TOO_MANY_REQUESTS');
  for (let i = 0; i < 10_000; i++) limits.takeFrom(`other ${i}`);
  t.equal(ask('2001:db8::1'), 'accepted', 'the oldest request is forgotten');
});
