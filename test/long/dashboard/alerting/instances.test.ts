/**
 * An alert instance that has not fired, in Chromium: it breached twice for less than the rule
 * requires, the second time with a gap in between. The page says why, lists each run, and steps
 * through them.
 */
import type { Locator, Page } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { type Reading, saveRule, writeReadings } from '../../../support/incidents-to-show.ts';
import { pagesOf } from '../../../support/program.ts';
import { joinService } from '../../../support/shared-service.ts';
import { walk } from '../../../support/walk.ts';

const MINUTE_MS = 60_000;
const STEP_MS = 30_000;

test('an alert instance', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const [chromium, program] = await Promise.all([startChromium(t), joinService('instances')]);
  await saveRule(program, { displayName: 'Busy', sustainedSeconds: 600 });
  await writeReadings(program, readings());
  const visitor = await chromium.visitor(pagesOf(program.demo));
  await visitor.page.goto(program.demo.signInUrl ?? '');
  await visitor.page.getByRole('button', { name: 'Sign in' }).click();
  await visitor.page.waitForURL(`${pagesOf(program.demo)}/projects/instances`);

  await walk(
    t,
    'DASH-21: a user sees why an alert instance has not fired',
    visitor,
    async (t, page) => {
      await page.goto('/projects/instances/alertInstances');
      const link = page.getByRole('link', { name: 'Web 1', exact: true });
      await link.waitFor();
      const from = visitor.requested.length;
      await link.click();
      await page.getByRole('heading', { level: 1, name: 'Busy, Web 1' }).waitFor();
      t.notMatch(
        visitor.requested.slice(from).join(),
        'ListVMMonitoring',
        'the page uses the names in its own response',
      );
      const reason = page.locator('.summary');
      await reason.getByText('readings breached 3 times, for at most 5 min').waitFor();
      t.match(
        await reason.innerText(),
        /requires 10 min without a gap.*gap longer than 1 min 30 s/,
      );
      const runs = page.getByRole('table', { name: 'Runs of breaching readings' });
      t.same(await lastCells(runs), [
        'a reading no longer breached',
        'a gap occurred; the next breaching reading started a new run',
        'a reading no longer breached',
      ]);
      const segments = page.getByRole('table', { name: 'States in this period' });
      await segments.getByText('Missing').first().waitFor();
      t.equal(
        await segments.getByText('Sustaining').count(),
        4,
        'observed, observed, missing, again',
      );
      t.equal(await segments.getByText('Firing').count(), 0);
      const chart = page.locator('.window-chart.recomputed');
      t.ok(
        (await chart.locator('.sample.breach').count()) > 20,
        'each breaching reading is a mark',
      );
      t.ok((await chart.locator('.span.gap').count()) > 0, 'the gap is drawn');

      await page.setViewportSize({ width: 360, height: 740 });
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360, 'fits on a phone');
      await page.setViewportSize({ width: 1280, height: 900 });

      const slider = page.getByRole('slider', { name: 'Time within the period' });
      const says = (step: string) =>
        slider.and(page.locator(`[aria-valuetext*="${step}"]`)).waitFor();
      await says('Breach ended');
      t.same(await currentStates(page), ['alertInstance.idle']);
      await slider.press('ArrowLeft');
      await says('Breach started');
      t.same(await currentStates(page), ['alertInstance.sustaining.observed']);
      const atRun = await chart.locator('.window-at').getAttribute('x1');
      await slider.press('ArrowLeft');
      await says('Data missing');
      t.ok((await currentStates(page)).includes('alertInstance.sustaining.missing'));
      const atGap = await chart.locator('.window-at').getAttribute('x1');
      t.ok(Number(atGap) < Number(atRun), 'the line in the chart moves with it');
      t.equal(
        await page.locator('.statechart.recomputed').count(),
        1,
        'recomputed steps are dashed',
      );
      t.equal(new URL(page.url()).searchParams.get('step'), '4', 'a sent link shows the same step');
    },
  );
});

/** Texts of the last column. */
async function lastCells(table: Locator): Promise<string[]> {
  await table.locator('tbody tr').first().waitFor();
  return table.locator('tbody tr td:last-child').allInnerTexts();
}

/** Ids of the current states on the diagram. */
function currentStates(page: Page): Promise<string[]> {
  return page
    .locator('.statechart .state[aria-current]')
    .evaluateAll((states) => states.map((state) => state.getAttribute('data-state') ?? ''));
}

/** An hour: busy for 5 minutes, later for 12 with a gap of 4 in the middle; normal at the end. */
function readings(): Reading[] {
  const nowMs = Math.floor(Date.now() / STEP_MS) * STEP_MS;
  const all: Reading[] = [];
  for (let agoMs = 50 * MINUTE_MS; agoMs >= 0; agoMs -= STEP_MS) {
    const minutes = agoMs / MINUTE_MS;
    if (minutes < 16 && minutes > 12) continue;
    const isBusy = (minutes <= 40 && minutes >= 35) || (minutes <= 20 && minutes >= 8);
    const percent = isBusy ? 97 : 10;
    all.push({ vm: 'vm-1', displayName: 'Web 1', atMs: nowMs - agoMs, percent });
  }
  return all;
}
