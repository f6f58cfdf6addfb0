/**
 * A chart of the observations that decided an incident, and its description in words. A gap is a
 * grey band: a line across it would claim readings that nobody made.
 */

import { quantity, utcTime } from '../../../../streams/alerting/wording.ts';
import type { ObservedValue } from '../../../../streams/telemetry/entry.ts';
import type { WindowFacts } from '../message/message.ts';
import { type Colour, Picture } from './png.ts';

/** Size in the mail. The picture has twice as many pixels, for dense screens. */
export const CHART_SHOWN = { width: 560, height: 140 } as const;
const WIDTH = CHART_SHOWN.width * 2;
const HEIGHT = CHART_SHOWN.height * 2;
const MARGIN = 12;
/** Room above and below the values, as a ratio of their range. */
const HEADROOM = 0.1;
/** A distance of so many usual intervals is a gap: the gap tolerance is three intervals. */
const GAP_INTERVALS = 3;

const COLOURS = { paper: 0, gap: 1, line: 2, threshold: 3 } as const satisfies Record<
  string,
  Colour
>;
const PALETTE = [
  [255, 255, 255],
  [225, 225, 230],
  [21, 101, 192],
  [198, 40, 40],
] as const;

/** A PNG. */
export function drawChart(facts: WindowFacts): Uint8Array {
  return pictureOf(facts).encode(PALETTE);
}

/** The chart before it is encoded. */
export function pictureOf({ window, threshold }: WindowFacts): Picture {
  const picture = new Picture(WIDTH, HEIGHT);
  const place = scales(window, threshold);
  for (const [before, after] of gapsOf(window)) {
    const [from] = place(before);
    const [to] = place(after);
    picture.fill([from + 4, 0], [to - 4, HEIGHT - 1], COLOURS.gap);
  }
  const [, level] = place({ observedMs: window[0]?.observedMs ?? 0, value: threshold });
  for (let x = 0; x < WIDTH; x += 16) {
    picture.fill([x, level - 1], [x + 9, level + 1], COLOURS.threshold);
  }
  const gaps = new Set(gapsOf(window).map(([, after]) => after));
  for (const [index, each] of window.entries()) {
    const previous = window[index - 1];
    if (previous && !gaps.has(each)) picture.line(place(previous), place(each), COLOURS.line);
    picture.dot(place(each), window.length > 100 ? 2 : 4, COLOURS.line);
  }
  return picture;
}

/** Maps an observation to pixels from the upper left. */
function scales(window: readonly ObservedValue[], threshold: number) {
  const times = window.map(({ observedMs }) => observedMs);
  const levels = [...window.map(({ value }) => value), threshold];
  const [firstMs, lastMs] = [Math.min(...times), Math.max(...times)];
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const headroom = (high - low || Math.abs(high) || 1) * HEADROOM;
  const top = high + headroom;
  const range = top - (low - headroom);
  return ({ observedMs, value }: ObservedValue): [x: number, y: number] => [
    lastMs === firstMs
      ? WIDTH / 2
      : MARGIN + ((WIDTH - 2 * MARGIN) * (observedMs - firstMs)) / (lastMs - firstMs),
    ((top - value) / range) * (HEIGHT - 1),
  ];
}

/** Neighbours with a gap between them. The median is the usual distance: long windows are thinned. */
export function gapsOf(window: readonly ObservedValue[]): [ObservedValue, ObservedValue][] {
  const pairs = window
    .slice(1)
    .map((after, index): [ObservedValue, ObservedValue] => [window[index] ?? after, after]);
  const distances = pairs.map(lengthMs).sort((a, b) => a - b);
  const usualMs = distances[Math.floor((distances.length - 1) / 2)] ?? 0;
  return pairs.filter((pair) => lengthMs(pair) > GAP_INTERVALS * usualMs);
}

function lengthMs([before, after]: readonly [ObservedValue, ObservedValue]): number {
  return after.observedMs - before.observedMs;
}

/** The chart in a sentence, for readers who see no pictures. */
export function chartInWords({ window, threshold, unit }: WindowFacts): string {
  const values = window.map(({ value }) => value);
  const gaps = gapsOf(window).length;
  const first = utcTime(window[0]?.observedMs ?? 0);
  const last = utcTime(window.at(-1)?.observedMs ?? 0);
  const observations = `${window.length} ${window.length === 1 ? 'observation' : 'observations'}`;
  const inGaps = gaps === 0 ? '' : `, with ${gaps} ${gaps === 1 ? 'gap' : 'gaps'} in between`;
  return (
    `${observations} from ${first} to ${last}${inGaps}: lowest ` +
    `${quantity(Math.min(...values), unit)}, highest ${quantity(Math.max(...values), unit)}, ` +
    `threshold ${quantity(threshold, unit)}.`
  );
}
