/**
 * Signing in from the command line: with a link, or with a browser played by the test; the requests
 * that the loopback listener accepts, the storage of a session whose secret changes, and signing
 * out.
 */
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { openAccess } from '../../src/cli/client/access.ts';
import { writeSession } from '../../src/cli/client/session-file.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { type CliWorld, type Ran, startSeparateCliWorld } from '../support/cli-against-service.ts';
import { startGateway } from '../support/faulty-gateway.ts';
import { requestAs } from '../support/named-host.ts';

test('svc login, logout and whoami', async (t) => {
  const world = await startSeparateCliWorld(t, 'session');
  for (const project of ['session', 'session-other']) {
    const made = ['admin', 'project', 'create', project, '--owner', 'owner@session.test'];
    t.equal((await world.svc(made)).code, 0);
  }
  await t.test('login succeeds by a link', (t) => byLink(t, world));
  await t.test('login succeeds through the browser', (t) => byBrowser(t, world));

  await t.test(
    'whoami prints the person and the projects; with several projects, commands require one',
    async (t) => {
      const ran = await world.svc(['whoami'], { as: 'linked' });
      t.match(ran.stdout, /^email +owner@session\.test$/m);
      t.match(ran.stdout, /^project +projects\/session \(OWNER\)$/m);
      const json = await world.svc(['whoami', '--json'], { as: 'linked' });
      t.match(json.json, {
        endpoint: world.endpoint,
        projects: ['projects/session', 'projects/session-other'],
      });
      const keys = await world.svc(['keys', 'list'], { as: 'linked' });
      t.match(keys, {
        code: 2,
        stderr: /several projects\. Set --project to one of session, session-other/,
      });
    },
  );

  await t.test('info prints the service and its features', async (t) => {
    const ran = await world.svc(['info'], { as: 'linked' });
    t.match(ran.stdout, /^version +\S+$/m);
    t.match(ran.stdout, /^sampling interval +\d+ s$/m);
    t.match(ran.stdout, /^sends email +(yes|no)$/m);
    const { json } = await world.svc(['info', '--json'], { as: 'linked' });
    t.ok(ran.stdout.includes(json.version), 'as reported by the service');
  });

  await t.test('a session with a changed secret is stored with the new one', async (t) => {
    const gateway = await startGateway(t, world.endpoint);
    const path = join(world.homeOf('linked'), '.config/svc/session.json');
    const before = JSON.parse(readFileSync(path, 'utf8'));
    // The real session, at the address of the gateway.
    writeSession(path, { ...before, endpoint: gateway.url });
    const set = `${before.cookieName}=svc_session_new; Path=/; HttpOnly`;
    const answer = { kind: 'answer', status: 200, body: '{"name":"people/p"}' } as const;
    const headers = { 'content-type': 'application/json', 'set-cookie': set };
    gateway.faults.push({ ...answer, headers, path: 'GetSelf' });
    const none = { SVC_ENDPOINT: undefined };
    await world.svc(['whoami'], { as: 'linked', env: none });
    t.equal(JSON.parse(readFileSync(path, 'utf8')).secret, 'svc_session_new');
    t.match(gateway.requests.at(-1)?.headers, {
      cookie: `${before.cookieName}=svc_session_new`,
      origin: gateway.url,
    });
    const cleared = `${before.cookieName}=; Path=/; Max-Age=0`;
    gateway.faults.push({ ...answer, headers: { ...headers, 'set-cookie': cleared } });
    await world.svc(['projects', 'list'], { as: 'linked', env: none });
    t.equal(
      JSON.parse(readFileSync(path, 'utf8')).secret,
      'svc_session_new',
      'an empty name counts as absent',
    );
    writeSession(path, before);
  });

  await t.test('a new secret received by another command is used at once', async (t) => {
    const homeFolder = world.homeOf('linked');
    const path = join(homeFolder, '.config/svc/session.json');
    const before = JSON.parse(readFileSync(path, 'utf8'));
    const options = { endpoint: undefined, environment: {}, ports: { homeFolder } };
    const access = openAccess({ ...options, caller: 'person' });
    writeSession(path, { ...before, secret: 'svc_session_other' });
    t.match(access.headers(), { cookie: /=svc_session_other$/ });
    writeSession(path, { ...before, person: 'people/somebody' });
    t.match(access.headers(), { cookie: /=svc_session_other$/ }, 'but not another person’s');
    writeSession(path, before);
  });

  await t.test('logging out ends the session at the service and deletes it locally', async (t) => {
    const path = join(world.homeOf('linked'), '.config/svc/session.json');
    const { cookieName, secret } = JSON.parse(readFileSync(path, 'utf8'));
    t.match(await world.svc(['logout'], { as: 'linked' }), { code: 0, stdout: /^Signed out at/ });
    t.notOk(existsSync(path));
    const answer = await fetch(`${world.endpoint}/svc.project.v1.ProjectService/GetSelf`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        origin: world.endpoint,
        cookie: `${cookieName}=${secret}`,
      },
      body: '{}',
    });
    t.equal(answer.status, 401, 'the session is no longer valid');
    t.match(await world.svc(['logout'], { as: 'linked' }), { code: 3, stderr: /not signed in/ });
  });

  await t.test('logging out everywhere ends the sessions of other machines', async (t) => {
    await world.signIn();
    t.match(await world.svc(['whoami'], { as: 'browsing' }), { code: 0 });
    t.match(await world.svc(['logout', '--everywhere']), { code: 0, stdout: /, everywhere$/m });
    t.match(await world.svc(['whoami'], { as: 'browsing' }), { code: 3, stderr: /svc login/ });
  });

  await t.test('logging out works locally while the service is unreachable', async (t) => {
    await world.signIn();
    const path = join(world.homeOf('owner'), '.config/svc/session.json');
    const session = JSON.parse(readFileSync(path, 'utf8'));
    writeSession(path, { ...session, endpoint: 'http://127.0.0.1:9' });
    const ran = await world.svc(['logout']);
    t.match(ran, {
      code: 5,
      stderr: /did not respond: .*\n {2}Signed out only on this machine\. /,
    });
    t.match(
      ran.stderr,
      /The session at http:\/\/127\.0\.0\.1:9 stays valid until it expires\. To end it,\n/,
    );
    t.match(ran.stderr, /"svc logout --everywhere" or "svc sessions end SESSION"\n$/);
    t.notOk(existsSync(path));
  });
});

