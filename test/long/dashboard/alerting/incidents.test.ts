/**
 * Incidents in Chromium, as an on-call engineer meets them: from the link of a notification to the
 * acknowledgement on a phone, live changes of the list, and input across the end of a session. The
 * program runs as a user starts it, with its own readings.
 */
import type { Locator, Page, Request } from 'playwright-core';
import { type Test, test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { type Chromium, sendOn, startChromium, type Visitor } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import {
  listIncidents,
  saveRule,
  untilFiring,
  untilNamed,
  writeReadings,
} from '../../../support/incidents-to-show.ts';
import {
  dataFolder,
  type Program,
  pagesOf,
  runInProcess,
  startProgram,
  until,
} from '../../../support/program.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { walk } from '../../../support/walk.ts';

const SETTINGS = {
  SVC_COLLECT: 'none',
  SVC_WEBHOOK_ALLOW: '127.0.0.1',
  SVC_WEBHOOK_ALLOW_HTTP: 'on',
};
const MARKUP = '<img src=x onerror=alert(1)><b>bold</b>';
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

test(
  'DASH-09: a user handles incidents from a notification’s link through an outage',
  needs('chromium'),
  async (t) => {
    if (!isCurrent()) await buildDashboard();
    const data = dataFolder(t);
    const [chromium, program] = await Promise.all([
      startChromium(t),
      startProgram(t, data, SETTINGS),
    ]);
    const runbookUrl = 'https://runbooks.example.com/cpu';
    const runbook = { runbookText: `First ${MARKUP}\nthen wait.`, runbookUrl };
    await saveRule(program, { displayName: MARKUP, labels: { team: 'shop' }, ...runbook });
    await writeReadings(program, [breach('vm-1', MARKUP), breach('vm-2')]);
    const firing = await untilFiring(program, 2);
    const first = firing.find(({ vmName }) => vmName.endsWith('/vm-1'))?.name ?? '';
    const { owner, phone } = await signedIn(t, chromium, program, first);

    await walk(t, 'DASH-09: a user acknowledges an incident', phone, async (t) => {
      const { page } = phone;
      await page.getByRole('heading', { level: 1, name: MARKUP }).waitFor();
      const facts = page.locator('.incident-facts');
      await facts.getByText('97 %').waitFor();
      const words = await facts.innerText();
      for (const said of ['Critical', 'Firing', '97 %', '> 90 %', MARKUP, 'ago', 'Not snoozed']) {
        t.ok(words.includes(said), `the first screen says ${said}`);
      }
      for (const said of ['then wait.', 'team=shop']) t.ok(words.includes(said), said);
      const link = facts.getByRole('link', { name: runbookUrl });
      t.equal(
        await link.getAttribute('rel'),
        'noopener noreferrer',
        'the external page gets no information',
      );
      const actions = page.locator('.sticky-acts');
      await actions.getByText('Firing and reminders continue').waitFor();
      const acknowledge = actions.getByRole('button', { name: 'Acknowledge' });
      const box = await acknowledge.boundingBox();
      t.ok(box && box.height >= 44, 'the touch target is large enough');
      t.ok(box && box.y + box.height <= 740, 'and it is on the screen');
      await acknowledge.tap();
      await page.getByLabel('Note for other members').fill(MARKUP);
      await page.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).tap();
      await page.locator('.note-text').getByText(MARKUP, { exact: true }).waitFor();
      const [acknowledged] = await listIncidents(program, { vmName: vmNamed(program, 'vm-1') });
      t.equal(acknowledged?.acknowledged?.note, MARKUP);
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
      t.same(phone.problems, []);
    });

    await walk(t, 'DASH-09: a user snoozes an incident and ends the snooze', phone, async (t) => {
      const { page } = phone;
      await page.locator('.sticky-acts').getByRole('button', { name: 'Snooze' }).tap();
      const dialog = page.getByRole('dialog');
      t.match(await dialog.innerText(), /No notifications until \d\d:\d\d. Evaluation continues/);
      await dialog.getByRole('button', { name: '4 h' }).tap();
      const end = page.getByRole('button', { name: 'End the snooze' });
      await end.tap();
      await end.waitFor({ state: 'detached' });
      await page.locator('.sticky-acts').getByRole('button', { name: 'Snooze' }).tap();
      await dialog.getByRole('button', { name: '4 h' }).tap();
      await end.waitFor();
      const [snoozed] = await listIncidents(program, { vmName: vmNamed(program, 'vm-1') });
      t.ok(snoozed?.snoozedUntilUnix, 'the service has it');
      t.same(phone.problems, []);
    });

    await t.test(
      'the list shows the changes of others; new incidents wait behind a button',
      async (t) => {
        const { page } = owner;
        await page.goto('/projects/demo/incidents');
        await row(page, 'vm-2').waitFor();
        const acknowledged = row(page, MARKUP);
        await acknowledged.getByText(`Acknowledged by ${await ownersName(data)}`).waitFor();
        await acknowledged.getByText(/Snoozed until .*\d\d:\d\d/).waitFor();
        t.ok((await row(page, MARKUP).count()) > 0, 'markup stays text');
        await watched(page);
        await writeReadings(program, [breach('vm-3')]);
        await page.getByRole('button', { name: '1 new' }).click();
        await row(page, 'vm-3').waitFor();
        await writeReadings(program, [breach('vm-2', 'vm-2', 10)]);
        await row(page, 'vm-2').getByText('Recovered').waitFor();
        t.pass('ended incidents are marked in place');
        t.same(owner.problems, []);
      },
    );

    await t.test('filters are in the address, and the service decides what matches', async (t) => {
      const { page } = owner;
      await page.getByLabel('Attention').selectOption({ label: 'Unacknowledged' });
      await row(page, 'Acknowledged').first().waitFor({ state: 'detached' });
      await row(page, 'vm-3').waitFor();
      t.equal(new URL(page.url()).search, '?attention=true');
      await page.goto('/projects/demo/incidents?severity=INFO');
      await page.getByText('No incidents match these filters.').waitFor();
      await page.getByRole('button', { name: 'Clear filters' }).last().click();
      await row(page, 'vm-3').waitFor();
      t.equal(new URL(page.url()).search, '');
      t.same(owner.problems, []);
    });

    await walk(
      t,
      'DASH-09: a user acknowledges and snoozes several incidents',
      owner,
      async (t) => {
        const { page } = owner;
        await writeReadings(program, [breach('vm-4'), breach('vm-5')]);
        await untilFiring(program, 4);
        await page.reload();
        await row(page, 'vm-4').getByRole('checkbox').check();
        await row(page, 'vm-5').getByRole('checkbox').check();
        await page.keyboard.press('a');
        const dialog = page.getByRole('dialog');
        await dialog.getByRole('heading', { name: 'Acknowledge 2 incidents' }).waitFor();
        await dialog.getByRole('button', { name: 'Acknowledge' }).click();
        await row(page, 'vm-4').getByText('Acknowledged').waitFor();
        await row(page, 'vm-5').getByText('Acknowledged').waitFor();
        const firing = await listIncidents(program, { state: 'FIRING' });
        t.equal(firing.filter(({ acknowledged }) => acknowledged !== undefined).length, 3);
        await page.keyboard.press('j');
        await page.keyboard.press('s');
        await dialog.getByRole('heading', { name: 'Snooze this incident' }).waitFor();
        await dialog.getByRole('button', { name: '1 h' }).click();
        await dialog.waitFor({ state: 'detached' });
      },
    );

    await t.test('actions affect only displayed rows', async (t) => {
      const { page } = owner;
      const [bar, dialog] = [page.locator('.chosen-bar'), page.getByRole('dialog')];
      await writeReadings(program, [breach('db-1'), breach('db-2')]);
      await untilFiring(program, 6);
      await untilNamed(program, 'db-1');
      await page.reload();
      for (const vm of ['vm-4', 'vm-5']) await row(page, vm).getByRole('checkbox').check();
      const vm = page.locator('.filters').getByLabel('VM');
      await vm.fill('db-1');
      await vm.press('Enter');
      await row(page, 'vm-4').waitFor({ state: 'detached' });
      await row(page, 'db-1').getByRole('link').first().focus();
      await page.keyboard.press('s');
      await dialog.getByRole('heading', { name: 'Snooze this incident' }).waitFor();
      await dialog.getByLabel('Another time').fill('2027-01-02T03:04');
      await page.keyboard.press('Escape');
      await closed(page);
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await row(page, 'vm-4').waitFor();
      t.equal(await bar.count(), 0, 'changing the filter clears the selection');
      await row(page, 'db-1').getByRole('link').first().focus();
      await page.keyboard.press('s');
      await dialog.getByText('Your earlier input is still here.').waitFor();
      t.equal(await dialog.getByLabel('Another time').inputValue(), '2027-01-02T03:04');
      await dialog.getByRole('button', { name: '1 h' }).click();
      await row(page, 'db-1').getByText('Snoozed until').waitFor();
      await closed(page);
      await page.keyboard.press('s');
      t.equal(await dialog.getByLabel('Another time').inputValue(), '', 'it ends with the snooze');
      await page.keyboard.press('Escape');
      await closed(page);
      t.same(owner.problems, []);
    });

    await t.test('rejected incidents are named, even if they left the list', async (t) => {
      const { page } = owner;
      const [bar, dialog] = [page.locator('.chosen-bar'), page.getByRole('dialog')];
      await watched(page);
      for (const vm of ['db-1', 'db-2']) await row(page, vm).getByRole('checkbox').check();
      await writeReadings(program, [breach('db-2', 'db-2', 10)]);
      await row(page, 'db-2').getByText('Recovered').waitFor();
      await page.keyboard.press('a');
      await dialog.getByRole('heading', { name: 'Acknowledge 2 incidents' }).waitFor();
      await dialog.getByRole('button', { name: 'Acknowledge' }).click();
      const refused = page.getByRole('alert').filter({ hasText: '1 incident was not changed' });
      const named = refused.getByRole('link', { name: `${MARKUP}, db-2`, exact: true });
      await named.waitFor();
      await bar.getByText('1 selected').waitFor();
      await writeReadings(program, [breach('db-3')]);
      await page.getByRole('button', { name: '1 new' }).click();
      await row(page, 'db-2').waitFor({ state: 'detached' });
      await bar.waitFor({ state: 'detached' });
      await named.waitFor();
      await page.getByLabel('Severity').selectOption({ label: 'Info' });
      await page.getByText('No incidents match these filters.').waitFor();
      t.ok(await named.isVisible(), 'also next to an empty list');
      t.same(owner.problems, []);
    });

    await t.test('HOOK-28: a message for several incidents lists them', async (t) => {
      const { page } = owner;
      const receiver = await startReceiver(t);
      const ask = (method: string, request: object) =>
        program.call(`monitoring.v1.AlertService/${method}`, {
          projectName: program.demo.projectName,
          requestId: crypto.randomUUID(),
          ...request,
        });
      const hook = { displayName: 'Gathers', webhook: { url: receiver.url }, groupWaitSeconds: 2 };
      const { body } = await ask('CreateDestination', { destination: hook });
      const { name = '' } = body.destination as { name?: string };
      const reading = (vm: string) => ({ ...breach(vm, vm, 60) });
      await writeReadings(program, [reading('shop-1'), reading('shop-2')]);
      const vmNames = [vmNamed(program, 'shop-1'), vmNamed(program, 'shop-2')];
      const only = { allVms: false, vmNames, destinationNames: [name] };
      await saveRule(program, { displayName: 'Shop', threshold: 50, ...only });
      await writeReadings(program, [reading('shop-1'), reading('shop-2')]);
      await page.goto(`/${name}`);
      await page.getByText('2 s for further incidents of the rule').waitFor();
      await page.goto('/projects/demo/deliveries');
      await page.getByRole('link', { name: 'Shop, 2 incidents' }).click();
      await page.getByText('2 incidents in one message').waitFor();
      const table = page.getByRole('table', { name: 'Incidents in this message' });
      await table.getByRole('link', { name: 'shop-2' }).waitFor();
      t.match(
        (await table.locator('tbody').innerText()).replace(/\s+/g, ' '),
        /shop-1 Yes shop-2 Yes/,
      );
      await page.getByText('Accepted', { exact: true }).first().waitFor();
      t.equal(receiver.received.length, 1, 'and it is one message');
      await table.getByRole('link', { name: 'shop-1' }).click();
      await page.getByRole('heading', { level: 1, name: 'Shop' }).waitFor();
      t.same(owner.problems, []);
    });

    await t.test('the slider moves chart, statechart and steps together', async (t) => {
      const { page } = owner;
      await page.goto(`/${first}`);
      const slider = page.getByRole('slider', { name: 'Time within the incident' });
      const says = (step: string) =>
        slider.and(page.locator(`[aria-valuetext*="${step}"]`)).waitFor();
      await says('Snoozed');
      t.pass('the slider is at the last step');
      await page.locator('.sample.breach').first().waitFor();
      t.equal(await page.locator('.sample.breach').count(), 1, 'each deciding sample is a mark');
      await page.locator('.sample.breach').focus();
      await page.locator('.sample.breach:focus').waitFor();
      t.pass('the keyboard reaches it');
      await slider.press('Home');
      await says('Breach started');
      const states = async () => {
        const ids = await page.locator('.statechart .state[aria-current]').evaluateAll(idsOfStates);
        return ids.toSorted();
      };
      t.same(await states(), ['alertInstance.sustaining.observed']);
      await slider.press('ArrowRight');
      await says('Fired');
      t.same(await states(), [
        'alertInstance.firing.attention.unacknowledged',
        'alertInstance.firing.data.observed',
        'alertInstance.firing.notification.notifying',
      ]);
      await page.getByRole('tab', { name: 'Recomputed' }).click();
      await page.locator('.window-chart.recomputed').waitFor();
      await page.locator('.statechart.recomputed').waitFor();
      t.pass('dashed, because it is not recorded');
      t.same(owner.problems, []);
    });

    await t.test(
      'the history shows surrounding readings, and a selected range is in the address',
      async (t) => {
        const { page } = owner;
        const history = page.getByRole('region', { name: 'Surrounding readings' });
        await history.locator('canvas').waitFor();
        const readings = history.getByRole('slider');
        await readings.press('End');
        const said = async () => (await readings.getAttribute('aria-valuetext')) ?? '';
        for (let i = 0; i < 10 && !(await said()).includes('97 %'); i += 1) {
          await readings.press('ArrowLeft');
        }
        t.match(await said(), /: 97 %/, 'the readings');
        await readings.press('Home');
        t.match(await history.locator('output').innerText(), /no reading/i, 'absent is not zero');
        const [at] = await listIncidents(program, { vmName: vmNamed(program, 'vm-1') });
        const startUnix = Number(at?.startedUnix);
        await page.goto(`/${first}?from=${startUnix - 7_200}&to=${startUnix - 3_600}`);
        await history.getByText('No reading in this range').first().waitFor();
        await history.getByRole('button', { name: 'Reset range' }).click();
        await history.locator('canvas').waitFor();
        t.equal(new URL(page.url()).search, '');
        t.same(owner.problems, []);
      },
    );

    await t.test(
      'eight tabs share one stream, and no change is lost with its leader',
      async (t) => {
        const context = owner.page.context();
        await owner.page.goto('/projects/demo/incidents');
        const streams = new Map<Request, Page>();
        const isStream = (request: Request) => request.url().endsWith('/WatchIncidents');
        const tabs = [owner.page];
        tabs.push(...(await Promise.all(Array.from({ length: 7 }, () => context.newPage()))));
        const open = async (tab: Page) => {
          tab.on('request', (request) => isStream(request) && streams.set(request, tab));
          tab.on('requestfinished', (request) => streams.delete(request));
          tab.on('requestfailed', (request) => streams.delete(request));
          await tab.goto('/projects/demo/incidents');
          await row(tab, 'vm-3').waitFor();
        };
        await Promise.all(tabs.map(open));
        const leading = () => [...streams.values()].filter((tab) => !tab.isClosed());
        const leader = await until('a tab leads', () => leading()[0]);
        t.equal(leading().length, 1, 'one stream for all');
        const others = tabs.filter((tab) => tab !== leader);
        await leader.close();
        await writeReadings(program, [breach('vm-3', 'vm-3', 10)]);
        for (const tab of others) {
          // Marked in place, or missing from the reloaded list.
          const stillFires = row(tab, 'vm-3').filter({ hasNotText: 'Recovered' });
          await stillFires.waitFor({ state: 'detached' });
        }
        t.pass('every tab has the change');
        await until('another tab leads', () => leading()[0]);
        t.equal(leading().length, 1);
        await Promise.all(others.map((tab) => tab.close()));
      },
    );

    await t.test('a change that arrives during a load is not overwritten', async (t) => {
      const context = owner.page.context();
      const [late, other] = [await context.newPage(), await context.newPage()];
      await writeReadings(program, [breach('vm-8')]);
      await other.goto('/projects/demo/incidents');
      await row(other, 'vm-8').waitFor();
      // Its first response is held back.
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const { promise: answered, resolve: hasAnswer } = Promise.withResolvers<void>();
      await late.route('**/ListIncidents', async (route) => {
        const response = await sendOn(route);
        hasAnswer();
        await released;
        await route.fulfill({ response });
      });
      await late.goto('/projects/demo/incidents');
      await answered;
      await writeReadings(program, [breach('vm-8', 'vm-8', 10)]);
      await row(other, 'vm-8').filter({ hasNotText: 'Recovered' }).waitFor({ state: 'detached' });
      release();
      await row(late, 'vm-4').waitFor();
      const stillFires = row(late, 'vm-8').filter({ hasNotText: 'Recovered' });
      await stillFires.waitFor({ state: 'detached' });
      t.pass('the tab has the change');
      await Promise.all([late.close(), other.close()]);
    });

    await t.test(
      'a session that ends during an edit keeps the draft, and all tabs continue',
      async (t) => {
        const context = phone.page.context();
        const [edit, other] = [await context.newPage(), await context.newPage()];
        await writeReadings(program, [breach('vm-6')]);
        const sixth = await until('vm-6 fires', async () => {
          const [one] = await listIncidents(program, { vmName: vmNamed(program, 'vm-6') });
          return one?.name;
        });
        await other.goto('/projects/demo/incidents');
        await row(other, 'vm-6').waitFor();
        // A page in the background is rendered once a second, and a tap waits for it.
        await edit.bringToFront();
        await edit.goto(`/${sixth}`);
        await edit.locator('.sticky-acts').getByRole('button', { name: 'Acknowledge' }).tap();
        await edit.getByLabel('Note for other members').fill('I am looking');
        // The session ends while the action is pending: another call of this page would notice
        // earlier.
        await edit.route('**/AcknowledgeIncident', async (route) => {
          await endSessions(data);
          await route.continue();
        });
        await edit.getByRole('dialog').getByRole('button', { name: 'Acknowledge' }).tap();
        await edit.getByRole('heading', { name: 'You are signed out' }).waitFor();
        await edit.unroute('**/AcknowledgeIncident');
        await edit.getByText('You were signed out before the change was saved').waitFor();
        const signIn = await context.newPage();
        await signIn.goto(await loginLink(data));
        await signIn.getByRole('button', { name: 'Sign in' }).click();
        await signIn.waitForURL(`${pagesOf(program.demo)}/projects/demo`);
        await edit
          .getByRole('heading', { name: 'You are signed out' })
          .waitFor({ state: 'detached' });
        t.equal(await edit.getByLabel('Note for other members').inputValue(), 'I am looking');
        await edit.bringToFront();
        await edit.getByRole('button', { name: 'Send again' }).tap();
        await edit.locator('.note-text').waitFor();
        const [saved] = await listIncidents(program, { vmName: vmNamed(program, 'vm-6') });
        t.equal(saved?.acknowledged?.note, 'I am looking', 'saved once, as typed');
        await other
          .getByText('I am looking')
          .or(row(other, 'vm-6').getByText('Acknowledged'))
          .waitFor();
        t.pass('the other tab continues and has the change');
        for (const tab of [edit, other, signIn]) await tab.close();
      },
    );

    await t.test(
      'a banner shows since when the service is unreachable, and the list is correct afterwards',
      async (t) => {
        const { baseUrl } = program.demo;
        const away = await chromium.visitor(pagesOf(program.demo));
        await away.page.clock.install();
        const link = new URL(await loginLink(data));
        link.searchParams.set('return', '/projects/demo/incidents');
        await away.page.goto(link.href);
        await away.page.getByRole('button', { name: 'Sign in' }).click();
        await row(away.page, 'vm-6').waitFor();
        await program.stop();
        await away.page.getByText('Disconnected since').waitFor();
        // One minute by the browser's clock.
        for (let i = 0; i < 6; i += 1) await away.page.clock.fastForward(10_000);
        t.ok(await row(away.page, 'vm-6').isVisible(), 'loaded data stays below the banner');
        const again = await startProgram(t, data, {
          ...SETTINGS,
          SVC_LISTEN: new URL(baseUrl).host,
        });
        await writeReadings(again, [breach('vm-6', 'vm-6', 10), breach('vm-7')]);
        await until('vm-7 fires', async () => {
          const [one] = await listIncidents(again, { vmName: vmNamed(again, 'vm-7') });
          return one;
        });
        await until('the list is right', async () => {
          await away.page.clock.fastForward(10_000);
          const texts = await away.page.locator('tr[data-row]').allInnerTexts();
          return texts.some((text) => text.includes('vm-7')) ? texts : undefined;
        });
        await away.page.getByText('Disconnected since').waitFor({ state: 'detached' });
        const stillFires = row(away.page, 'vm-6').filter({ hasNotText: 'Recovered' });
        await stillFires.waitFor({ state: 'detached' });
        t.pass('the banner has disappeared');
      },
    );
  },
);

