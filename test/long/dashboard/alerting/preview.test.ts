/**
 * The preview of a rule in Chromium, for a user looking for a threshold: when it would have fired,
 * where data is missing, and a draggable line; a response to an older request never replaces a
 * newer one. The program runs as a user starts it, with its own readings.
 */
import type { Locator, Page, Route } from 'playwright-core';
import { test } from 'tap';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { sendOn, startChromium } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import { type Reading, writeReadings } from '../../../support/incidents-to-show.ts';
import { pagesOf } from '../../../support/program.ts';
import { joinService } from '../../../support/shared-service.ts';
import { walk } from '../../../support/walk.ts';

const MINUTE_MS = 60_000;
const STEP_MS = 30_000;
const MANY = 200;
const ELEMENTS_MAX = 600;

test('the preview of a rule', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const [chromium, program] = await Promise.all([startChromium(t), joinService('preview')]);
  const nowMs = Math.floor(Date.now() / STEP_MS) * STEP_MS;
  const busy = (agoMs: number) => agoMs > 35 * MINUTE_MS && agoMs <= 50 * MINUTE_MS;
  await writeReadings(program, [
    ...hour('vm-1', nowMs, (agoMs) => (busy(agoMs) ? 96 : 20)),
    ...hour('vm-2', nowMs, (agoMs) => {
      return agoMs > 15 * MINUTE_MS && agoMs < 30 * MINUTE_MS ? undefined : 50;
    }),
  ]);
  const visitor = await chromium.visitor(pagesOf(program.demo));
  const { page, problems } = visitor;
  await page.goto(program.demo.signInUrl ?? '');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL(`${pagesOf(program.demo)}/projects/preview`);
  const path = '/projects/preview/alertRules/new?template=cpu';
  const threshold = page.getByLabel('Threshold', { exact: true });
  const line = page.getByRole('slider', { name: 'Threshold on the chart' });

  await t.test('DASH-19: a preview shows the firings and the coverage', async (t) => {
    await page.goto(path);
    await lane(page, 'vm-1').getByText('fired once').waitFor();
    const gap = lane(page, 'vm-2');
    await gap.getByText(/^did not fire; 1 gap, 1[345] min/).waitFor();
    t.ok(await gap.locator('path.lane-missing').count(), 'missing data is hatched');
    t.equal(await lane(page, 'vm-1').locator('path.lane-firing').count(), 1);
    const preview = page.locator('.rule-preview');
    await preview.getByText('The rule would have fired once, on 1 of 2 VMs.').waitFor();
    await preview.getByText(/Nothing is saved or sent/).waitFor();
    await preview.getByText('All histories were read.').waitFor();
    await preview
      .getByText(/^Some VMs have readings for part of the range only\. .* since /)
      .waitFor();
    const counts = preview.getByText(/^\d+ evaluated of \d+ expected$/);
    const [evaluated, expected] = (await counts.innerText()).match(/\d+/g) ?? [];
    t.ok(Number(evaluated) > 100, `${evaluated} of two VMs over an hour`);
    t.ok(Number(evaluated) < Number(expected), `${evaluated} of ${expected}: a gap is known`);
    await preview.getByText(/^\d+ expected readings are missing\.$/).waitFor();
    t.same(problems, []);
  });

  await t.test('DASH-19: VMs without readings are named, with the consequence', async (t) => {
    const metric = page.getByLabel('Metric', { exact: true });
    await metric.selectOption('memory_used_bytes');
    await page.getByText('No data for vm-1, vm-2.').waitFor();
    await page
      .getByText('It is unknown whether the rule would have fired.', { exact: true })
      .waitFor();
    await page.getByText(/^There are no readings of this metric/).waitFor();
    await page.getByText('No VM of the rule has readings of this metric.').waitFor();
    await metric.selectOption('cpu_utilization_pct');
    await lane(page, 'vm-1').getByText('fired once').waitFor();
    t.same(problems, []);
  });

  await t.test('DASH-19: a changed threshold gives a new preview', async (t) => {
    await threshold.fill('45');
    await lane(page, 'vm-2').getByText('fired once, still firing').waitFor();
    await page.getByText('The rule would have fired 2 times, on 2 of 2 VMs.').waitFor();
    t.same(problems, []);
  });

  await t.test('DASH-19: an older response never replaces a newer one', async (t) => {
    let release: () => void = () => undefined;
    let held: Promise<void> | undefined;
    const isHeld = new Promise<void>((resolve) => {
      const hold = async (route: Route): Promise<void> => {
        const requested = route.request().postDataJSON() as { spec: { threshold: number } };
        if (requested.spec.threshold !== 30) return route.continue();
        const response = await sendOn(route);
        const released = new Promise<void>((go) => {
          release = go;
        });
        resolve();
        // The page has abandoned the request, so it may no longer exist.
        held = released.then(() => route.fulfill({ response }).catch(() => undefined));
        return held;
      };
      void page.route('**/PreviewAlertRule', hold);
    });
    await threshold.fill('30');
    await isHeld;
    await threshold.fill('97');
    const none = page.getByText('The rule would not have fired on these readings.');
    await none.waitFor();
    // From the older request: two VMs fire. Even a momentary display would be counted.
    await page.evaluate(NOTE_OLDER);
    release();
    await held;
    await threshold.fill('96.5');
    await page.getByText('The rule has changed and is being evaluated again').waitFor();
    await page.getByText('This preview matches the rule as shown here.').waitFor();
    t.equal(await none.count(), 1);
    t.equal(await page.evaluate('svcTestOlder'), 0, 'and it was not shown in between');
    await page.unroute('**/PreviewAlertRule');
    t.same(problems, []);
  });

  await t.test(
    'DASH-19: a line is selected by list or click, and its threshold is moved',
    async (t) => {
      await threshold.fill('90');
      await page.getByLabel('Readings of').selectOption({ label: 'vm-2' });
      await page.getByRole('figure').filter({ hasText: 'vm-2' }).waitFor();
      await lane(page, 'vm-1').click();
      await page.getByRole('figure').filter({ hasText: 'vm-1' }).waitFor();
      t.equal(await lane(page, 'vm-1').getAttribute('aria-pressed'), 'true');
      await line.focus();
      t.equal(await line.getAttribute('aria-valuetext'), '90 %');
      await page.keyboard.press('ArrowDown');
      await page.locator('[role=slider][aria-valuenow="89"]').waitFor();
      t.equal(await threshold.inputValue(), '89', 'a key moves it a step');
      await page.keyboard.press('PageUp');
      await page.locator('[role=slider][aria-valuenow="99"]').waitFor();
      const box = await line.boundingBox();
      if (!box) throw new Error('The line is not drawn');
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      await page.mouse.move(x, y);
      await page.mouse.down();
      await page.mouse.move(x, y + 30);
      await page.mouse.move(x, y + 60);
      await page.locator('.limit-line [role=slider]:not([aria-valuenow="99"])').waitFor();
      t.equal(await threshold.inputValue(), '99', 'the rule changes when the line is released');
      const displayed = await line.getAttribute('aria-valuetext');
      await page.mouse.up();
      await page.getByText(`Means ${displayed}.`).waitFor();
      t.ok(Number(await threshold.inputValue()) < 99, 'a drag moves it');
      t.same(problems, []);
    },
  );

  await walk(t, 'DASH-19: an editor creates a rule from a template', visitor, async (t, page) => {
    await page.goto('/projects/preview/alertRules');
    await page.getByRole('link', { name: 'Use this template CPU is high' }).click();
    await threshold.fill('90');
    await line.focus();
    await page.keyboard.press('PageDown');
    await page.getByText('Means 80 %.').first().waitFor();
    await page.getByText('This preview matches the rule as shown here.').waitFor();
    await page
      .getByRole('button', {
        name: 'Save the rule',
      })
      .click();
    await page.getByText('Version 1 is applied.').waitFor();
    t.equal(await threshold.inputValue(), '80');
    await lane(page, 'vm-1').getByText('fired once').waitFor();
  });

  await t.test(
    'DASH-19: a preview of 200 VMs draws the lines that fit and counts the others',
    async (t) => {
      const more = Array.from({ length: MANY - 2 }, (_, i) => ({
        vm: `vm-${i + 3}`,
        atMs: nowMs,
        percent: 10,
      }));
      await writeReadings(program, more);
      await page.goto(path);
      await page.getByRole('button', { name: '190 more' }).waitFor();
      const drawn = page.locator('.rule-preview *:not(option)');
      t.ok((await drawn.count()) < ELEMENTS_MAX, `${await drawn.count()} elements`);
      t.equal(await page.getByLabel('Readings of').locator('option').count(), MANY);
      await page.getByRole('button', { name: '190 more' }).click();
      await page.getByRole('button', { name: '170 more' }).waitFor();
      t.equal(await page.locator('button.lane').count(), 30);
      await page.getByText('the last 12 h. Nothing is saved').waitFor();
      await page.getByText('Takes longer').waitFor();
      await page.getByRole('button', { name: 'Preview the last 7 d' }).click();
      await page.getByText('the last 7 d. Nothing is saved').waitFor();
      await page.getByText('This preview matches the rule as shown here.').waitFor();
      t.match(
        await page.locator('button.lane').first().innerText(),
        /^vm-1\b/,
        'those that fired come first',
      );
      t.same(problems, []);
    },
  );
});

/** Runs in the page: counts how often the response to the older request is displayed. */
const NOTE_OLDER = `svcTestOlder = 0; new MutationObserver(() => {
  if (document.body.innerText.includes('on 2 of 2 VMs')) svcTestOlder += 1;
}).observe(document.body, { subtree: true, childList: true, characterData: true });`;

function lane(page: Page, vm: string): Locator {
  return page.locator('button.lane').filter({ has: page.getByText(vm, { exact: true }) });
}

/**
 * One hour of readings until now, for a VM by its display name; undefined for none at that time.
 */
function hour(
  displayName: string,
  nowMs: number,
  percentOf: (agoMs: number) => number | undefined,
) {
  const readings: Reading[] = [];
  for (let agoMs = 60 * MINUTE_MS; agoMs >= 0; agoMs -= STEP_MS) {
    const percent = percentOf(agoMs);
    const vm = `id-of-${displayName}`;
    if (percent !== undefined) readings.push({ vm, displayName, atMs: nowMs - agoMs, percent });
  }
  return readings;
}
