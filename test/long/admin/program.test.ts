/** The service and `svc admin` as programs, on the first day of an operator. */
import { test } from 'tap';
import { dataFolder, runToEnd, startProgram } from '../../support/program.ts';

test('the program as a user starts it: from a folder to a signed-in owner', async (t) => {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, { SVC_COLLECT: 'none' });
  const admin = (...args: string[]) => runToEnd(['admin', ...args, '--data', folder]);
  t.equal((await admin('project', 'create', 'web', '--owner', 'ann@x.org')).code, 0);
  const { stdout } = await admin('login-link', 'ann@x.org', '--json');
  const { link } = JSON.parse(stdout) as { link: string };
  const { baseUrl } = program.demo;
  t.match(link, /^http:\/\/svc-[0-9a-f]{8}\.localhost:\d+\/auth\/link#svc_link_/);
  const post = (path: string, body: object, headers = {}) =>
    fetch(baseUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: baseUrl, ...headers },
      body: JSON.stringify(body),
    });
  const signedIn = await post('/auth/link', { token: link.split('#')[1] });
  t.equal(signedIn.status, 200);
  const { session } = (await signedIn.json()) as {
    session: { cookieName: string; secret: string };
  };
  const cookie = `${session.cookieName}=${session.secret}`;
  const projects = '/svc.project.v1.ProjectService/ListProjects';
  const asAnn = async () => await post(projects, {}, { cookie });
  t.match(await (await asAnn()).json(), { projects: [{ name: 'projects/web', role: 'OWNER' }] });
  t.equal((await admin('sessions', 'end', 'ann@x.org')).code, 0);
  t.equal((await asAnn()).status, 401, 'the next request');
  t.notMatch(program.log(), session.secret.slice(-40));
  t.notMatch(program.log(), link.slice(-40));
  t.equal(await program.stop(), 0);
});
