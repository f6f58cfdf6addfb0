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
import type { BufferedInput, BufferedRow, SeriesBuffer } from '../instance.ts';
import type { CheckpointReader, CheckpointWriter } from './checkpoint-bytes.ts';

/** Equal inputs of all VMs are one object. */
export type Inputs = Map<string, MetricInput>;

/** The rows of a VM's buffers, by time, and the input of each row in each buffer. */
interface RowTable {
  readonly rows: readonly BufferedRow[];
  /** At `row * buffers + buffer`; undefined: the buffer does not hold the row. */
  readonly inputs: readonly (MetricInput | undefined)[];
}

/** Rows with these inputs in a VM's buffers. */
interface Shape {
  readonly inputs: readonly (MetricInput | undefined)[];
  /** Slots of the stored readings, in increasing order. */
  readonly slots: readonly number[];
  /** Everything stored about the shape. */
  readonly content: string;
}

/** The newest row of a stored shape so far, and the slots of its readings. */
interface LastRow {
  readonly row: BufferedRow;
  readonly slots: readonly number[];
}

/** Names by their stored number, less one. Labels alone have none. */
const NAMES = ['', ...KNOWN_SERIES_NAMES];
const knownNames = new Map(NAMES.map((name, i) => [name, i + 1]));
const derived = newDerived();

/** Appends the rows and values of a VM's buffers. */
export function writeRows(to: CheckpointWriter, buffers: readonly SeriesBuffer[]): void {
  const { rows, inputs } = tableOf(buffers);
  const shapes = shapesOf(inputs, rows.length, buffers.length);
  // The same readings may be at other slots, in a row with more of them.
  const stored: string[] = [];
  const first = [...new Set(shapes)].filter(({ content }) => {
    const isFirst = !stored.includes(content);
    if (isFirst) stored.push(content);
    return isFirst;
  });
  to.varint(first.length);
  for (const shape of first) writeShape(to, shape, buffers);
  to.varint(rows.length);
  const newest: LastRow[] = [];
  for (let i = 0; i < rows.length; i++) {
    // There is one shape for each row, and each is stored.
    const { content, slots } = shapes[i] as Shape;
    const position = stored.indexOf(content);
    const row = rows[i] as BufferedRow;
    to.varint(position);
    writeRow(to, row, rows[i - 1] ?? NO_ROW);
    const last = newest[position];
    for (let j = 0; j < slots.length; j++)
      to.reading(readingOf(row, slots, j), last ? readingOf(last.row, last.slots, j) : Number.NaN);
    newest[position] = { row, slots };
  }
  for (const buffer of buffers) writeValues(to, buffer);
}

function readingOf({ values }: BufferedRow, slots: readonly number[], i: number): number {
  return values[slots[i] ?? -1] ?? Number.NaN;
}

/** Reads the rows and values into the buffers, in whose order they were written. */
export function readRows(
  from: CheckpointReader,
  buffers: readonly SeriesBuffer[],
  inputs: Inputs,
): void {
  const shapes: Members[] = [];
  for (let left = from.count(2); left > 0; left--) shapes.push(readShape(from, buffers, inputs));
  const newest: ArrayLike<number>[] = [];
  let before = NO_ROW;
  for (let left = from.count(2); left > 0; left--) {
    const position = from.index(shapes.length);
    const { members, width } = shapes[position] as Members;
    const row = readRow(from, before, { width, last: newest[position] ?? NO_READINGS });
    newest[position] = row.values;
    before = row;
    for (const { buffer, input } of members) buffer.rows.push({ row, input });
  }
  for (const buffer of buffers) readValues(from, buffer);
}

/** Every row that some buffer holds. */
function tableOf(buffers: readonly SeriesBuffer[]): RowTable {
  // Usually, every row of a VM is in all of its buffers.
  const isEven = buffers.every((buffer) => hasSameRows(buffer, buffers[0]));
  const rows = isEven ? (buffers[0]?.rows.map(({ row }) => row) ?? []) : sortedRows(buffers);
  const positions = isEven ? undefined : new Map(rows.map((row, i) => [row, i]));
  const inputs: (MetricInput | undefined)[] = [];
  for (let i = rows.length * buffers.length; i > 0; i--) inputs.push(undefined);
  for (let position = 0; position < buffers.length; position++) {
    const held = buffers[position]?.rows ?? [];
    for (let i = 0; i < held.length; i++) {
      const { row, input } = held[i] as BufferedInput;
      inputs[(positions?.get(row) ?? i) * buffers.length + position] = input;
    }
  }
  return { rows, inputs };
}

