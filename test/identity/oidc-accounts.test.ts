/**
 * Accounts at an identity provider that no verified address links: a provider that is trusted with
 * addresses, a signed-in person who links an account, several tabs, rotated keys, and a provider
 * that calls itself something else. The provider is a real one on 127.0.0.1.
 */
import { createServer } from 'node:http';
import { type Test, test } from 'tap';
import {
  createIdentityProvider,
  SignInFailed,
} from '../../src/identity/sign-in/identity-provider.ts';
import { loadConfig } from '../../src/platform/settings/config.ts';
import { tester } from '../support/host-in-memory.ts';
import {
  type Account,
  ada,
  CLIENT_ID,
  goToProvider,
  type OidcWorld,
  pathOf,
  startOidcWorld,
} from '../support/openid-provider.ts';
import { Browser } from '../support/sign-in-server.ts';

const SESSION = 'svc_session';
/** What Entra ID sends: an address, and no claim that it is verified. */
const entra: Account = { id: 'ada-at-entra', claims: { email: 'ada@example.com', name: 'Ada' } };

/** A world with a public client. */
function startWorld(t: Test, environment: Readonly<Record<string, string>> = {}) {
  return startOidcWorld(t, { isPublicClient: true, environment });
}

/** Signs a browser in at the provider with an account. */
async function enter(world: OidcWorld, account: Account, browser = new Browser(world)) {
  world.provider.account = account;
  const { callback } = await goToProvider(world, browser, { return: '/dash' });
  return browser.get(pathOf(callback));
}

function personIn(world: OidcWorld, browser: Browser): string {
  return world.people.sessionOf(browser.cookies.get(SESSION) ?? '').person;
}

/** A browser that a person has signed in with a link. */
async function signedIn(world: OidcWorld, person: string): Promise<Browser> {
  const browser = new Browser(world);
  const { token } = await world.operatorLink(person);
  await browser.post('/auth/link', { token });
  return browser;
}

/** The sealed account in the form of a page. */
function accountIn(page: string): string {
  return /name="account" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

test('a trusted provider may omit that an address is verified, but not deny it', async (t) => {
  const world = await startWorld(t, { SVC_OIDC_TRUST_EMAIL: 'on' });
  const person = await world.person('ada@example.com');
  for (const claim of [false, 'true', 'false', 1, null]) {
    const claims = { ...entra.claims, email_verified: claim };
    t.equal((await enter(world, { ...entra, claims })).status, 403, JSON.stringify(claim));
  }
  const browser = new Browser(world);
  t.equal((await enter(world, entra, browser)).status, 303);
  t.equal(personIn(world, browser), person);
});

test('an issuer with accounts of strangers cannot be trusted with addresses', async (t) => {
  const refusal = (issuer: string) => {
    const trust = { SVC_OIDC_ISSUER: issuer, SVC_OIDC_CLIENT_ID: 'x', SVC_OIDC_TRUST_EMAIL: 'on' };
    try {
      loadConfig([], trust);
    } catch (error) {
      return String(error);
    }
    return '';
  };
  for (const issuer of [
    'https://accounts.google.com',
    'https://appleid.apple.com',
    'https://login.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
  ]) {
    t.match(refusal(issuer), /SVC_OIDC_TRUST_EMAIL is on for .* use the issuer of your own tenant/);
  }
  const tenant = '5b0e4fbc-3f5e-4b0a-9df5-2f2f2f2f2f2f';
  t.equal(refusal(`https://login.microsoftonline.com/${tenant}/v2.0`), '');
  t.throws(() => loadConfig([], { SVC_OIDC_TRUST_EMAIL: 'on' }), /needs SVC_OIDC_ISSUER/);
});

test('a signed-in person links an account, and signs in with it from then on', async (t) => {
  const world = await startWorld(t);
  const person = await world.person('');
  const browser = await signedIn(world, person);
  const requested = await enter(world, entra, browser);
  t.equal(requested.status, 200);
  t.match(
    requested.text,
    /Link this account\?.*<strong>ada@example\.com<\/strong> at 127\.0\.0\.1/s,
  );
  t.equal((await enter(world, entra)).status, 403, 'the question alone links nothing');
  const linked = await browser.post('/auth/account', {
    account: accountIn(requested.text),
    return: '/dash',
  });
  t.equal(linked.status, 303);
  t.equal(linked.location, `${world.origin}/dash`);
  const elsewhere = new Browser(world);
  t.equal((await enter(world, entra, elsewhere)).status, 303);
  t.equal(personIn(world, elsewhere), person);
});

test('an account is linked only by the session that requested it, and within minutes', async (t) => {
  const world = await startWorld(t);
  const [adas, eves] = [await world.person(''), await world.person('')];
  const [browser, other] = [await signedIn(world, adas), await signedIn(world, eves)];
  const account = accountIn((await enter(world, entra, browser)).text);
  const form = { account, return: '/' };
  t.match(await other.post('/auth/account', form), { text: /made for another session/ });
  t.match(await new Browser(world).post('/auth/account', form), { status: 401 });
  t.match(await browser.post('/auth/account', { account: 'x.y', return: '/' }), {
    text: /older than ten minutes/,
  });
  const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  t.match(await browser.send('/auth/account', { form, headers: foreign }), { status: 403 });
  await world.clock.advance(16 * 60_000);
  const late = accountIn((await enter(world, entra, browser)).text);
  t.match(await browser.post('/auth/account', { account: late, return: '/' }), {
    text: /signed in more than 15 minutes ago/,
  });
  t.equal((await enter(world, entra)).status, 403, 'nothing was linked');
});

test('a person with a new subject links it, or an operator unlinks the old one', async (t) => {
  const world = await startWorld(t);
  const person = await world.person('ada@example.com');
  t.equal((await enter(world, ada)).status, 303);
  const again = { ...ada, id: 'ada-again' };
  t.match(await enter(world, again), { status: 403, text: /signs in with another account/ });
  const browser = await signedIn(world, person);
  const account = accountIn((await enter(world, again, browser)).text);
  t.equal((await browser.post('/auth/account', { account, return: '/' })).status, 303);
  t.equal((await enter(world, again)).status, 303);

  const third = { ...ada, id: 'ada-once-more' };
  t.equal((await enter(world, third)).status, 403);
  t.equal(await world.people.unlinkAccounts(tester, person), 2);
  const after = new Browser(world);
  t.equal((await enter(world, third, after)).status, 303);
  t.equal(personIn(world, after), person);
  t.equal((await enter(world, ada)).status, 403, 'the unlinked account signs in no person');
});

test('an account of another person is not taken over', async (t) => {
  const world = await startWorld(t);
  const [adas, eves] = [await world.person('ada@example.com'), await world.person('')];
  const eve = await signedIn(world, eves);
  const account = accountIn((await enter(world, entra, eve)).text);
  t.equal((await enter(world, ada)).status, 303, 'ada has one account');
  const browser = await signedIn(world, adas);
  const own = accountIn((await enter(world, entra, browser)).text);
  await browser.post('/auth/account', { account: own, return: '/' });
  t.match(await eve.post('/auth/account', { account, return: '/' }), {
    text: /Another person signs in with this account/,
  });
});

test('several tabs sign in at once; the back button leads to the start page', async (t) => {
  const world = await startWorld(t);
  await world.person('ada@example.com');
  const browser = new Browser(world);
  const begun = [];
  for (const tab of [1, 2, 3, 4]) {
    begun.push(await goToProvider(world, browser, { return: `/tab/${tab}` }));
  }
  for (const [i, { callback }] of begun.entries()) {
    const answer = await browser.get(pathOf(callback));
    t.equal(answer.location, `${world.origin}/tab/${i + 1}`);
  }
  const back = await browser.get(pathOf(begun[0]?.callback ?? ''));
  t.match(back, { status: 303, location: `${world.origin}/` });

  const many = new Browser(world);
  const tabs = [];
  for (let i = 0; i < 6; i++) tabs.push(await goToProvider(world, many));
  t.equal([...many.cookies.keys()].length, 4, 'a browser keeps four');
  t.equal((await many.get(pathOf(tabs[0]?.callback ?? ''))).status, 400, 'the oldest are over');
  t.equal((await many.get(pathOf(tabs[5]?.callback ?? ''))).status, 303);
});

/** Signs in with an ID token of the provider's present key. */
async function enterByToken(t: Test, world: OidcWorld, browser: Browser) {
  const { provider } = world;
  const { callback, authorization } = await goToProvider(world, browser, { return: '/dash' });
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: provider.issuer, aud: CLIENT_ID, sub: ada.id, ...ada.claims };
  const nonce = authorization.searchParams.get('nonce') ?? '';
  const idToken = await provider.idToken({ ...claims, nonce, iat, exp: iat + 60 });
  const types = { access_token: 'a', token_type: 'Bearer', expires_in: 60 };
  provider.answerToken = async () => ({ ...types, id_token: idToken });
  t.teardown(() => {
    provider.answerToken = undefined;
  });
  return browser.get(pathOf(callback));
}

