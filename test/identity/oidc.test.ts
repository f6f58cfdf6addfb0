/**
 * Signing in at an OpenID Connect provider, with a real one on 127.0.0.1: the complete flow,
 * answers forged by a provider or an intermediary, and a provider that is unreachable.
 */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type JWTPayload, UnsecuredJWT } from 'jose';
import { type Test, test } from 'tap';
import {
  createIdentityProvider,
  SignInFailed,
} from '../../src/identity/sign-in/identity-provider.ts';
import {
  ada,
  CLIENT_ID,
  CLIENT_SECRET,
  goToProvider,
  type OidcWorld,
  pathOf,
  startOidcWorld,
} from '../support/openid-provider.ts';
import { dataFolder } from '../support/program.ts';
import { Browser, sessionState } from '../support/sign-in-server.ts';

const SESSION = 'svc_session';

/** Names of the cookies of sign-ins that a browser has begun. */
function loginCookies({ cookies }: Browser): string[] {
  return [...cookies.keys()].filter((name) => name.startsWith('svc_login_'));
}

/** The world of a client with a secret, in which Ada is known by her address. */
async function start(t: Test): Promise<OidcWorld> {
  const file = join(dataFolder(t), 'secret');
  writeFileSync(file, `${CLIENT_SECRET}\n`);
  const world = await startOidcWorld(t, { environment: { SVC_OIDC_CLIENT_SECRET_FILE: file } });
  await world.person('ada@example.com');
  return world;
}

function without(name: string, claims: Readonly<Record<string, unknown>>): JWTPayload {
  return Object.fromEntries(Object.entries(claims).filter(([claim]) => claim !== name));
}

/** Throws unless the call fails as a sign-in. */
async function faultOf(attempt: Promise<unknown>): Promise<SignInFailed> {
  const error = await attempt.catch((refused: unknown) => refused);
  if (error instanceof SignInFailed) return error;
  throw new Error(`Expected a failed sign-in: ${String(error)}`);
}

test('login, provider, callback, session, sign-out: the complete flow', async (t) => {
  const world = await start(t);
  const browser = new Browser(world);
  t.match((await browser.get('/auth/sign-in')).text, /Sign in with 127\.0\.0\.1:\d+/);
  const { authorization, callback } = await goToProvider(world, browser, { return: '/dash?a=b' });
  t.match(Object.fromEntries(authorization.searchParams), {
    response_type: 'code',
    code_challenge_method: 'S256',
    code_challenge: /^[\w-]{43}$/,
    state: /^[\w-]{43}$/,
    nonce: /^[\w-]{43}$/,
    redirect_uri: `${world.origin}/auth/callback`,
  });
  const answer = await browser.get(pathOf(callback));
  t.equal(answer.status, 303);
  t.equal(answer.location, `${world.origin}/dash?a=b`);
  t.ok(world.provider.requested.includes('POST /token Basic'));
  const secret = browser.cookies.get(SESSION) ?? '';
  const { person, method } = world.people.sessionOf(secret);
  t.equal(method, 'oidc');
  t.equal(person, world.people.personByEmail('ada@example.com'));
  t.same(loginCookies(browser), [], 'the login state is removed');
  await browser.post('/auth/logout', {});
  t.equal(sessionState(world.people, secret), 'CREDENTIAL_REVOKED');
  t.match(await world.metrics(), /svc_sign_ins_total\{by="provider"\} 1/);
  for (const planted of [new URL(callback).searchParams.get('code') ?? '', CLIENT_SECRET]) {
    t.ok(planted.length > 20);
    t.notOk(
      world.logged.some((line) => line.includes(planted)),
      'no code and no secret is logged',
    );
  }
});