async function byLink(t: Test, world: CliWorld): Promise<void> {
  const made = await world.svc(['admin', 'login-link', 'owner@session.test', '--json']);
  const { link } = made.json;

  await t.test('an incompletely copied link is rejected before it is sent', async (t) => {
    for (const text of [link.slice(0, -1), 'svc_link_1_2', 'https://x.example/', '']) {
      const ran = await world.svc(['login', '--link', '-'], { as: 'linked', input: text });
      t.match(ran, { code: 2, stderr: /The link is not valid/ }, text.slice(0, 20));
      t.notOk(ran.stderr.includes(link.slice(-40)));
    }
  });

  await t.test('the whole link signs in, and contains the address of the service', async (t) => {
    const none = { SVC_ENDPOINT: undefined };
    const args = ['login', '--link', link, '--json'];
    const ran = await world.svc(args, { as: 'linked', env: none });
    t.equal(ran.code, 0, ran.stderr);
    t.match(ran.json, { endpoint: world.endpoint, person: /^people\/\w+$/, expiresUnix: Number });
    const session = readFileSync(join(world.homeOf('linked'), '.config/svc/session.json'), 'utf8');
    t.match(JSON.parse(session), { cookieName: 'svc_session', secret: /^svc_session_/ });
  });

  await t.test('a link works once', async (t) => {
    const ran = await world.svc(['login', '--link', '-'], { as: 'late', input: link });
    t.equal(ran.code, 3, ran.stderr);
    t.notOk(existsSync(join(world.homeOf('late'), '.config/svc/session.json')));
  });
}

