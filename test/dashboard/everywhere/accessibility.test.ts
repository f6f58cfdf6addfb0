/**
 * Every page of routes.ts in Chromium, over a project in which everything happens and whose every name
 * has markup in it: axe-core finds nothing, in both themes, on a phone and on a desk; the policy is
 * never violated, no other origin asked, nothing logged; and no role is refused what its pages ask
 * for. A page that is added to the table is covered by that.
 */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import t from 'tap';
import { buildDashboard, isCurrent } from '../../../scripts/build-dashboard.mjs';
import type { PageRole } from '../../../src/dashboard/routes.ts';
import { type BusyProject, startBusyProject } from '../../support/busy-project/busy-project.ts';
import { type Example, exampleOfEachPage } from '../../support/busy-project/examples.ts';
import { showsItsData } from '../../support/busy-project/shown.ts';
import { startChromium, type Visitor } from '../../support/chromium.ts';
import { needs } from '../../support/components.ts';

const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const THEMES = ['light', 'dark'] as const;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
] as const;
const ROLES: readonly PageRole[] = ['SIGNED_IN', 'VIEWER', 'EDITOR', 'OWNER'];

/**
 * What axe-core finds on the page as it is, a line each. In the second theme only colours are others.
 */
async function violationsOf(page: Page, theme: (typeof THEMES)[number]): Promise<string[]> {
  const rules = theme === 'light' ? '' : ", runOnly: ['color-contrast']";
  // Without results that are no violations, which cost most of the time.
  return page.evaluate<string[]>(
    `axe.run({ resultTypes: ['violations']${rules} }).then(({ violations }) => violations.flatMap(
      ({ id, nodes }) => nodes.map(({ target, failureSummary }) =>
        id + ' ' + target.join(' ') + ' ' + failureSummary.split('\\n').slice(1).join(';'))))`,
  );
}

interface Look {
  readonly name: string;
  readonly path: string;
}

/** Each page with its data, with none, and of something that is not there. */
function looksOf(examples: readonly Example[], busy: BusyProject): Look[] {
  return examples.flatMap(({ page, path }) => {
    const segments = path.split('/').length;
    const empty = path.replace(`/${busy.name}`, `/${busy.empty}`);
    return [
      { name: page, path },
      ...(segments === 4 ? [{ name: `${page} without data`, path: empty }] : []),
      ...(segments === 5 ? [{ name: `${page} that is not there`, path: empty }] : []),
    ];
  });
}

/** Something that is not there is answered 404, which Chromium logs as well. */
function isUnexpected(problem: string): boolean {
  return !/status of 404|^404 for .*svc\./.test(problem);
}

t.test('every page of the table', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const [chromium, busy] = await Promise.all([
    startChromium(t),
    startBusyProject(t, { vms: 120, hasMarkup: true, mounts: 2 }),
  ]);
  const examples = await exampleOfEachPage(busy);
  const visitors = new Map<string, Visitor>();
  for (const role of ['owner', 'editor', 'viewer'] as const) {
    const visitor = await chromium.visitor(busy.origin);
    const cookie = { ...busy[role].cookie, url: busy.origin };
    await visitor.page.context().addCookies([cookie]);
    visitors.set(role, visitor);
  }

  await t.test('has no violation of axe-core, in each theme and width', async (t) => {
    const looks = looksOf(examples, busy);
    const visitor = visitors.get('owner');
    if (!visitor) throw new Error('Nobody is there');
    const { page, problems } = visitor;
    for (const { name, path } of looks) {
      await page.goto(path);
      await showsItsData(page);
      await page.evaluate(axe);
      for (const size of SIZES) {
        await page.setViewportSize(size);
        for (const theme of THEMES) {
          await page.emulateMedia({ colorScheme: theme });
          t.same(await violationsOf(page, theme), [], `${name}, ${size.width} px, ${theme}`);
        }
        const width = await page.evaluate('document.documentElement.scrollWidth');
        t.equal(width, size.width, `${name} is as wide as ${size.width} px`);
      }
      t.notOk(await page.locator('main b, main i').count(), `${name}: markup stays text`);
      t.same(problems.splice(0).filter(isUnexpected), [], name);
    }
  });

  for (const role of ['editor', 'viewer'] as const) {
    await t.test(`as ${role} is refused nothing that it asks for`, async (t) => {
      const visitor = visitors.get(role);
      if (!visitor) throw new Error('Nobody is there');
      const { page, problems } = visitor;
      const rank = ROLES.indexOf(role === 'editor' ? 'EDITOR' : 'VIEWER');
      const open = examples.filter((example) => ROLES.indexOf(example.role) <= rank);
      for (const { path } of open) {
        await page.goto(path);
        await showsItsData(page);
      }
      t.ok(open.length > 0);
      t.same(problems, [], 'no 403, no violation of the policy, no other origin');
    });
  }
});
