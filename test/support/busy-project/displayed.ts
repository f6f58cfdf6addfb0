/** Waits until a page of the dashboard shows its data, in Chromium. */
import type { Page } from 'playwright-core';
import { until } from '../program.ts';

/** Resolves once a heading is displayed, loading has finished, and charts are drawn. */
export async function showsItsData(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  // Polls from here, because the policy of the pages refuses a function that waits in them. It is
  // an expression, because it runs in the page, which has no types here.
  await until(
    'nothing loads any more',
    async () =>
      (await page.evaluate(
        `!document.querySelector('main .loading, main [aria-busy="true"]') && document.fonts.status === 'loaded'`,
      )) || undefined,
  );
  // One more frame, for the layout of the newest elements.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))');
}
