/**
 * Every page of routes.ts in Chromium (`every-page.ts`): with its data, without data, and for a
 * missing resource; in both themes, on a phone and a desktop. Then open dialogs. Then every page
 * with its data, as an editor and as a viewer: the policy is never violated, no other origin is
 * contacted, nothing is logged, and no request of a page is denied.
 */
import t, { type Test, test } from 'tap';
import type { PageName, PageRole } from '../../../../src/dashboard/routes.ts';
import { showsItsData } from '../../../support/busy-project/displayed.ts';
import { needs } from '../../../support/components.ts';
import {
  DESK,
  type EveryPage,
  type Look,
  PHONE,
  startEveryPage,
} from '../../../support/every-page.ts';

t.setTimeout(840_000);

type Views = Look['views'];
/** The narrowest widths with two-line rows, with tables below the menu, and with the menu beside. */
const BETWEEN: Views = [641, 929, 1217].map((width) => {
  return { size: { width, height: 800 }, theme: 'light', rules: 'none' };
});
/** Every rule once at each width and once in each theme. */
const VIEWS: Views = [
  { size: DESK, theme: 'light', rules: 'all' },
  { size: PHONE, theme: 'dark', rules: 'all' },
  ...BETWEEN,
];
/** Also the colours of all that a page shows, in both themes at both widths. */
const ALL_VIEWS: Views = [
  { size: DESK, theme: 'light', rules: 'all' },
  { size: DESK, theme: 'dark', rules: 'colours' },
  { size: PHONE, theme: 'dark', rules: 'all' },
  { size: PHONE, theme: 'light', rules: 'colours' },
  ...BETWEEN,
];
const ROLES: readonly PageRole[] = ['SIGNED_IN', 'VIEWER', 'EDITOR', 'OWNER'];

test('DASH-11: every page is accessible, with data and without', needs('chromium'), async (t) => {
  t.setTimeout(840_000);
  const pages = await startEveryPage(t);
  await t.test('has no axe-core violations in any theme and width', async (t) => {
    await pages.lookAt(t, await looksOf(pages));
  });

  await t.test('open dialogs and tabs have no violations', async (t) => {
    const examples = await pages.examplesOf('owner');
    const looks = OPENED.map(({ page, query = '', button }): Look => {
      const { path = '' } = examples.find((example) => example.page === page) ?? {};
      const name = `${page}${query} ${button}`;
      return { name, path: path + query, views: VIEWS, ...(button && { button }) };
    });
    await pages.lookAt(t, looks);
  });

  await t.test('DASH-11: every page works for each role without a refusal', (t) =>
    asEachRole(t, pages),
  );
});

async function asEachRole(t: Test, pages: EveryPage): Promise<void> {
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
}

/** Content that a page shows only on request: by a query, or by a button that opens a dialog. */
const OPENED: readonly {
  readonly page: PageName;
  readonly query?: string;
  readonly button?: string;
}[] = [
  { page: 'alertRule', query: '?view=replay' },
  { page: 'alertRule', button: 'Delete' },
  { page: 'maintenanceWindows', button: 'Plan maintenance' },
  { page: 'home', button: 'Create project' },
  { page: 'incident', button: 'Snooze' },
  { page: 'members', button: 'Invite a member' },
  { page: 'memberKeys', button: 'Create key' },
  { page: 'serviceAccounts', button: 'Create service account' },
  { page: 'serviceAccount', button: 'Disable' },
  { page: 'destination', button: 'Pause' },
  { page: 'ciConnection', button: 'Edit name and permissions' },
  { page: 'ciVerification', button: 'Reject' },
  { page: 'audit', button: 'Export' },
];

/** Each page with its data, without data, and for a missing resource. */
async function looksOf({ examplesOf, busy }: EveryPage): Promise<Look[]> {
  return (await examplesOf('owner')).flatMap(({ page, path }) => {
    const segments = path.split('/').length;
    const empty = path.replace(`/${busy.name}`, `/${busy.empty}`);
    return [
      { name: page, path, views: ALL_VIEWS },
      ...(segments === 4 ? [{ name: `${page} without data`, path: empty, views: VIEWS }] : []),
      ...(segments === 5 ? [{ name: `${page} that is not there`, path: empty, views: VIEWS }] : []),
    ];
  });
}
