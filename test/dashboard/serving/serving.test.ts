/**
 * The dashboard over HTTP: access to the shell, its headers, the way to the sign-in and back, and
 * the assets. On a real server with real people; the dashboard is built for the test.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import t, { type Test, test } from 'tap';
import { buildDashboard } from '../../../scripts/build-dashboard.mjs';
import { routes } from '../../../src/dashboard/routes.ts';
import { loadDashboard } from '../../../src/dashboard/serving/built-dashboard.ts';
import {
  addDashboardRoutes,
  type DashboardRoutesDeps,
} from '../../../src/dashboard/serving/dashboard-routes.ts';
import { createVisitors } from '../../../src/identity/sign-in/visitor.ts';
import { bodyOf, startMailServer } from '../../support/mail-server.ts';
import { goToProvider, pathOf, startOidcWorld } from '../../support/openid-provider.ts';
import { Browser, type SignInWorld, startSignInWorld } from '../../support/sign-in-server.ts';

const INCIDENT = '/projects/demo/incidents/01K?step=3&range=6h';
const folder = join(t.testdir({}), 'dashboard');
const { manifest } = await buildDashboard({ folder });
const dashboard = loadDashboard(folder);
if (typeof dashboard === 'string') throw new Error(dashboard);

/** A service with the dashboard, or with one that was not built. */
function start(
  t: Test,
  environment: Readonly<Record<string, string>> = {},
  built: DashboardRoutesDeps['built'] = dashboard,
): Promise<SignInWorld> {
  const same = (people: SignInWorld['people']) => people;
  return startSignInWorld(t, environment, same, (app, parts) =>
    addDashboardRoutes(app, { ...parts, built, visitors: createVisitors(parts) }),
  );
}

async function signIn(world: SignInWorld): Promise<Browser> {
  const browser = new Browser(world);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  await browser.post('/auth/link', { token });
  return browser;
}

/** An attribute of the first element of a page that matches `pattern`. */
function found(html: string, pattern: RegExp): string {
  return (pattern.exec(html)?.[1] ?? '').replaceAll('&amp;', '&');
}

const RETURN_FIELD = /<input type="hidden" name="return" value="([^"]*)">/;

test('DASH-02: every path of the table serves the shell to signed-in users, other paths do not', async (t) => {
  const world = await start(t);
  const browser = await signIn(world);
  for (const { path } of routes) {
    const answer = await browser.get(path.replaceAll(/:\w+/g, 'some-id'));
    t.equal(answer.status, 200, path);
    t.match(answer.text, `src="/assets/${manifest.entries.main}"`);
  }
  for (const path of ['/projects', '/projects/demo/', '/projects/demo/rules', '/index.html']) {
    const answer = await browser.get(path);
    t.equal(answer.status, 404, path);
    t.match(answer.text, `There is nothing at ${path}`);
  }
  t.equal((await browser.post('/', {})).status, 405);
});

