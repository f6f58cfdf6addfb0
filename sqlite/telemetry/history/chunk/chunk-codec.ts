/**
 * A chunk: one VM's time range as bytes. Each column is encoded separately, after a table of
 * lengths, so that one series is decoded without the others. Series are numbers of the store's
 * dictionary: their names would be a third of a chunk of one hour.
 *
 *   version (1) · CRC-32 of what follows (4) · rows · flags · strings
 *   columns: count, then id, length and (long chunks) statistics of each · the columns' bytes
 */
import { crc32 } from 'node:zlib';
import type { SeriesKey } from '../../../../streams/telemetry/samples/batch.ts';
import {
  ByteReader,
  DamagedBytes,
  malformed,
} from '../../../../streams/telemetry/samples/byte-reader.ts';
import { ByteWriter } from '../../../../streams/telemetry/samples/byte-writer.ts';
import { conflictsOf, type VmRows } from '../rows.ts';
import { readColumn, writeColumn } from './column-codec.ts';
import {
  type ColumnStatistics,
  readStatistics,
  statisticsOf,
  writeStatistics,
} from './statistics.ts';

const VERSION = 1;
const BODY_START = 5;
const HAS_STATISTICS = 1;
/** Shorter chunks are decoded as quickly as their statistics are read, which take 0.3 B. */
const STATISTICS_ROWS_MIN = 256;
/** Rows of a day at two per second; writers split before it, and a longer chunk is invalid. */
export const CHUNK_ROWS_MAX = 172_800;

/** Columns of the row itself; a series of dictionary id n is column n + META_COLUMNS. */
const TIME = 0;
const VCPUS = 1;
const STATE = 2;
const BOOT = 3;
const STATE_REASON = 4;
const CONFLICTED = 5;
const META_COLUMNS = 8;

/**
 * Encodes at most `CHUNK_ROWS_MAX` rows as a chunk. `idOf` returns a series' number in the
 * dictionary.
 */
export function encodeChunk(rows: VmRows, idOf: (key: SeriesKey) => number): Uint8Array {
  const count = rows.timesMs.length;
  if (count === 0 || count > CHUNK_ROWS_MAX) throw new RangeError(`A chunk of ${count} rows`);
  const columns = columnsOf(rows, idOf);
  const statistics = count >= STATISTICS_ROWS_MIN;
  const body = new ByteWriter(1024);
  body.varint(count);
  body.u8(statistics ? HAS_STATISTICS : 0);
  body.varint(rows.strings.length - 1);
  for (const text of rows.strings.slice(1)) body.text(text);
  body.varint(columns.length);
  const data = new ByteWriter(4096);
  let idBefore = 0;
  for (const [id, column] of columns) {
    const start = data.length;
    writeColumn(data, column);
    body.varint(id - idBefore);
    body.varint(data.length - start);
    if (statistics && id >= META_COLUMNS) writeStatistics(body, statisticsOf(column));
    idBefore = id;
  }
  const out = new ByteWriter(BODY_START + body.length + data.length);
  out.u8(VERSION);
  out.u32(crc32(data.view(), crc32(body.view())));
  out.bytes(body.view());
  out.bytes(data.view());
  return out.view();
}

/** Non-empty columns, by increasing id. Row codes that are all zero are left out. */
function columnsOf(rows: VmRows, idOf: (key: SeriesKey) => number): [number, Float64Array][] {
  const columns: [number, Float64Array][] = [[TIME, rows.timesMs]];
  if (!rows.vcpus.every(Number.isNaN)) columns.push([VCPUS, rows.vcpus]);
  const codes = [rows.state, rows.boot, rows.stateReason, rows.conflicted];
  for (const [i, id] of [STATE, BOOT, STATE_REASON, CONFLICTED].entries()) {
    const column = Float64Array.from(codes[i] ?? []);
    if (!column.every((code) => code === 0)) columns.push([id, column]);
  }
  const series: [number, Float64Array][] = [];
  for (const [key, column] of rows.series) {
    if (!column.every(Number.isNaN)) series.push([idOf(key) + META_COLUMNS, column]);
  }
  return [...columns, ...series.sort(([a], [b]) => a - b)];
}

interface StoredColumn {
  readonly start: number;
  readonly length: number;
  readonly statistics?: ColumnStatistics;
}

/** A chunk whose checksum and table were read; columns are decoded on request. */
export class Chunk {
  readonly count: number;
  readonly strings: readonly string[];
  readonly #bytes: Uint8Array;
  readonly #columns = new Map<number, StoredColumn>();

