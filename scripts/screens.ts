/**
 * `npm run screens [-- --to FOLDER] [--page NAME…] [--readme]`: pictures of every page of the dashboard and of
 * the states of its data, light and dark, 360 and 1280 px wide, for a person to judge. The service
 * and the project in it are real, see test/support/busy-project. It asserts nothing, but reports what
 * went wrong in the browser. `--readme` takes the picture of the README alone.
 */
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { withScope } from '../bench/support/scope.ts';
import { type BusyProject, startBusyProject } from '../test/support/busy-project/busy-project.ts';
import { exampleOfEachPage } from '../test/support/busy-project/examples.ts';
import type { Person } from '../test/support/busy-project/people.ts';
import { vmId } from '../test/support/busy-project/readings.ts';
import { showsItsData } from '../test/support/busy-project/shown.ts';
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

/** A picture to take: its name, and how a browser comes to what it shows. */
interface Scene {
  readonly name: string;
  readonly path: string;
  readonly person: Person;
  /** Before the page is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
  /** After it, in place of waiting for its data. */
  readonly act?: (page: Page) => Promise<unknown>;
}

const RPC = '**/svc.monitoring.v1.*/**';

/** Each page with its data, then what it shows when they are few, late, refused or away. */
async function scenesOf(busy: BusyProject): Promise<Scene[]> {
  const { owner, viewer, name: project } = busy;
  const examples = await exampleOfEachPage(busy);
  const vm = (n: number): string => `/${project}/vms/${vmId(n)}`;
  const lists = examples.filter(({ path }) => /^\/projects\/demo(\/[a-zA-Z]+)?$/.test(path));
  const pages = examples.map(({ page, path }) => ({ name: page, path, person: owner }));
  const empty = lists.map(({ page, path }) => ({
    ...{ name: `${page}-empty`, person: owner },
    path: path.replace(`/${project}`, `/${busy.empty}`),
  }));
  const missing = examples
    .filter(({ path }) => path.split('/').length === 5)
    .map(({ page, path }) => ({
      ...{ name: `${page}-missing`, person: owner },
      path: path.replace(/[^/]+$/, '00000000-0000-4000-8000-000000000000'),
    }));
  const asViewer = examples
    .filter(({ role }) => role === 'VIEWER')
    .map(({ page, path }) => ({ name: `${page}-viewer`, path, person: viewer }));
  return [
    ...pages,
    { name: 'vm-gap', path: vm(40), person: owner },
    { name: 'vm-stale', path: vm(30), person: owner },
    { name: 'vm-stopped', path: vm(70), person: owner },
    { name: 'vm-token', path: vm(51), person: owner },
    { name: 'vm-off', path: vm(80), person: owner },
    { name: 'vm-unavailable', path: vm(60), person: owner },
    ...empty,
    ...missing,
    ...asViewer,
    ...lists.slice(0, 3).flatMap(({ page, path }): Scene[] => [
      {
        ...{ name: `${page}-loading`, path, person: owner },
        prepare: (browser) => browser.route(RPC, () => {}),
        act: (browser) => browser.waitForTimeout(600),
      },
      {
        ...{ name: `${page}-failed`, path, person: owner },
        prepare: (browser) => browser.route(RPC, (route) => route.fulfill(FAILED)),
        act: (browser) => browser.waitForTimeout(600),
      },
      {
        ...{ name: `${page}-away`, path, person: owner },
        async act(browser) {
          await showsItsData(browser);
          await browser.context().setOffline(true);
          await browser.getByText('Not connected').first().waitFor({ timeout: 40_000 });
        },
      },
    ]),
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

/** The picture of the README: the incident page, as wide as it is shown there. */
async function takeForReadme({ page }: Visitor, scene: Scene): Promise<void> {
  const path = fileURLToPath(new URL('../docs/images/incident.png', import.meta.url));
  await page.context().addCookies([{ ...scene.person.cookie, url: new URL(scene.path).origin }]);
  await page.setViewportSize({ width: 1080, height: 1080 });
  await page.goto(scene.path);
  await showsItsData(page);
  await page.screenshot({ path });
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
  // As collectors do, so that nothing becomes stale meanwhile.
  const reports = setInterval(
    () => void busy.report().catch((error) => log(String(error))),
    30_000,
  );
  scope.teardown(() => clearInterval(reports));
  const scenes = await scenesOf(busy);
  if (given.readme) {
    const incident = scenes.find(({ name }) => name === 'incident');
    if (!incident) throw new Error('There is no page of an incident');
    const path = busy.origin + incident.path;
    return takeForReadme(await chromium.visitor(busy.origin), { ...incident, path });
  }
  const wanted = given.page;
  const chosen = scenes.filter(({ name }) => !wanted || wanted.some((one) => name.startsWith(one)));
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
  log(`Pictures are in ${given.to}`);
});
