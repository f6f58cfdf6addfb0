/**
 * Actions that need a recent sign-in: owners, keys, CI trusts, and sessions of command lines. A
 * stolen session, which may be days old, must not turn into lasting access.
 */
import { randomUUID } from 'node:crypto';
import { type Test, test } from 'tap';
import { memberIdOf } from '../../actors/identity/grants.ts';
import { startRpcWorld } from '../support/api-in-process.ts';
import {
  ada,
  CLIENT_ID,
  goToProvider,
  type OidcWorld,
  pathOf,
  startOidcWorld,
} from '../support/openid-provider.ts';
import { operator, outcomeOf } from '../support/people-on-host.ts';
import { Browser } from '../support/sign-in-server.ts';

const PROJECT = 'projects/demo';
const MINUTE_MS = 60_000;
const AGAIN = '/auth/signed-in?again=1';

/** An owner who has signed in with a link, and an editor. */
async function startOwner(t: Test) {
  const world = await startRpcWorld(t, () => ({}));
  const owner = await world.signedInAs('demo', 'OWNER');
  const editor = await world.signedInAs('demo', 'EDITOR');
  const link = async () => {
    const { token } = await world.people.linkFor(operator, owner.person, 'operator');
    return world.people.signInByLink({ token, agent: 'browser' });
  };
  const parent = `${PROJECT}/members/${memberIdOf('demo', owner.person)}`;
  const other = `${PROJECT}/members/${memberIdOf('demo', editor.person)}`;
  const call =
    (person: { readonly secret: string }) => (method: string, request: Record<string, unknown>) =>
      world.call(method, { requestId: randomUUID(), ...request }, { person });
  const key = { parent, displayName: 'k', capabilities: ['monitoring.read'] };
  return { world, owner, parent, other, link, call, key };
}

test('lasting access needs a sign-in from the last 15 minutes', async (t) => {
  const { world, other, link, call, key } = await startOwner(t);
  const as = call(await link());
  const made = await as('CreateKey', key);
  t.equal(made.status, 200);
  const { name } = made.body.key as { name: string };
  await world.clock.advance(15 * MINUTE_MS + 1);
  const tooOld = { status: 403, reason: 'SIGN_IN_TOO_OLD' };
  const invite = { projectName: PROJECT, email: 'bob@example.org' };
  t.match(await as('CreateKey', key), tooOld);
  t.match(await as('RotateKey', { name, overlapSeconds: 0 }), tooOld);
  t.match(await as('InviteMember', { ...invite, role: 'VIEWER' }), tooOld);
  t.match(await as('SetMemberRole', { name: other, role: 'OWNER' }), tooOld);
  const verification = `${PROJECT}/ciVerifications/v`;
  t.match(await as('ApproveCiVerification', { name: verification }), tooOld);

  t.equal((await as('SetMemberRole', { name: other, role: 'VIEWER' })).status, 200);
  t.equal((await as('RevokeKey', { name, reason: '' })).status, 200, 'ending access needs none');
  t.equal((await as('ListMembers', { projectName: PROJECT, requestId: undefined })).status, 200);
});

test('the same request succeeds after another sign-in', async (t) => {
  const { world, link, call, key } = await startOwner(t);
  const first = await link();
  await world.clock.advance(16 * MINUTE_MS);
  const request = { ...key, requestId: randomUUID() };
  t.match(await call(first)('CreateKey', request), { reason: 'SIGN_IN_TOO_OLD' });
  const made = await call(await link())('CreateKey', request);
  t.match(made, { status: 200, body: { secretAvailable: true } });
});

test('a CLI session is confirmed by a recent browser sign-in, and never needs another one', async (t) => {
  const { world, owner, link, call, key } = await startOwner(t);
  await world.clock.advance(5 * 24 * 60 * MINUTE_MS);
  t.equal((await call(owner)('CreateKey', key)).status, 200, 'days after svc login');
  const browser = await link();
  const challenge = 'c'.repeat(43);
  const confirm = () =>
    outcomeOf(() =>
      world.people.linkFor(operator, owner.person, 'cli', {
        challenge,
        session: browser.session,
      }),
    );
  t.equal(await confirm(), 'accepted');
  await world.clock.advance(16 * MINUTE_MS);
  t.equal(await confirm(), 'SIGN_IN_TOO_OLD');
});

test('a role that is too low is reported before the age of the sign-in', async (t) => {
  const { world, call, key } = await startOwner(t);
  const viewer = await world.signedInAs('demo', 'VIEWER');
  const { token } = await world.people.linkFor(operator, viewer.person, 'operator');
  const as = call(await world.people.signInByLink({ token, agent: 'browser' }));
  await world.clock.advance(16 * MINUTE_MS);
  t.match(await as('CreateKey', key), { reason: 'MISSING_CAPABILITY' });
});

