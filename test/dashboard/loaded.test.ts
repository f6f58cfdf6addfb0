/** State of loaded data: live, stale, failed or denied; and which rows a page renders. */
import { test } from 'tap';
import { matchKey } from '../../src/dashboard/components/shortcuts.ts';
import { visibleRows } from '../../src/dashboard/components/visible-rows.ts';
import { type Listing, loadPages } from '../../src/dashboard/data/listing.ts';
import {
  createLoader,
  displayedOf,
  type Load,
  type PollSeconds,
} from '../../src/dashboard/data/loaded.ts';
import { RpcError } from '../../src/dashboard/data/rpc-error.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function errorOf(reason: string, code = 'unknown'): RpcError {
  return new RpcError({ code, reason, message: '' });
}

/** A loader with a virtual clock and a page that can be hidden. */
function loaderOf<T>(load: Load<T>, pollSeconds?: PollSeconds<T>) {
  const clock = new VirtualClock(1_000_000);
  let isVisible = true;
  let onVisible: () => void = () => undefined;
  const visibility = {
    isVisible: () => isVisible,
    onVisible: (call: () => void) => {
      onVisible = call;
      return () => undefined;
    },
  };
  const loader = createLoader(load, pollSeconds, { clock, visibility });
  const show = (now: boolean): void => {
    isVisible = now;
    if (now) onVisible();
  };
  return { loader, clock, show };
}

test('a value that could not be refreshed stays, with its time and the reason', async (t) => {
  let answers = 0;
  const { loader, clock } = loaderOf(async () => {
    answers += 1;
    if (answers === 2) throw errorOf('QUERY_TIMEOUT');
    return answers;
  }, 15);
  const stop = loader.start();
  t.equal(displayedOf(loader.state.value).kind, 'loading');
  await settle();
  t.match(displayedOf(loader.state.value), { kind: 'value', value: 1, stale: undefined });
  await clock.advance(15_000);
  await settle();
  t.match(displayedOf(loader.state.value), {
    kind: 'value',
    value: 1,
    stale: { sinceMs: 1_000_000, error: { reason: 'QUERY_TIMEOUT' } },
  });
  await clock.advance(15_000);
  await settle();
  t.match(displayedOf(loader.state.value), { kind: 'value', value: 3, stale: undefined });
  stop();
});

test('a value is stale while its read is being retried', async (t) => {
  let isAway = false;
  const { loader, clock } = loaderOf(async ({ onRetry }) => {
    if (!isAway) return 'value';
    onRetry(errorOf('NO_CONNECTION'), 1_234_567);
    return await new Promise<string>(() => undefined);
  }, 30);
  const stop = loader.start();
  await settle();
  isAway = true;
  await clock.advance(30_000);
  await settle();
  t.match(displayedOf(loader.state.value), { kind: 'value', stale: { sinceMs: 1_000_000 } });
  t.equal(loader.state.value.retryMs, 1_234_567);
  stop();
});

test('each state without a value has a kind', async (t) => {
  const base = { isLoading: false, retryMs: undefined };
  const had = { ...base, value: 'v', loadedMs: 1 };
  const none = { ...base, value: undefined, loadedMs: undefined };
  const cases = [
    {
      why: 'access lost',
      state: { ...had, error: errorOf('X', 'permission_denied') },
      kind: 'denied',
    },
    { why: 'deleted meanwhile', state: { ...had, error: errorOf('NOT_FOUND') }, kind: 'failed' },
    { why: 'never loaded', state: { ...none, error: errorOf('INTERNAL') }, kind: 'failed' },
    { why: 'loading', state: { ...none, error: undefined, isLoading: true }, kind: 'loading' },
  ];
  for (const { why, state, kind } of cases) t.equal(displayedOf(state).kind, kind, why);
});

test('a hidden page sends no requests, and loads when it becomes visible', async (t) => {
  let requested = 0;
  const { loader, clock, show } = loaderOf(async () => {
    requested += 1;
    return requested;
  }, 15);
  const stop = loader.start();
  await settle();
  show(false);
  await clock.advance(600_000);
  await settle();
  t.equal(requested, 1);
  show(true);
  await settle();
  t.equal(requested, 2);
  stop();
  await clock.advance(600_000);
  await settle();
  t.equal(requested, 2, 'a page that was left sends no requests either');
});

