/**
 * The dashboard in Chromium, starting from the link in the banner: the service is started as by a
 * user in a terminal. First what all pages share, then the pages of VMs, the project and the
 * account: the first minute of a user, absent readings, and turning expanded monitoring on and off.
 * Nothing may violate the policy, fail in the console or leave the origin.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { buildDashboard, isCurrent } from '../../../scripts/build-dashboard.mjs';
import { startChromium } from '../../support/chromium.ts';
import { needs } from '../../support/components.ts';
import { MARKUP, writeVms } from '../../support/dashboard-vms.ts';
import { type Demo, dataFolder, until } from '../../support/program.ts';
import { startProgramOnTerminal } from '../../support/program-on-terminal.ts';
import { walk } from '../../support/walk.ts';

const VMS = 501;
const HOUR_MS = 3_600_000;

test('DASH-01: the banner’s link leads to the pages', needs('chromium', 'script'), async (t) => {
  t.setTimeout(840_000);
  if (!isCurrent()) await buildDashboard();
  const folder = dataFolder(t);
  const [chromium, service] = await Promise.all([
    startChromium(t),
    startProgramOnTerminal(t, folder),
  ]);
  const { origin, signInUrl } = service;
  const first = await chromium.visitor(origin);
  await t.test('the frame of every page', async (t) => {
    const { page, problems, requested } = first;
    const clean = (t: Test) => t.same(problems, []);
    const path = () => new URL(page.url()).pathname;

    await t.test('the banner shows the link, once on a terminal', async (t) => {
      t.equal(service.displayed().split(signInUrl).length, 2);
      t.match(service.displayed(), /dashboard and API on http:\/\/127\.0\.0\.1:\d+/);
    });

    await t.test('the link and the button lead to the only project', async (t) => {
      await page.goto(signInUrl);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL(`${origin}/projects/demo`);
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      t.equal(await page.title(), 'Overview · svc');
      t.notOk(
        requested.some((address) => address.includes('svc_link')),
        'no secret in any address',
      );
      clean(t);
    });

    await t.test(
      'the navigation shows what an owner may open, and updates without a reload',
      async (t) => {
        const links = await page.getByRole('navigation').getByRole('link').allTextContents();
        t.ok(links.includes('Incidents') && links.includes('State machines'), links.join());
        const documents = requested.filter((address) => !/^\/(assets|svc)/.test(address)).length;
        await page.getByRole('link', { name: 'Deliveries', exact: true }).click();
        await page.getByRole('heading', { level: 1, name: 'Deliveries' }).waitFor();
        t.equal(path(), '/projects/demo/deliveries');
        t.equal(await page.evaluate('document.activeElement.id'), 'main', 'the focus moves too');
        await page.goBack();
        await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
        t.equal(path(), '/projects/demo');
        const after = requested.filter((address) => !/^\/(assets|svc)/.test(address)).length;
        t.equal(after, documents, 'no document was requested again');
        clean(t);
      },
    );

    await t.test('the first Tab skips the navigation', async (t) => {
      await page.reload();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      await page.keyboard.press('Tab');
      t.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to content');
      await page.keyboard.press('Enter');
      t.equal(await page.evaluate('document.activeElement.id'), 'main');
      clean(t);
    });

    await t.test('the header is visible before the scripts load, and stays in place', async (t) => {
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

    await t.test('the theme is stored and applied before the first paint', async (t) => {
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

    await t.test('an unknown path is reported by the service', async (t) => {
      const answer = await page.goto('/projects/demo/nothing');
      t.equal(answer?.status(), 404);
      t.same(
        problems.filter((problem) => !problem.includes('404')),
        [],
      );
    });

    await t.test('a signed-out user gets a request to sign in, also on localhost', async (t) => {
      const other = await chromium.visitor(origin);
      const address = origin.replace(/svc-\w+\./, '');
      await other.page.goto(`${address}/projects/demo/incidents/01K?step=3`);
      const requested = new URL(other.page.url());
      t.equal(requested.origin, origin);
      t.equal(requested.pathname, '/auth/sign-in');
      t.equal(requested.searchParams.get('return'), '/projects/demo/incidents/01K?step=3');
      t.same(
        other.problems.filter((problem) => !problem.startsWith('asked another origin')),
        [],
      );
    });
  });
  const visitor = await chromium.visitor(origin, {
    timezoneId: 'Asia/Kolkata',
    storageState: await first.page.context().storageState(),
  });
  const { page, problems } = visitor;
  const main = page.getByRole('main');
  const text = async (): Promise<string> => (await main.innerText()).replace(/\s+/g, ' ');
  const open = async (path: string, heading: string): Promise<void> => {
    await page.goto(path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
  };
  const axe = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
  const violations = (): Promise<unknown> =>
    page.evaluate(
      `(() => { const module = undefined, define = undefined; ${axe} })();
       axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))`,
    );

  await t.test(
    'the overview shows this host, its memory, and its CPU or when it is due',
    async (t) => {
      await page.goto('/projects/demo');
      const row = main.getByRole('table', { name: 'VMs' }).getByRole('row').nth(1);
      await row.getByText(/^\d[\d.]* [KMG]iB$/).waitFor();
      t.match(await row.innerText(), /with the second reading, (in \d+ s|any moment now)|\d %/);
      const steps = main.locator('.steps > li');
      await steps.first().waitFor();
      t.equal(await steps.count(), 5);
      t.match(await steps.first().innerText(), /Done\s+Monitor a VM/);
      t.match(await steps.nth(1).innerText(), /To do\s+Save an alert rule/);
      t.same(await violations(), []);
      t.same(problems, []);
    },
  );

  const demo = JSON.parse(readFileSync(join(folder, 'demo.json'), 'utf8')) as Demo;
  await writeVms(demo, Date.now(), VMS - 5);

  await t.test(
    'DASH-07: a list of 500 VMs counts all and renders those on screen, and search finds one',
    async (t) => {
      await open('/projects/demo/vms?sort=-cpu', 'VMs');
      const table = main.getByRole('table', { name: 'VMs' });
      await table.getByRole('row').nth(20).waitFor();
      t.equal(await table.getAttribute('aria-rowcount'), `${VMS + 1}`);
      t.ok(Number(await page.evaluate('document.querySelectorAll("*").length')) <= 1_500);
      await page.keyboard.press('/');
      await page.keyboard.type('machine 49');
      await page.waitForURL(/search=machine/);
      await main.getByText('7 in total').waitFor();
      t.equal(await table.getAttribute('aria-rowcount'), '8');
      await page.goto('/projects/demo/vms?state=STOPPED');
      await main.getByText('No VMs match these filters').waitFor();
      t.same(problems, []);
    },
  );

  await t.test('on a phone the sort order is above, and a row is a link', async (t) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await open('/projects/demo/vms', 'VMs');
    await main.getByLabel('Sort by').selectOption('CPU');
    await page.waitForURL(/sort=-cpu/);
    await main.getByRole('button', { name: 'Reverse the order' }).click();
    await page.waitForURL(/sort=cpu/);
    await main
      .getByRole('row')
      .first()
      .click({ position: { x: 250, y: 60 } });
    await page.waitForURL(/\/vms\/[^?]+$/);
    await page.setViewportSize({ width: 1280, height: 800 });
    t.same(problems, []);
  });

  await t.test('DASH-03: markup in a VM’s name stays text', async (t) => {
    await open('/projects/demo/vms?search=markup', 'VMs');
    await main.getByRole('link', { name: MARKUP }).click();
    await page.getByRole('heading', { level: 1, name: MARKUP }).waitFor();
    await until('the title', async () => (await page.title()).includes(MARKUP) || undefined);
    t.equal(await main.locator('img').count(), 0);
    t.same(problems, []);
  });

  await t.test(
    'DASH-06: a gap is named with its reason, and a lone reading is in the table',
    async (t) => {
      const nowUnix = Math.floor(Date.now() / 1_000);
      const range = `from=${nowUnix - 45 * 60}&to=${nowUnix - 15 * 60}`;
      await open(`/projects/demo/vms/gap-vm?${range}`, 'Gap');
      const memory = main.locator('figure', { hasText: 'Memory used' }).first();
      await memory.locator('canvas').waitFor();
      t.equal(await memory.locator('.gaps li').count(), 2, 'before the lone reading, and after it');
      t.match(
        await memory.innerText(),
        /No reading (?:\w+ \d+, )?[\d:]+ \S+ to (?:\w+ \d+, )?[\d:]+ \S+: its source sent no samples/,
      );
      await memory.getByRole('button', { name: 'Show as table' }).click();
      const values = await memory.locator('tbody td.right').allInnerTexts();
      // Newest first: fifteen minutes before the lone reading, seven of them observed.
      const [from, to] = [values.indexOf('no reading'), values.lastIndexOf('no reading')];
      const inside = values.slice(from, to);
      t.ok(inside.length > 25, 'half of the half hour');
      t.equal(inside.filter((value) => value !== 'no reading').length, 1, inside.join());
      t.notOk(values.some((value) => value === '0 B'));
      t.match(await text(), /Limitation: Guest-visible capacity minus free memory/);
      t.match(await text(), /No readings in this range: Disk, written/);
      t.same(await violations(), []);
      t.same(problems, []);
    },
  );

  await t.test('MEAS-11: missing readings are listed with the next step', async (t) => {
    await open('/projects/demo/vms/unpolled-vm', 'Not polled');
    await main.getByText(/virsh dommemstat VM --period 10/).waitFor();
    t.match(
      await text(),
      /Memory used \(libvirt has never received memory figures from the guest\)/,
    );
    t.notMatch(await text(), /the guest does not report this metric\); Memory/);
    t.same(await violations(), []);
    t.same(problems, []);
  });

  await t.test('DASH-06: a silent VM never looks live', async (t) => {
    await open('/projects/demo/vms/stale-vm', 'Silent');
    await main.getByText(/Stale: last observed 2\d min ago/).waitFor();
    t.match(await text(), /State Unknown last seen running, 2\d min ago/);
    t.match(await text(), /CPU no reading Memory no reading/);
    await main.locator('figure').first().waitFor();
    t.match(await main.locator('figure').first().innerText(), /no reading .*Last reading 1?\d/);
    await open('/projects/demo/vms?state=UNKNOWN&search=stale', 'VMs');
    await main.getByText(/last seen running, 2\d min ago/).waitFor();
    t.match(await text(), '1 in total', 'MEAS-10: the filter finds it as unknown');
    await open('/projects/demo/vms?state=RUNNING&search=stale', 'VMs');
    await main.getByText('No VMs match these filters').waitFor();
    t.same(problems, []);
  });

  await t.test(
    'the range is in the address, and a coarse step is labelled as an average',
    async (t) => {
      await open('/projects/demo/vms/gap-vm', 'Gap');
      await main.getByRole('button', { name: '24 h' }).click();
      await page.waitForURL(/range=24h/);
      await main.getByText('Average of 5 min, with minimum and maximum').first().waitFor();
      t.equal(
        await main.getByRole('button', { name: '24 h' }).getAttribute('aria-pressed'),
        'true',
      );
      t.same(problems, []);
    },
  );

  await t.test('DASH-06: a browser clock an hour ahead shows the same ages', async (t) => {
    const other = await chromium.visitor(origin, {
      storageState: await page.context().storageState(),
    });
    await other.page.clock.install({ time: Date.now() + HOUR_MS });
    await other.page.goto('/projects/demo/vms/stale-vm');
    await other.page.getByText(/Stale: last observed 2\d min ago/).waitFor();
    const first = other.page.locator('figure').first();
    await first.locator('canvas').waitFor();
    t.match(
      await first.innerText(),
      /Last reading/,
      "the range ends at the service's time, not in an hour",
    );
    t.same(other.problems, []);
  });

  await walk(
    t,
    'DASH-08: an editor enrols a VM for expanded monitoring and ends it',
    visitor,
    async (t) => {
      await open('/projects/demo/vms/gap-vm', 'Gap');
      // The charts above push the panel down while they load, so a click may miss it.
      await main.getByText('Filesystems, size').waitFor();
      const panel = main.getByRole('region', { name: 'Expanded monitoring' });
      await panel.getByRole('button', { name: 'Turn on' }).click();
      const secret = panel.getByRole('region', { name: 'Agent token' });
      await secret.getByRole('button', { name: 'Show' }).click();
      const token = await secret.locator('output').innerText();
      t.ok(token.length > 20);
      t.match(await panel.innerText(), /agent/);
      await secret.getByRole('button', { name: 'I have stored it' }).click();
      await panel.getByText(/Token valid until/).waitFor();
      const kept = await page.evaluate(
        'JSON.stringify([{ ...localStorage }, { ...sessionStorage }])',
      );
      t.notOk(`${kept}${page.url()}${await page.content()}`.includes(token));
      await panel.getByRole('button', { name: 'Revoke the token' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Turn off' }).click();
      await panel.getByRole('button', { name: 'Turn on' }).waitFor();
    },
  );

  await t.test('the account page shows the user and switches to UTC', async (t) => {
    await open('/account', 'Account');
    await main.locator('dl').getByText('a one-time link').waitFor();
    await main.getByLabel('Times').selectOption('utc');
    t.match(await text(), /It is now [\d:]+ UTC/);
    t.same(await violations(), []);
    t.same(problems, []);
  });

  await walk(t, 'DASH-23: a user signs out everywhere', visitor, async () => {
    await main.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.waitForURL(/\/auth\/sign-in/);
  });
});
