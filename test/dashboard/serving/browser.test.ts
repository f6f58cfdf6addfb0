/**
 * The dashboard in Chromium, from the banner's link on: the service is started as a person starts it
 * in a terminal. Nothing may be refused by the policy, fail in the console or leave the origin.
 */
import t from 'tap';
import { buildDashboard, isCurrent } from '../../../scripts/build-dashboard.mjs';
import { startChromium, type Visitor } from '../../support/chromium.ts';
import { needs } from '../../support/components.ts';
import { dataFolder } from '../../support/program.ts';
import { startProgramOnTerminal } from '../../support/program-on-terminal.ts';

t.test('DASH-01: the banner’s link leads to the pages', needs('chromium', 'script'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const chromium = await startChromium(t);
  const service = await startProgramOnTerminal(t, dataFolder(t));
  const { origin, signInUrl } = service;
  const { page, problems, requested }: Visitor = await chromium.visitor(origin);
  const clean = (t: { same(a: unknown, b: unknown): unknown }) => t.same(problems, []);
  const path = () => new URL(page.url()).pathname;

  await t.test('the banner shows the link, once on a terminal', async (t) => {
    t.equal(service.shown().split(signInUrl).length, 2);
    t.match(service.shown(), /dashboard and API on http:\/\/127\.0\.0\.1:\d+/);
  });

  await t.test('link, button, and the one project is there', async (t) => {
    await page.goto(signInUrl);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(`${origin}/projects/demo`);
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    t.equal(await page.title(), 'Overview · svc');
    t.notOk(
      requested.some((address) => address.includes('svc_link')),
      'no secret in an address',
    );
    clean(t);
  });

  await t.test(
    'the navigation has what an owner may open, and follows without a reload',
    async (t) => {
      const links = await page.getByRole('navigation').getByRole('link').allTextContents();
      t.ok(links.includes('Incidents') && links.includes('State machines'), links.join());
      const documents = requested.filter((address) => !/^\/(assets|svc)/.test(address)).length;
      await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
      await page.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor();
      t.equal(path(), '/projects/demo/deliveries');
      t.equal(await page.evaluate('document.activeElement.id'), 'main', 'the focus goes along');
      await page.goBack();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      t.equal(path(), '/projects/demo');
      const after = requested.filter((address) => !/^\/(assets|svc)/.test(address)).length;
      t.equal(after, documents, 'no document was asked for again');
      clean(t);
    },
  );

  await t.test('the first key leads past the navigation', async (t) => {
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.keyboard.press('Tab');
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content');
    await page.keyboard.press('Enter');
    t.equal(await page.evaluate('document.activeElement.id'), 'main');
    clean(t);
  });

  await t.test('the header is seen before the scripts have come, and stays in place', async (t) => {
    const scripts = Promise.withResolvers<void>();
    const main = /\/assets\/main-/;
    await page.route(main, async (route) => {
      await scripts.promise;
      await route.continue();
    });
    await page.reload({ waitUntil: 'commit' });
    const header = page.locator('header.header');
    await header.getByRole('link', { name: 'svc' }).waitFor();
    await page.waitForFunction(
      'getComputedStyle(document.querySelector("header")).display === "flex"',
    );
    const before = await header.boundingBox();
    t.equal(await page.getByRole('heading', { level: 1 }).count(), 0);
    scripts.resolve();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    t.same(await header.boundingBox(), before);
    t.equal(await header.count(), 1);
    await page.unroute(main);
    clean(t);
  });

  await t.test('the theme is chosen, kept, and there before anything is painted', async (t) => {
    const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    await page.getByLabel('Theme').selectOption('dark');
    const dark = await background();
    await page.reload();
    t.equal(await background(), dark);
    await page.getByLabel('Theme').selectOption('light');
    t.not(await background(), dark);
    await page.getByLabel('Theme').selectOption('system');
    await page.emulateMedia({ colorScheme: 'dark' });
    t.equal(await background(), dark);
    clean(t);
  });

  await t.test('on a phone nothing is wider than the screen', async (t) => {
    await page.setViewportSize({ width: 360, height: 740 });
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
    clean(t);
  });

  await t.test('a path that is no page stays nothing, and the service says so', async (t) => {
    const answer = await page.goto('/projects/demo/nothing');
    t.equal(answer?.status(), 404);
    t.same(
      problems.filter((problem) => !problem.includes('404')),
      [],
    );
  });

  await t.test('who signed out is asked to sign in, by localhost too', async (t) => {
    const other = await chromium.visitor(origin);
    const address = origin.replace('127.0.0.1', 'localhost');
    await other.page.goto(`${address}/projects/demo/incidents/01K?step=3`);
    const asked = new URL(other.page.url());
    t.equal(asked.origin, origin);
    t.equal(asked.pathname, '/auth/sign-in');
    t.equal(asked.searchParams.get('return'), '/projects/demo/incidents/01K?step=3');
    t.same(
      other.problems.filter((problem) => !problem.startsWith('asked another origin')),
      [],
    );
  });
});
