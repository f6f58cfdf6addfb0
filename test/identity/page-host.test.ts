/**
 * Pages under a host name of their own on plain http of one machine: browsers send a cookie to every
 * port of its host, so that a session on 127.0.0.1 would reach every other program.
 */
import { test } from 'tap';
import { pageHostOf, ServiceAddress } from '../../src/platform/http/service-address.ts';
import { Browser, type SignInWorld, startSignInWorld } from '../support/sign-in-server.ts';

const HOST = pageHostOf('installation');
const COOKIE = 'svc_session';

async function start(t: Test, environment = {}): Promise<SignInWorld> {
  const same = (people: SignInWorld['people']) => people;
  return startSignInWorld(t, environment, same, async () => {}, HOST);
}

type Test = Parameters<typeof startSignInWorld>[0];

/** Origin of the pages through a port of this machine. */
const pagesAt = (port: string | number): string => `http://${HOST}:${port}`;

test('each installation has its own host name', async (t) => {
  t.match(HOST, /^svc-[0-9a-f]{8}\.localhost$/);
  t.not(pageHostOf('another'), HOST);
  t.equal(pageHostOf('installation'), HOST);
});

test('the origin of a request has the port through which it came', async (t) => {
  const address = new ServiceAddress(null, HOST);
  t.equal(address.pageOrigin(), '', 'it does not listen yet');
  address.bound('http://127.0.0.1:8080');
  t.equal(address.origin(), 'http://127.0.0.1:8080', 'programs use the address');
  t.equal(address.pageOrigin(), pagesAt(8080));
  for (const [host, own, pages] of [
    ['127.0.0.1:8080', 'http://127.0.0.1:8080', pagesAt(8080)],
    ['LOCALHOST:9090', 'http://localhost:9090', pagesAt(9090)],
    ['[::1]:8080', 'http://[::1]:8080', pagesAt(8080)],
    ['other.localhost:1', 'http://other.localhost:1', pagesAt(1)],
    [`${HOST}:9090`, pagesAt(9090), pagesAt(9090)],
    ['monitoring.lan', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['10.0.0.1:8080', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
    ['a b', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ] as const) {
    t.equal(address.ownOrigin(host), own, host);
    t.equal(address.pageOrigin(host), pages, host);
  }
});

test('a public address and https are used as configured', async (t) => {
  for (const [publicUrl, bound] of [
    ['http://localhost:3000', 'http://127.0.0.1:8080'],
    ['https://svc.example.com', 'http://127.0.0.1:8080'],
    [null, 'https://127.0.0.1:8443'],
  ] as const) {
    const address = new ServiceAddress(publicUrl, HOST);
    address.bound(bound);
    const origin = publicUrl ?? bound;
    t.equal(address.pageOrigin(), origin);
    t.equal(address.ownOrigin('127.0.0.1:8080'), origin);
    t.equal(address.pageOrigin('127.0.0.1:8080'), origin);
  }
});

test('a page at an address of the machine is redirected, and an old cookie removed', async (t) => {
  const world = await start(t);
  const { port } = new URL(world.address);
  const browser = new Browser(world);
  browser.cookies.set(COOKIE, 'svc_session_old');
  for (const path of [
    '/auth/sign-in?return=%2Fa',
    '/auth/link',
    '/auth/cli?port=1',
    '/auth/login',
  ]) {
    for (const name of ['127.0.0.1', 'localhost', '[::1]', 'other.localhost']) {
      const answer = await browser.get(path, { host: `${name}:${port}` });
      t.equal(answer.status, 307, `${name}${path}`);
      t.equal(answer.location, pagesAt(port) + path);
    }
  }
  t.notOk(browser.cookies.has(COOKIE));
  const callback = await browser.get('/auth/callback?state=s&code=c');
  t.equal(callback.location, `${pagesAt(port)}/auth/callback?state=s&code=c`);
});

test('only the host of the pages gets a session cookie', async (t) => {
  const world = await start(t);
  const { port } = new URL(world.address);
  const person = await world.person('ada@example.com');
  const link = async () => (await world.operatorLink(person)).token;
  const stray = new Browser(world);
  const refused = await stray.post('/auth/link', { token: await link() });
  t.equal(refused.status, 403, 'a form of another name of this machine');
  t.match(refused.text, pagesAt(port));
  const sent = { json: { token: await link() }, headers: { origin: world.address } };
  const program = await stray.send('/auth/link', sent);
  t.equal(program.status, 200, 'a program signs in under any name');
  t.match(JSON.parse(program.text), { session: { secret: /^svc_session_/ } });
  t.equal(stray.cookies.size, 0);

  const pages = { address: world.address, origin: pagesAt(port) };
  const browser = new Browser(pages);
  const begun = await browser.post('/auth/link', { token: await link(), return: '/projects' });
  t.equal(begun.status, 303);
  t.equal(begun.location, `${pagesAt(port)}/projects`);
  const [set = ''] = begun.headers.getSetCookie();
  t.match(set, /^svc_session=/);
  t.notMatch(set, /Domain/i, 'a cookie of this host alone');
  t.equal((await browser.get('/auth/signed-in')).status, 200);
});

test('the sign-in of the command line leads the browser to another host', async (t) => {
  const world = await start(t);
  const { port } = new URL(world.address);
  const browser = new Browser({ address: world.address, origin: pagesAt(port) });
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  await browser.post('/auth/link', { token });
  const requested = { port: '9000', state: 's'.repeat(16), challenge: 'c'.repeat(43) };
  const answer = await browser.post('/auth/cli', requested);
  t.equal(new URL(answer.location).host, '127.0.0.1:9000', 'which has no cookie of the pages');

  const https = await startSignInWorld(t, { SVC_PUBLIC_URL: 'https://127.0.0.1:8443' });
  const other = new Browser(https);
  const second = await https.operatorLink(await https.person('ada@example.com'));
  await other.post('/auth/link', { token: second.token });
  const led = await other.post('/auth/cli', requested);
  t.equal(new URL(led.location).host, 'svc-login.localhost:9000', 'not the host of the pages');
});

test('a tunnel to another port has pages and forms', async (t) => {
  const world = await start(t);
  const tunnel = new Browser({ address: world.address, origin: pagesAt(9090) });
  const stray = await tunnel.get('/auth/sign-in', { host: '127.0.0.1:9090' });
  t.equal(stray.location, `${pagesAt(9090)}/auth/sign-in`);
  const { token } = await world.operatorLink(await world.person('ada@example.com'));
  t.equal((await tunnel.post('/auth/link', { token })).location, `${pagesAt(9090)}/`);
  const other = { form: {}, headers: { origin: pagesAt(9091) } };
  t.equal((await tunnel.send('/auth/logout', other)).status, 403, 'a page of another port');
  t.equal((await tunnel.post('/auth/logout', {})).status, 200);
});