test('a person is recognised by a verified address, later by the account alone', async (t) => {
  const world = await start(t);
  const enter = async (account: OidcWorld['provider']['account']) => {
    world.provider.account = account;
    const browser = new Browser(world);
    const { callback } = await goToProvider(world, browser);
    return browser.get(pathOf(callback));
  };
  const unverified = [
    [{}, 'NO_ADDRESS', /sent no email address/],
    [{ email: 'eve@example.com', email_verified: true }, 'NOT_INVITED', /is not known here/],
    [{ email: 'ada@example.com', email_verified: false }, 'NOT_VERIFIED', /is verified/],
    [{ email: 'ada@example.com' }, 'NOT_VERIFIED', /Sign in with a link first/],
    [{ email: 'ada@example.com', email_verified: 'true' }, 'NOT_VERIFIED', /is verified/],
    [{ email: 'ada@example.com', email_verified: 1 }, 'NOT_VERIFIED', /is verified/],
    [{ email: ['ada@example.com'], email_verified: true }, 'NO_ADDRESS', /sent no email address/],
  ] as const;
  for (const [claims, cause, sentence] of unverified) {
    const answer = await enter({ id: ada.id, claims });
    t.equal(answer.status, 403, JSON.stringify(claims));
    t.match(answer.text, sentence);
    t.equal(answer.text.includes('>Sign in</a>'), cause !== 'NOT_INVITED', 'only where it helps');
    t.notMatch(answer.headers.getSetCookie().join(), 'svc_session');
    const line = world.logged.findLast((each) => each.includes('fits no person')) ?? '';
    t.match(JSON.parse(line), { cause, issuer: world.provider.issuer, part: 'sign-in' });
    t.notMatch(line, /example\.com/, 'the log names no address');
  }
  t.match(await world.metrics(), /refusals_total\{cause="account_not_verified"\} 4/);
  t.equal((await enter(ada)).status, 303);
  t.equal((await enter({ id: ada.id, claims: {} })).status, 303);
  const other = await enter({ ...ada, id: 'another account' });
  t.equal(other.status, 403);
  t.match(other.text, /signs in with another account.*svc admin people unlink/);
});

test('a public client signs in with PKCE alone', async (t) => {
  const world = await startOidcWorld(t, { isPublicClient: true });
  await world.person('ada@example.com');
  const browser = new Browser(world);
  const { callback } = await goToProvider(world, browser);
  t.equal((await browser.get(pathOf(callback))).status, 303);
});

test('a provider may accept secrets only in the body and put claims into the token', async (t) => {
  const file = join(dataFolder(t), 'secret');
  writeFileSync(file, CLIENT_SECRET);
  const world = await startOidcWorld(t, {
    environment: { SVC_OIDC_CLIENT_SECRET_FILE: file },
    configuration: {
      clientAuthMethods: ['client_secret_post'],
      clientDefaults: { token_endpoint_auth_method: 'client_secret_post' },
      conformIdTokenClaims: false,
    },
  });
  await world.person('ada@example.com');
  const browser = new Browser(world);
  const { callback } = await goToProvider(world, browser);
  t.equal((await browser.get(pathOf(callback))).status, 303);
  t.notOk(
    world.provider.requested.some((requested) => requested.includes('/me')),
    'no claim was missing',
  );
  t.ok(world.provider.requested.includes('POST /token'), 'without an Authorization header');
});

test('a callback in a browser that began no sign-in is rejected (login CSRF)', async (t) => {
  const world = await start(t);
  const attacker = new Browser(world);
  const { callback } = await goToProvider(world, attacker);
  const victim = new Browser(world);
  const without = await victim.get(pathOf(callback));
  t.equal(without.status, 400);
  t.match(without.text, /Start again/);

  // Their own sign-in is in progress: the attacker's code with the victim's state.
  const own = await goToProvider(world, victim);
  const mixed = new URL(own.callback);
  mixed.searchParams.set('code', new URL(callback).searchParams.get('code') ?? '');
  t.equal((await victim.get(pathOf(mixed.href))).status, 400, 'PKCE binds the code to its browser');
  t.equal(victim.cookies.has(SESSION), false);
  t.match(await world.metrics(), /svc_sign_in_refusals_total\{cause="provider_invalid"\} 2/);
});

test('another state, issuer or code is rejected, and so is a replay', async (t) => {
  const world = await start(t);
  for (const change of [
    (url: URL) => url.searchParams.set('state', 'x'.repeat(43)),
    (url: URL) => url.searchParams.delete('state'),
  ]) {
    const browser = new Browser(world);
    const { callback } = await goToProvider(world, browser);
    const url = new URL(callback);
    change(url);
    t.equal((await browser.get(pathOf(url.href))).status, 400, 'it belongs to no sign-in');
    t.equal(browser.cookies.has(SESSION), false);
    t.equal((await browser.get(pathOf(callback))).status, 303, 'and ends none');
  }
  const changes: [string, (url: URL) => void][] = [
    ['two states', (url) => url.searchParams.append('state', 'x')],
    ['no code', (url) => url.searchParams.delete('code')],
    ['another issuer (RFC 9207)', (url) => url.searchParams.set('iss', 'https://evil.example')],
    ['an invented code', (url) => url.searchParams.set('code', 'x'.repeat(43))],
  ];
  for (const [what, change] of changes) {
    const browser = new Browser(world);
    const { callback } = await goToProvider(world, browser);
    const url = new URL(callback);
    change(url);
    t.equal((await browser.get(pathOf(url.href))).status, 400, what);
    t.equal(browser.cookies.has(SESSION), false);
    const after = await browser.get(pathOf(callback));
    t.equal(after.status, 400, `${what}: the sign-in is over`);
  }
  const browser = new Browser(world);
  const { callback } = await goToProvider(world, browser);
  const [name = ''] = loginCookies(browser);
  const begun = browser.cookies.get(name) ?? '';
  t.equal((await browser.get(pathOf(callback))).status, 303);
  const thief = new Browser(world);
  thief.cookies.set(name, begun);
  t.equal((await thief.get(pathOf(callback))).status, 400, 'a code works once');
});

