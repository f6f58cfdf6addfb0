/**
 * Destinations in Chromium, against real receivers: created, verified, tested, paused, rotated,
 * edited and deleted. Their secrets are shown once and kept nowhere.
 */
import { Buffer } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { startBadEndpoints } from '../../../support/bad-endpoints.ts';
import { callFrom, sendOn, startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { bodyOf, startMailServer } from '../../../support/mail-server.ts';
import {
  dataFolder,
  pagesOf,
  runInProcess,
  startProgram,
  until,
} from '../../../support/program.ts';
import { type Received, startReceiver } from '../../../support/receiver.ts';
import { filesBelow, formsOf, secretsIn } from '../../../support/secret-search.ts';
import { walk } from '../../../support/walk.ts';

const OWNER = 'ada@example.test';
const ALERTS = '/svc.monitoring.v1.AlertService';
/** Secret part of a chat's URL: anyone who has it can write to the channel. */
const CHAT_SECRET = 'T024BE7LD/B024BE7LH/aSecretOfTheChannel';

test('destinations', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  if (!isCurrent()) await buildDashboard();
  const folder = dataFolder(t);
  const [chromium, mail, receiver, bad] = await Promise.all([
    startChromium(t),
    startMailServer(t),
    startReceiver(t),
    startBadEndpoints(t, '127.0.0.1'),
  ]);
  const program = await startProgram(t, folder, {
    SVC_COLLECT: 'none',
    SVC_SMTP_URL: mail.url,
    SVC_SMTP_FROM: 'svc@example.test',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  const admin = async (...args: string[]) => {
    const ran = await runInProcess(['admin', ...args, '--data', folder, '--json']);
    if (ran.code !== 0) throw new Error(ran.text);
    return JSON.parse(ran.stdout) as { link: string };
  };
  const signIn = async (page: Page, link: string): Promise<void> => {
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL('**/projects/shop');
  };
  await admin('project', 'create', 'shop', '--name', 'Shop', '--owner', OWNER);
  const visitor = await chromium.visitor(pagesOf(program.demo));
  const { page, problems } = visitor;
  await signIn(page, (await admin('login-link', OWNER)).link);
  const main = page.getByRole('main');
  const dialog = page.getByRole('dialog');

  /** All pages of the test, with their addresses. */
  const seen: string[] = [];
  page.on('framenavigated', (frame) => void seen.push(frame.url()));
  /** Secrets that must not be found anywhere, by name. */
  const secrets = new Map<string, string>([['URL of the chat', CHAT_SECRET]]);

  const press = (name: string) => main.getByRole('button', { name, exact: true }).click();
  const confirm = (name: string) => dialog.getByRole('button', { name, exact: true }).click();
  const heading = (name: string) =>
    main.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  const shows = (text: string | RegExp) => main.getByText(text).first().waitFor();
  /** Refusals expected by a walk; they must have occurred. */
  const expected = (form: RegExp): void => {
    const others = problems.filter((problem) => !form.test(problem));
    t.not(others.length, problems.length, `${form} came`);
    problems.splice(0, problems.length, ...others);
  };
  const list = () => page.goto('/projects/shop/destinations');
  const open = async (name: string): Promise<void> => {
    await list();
    await main.getByRole('link', { name, exact: true }).click();
    await heading(name);
  };
  const begin = async (kind: string, name: string): Promise<void> => {
    await list();
    await press('New destination');
    await main.getByRole('link', { name: new RegExp(`^${kind}`) }).click();
    await main.getByLabel('Name').fill(name);
  };
  const takeSecret = async (what: string): Promise<string> => {
    const box = main.getByRole('region', { name: /^Signing secret of/ });
    await box.getByRole('button', { name: 'Show' }).click();
    const secret = await box.locator('output').innerText();
    secrets.set(what, secret);
    await box.getByRole('button', { name: 'I have stored it' }).click();
    await box.waitFor({ state: 'detached' });
    return secret;
  };
  /** Sends a test from the open page; returns the message once its delivery was accepted. */
  const sendTest = async (name: string): Promise<Received> => {
    const before = receiver.received.length;
    await press('Send test');
    await page.waitForURL(/\/deliveries\/dlv_/);
    await shows('Accepted');
    await main.getByRole('link', { name, exact: true }).click();
    await heading(name);
    return await until('the message', () => receiver.received[before]);
  };

  await walk(t, 'DASH-12: an editor adds a webhook and sends a test', visitor, async (t) => {
    await page.goto('/projects/shop');
    await main.locator('.steps').getByRole('link', { name: 'Destinations' }).click();
    await shows('No destinations yet.');
    await shows('0 of 5 destinations');
    await begin('Webhook', 'Pager');
    await main.getByLabel('URL').fill(receiver.url);
    t.match(await stored(page), /Pager/, 'input is kept in a draft');
    t.notOk((await stored(page)).includes(receiver.url), 'except for the URL');
    await press('Create');
    const secret = await takeSecret('secret of the creation');
    t.match(secret, /^whsec_/);
    await heading('Pager');
    await shows('No deliveries yet.');
    await shows('No rule notifies this destination');
    const message = await sendTest('Pager');
    t.equal(message.body.type, 'test');
    receiver.verify(message, secret);
    await list();
    await shows('1 of 5 destinations');
    const before = visitor.requested.length;
    await list();
    await main.getByRole('row', { name: /Pager.*Active.*Webhook.*Accepted/s }).waitFor();
    const calls = visitor.requested.slice(before).filter((path) => /ListDeliveries/.test(path));
    t.same(calls, [], 'the list includes the last delivery of each');
  });

  await walk(t, 'DASH-12: an editor rotates the secret of a webhook', visitor, async (t) => {
    const old = secrets.get('secret of the creation') ?? '';
    await open('Pager');
    await press('Rotate the secret');
    await dialog.getByText(/V2 signatures are made with both .* legacy .* previous/).waitFor();
    await confirm('Rotate');
    const second = await takeSecret('secret of the rotation');
    await shows('Previous secret valid until');
    const both = await sendTest('Pager');
    for (const secret of [old, second]) receiver.verify(both, secret);
    await press('Rotate the secret');
    await dialog.getByText('The oldest secret is discarded at once').waitFor();
    await dialog.getByLabel('Previous secret').selectOption({ label: 'Discard at once' });
    await dialog.getByText('all signatures use the new one').waitFor();
    await confirm('Rotate');
    const third = await takeSecret('secret of the immediate rotation');
    await main.getByText('Previous secret valid until').waitFor({ state: 'detached' });
    const message = await sendTest('Pager');
    receiver.verify(message, third);
    t.throws(() => receiver.verify(message, second), 'an older secret is invalid at once');
  });

  await t.test(
    'DASH-12: a destination resent after a lost answer exists once, without its secret',
    async (t) => {
      await begin('Webhook', 'Lost');
      await main.getByLabel('URL').fill(receiver.url);
      await page.route(`**${ALERTS}/CreateDestination`, async (route) => {
        await sendOn(route);
        await route.abort();
      });
      await press('Create');
      await shows('The outcome of the change is unknown');
      await page.unroute(`**${ALERTS}/CreateDestination`);
      t.notOk((await stored(page)).includes(receiver.url), 'the URL is kept nowhere');
      await page.reload();
      t.equal(await main.getByLabel('Name').inputValue(), 'Lost');
      await main.getByLabel('URL').fill(receiver.url);
      await press('Create');
      await shows('cannot be shown again');
      t.notMatch(await page.content(), /whsec_/);
      await press('Rotate the secret');
      await dialog.getByText('Older secrets are discarded at once').waitFor();
      await confirm('Rotate');
      const secret = await takeSecret('secret in place of the lost one');
      await heading('Lost');
      receiver.verify(await sendTest('Lost'), secret);
      await list();
      await shows('2 of 5 destinations');
      t.equal(await main.getByRole('link', { name: 'Lost', exact: true }).count(), 1);
      expected(/ERR_FAILED/);
      t.same(problems.splice(0), []);
    },
  );

  await walk(t, 'DASH-12: an editor adds a chat destination', visitor, async (t) => {
    await begin('Slack', 'Team');
    await main.getByLabel('URL').fill(`https://example.com/${CHAT_SECRET}`);
    await press('Create');
    await shows('The destination was not created');
    await shows(/A Slack URL belongs to an app's incoming webhook/);
    await main.getByLabel('URL').fill(`${bad.origin}/${CHAT_SECRET}`);
    t.notOk((await stored(page)).includes(CHAT_SECRET), 'the URL is in no draft');
    await press('Create');
    await heading('Team');
    await shows(`${new URL(bad.origin).host} …nnel`);
    t.notOk((await page.content()).includes(CHAT_SECRET), 'nor on the page');
    expected(/status of 400|^400 for .*CreateDestination/);
  });

  await walk(
    t,
    'DASH-12: an editor adds an email destination and verifies a recipient',
    visitor,
    async (t) => {
      await begin('Mail', 'On call');
      await main.getByLabel(OWNER).check();
      await press('Create');
      await heading('On call');
      await shows('Awaiting verification');
      await shows('No recipient has confirmed their address.');
      await main
        .getByRole('row', { name: new RegExp(`^${OWNER} Awaiting verification`) })
        .waitFor();
      await until('the first mail', () => mail.mails.find(({ to }) => to.includes(OWNER)));
      await press('Resend verification mails');
      await shows('Sending 1 mail.');
      const letters = await until('another mail', () => {
        const ours = mail.mails.filter(({ to }) => to.includes(OWNER));
        return ours.length > 1 ? ours.map(bodyOf) : undefined;
      });
      await page.goto(/^http\S+$/m.exec(letters.at(-1) ?? '')?.[0] ?? '');
      await page.getByRole('button', { name: 'Confirm my address' }).click();
      await page.getByText('Your address is confirmed').first().waitFor();
      await open('On call');
      await shows('1 of 1 recipient verified');
      await press('Send test');
      await page.waitForURL(/\/deliveries\/dlv_/);
      await shows('Accepted');
      t.ok(mail.mails.some((letter) => /test/i.test(letter.source) && letter.to.includes(OWNER)));
    },
  );

  await walk(t, 'DASH-12: an editor pauses and resumes a destination', visitor, async (t) => {
    await open('Pager');
    await press('Pause');
    await dialog.getByText('are suppressed and not sent later').waitFor();
    await dialog.getByLabel('Reason').fill('The pager is being moved');
    await confirm('Pause');
    await shows('The pager is being moved');
    await shows('The destination is paused. Resume it first.');
    const test = main.getByRole('button', { name: 'Send test' });
    t.equal(await test.getAttribute('aria-disabled'), 'true');
    await list();
    await main.getByRole('row', { name: /Pager.*Paused.*The pager is being moved/s }).waitFor();
    await open('Pager');
    await press('Resume');
    await main.getByText('The pager is being moved').waitFor({ state: 'detached' });
    await sendTest('Pager');
  });

  await walk(t, 'DASH-12: an editor edits and deletes a destination', visitor, async (t) => {
    await open('Pager');
    const name = new URL(page.url()).pathname.slice(1);
    await saveRule(page, name);
    await page.reload();
    await press('Edit');
    await dialog.getByText('No changes.').waitFor();
    await dialog.getByLabel('Name').fill('Day pager');
    await page.keyboard.press('Escape');
    await page.locator('dialog:is([open], :has(header))').waitFor({ state: 'detached' });
    await press('Edit');
    await dialog.getByText('Your earlier input is still here.').waitFor();
    t.equal(await dialog.getByLabel('Name').inputValue(), 'Day pager', 'Escape keeps it');
    await confirm('Cancel');
    t.equal(await stored(page), '[{},{}]');
    await press('Edit');
    t.equal(await dialog.getByLabel('Name').inputValue(), 'Pager', 'and Cancel does not');
    await dialog.getByLabel('Name').fill('Night pager');
    await dialog.getByLabel('URL').fill(`${bad.origin}/500`);
    await dialog
      .getByLabel('Group wait')
      .selectOption({ label: '1 min for further incidents of the rule' });
    await confirm('Save');
    await heading('Night pager');
    await shows('1 min for further incidents of the rule');
    t.equal(await stored(page), '[{},{}]', 'no draft is left');
    await press('Send test');
    await page.waitForURL(/\/deliveries\/dlv_/);
    await shows('Waiting to retry');
    await main.getByRole('link', { name: 'Night pager' }).click();
    await shows('The last attempt failed');
    await shows(/500.*The endpoint is overloaded or failing/);
    await shows('Failing');
    await press('Delete');
    await dialog.getByText('CPU of the shop').waitFor();
    await confirm('Delete');
    await page.waitForURL('**/projects/shop/destinations');
    await main.getByRole('link', { name: 'Lost' }).waitFor();
    t.equal(await main.getByRole('link', { name: 'Night pager' }).count(), 0);
    await page.goto(`/${name}`);
    await shows('This does not exist in the project');
    expected(/status of 404|^404 for .*GetDestination/);
  });

  await t.test('DASH-12: a viewer is shown no destination and no link to one', async (t) => {
    const viewer = await chromium.visitor(pagesOf(program.demo));
    const invited = await admin('invite', 'shop', 'linus@example.test', '--role', 'VIEWER');
    await signIn(viewer.page, invited.link);
    const navigation = viewer.page.getByRole('navigation');
    await navigation.getByRole('link', { name: 'Deliveries' }).click();
    await viewer.page.getByRole('row', { name: /Test/ }).first().waitFor();
    t.equal(await viewer.page.locator('a[href*="/destinations"]').count(), 0);
    t.same(viewer.problems, []);
    await viewer.page.goto('/projects/shop/destinations');
    await viewer.page.getByText('Needs EDITOR').waitFor();
    await viewer.page.getByText('The role EDITOR is required').waitFor();
  });

  await t.test(
    'DASH-12: no secret remains in the browser, its addresses, the log or the files',
    async (t) => {
      const forms = new Map([...secrets].map(([what, secret]) => [what, formsOf(secret)]));
      t.equal(forms.size, 5);
      await list();
      await shows('Lost');
      for (const name of ['Lost', 'Team', 'On call']) {
        await open(name);
        seen.push(await page.content());
      }
      const { requested } = visitor;
      const texts = [...seen, ...requested, await stored(page), program.log()].join('\n');
      t.same(secretsIn(Buffer.from(texts), forms), [], 'browser and log');
      for (const { path, bytes } of filesBelow(folder)) t.same(secretsIn(bytes, forms), [], path);
    },
  );
});

/** Everything that the browser stores. */
function stored(page: Page): Promise<string> {
  return page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
}

/** A rule that names the destination, saved by the browser's user. */
async function saveRule(page: Page, destination: string): Promise<void> {
  const spec = {
    displayName: 'CPU of the shop',
    metricId: 'cpu_utilization_pct',
    severity: 'CRITICAL',
    operator: 'GREATER_THAN',
    threshold: 90,
    sustainedSeconds: 0,
    allVms: true,
    destinationNames: [destination],
  };
  const { status, body } = await callFrom(page, `${ALERTS}/SaveAlertRule`, {
    projectName: 'projects/shop',
    id: randomUUID(),
    requestId: randomUUID(),
    expectedVersion: '0',
    spec,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
}
