/**
 * Machines, instances and deliveries in Chromium: all states and transitions are drawn, steps move
 * the marks, the saved file is self-contained, ten thousand rows render few elements, and markup
 * stays text.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { type Test, test } from 'tap';
import { machineDefinitions } from '../../../../machines/audit/registry.ts';
import { buildDashboard, isCurrent } from '../../../../scripts/build-dashboard.mjs';
import { chartOf, labelOf, statesIn } from '../../../../src/audit/drawing/chart.ts';
import { type Chromium, startChromium, type Visitor } from '../../../support/chromium.ts';
import { needs } from '../../../support/components.ts';
import {
  saveRule,
  untilFiring,
  untilNamed,
  writeReadings,
} from '../../../support/incidents-to-show.ts';
import {
  dataFolder,
  type Program,
  pagesOf,
  startProgram,
  until,
} from '../../../support/program.ts';

const SETTINGS = {
  SVC_COLLECT: 'none',
  SVC_WEBHOOK_ALLOW: '127.0.0.1/32',
  SVC_WEBHOOK_ALLOW_HTTP: 'on',
};
const MARKUP = '<img src=x onerror=alert(1)><b>bold</b>';
const VMS = 500;
const RULES = 20;

test('DASH-04: machines, instances and deliveries are shown', needs('chromium'), async (t) => {
  if (!isCurrent()) await buildDashboard();
  const chromium = await startChromium(t);
  const program = await startProgram(t, dataFolder(t), SETTINGS);
  const { page, problems } = await signedIn(chromium, program);
  const project = `/${program.demo.projectName}`;

  await t.test('all machines are listed, and drawn when they become visible', async (t) => {
    await page.goto(`${project}/machines`);
    await page.locator('.machine-sketch svg').first().waitFor();
    t.equal(await page.locator('.machine-cards li').count(), machineDefinitions.size);
  });

  await t.test(
    'each machine is drawn with all states and transitions of its definition',
    async (t) => {
      for (const definition of machineDefinitions.values()) {
        const { root, arrows } = chartOf(definition);
        await page.goto(`${project}/machines/${definition.name}`);
        await page.locator('.statechart svg [data-state]').first().waitFor();
        const drawn = await drawnOn(page);
        const states = statesIn(root).slice(1);
        t.same(drawn.states, states.map(({ id }) => id).sort(), definition.name);
        t.same(drawn.events, arrows.map(labelOf).sort(), definition.name);
        const pairs = arrows
          .filter(({ target }) => target)
          .map((one) => `${one.source} ${one.target}`);
        const starts = statesIn(root).filter(({ initial }) => initial !== undefined);
        t.equal(drawn.lines, new Set(pairs).size + starts.length, definition.name);
      }
      t.same(problems, []);
    },
  );

  await t.test('arrow keys move between states and show their meaning', async (t) => {
    await page.goto(`${project}/machines/delivery`);
    await page.locator('[data-state="delivery.queued"]').focus();
    await page.keyboard.press('ArrowDown');
    await page.locator('[data-state="delivery.gathering"]:focus').waitFor();
    await page.locator('.statechart-reached', { hasText: 'memberJoined' }).waitFor();
    t.equal(await page.locator('[data-state][tabindex="0"]').count(), 1, 'one is in the tab order');
    const width = await page.locator('.statechart-frame svg').getAttribute('width');
    await page.setViewportSize({ width: 1900, height: 800 });
    await page.locator(`.statechart-frame svg:not([width="${width}"])`).waitFor();
    const focused = await page.evaluate('document.activeElement.dataset.state');
    t.equal(focused, 'delivery.gathering', 'a drawing of another size keeps the focus');
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  const endpoint = await startRefusing(t);
  const destination = await createWebhook(program, endpoint);
  await saveRule(program, { displayName: 'CPU is busy', destinationNames: [destination] });
  await writeReadings(program, [
    { vm: 'vm-0', displayName: MARKUP, percent: 97, atMs: Date.now() - 20_000 },
  ]);
  await untilFiring(program, 1);
  await untilNamed(program, MARKUP);

  await t.test('stepping marks the earlier states of the instance', async (t) => {
    const name = await firedInstance(program);
    await page.goto(`/${name}`);
    const steps = page.locator('.step-list li button');
    await steps.first().waitFor();
    const path = await pathOf(program, name);
    let passed = 0;
    t.equal(await steps.count(), path.length);
    for (const [i, { toStates }] of path.entries()) {
      await steps.nth(i).click();
      await page.locator(`.step-list li:nth-child(${i + 1}) [aria-current="step"]`).waitFor();
      t.same(await currentOn(page), [...toStates].sort(), `step ${i + 1}`);
      t.ok((await page.locator('.statechart svg .arrow.taken').count()) > 0, 'and an arrow');
      t.same(await coveredTexts(page), [], 'no mark covers a text');
      passed += await page.locator('.passed-tag').count();
    }
    t.ok(passed > 0);
    t.match(page.url(), /[?&]step=/);
    t.equal(await page.locator('h1 b, h1 img').count(), 0, 'markup in the name of a VM is text');
    await page.getByRole('button', { name: 'Recomputed' }).click();
    await page.locator('.statechart.recomputed').waitFor();
    t.same(problems, []);
  });

  await t.test('the saved file is a self-contained SVG', async (t) => {
    // The file is named like the diagram: by ids, until names are loaded.
    await page.getByRole('figure', { name: MARKUP }).first().waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download SVG' }).click(),
    ]);
    t.match(download.suggestedFilename(), /^alertInstance-[\w-]+\.svg$/);
    const text = readFileSync(await download.path(), 'utf8');
    t.notMatch(text, /<style|<script|<foreignObject|<image|<a /);
    t.match(text, /fill="#dbe8fb"/, 'the current state is marked by an attribute');
    const alone = await chromium.visitor('file://');
    const file = join(dataFolder(t), 'drawing.svg');
    await download.saveAs(file);
    await alone.page.goto(pathToFileURL(file).href);
    t.equal(await alone.page.evaluate('document.documentElement.nodeName'), 'svg');
    t.equal(await alone.page.locator('parsererror').count(), 0);
    const attributes = await alone.page.evaluate(
      `[...document.querySelectorAll('*')].flatMap((element) => element.getAttributeNames())`,
    );
    const ofThePage = new Set(attributes as string[]).intersection(
      new Set(['class', 'style', 'id', 'href', 'tabindex', 'onclick', 'onfocus', 'data-state']),
    );
    t.same([...ofThePage], [], 'nothing from the page');
    const title = await alone.page.evaluate('document.querySelector("svg > title").textContent');
    t.ok(String(title).includes(MARKUP), 'markup is text in it too');
  });

  await t.test('on a phone the machine is a tree of states', async (t) => {
    await page.setViewportSize({ width: 360, height: 740 });
    t.notOk(await page.locator('.statechart-frame').isVisible());
    t.ok(await page.locator('.statechart-tree').isVisible());
    t.ok((await page.locator('.statechart-tree [aria-current="true"] > .now-mark').count()) > 0);
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 360);
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('a delivery shows its attempt, its checks, and the response as text', async (t) => {
    const name = await failedDelivery(program);
    await page.goto(`/${name}`);
    const answer = page.locator('.answer pre').first();
    await answer.waitFor();
    t.equal(await answer.innerText(), MARKUP);
    t.equal(await page.locator('main img').count(), 0);
    const attempts = page.locator('.attempts');
    await attempts.locator('summary').first().click();
    t.match(await attempts.innerText(), /The incident is not snoozed/);
    t.match(await attempts.innerText(), /answered 500/);
    await page.locator('[data-state="delivery.waiting"][aria-current="true"]').waitFor();
    await page.goto(`${project}/deliveries?state=WAITING`);
    await page.locator('tr[data-row]').first().waitFor();
    t.same(problems, []);
  });

  await t.test('an instance in the address is always shown as text', async (t) => {
    await page.goto(`${project}/machines/delivery?instance=${encodeURIComponent(MARKUP)}`);
    await page.getByRole('heading', { level: 2, name: MARKUP }).waitFor();
    t.equal(await page.locator('main img, main b').count(), 0);
    t.same(
      problems.filter((problem) => !/400/.test(problem)),
      [],
    );
  });

  await t.test('ten thousand instances render few elements, and all are counted', async (t) => {
    for (let rule = 1; rule < RULES; rule += 1)
      await saveRule(program, { displayName: `Rule ${rule}` });
    const atMs = Date.now();
    const vms = Array.from({ length: VMS }, (_, n) => ({ vm: `vm-${n}`, percent: 20, atMs }));
    await writeReadings(program, vms);
    await until('all instances are evaluated', async () => {
      const { body } = await program.call('monitoring.v1.AlertService/ListAlertInstances', {
        projectName: program.demo.projectName,
        pageSize: 1,
        vmName: `projects/demo/vms/vm-${VMS - 1}`,
      });
      return body.nextPageToken ? true : undefined;
    });
    await page.goto(`${project}/alertInstances`);
    await page.locator('tr[data-row]').first().waitFor();
    await page.locator(`table[aria-rowcount="${VMS * RULES + 1}"]`).waitFor();
    t.ok((await page.locator('*').count()) <= 1_500, `${await page.locator('*').count()} elements`);
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
    await page.locator(`tr[aria-rowindex="${VMS * RULES + 1}"]`).waitFor();
    t.ok((await page.locator('*').count()) <= 1_500, 'at the end too');
  });
});

interface Drawn {
  readonly states: readonly string[];
  readonly events: readonly string[];
  readonly lines: number;
}

/** Texts in the diagram of the page. */
async function drawnOn(page: Page): Promise<Drawn> {
  return await page.evaluate(`(() => {
    const all = (part) => [...document.querySelectorAll('.statechart svg ' + part)];
    return {
      states: all('[data-state]').map((state) => state.dataset.state).sort(),
      events: all('.event').map((event) => event.lastChild.textContent).sort(),
      lines: all('.arrow').length,
    };
  })()`);
}