test('an ID token for another sign-in, for another service or by another provider is rejected', async (t) => {
  const world = await start(t);
  const { provider } = world;
  const attempt = async (make: (nonce: string) => Promise<string> | string) => {
    const browser = new Browser(world);
    const { callback, authorization } = await goToProvider(world, browser);
    const nonce = authorization.searchParams.get('nonce') ?? '';
    const idToken = await make(nonce);
    provider.answerToken = async () => ({
      access_token: 'a',
      token_type: 'Bearer',
      expires_in: 60,
      id_token: idToken,
    });
    const answer = await browser.get(pathOf(callback));
    provider.answerToken = undefined;
    return { status: answer.status, hasSession: browser.cookies.has(SESSION) };
  };
  const nowSeconds = Math.floor(Date.now() / 1000);
  const good = (nonce: string) => ({
    iss: provider.issuer,
    aud: CLIENT_ID,
    sub: ada.id,
    nonce,
    iat: nowSeconds,
    exp: nowSeconds + 60,
    email: 'ada@example.com',
    email_verified: true,
  });
  t.same(await attempt((nonce) => provider.idToken(good(nonce))), {
    status: 303,
    hasSession: true,
  });
  const refused: [string, (nonce: string) => Promise<string> | string][] = [
    ['another nonce', () => provider.idToken(good('x'.repeat(43)))],
    ['no nonce', () => provider.idToken(without('nonce', good('')))],
    ['another audience', (nonce) => provider.idToken({ ...good(nonce), aud: 'other' })],
    [
      'another issuer',
      (nonce) => provider.idToken({ ...good(nonce), iss: 'https://evil.example' }),
    ],
    ['no subject', (nonce) => provider.idToken(without('sub', good(nonce)))],
    ['another key', (nonce) => provider.idToken(good(nonce), { otherKey: true })],
    ['no signature', (nonce) => new UnsecuredJWT(good(nonce)).encode()],
    ['no token', () => 'a.b.c'],
  ];
  for (const [what, make] of refused) {
    t.same(await attempt(make), { status: 400, hasSession: false }, what);
  }
  const past = (nonce: string) => provider.idToken({ ...good(nonce), exp: nowSeconds - 600 });
  t.same(await attempt(past), { status: 503, hasSession: false }, 'past its time');
  const ahead = (nonce: string) => provider.idToken({ ...good(nonce), nbf: nowSeconds + 600 });
  t.same(await attempt(ahead), { status: 503, hasSession: false }, 'not valid yet');
  t.match(await world.metrics(), /refusals_total\{cause="provider_clock"\} 2/);
});

test('only the answer that contains an address can verify it', async (t) => {
  const world = await start(t);
  const { provider } = world;
  const nowSeconds = Math.floor(Date.now() / 1000);
  const statusOf = async (subject: string, inToken: object, inProfile: object) => {
    const browser = new Browser(world);
    const { callback, authorization } = await goToProvider(world, browser);
    const nonce = authorization.searchParams.get('nonce') ?? '';
    const times = { iat: nowSeconds, exp: nowSeconds + 60 };
    const claims = { iss: provider.issuer, aud: CLIENT_ID, sub: subject, nonce, ...times };
    const idToken = await provider.idToken({ ...claims, ...inToken });
    const types = { access_token: 'a', token_type: 'Bearer', expires_in: 60 };
    provider.answerToken = async () => ({ ...types, id_token: idToken });
    provider.answerProfile = async () => ({ sub: subject, ...inProfile });
    const { status } = await browser.get(pathOf(callback));
    return status;
  };
  const [mine, adas] = [{ email: 'mallory@evil.example' }, { email: 'ada@example.com' }];
  const verified = { email_verified: true };
  t.equal(
    await statusOf('mallory', adas, { ...mine, ...verified }),
    403,
    'verified by the profile only',
  );
  t.equal(await statusOf('mallory', verified, adas), 403, 'verified by the token only');
  t.equal(await statusOf('mallory', adas, verified), 403, 'verified without an address');
  t.equal(
    await statusOf('mallory', { ...adas, email_verified: false }, { ...adas, ...verified }),
    403,
  );
  t.equal(await statusOf('ada-1', mine, { ...adas, ...verified }), 303, 'both from the profile');
  t.equal(await statusOf('ada-1', { ...adas, ...verified }, {}), 303, 'both from the token');
});

