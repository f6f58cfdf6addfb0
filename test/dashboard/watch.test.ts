/**
 * The watch of incidents across several tabs: one stream, and no change lost when the tab with the
 * stream is closed or falls silent. Locks, channel and stream are functions; time is virtual.
 */
import { test } from 'tap';
import { EnvelopeReader, encodeEnvelope } from '../../src/dashboard/data/envelopes.ts';
import {
  type Incident,
  openWatch,
  SILENCE_MS_MAX,
  type Watch,
  type WatchPorts,
} from '../../src/dashboard/data/watch.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Stream {
  readonly tab: number;
  readonly receive: (names: readonly string[]) => void;
  readonly fail: () => void;
  readonly signal: AbortSignal;
}

interface Tab {
  readonly watch: Watch;
  readonly seen: string[];
  readonly status: () => string;
}

/** A browser: its tabs, their lock, and the open streams. */
class Browser {
  readonly clock = new VirtualClock(0);
  readonly tabs: Tab[] = [];
  readonly opened: Stream[] = [];
  #holder: { readonly lose: () => void } | undefined;
  #queue: (() => void)[] = [];

  get streams(): Stream[] {
    return this.opened.filter(({ signal }) => !signal.aborted);
  }

  /** @param clock of the tab; a separate one stops while the tab is frozen */
  open(clock = this.clock): Tab {
    const number = this.tabs.length;
    const seen: string[] = [];
    let status = '';
    const ports: WatchPorts = {
      clock,
      lock: (options, whileHeld) => this.#lock(options, whileHeld),
      // Like a BroadcastChannel: delivered later, to the listeners of that moment.
      relay: (message) =>
        queueMicrotask(() => {
          for (const [i, tab] of this.tabs.entries()) if (i !== number) tab.watch.receive(message);
        }),
      stream: (signal, receive) =>
        new Promise((_resolve, reject) => {
          const fail = (): void => reject(new Error('broken'));
          signal.addEventListener('abort', fail);
          this.opened.push({
            tab: number,
            signal,
            fail,
            receive: (names) =>
              receive({ incidents: names.map((name) => ({ name }) as unknown as Incident) }),
          });
        }),
    };
    const watch = openWatch(ports, {
      changed: (incidents) => seen.push(...incidents.map(({ name }) => name)),
      listAnew: () => seen.push('list'),
      status: (now) => {
        status = now;
      },
    });
    const tab = { watch, seen, status: () => status };
    this.tabs.push(tab);
    return tab;
  }

  async #lock(
    { steal, signal }: { readonly steal: boolean; readonly signal: AbortSignal },
    whileHeld: (lost: AbortSignal) => Promise<void>,
  ): Promise<void> {
    if (steal) this.#holder?.lose();
    else if (this.#holder) {
      await new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('given up')));
        this.#queue.push(resolve);
      });
    }
    const lost = new AbortController();
    let taken: () => void = () => undefined;
    const theft = new Promise<void>((_resolve, reject) => {
      taken = () => reject(new Error('stolen'));
    });
    const holder = {
      lose: () => {
        lost.abort();
        taken();
      },
    };
    this.#holder = holder;
    try {
      await Promise.race([whileHeld(lost.signal), theft]);
    } finally {
      if (this.#holder === holder) {
        this.#holder = undefined;
        this.#queue.shift()?.();
      }
    }
  }
}

test('tabs of a browser share one stream, and all see each change', async (t) => {
  const browser = new Browser();
  const tabs = Array.from({ length: 8 }, () => browser.open());
  await settle();
  t.equal(browser.streams.length, 1);
  browser.streams[0]?.receive([]);
  browser.streams[0]?.receive(['a', 'b']);
  await settle();
  for (const { seen } of tabs) t.same(seen, ['list', 'a', 'b']);
  for (const { watch } of tabs) watch.stop();
});

