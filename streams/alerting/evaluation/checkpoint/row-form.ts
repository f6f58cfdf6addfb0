/**
 * Forms of a VM's rows. Several buffers share a row, so each row is stored once, with the readings
 * that some buffer needs. Rows with the same readings for the same buffers have one *shape*; it
 * holds the metrics' inputs, whose slots count the stored readings.
 *
 *     shapes   for each: the buffers that hold such a row, and their inputs
 *     rows     in the order of their times: what differs from the row before, then the readings
 *     values   of each buffer: those that do not follow from its rows. The first row's may not,
 *              because the row before it is forgotten
 */
import { KNOWN_SERIES_NAMES } from '../../../telemetry/entry-codec.ts';
import { derive, type MetricInput, newDerived } from '../../../telemetry/metrics/derive.ts';
import { type SeriesKey, splitSeriesKey } from '../../../telemetry/samples/batch.ts';
import { malformed } from '../../../telemetry/samples/byte-reader.ts';
import type { BufferedRow, SeriesBuffer } from '../instance.ts';
import type { CheckpointReader, CheckpointWriter } from './checkpoint-bytes.ts';
import { type Fields, type Form, number, text, time } from './forms.ts';

/** Equal inputs of all VMs are one object. */
export type Inputs = Map<string, MetricInput>;

/** Rows of one shape: their inputs, by the position of their buffers. */
interface Shape {
  readonly inputs: readonly (MetricInput | undefined)[];
  /** Slots of the stored readings, in increasing order. */
  readonly slots: readonly number[];
  /** Position among the stored shapes. */
  readonly position: number;
}

/** A row and its inputs, by the position of their buffers. */
interface HeldRow {
  readonly row: BufferedRow;
  readonly inputs: (MetricInput | undefined)[];
}

/** Names by their stored number, less one. Labels alone have none. */
const NAMES = ['', ...KNOWN_SERIES_NAMES];
const knownNames = new Map(NAMES.map((name, i) => [name, i + 1]));
const derived = newDerived();

/** Appends the rows and values of a VM's buffers. */
export function writeRows(to: CheckpointWriter, buffers: readonly SeriesBuffer[]): void {
  const rows = heldRows(buffers);
  const { shapes, stored } = shapesOf(rows, buffers);
  to.varint(stored.length);
  for (const shape of stored) writeShape(to, shape, buffers);
  to.varint(rows.length);
  let before: BufferedRow = NO_ROW;
  const readings: (readonly number[])[] = [];
  for (const [i, { row }] of rows.entries()) {
    // `shapesOf` makes one for each row.
    const { slots, position } = shapes[i] as Shape;
    to.varint(position);
    writeRow(to, row, before);
    before = row;
    const last = readings[position] ?? [];
    const values = slots.map((slot) => row.values[slot] ?? Number.NaN);
    for (const [j, value] of values.entries()) to.reading(value, last[j] ?? Number.NaN);
    readings[position] = values;
  }
  for (const buffer of buffers) writeValues(to, buffer);
}

/** Reads the rows and values into the buffers, in whose order they were written. */
export function readRows(
  from: CheckpointReader,
  buffers: readonly SeriesBuffer[],
  inputs: Inputs,
): void {
  const shapes: Members[] = [];
  for (let left = from.count(2); left > 0; left--) shapes.push(readShape(from, buffers, inputs));
  const readings: (readonly number[])[] = [];
  let before = NO_ROW;
  for (let left = from.count(2); left > 0; left--) {
    const position = from.index(shapes.length);
    const { members, width } = shapes[position] as Members;
    const last = readings[position] ?? [];
    const values: number[] = [];
    const row = readRow(from, before, values);
    for (let i = 0; i < width; i++) values.push(from.reading(last[i] ?? Number.NaN));
    readings[position] = values;
    before = row;
    for (const { buffer, input } of members) buffer.rows.push({ row, input });
  }
  for (const buffer of buffers) readValues(from, buffer);
}

