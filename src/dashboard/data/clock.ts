/**
 * The only clock and the only timers of the dashboard. Time is the server's: every answer has a
 * `Date` header, and each narrows what the difference to the browser's clock can be. A browser that
 * is an hour ahead shows the same ages as one that is right.
 */
import { signal } from '@preact/signals';

/** Time and timers, handed in where something is decided by them. */
export interface Clock {
  /** The server's time, Unix ms. Before the first answer the browser's. */
  now(): number;
  /** Calls once after a time; the result cancels it. */
  wakeAfter(ms: number, call: () => void): () => void;
}

/** An answer's `Date` header, and when the browser sent the request and had the answer. */
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

/** The header has whole seconds and says the second that has begun. */
const DATE_STEP_MS = 1_000;

/**
 * Narrows the bounds by one answer. When nothing is common to both, a clock was set: then the
 * answer alone counts.
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

/** The browser's clock and timers, set right by the server's answers. */
export const serverClock: Clock = {
  now: () => browserMs() + offsetMs(),
  wakeAfter(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

/** The browser's own clock, Unix ms: only to measure how long a request took. */
export function browserMs(): number {
  return Date.now();
}

/** Learns from an answer's `Date` header; an answer without one teaches nothing. */
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

/** The server's time, Unix ms, once a second while something on the page reads it. */
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