function hasSameRows(a: SeriesBuffer, b: SeriesBuffer | undefined): boolean {
  if (a.rows.length !== b?.rows.length) return false;
  for (let i = 0; i < a.rows.length; i++) if (a.rows[i]?.row !== b.rows[i]?.row) return false;
  return true;
}

/** Rows by time. Those of one time stay in the order of their buffers. */
function sortedRows(buffers: readonly SeriesBuffer[]): BufferedRow[] {
  const rows = new Set(buffers.flatMap((buffer) => buffer.rows.map(({ row }) => row)));
  return [...rows].sort((a, b) => a.observedMs - b.observedMs);
}

/** The shape of each row. Rows of one shape usually follow each other. */
function shapesOf(inputs: RowTable['inputs'], rows: number, buffers: number): Shape[] {
  const shapes: Shape[] = [];
  for (let row = 0; row < rows; row++) {
    const before = shapes[row - 1] ?? lastShape;
    const isSame = before?.inputs.length === buffers && isAt(inputs, row, before.inputs);
    const shape = isSame ? before : shapeOf(inputs.slice(row * buffers, (row + 1) * buffers));
    shapes.push(shape);
  }
  lastShape = shapes.at(-1) ?? lastShape;
  return shapes;
}

/** The shape of the last VM's rows: VMs of a fleet usually have the same. */
let lastShape: Shape | undefined;

function isAt(inputs: RowTable['inputs'], row: number, shape: Shape['inputs']): boolean {
  const start = row * shape.length;
  for (let i = 0; i < shape.length; i++) if (inputs[start + i] !== shape[i]) return false;
  return true;
}

function shapeOf(inputs: Shape['inputs']): Shape {
  const used = new Set<number>();
  for (const input of inputs) for (const slot of input?.slots ?? []) if (slot >= 0) used.add(slot);
  const slots = [...used].sort((a, b) => a - b);
  const parts = inputs.map((input) => input && idOf(compacted(input, slots)));
  return { inputs, slots, content: JSON.stringify(parts) };
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

/** Fields that differ from the row before. */
const BOOT = 1;
const VCPUS = 2;
const STATE = 4;
const REASON = 8;
const ALL = BOOT | VCPUS | STATE | REASON;

const NO_ROW: Required<BufferedRow> = {
  observedMs: 0,
  sequence: 0,
  boot: '',
  vcpus: Number.NaN,
  state: 0,
  stateReason: '',
  values: [],
};

/** Appends a row without its readings. The sequence is usually one more than that of `before`. */
function writeRow(to: CheckpointWriter, row: BufferedRow, before: BufferedRow): void {
  const { boot, vcpus, state, stateReason = '' } = row;
  const mask =
    (boot === before.boot ? 0 : BOOT) |
    (Object.is(vcpus, before.vcpus) ? 0 : VCPUS) |
    (Object.is(state, before.state) ? 0 : STATE) |
    (stateReason === (before.stateReason ?? '') ? 0 : REASON);
  to.varint(mask);
  to.time(row.observedMs);
  to.reading(row.sequence, before.sequence);
  if (mask & BOOT) to.text(boot);
  if (mask & VCPUS) to.number(vcpus);
  if (mask & STATE) to.number(state);
  if (mask & REASON) to.text(stateReason);
}

const NO_READINGS: ArrayLike<number> = [];
// Reused between rows: an array that grows by `push` would have room for 17 readings.
const readings: number[] = [];

/**
 * Reads a row with its readings; `last` are those of the last row of its shape. The objects have
 * the same hidden class as arriving rows, so that both are read at the same speed.
 */
function readRow(
  from: CheckpointReader,
  before: Required<BufferedRow>,
  { width, last }: { readonly width: number; readonly last: ArrayLike<number> },
): Required<BufferedRow> {
  const mask = from.varint();
  if (mask > ALL) throw malformed('an unknown field of a row');
  // In the order of `writeRow`.
  return {
    observedMs: from.time(),
    sequence: from.reading(before.sequence),
    boot: mask & BOOT ? from.text() : before.boot,
    vcpus: mask & VCPUS ? from.number() : before.vcpus,
    state: mask & STATE ? from.number() : before.state,
    stateReason: mask & REASON ? from.text() : before.stateReason,
    values: readReadings(from, width, last),
  };
}

function readReadings(from: CheckpointReader, width: number, last: ArrayLike<number>): number[] {
  readings.length = 0;
  for (let i = 0; i < width; i++) readings.push(from.reading(last[i] ?? Number.NaN));
  return readings.slice();
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