test('keys that the provider has rotated are read again at once', async (t) => {
  const world = await startWorld(t);
  await world.person('ada@example.com');
  t.equal((await enterByToken(t, world, new Browser(world))).location, `${world.origin}/dash`);
  const { provider } = world;
  provider.isRotated = true;
  provider.answerKeys = () => provider.rotatedKeys();
  await world.clock.advance(10_000);
  const browser = new Browser(world);
  const again = await enterByToken(t, world, browser);
  t.equal(again.location, `${world.origin}/auth/login?return=%2Fdash`, 'without a word');
  t.equal((await enterByToken(t, world, browser)).location, `${world.origin}/dash`);

  provider.isRotated = false;
  t.equal((await enterByToken(t, world, browser)).status, 400, 'at most once in five seconds');
  await world.clock.advance(5_000);
  t.equal((await enterByToken(t, world, browser)).status, 303);
});

test('an issuer is found with or without its trailing slash, and a wrong one is named', async (t) => {
  const world = await startWorld(t);
  let named = '';
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ issuer: named, authorization_endpoint: `${named}auth` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as { port: number };
  const base = `http://127.0.0.1:${port}/realms/acme`;
  const begin = (issuer: string) =>
    createIdentityProvider({
      issuer,
      clientId: CLIENT_ID,
      clientSecret: undefined,
      trustsEmail: false,
      clock: world.clock,
    }).begin({ state: 's', nonce: 'n', verifier: 'v', redirectUri: `${world.origin}/x` });
  for (const [configured, own] of [
    [base, `${base}/`],
    [`${base}/`, base],
  ] as const) {
    named = own;
    t.ok(await begin(configured), `${configured} for ${own}`);
  }
  named = 'https://id.example.com/realms/acme';
  const error = await begin(base).catch((refused: unknown) => refused);
  t.ok(error instanceof SignInFailed);
  t.match(error, {
    fault: 'misconfigured',
    detail: `the provider calls itself ${named}, and SVC_OIDC_ISSUER is ${base}`,
  });
});