function row(page: Page, name: string): Locator {
  return page.locator('tr[data-row]').filter({ hasText: name });
}

/** Resolves once the page follows changes: no later change is missed. */
function watched(page: Page): Promise<unknown> {
  // The page's policy forbids the evaluation on which playwright's own waiting relies.
  const locks = 'navigator.locks.query().then(({ held }) => held.length)';
  return until('it follows', async () => (await page.evaluate(locks)) === 1 || undefined);
}

/**
 * Resolves once the page knows that a dialog is closed, which it learns after the browser handles
 * Escape.
 */
function closed(page: Page): Promise<void> {
  return page.locator('dialog:is([open], :has(header))').waitFor({ state: 'detached' });
}

/** Runs in the page. */
function idsOfStates(states: { dataset?: { state?: string } }[]): string[] {
  return states.map(({ dataset }) => dataset?.state ?? '');
}

/** `svc admin` next to the program, run by its operator. */
async function admin(data: string, ...args: string[]): Promise<unknown> {
  const { code, text, stdout } = await runInProcess(['admin', ...args, '--data', data, '--json']);
  if (code !== 0) throw new Error(text);
  return JSON.parse(stdout);
}

async function ownersName(data: string): Promise<string> {
  const [one] = (await admin(data, 'people', 'list')) as { displayName: string }[];
  return one?.displayName || 'nobody';
}

