/**
 * Members, invitations and sessions in Chromium, against the program as a user starts it: changes
 * by an owner, what other members see, and that a link is shown only once.
 */
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { memberOf } from '../../../support/busy-project/access.ts';
import { type Person, signInBy } from '../../../support/busy-project/people.ts';
import { startChromium, type Visitor } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { dataFolder, pagesOf, runInProcess, startProgram } from '../../../support/program.ts';
import { walk } from '../../../support/walk.ts';

const SETTINGS = { SVC_COLLECT: 'none', SVC_PROJECT_CREATION: 'people' };
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const PROJECTS = 'project.v1.ProjectService';

test('access to a project', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  if (!isCurrent()) await buildDashboard();
  const folder = dataFolder(t);
  const [chromium, program] = await Promise.all([
    startChromium(t),
    startProgram(t, folder, SETTINGS),
  ]);
  const { projectName, signInUrl = '' } = program.demo;
  const browserOf = async (person: Person): Promise<Visitor> => {
    const visitor = await chromium.visitor(pagesOf(program.demo));
    await visitor.page.context().addCookies([{ ...person.cookie, url: pagesOf(program.demo) }]);
    return visitor;
  };
  const owner = await signInBy(signInUrl);
  const visitor = await browserOf(owner);
  const { page } = visitor;
  const main = page.getByRole('main');
  const dialog = page.getByRole('dialog');
  const invited = async (email: string, role: string): Promise<Person> => {
    const request = { projectName, requestId: crypto.randomUUID(), email, role };
    const { link } = await owner.call(`${PROJECTS}/InviteMember`, request);
    return await signInBy(String(link));
  };
  const open = async (): Promise<void> => {
    await page.goto(`/${projectName}/members`);
    await main.getByRole('table', { name: 'Members' }).waitFor();
  };
  const act = async (who: string, what: string): Promise<void> => {
    await main.getByRole('button', { name: `Actions for ${who}` }).click();
    await page.getByRole('menuitem', { name: what }).click();
  };

  await walk(
    t,
    'DASH-14: an owner invites a member and revokes an invitation',
    visitor,
    async (t) => {
      await open();
      await main.getByText('No pending invitations').waitFor();
      await main.getByRole('button', { name: 'Invite a member' }).click();
      await dialog.getByText('This service cannot send mail').waitFor();
      await dialog.getByLabel('Email address').fill('grace@example.com');
      await dialog.getByLabel('Role').selectOption('EDITOR');
      await dialog.getByRole('button', { name: 'Invite a member' }).click();
      const secret = dialog.getByRole('region', { name: 'Invitation link for grace@example.com' });
      await secret.getByRole('button', { name: 'Show' }).click();
      const link = await secret.locator('output').innerText();
      t.match(link, /\/auth\/link#svc_inv_/);
      await page.keyboard.press('Escape');
      await secret.getByRole('button', { name: 'I have stored it' }).click();
      await dialog.waitFor({ state: 'hidden' });
      t.notOk((await keptIn(page)).includes(link.split('#')[1] ?? ''), 'the link is kept nowhere');
      const row = main.getByRole('row', { name: /grace@example\.com/ });
      t.match(await row.innerText(), /EDITOR/);
      await row.getByRole('button', { name: 'Revoke' }).click();
      await dialog.getByText('The link stops working at once').waitFor();
      await dialog.getByRole('button', { name: 'Revoke' }).click();
      await main.getByText('No pending invitations').waitFor();
      await t.rejects(signInBy(link), /answered 4\d\d/, 'the link gives no access');
    },
  );

  const grace = await invited('grace@example.com', 'EDITOR');

  await walk(t, 'DASH-14: an owner changes the role of a member', visitor, async (t) => {
    await open();
    const row = main.getByRole('row', { name: /grace@example\.com/ });
    t.match(await row.innerText(), /not verified/);
    await act('grace', 'Change role');
    await dialog.getByLabel('Role').selectOption('VIEWER');
    await dialog.getByText('Reads everything in the project').waitFor();
    await dialog.getByRole('button', { name: 'Change role' }).click();
    await row.getByText('VIEWER').waitFor();
    const { role } = await grace.call(`${PROJECTS}/GetProject`, { name: projectName });
    t.equal(role, 'VIEWER');
  });

  await t.test(
    'DASH-14: a viewer sees the members, and that invitations need an owner',
    async (t) => {
      const reader = await browserOf(grace);
      await reader.page.goto(`/${projectName}/members`);
      const main = reader.page.getByRole('main');
      await main.getByText('Needs OWNER').waitFor();
      await main.getByRole('row', { name: /grace@example\.com/ }).waitFor();
      await main.getByRole('button', { name: 'Actions for grace' }).click();
      t.same(await reader.page.getByRole('menuitem').allInnerTexts(), [
        'My keys',
        'Leave the project',
      ]);
      t.same(reader.problems, []);
    },
  );

  await t.test(
    'DASH-14: the only owner can neither leave nor be demoted, and sees the reason',
    async (t) => {
      await open();
      const { displayName } = await owner.call(`${PROJECTS}/GetSelf`, {});
      await act(String(displayName), 'Leave the project');
      await dialog.getByRole('button', { name: 'Leave' }).click();
      await dialog.getByText('Make another member an OWNER first').waitFor();
      t.equal(visitor.problems.splice(0).filter((problem) => !/400|412/.test(problem)).length, 0);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
    },
  );

  await walk(t, 'DASH-14: an owner removes a member', visitor, async (t) => {
    const member = await memberOf(grace, projectName);
    const request = { requestId: crypto.randomUUID(), parent: member, displayName: 'laptop' };
    const { secret } = await grace.call('iam.v1.AutomationService/CreateKey', {
      ...request,
      capabilities: ['monitoring.read'],
    });
    const ask = () =>
      program.call('monitoring.v1.AlertService/ListAlertRules', { projectName }, String(secret));
    t.equal((await ask()).status, 200);
    await open();
    await act('grace', 'Remove from the project');
    t.match(await dialog.innerText(), /keys.*revoked.*Sessions.*Mail destinations/s);
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await main.getByRole('row', { name: /grace@example\.com/ }).waitFor({ state: 'detached' });
    t.equal((await ask()).status, 401, 'the key ends with the membership');
    await t.rejects(grace.call(`${PROJECTS}/GetProject`, { name: projectName }), /answered 403/);
  });

  await walk(t, 'DASH-23: a user ends one session', visitor, async (t) => {
    const { name } = await owner.call(`${PROJECTS}/GetSelf`, {});
    const made = await runInProcess([
      'admin',
      'login-link',
      String(name),
      '--json',
      '--data',
      folder,
    ]);
    const elsewhere = await signInBy(JSON.parse(made.stdout).link, FIREFOX);
    await page.goto('/account');
    const sessions = main.getByRole('table', { name: 'Sessions' });
    await sessions.getByText('This session').waitFor();
    await sessions.getByRole('button', { name: 'End the session of Firefox, Linux' }).click();
    await dialog.getByText('signed out at its next request').waitFor();
    await dialog.getByRole('button', { name: 'End' }).click();
    await sessions.getByText('Firefox, Linux').waitFor({ state: 'detached' });
    t.equal(await sessions.getByRole('row').count(), 2, 'the heading and this browser');
    await t.rejects(elsewhere.call(`${PROJECTS}/GetSelf`, {}), /answered 401/);
    t.ok(await owner.call(`${PROJECTS}/GetSelf`, {}), 'the other session stays valid');
  });

  await walk(t, 'DASH-14: a user creates a project', visitor, async (t) => {
    await page.goto('/?all');
    await main.getByRole('button', { name: 'Create project' }).click();
    await dialog.getByLabel('Project id').fill('shop');
    await dialog.getByLabel('Display name').fill('Web shop');
    await dialog.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL(/projects\/shop$/);
    const { role } = await owner.call(`${PROJECTS}/GetProject`, { name: 'projects/shop' });
    t.equal(role, 'OWNER');
  });
});

/** Everything in which a page could keep a secret. */
async function keptIn(page: Visitor['page']): Promise<string> {
  const stores = await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])',
  );
  return `${stores}${page.url()}${await page.content()}`;
}