test('the polling interval depends on the last response', async (t) => {
  const answers = ['ENDING', 'OVER', 'OVER'];
  let requested = 0;
  const load = async () => answers[requested++] ?? '';
  const { loader, clock } = loaderOf(load, (value) => (value === 'ENDING' ? 2 : 30));
  const stop = loader.start();
  await settle();
  for (const [afterMs, expected] of [
    [2_000, 2],
    [2_000, 2],
    [28_000, 3],
  ] as const) {
    await clock.advance(afterMs);
    await settle();
    t.equal(requested, expected);
  }
  stop();
});

test('a response that arrives after a newer request is dropped', async (t) => {
  const answers: ((value: string) => void)[] = [];
  const { loader } = loaderOf(() => new Promise<string>((resolve) => answers.push(resolve)));
  const stop = loader.start();
  loader.reload();
  answers[1]?.('newer');
  await settle();
  answers[0]?.('older');
  await settle();
  t.equal(loader.state.value.value, 'newer');
  stop();
});

test('a list continues over short pages until it has enough rows', async (t) => {
  const pages = [
    { items: [], nextPageToken: 'a' },
    { items: [1], nextPageToken: 'b' },
    { items: [2, 3], nextPageToken: 'c' },
    { items: [4], nextPageToken: '' },
  ];
  const requested: string[] = [];
  const loadPage = async (token: string) => {
    requested.push(token);
    return pages[requested.length - 1] ?? { items: [], nextPageToken: '' };
  };
  const first = await loadPages(loadPage, 3);
  t.same(first, { items: [1, 2, 3], nextPageToken: 'c', isSearchStopped: false });
  t.same(requested, ['', 'a', 'b']);
  const all = await loadPages(loadPage, 3, first);
  t.same(all, { items: [1, 2, 3, 4], nextPageToken: '', isSearchStopped: false });
});

test('a list of empty pages stops after ten and can be continued', async (t) => {
  let requested = 0;
  const loadPage = async () => {
    requested += 1;
    return {
      items: requested === 15 ? ['found'] : [],
      nextPageToken: requested < 15 ? 'more' : '',
    };
  };
  const first: Listing<string> = await loadPages(loadPage, 50);
  t.match(first, { items: [], isSearchStopped: true });
  t.equal(requested, 10);
  t.match(await loadPages(loadPage, 50, first), { items: ['found'], isSearchStopped: false });
});

test('only the visible rows of a long table are rendered', async (t) => {
  const view = { rowCount: 10_000, rowPx: 40, screenPx: 800 };
  t.same(visibleRows({ ...view, topPx: -300 }), {
    first: 0,
    end: 23,
    abovePx: 0,
    belowPx: 9_977 * 40,
  });
  t.same(visibleRows({ ...view, topPx: 200_000 }), {
    first: 4_990,
    end: 5_030,
    abovePx: 4_990 * 40,
    belowPx: 4_970 * 40,
  });
  const end = visibleRows({ ...view, topPx: 10_000 * 40 - 800 });
  t.match(end, { end: 10_000, belowPx: 0 });
  t.equal(end.abovePx + (end.end - end.first) * 40, 400_000, 'the height never changes');
  t.match(visibleRows({ ...view, topPx: -9_000 }), { first: 0, end: 10 }, 'below the screen');
  t.match(visibleRows({ ...view, topPx: 900_000 }), { first: 9_990, end: 10_000 }, 'above it');
  t.match(visibleRows({ ...view, rowCount: 100, topPx: 5_000 }), { first: 0, end: 100 });
});

test('keys match alone and in pairs', async (t) => {
  const keys = [{ keys: 'j' }, { keys: 'g i' }, { keys: 'g v' }, { keys: 'j' }];
  t.same(matchKey(keys, undefined, 'j'), { found: 3 }, 'the newest wins');
  t.same(matchKey(keys, undefined, 'g'), { begins: 'g' });
  t.same(matchKey(keys, 'g', 'v'), { found: 2 });
  t.same(matchKey(keys, 'g', 'j'), { found: 3 }, 'an unknown pair: the key counts alone');
  t.equal(matchKey(keys, undefined, 'x'), undefined);
});