test('a tab that joins knows at once whether changes are live', async (t) => {
  const browser = new Browser();
  const first = browser.open();
  await settle();
  const early = browser.open();
  t.equal(early.status(), '', 'no stream is open yet');
  browser.streams[0]?.receive([]);
  await settle();
  const late = browser.open();
  await settle();
  t.equal(late.status(), 'live');
  t.same(late.seen, [], 'it has just listed');
  for (const { watch } of [first, early, late]) watch.stop();
});

test('when the tab with the stream is closed, another one opens it, and all list again', async (t) => {
  const browser = new Browser();
  const [first, second, third] = [browser.open(), browser.open(), browser.open()];
  await settle();
  browser.streams[0]?.receive(['a']);
  await settle();
  first.watch.stop();
  await settle();
  t.equal(browser.streams.length, 1);
  t.not(browser.streams[0]?.tab, 0);
  browser.streams[0]?.receive([]);
  browser.streams[0]?.receive(['b']);
  await settle();
  for (const { seen } of [second, third]) t.same(seen, ['list', 'a', 'list', 'b']);
  for (const { watch } of [second, third]) watch.stop();
});

test('a silent stream is reopened, and all list again', async (t) => {
  const browser = new Browser();
  const tab = browser.open();
  await settle();
  browser.streams[0]?.receive(['a']);
  await settle();
  await browser.clock.advance(SILENCE_MS_MAX - 1);
  t.equal(browser.opened.length, 1);
  await browser.clock.advance(1);
  await settle();
  t.equal(browser.streams.length, 0);
  await browser.clock.advance(1_000);
  await settle();
  t.equal(browser.streams.length, 1);
  browser.streams[0]?.receive(['b']);
  await settle();
  t.same(tab.seen.slice(-2), ['list', 'b']);
  tab.watch.stop();
});

test('a silent holder loses the stream to another tab', async (t) => {
  const browser = new Browser();
  const frozen = browser.open(new VirtualClock(0));
  const tab = browser.open();
  await settle();
  browser.streams[0]?.receive(['a']);
  await settle();
  await browser.clock.advance(SILENCE_MS_MAX - 1);
  browser.streams[0]?.receive([]);
  await settle();
  await browser.clock.advance(SILENCE_MS_MAX - 1);
  await settle();
  t.same(tab.seen, ['list', 'a'], 'a heartbeat resets the silence');
  await browser.clock.advance(1);
  await settle();
  t.same(tab.seen, ['list', 'a', 'list']);
  t.same(
    browser.streams.map((stream) => stream.tab),
    [1],
  );
  for (const { watch } of [frozen, tab]) watch.stop();
});

test('a broken stream is reopened after growing delays', async (t) => {
  const browser = new Browser();
  const tab = browser.open();
  await settle();
  const waits: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    const before = browser.clock.now();
    const opened = browser.opened.length;
    browser.opened.at(-1)?.fail();
    await settle();
    while (browser.opened.length === opened) {
      await browser.clock.advance(1_000);
      await settle();
    }
    waits.push(browser.clock.now() - before);
  }
  t.same(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  tab.watch.stop();
});

test('envelopes are read completely, wherever the network splits them', async (t) => {
  const bytes = [{ a: 1 }, { b: 'ä' }, {}].map((json) => encodeEnvelope(json));
  const all = new Uint8Array(bytes.flatMap((each) => [...each]));
  for (let cut = 1; cut < all.length; cut += 1) {
    const reader = new EnvelopeReader();
    const read = [...reader.read(all.subarray(0, cut)), ...reader.read(all.subarray(cut))];
    t.same(
      read.map(({ json }) => json),
      [{ a: 1 }, { b: 'ä' }, {}],
      `cut after ${cut} bytes`,
    );
  }
});

test('the last envelope of a stream is marked', async (t) => {
  const end = encodeEnvelope({});
  end[0] = 2;
  t.same(new EnvelopeReader().read(end), [{ isEnd: true, json: {} }]);
});
