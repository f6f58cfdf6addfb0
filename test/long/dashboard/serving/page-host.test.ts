/**
 * In a real browser: the session of the dashboard on plain http reaches no other program of this
 * machine, and a tunnel to another port works.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { type Test, test } from 'tap';
import { callFrom, startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { dataFolder, pagesOf, startProgram } from '../../../support/program.ts';

async function portOf(server: Pick<Server, 'listen' | 'address'>): Promise<number> {
  const listening = once(server as Server, 'listening');
  server.listen(0, '127.0.0.1');
  await listening;
  // A listening TCP server has an address of this type.
  return (server.address() as AddressInfo).port;
}

/** Another program of this machine, with the Cookie header of each request. */
async function startOther(t: Test) {
  const cookies: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    cookies.push(request.headers.cookie);
    response.setHeader('content-type', 'text/html');
    response.end('<title>other</title>');
  });
  const port = await portOf(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, cookies };
}

/** Forwards a port of its own, as `ssh -L` does. */
async function startTunnel(t: Test, target: number): Promise<number> {
  const server = createTcpServer((socket) => {
    const forwarded = connect(target, '127.0.0.1');
    socket.on('error', () => forwarded.destroy());
    forwarded.on('error', () => socket.destroy());
    socket.pipe(forwarded).pipe(socket);
    t.teardown(() => socket.destroy());
  });
  const port = await portOf(server as unknown as Server);
  t.teardown(() => server.close());
  return port;
}

test('the session reaches no other port', { ...needs('chromium') }, async (t) => {
  const [chromium, program, other] = await Promise.all([
    startChromium(t),
    startProgram(t, dataFolder(t), { SVC_COLLECT: 'none' }),
    startOther(t),
  ]);
  const { baseUrl, signInUrl = '' } = program.demo;
  const pages = pagesOf(program.demo);
  const { port } = new URL(baseUrl);
  const { page } = await chromium.visitor(pages);

  // The fragment, which has the token, outlives the redirect.
  await page.goto(signInUrl.replace(pages, baseUrl));
  t.match(page.url(), `${pages}/auth/link`);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${pages}/projects/demo`);
  t.ok(await page.evaluate('isSecureContext'), 'the browser allows what the dashboard needs');
  await page.getByRole('heading', { level: 1 }).waitFor();

  for (const name of ['127.0.0.1', 'localhost']) {
    await page.goto(`http://${name}:${other.port}/`);
  }
  const query = `port=${other.port}&state=${'s'.repeat(16)}&challenge=${'c'.repeat(43)}`;
  await page.goto(`${baseUrl}/auth/cli?${query}`);
  await page.getByRole('button', { name: 'Sign in the command line' }).click();
  await page.waitForURL(`http://127.0.0.1:${other.port}/**`);
  t.ok(other.cookies.length >= 3);
  t.same(other.cookies.filter(Boolean), [], 'no request has a cookie');

  await page.goto(`http://localhost:${port}/projects/demo`);
  t.equal(page.url(), `${pages}/projects/demo`, 'and the session is still there');

  const tunnel = await startTunnel(t, Number(port));
  const far = await chromium.visitor(pages.replace(port, String(tunnel)));
  await far.page.goto(`http://127.0.0.1:${tunnel}/projects/demo`);
  t.equal(new URL(far.page.url()).origin, pages.replace(port, String(tunnel)));
  await far.page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
  await far.page.context().addCookies(
    (await page.context().cookies(pages)).map(({ name, value }) => ({
      name,
      value,
      url: pages.replace(port, String(tunnel)),
    })),
  );
  await far.page.goto(`http://127.0.0.1:${tunnel}/projects/demo`);
  await far.page.getByRole('navigation').first().waitFor();
  const listed = await callFrom(far.page, '/svc.project.v1.ProjectService/ListProjects', {});
  t.equal(listed.status, 200, 'calls through the tunnel have its origin');
});
