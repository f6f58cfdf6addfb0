/**
 * Alert rules in Chromium, as an editor meets them: from the empty list to an applied rule, with
 * the keyboard only; two users editing the same rule; and what pausing and deleting retires.
 */
import type { Locator, Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { type Person, signInBy } from '../../../support/busy-project/people.ts';
import { sendOn, startChromium, type Visitor } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import {
  listIncidents,
  saveRule,
  untilFiring,
  writeReadings,
} from '../../../support/incidents-to-show.ts';
import { pagesOf, type ServiceUnderTest, until } from '../../../support/program.ts';
import { joinService } from '../../../support/shared-service.ts';
import { walk } from '../../../support/walk.ts';

const MARKUP = '<b>CPU</b> of the shop';
const RUNBOOK = {
  runbookText: 'Call <b>storage</b>.',
  runbookUrl: 'https://runbooks.example.com/cpu?a=b',
};

interface SavedRule {
  readonly name: string;
  readonly version: string;
  readonly syncStatus: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

test('alert rules', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const [chromium, program] = await Promise.all([startChromium(t), joinService('rules')]);
  await writeReadings(program, [reading('vm-1'), reading('vm-2', 20)]);
  const { projectName, signInUrl = '' } = program.demo;
  const browserOf = async (person: Person): Promise<Visitor> => {
    const visitor = await chromium.visitor(pagesOf(program.demo));
    await visitor.page.context().addCookies([{ ...person.cookie, url: pagesOf(program.demo) }]);
    return visitor;
  };
  const owner = await signInBy(signInUrl);
  const visitor = await browserOf(owner);
  const { page, problems } = visitor;
  await page.goto(`/${projectName}`);

  await t.test(
    'DASH-16: a keyboard alone leads from the empty list to an applied rule',
    async (t) => {
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('r');
      await page.getByText('No alert rules yet').waitFor();
      const template = page.getByRole('link', { name: 'Use this template CPU is high' });
      await template.waitFor();
      await press(page, template, 'Enter');
      const name = page.getByLabel('Name', { exact: true });
      await name.waitFor();
      await page.getByText('In percent.').waitFor();
      t.equal(await page.getByLabel('Threshold', { exact: true }).inputValue(), '90');
      await type(page, name, MARKUP);
      await type(page, page.getByLabel('Threshold', { exact: true }), '90,5');
      await page.getByText('Not a number in the unit of the metric').waitFor();
      await type(page, page.getByLabel('Threshold', { exact: true }), '90.5');
      await type(page, page.getByLabel('For at least', { exact: true }), '0');
      await type(page, page.getByLabel('Labels'), 'team=shop');
      await type(page, page.getByLabel('Steps'), RUNBOOK.runbookText);
      await type(page, page.getByLabel('Link', { exact: true }), RUNBOOK.runbookUrl);
      await page.reload();
      await name.waitFor();
      t.equal(await name.inputValue(), MARKUP, 'input survives a reload');
      await page.getByText('The rule would have fired once, on 1 of 2 VMs.').waitFor();
      await press(
        page,
        page.getByRole('button', {
          name: 'Save the rule',
        }),
        'Enter',
      );
      await page.getByRole('heading', { level: 1, name: MARKUP }).waitFor();
      await page.getByText('Version 1 is applied.').waitFor();
      const [rule] = await listRules(program);
      t.match(rule?.spec, {
        displayName: MARKUP,
        metricId: 'cpu_utilization_pct',
        operator: 'GREATER_THAN',
        threshold: 90.5,
        severity: 'WARNING',
        allVms: true,
        enabled: true,
        recoveryThreshold: 80,
        recoverySeconds: 120,
        labels: { team: 'shop' },
        ...RUNBOOK,
      });
      t.equal(rule?.name, `projects/rules/alertRules/${page.url().split('/').at(-1)}`);
      t.equal(await page.locator('main b').count(), 0, 'markup stays text');
      t.same(problems, []);
    },
  );

  const rulePath = new URL(page.url()).pathname;

  await walk(
    t,
    'DASH-16: an editor edits a rule that another user has changed',
    visitor,
    async (t, page) => {
      await page.goto(rulePath);
      const threshold = page.getByLabel('Threshold', { exact: true });
      await threshold.fill('95');
      await page.getByLabel('Severity').selectOption('CRITICAL');
      await changeRule(program, { threshold: 70, sustainedSeconds: 60 });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      const table = page.getByRole('table', { name: 'Your version and theirs' });
      await table.waitFor();
      await page.locator('.conflict:focus').waitFor();
      const rows = await table.locator('tbody tr').allInnerTexts();
      t.same(
        rows.map((row) => row.split(/\s*\t\s*/)),
        [
          ['Severity', 'Critical', 'Warning'],
          ['Threshold', '95', '70'],
          ['For at least', '0 s', '1 min'],
        ],
      );
      t.equal(
        (await listRules(program))[0]?.spec.threshold,
        70,
        'none of my changes are saved yet',
      );
      await page.reload();
      await table.waitFor();
      t.equal(await threshold.inputValue(), '95', 'my changes are kept');
      await page.getByRole('button', { name: 'Overwrite with mine' }).click();
      await page.getByText('Version 3 is applied.').waitFor();
      t.match(await listRules(program), [{ spec: { threshold: 95, severity: 'CRITICAL' } }]);
      await threshold.fill('50');
      await changeRule(program, { threshold: 60 });
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('button', { name: 'Take theirs' }).click();
      await table.waitFor({ state: 'detached' });
      t.equal(await threshold.inputValue(), '60');
      await page.getByText('No changes.').waitFor();
      t.match(await listRules(program), [{ version: '4', spec: { threshold: 60 } }]);
    },
    /status of 409|^409 |status of 400|^400 /,
  );

  await walk(t, 'DASH-16: an editor pauses and resumes a rule', visitor, async (t, page) => {
    await writeReadings(program, [reading('vm-1')]);
    await untilFiring(program, 1);
    await page.goto(rulePath);
    await page.getByLabel('Threshold', { exact: true }).fill('55');
    await page.getByRole('button', { name: 'Pause' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('It retires 1 firing incident and 2 alert instances.').waitFor();
    await dialog.getByText('No recovery is reported.').waitFor();
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused. The rule is not evaluated').waitFor();
    await until('the incident is retired', async () => {
      const [incident] = await listIncidents(program);
      return incident?.state === 'RETIRED' || undefined;
    });
    t.match(await listRules(program), [{ spec: { enabled: false, threshold: 60 } }]);
    t.equal(await page.getByLabel('Threshold', { exact: true }).inputValue(), '55');
    await page.getByRole('button', { name: 'Resume' }).click();
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('Version 6 is applied.').waitFor();
    t.match(await listRules(program), [{ spec: { enabled: true, threshold: 60 } }]);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Version 7 is applied.').waitFor();
    t.match(await listRules(program), [{ spec: { enabled: true, threshold: 55 } }]);
  });

  await t.test('DASH-16: a pending version is followed until it is applied', async (t) => {
    let answers = 0;
    await page.route('**/GetAlertRule', async (route) => {
      const answer = await sendOn(route);
      answers += 1;
      if (answers > 2) return await route.fulfill({ response: answer });
      // As with a busy evaluator: most are applied before the response.
      const late = { syncStatus: 'PENDING', appliedVersion: '6' };
      return await route.fulfill({ response: answer, json: { ...(await answer.json()), ...late } });
    });
    await page.goto(rulePath);
    await page.getByText('Version 7 is not applied yet. Version 6 was the last one').waitFor();
    await page.getByText('Being applied').waitFor();
    await page.getByText('Version 7 is applied.').waitFor();
    t.equal(answers, 3, 'each second, and no longer than needed');
    await page.unroute('**/GetAlertRule');
    t.same(problems, []);
  });

  await walk(t, 'DASH-16: an editor plans a maintenance window', visitor, async (t, page) => {
    await page.goto('/projects/rules/maintenanceWindows');
    await page.getByText('No maintenance is planned.').waitFor();
    await page.getByRole('button', { name: 'Plan maintenance' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('No notifications are sent').waitFor();
    await dialog.getByLabel('Reason').fill('Moves');
    t.equal(await dialog.getByText('Your earlier input is still here.').count(), 0);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Plan maintenance' }).click();
    await dialog.getByText('Your earlier input is still here.').waitFor();
    t.equal(await dialog.getByLabel('Reason').inputValue(), 'Moves', 'closing it keeps the input');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Plan maintenance' }).click();
    t.equal(await dialog.getByLabel('Reason').inputValue(), '', 'and Cancel does not');
    await dialog.getByLabel('Rule').selectOption({ label: MARKUP });
    await dialog.getByLabel('VM').fill('vm-9');
    await dialog.getByText('No VM is named vm-9').first().waitFor();
    await dialog.getByLabel('VM').fill('vm-1');
    await dialog.getByLabel('Duration').selectOption('time');
    await dialog.getByText('Choose an end', { exact: true }).waitFor();
    await dialog.getByLabel('Duration').selectOption('4');
    await dialog.getByLabel('Reason').fill(MARKUP);
    await page.reload();
    t.equal(await dialog.getByLabel('Reason').inputValue(), MARKUP, 'input survives a reload');
    await dialog
      .getByText(`No notifications are sent during that time for: Rule ${MARKUP}, VM vm-1`)
      .waitFor();
    await dialog.getByRole('button', { name: 'Plan' }).click();
    const row = page.locator('tr[data-row]').filter({ hasText: `Rule ${MARKUP}, VM vm-1` });
    await row.getByText('Active').waitFor();
    const kept = await page.evaluate<string>('JSON.stringify(sessionStorage)');
    t.notMatch(kept, 'planMaintenance', 'no draft is left');
    await row
      .getByText('in 4 h')
      .or(row.getByText(/in 3 h/))
      .waitFor();
    const [rule] = await listRules(program);
    t.match(await listWindows(owner, projectName), [
      { state: 'ACTIVE', ruleName: rule?.name, vmName: `${projectName}/vms/vm-1`, note: MARKUP },
    ]);
    await page.goto(rulePath);
    await page
      .getByText(/^In maintenance until .*: notifications of this rule for vm-1 are suppressed$/)
      .waitFor();
    await writeReadings(program, [reading('vm-1'), reading('vm-2', 99)]);
    const incidents = await untilFiring(program, 2);
    const of = (vm: string) => incidents.find(({ vmName }) => vmName.endsWith(vm))?.name ?? '';
    await page.goto(`/${of('vm-1')}`);
    await page
      .getByText(/^In maintenance until .*: notifications for this incident are suppressed$/)
      .waitFor();
    await page.goto(`/${of('vm-2')}`);
    await page.getByRole('button', { name: 'Acknowledge' }).waitFor();
    t.equal(await page.getByText(/In maintenance/).count(), 0, 'another VM is not covered');
  });

  await t.test('DASH-16: a viewer sees the rule, and that changes need an editor', async (t) => {
    const request = { projectName, requestId: crypto.randomUUID(), email: 'linus@example.com' };
    const invitation = { ...request, role: 'VIEWER' };
    const { link } = await owner.call('project.v1.ProjectService/InviteMember', invitation);
    const viewer = await browserOf(await signInBy(String(link)));
    await viewer.page.goto('/projects/rules/alertRules');
    await viewer.page.getByText('New rule: Needs EDITOR').waitFor();
    t.equal(await viewer.page.getByRole('columnheader', { name: 'Destinations' }).count(), 0);
    await viewer.page.getByRole('link', { name: MARKUP, exact: true }).click();
    await viewer.page.getByText('Average utilization of observed vCPUs').waitFor();
    await viewer.page.getByText(/^The rule would have fired/).waitFor();
    t.equal(await viewer.page.getByRole('textbox').count(), 0);
    await viewer.page.getByText(RUNBOOK.runbookText, { exact: true }).waitFor();
    const displayed = viewer.page.getByRole('link', { name: RUNBOOK.runbookUrl });
    t.equal(await displayed.getAttribute('href'), RUNBOOK.runbookUrl);
    const pause = viewer.page.locator('.action').filter({ hasText: 'Pause' });
    await pause.getByText('Needs EDITOR').waitFor();
    await viewer.page.getByRole('button', { name: 'Pause' }).click({ force: true });
    t.equal(await viewer.page.getByRole('dialog').count(), 0);
    await viewer.page.getByRole('link', { name: 'Maintenance windows' }).first().click();
    const maintenance = viewer.page.locator('tr[data-row]').filter({ hasText: 'VM vm-1' });
    await maintenance.getByText('Needs EDITOR').waitFor();
    t.match(await maintenance.innerText(), /Active/);
    t.same(viewer.problems, []);
  });

  await walk(t, 'DASH-16: an editor ends a maintenance window', visitor, async (t, page) => {
    await page.goto('/projects/rules/maintenanceWindows');
    const row = page.locator('tr[data-row]').filter({ hasText: 'VM vm-1' });
    await row.getByRole('button', { name: /^End/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Incidents that are still firing are announced once').waitFor();
    await dialog.getByRole('button', { name: 'End' }).click();
    await page.getByText('No maintenance is planned.').waitFor();
    await page.getByLabel('Show').selectOption('all');
    await row.getByText('Over').waitFor();
    t.match(await row.innerText(), /Ended by \S/);
    t.match(await listWindows(owner, projectName), [{ state: /^(ANNOUNCING|OVER)$/ }]);
    await page.goto(rulePath);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    t.equal(await page.getByText(/In maintenance/).count(), 0);
  });

  await t.test('a maintenance window that has not started can be called off', async (t) => {
    const tomorrow = Math.floor(Date.now() / 1_000) + 86_400;
    const times = { fromUnix: String(tomorrow), untilUnix: String(tomorrow + 3_600) };
    await owner.call('monitoring.v1.MaintenanceService/CreateMaintenanceWindow', {
      projectName,
      requestId: crypto.randomUUID(),
      note: 'Tomorrow',
      ...times,
    });
    await page.goto('/projects/rules/maintenanceWindows');
    const row = page.locator('tr[data-row]').filter({ hasText: 'Tomorrow' });
    await row.getByText('Planned').waitFor();
    await row.getByRole('button', { name: 'Call off Everything' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('The window does not start').waitFor();
    await dialog.getByRole('button', { name: 'Call off' }).click();
    await row.waitFor({ state: 'detached' });
    await page.getByLabel('Show').selectOption('all');
    await row.getByText('Cancelled').waitFor();
    t.same(problems, []);
  });

  await t.test('DASH-16: a save resent after a lost response creates one rule', async (t) => {
    const sent: unknown[] = [];
    await page.route('**/SaveAlertRule', async (route) => {
      sent.push(route.request().postDataJSON());
      const answer = await sendOn(route);
      if (sent.length === 1) await route.abort();
      else await route.fulfill({ response: answer });
    });
    await page.goto('/projects/rules/alertRules/new?template=telemetry-unavailable');
    await page
      .getByRole('button', {
        name: 'Save the rule',
      })
      .click();
    await page.getByText('The outcome of the change is unknown').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Telemetry is unavailable' }).waitFor();
    await page.unroute('**/SaveAlertRule');
    t.equal(sent.length, 2);
    t.same(sent[0], sent[1], 'the same id and request id');
    t.same((await listRules(program)).length, 2, 'saved once');
    t.same(
      problems.splice(0).filter((problem) => !/ERR_FAILED/.test(problem)),
      [],
    );
  });

  await t.test(
    'DASH-16: a save resent after a lost answer and a reload reports the saved rule',
    async (t) => {
      await page.route(
        '**/SaveAlertRule',
        async (route) => {
          await sendOn(route);
          await route.abort();
        },
        { times: 1 },
      );
      await page.goto('/projects/rules/alertRules/new?template=cpu');
      const name = page.getByLabel('Name', { exact: true });
      await name.fill('Saved once');
      await page
        .getByRole('button', {
          name: 'Save the rule',
        })
        .click();
      await page.getByText('The outcome of the change is unknown').waitFor();
      await page.reload();
      t.equal(await name.inputValue(), 'Saved once', 'typed values are kept');
      await page
        .getByRole('button', {
          name: 'Save the rule',
        })
        .click();
      await page.getByText('This rule has already been saved').waitFor();
      await page.getByRole('button', { name: 'Open it' }).click();
      await page.getByRole('heading', { level: 1, name: 'Saved once' }).waitFor();
      const rules = await listRules(program);
      const saved = rules.filter(({ spec }) => spec.displayName === 'Saved once');
      t.equal(saved.length, 1);
      const { name: savedName = '' } = saved[0] ?? {};
      await program.call('monitoring.v1.AlertService/DeleteAlertRule', {
        name: savedName,
        requestId: crypto.randomUUID(),
        expectedVersion: saved[0]?.version,
      });
      const unexpected = problems.splice(0).filter((one) => !/ERR_FAILED|40[0-9]/.test(one));
      t.same(unexpected, []);
    },
  );

  await walk(t, 'DASH-16: an editor deletes a rule', visitor, async (t, page) => {
    await saveRule(program, { displayName: 'Another' });
    await page.goto('/projects/rules/alertRules');
    const row = page.locator('tr[data-row]').filter({ hasText: MARKUP });
    await row.getByText('CPU > 55 %').waitFor();
    await row.getByRole('link', { name: MARKUP, exact: true }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/It retires .* No recovery is reported/).waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/projects/rules/alertRules');
    await page.locator('tr[data-row]').filter({ hasText: 'Another' }).waitFor();
    t.equal(await row.count(), 0);
    t.same((await listRules(program)).map(({ spec }) => spec.displayName).toSorted(), [
      'Another',
      'Telemetry is unavailable',
    ]);
  });
});

function reading(vm: string, percent = 97) {
  return { vm, percent, atMs: Date.now() };
}

async function listRules({ call, demo }: ServiceUnderTest): Promise<SavedRule[]> {
  const { projectName } = demo;
  const { body } = await call('monitoring.v1.AlertService/ListAlertRules', { projectName });
  return body.rules as SavedRule[];
}

/** The project's maintenance windows, including past ones, which only people may read. */
async function listWindows(person: Person, projectName: string): Promise<object[]> {
  const request = { projectName, includeOver: true };
  const service = 'monitoring.v1.MaintenanceService';
  return (await person.call(`${service}/ListMaintenanceWindows`, request)).windows as object[];
}

/** Changes the rule through the API, as another user would. */
async function changeRule(program: ServiceUnderTest, changes: object): Promise<void> {
  const [rule] = await listRules(program);
  const answer = await program.call('monitoring.v1.AlertService/SaveAlertRule', {
    projectName: program.demo.projectName,
    id: rule?.name.split('/').at(-1),
    requestId: crypto.randomUUID(),
    expectedVersion: rule?.version,
    spec: { ...rule?.spec, ...changes },
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

/** More Tab presses than any page needs. */
const TABS_MAX = 150;

/** Presses Tab until the element has the focus, then a key. */
async function press(page: Page, target: Locator, key: string): Promise<void> {
  for (let i = 0; i < TABS_MAX; i += 1) {
    if (await target.evaluate(hasFocus)) break;
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press(key);
}

/** Runs in the page. */
function hasFocus(element: {
  readonly ownerDocument?: { readonly activeElement: unknown };
}): boolean {
  return element.ownerDocument?.activeElement === element;
}

async function type(page: Page, target: Locator, text: string): Promise<void> {
  await press(page, target, 'Control+a');
  await page.keyboard.type(text);
}