function isRecentIn(world: OidcWorld, browser: Browser): boolean {
  return world.people.sessionOf(browser.cookies.get('svc_session') ?? '').isRecent;
}

async function startProvider(t: Test): Promise<OidcWorld> {
  const world = await startOidcWorld(t, { isPublicClient: true });
  await world.person('ada@example.com');
  return world;
}

/** The address of the provider's button on the page that asks to sign in again. */
function buttonIn(text: string): string {
  const path = /href="(\/auth\/login[^"]+)">Sign in with/.exec(text)?.[1] ?? '';
  return path.replaceAll('&amp;', '&');
}

test('a sign-in at the provider is recent once the provider says so', async (t) => {
  const world = await startProvider(t);
  const browser = new Browser(world);
  await browser.get(pathOf((await goToProvider(world, browser)).callback));
  t.equal(isRecentIn(world, browser), false, 'the provider may have had a session for weeks');
  const page = await browser.get(`/auth/sign-in?again=1&return=${encodeURIComponent(AGAIN)}`);
  t.match(page.text, /Sign in again.*signed in as <strong>Ada \(ada@example\.com\)/s);
  const { callback, authorization } = await goToProvider(world, browser, {
    path: buttonIn(page.text),
  });
  t.match(Object.fromEntries(authorization.searchParams), { max_age: '900', prompt: 'login' });
  const back = await browser.get(pathOf(callback));
  t.equal(back.location, `${world.origin}${AGAIN}`);
  t.equal(isRecentIn(world, browser), true);
  t.match((await browser.get(AGAIN)).text, /Close this tab/);
  t.equal((await browser.get('/auth/sign-in?again=1')).location, `${world.origin}/`, 'not twice');
});

test('a sign-in is rejected if the browser removed `max_age` and `prompt`', async (t) => {
  const world = await startProvider(t);
  const browser = new Browser(world);
  await browser.get(pathOf((await goToProvider(world, browser)).callback));
  const before = browser.cookies.get('svc_session');
  const { callback } = await goToProvider(world, browser, {
    path: '/auth/login?again=1',
    change({ searchParams }) {
      searchParams.delete('max_age');
      searchParams.delete('prompt');
    },
  });
  t.match(await browser.get(pathOf(callback)), {
    status: 403,
    text: /does not say that you have just signed in/,
  });
  t.equal(browser.cookies.get('svc_session'), before);
  t.match(world.logged.join('\n'), /"detail":"no auth_time"/);
  t.match(await world.metrics(), /cause="provider_not-again"\} 1/);
});

test('a sign-in at the provider that is too old is refused, and logged with its age', async (t) => {
  const world = await startProvider(t);
  const browser = new Browser(world);
  const { provider } = world;
  const { callback, authorization } = await goToProvider(world, browser, {
    path: '/auth/login?again=1',
  });
  const iat = Math.floor(Date.now() / 1000);
  const idToken = await provider.idToken({
    iss: provider.issuer,
    aud: CLIENT_ID,
    sub: ada.id,
    ...ada.claims,
    nonce: authorization.searchParams.get('nonce') ?? '',
    iat,
    exp: iat + 60,
    auth_time: Math.floor(world.clock.now() / 1000) - 901,
  });
  const types = { access_token: 'a', token_type: 'Bearer', expires_in: 60 };
  provider.answerToken = async () => ({ ...types, id_token: idToken });
  t.equal((await browser.get(pathOf(callback))).status, 403);
  t.match(world.logged.join('\n'), /"detail":"auth_time is 90\d s old"/);
});

test('svc login asks for a recent sign-in before it confirms', async (t) => {
  const world = await startProvider(t);
  const person = await world.person('ada@example.com');
  const browser = new Browser(world);
  const enter = async () => {
    const { token } = await world.operatorLink(person);
    await browser.post('/auth/link', { token });
  };
  await enter();
  const asked = { port: '4321', state: 's'.repeat(20), challenge: 'c'.repeat(43) };
  const path = `/auth/cli?${new URLSearchParams(asked)}`;
  t.equal((await browser.get(path)).status, 200);
  await world.clock.advance(16 * MINUTE_MS);
  const { location } = await browser.get(path);
  const page = await browser.get(pathOf(location));
  t.match(page.text, /Sign in again/);
  t.equal((await browser.post('/auth/cli', asked)).status, 403, 'nor without the page');
  await enter();
  t.equal((await browser.get(path)).status, 200);
});

test('any age counts as recent if the operator says so', async (t) => {
  const world = await startOidcWorld(t, {
    isPublicClient: true,
    environment: { SVC_RECENT_SIGN_IN_MINUTES: '0' },
  });
  await world.person('ada@example.com');
  const browser = new Browser(world);
  await browser.get(pathOf((await goToProvider(world, browser)).callback));
  t.equal(isRecentIn(world, browser), true);
});
