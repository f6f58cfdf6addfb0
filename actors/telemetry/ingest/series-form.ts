/**
 * The form of a storable series: its name, its labels, and the reserved names. `WriteSamples` and
 * every source of this project follow the same rules.
 *
 * Names that begin with `svc_` are a closed set: those of the series catalogue that sources
 * observe. A misspelt series would be stored and never read, and a derived one would contradict the
 * API. Only the service writes `ALERTS...`. Other names are free.
 */
import {
  READING_MAX,
  seriesCatalogue,
} from '../../../streams/telemetry/metrics/series-catalogue.ts';
import {
  hasPlainValues,
  isFreeLabelName,
  isLabelName,
  parseLabels,
  type SeriesKey,
  seriesKey,
  splitSeriesKey,
} from '../../../streams/telemetry/samples/batch.ts';
import { closestName } from '../../platform/closest-name.ts';
import { oneLine } from '../../platform/plain-text.ts';
import type { Rejection } from './rejections.ts';

/** Maximum length of a boot id, state reason, display name and label value, characters. */
export const TEXT_LENGTH_MAX = 200;
/** Maximum number of entries in a row: a VM with hundreds of disks and mounts stays well below. */
export const VALUES_MAX = 1_000;
const LABELS_MAX = 8;
/**
 * Maximum size of a row's series with their labels, bytes: a thousand series of 160 bytes. It
 * bounds the row's entry in the sample log: see `ENTRY_TEXT_BYTES_MAX` there.
 */
export const SERIES_BYTES_MAX = 160 * 1024;

const SERIES_NAME = /^[a-zA-Z_][a-zA-Z0-9_]{0,127}$/;
/** Maximum length of series and label names quoted in a message, characters. */
const SHOWN_MAX = 100;
/** Number of characters quoted of a label value that is too long. */
const BEGIN_MAX = 30;

/** Series under `svc_` that sources observe, in the order of the catalogue. */
export const SENT_SERIES: readonly string[] = [...seriesCatalogue.values()]
  .filter(({ rowField }) => rowField === undefined)
  .map(({ name }) => name);
const SENT: ReadonlySet<string> = new Set(SENT_SERIES);

/** Reason why a value is not stored; the caller adds the series. */
export interface SeriesProblem {
  readonly reason: Rejection['reason'];
  /** The faulty field of the value. */
  readonly part: 'series' | 'labels';
  readonly message: string;
}

/** undefined: the series can be stored. */
export function seriesProblem(
  name: string,
  labels: Readonly<Record<string, string>>,
  nearest?: NearestSeries,
): SeriesProblem | undefined {
  if (!SERIES_NAME.test(name)) {
    return problem(
      'BAD_SERIES',
      'series',
      `${quoted(name)} is not a series name. Use letters, digits and underscores, at most 128.`,
    );
  }
  if (isReserved(name)) {
    return problem('RESERVED_NAME', 'series', reservedMessage(name, nearest));
  }
  const entries = Object.entries(labels);
  if (entries.length > LABELS_MAX) {
    const message = `${name} has ${entries.length} labels. Send at most ${LABELS_MAX}.`;
    return problem('BAD_LABEL', 'labels', message);
  }
  for (const [label, value] of entries) {
    const found = labelProblem(name, label, value);
    if (found) return found;
  }
  return undefined;
}

/** The reason why a value of this series is not stored; undefined: it can be stored. */
export function valueProblem(
  key: SeriesKey,
  value: number | undefined,
): 'NOT_FINITE' | 'TOO_LARGE' | undefined {
  if (value === undefined || !Number.isFinite(value)) return 'NOT_FINITE';
  // Names under `svc_` are those of the catalogue.
  return Math.abs(value) > READING_MAX && key.startsWith('svc_') ? 'TOO_LARGE' : undefined;
}

/** Keys without a fault: sources repeat them between rounds and VMs. */
const soundKeys = new Set<SeriesKey>();
const SOUND_KEYS_MAX = 20_000;

