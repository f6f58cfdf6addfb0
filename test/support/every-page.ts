/**
 * Opens pages of the dashboard in Chromium, over a project in which everything happens and every
 * name contains markup. Checks findings of axe-core, widths, and errors on the way. A page that is
 * added to routes.ts is included.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { buildDashboard, isCurrent } from '../../scripts/build-dashboard.mjs';
import { type BusyProject, startBusyProject } from './busy-project/busy-project.ts';
import { showsItsData } from './busy-project/displayed.ts';
import { type Example, exampleOfEachPage } from './busy-project/examples.ts';
import { startChromium, type Visitor } from './chromium.ts';

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** Browsers that share the pages: one is checked while the other waits for its data. */
const BROWSERS = 2;

export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export interface View {
  readonly size: typeof DESK;
  readonly theme: 'light' | 'dark';
  /**
   * Rules of axe-core: all, or only those on colours or none if another view has tested the rest.
   */
  readonly rules: 'all' | 'colours' | 'none';
}

/** A page at an address, and the views in which it is checked, one after another. */
export interface Look {
  readonly name: string;
  readonly path: string;
  /** Button that opens the dialog to check. */
  readonly button?: string;
  readonly views: readonly View[];
}

export interface EveryPage {
  readonly busy: BusyProject;
  /** An address of each page, as a person of this role has it. */
  examplesOf(role: 'owner' | 'editor' | 'viewer'): Promise<readonly Example[]>;
  visitorAs(role: 'owner' | 'editor' | 'viewer'): Promise<Visitor>;
  /**
   * Checks pages as the owner: no violation, no page wider than its screen, no markup, no refusal.
   */
  lookAt(t: Test, looks: readonly Look[]): Promise<void>;
}

/** Starts browsers that end with the test. */
export async function startEveryPage(t: Test): Promise<EveryPage> {
  if (!isCurrent()) await buildDashboard();
  const [chromium, busy] = await Promise.all([
    startChromium(t),
    startBusyProject(t, { vms: 120, hasMarkup: true, mounts: 2 }),
  ]);
  const visitorAs: EveryPage['visitorAs'] = async (role) => {
    const visitor = await chromium.visitor(busy.origin);
    await visitor.page.context().addCookies([{ ...busy[role].cookie, url: busy.origin }]);
    return visitor;
  };
  return {
    busy,
    examplesOf: (role) => exampleOfEachPage(busy, busy[role]),
    visitorAs,
    async lookAt(t, looks) {
      const left = looks.values();
      const share = async (): Promise<void> => {
        const visitor = await visitorAs('owner');
        await visitor.page.addInitScript({ content: axe });
        for (const look of left) await lookAtOne(t, look, visitor);
      };
      await Promise.all(Array.from({ length: BROWSERS }, share));
    },
  };
}

async function lookAtOne(t: Test, look: Look, { page, problems }: Visitor): Promise<void> {
  const { name, path, button, views } = look;
  const show = async ({ size, theme }: View): Promise<void> => {
    await page.setViewportSize(size);
    await page.emulateMedia({ colorScheme: theme });
  };
  if (views[0]) await show(views[0]);
  await page.goto(path);
  await showsItsData(page);
  if (button !== undefined) {
    await page.getByRole('main').getByRole('button', { name: button }).first().click();
    await page.getByRole('dialog').waitFor();
  }
  for (const view of views) {
    const { size, theme, rules } = view;
    await show(view);
    const found = rules === 'none' ? [] : await violationsOf(page, rules);
    t.same(found, [], `${name}, ${size.width} px, ${theme}`);
    t.equal(await widthOf(page, size.width), size.width, `${name} is as wide as ${size.width} px`);
  }
  t.notOk(await page.locator('main b, main i').count(), `${name}: markup stays text`);
  t.same(problems.splice(0).filter(isUnexpected), [], name);
}

/**
 * Width of the page, px. It equals the screen's once the page fits: charts adapt when they are
 * redrawn.
 */
async function widthOf(page: Page, screen: number): Promise<unknown> {
  // The page's policy forbids the code that playwright's own waiting would evaluate in it.
  for (let tries = 0; ; tries++) {
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (width === screen || tries === 100) return width;
    await page.waitForTimeout(100);
  }
}

/** Findings of axe-core on the current page, one per line. */
async function violationsOf(page: Page, rules: 'all' | 'colours'): Promise<string[]> {
  const only = rules === 'all' ? '' : ", runOnly: ['color-contrast']";
  // Leaves out results that are not violations, and reads no style sheet twice.
  return page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations'], preload: false${only} }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        id + ' ' + target.join(' ') + ' ' + failureSummary.split('\\n').slice(1).join(';'))))`,
  );
}

/** A missing object is answered with 404, which Chromium also logs. */
function isUnexpected(problem: string): boolean {
  return !/status of 404|^404 for .*svc\./.test(problem);
}