test('DASH-03: the shell has nothing inline, is not cached, and admits no foreign content', async (t) => {
  const world = await start(t);
  const browser = await signIn(world);
  const { headers, text } = await browser.get(INCIDENT);
  t.equal(
    headers.get('content-security-policy'),
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
      "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
      "require-trusted-types-for 'script'; trusted-types 'none'",
  );
  t.match(Object.fromEntries(headers), {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  t.notMatch(text, /<style|style=|<script>|\son\w+="|https?:/);
  const addresses = [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(
    ([, address = '']) => address,
  );
  t.ok(addresses.length >= 6);
  for (const address of addresses) t.equal((await browser.get(address)).status, 200, address);
});

test('DASH-02: a page without a session leads to the sign-in, and the link leads back', async (t) => {
  const world = await start(t);
  const browser = new Browser(world);
  const requested = await browser.get(INCIDENT);
  t.equal(requested.status, 303);
  t.equal(requested.headers.get('cache-control'), 'no-store');
  t.equal(
    requested.location,
    `${world.origin}/auth/sign-in?${new URLSearchParams({ return: INCIDENT })}`,
  );
  const signInPage = await browser.get(pathOf(requested.location));
  const linkPage = await browser.get(found(signInPage.text, /href="(\/auth\/link[^"]*)"/));
  const back = found(linkPage.text, RETURN_FIELD);
  t.equal(back, INCIDENT);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  // The whole link, as people paste it.
  const whole = `${world.origin}/auth/link#${token}`;
  const answer = await browser.post('/auth/link', { token: whole, return: back });
  t.equal(answer.location, `${world.origin}${INCIDENT}`);
  t.equal((await browser.get(INCIDENT)).status, 200);
});

test('DASH-02: a mailed link leads back to the requested page', async (t) => {
  const server = await startMailServer(t);
  const world = await start(t, { SVC_SMTP_URL: server.url, SVC_SMTP_FROM: 'svc@example.com' });
  await world.person('ada@example.com');
  const browser = new Browser(world);
  const signInPage = await browser.get(pathOf((await browser.get(INCIDENT)).location));
  const back = found(signInPage.text, RETURN_FIELD);
  await browser.post('/auth/email', { email: 'ada@example.com', return: back });
  await world.signIn.mail?.settled();
  const [mail] = server.mails;
  if (!mail) throw new Error('No mail was taken');
  const link = new URL(/^http\S+$/m.exec(bodyOf(mail))?.[0] ?? '');
  const other = new Browser(world);
  const linkPage = await other.get(`${link.pathname}${link.search}`);
  const form = { token: link.hash.slice(1), return: found(linkPage.text, RETURN_FIELD) };
  t.equal((await other.post('/auth/link', form)).location, `${world.origin}${INCIDENT}`);
});

test('DASH-02: a sign-in at the provider leads back to the requested page', async (t) => {
  const world = await startOidcWorld(t, { isPublicClient: true });
  await world.person('ada@example.com');
  const browser = new Browser(world);
  const page = await browser.get(`/auth/sign-in?${new URLSearchParams({ return: INCIDENT })}`);
  const login = new URL(found(page.text, /href="(\/auth\/login[^"]*)"/), world.origin);
  const back = login.searchParams.get('return') ?? '';
  const { callback } = await goToProvider(world, browser, { return: back });
  t.equal((await browser.get(pathOf(callback))).location, `${world.origin}${INCIDENT}`);
});

test('DASH-02: a sign-in never redirects to another site, and a rejected redirect leaves the link usable', async (t) => {
  const world = await start(t);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  const browser = new Browser(world);
  for (const target of ['//evil.example', '/\\evil.example', 'https://evil.example', 'x']) {
    t.equal((await browser.post('/auth/link', { token, return: target })).status, 400, target);
    const query = new URLSearchParams({ return: target });
    t.equal((await browser.get(`/auth/link?${query}`)).status, 400);
    const requested = { email: 'ada@example.com', return: target };
    t.not((await browser.post('/auth/email', requested)).status, 202);
  }
  const answer = await browser.post('/auth/link', { token });
  t.equal(answer.location, `${world.origin}/`, 'the start page if there is no path');
  const long = await new Browser(world).get(`/projects/demo/vms?search=${'a'.repeat(1100)}`);
  t.equal(long.location, `${world.origin}/auth/sign-in?return=%2F`, 'too long to return to');
});

test('a page at an address of this machine redirects to the host of the pages', async (t) => {
  const same = (people: SignInWorld['people']) => people;
  const host = 'svc-00000000.localhost';
  const world = await startSignInWorld(
    t,
    {},
    same,
    (app, parts) =>
      addDashboardRoutes(app, { ...parts, built: dashboard, visitors: createVisitors(parts) }),
    host,
  );
  const { port } = new URL(world.address);
  const browser = new Browser(world);
  for (const name of ['127.0.0.1', 'localhost']) {
    const answer = await browser.get(INCIDENT, { host: `${name}:${port}` });
    t.equal(answer.status, 307);
    t.equal(answer.location, `http://${host}:${port}${INCIDENT}`);
  }
  const tunnel = await browser.get('/', { host: 'localhost:9090' });
  t.equal(tunnel.location, `http://${host}:9090/`, 'a tunnel keeps its port');
  const pages = await browser.get('/', { host: `${host}:9090` });
  t.equal(pages.location, `http://${host}:9090/auth/sign-in?return=%2F`);
});

test('DASH-01: assets are compressed as the browser accepts and cached permanently', async (t) => {
  const world = await start(t);
  const browser = new Browser(world);
  for (const [name, type] of Object.entries(manifest.files)) {
    const plain = dashboard?.assets.get(name)?.bodies.identity.toString();
    const answer = await browser.get(`/assets/${name}`, { 'accept-encoding': 'identity' });
    t.equal(answer.text, plain, name);
    t.match(Object.fromEntries(answer.headers), {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
    });
    t.equal(answer.headers.get('content-encoding'), null);
    for (const [coding, unpack] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const packed = await browser.get(`/assets/${name}`, { 'accept-encoding': coding });
      t.equal(packed.headers.get('content-encoding'), coding);
      t.equal(packed.text, plain, 'as decompressed by fetch');
      t.equal(unpack(dashboard?.assets.get(name)?.bodies[coding] ?? '').toString(), plain);
    }
  }
  const both = await browser.get(`/assets/${manifest.entries.main}`, {
    'accept-encoding': 'gzip, deflate, br',
  });
  t.equal(both.headers.get('content-encoding'), 'br');
  t.match((await browser.get('/assets/LICENSES.txt')).text, /^preact /m);
  for (const name of ['main-AAAAAAAA.js', 'manifest.json', '..%2fmanifest.json', '']) {
    const answer = await browser.get(`/assets/${name}`);
    t.equal(answer.status, 404, name);
    t.notMatch(answer.headers.get('cache-control') ?? '', /immutable/);
  }
});

test('DASH-01: a dashboard that was not built names the command to run, and sign-in works', async (t) => {
  t.equal(loadDashboard(join(folder, 'nothing')), 'NOT_BUILT');
  const browser = await signIn(await start(t, {}, 'NOT_BUILT'));
  const answer = await browser.get(INCIDENT);
  t.equal(answer.status, 503);
  t.match(answer.text, /not built; the API works/);
  t.match(answer.text, /npm run dashboard/);
  t.equal((await browser.get('/auth/signed-in')).status, 200);
});

test('DASH-01: a build of another version is not served and names the command to run', async (t) => {
  const older = t.testdir({});
  const { overview: _, ...pages } = manifest.pages;
  writeFileSync(join(older, 'manifest.json'), JSON.stringify({ ...manifest, pages }));
  t.equal(loadDashboard(older), 'BUILT_FROM_OTHER_VERSION');
  const browser = await signIn(await start(t, {}, 'BUILT_FROM_OTHER_VERSION'));
  for (const path of [INCIDENT, '/projects/demo']) {
    const answer = await browser.get(path);
    t.equal(answer.status, 503);
    t.match(answer.text, /built from a different version of the program; the API works/);
    t.match(answer.text, /npm run dashboard/);
  }
});
