/**
 * A worst-case day in Chromium: 100 file systems on each of 90 VMs are full, which makes 9,000 open
 * incidents. The list and the overview stay complete, lightweight and usable.
 */
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { fillFilesystems, saveRule, untilOpen } from '../../../support/incidents-to-show.ts';
import { dataFolder, pagesOf, startProgram } from '../../../support/program.ts';

const [VMS, MOUNTS] = [90, 100];
const INCIDENTS = VMS * MOUNTS;
/** Incidents loaded initially, and with each `Load more`. */
const [FIRST, MORE] = [200, 1_000];
const ELEMENTS_MAX = 1_500;

test(
  'DASH-09: the list and the overview stay usable with 9,000 open incidents',
  needs('chromium'),
  async (t) => {
    if (!isCurrent()) await buildDashboard();
    const [chromium, program] = await Promise.all([
      startChromium(t),
      startProgram(t, dataFolder(t), { SVC_COLLECT: 'none' }),
    ]);
    const { signInUrl = '' } = program.demo;
    await saveRule(program, { metricId: 'filesystem_used_pct', threshold: 80, severity: 'INFO' });
    await fillFilesystems(program, { vms: VMS, mounts: MOUNTS });
    const { page, problems } = await chromium.visitor(pagesOf(program.demo));
    await page.goto(signInUrl);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${pagesOf(program.demo)}/projects/demo`);
    await untilOpen(program, INCIDENTS);
    const elements = () => page.evaluate<number>('document.querySelectorAll("*").length');

    await t.test('the overview counts them all', async (t) => {
      await page.reload();
      const tile = page.locator('.counts li').filter({ hasText: 'incidents' });
      await tile.getByRole('link', { name: '9,000 firing incidents' }).waitFor();
      t.match(await tile.innerText(), /9,000\sinfo/);
      t.ok((await elements()) <= ELEMENTS_MAX, `${await elements()} elements`);
    });

    await t.test('the list has all incidents, and renders the visible ones', async (t) => {
      await page.goto('/projects/demo/incidents');
      const table = page.getByRole('table', { name: 'Incidents' });
      const foot = page.locator('.list-foot');
      await foot.getByText(`${FIRST} rows so far.`).waitFor();
      t.equal(await table.getAttribute('aria-rowcount'), '-1', 'the total number is unknown');
      const more = foot.getByRole('button', { name: 'Load more' });
      for (let loaded = FIRST; loaded < INCIDENTS; loaded += MORE) {
        await more.click();
        const next = Math.min(loaded + MORE, INCIDENTS).toLocaleString('en');
        await foot.getByText(new RegExp(`^${next} rows`)).waitFor();
      }
      t.equal(await table.getAttribute('aria-rowcount'), `${INCIDENTS + 1}`);
      t.equal(await more.count(), 0);
      t.ok((await elements()) <= ELEMENTS_MAX, `${await elements()} elements`);
      await table.locator('.row-link').first().focus();
      await page.keyboard.press('End');
      const last = table.locator(`tr[aria-rowindex="${INCIDENTS + 1}"]`);
      await last.locator('.row-link:focus').waitFor();
      t.ok((await elements()) <= ELEMENTS_MAX, 'at the end too');
    });

    await t.test('several are acknowledged together at the end of the list', async (t) => {
      const rows = [INCIDENTS, INCIDENTS + 1].map((n) => page.locator(`tr[aria-rowindex="${n}"]`));
      for (const row of rows) await row.getByRole('checkbox').check();
      await page.keyboard.press('a');
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('heading', { name: 'Acknowledge 2 incidents' }).waitFor();
      await dialog.getByRole('button', { name: 'Acknowledge' }).click();
      for (const row of rows) await row.getByText('Acknowledged').waitFor();
      await page.goto('/projects/demo');
      const tile = page.locator('.counts li').filter({ hasText: 'incidents' });
      await tile.getByText('2 acknowledged').waitFor();
      t.match(await tile.innerText(), /9,000 firing incidents/, 'acknowledged ones are still open');
    });
    t.same(problems, []);
  },
);