test('a nonce that was changed on the way to the provider is detected', async (t) => {
  const world = await start(t);
  const browser = new Browser(world);
  const { callback } = await goToProvider(world, browser, {
    change: (url) => url.searchParams.set('nonce', 'of-another-sign-in'),
  });
  t.equal((await browser.get(pathOf(callback))).status, 400);
  t.equal(browser.cookies.has(SESSION), false);
});

test('cancelling at the provider is reported without the provider’s text', async (t) => {
  const world = await start(t);
  world.provider.account = undefined;
  const browser = new Browser(world);
  const { callback } = await goToProvider(world, browser);
  const url = new URL(callback);
  url.searchParams.set('error_description', '<script>alert(1)</script>');
  const answer = await browser.get(pathOf(url.href));
  t.equal(answer.status, 403);
  t.match(answer.text, /rejected the sign-in/);
  t.notMatch(answer.text, /script>alert/);
});

test('the sign-in ends the earlier session, and two cookies are rejected', async (t) => {
  const world = await start(t);
  const { token } = await world.operatorLink(await world.person('mallory@example.com'));
  const browser = new Browser(world);
  await browser.post('/auth/link', { token });
  const planted = browser.cookies.get(SESSION) ?? '';
  const { callback } = await goToProvider(world, browser);
  const [name = ''] = loginCookies(browser);
  const cookie = `${SESSION}=a; ${SESSION}=b; ${name}=${browser.cookies.get(name)}`;
  const doubled = await new Browser(world).get(pathOf(callback), { cookie });
  t.equal(doubled.status, 401);
  t.equal((await browser.get(pathOf(callback))).status, 303, 'the code was not used up');
  t.not(browser.cookies.get(SESSION), planted);
  t.equal(sessionState(world.people, planted), 'CREDENTIAL_REVOKED');
});

test('an unreachable provider prevents only its own sign-ins', async (t) => {
  const world = await start(t);
  const browser = new Browser(world);
  const { callback } = await goToProvider(world, browser);
  await world.provider.stop();
  const late = await browser.get(pathOf(callback));
  t.equal(late.status, 503);
  t.match(late.text, /sent no usable response/);
  t.equal((await browser.get('/auth/login')).status, 303, 'its endpoints are known already');
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  t.equal((await browser.post('/auth/link', { token })).status, 303);

  const fresh = await startOidcWorld(t);
  await fresh.provider.stop();
  const first = await new Browser(fresh).get('/auth/login');
  t.equal(first.status, 503);
  t.ok(Number(first.headers.get('retry-after')) > 0);
  await fresh.provider.start();
  t.equal((await new Browser(fresh).get('/auth/login')).status, 503, 'it is not asked at once');
  t.same(fresh.provider.requested, []);
  await fresh.clock.advance(2_000);
  const answers = await Promise.all([1, 2, 3].map(() => new Browser(fresh).get('/auth/login')));
  t.same(
    answers.map(({ status }) => status),
    [303, 303, 303],
  );
  t.equal(fresh.provider.requested.length, 1, 'three concurrent calls send one request');
});

test('a silent provider, or one with an endless answer, is abandoned', async (t) => {
  const world = await startOidcWorld(t);
  const client = () =>
    createIdentityProvider({
      issuer: world.provider.issuer,
      clientId: CLIENT_ID,
      clientSecret: undefined,
      trustsEmail: false,
      clock: world.clock,
      answerSecondsMax: 0.2,
    });
  const login = { state: 's', nonce: 'n', verifier: 'v', redirectUri: `${world.origin}/x` };
  world.provider.isSilent = true;
  const silent = await faultOf(client().begin(login));
  t.equal(silent.fault, 'away');
  world.provider.isSilent = false;
  t.ok(await client().begin(login));
  const endless = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.write('{"issuer": "');
    const more = () => {
      while (response.writable && response.write('x'.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  });
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    endless.closeAllConnections();
    endless.close();
  });
  const { port } = endless.address() as { port: number };
  const issuer = `http://127.0.0.1:${port}`;
  const endlessClient = createIdentityProvider({
    issuer,
    clientId: CLIENT_ID,
    clientSecret: undefined,
    trustsEmail: false,
    clock: world.clock,
  });
  const fault = await faultOf(endlessClient.begin(login));
  t.match(fault, { fault: 'away', detail: /ANSWER_TOO_LARGE/ });
});

test('too many callbacks from one address are limited', async (t) => {
  const world = await start(t);
  const browser = new Browser(world);
  for (let i = 0; i < 20; i++) await browser.get('/auth/callback?code=x&state=y');
  const answer = await browser.get('/auth/callback?code=x&state=y');
  t.equal(answer.status, 429);
  t.equal(answer.headers.get('retry-after'), '3');
});
