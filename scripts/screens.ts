/**
 * `npm run screens [-- --to FOLDER] [--page NAME…] [--readme]`: pictures of every page of the
 * dashboard and of the states of its data, light and dark, 360 and 1280 px wide, for visual review.
 * The service and its project are real, see test/support/busy-project. It asserts nothing, but
 * reports errors in the browser. `--readme` takes only the pictures of the README and of the
 * guides, into docs/images; with `--page`, only those whose names start so.
 */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { withScope } from '../bench/support/scope.ts';
import { type BusyProject, startBusyProject } from '../test/support/busy-project/busy-project.ts';
import { showsItsData } from '../test/support/busy-project/displayed.ts';
import { exampleOfEachPage } from '../test/support/busy-project/examples.ts';
import type { Person } from '../test/support/busy-project/people.ts';
import { vmId } from '../test/support/busy-project/readings.ts';
import { startChromium, type Visitor } from '../test/support/chromium.ts';
import { buildDashboard, isCurrent } from './build-dashboard.mjs';

const { values: given } = parseArgs({
  options: {
    to: { type: 'string', default: join(tmpdir(), 'svc-screens') },
    page: { type: 'string', multiple: true },
    readme: { type: 'boolean', default: false },
  },
});

const THEMES = ['light', 'dark'] as const;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
] as const;

/** A picture to take: its name, and the steps of the browser to its content. */
interface Scene {
  readonly name: string;
  readonly path: string;
  readonly person: Person;
  /** Runs before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
  /** Runs afterwards, instead of waiting for its data. */
  readonly act?: (page: Page) => Promise<unknown>;
}

const RPC = '**/svc.monitoring.v1.*/**';

/** Each page with its data, then with few, late, refused or missing data. */
async function scenesOf(busy: BusyProject): Promise<Scene[]> {
  const { owner, viewer, name: project } = busy;
  const examples = await exampleOfEachPage(busy);
  const vm = (n: number): string => `/${project}/vms/${vmId(n)}`;
  const lists = examples.filter(({ path }) => /^\/projects\/demo(\/[a-zA-Z]+)?$/.test(path));
  const pages = examples.map(({ page, path }) => ({ name: page, path, person: owner }));
  const empty = lists.map(({ page, path }) => ({
    name: `${page}-empty`,
    person: owner,
    path: path.replace(`/${project}`, `/${busy.empty}`),
  }));
  const missing = examples
    .filter(({ path }) => path.split('/').length === 5)
    .map(({ page, path }) => ({
      name: `${page}-missing`,
      person: owner,
      path: path.replace(/[^/]+$/, '00000000-0000-4000-8000-000000000000'),
    }));
  // A person's own pages differ for each person.
  const asViewer = (await exampleOfEachPage(busy, viewer))
    .filter(({ role }) => role === 'VIEWER')
    .map(({ page, path }) => ({ name: `${page}-viewer`, path, person: viewer }));
  const ci = await ciStepsOf(busy);
  return [
    ...pages,
    ...ci,
    { name: 'vm-gap', path: vm(40), person: owner },
    { name: 'vm-stale', path: vm(30), person: owner },
    { name: 'vm-stopped', path: vm(70), person: owner },
    { name: 'vm-token', path: vm(51), person: owner },
    { name: 'vm-off', path: vm(80), person: owner },
    { name: 'vm-unavailable', path: vm(60), person: owner },
    {
      name: 'audit-step',
      path: `/${project}/audit`,
      person: owner,
      act: (browser) => browser.getByRole('row').nth(1).getByRole('link').first().click(),
    },
    {
      name: 'audit-export',
      path: `/${project}/audit`,
      person: owner,
      act: (browser) => browser.getByRole('button', { name: 'Export' }).click(),
    },
    ...empty,
    ...missing,
    ...asViewer,
    ...lists.slice(0, 3).flatMap(({ page, path }): Scene[] => [
      {
        name: `${page}-loading`,
        path,
        person: owner,
        prepare: (browser) => browser.route(RPC, () => {}),
        act: (browser) => browser.waitForTimeout(600),
      },
      {
        name: `${page}-failed`,
        path,
        person: owner,
        prepare: (browser) => browser.route(RPC, (route) => route.fulfill(FAILED)),
        act: (browser) => browser.waitForTimeout(600),
      },
      {
        name: `${page}-away`,
        path,
        person: owner,
        async act(browser) {
          await showsItsData(browser);
          await browser.context().setOffline(true);
          await browser.getByText('Disconnected').first().waitFor({ timeout: 40_000 });
        },
      },
    ]),
  ];
}

