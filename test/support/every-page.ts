/**
 * Looks at pages of the dashboard in Chromium, over a project in which everything happens and whose
 * every name has markup in it: what axe-core finds, how wide they are, and what went wrong meanwhile.
 * A page that is added to routes.ts is among them.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { buildDashboard, isCurrent } from '../../scripts/build-dashboard.mjs';
import { type BusyProject, startBusyProject } from './busy-project/busy-project.ts';
import { type Example, exampleOfEachPage } from './busy-project/examples.ts';
import { showsItsData } from './busy-project/shown.ts';
import { startChromium, type Visitor } from './chromium.ts';

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** Browsers that share the pages: while one waits for its data, the other is checked. */
const BROWSERS = 2;

export const DESK = { width: 1280, height: 800 };
export const PHONE = { width: 360, height: 740 };

export interface View {
  readonly size: typeof DESK;
  readonly theme: 'light' | 'dark';
  /** Rules of axe-core: those on colours, or none, where another view has tried the rest. */
  readonly rules: 'all' | 'colours' | 'none';
}

/** A page as it is at an address, and the views in which it is looked at, one after another. */
export interface Look {
  readonly name: string;
  readonly path: string;
  /** Opens the dialog that is looked at. */
  readonly button?: string;
  readonly views: readonly View[];
}

export interface EveryPage {
  readonly busy: BusyProject;
  /** An address of each page, as it is for a person. */
  examplesOf(role: 'owner' | 'editor' | 'viewer'): Promise<readonly Example[]>;
  visitorAs(role: 'owner' | 'editor' | 'viewer'): Promise<Visitor>;
  /** As the owner: no violation, no page wider than its screen, no markup, nothing refused. */
  lookAt(t: Test, looks: readonly Look[]): Promise<void>;
}

/** Ends with the test. */
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

/** Of the page, px: that of the screen once it fits, since charts follow when they are drawn again. */
async function widthOf(page: Page, screen: number): Promise<unknown> {
  // The policy of the page forbids what playwright's own waiting would evaluate in it.
  for (let tries = 0; ; tries++) {
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (width === screen || tries === 100) return width;
    await page.waitForTimeout(100);
  }
}

/** What axe-core finds on the page as it is, a line each. */
async function violationsOf(page: Page, rules: 'all' | 'colours'): Promise<string[]> {
  const only = rules === 'all' ? '' : ", runOnly: ['color-contrast']";
  // Without results that are no violations, and without reading style sheets a second time.
  return page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations'], preload: false${only} }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        id + ' ' + target.join(' ') + ' ' + failureSummary.split('\\n').slice(1).join(';'))))`,
  );
}

/** Something that is not there is answered 404, which Chromium logs as well. */
function isUnexpected(problem: string): boolean {
  return !/status of 404|^404 for .*svc\./.test(problem);
}
