/** When a page of the dashboard shows what it has to show, in Chromium. */
import type { Page } from 'playwright-core';
import { until } from '../program.ts';

/** Resolves once a heading is there, nothing loads any more, and charts are drawn. */
export async function showsItsData(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  // Asked from here: the policy of the pages refuses a function that waits in them. An expression,
  // because it runs in the page: it has no types here.
  await until(
    'nothing loads any more',
    async () =>
      (await page.evaluate(
        `!document.querySelector('main .loading, main [aria-busy="true"]') && document.fonts.status === 'loaded'`,
      )) || undefined,
  );
  // One more frame: what came last has been laid out.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))');
}