/** Steps of the CI wizard, besides the review, which is the example. */
async function ciStepsOf({ owner, name: project }: BusyProject): Promise<Scene[]> {
  const { verifications } = await owner.call('iam.v1.AutomationService/ListCiVerifications', {
    projectName: project,
  });
  const path = (state: string): string =>
    `/${(verifications as { name: string; state: string }[]).find((one) => one.state === state)?.name}`;
  return [
    { name: 'ciConnections-start', path: `/${project}/ciConnections?step=account`, person: owner },
    { name: 'ciVerification-setUp', path: path('AWAITING_PROOF'), person: owner },
    { name: 'ciVerification-wait', path: `${path('AWAITING_PROOF')}?step=wait`, person: owner },
    { name: 'ciVerification-cleanUp', path: path('APPROVED'), person: owner },
  ];
}

const FAILED = {
  status: 500,
  contentType: 'application/json',
  body: JSON.stringify({ code: 'internal', message: 'The storage cannot be read' }),
};

async function take(visitor: Visitor, busy: BusyProject, scene: Scene, folder: string) {
  const { page } = visitor;
  const { name, value } = scene.person.cookie;
  await page.context().addCookies([{ name, value, url: busy.origin }]);
  await scene.prepare?.(page);
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await page.goto(scene.path);
    await (scene.act ?? showsItsData)(page);
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme });
      const file = `${scene.name}-${size.width}-${theme}.png`;
      await page.screenshot({ path: join(folder, file), fullPage: true });
    }
    await page.context().setOffline(false);
  }
}

/** A picture of the documents: a page, possibly after some steps. */
interface Picture {
  /** Its file in docs/images, without the extension. */
  readonly name: string;
  /** Name of the scene, such as a page. */
  readonly scene: string;
  /** Query of the address, including the `?`. */
  readonly query?: string;
  /** Size of the window; default 1280 by 800. */
  readonly size?: { readonly width: number; readonly height: number };
  /** Runs after its data are displayed. */
  readonly act?: (page: Page) => Promise<unknown>;
}

/** Only as high as the content, so that each file stays small. */
function lower(height: number): { readonly width: number; readonly height: number } {
  return { width: 1280, height };
}

const pictures: readonly Picture[] = [
  { name: 'incident', scene: 'incident', size: { width: 1080, height: 900 } },
  { name: 'overview', scene: 'overview', size: lower(640) },
  { name: 'vm', scene: 'vm', size: lower(720) },
  { name: 'rule', scene: 'newAlertRule', query: '?template=cpu' },
  {
    name: 'rule-preview',
    scene: 'newAlertRule',
    query: '?template=cpu',
    size: lower(720),
    act: previewRule,
  },
  { name: 'destination', scene: 'destination', size: lower(560) },
  { name: 'incidents', scene: 'incidents', size: lower(600) },
  { name: 'incident-phone', scene: 'incident', size: { width: 360, height: 740 } },
  { name: 'snooze', scene: 'incident', act: (page) => press(page, 'Snooze') },
  { name: 'delivery', scene: 'delivery' },
  { name: 'members', scene: 'members' },
  { name: 'invite', scene: 'members', act: (page) => press(page, 'Invite a member') },
  { name: 'keys', scene: 'memberKeys', size: lower(560) },
  { name: 'service-accounts', scene: 'serviceAccounts', size: lower(560) },
  { name: 'ci-set-up', scene: 'ciConnections-start', size: lower(720), act: startVerification },
  { name: 'ci-review', scene: 'ciVerification', size: lower(640), act: toStart },
  { name: 'ci-connection', scene: 'ciConnection', size: lower(640) },
  { name: 'audit', scene: 'audit', size: lower(560) },
];

