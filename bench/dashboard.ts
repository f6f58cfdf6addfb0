/**
 * Time until the dashboard is usable on a slow phone and a slow connection: Chromium with four
 * times less CPU, 1.6 Mbit/s with 150 ms of delay, an empty cache, over a project of 500 VMs; then
 * on a day of outages, with 9,000 open incidents. Times are from the navigation to the first paint,
 * and until the page shows all of its data and responds to the pointer; medians of a few visits,
 * each with an empty cache.
 */
import { buildDashboard, isCurrent } from '../scripts/build-dashboard.mjs';
import {
  type BusyOptions,
  type BusyProject,
  startBusyProject,
} from '../test/support/busy-project/busy-project.ts';
import { showsItsData } from '../test/support/busy-project/displayed.ts';
import { exampleOfEachPage } from '../test/support/busy-project/examples.ts';
import { startChromium } from '../test/support/chromium.ts';
import { untilOpen } from '../test/support/incidents-to-show.ts';
import { type Scope, withScope } from './support/scope.ts';

const CPU_SLOWDOWN = 4;
/** 1.6 Mbit/s, and the minimum delay of a request. */
const LINE = { bytesPerSecond: 200_000, delayMs: 150 } as const;
/** Visits per page; the first one is right after the start of the service. */
const VISITS = 5;
const AIMS: Readonly<Record<string, string>> = {
  overview: 'paint < 1.0 s, data < 2.5 s',
  vms: 'paint < 1.0 s, data < 2.5 s',
};

/** Runs and prints the tables. */
export async function run(): Promise<void> {
  if (!isCurrent()) await buildDashboard();
  console.table(await withScope((scope) => measurePages(scope, CALM)));
  console.table(await withScope((scope) => measurePages(scope, STORM)));
}

interface Day {
  readonly options: BusyOptions;
  readonly pages: readonly string[];
}

const CALM: Day = { options: {}, pages: ['overview', 'vms', 'vm', 'incidents', 'incident'] };
/** Nineteen further file systems of each VM are full; a few VMs are stopped or silent. */
const STORM: Day = {
  options: { vms: 500, mounts: 20, areMountsFull: true },
  pages: ['overview', 'incidents', 'alertInstances'],
};
const STORM_INCIDENTS = 9_000;

async function measurePages(scope: Scope, { options, pages }: Day) {
  const browser = await startChromium(scope);
  const busy = await startBusyProject(scope, options);
  if (options.areMountsFull) await untilOpen(busy.program, STORM_INCIDENTS);
  const rows = [];
  for (const { page, path } of await exampleOfEachPage(busy)) {
    if (!pages.includes(page)) continue;
    rows.push({ page, ...(await measure(browser, busy, path)), aim: AIMS[page] ?? '' });
  }
  return rows;
}

/** The median of the visits, for each figure. */
async function measure(browser: Browser, busy: BusyProject, path: string) {
  const visits: Visit[] = [];
  for (let i = 0; i < VISITS; i++) visits.push(await visit(browser, busy, path));
  const median = (figure: keyof Visit): number =>
    visits.map((each) => each[figure]).sort((a, b) => a - b)[VISITS >> 1] ?? Number.NaN;
  return {
    'first paint s': (median('paintMs') / 1000).toFixed(2),
    'data s': (median('dataMs') / 1000).toFixed(2),
    requests: median('requests'),
    'KB received': Math.round(median('transferred') / 1024),
  };
}

interface Visit {
  readonly paintMs: number;
  readonly dataMs: number;
  readonly requests: number;
  /** Bytes. */
  readonly transferred: number;
}

type Browser = Awaited<ReturnType<typeof startChromium>>;

async function visit(browser: Browser, busy: BusyProject, path: string): Promise<Visit> {
  const { page, requested } = await browser.visitor(busy.origin);
  await page.context().addCookies([{ ...busy.owner.cookie, url: busy.origin }]);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN });
  await devtools.send('Network.enable');
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LINE.delayMs,
    downloadThroughput: LINE.bytesPerSecond,
    uploadThroughput: LINE.bytesPerSecond,
  });
  await page.goto(path);
  await showsItsData(page);
  const seen = await page.evaluate<Omit<Visit, 'requests'>>(SEEN);
  await page.context().close();
  return { ...seen, requests: requested.length };
}

/** Runs in the page. */
const SEEN = `({
  paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
  dataMs: performance.now(),
  transferred: performance.getEntriesByType('resource')
    .reduce((sum, { transferSize }) => sum + transferSize, 0),
})`;

if (import.meta.main) await run();
