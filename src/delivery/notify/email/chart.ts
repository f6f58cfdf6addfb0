/**
 * A chart of the observations that decided an incident, and its description in words. A gap is a
 * grey band, because a line across it would claim readings that were never made.
 */

import { crc32, deflateSync } from 'node:zlib';
import { exactQuantity, readingBeside } from '../../../../streams/alerting/quantity.ts';
import { utcTime } from '../../../../streams/alerting/wording.ts';
import type { ObservedValue } from '../../../../streams/telemetry/entry.ts';
import type { WindowFacts } from '../message/message.ts';

/** Size in the mail. The picture has twice as many pixels, for dense screens. */
export const CHART_SHOWN = { width: 560, height: 140 } as const;
const WIDTH = CHART_SHOWN.width * 2;
const HEIGHT = CHART_SHOWN.height * 2;
const MARGIN = 12;
/** Margin above and below the values, as a ratio of their range. */
const HEADROOM = 0.1;
/** A distance of this many usual intervals is a gap, as the gap tolerance is three intervals. */
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

/** Returns a PNG. */
export function drawChart(facts: WindowFacts): Uint8Array {
  return pictureOf(facts).encode(PALETTE);
}

/** The chart before encoding. */
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

/** Maps an observation to pixels, counted from the upper left. */
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

/**
 * Neighbours with a gap between them. The median is the usual distance, because long windows are
 * thinned.
 */
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

/** The chart in a sentence, for readers who cannot see pictures. */
export function chartInWords({ window, threshold, unit }: WindowFacts): string {
  const values = window.map(({ value }) => value);
  const reading = (value: number) => readingBeside(value, threshold, unit);
  const gaps = gapsOf(window).length;
  const first = utcTime(window[0]?.observedMs ?? 0);
  const last = utcTime(window.at(-1)?.observedMs ?? 0);
  const observations = `${window.length} ${window.length === 1 ? 'observation' : 'observations'}`;
  const inGaps = gaps === 0 ? '' : `, with ${gaps} ${gaps === 1 ? 'gap' : 'gaps'}`;
  return (
    `${observations} from ${first} to ${last}${inGaps}: lowest ` +
    `${reading(Math.min(...values))}, highest ${reading(Math.max(...values))}, ` +
    `threshold ${exactQuantity(threshold, unit)}.`
  );
}

// A PNG encoder for pictures of four colours (W3C PNG specification, third edition). Mail clients
// drop inline SVG and block remote pictures, but all of them show a small attached PNG.

/** Index into the palette of the drawing. */
export type Colour = 0 | 1 | 2 | 3;
type Rgb = readonly [red: number, green: number, blue: number];

/** Pixels of four colours, row by row. Anything outside the picture is clipped. */
export class Picture {
  readonly width: number;
  readonly height: number;
  readonly #pixels: Uint8Array;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.#pixels = new Uint8Array(width * height);
  }

  /** Fills a rectangle, both corners included. */
  fill(from: readonly [number, number], to: readonly [number, number], colour: Colour): void {
    const [x0, y0] = [clip(from[0], this.width), clip(from[1], this.height)];
    const [x1, y1] = [clip(to[0], this.width), clip(to[1], this.height)];
    for (let y = y0; y <= y1; y++) {
      this.#pixels.fill(colour, y * this.width + x0, y * this.width + x1 + 1);
    }
  }

  /**
   * Draws a line three pixels wide, column by column, so that steep lines cost no more than flat
   * ones.
   */
  line(from: readonly [number, number], to: readonly [number, number], colour: Colour): void {
    const [[x0, y0], [x1, y1]] = from[0] <= to[0] ? [from, to] : [to, from];
    const slope = x1 === x0 ? 0 : (y1 - y0) / (x1 - x0);
    for (let x = Math.round(x0); x <= Math.round(x1); x++) {
      const enter = clamp(y0 + slope * (x - 0.5 - x0), y0, y1);
      const leave = x1 === x0 ? y1 : clamp(y0 + slope * (x + 0.5 - x0), y0, y1);
      this.fill([x - 1, Math.min(enter, leave) - 1], [x + 1, Math.max(enter, leave) + 1], colour);
    }
  }

  dot([x, y]: readonly [number, number], reach: number, colour: Colour): void {
    this.fill([x - reach, y - reach], [x + reach, y + reach], colour);
  }

  at(x: number, y: number): Colour {
    return (this.#pixels[y * this.width + x] ?? 0) as Colour;
  }

  /** Returns the bytes of the file. */
  encode(palette: readonly [Rgb, Rgb, Rgb, Rgb]): Uint8Array {
    const header = Buffer.alloc(13);
    header.writeUInt32BE(this.width, 0);
    header.writeUInt32BE(this.height, 4);
    // Bit depth 2, colour type 3 (palette); compression, filter and interlace methods are 0.
    header.set([2, 3, 0, 0, 0], 8);
    return Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      chunk('IHDR', header),
      chunk('PLTE', Buffer.from(palette.flat())),
      chunk('IDAT', deflateSync(this.#scanlines())),
      chunk('IEND', Buffer.alloc(0)),
    ]);
  }

  /**
   * Each row consists of the filter byte 0, then four pixels per byte, the first in the highest
   * bits.
   */
  #scanlines(): Buffer {
    const rowBytes = 1 + Math.ceil(this.width / 4);
    const lines = Buffer.alloc(rowBytes * this.height);
    const pixels = this.#pixels;
    for (let y = 0; y < this.height; y++) {
      let place = y * rowBytes + 1;
      const end = (y + 1) * this.width;
      for (let x = y * this.width; x < end; x += 4, place++) {
        // Rows are whole bytes. Pixels beyond the last column are 0.
        const at = (offset: number) => (x + offset < end ? (pixels[x + offset] ?? 0) : 0);
        lines[place] = (at(0) << 6) | (at(1) << 4) | (at(2) << 2) | at(3);
      }
    }
    return lines;
  }
}

function clamp(value: number, a: number, b: number): number {
  return Math.min(Math.max(a, b), Math.max(Math.min(a, b), value));
}

function clip(value: number, size: number): number {
  return Math.min(size - 1, Math.max(0, Math.round(value)));
}

function chunk(type: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const frame = Buffer.alloc(named.length + 8);
  frame.writeUInt32BE(data.length, 0);
  frame.set(named, 4);
  frame.writeUInt32BE(crc32(named), named.length + 4);
  return frame;
}
