/**
 * Every page of routes.ts in Chromium (`every-page.ts`), with its data: axe-core finds nothing on it,
 * in light on a desk or dark on a phone, and it is as wide as either; the policy is never violated,
 * no other origin asked, nothing logged; and no role is refused what its pages ask for. Both themes at
 * both widths, without data and of what is not there, are looked at in `test/long`.
 */
import t from 'tap';
import type { PageRole } from '../../../src/dashboard/routes.ts';
import { showsItsData } from '../../support/busy-project/shown.ts';
import { needs } from '../../support/components.ts';
import { DESK, type Look, PHONE, startEveryPage, type View } from '../../support/every-page.ts';

const LIGHT: View = { size: DESK, theme: 'light', rules: 'all' };
const DARK: View = { size: PHONE, theme: 'dark', rules: 'all' };
const ROLES: readonly PageRole[] = ['SIGNED_IN', 'VIEWER', 'EDITOR', 'OWNER'];

t.test('every page of the table', needs('chromium'), async (t) => {
  t.setTimeout(230_000);
  const pages = await startEveryPage(t);

  await t.test('has no violation of axe-core, and fits a phone and a desk', async (t) => {
    const examples = await pages.examplesOf('owner');
    const looks = examples.map(({ page, path }, i): Look => {
      const [first, second] = i % 2 === 0 ? [LIGHT, DARK] : [DARK, LIGHT];
      return { name: page, path, views: [first, { ...second, rules: 'none' }] };
    });
    await pages.lookAt(t, looks);
  });

  // Both at a time.
  t.jobs = 2;
  for (const role of ['editor', 'viewer'] as const) {
    void t.test(`as ${role} is refused nothing that it asks for`, { buffered: true }, async (t) => {
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