async function onlyPerson(data: string): Promise<string> {
  const [one] = (await admin(data, 'people', 'list')) as { person: string }[];
  return one?.person ?? '';
}

async function endSessions(data: string): Promise<void> {
  await admin(data, 'sessions', 'end', await onlyPerson(data));
}

async function loginLink(data: string): Promise<string> {
  return ((await admin(data, 'login-link', await onlyPerson(data))) as { link: string }).link;
}

function breach(vm: string, displayName = vm, percent = 97) {
  return { vm, displayName, percent, atMs: Date.now() };
}

function vmNamed(program: Program, vm: string): string {
  return `${program.demo.projectName}/vms/${vm}`;
}

/** A user at a desktop, and the same user on a phone, who opened the link of a notification. */
async function signedIn(
  t: Test,
  chromium: Chromium,
  program: Program,
  incident: string,
): Promise<{ owner: Visitor; phone: Visitor }> {
  const { signInUrl = '' } = program.demo;
  const phone = await chromium.visitor(pagesOf(program.demo), PHONE);
  await phone.page.goto(`/${incident}`);
  const requested = new URL(phone.page.url());
  t.equal(requested.pathname, '/auth/sign-in', 'a signed-out user gets a request to sign in');
  t.equal(requested.searchParams.get('return'), `/${incident}`);
  // In the format of the mailed link.
  const link = new URL(signInUrl);
  link.searchParams.set('return', `/${incident}`);
  await phone.page.goto(link.href);
  await phone.page.getByRole('button', { name: 'Sign in' }).click();
  await phone.page.waitForURL(`${pagesOf(program.demo)}/${incident}`);
  t.pass('and ends at the incident');
  const owner = await chromium.visitor(pagesOf(program.demo));
  await owner.page.context().addCookies(await phone.page.context().cookies());
  return { owner, phone };
}