  /**
   * Throws `DamagedBytes` if the bytes are not a complete chunk of this version.
   * @param isVerified the checksum of these bytes was compared before, in this process
   */
  constructor(bytes: Uint8Array, isVerified = false) {
    this.#bytes = bytes;
    const reader = new ByteReader(bytes);
    const version = reader.u8();
    if (version !== VERSION) {
      throw new DamagedBytes('VERSION', `Chunk format ${version}, this program reads ${VERSION}`);
    }
    const checksum = reader.u32();
    if (!isVerified && checksum !== crc32(bytes.subarray(BODY_START))) {
      throw new DamagedBytes(
        'CHECKSUM',
        'The chunk differs from what was written: its checksum does not match',
      );
    }
    this.count = reader.varint();
    if (this.count === 0 || this.count > CHUNK_ROWS_MAX) throw malformed(`${this.count} rows`);
    const flags = reader.u8();
    const strings = [''];
    for (let left = reader.count(1); left > 0; left--) strings.push(reader.text());
    this.strings = strings;
    this.#readTable(reader, (flags & HAS_STATISTICS) !== 0);
  }

  /** Dictionary ids of the series in this chunk. */
  seriesIds(): number[] {
    const ids = [...this.#columns.keys()].filter((id) => id >= META_COLUMNS);
    return ids.map((id) => id - META_COLUMNS);
  }

  /** Unix ms, strictly increasing. */
  timesMs(): Float64Array {
    const times = this.#column(TIME);
    if (times === undefined) throw malformed('a chunk without times');
    return times;
  }

  /**
   * Values of a series at each time, NaN = absent; undefined if the chunk does not have the series.
   */
  values(seriesId: number): Float64Array | undefined {
    return this.#column(seriesId + META_COLUMNS);
  }

  /** True when any row has vCPUs. */
  get hasVcpus(): boolean {
    return this.#columns.has(VCPUS);
  }

  /** True when any row has the VM's state. */
  get hasStates(): boolean {
    return this.#columns.has(STATE);
  }

  /** vCPUs observed with each row, NaN = not reported. */
  vcpus(): Float64Array {
    return this.#column(VCPUS) ?? new Float64Array(this.count).fill(Number.NaN);
  }

  /** Index into `VM_STATES` of each row. */
  states(): Uint8Array {
    return Uint8Array.from(this.#codes(STATE));
  }

  /** Boot of each row, index into `strings`. */
  boots(): Uint32Array {
    return Uint32Array.from(this.#codes(BOOT, this.strings.length));
  }

  /** Statistics of a series; a long chunk does not decode the series for them. */
  statistics(seriesId: number): ColumnStatistics | undefined {
    const stored = this.#columns.get(seriesId + META_COLUMNS)?.statistics;
    if (stored !== undefined) return stored;
    const values = this.values(seriesId);
    return values && statisticsOf(values);
  }

  /** The rows with the series named by `keyOf`, which returns undefined for unwanted ones. */
  rows(keyOf: (seriesId: number) => SeriesKey | undefined): VmRows {
    const series = new Map<SeriesKey, Float64Array>();
    for (const id of this.seriesIds()) {
      const key = keyOf(id);
      const values = key === undefined ? undefined : this.values(id);
      if (key !== undefined && values !== undefined) series.set(key, values);
    }
    return {
      timesMs: this.timesMs(),
      series,
      vcpus: this.vcpus(),
      state: this.states(),
      boot: this.boots(),
      stateReason: Uint32Array.from(this.#codes(STATE_REASON, this.strings.length)),
      strings: this.strings,
      ...conflictsOf(Uint8Array.from(this.#codes(CONFLICTED))),
    };
  }

  #readTable(reader: ByteReader, statistics: boolean): void {
    const columns: [id: number, length: number, statistics?: ColumnStatistics][] = [];
    let id = 0;
    for (let left = reader.count(2); left > 0; left--) {
      id += reader.varint();
      const length = reader.varint();
      const has = statistics && id >= META_COLUMNS;
      columns.push(has ? [id, length, readStatistics(reader)] : [id, length]);
    }
    let start = reader.at;
    for (const [column, length, stored] of columns) {
      this.#columns.set(column, { start, length, ...(stored && { statistics: stored }) });
      start += length;
    }
    if (start !== this.#bytes.length) throw malformed('the table and the columns differ');
  }

  #column(id: number): Float64Array | undefined {
    const stored = this.#columns.get(id);
    if (stored === undefined) return undefined;
    const { start, length } = stored;
    const reader = new ByteReader(this.#bytes.subarray(start, start + length));
    const column = readColumn(reader, this.count);
    reader.assertEnd();
    return column;
  }

  #codes(id: number, limit = 256): Float64Array {
    const codes = this.#column(id) ?? new Float64Array(this.count);
    if (codes.every((code) => code >= 0 && code < limit && Number.isInteger(code))) return codes;
    throw malformed('a code beyond its dictionary');
  }
}
