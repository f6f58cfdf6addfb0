/**
 * The audit trail in Chromium: filters in the address, a step with its fields and links, and the
 * export, whose lines equal those of the API.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { callFrom, startChromium, type Visitor } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { saveRule, untilFiring, writeReadings } from '../../../support/incidents-to-show.ts';
import { pagesOf } from '../../../support/program.ts';
import { joinService } from '../../../support/shared-service.ts';
import { walk } from '../../../support/walk.ts';

const MARKUP = '<img src=x onerror=alert(1)><b>bold</b>';
const LIST = 'audit.v1.AuditService/ListTransitions';

interface Credential {
  readonly name: string;
  readonly kind: string;
  readonly displayName: string;
  readonly ownerDisplayName: string;
}

interface Step {
  readonly event: string;
  readonly machine: string;
  readonly instanceName: string;
}

test('the audit trail', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const [chromium, program] = await Promise.all([startChromium(t), joinService('audit-trail')]);
  const { projectName, signInUrl = '' } = program.demo;
  const visitor = await chromium.visitor(pagesOf(program.demo), {
    viewport: { width: 1280, height: 800 },
  });
  const { page, problems } = visitor;
  const table = page.getByRole('table', { name: 'Recorded steps, newest first' });
  const row = (event: string) =>
    table
      .locator('tr[data-row]')
      .filter({ has: page.getByRole('cell', { name: event, exact: true }) });
  await page.goto(signInUrl);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${pagesOf(program.demo)}/${projectName}`);
  await saveRule(program, { displayName: MARKUP });
  await writeReadings(program, [{ vm: 'vm-1', percent: 97, atMs: Date.now() - 20_000 }]);
  const [incident] = await untilFiring(program, 1);
  await acknowledge(visitor, incident?.name ?? '');

  await t.test(
    'DASH-13: filters are kept in the address and find the steps that they name',
    async (t) => {
      await page.getByRole('link', { name: 'Audit trail', exact: true }).click();
      await row('acknowledged').waitFor();
      await row('sustained').waitFor();
      t.equal(await table.locator('b, img').count(), 0, 'the name of a rule stays text');
      await page.getByLabel('Machine').selectOption('alertRule');
      await row('sustained').waitFor({ state: 'detached' });
      await row('applied').filter({ hasText: MARKUP }).waitFor();
      await page.getByLabel('Event').fill('applied');
      await page.getByLabel('Event').press('Enter');
      await row('created').waitFor({ state: 'detached' });
      t.match(page.url(), /\?machine=alertRule&event=applied$/);
      await page.getByLabel('When').selectOption('1h');
      await row('applied').waitFor();
      await page.getByLabel('When').selectOption({ label: 'From … to …' });
      await page.getByLabel('From', { exact: true }).fill('2026-01-01T00:00:00');
      await page.getByLabel('To', { exact: true }).fill('2026-01-02T00:00:00');
      await page.getByText('No recorded steps match these filters.').waitFor();
      t.match(page.url(), /from=1767\d+&to=1767\d+/);
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await row('sustained').waitFor();
      t.equal(new URL(page.url()).search, '');
    },
  );

  await t.test(
    'actors are found by name, whether seen or not, and an unknown name is reported',
    async (t) => {
      const requested = { projectName, pageSize: 1_000 };
      const { members } = await ask(visitor, 'project.v1.ProjectService/ListMembers', requested);
      const { credentials } = await ask(
        visitor,
        'iam.v1.AutomationService/ListCredentials',
        requested,
      );
      const [owner] = members as { name: string; displayName: string }[];
      const key = (credentials as Credential[]).find(({ kind }) => kind === 'SERVICE_ACCOUNT_KEY');
      const who = page.getByLabel('Who');
      const choose = async (name: string): Promise<void> => {
        await page
          .locator('.filters datalist option')
          .and(page.locator(`[value="${name}"]`))
          .waitFor({
            state: 'attached',
          });
        await who.fill(name);
        await who.press('Enter');
      };
      // The rule was saved by a key: no step of this person is on the page.
      await page.goto(`/${projectName}/audit?machine=alertRule`);
      await row('created').waitFor();
      await choose(owner?.displayName ?? '');
      await page.getByText('No recorded steps match these filters.').waitFor();
      t.equal(new URL(page.url()).searchParams.get('by'), owner?.name);
      await page.getByLabel('Machine').selectOption('');
      await row('acknowledged').waitFor();
      t.equal(await who.inputValue(), owner?.displayName);
      await choose(`${key?.ownerDisplayName}: ${key?.displayName}`);
      await row('created').waitFor();
      t.equal(new URL(page.url()).searchParams.get('by'), key?.name);
      await who.fill('Nobdy');
      await who.press('Enter');
      await page.getByRole('alert').getByText('No member or account is named "Nobdy".').waitFor();
      t.equal(new URL(page.url()).searchParams.get('by'), key?.name, 'and filters nothing');
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await row('sustained').waitFor();
      t.same(problems, []);
    },
  );

  await t.test(
    'DASH-13: a step shows its fields and links, and its own link opens it',
    async (t) => {
      await row('acknowledged').getByRole('link').first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('attention acknowledged, ', { exact: false }).waitFor();
      await dialog.getByRole('link', { name: 'Path on the statechart' }).waitFor();
      const link = `${page.url()}&machine=credential`;
      await page.goto(link);
      await dialog.getByText('attention acknowledged, ', { exact: false }).waitFor();
      await dialog.getByRole('link', { name: 'All steps of this resource' }).click();
      await row('breachStarted').waitFor();
      await row('sustained').getByRole('link', { name: 'alertInstance' }).click();
      await page.locator('.step-list li').first().waitFor();
      t.match(page.url(), /machines\/alertInstance\?instance=projects%2F/);
      await page.getByRole('link', { name: 'Hide the instance' }).click();
      await page.getByRole('link', { name: 'All steps of this machine' }).click();
      await row('breachStarted').waitFor();
      t.same(problems, []);
    },
  );

  await t.test(
    'DASH-13: an incident links to all its steps, and loading steps are not shown as absent',
    async (t) => {
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      await page.route(`**/svc.${LIST}`, async (route) => {
        await held;
        await route.continue().catch(() => {});
      });
      await page.goto(`/${incident?.name}`);
      await page.locator('.incident details .loading .shown').first().waitFor();
      await page.getByRole('link', { name: 'In the audit trail' }).waitFor();
      t.equal(await page.getByText('No steps are recorded.').count(), 0);
      release();
      await page.locator('.incident .step-list li').first().waitFor();
      await page.unroute(`**/svc.${LIST}`);
      await page.getByRole('link', { name: 'In the audit trail' }).click();
      await row('breachStarted').waitFor();
      await row('acknowledged').waitFor();
      t.same(problems, []);
    },
  );

  await walk(t, 'DASH-13: a user exports the audit trail', visitor, async (t) => {
    await page.goto(`/${projectName}/audit?machine=alertInstance`);
    await row('sustained').waitFor();
    await page.getByRole('button', { name: 'Export' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Export' }).click();
    const steps = await stepsOf(visitor, projectName, 'alertInstance');
    await dialog.getByText(`All ${steps.length} steps are in the file.`).waitFor();
    const { name, lines } = await saved(page);
    t.match(name, /^audit-audit-trail-[\d-]+T\d{6}Z\.jsonl$/);
    t.same(lines, steps, 'the lines equal those of the API');
    t.ok(lines.length > 3);
  });

  await t.test('DASH-13: an export can be stopped, and an incomplete file is marked', async (t) => {
    await page.goto(`/${projectName}/audit`);
    await row('sustained').waitFor();
    const all = await stepsOf(visitor, projectName, '');
    // Pages of three, so that there are several; the third responds when released.
    let [pages, release] = [0, () => {}];
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/svc.audit.v1.AuditService/ListTransitions', async (route) => {
      pages += 1;
      if (pages === 3) await held;
      const request = { ...(route.request().postDataJSON() as object), pageSize: 3 };
      await route.continue({ postData: JSON.stringify(request) }).catch(() => {});
    });
    await page.getByRole('button', { name: 'Export' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Export' }).click();
    await dialog.getByText(/^6 steps so far, down to /).waitFor();
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await dialog.getByText('Stopped: older steps are missing').waitFor();
    const partly = await saved(page);
    t.match(partly.name, /-incomplete\.jsonl$/);
    t.same(partly.lines, all.slice(0, 6));
    release();
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText(`All ${all.length} steps are in the file.`).waitFor();
    t.same((await saved(page)).lines, all, 'the export continued where it was stopped');
    t.same(problems, []);
  });
});

/** As the signed-in user, so that the step has a name. */
async function acknowledge({ page }: Visitor, name: string): Promise<void> {
  await page.goto(`/${name}`);
  await page.getByRole('button', { name: 'Acknowledge' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).click();
  await page
    .getByText(/Acknowledged/)
    .first()
    .waitFor();
}

/** All steps, as returned by the API for the visitor's session. */
async function stepsOf(visitor: Visitor, projectName: string, machine: string): Promise<Step[]> {
  const { transitions } = await ask(visitor, LIST, { projectName, machine, pageSize: 1_000 });
  return transitions as Step[];
}

/** Like the dashboard, with the visitor's session. */
async function ask(
  { page }: Visitor,
  method: string,
  data: object,
): Promise<Record<string, unknown>> {
  return (await callFrom(page, `/svc.${method}`, data)).body;
}

async function saved(page: Page): Promise<{ name: string; lines: Step[] }> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save the file' }).click(),
  ]);
  const text = readFileSync(await download.path(), 'utf8');
  const lines = text.trimEnd().split('\n');
  return {
    name: download.suggestedFilename(),
    lines: lines.map((line) => JSON.parse(line) as Step),
  };
}