/** Every row that some buffer holds, by time. */
function heldRows(buffers: readonly SeriesBuffer[]): HeldRow[] {
  const held = new Map<BufferedRow, HeldRow>();
  for (const [position, { rows }] of buffers.entries()) {
    for (const { row, input } of rows) {
      let known = held.get(row);
      if (!known) {
        known = { row, inputs: [] };
        held.set(row, known);
      }
      known.inputs[position] = input;
    }
  }
  // Stable: rows of one time stay in the order of their buffers.
  return [...held.values()].sort((a, b) => a.row.observedMs - b.row.observedMs);
}

function shapesOf(rows: readonly HeldRow[], buffers: readonly SeriesBuffer[]) {
  const stored: Shape[] = [];
  const byContent = new Map<string, Shape>();
  const shapes: Shape[] = [];
  let last: Shape | undefined;
  let lastInputs: HeldRow['inputs'] = [];
  for (const { inputs } of rows) {
    if (!last || !isEqual(inputs, lastInputs, buffers.length)) {
      const { slots, content } = contentOf(inputs);
      const known = byContent.get(content);
      // The same readings may be at other slots, in a row with more of them.
      last = { inputs, slots, position: known?.position ?? stored.length };
      lastInputs = inputs;
      if (!known) {
        stored.push(last);
        byContent.set(content, last);
      }
    }
    shapes.push(last);
  }
  return { shapes, stored };
}

