/**
 * The values of a row on the wire, read by layout: a sender repeats the same series with the same
 * labels in every row, so that comparing the bytes around the numbers is enough to know them, and
 * all rows of one layout share one list of series.
 *
 *   Value  0x42 length · [series · labels: the prefix, compared as bytes] · [0x19 double]
 */
import { Buffer } from 'node:buffer';
import { Refusal } from '../../../streams/platform/refusal.ts';
import type { SeriesKey } from '../../../streams/telemetry/samples/batch.ts';
import { seriesOf } from './ingest.ts';
import { NotPlain, type WireReader } from './wire-reader.ts';

/** Series of a row, and their bytes. */
export interface RowLayout {
  readonly series: readonly SeriesKey[];
  /** Prefixes of all values, one after another. */
  readonly prefixes: Buffer;
  /** Where each value's prefix ends in `prefixes`. */
  readonly prefixEnds: readonly number[];
  /** As many numbers as there are values, to be copied: cheaper than an array that grows. */
  readonly blank: readonly number[];
}

/** Tag of `Row.values`. */
export const VALUES_TAG = 0x42;
const SERIES_TAG = 0x0a;
const LABELS_TAG = 0x12;
const VALUE_TAG = 0x19;
/** Tag and double. */
const NUMBER_BYTES = 9;

/**
 * The numbers of a row whose values begin at `from` (the first one's tag), as long as they match
 * `layout`; undefined otherwise. Proto3 leaves a zero out, so that a value may be its prefix alone.
 */
export function readValues(
  wire: WireReader,
  { prefixes, prefixEnds, blank }: RowLayout,
  limit: number,
): number[] | undefined {
  const { bytes } = wire;
  const values = blank.slice();
  let prefixAt = 0;
  for (let i = 0; i < prefixEnds.length; i++) {
    if (wire.at >= limit || bytes[wire.at] !== VALUES_TAG) return undefined;
    wire.at++;
    const end = wire.end(limit);
    const prefixEnd = prefixEnds[i] as number;
    const numberAt = wire.at + prefixEnd - prefixAt;
    if (end !== numberAt && (end !== numberAt + NUMBER_BYTES || bytes[numberAt] !== VALUE_TAG)) {
      return undefined;
    }
    for (let at = wire.at; at < numberAt; at++) {
      if (bytes[at] !== prefixes[prefixAt++]) return undefined;
    }
    wire.at = numberAt + 1;
    values[i] = end === numberAt ? 0 : wire.double();
    wire.at = end;
  }
  return wire.at < limit && bytes[wire.at] === VALUES_TAG ? undefined : values;
}

/** The layout of the values that begin here, up to the first other field; nothing is kept read. */
export function parseLayout(wire: WireReader, limit: number): RowLayout {
  const from = wire.at;
  const named: NamedSeries[] = [];
  const prefixes: Buffer[] = [];
  const prefixEnds: number[] = [];
  let length = 0;
  while (wire.at < limit && wire.bytes[wire.at] === VALUES_TAG) {
    wire.at++;
    const end = wire.end(limit);
    const start = wire.at;
    named.push(parseSeries(wire, end));
    const prefix = wire.bytes.subarray(start, wire.at);
    prefixes.push(prefix);
    length += prefix.length;
    prefixEnds.push(length);
    wire.at = end;
  }
  wire.at = from;
  // A copy: the bytes of a request go back to the connection that read them.
  return {
    series: keysOf(named),
    prefixes: Buffer.concat(prefixes, length),
    prefixEnds,
    // Not whole, so that the copies are arrays of doubles from the start.
    blank: prefixEnds.map(() => 0.5),
  };
}

interface NamedSeries {
  readonly series: string;
  readonly labels: Record<string, string>;
}

function keysOf(named: readonly NamedSeries[]): readonly SeriesKey[] {
  try {
    return seriesOf(named, 'values');
  } catch (error) {
    if (error instanceof Refusal) throw new NotPlain(error.message);
    throw error;
  }
}

/** Reads series and labels of one value, up to its number. */
function parseSeries(wire: WireReader, end: number): NamedSeries {
  let name: string | undefined;
  const labels: Record<string, string> = {};
  while (wire.at < end) {
    const at = wire.at;
    const tag = wire.tag();
    if (tag === SERIES_TAG && name === undefined) name = wire.text(end);
    else if (tag === LABELS_TAG) parseLabel(wire, end, labels);
    else if (tag === VALUE_TAG && at + NUMBER_BYTES === end) {
      wire.at = at;
      break;
    } else throw new NotPlain('fields of a value in another form or order');
  }
  return { series: name ?? '', labels };
}

const KEY_TAG = 0x0a;
const TEXT_TAG = 0x12;

function parseLabel(wire: WireReader, limit: number, labels: Record<string, string>): void {
  const end = wire.end(limit);
  let name: string | undefined;
  let value: string | undefined;
  while (wire.at < end) {
    const tag = wire.tag();
    if (tag === KEY_TAG && name === undefined) name = wire.text(end);
    else if (tag === TEXT_TAG && value === undefined) value = wire.text(end);
    else throw new NotPlain('fields of a label in another form');
  }
  if (name === undefined || name === '__proto__') throw new NotPlain('a label without a name');
  labels[name] = value ?? '';
}