async function byBrowser(t: Test, world: CliWorld): Promise<void> {
  /** Starts `svc login`; returns the address that it wants to open, and its outcome. */
  async function begin(
    as: string,
    options: object = {},
  ): Promise<{ url: URL; ended: Promise<Ran> }> {
    const opened = Promise.withResolvers<string>();
    const client = {
      openBrowser: async (url: string) => {
        opened.resolve(url);
        return true;
      },
      ...options,
    };
    const ended = world.svc(['login'], { as, client });
    return { url: new URL(await opened.promise), ended };
  }

  await t.test('the signed-in user confirms, and the command is signed in', async (t) => {
    const { url, ended } = await begin('browsing');
    t.equal(url.origin + url.pathname, `${world.endpoint}/auth/cli`);
    const browser = await signedInBrowser(world);
    const form = Object.fromEntries(url.searchParams);
    const confirmed = await browser.post('/auth/cli', form);
    const back = confirmed.headers.get('location') ?? '';
    t.match(back, /^http:\/\/127\.0\.0\.1:\d+\/\?state=\S+&code=svc_link_/);
    t.match(await (await fetch(back)).text(), /<h1>Signed in<\/h1>/);
    const ran = await ended;
    t.match(ran, { code: 0, stdout: /^Signed in at http:\S+ as (?!people\/)\S/ }, ran.stderr);
    const secret = new URL(back).searchParams.get('code') ?? '';
    t.notOk((ran.stdout + ran.stderr).includes(secret));
    await t.rejects(fetch(back), 'the listener is closed');
    const code = await world.svc(['login', '--link', '-'], { as: 'thief', input: secret });
    t.equal(code.code, 3, 'the code is used up, and was useless without its verifier');
  });

  await t.test('an intercepted code is useless', async (t) => {
    const { url, ended } = await begin('robbed');
    const browser = await signedInBrowser(world);
    const confirmed = await browser.post('/auth/cli', Object.fromEntries(url.searchParams));
    const back = new URL(confirmed.headers.get('location') ?? '');
    const stolen = back.searchParams.get('code') ?? '';
    const thief = await world.svc(['login', '--link', '-'], { as: 'thief', input: stolen });
    t.equal(thief.code, 3, thief.stderr);
    await (await fetch(back)).text();
    await ended;
  });

  await t.test('the listener accepts only its own state and host name', async (t) => {
    const { url, ended } = await begin('listening');
    const port = Number(url.searchParams.get('port'));
    const state = url.searchParams.get('state') ?? '';
    const get = (path: string, headers = {}) => statusOf({ port, path, headers });
    t.equal(await get('/?state=guessed&code=x'), 404);
    t.equal(await get(`/?state=${state}`), 404, 'without a code');
    t.equal(await get(`/other?state=${state}&code=x`), 404);
    t.equal(await get(`/?state=${state}&code=x`, { host: `evil.example:${port}` }), 404);
    t.equal(await get(`/?state=${state}&code=not-a-code`), 200, 'the page shows the outcome');
    t.match(await ended, { code: 3 }, 'the service rejects an unknown code');
  });

  await t.test('the command gives up if the browser does not return', async (t) => {
    const clock = new VirtualClock(0);
    const { ended } = await begin('waiting', { clock });
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(5 * 60_000);
    t.match(await ended, { code: 3, stderr: /The browser did not return within 5 minutes/ });
  });
}

/** A browser with the owner's session. */
async function signedInBrowser(world: CliWorld) {
  const made = await world.svc(['admin', 'login-link', 'owner@session.test', '--json']);
  const pages = new URL(made.json.link);
  const token = pages.hash.slice(1);
  let cookie = '';
  const post = async (path: string, form: Record<string, string>) => {
    const answer = await requestAs(pages.host, world.endpoint + path, {
      method: 'POST',
      body: new URLSearchParams(form).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: pages.origin,
        'sec-fetch-site': 'same-origin',
        cookie,
      },
    });
    cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    return answer;
  };
  await post('/auth/link', { token });
  return { post };
}

/** `fetch` cannot set the Host header. */
function statusOf(options: { port: number; path: string; headers: object }): Promise<number> {
  return new Promise((resolve, reject) => {
    const requested = request({ host: '127.0.0.1', ...options, headers: { ...options.headers } });
    requested.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    requested.on('error', reject);
    requested.end();
  });
}
