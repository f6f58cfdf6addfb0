/**
 * Keys in Chromium, against the program as a user starts it: each secret is shown once, kept
 * nowhere in the browser, and checked against the API for its permissions.
 */
import { type Test, test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { memberOf } from '../../../support/busy-project/access.ts';
import { type Person, signInBy } from '../../../support/busy-project/people.ts';
import { sendOn, startChromium, type Visitor } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { pagesOf } from '../../../support/program.ts';
import { joinService } from '../../../support/shared-service.ts';
import { walk } from '../../../support/walk.ts';

test('keys', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  if (!isCurrent()) await buildDashboard();
  const [chromium, program] = await Promise.all([startChromium(t), joinService('keys')]);
  const { baseUrl, projectName, signInUrl = '' } = program.demo;
  const owner = await signInBy(signInUrl);
  const { link } = await owner.call('project.v1.ProjectService/InviteMember', {
    projectName,
    requestId: crypto.randomUUID(),
    email: 'grace@example.com',
    role: 'EDITOR',
  });
  const grace = await signInBy(String(link));
  const browserOf = async (person: Person): Promise<Visitor> => {
    const visitor = await chromium.visitor(pagesOf(program.demo));
    await visitor.page.context().addCookies([{ ...person.cookie, url: pagesOf(program.demo) }]);
    return visitor;
  };
  const [visitor, member] = await Promise.all([browserOf(owner), browserOf(grace)]);

  /** Status of a read of metrics and of a change, with a key. */
  const tried = async (secret: string): Promise<readonly number[]> => {
    const rule = { spec: { displayName: 'x' }, id: crypto.randomUUID(), expectedVersion: '0' };
    const [reading, change] = await Promise.all([
      program.call('monitoring.v1.MonitoringService/ListVMMonitoring', { projectName }, secret),
      program.call(
        'monitoring.v1.AlertService/SaveAlertRule',
        { projectName, requestId: crypto.randomUUID(), ...rule },
        secret,
      ),
    ]);
    return [reading.status, change.status];
  };

  await walk(t, 'DASH-15: a member creates a personal key', member, async (t, page) => {
    await page.goto(`/${projectName}/members`);
    await page.getByRole('link', { name: 'My keys' }).click();
    await page.getByText('There are no keys here').waitFor();
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('laptop');
    await dialog.getByLabel('Lifetime in days').fill('366');
    await dialog.getByText('Whole days, from 1 to 365').first().waitFor();
    await dialog.getByLabel('Lifetime in days').fill('10');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const secret = await storedSecret(t, page, 'Secret of laptop');
    t.same(await tried(secret), [200, 403], 'it can read but not change');
    const row = page.getByRole('row', { name: /laptop/ });
    t.match(await row.innerText(), /Active\s+read\s+in \d+ d\s+/);
    await row.getByTitle('within 14 days').waitFor();
  });

  await t.test('DASH-15: a key whose response was lost is revoked and replaced', async (t) => {
    const { page } = member;
    await page.route(
      '**/CreateKey',
      async (route) => {
        await sendOn(route);
        await route.abort();
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Create key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('tablet');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByText('The outcome of the change is unknown').waitFor();
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByText('cannot be shown again').waitFor();
    await dialog.getByRole('button', { name: 'Revoke it and create another' }).click();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const secret = await storedSecret(t, page, 'Secret of tablet');
    t.same(await tried(secret), [200, 403]);
    await page.getByRole('row', { name: /tablet/ }).waitFor();
    await page.getByLabel('Show').selectOption('Include expired and revoked');
    await page.getByRole('row', { name: /tablet.*Revoked.*SECRET_LOST/ }).waitFor();
    t.equal(await page.getByRole('row', { name: /tablet/ }).count(), 2, 'one of them works');
    const unexpected = member.problems.splice(0).filter((problem) => !/ERR_FAILED/.test(problem));
    t.same(unexpected, []);
  });

  let rotated = '';
  await walk(t, 'DASH-15: a member rotates a key', member, async (t, page) => {
    await page.goto(`/${await memberOf(grace, projectName)}/keys`);
    await page.getByRole('button', { name: /Actions for laptop/ }).click();
    await page.getByRole('menuitem', { name: 'Rotate' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('The old key stays valid for').selectOption('24 more hours');
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    rotated = await storedSecret(t, page, 'Secret of laptop');
    t.same(await tried(rotated), [200, 403]);
    await page.getByRole('row', { name: /laptop.*Being replaced.*in 2\d h/ }).waitFor();
    await page.getByRole('row', { name: /laptop.*Active.*in 90 d/ }).waitFor();
  });

  await walk(t, 'DASH-15: a member revokes a key', member, async (t, page) => {
    await page
      .getByRole('row', { name: /laptop.*Active/ })
      .getByRole('button')
      .click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('laptop sold');
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('row', { name: /laptop.*Active/ }).waitFor({ state: 'detached' });
    t.same(await tried(rotated), [401, 401]);
  });

  await walk(
    t,
    'DASH-15: an owner sees and revokes the keys of a member',
    visitor,
    async (t, page) => {
      await page.goto(`/${projectName}/members`);
      await page.getByRole('button', { name: 'Actions for grace' }).click();
      await page.getByRole('menuitem', { name: 'Show keys' }).click();
      await page.getByRole('heading', { level: 1, name: /Keys of grace/ }).waitFor();
      await page.getByRole('button', { name: /Actions for tablet/ }).click();
      t.equal(await page.getByRole('button', { name: 'Create key' }).count(), 0);
      await page.getByRole('menuitem', { name: /Rotate Only the member/ }).waitFor();
      await page.getByRole('menuitem', { name: 'Revoke' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('The member is notified').waitFor();
      await dialog.getByRole('button', { name: 'Revoke' }).click();
      await page.getByRole('row', { name: /tablet/ }).waitFor({ state: 'detached' });
    },
  );

  await walk(
    t,
    'DASH-24: an owner changes how far PromQL queries look back',
    visitor,
    async (t, page) => {
      await page.goto(`/${projectName}/serviceAccounts`);
      const settings = page.getByRole('region', { name: 'PromQL queries' });
      const field = settings.getByLabel('Look-back, seconds');
      const saved = async () =>
        (await owner.call('project.v1.ProjectService/GetProject', { name: projectName }))
          .promqlLookbackSeconds;
      const usable = settings.locator('button[aria-disabled="false"]');
      await usable.waitFor();
      t.equal(await field.inputValue(), String(await saved()), 'it shows the current value');
      await field.fill('59');
      await settings.getByText('Whole seconds, from 60 to 3600').first().waitFor();
      const save = settings.getByRole('button', { name: 'Save' });
      t.equal(await save.getAttribute('aria-disabled'), 'true');
      await field.fill('600');
      await save.click();
      await page.getByText('Saved', { exact: true }).waitFor();
      t.equal(await saved(), 600);
      await page.reload();
      await usable.waitFor();
      t.equal(await field.inputValue(), '600');
    },
  );

  await walk(
    t,
    'DASH-22: an owner creates a service account from a template',
    visitor,
    async (t, page) => {
      await page.goto(`/${projectName}/serviceAccounts`);
      await page.getByRole('button', { name: 'Create service account' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Display name').fill('Scraper');
      const permissions = dialog.getByLabel('Permissions');
      await permissions.selectOption('Custom');
      await permissions.selectOption('Metrics scraper: monitoring.read');
      t.match(await dialog.innerText(), /never open a VM console/);
      await dialog.getByRole('button', { name: 'Create service account' }).click();
      await page.getByRole('heading', { level: 1, name: 'Scraper' }).waitFor();
      await page.getByText('read from the template metrics-scraper').waitFor();
    },
  );

  let scraping = '';
  await walk(
    t,
    'DASH-22: an owner creates a key of a service account',
    visitor,
    async (t, page) => {
      await page.getByRole('button', { name: 'Create key' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('grafana');
      await dialog.getByText('Expires').waitFor();
      t.same(await dialog.getByRole('checkbox').count(), 1, 'permissions of the account');
      await dialog.getByRole('button', { name: 'Create key' }).click();
      scraping = await storedSecret(t, page, 'Secret of grafana');
      t.same(await tried(scraping), [200, 403]);
      await page.getByText('Where to use a key').click();
      const usage = page.locator('.usage');
      const address = `${baseUrl}/v1/monitoring/${projectName}`;
      await usage.getByText(`${address}/promql`).waitFor();
      await usage.getByText(`- url: ${address}/scrape-targets`).waitFor();
      const authorization = `Bearer ${scraping}`;
      for (const path of ['promql/api/v1/query?query=up', 'scrape-targets']) {
        const answer = await fetch(`${address}/${path}`, { headers: { authorization } });
        t.equal(answer.status, 200, path);
      }
    },
  );

  await walk(t, 'DASH-22: an owner edits a service account', visitor, async (t, page) => {
    await page.getByRole('button', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Keys cannot exceed these permissions').waitFor();
    await dialog.getByLabel('Display name').fill('Alert manager');
    await dialog.getByLabel('monitoring.write').check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { level: 1, name: 'Alert manager' }).waitFor();
    t.same(await tried(scraping), [200, 403], 'a key does not gain permissions with its account');
    await page.getByRole('button', { name: 'Create key' }).click();
    await dialog.getByLabel('Name').fill('writer');
    await dialog.getByLabel('monitoring.write').check();
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const writer = await storedSecret(t, page, 'Secret of writer');
    t.same(await tried(writer), [200, 400], 'it may write, but the rule itself is rejected');
    await page.getByRole('button', { name: 'Edit' }).click();
    t.equal(await dialog.getByLabel('Display name').inputValue(), 'Alert manager');
    await dialog.getByLabel('monitoring.write').uncheck();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /writer.*read write: not now/ }).waitFor();
    t.same(await tried(writer), [200, 403], 'removed permissions are rejected at once');
  });

  await t.test(
    'DASH-22: keys of all service accounts are one list, ordered by expiry',
    async (t) => {
      const { page } = visitor;
      await page.goto(`/${projectName}/serviceAccounts`);
      const table = page.getByRole('table', { name: 'Keys' });
      await table.getByRole('row', { name: /grafana.*Alert manager/ }).waitFor();
      const names = await table.locator('tbody td:first-child').allInnerTexts();
      t.same(
        names.map((name) => name.split(' …')[0]),
        ['grafana', 'writer', 'Demo key'],
      );
      const account = page.getByRole('row', { name: /^Alert manager/ });
      t.match(await account.innerText(), /read\s+Active\s+2\s+in 90 d/);
      t.same(visitor.problems, []);
      await page.getByRole('link', { name: 'Alert manager' }).click();
    },
  );

  await walk(
    t,
    'DASH-22: an owner disables, enables and deletes a service account',
    visitor,
    async (t, page) => {
      await page.getByRole('button', { name: 'Disable' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('Moved');
      await dialog.getByRole('button', { name: 'Disable' }).click();
      await page.getByText('This service account is disabled').waitFor();
      await page.getByText('The account is disabled. Enable it first').first().waitFor();
      t.same(await tried(scraping), [403, 403]);
      await page.getByRole('button', { name: 'Enable' }).click();
      await dialog.getByRole('button', { name: 'Enable' }).click();
      await page.getByText('This service account is disabled').waitFor({ state: 'detached' });
      t.same(await tried(scraping), [200, 403]);
      await page.getByRole('button', { name: 'Delete' }).click();
      await dialog.getByText('Its active keys (2)').waitFor();
      await dialog.getByRole('button', { name: 'Delete' }).click();
      await page.getByRole('heading', { level: 1, name: 'Service accounts' }).waitFor();
      await page.getByRole('link', { name: 'Demo', exact: true }).waitFor();
      t.equal(await page.getByRole('row', { name: /Alert manager/ }).count(), 0);
      t.same(await tried(scraping), [401, 401]);
    },
  );
});

/**
 * Returns the secret in the dialog and confirms that it is stored; afterwards it is nowhere in the
 * page.
 */
async function storedSecret(t: Test, page: Visitor['page'], name: string): Promise<string> {
  const region = page.getByRole('dialog').getByRole('region', { name });
  await region.getByRole('button', { name: 'Show' }).click();
  const secret = await region.locator('output').innerText();
  t.match(secret, /^svc_[ps]k_/);
  // Chromium lets a page refuse only the first one.
  for (let i = 0; i < 3; i += 1) await page.keyboard.press('Escape');
  t.equal(await region.locator('output').innerText(), secret, 'Escape does not close it');
  await region.getByRole('button', { name: 'I have stored it' }).click();
  await region.waitFor({ state: 'hidden' });
  const stores = await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])',
  );
  t.notOk(`${stores}${page.url()}${await page.content()}`.includes(secret), 'it is kept nowhere');
  return secret;
}
