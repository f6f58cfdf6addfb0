/**
 * The only clock and timers of the dashboard. Time is the server's: every response has a `Date`
 * header, and each narrows the possible offset from the browser's clock. A browser that is an hour
 * ahead shows the same ages as a correct one.
 */
import { signal } from '@preact/signals';

/** Time and timers, injected wherever decisions depend on them. */
export interface Clock {
  /** The server's time, Unix ms; the browser's before the first response. */
  now(): number;
  /** Calls once after a delay, ms; the returned function cancels it. */
  wakeAfter(ms: number, call: () => void): () => void;
}

/**
 * The `Date` header of a response, and when the browser sent the request and received the response.
 */
export interface Sighting {
  readonly dateUnixMs: number;
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** Bounds of the server's clock minus the browser's, ms. */
export interface OffsetBounds {
  readonly least: number;
  readonly most: number;
}

/** Resolution of the header, ms; it is rounded down. */
const DATE_STEP_MS = 1_000;

/**
 * Narrows the bounds by one response. If the intervals do not overlap, a clock was changed, and
 * only the new response counts.
 */
export function narrowOffset(known: OffsetBounds | undefined, seen: Sighting): OffsetBounds {
  const next = {
    least: seen.dateUnixMs - seen.receivedMs,
    most: seen.dateUnixMs + DATE_STEP_MS - seen.sentMs,
  };
  if (known === undefined) return next;
  const least = Math.max(known.least, next.least);
  const most = Math.min(known.most, next.most);
  return least <= most ? { least, most } : next;
}

let offset: OffsetBounds | undefined;

/** The browser's clock and timers, corrected by the server's responses. */
export const serverClock: Clock = {
  now: () => browserMs() + offsetMs(),
  wakeAfter(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** The browser's own clock, Unix ms; only for measuring how long a request took. */
export function browserMs(): number {
  return Date.now();
}

/** Learns from the `Date` header of a response; responses without one are ignored. */
export function learnServerTime(date: string | null, sentMs: number): void {
  if (date === null) return;
  const dateUnixMs = Date.parse(date);
  if (Number.isNaN(dateUnixMs)) return;
  offset = narrowOffset(offset, { dateUnixMs, sentMs, receivedMs: browserMs() });
}

function offsetMs(): number {
  return offset === undefined ? 0 : Math.round((offset.least + offset.most) / 2);
}

let stopTicking: () => void = () => undefined;

/** The server's time, Unix ms, updated every second while something on the page reads it. */
export const nowMs = signal(serverClock.now(), {
  watched() {
    const tick = (): void => {
      nowMs.value = serverClock.now();
      stopTicking = serverClock.wakeAfter(DATE_STEP_MS, tick);
    };
    tick();
  },
  unwatched() {
    stopTicking();
  },
});
