/**
 * Sign-in with the claims that common providers send: Entra ID, Google, Keycloak, authentik and
 * Cognito. Each one is a real provider on 127.0.0.1, with the issuer, the claims and the discovery
 * document of its model.
 */
import type { Configuration } from 'oidc-provider';
import { type Test, test } from 'tap';
import { tester } from '../support/host-in-memory.ts';
import {
  type Account,
  atProvider,
  goToProvider,
  type OidcWorld,
  pathOf,
  signOutAtProvider,
  startOidcWorld,
} from '../support/openid-provider.ts';
import { Browser, sessionState } from '../support/sign-in-server.ts';

interface Model {
  readonly name: string;
  /** Path of the issuer. */
  readonly path: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Claims of a person whose address the provider has not verified, or does not call verified. */
  readonly unverified: Readonly<Record<string, unknown>>;
  /** Claims by which an invited person is recognised; absent if this provider never sends them. */
  readonly verified?: Readonly<Record<string, unknown>>;
  readonly hasEndSession: boolean;
}

const TENANT = '7d0e4fbc-3f5e-4b0a-9df5-2f2f2f2f2f2f';
const EMAIL = 'ada@example.com';

const models: readonly Model[] = [
  {
    name: 'Entra ID',
    path: `/${TENANT}/v2.0`,
    unverified: {
      email: EMAIL,
      preferred_username: EMAIL,
      name: 'Ada',
      oid: '11111111-2222-3333-4444-555555555555',
      tid: TENANT,
    },
    hasEndSession: true,
  },
  {
    name: 'Entra ID, trusted with addresses',
    path: `/${TENANT}/v2.0`,
    environment: { SVC_OIDC_TRUST_EMAIL: 'on' },
    unverified: { preferred_username: EMAIL, name: 'Ada', tid: TENANT },
    verified: { email: EMAIL, preferred_username: EMAIL, name: 'Ada', tid: TENANT },
    hasEndSession: true,
  },
  {
    name: 'Google',
    path: '',
    unverified: { email: EMAIL, email_verified: false, name: 'Ada' },
    verified: { email: EMAIL, email_verified: true, hd: 'example.com', name: 'Ada' },
    hasEndSession: false,
  },
  {
    name: 'Keycloak',
    path: '/realms/acme',
    unverified: { email: EMAIL, email_verified: false, preferred_username: 'ada', name: 'Ada' },
    verified: { email: EMAIL, email_verified: true, preferred_username: 'ada', name: 'Ada' },
    hasEndSession: true,
  },
  {
    name: 'authentik',
    path: '/application/o/svc/',
    unverified: { email: EMAIL, email_verified: false, preferred_username: 'ada', groups: ['a'] },
    verified: { email: EMAIL, email_verified: true, preferred_username: 'ada', groups: ['a'] },
    hasEndSession: true,
  },
  {
    name: 'Cognito',
    path: '/eu-central-1_AbCdEf123',
    unverified: { email: EMAIL, email_verified: 'true', token_use: 'id', 'cognito:username': 'a' },
    verified: { email: EMAIL, email_verified: true, token_use: 'id', 'cognito:username': 'a' },
    hasEndSession: false,
  },
];

/** Puts the claims into the ID token, as all of these providers do. */
function configurationOf({ unverified, verified, hasEndSession }: Model): Configuration {
  const names = Object.keys({ ...unverified, ...verified });
  return {
    conformIdTokenClaims: false,
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: names },
    ...(!hasEndSession && {
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: false } },
    }),
  };
}

function startModel(t: Test, model: Model): Promise<OidcWorld> {
  const { path, environment = {} } = model;
  const configuration = configurationOf(model);
  return startOidcWorld(t, { path, environment, configuration, isPublicClient: true });
}

/** Signs a browser in at the provider. */
async function enter(world: OidcWorld, account: Account, browser: Browser, there?: Browser) {
  world.provider.account = account;
  const { callback } = await goToProvider(world, browser, {
    return: '/dash',
    ...(there && { there }),
  });
  return browser.get(pathOf(callback));
}

/** A project, and an invitation to the address. Returns the link's token. */
async function invite(world: OidcWorld): Promise<string> {
  const owner = await world.person('owner@example.com');
  const about = { project: 'web', displayName: 'Web', owner };
  await world.members.createProject({ by: tester, ...about });
  const by = { kind: 'human', name: `people/${owner}` } as const;
  const offer = { project: 'web', by, email: EMAIL, role: 'EDITOR' } as const;
  return (await world.members.invitations.invite(offer)).token ?? '';
}

function personIn(world: OidcWorld, browser: Browser): string {
  const secret = browser.cookies.get('svc_session') ?? '';
  return world.people.sessionOf(secret).person;
}

