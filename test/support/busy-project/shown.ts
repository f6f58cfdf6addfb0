/** When a page of the dashboard shows what it has to show, in Chromium. */
import type { Page } from 'playwright-core';

/** Resolves once a heading is there, nothing loads any more, and charts are drawn. */
export async function showsItsData(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  // An expression, because it runs in the page: it has no types here.
  await page.waitForFunction(
    `!document.querySelector('main .loading, main [aria-busy="true"]') && document.fonts.status === 'loaded'`,
  );
  // One more frame: what came last has been laid out.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))');
}
