/**
 * A recent sign-in, in Chromium: a user whose sign-in is old signs in again in a second tab, and the
 * form of the first one keeps what was typed. The key that it creates is bound to networks.
 */
import type { Locator } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { signInBy } from '../../../support/busy-project/people.ts';
import { startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { dataFolder, pagesOf, runInProcess } from '../../../support/program.ts';
import { startService } from '../../../support/service-in-process.ts';
import { SkippingClock } from '../../../support/skipping-clock.ts';

const METRICS = 'monitoring.v1.MonitoringService/ListVMMonitoring';
/** Longer than a sign-in is recent. */
const LATER_MS = 16 * 60_000;

/** True if the middle of the element is not scrolled away or covered. */
function isVisible(element: Locator): Promise<boolean> {
  return element.evaluate((node) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return node.contains(node.ownerDocument.elementFromPoint(left + width / 2, top + height / 2));
  });
}

test('KEY-08: a key is bound to networks, after a sign-in in a second tab', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  if (!isCurrent()) await buildDashboard();
  const folder = dataFolder(t);
  const clock = new SkippingClock();
  const program = await startService(t, folder, {}, clock);
  const admin = async (...args: string[]) => {
    const { code, stdout, text } = await runInProcess(['admin', ...args, '--data', folder, '--json']);
    if (code !== 0) throw new Error(text);
    return JSON.parse(stdout);
  };
  const { projectName, signInUrl = '' } = program.demo;
  const pages = pagesOf(program.demo);
  const owner = await signInBy(signInUrl);
  const { page, problems } = await (await startChromium(t)).visitor(pages);
  await page.context().addCookies([{ ...owner.cookie, url: pages }]);

  await page.goto(`/${projectName}/members`);
  await page.getByRole('link', { name: 'My keys' }).click();
  await page.getByRole('button', { name: 'Create key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('deploy');
  await dialog.getByLabel('Networks').fill('127.0.0.0/33');
  const create = dialog.getByRole('button', { name: 'Create key' });
  await create.click();
  await dialog.getByText('networks contains "127.0.0.0/33"').waitFor();
  t.match(problems.splice(0), [/400/], 'the service checks the networks');
  await dialog.getByLabel('Networks').fill('127.0.0.0/8, 2001:db8::/32');

  clock.advance(LATER_MS);
  await create.click();
  const again = dialog.getByRole('link', { name: 'Sign in in a new tab' });
  await again.waitFor();
  t.ok(await isVisible(again), 'it is not below the visible part of the form');
  t.match(problems.splice(0), [/403/]);
  const [second] = await Promise.all([page.context().waitForEvent('page'), again.click()]);
  await second.getByRole('heading', { name: 'Sign in again' }).waitFor();
  await second.getByText('This action needs a recent sign-in').waitFor();
  await second.getByRole('link', { name: 'enter it here' }).click();
  await second.getByText('You are signed in here as First owner').waitFor();
  await second.getByLabel('The link').fill((await admin('login-link')).link);
  await second.getByRole('button', { name: 'Sign in' }).click();
  await second.getByText('Close this tab').waitFor();
  await second.close();

  await create.click();
  const secretOf = async (name: string): Promise<string> => {
    const region = dialog.getByRole('region', { name: `Secret of ${name}` });
    await region.getByRole('button', { name: 'Show' }).click();
    const secret = await region.locator('output').innerText();
    await region.getByRole('button', { name: 'I have stored it' }).click();
    await region.waitFor({ state: 'hidden' });
    return secret;
  };
  const deploy = await secretOf('deploy');
  t.equal((await program.call(METRICS, { projectName }, deploy)).status, 200, 'it works from here');
  const row = page.getByRole('row', { name: /deploy/ });
  await row.getByText('only from 127.0.0.0/8, 2001:db8::/32').waitFor();

  await page.getByRole('button', { name: 'Create key' }).click();
  await dialog.getByLabel('Name').fill('elsewhere');
  await dialog.getByLabel('Networks').fill('192.0.2.0/24');
  await create.click();
  const elsewhere = await secretOf('elsewhere');
  const refused = await program.call(METRICS, { projectName }, elsewhere);
  t.match(refused, { status: 403, body: { message: /from 127\.0\.0\.1: it is bound to other/ } });
  await page.getByRole('row', { name: /elsewhere.*only from 192\.0\.2\.0\/24/ }).waitFor();
  t.same(problems, []);
});