/** Ids of the innermost states marked as current. */
async function currentOn(page: Page): Promise<string[]> {
  return await page.evaluate(`[...document.querySelectorAll('.statechart svg [aria-current]')]
    .map((state) => state.dataset.state).sort()`);
}

async function signedIn(chromium: Chromium, program: Program): Promise<Visitor> {
  const { signInUrl = '' } = program.demo;
  const visitor = await chromium.visitor(pagesOf(program.demo), {
    viewport: { width: 1280, height: 800 },
  });
  await visitor.page.goto(signInUrl);
  await visitor.page.getByRole('button', { name: 'Sign in' }).click();
  await visitor.page.waitForURL(`${pagesOf(program.demo)}/${program.demo.projectName}`);
  return visitor;
}

/** An endpoint that rejects everything, with markup. */
async function startRefusing(t: Test): Promise<string> {
  const server = createServer((_, response) => response.writeHead(500).end(MARKUP));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

async function createWebhook(program: Program, url: string): Promise<string> {
  const { body } = await program.call('monitoring.v1.AlertService/CreateDestination', {
    projectName: program.demo.projectName,
    requestId: crypto.randomUUID(),
    destination: { displayName: 'On call', webhook: { url } },
  });
  return (body.destination as { name: string }).name;
}

async function firedInstance(program: Program): Promise<string> {
  const { projectName } = program.demo;
  const request = { projectName, states: ['FIRING'] };
  const { body } = await program.call('monitoring.v1.AlertService/ListAlertInstances', request);
  return (body.instances as { name: string }[])[0]?.name ?? '';
}

async function pathOf(program: Program, name: string): Promise<{ toStates: string[] }[]> {
  const { body } = await program.call('monitoring.v1.AlertService/GetAlertInstance', { name });
  return body.path as { toStates: string[] }[];
}

function failedDelivery(program: Program): Promise<string> {
  return until('an attempt has failed', async () => {
    const request = { projectName: program.demo.projectName, states: ['WAITING'] };
    const { body } = await program.call('monitoring.v1.AlertService/ListDeliveries', request);
    return (body.deliveries as { name: string }[] | undefined)?.[0]?.name;
  });
}

/** Texts of the drawing that a mark of a state overlaps. */
function coveredTexts(page: Page): Promise<unknown> {
  return page.evaluate(`(() => {
    const svg = document.querySelector('.statechart-frame svg');
    const boxOf = (element) => element.getBoundingClientRect();
    const marks = [...svg.querySelectorAll('.passed-tag, .tick, .now-tag rect')];
    const texts = [...svg.querySelectorAll('text')].filter((text) => !text.closest('.now-tag'));
    const overlap = (a, b) =>
      a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return texts
      .filter((text) => marks.some((mark) => overlap(boxOf(mark), boxOf(text))))
      .map((text) => text.textContent);
  })()`);
}