/** The same for a key as sources make them; a key that is not canonical is not a series. */
export function keyProblem(key: SeriesKey, nearest?: NearestSeries): SeriesProblem | undefined {
  if (soundKeys.has(key)) return undefined;
  const { name, labels: part } = splitSeriesKey(key);
  const labels = parseLabels(part);
  const found = seriesProblem(name, labels, nearest);
  if (found) return found;
  if (seriesKey(name, labels) === key) {
    if (soundKeys.size >= SOUND_KEYS_MAX) soundKeys.clear();
    soundKeys.add(key);
    return undefined;
  }
  const message = `${quoted(key)} is not a series. Write name{label="value"}, labels sorted by name.`;
  return problem('BAD_SERIES', 'series', message);
}

function labelProblem(series: string, label: string, value: string): SeriesProblem | undefined {
  if (!isLabelName(label)) {
    const message = `${quoted(label)} is not a label name. Use letters, digits and underscores, at most 128.`;
    return problem('BAD_LABEL', 'labels', message);
  }
  if (isReservedLabel(label)) {
    const message = `The label ${quoted(label)} of ${series} is reserved for the service. Choose another name.`;
    return problem('RESERVED_NAME', 'labels', message);
  }
  if (value.length > TEXT_LENGTH_MAX) {
    const message = `The label ${label} of ${series} has ${value.length} characters, beginning with ${quoted(value.slice(0, BEGIN_MAX))}. Send at most ${TEXT_LENGTH_MAX}.`;
    return problem('BAD_LABEL', 'labels', message);
  }
  if (!hasPlainValues(seriesKey('x', { [label]: value }))) {
    const message = `The label ${label} of ${series} contains line breaks, control characters or bidirectional controls. Send one line of plain text.`;
    return problem('BAD_LABEL', 'labels', message);
  }
  return undefined;
}

function problem(
  reason: SeriesProblem['reason'],
  part: SeriesProblem['part'],
  message: string,
): SeriesProblem {
  return { reason, part, message };
}

function isReserved(name: string): boolean {
  return name.startsWith('ALERTS') || (name.startsWith('svc_') && !SENT.has(name));
}

/** True for names that identify the VM, names of the VM's own labels, and Prometheus's own. */
function isReservedLabel(label: string): boolean {
  return label.startsWith('vm_label_') || !isFreeLabelName(label);
}

/** Sentence about a reserved name: the field from which it is derived, or the nearest name. */
function reservedMessage(name: string, nearest: NearestSeries | undefined): string {
  if (name.startsWith('ALERTS')) {
    return `${quoted(name)} is reserved: the service writes ALERTS from its alert rules. Choose another name.`;
  }
  const field = seriesCatalogue.get(name)?.rowField;
  if (field !== undefined) {
    return `${name} is derived from the row. Set the row's field ${field} instead.`;
  }
  const closest = nearest?.of(name);
  const meant = closest === undefined ? '' : ` Did you mean ${closest}?`;
  return `${quoted(name)} is not a series of this service, and names that begin with svc_ are reserved.${meant} Choose another name for your own series.`;
}

/**
 * Maximum number of reserved names of one request, or of one round of a source, that are compared
 * with all others.
 */
const COMPARED_MAX = 20;
/** Longer names are not compared: those of the catalogue are shorter. */
const COMPARED_LENGTH_MAX = 64;

/**
 * Finds the nearest name that a source may send. One instance per request or round: a comparison
 * takes 0.1 ms, and a hostile sender may always send new names.
 */
export class NearestSeries {
  readonly #known = new Map<string, string | undefined>();

  of(name: string): string | undefined {
    if (this.#known.has(name)) return this.#known.get(name);
    if (name.length > COMPARED_LENGTH_MAX || this.#known.size >= COMPARED_MAX) return undefined;
    const nearest = closestName(name, SENT_SERIES);
    this.#known.set(name, nearest);
    return nearest;
  }
}

/** The sent text in quotes, truncated to a readable length. */
function quoted(text: string): string {
  return JSON.stringify(oneLine(text, SHOWN_MAX));
}
