/**
 * Notices and limits in Chromium, for a project whose alert instances have reached their limit: the
 * overview says so, the notice stays and links onward, and the limit is shown with its usage.
 */
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { saveRule, untilFiring, writeReadings } from '../../../support/incidents-to-show.ts';
import {
  dataFolder,
  pagesOf,
  runInProcess,
  startProgram,
  until,
} from '../../../support/program.ts';

test('notices and limits', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const data = dataFolder(t);
  const [chromium, program] = await Promise.all([
    startChromium(t),
    startProgram(t, data, { SVC_COLLECT: 'none' }),
  ]);
  const { projectName, signInUrl = '' } = program.demo;
  const { page, problems } = await chromium.visitor(pagesOf(program.demo));
  const main = page.getByRole('main');
  await page.goto(signInUrl);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${pagesOf(program.demo)}/${projectName}`);

  await t.test('DASH-17: an empty notices page lists the possible notices', async (t) => {
    await main.getByText('Nothing needs attention.').waitFor();
    await main.getByRole('link', { name: 'All notices' }).click();
    await main.getByText('No notices').waitFor();
    t.same(problems, []);
  });

  await setInstances(data, 1);
  await saveRule(program);
  const breach = (vm: string) => ({ vm, percent: 97, atMs: Date.now() - 10_000 });
  await writeReadings(program, [breach('vm-1')]);
  await untilFiring(program, 1);
  await writeReadings(program, [breach('vm-2')]);
  await until('the limit is reached', async () => {
    const { body } = await program.call('monitoring.v1.AlertService/ListNotices', { projectName });
    return (body.notices as unknown[] | undefined)?.length ? true : undefined;
  });

  await t.test(
    'DASH-17: a reached limit is a lasting notice that links to the limits',
    async (t) => {
      await page.goto(`/${projectName}`);
      await main.getByText(/The project has reached a limit: Alert instances/).waitFor();
      await main.getByText(/Not all instances of this rule are evaluated/).waitFor();
      await main.getByRole('link', { name: 'All notices' }).click();
      const notice = main.getByRole('list', { name: 'Notices' }).getByRole('listitem');
      await notice.getByText('Ongoing').waitFor();
      t.match(await notice.innerText(), /Select fewer VMs, delete a rule/, 'what to do');
      await notice.getByRole('link', { name: 'Limits and usage' }).click();
      const row = main.getByRole('row').filter({ hasText: 'Alert instances' });
      await row.getByText('1 of 1').waitFor();
      await row.getByText('Reached').waitFor();
      await main.getByRole('row').filter({ hasText: 'Alert rules' }).getByText('1 of 20').waitFor();
      t.same(problems, []);
    },
  );

  await t.test('DASH-17: an ended notice shows its end', async (t) => {
    await setInstances(data, 100);
    await page.goto(`/${projectName}/notices`);
    const notice = main.getByRole('list', { name: 'Notices' }).getByRole('listitem');
    await until('the notice is over', async () => {
      await page.reload();
      await notice.getByText(/Ongoing|Over/).waitFor();
      return (await notice.getByText('Over').count()) > 0 || undefined;
    });
    t.match(await notice.innerText(), /Since .+ until /);
    t.same(problems, []);
  });
});

async function setInstances(data: string, count: number): Promise<void> {
  const limit = ['--instances', String(count), '--data', data];
  const { code, text } = await runInProcess(['admin', 'limits', 'set', 'demo', ...limit]);
  if (code !== 0) throw new Error(text);
}