/** Shows the pairing code, hidden as it initially is. */
async function startVerification(page: Page): Promise<void> {
  await page.getByLabel('Service account', { exact: true }).selectOption({ label: 'Deploy bot' });
  await page.getByLabel('Name of the connection').fill('Nightly build');
  await press(page, 'Start the verification');
  await page.getByText('Pairing code').first().waitFor();
  await showsItsData(page);
  await toStart(page);
}

/** Scrolls back to the start, on a page that has scrolled to the next step. */
function toStart(page: Page): Promise<unknown> {
  return page.evaluate('window.scrollTo(0, 0)');
}

/** A rule that fires on some VMs of the last hour, scrolled down to its preview. */
async function previewRule(page: Page): Promise<void> {
  await page.getByLabel('For at least', { exact: true }).fill('3 min');
  await page.getByText('This preview matches the rule as shown here.').waitFor();
  await showsItsData(page);
  await page.evaluate("document.querySelector('.rule-preview').scrollIntoView()");
}

function press(page: Page, button: string): Promise<void> {
  return page.getByRole('button', { name: button }).first().click();
}

/** As the owner sees it, in light mode. */
async function takePicture(
  { page }: Visitor,
  busy: BusyProject,
  { name, size = lower(800), query = '', scene, act }: Picture,
): Promise<void> {
  const found = (await scenesOf(busy)).find((one) => one.name === scene);
  if (!found) throw new Error(`No scene is named ${scene}`);
  await page.context().addCookies([{ ...busy.owner.cookie, url: busy.origin }]);
  await page.setViewportSize(size);
  await page.goto(found.path + query);
  await showsItsData(page);
  await act?.(page);
  const path = fileURLToPath(new URL(`../docs/images/${name}.png`, import.meta.url));
  await page.screenshot({ path, animations: 'disabled' });
}

await withScope(async (scope) => {
  const startedMs = Date.now();
  const log = (text: string): void => {
    console.log(`${((Date.now() - startedMs) / 1000).toFixed(0).padStart(4)} s  ${text}`);
  };
  mkdirSync(given.to, { recursive: true });
  if (!isCurrent()) await buildDashboard();
  const chromium = await startChromium(scope);
  const busy = await startBusyProject(scope, { onProgress: log });
  // As collectors do, so that nothing becomes stale during the run.
  const reports = setInterval(
    () => void busy.report().catch((error) => log(String(error))),
    30_000,
  );
  scope.teardown(() => clearInterval(reports));
  const wanted = given.page;
  const isWanted = ({ name }: { readonly name: string }): boolean =>
    !wanted || wanted.some((one) => name.startsWith(one));
  if (given.readme) {
    for (const picture of pictures.filter(isWanted)) {
      const visitor = await chromium.visitor(busy.origin);
      await takePicture(visitor, busy, picture);
      await visitor.page.context().close();
      log(`docs/images/${picture.name}.png`);
    }
    return;
  }
  const scenes = await scenesOf(busy);
  const chosen = scenes.filter(isWanted);
  for (const [done, scene] of chosen.entries()) {
    const visitor = await chromium.visitor(busy.origin);
    const failed = await take(visitor, busy, scene, given.to).then(
      () => '',
      (error: Error) => `: ${error.message.split('\n')[0]}`,
    );
    await visitor.page.context().close();
    log(`${done + 1}/${chosen.length} ${scene.name}${failed}`);
    const isMeantToFail = scene.prepare !== undefined || scene.act !== undefined;
    for (const problem of isMeantToFail ? [] : new Set(visitor.problems)) log(`     ${problem}`);
  }
  log(`The pictures are in ${given.to}`);
});
