/**
 * Every page of routes.ts in Chromium (`every-page.ts`), with its data, as an editor and as a
 * viewer: the policy is never violated, no other origin is contacted, nothing is logged, and no
 * request of a page is denied.
 */
import t, { test } from 'tap';
import type { PageRole } from '../../../../src/dashboard/routes.ts';
import { showsItsData } from '../../../support/busy-project/displayed.ts';
import { needs } from '../../../support/components.ts';
import { startEveryPage } from '../../../support/every-page.ts';

t.setTimeout(840_000);

const ROLES: readonly PageRole[] = ['SIGNED_IN', 'VIEWER', 'EDITOR', 'OWNER'];

test('DASH-11: every page works for each role without a refusal', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  const pages = await startEveryPage(t);
  // Two at a time.
  t.jobs = 2;
  for (const role of ['editor', 'viewer'] as const) {
    void t.test(`as ${role}, no request of the page is denied`, { buffered: true }, async (t) => {
      const { page, problems } = await pages.visitorAs(role);
      const rank = ROLES.indexOf(role === 'editor' ? 'EDITOR' : 'VIEWER');
      const examples = await pages.examplesOf(role);
      const open = examples.filter((example) => ROLES.indexOf(example.role) <= rank);
      for (const { path } of open) {
        await page.goto(path);
        await showsItsData(page);
        if (role === 'viewer') t.notOk(await page.locator('main .choose').count(), path);
      }
      t.ok(open.length > 0);
      t.same(problems, [], 'no 403, no violation of the policy, no other origin');
    });
  }
});