for (const model of models) {
  const { unverified, verified, hasEndSession } = model;

  test(`${model.name}: an address that is not verified is refused by name`, async (t) => {
    const world = await startModel(t, model);
    await invite(world);
    const refused = await enter(world, { id: 'sub-1', claims: unverified }, new Browser(world));
    t.equal(refused.status, 403);
    const isNamed = unverified.email !== undefined;
    t.match(
      refused.text,
      isNamed ? /does not say that the email address of this account is verified/ : /no email/,
    );
    const cause = isNamed ? 'NOT_VERIFIED' : 'NO_ADDRESS';
    t.match(world.logged.join('\n'), new RegExp(`"cause":"${cause}".*fits no person`));
  });

  test(`${model.name}: an invited person links the account, and signs in elsewhere`, async (t) => {
    const world = await startModel(t, model);
    const browser = new Browser(world);
    await browser.post('/auth/link', { token: await invite(world) });
    const person = personIn(world, browser);
    const account = { id: 'sub-1', claims: unverified };
    const asked = await enter(world, account, browser);
    t.match(asked.text, /You are signed in here as <strong>ada \(invited as ada@example\.com/);
    const sealed = /name="account" value="([^"]+)"/.exec(asked.text)?.[1] ?? '';
    const linked = await browser.post('/auth/account', { account: sealed, return: '/dash' });
    t.equal(linked.status, 303);
    const elsewhere = new Browser(world);
    t.equal((await enter(world, account, elsewhere)).location, `${world.origin}/dash`);
    t.equal(personIn(world, elsewhere), person);
  });

  if (verified) {
    test(`${model.name}: an invited person signs in with a verified address`, async (t) => {
      const world = await startModel(t, model);
      await invite(world);
      const account = { id: 'sub-1', claims: verified };
      const [browser, elsewhere] = [new Browser(world), new Browser(world)];
      t.equal((await enter(world, account, browser)).location, `${world.origin}/dash`);
      const person = personIn(world, browser);
      t.match(world.members.placesOf(person), [{ project: 'web', role: 'EDITOR' }]);
      t.equal((await enter(world, account, elsewhere)).status, 303);
      t.equal(personIn(world, elsewhere), person, 'the same person in another browser');
    });
  }

  test(`${model.name}: a sign-out ends the session here, and at the provider if possible`, async (t) => {
    const world = await startModel(t, model);
    const [browser, there] = [new Browser(world), atProvider(world)];
    await browser.post('/auth/link', { token: await invite(world) });
    const account = { id: 'sub-1', claims: unverified };
    const asked = await enter(world, account, browser);
    const sealed = /name="account" value="([^"]+)"/.exec(asked.text)?.[1] ?? '';
    await browser.post('/auth/account', { account: sealed, return: '/' });
    await enter(world, account, browser, there);
    const secret = browser.cookies.get('svc_session');
    const out = await browser.post('/auth/logout', {});
    t.equal(out.status, 200);
    t.equal(sessionState(world.people, secret), 'CREDENTIAL_REVOKED');
    const offered = /<a class="button" href="([^"]+)">Sign out at/.exec(out.text)?.[1];
    if (!hasEndSession) {
      t.equal(offered, undefined);
      t.match(out.text, /This browser is signed out\./);
      return;
    }
    const address = (offered ?? '').replaceAll('&amp;', '&');
    t.notMatch(address, /id_token_hint/, 'no token of the provider is kept');
    const back = await signOutAtProvider(there, address);
    t.equal(new URL(back).pathname, '/auth/signed-out');
    const forged = new URL(back);
    forged.searchParams.set('state', 'forged');
    const stranger = await new Browser(world).get(pathOf(back));
    t.equal(stranger.location, `${world.origin}/auth/sign-in`, 'another browser began nothing');
    t.match((await browser.get(pathOf(back))).text, /signed out here and at 127\.0\.0\.1/);
    const again = await browser.get(pathOf(forged.href));
    t.equal(again.location, `${world.origin}/auth/sign-in`, 'the state is used once');
  });
}

test('a sign-out works while the provider is down, and for a session that a link began', async (t) => {
  const world = await startOidcWorld(t, { isPublicClient: true });
  const person = await world.person(EMAIL);
  const browser = new Browser(world);
  t.equal(
    (await enter(world, { id: 'sub-1', claims: { email: EMAIL, email_verified: true } }, browser))
      .status,
    303,
  );
  await world.provider.stop();
  await world.clock.advance(2 * 3_600_000);
  t.match(await browser.post('/auth/logout', {}), { status: 200, text: /signed out/ });
  t.match(await browser.get('/auth/signed-in'), { location: `${world.origin}/auth/sign-in` });

  const { token } = await world.operatorLink(person);
  await browser.post('/auth/link', { token });
  const out = await browser.post('/auth/logout', {});
  t.notMatch(out.text, /Sign out at/, 'no session at the provider began it');
});

test('a forged state after a sign-out reports nothing', async (t) => {
  const world = await startOidcWorld(t, { isPublicClient: true });
  await world.person(EMAIL);
  const browser = new Browser(world);
  await enter(world, { id: 'sub-1', claims: { email: EMAIL, email_verified: true } }, browser);
  await browser.post('/auth/logout', {});
  const forged = await browser.get('/auth/signed-out?state=forged');
  t.equal(forged.location, `${world.origin}/auth/sign-in`);
});