function isEqual(a: HeldRow['inputs'], b: HeldRow['inputs'], length: number): boolean {
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** The slots that the inputs read, and all that a stored shape depends on. */
function contentOf(inputs: HeldRow['inputs']): { slots: readonly number[]; content: string } {
  const used = new Set<number>();
  for (const input of inputs) for (const slot of input?.slots ?? []) if (slot >= 0) used.add(slot);
  const slots = [...used].sort((a, b) => a - b);
  const parts = Array.from(inputs, (input) => input && idOf(compacted(input, slots)));
  return { slots, content: JSON.stringify(parts) };
}

/** The input of a row that has only the readings of `slots`. */
function compacted({ labels, slots: all, keys }: MetricInput, slots: readonly number[]) {
  return { labels, slots: all.map((slot) => (slot < 0 ? -1 : slots.indexOf(slot))), keys };
}

function idOf({ labels, slots, keys }: MetricInput): string {
  return `${labels}\n${slots.join()}\n${keys.join('\n')}`;
}

function writeShape(to: CheckpointWriter, shape: Shape, buffers: readonly SeriesBuffer[]): void {
  const members = buffers.flatMap((buffer, position) => {
    const input = shape.inputs[position];
    return input ? [{ position, buffer, input: compacted(input, shape.slots) }] : [];
  });
  to.varint(members.length);
  for (const { position, buffer, input } of members) {
    to.varint(position);
    writeKey(to, input.labels, buffer.labels);
    to.varint(input.slots.length);
    for (const slot of input.slots) to.varint(slot + 1);
    to.varint(input.keys.length);
    for (const key of input.keys) writeKey(to, key, buffer.labels);
  }
}

/** The buffers that hold rows of one shape, and the number of stored readings. */
interface Members {
  readonly members: readonly { readonly buffer: SeriesBuffer; readonly input: MetricInput }[];
  readonly width: number;
}

function readShape(
  from: CheckpointReader,
  buffers: readonly SeriesBuffer[],
  inputs: Inputs,
): Members {
  const members = [];
  let width = 0;
  let next = 0;
  for (let left = from.count(5); left > 0; left--) {
    const position = from.index(buffers.length);
    const buffer = buffers[position];
    if (!buffer || position < next) throw malformed('buffers out of order');
    next = position + 1;
    const labels = readKey(from, buffer.labels);
    const slots: number[] = [];
    for (let each = from.count(1); each > 0; each--) slots.push(from.varint() - 1);
    const keys: SeriesKey[] = [];
    for (let each = from.count(2); each > 0; each--) keys.push(readKey(from, buffer.labels));
    for (const slot of slots) width = Math.max(width, slot + 1);
    members.push({ buffer, input: interned(inputs, { labels, slots, keys }) });
  }
  if (width > from.left) throw malformed('more readings than bytes');
  return { members, width };
}

function interned(inputs: Inputs, input: MetricInput): MetricInput {
  const id = idOf(input);
  const known = inputs.get(id);
  if (!known) inputs.set(id, input);
  return known ?? input;
}

/** A series key, or labels alone: a name, then no labels (0), those of the buffer (1), or others. */
function writeKey(to: CheckpointWriter, key: SeriesKey, ofBuffer: string): void {
  const { name, labels } = splitSeriesKey(key);
  const known = knownNames.get(name) ?? 0;
  to.varint(known);
  if (known === 0) to.text(name);
  const kind = labels === '' ? 0 : labels === ofBuffer ? 1 : 2;
  to.varint(kind);
  if (kind === 2) to.text(labels);
}

function readKey(from: CheckpointReader, ofBuffer: string): SeriesKey {
  const known = from.index(NAMES.length + 1);
  const name = NAMES[known - 1] ?? from.text();
  const kind = from.index(3);
  return name + (kind === 0 ? '' : kind === 1 ? ofBuffer : from.text());
}

type RowFields = Required<Omit<BufferedRow, 'values' | 'sequence'>>;

/** Fields of a row that are stored if they differ from the row before. */
const rowFields: Fields<RowFields> = {
  observedMs: time,
  boot: text,
  vcpus: number,
  state: number,
  stateReason: text,
};

const names = Object.keys(rowFields) as (keyof RowFields)[];

const NO_ROW: Required<BufferedRow> = {
  observedMs: 0,
  sequence: 0,
  boot: '',
  vcpus: Number.NaN,
  state: 0,
  stateReason: '',
  values: [],
};

/** The sequence is usually one more than that of the row before. */
function writeRow(to: CheckpointWriter, row: BufferedRow, before: BufferedRow): void {
  let mask = 0;
  for (const [i, name] of names.entries()) {
    if (!Object.is(fieldOf(row, name), fieldOf(before, name))) mask |= 1 << i;
  }
  to.varint(mask);
  to.reading(row.sequence, before.sequence);
  for (const [i, name] of names.entries()) {
    // The form of this field, so that it takes its value.
    if (mask & (1 << i)) (rowFields[name] as Form<unknown>).write(to, fieldOf(row, name));
  }
}

/** A reason that is absent is the same as an empty one. */
function fieldOf(row: BufferedRow, name: keyof RowFields): string | number {
  return row[name] ?? '';
}

/** Reads the fields, and returns the row, whose readings follow. */
function readRow(
  from: CheckpointReader,
  before: Required<BufferedRow>,
  values: number[],
): Required<BufferedRow> {
  const mask = from.varint();
  if (mask >= 1 << names.length) throw malformed('an unknown field of a row');
  const { observedMs, boot, vcpus, state, stateReason } = before;
  // The object has the shape of arriving rows, so that both are read at the same speed.
  const row = {
    observedMs,
    sequence: from.reading(before.sequence),
    boot,
    vcpus,
    state,
    stateReason,
    values,
  } satisfies Required<BufferedRow>;
  for (const [i, name] of names.entries()) {
    if (mask & (1 << i)) Object.assign(row, { [name]: rowFields[name].read(from) });
  }
  return row;
}

/** Values up to the last one that does not follow from the rows. */
function writeValues(to: CheckpointWriter, { rows, values, derivation }: SeriesBuffer): void {
  let stored = rows.length;
  while (stored > 0) {
    const last = stored - 1;
    const row = rows[last];
    if (!row || !Object.is(derive(derivation, rows[last - 1], row, derived), values[last])) break;
    stored = last;
  }
  to.varint(stored);
  for (let i = 0; i < stored; i++) to.number(values[i] ?? Number.NaN);
}

function readValues(from: CheckpointReader, { rows, values, derivation }: SeriesBuffer): void {
  const stored = from.index(rows.length + 1);
  for (let i = 0; i < stored; i++) values.push(from.number());
  for (const [i, row] of rows.entries()) {
    if (i >= stored) values.push(derive(derivation, rows[i - 1], row, derived));
  }
}
