/**
 * Samples in memory: columns, not objects. A VM's readings arrive as a *row* (one observation time,
 * about a dozen values); a batch holds rows of many VMs and projects. Ingest builds batches, the
 * stream carries them encoded, evaluator and history read them.
 *
 * Absent is absent: a row contains only observed values, and every value is finite.
 *
 * A series key is the canonical spelling of a series: labels are sorted by name and values escaped
 * as in Prometheus's text format, so equal series are equal strings. Two spellings of one series
 * would be two series in history. Label names follow Prometheus's rules: a letter or an underscore,
 * then also digits. Names with a leading double underscore are Prometheus's own; those that
 * identify the VM are reserved for this service.
 */
import { Buffer } from 'node:buffer';

/** Canonical key of a series within a VM: `name` or `name{label="value",...}`, labels sorted. */
export type SeriesKey = string;

/** The series of a row, in order. Interned: equal lists are the same object within a batch. */
export interface Layout {
  readonly series: readonly SeriesKey[];
}

/** A VM by the ids used in the log. */
export interface VmRef {
  /** Project id, e.g. `demo` (never the full resource name). */
  readonly project: string;
  /** VM id: the libvirt domain UUID, or a hash of this host's machine-id. */
  readonly vm: string;
}

/**
 * State of a VM reported by the hypervisor; the index is stored. UNKNOWN = the source did not
 * report it.
 */
export const VM_STATES = ['UNKNOWN', 'RUNNING', 'PAUSED', 'STOPPED', 'CRASHED'] as const;
/** One of `VM_STATES`. Batches hold its index. */
export type VmState = (typeof VM_STATES)[number];

/**
 * A batch of rows as columns; arrays have length `count` unless stated otherwise. Times are Unix
 * ms. Row i has the values `values[valueOffset[i] .. valueOffset[i + 1])`, one for each series of
 * `layouts[layout[i]]`.
 */
export interface SampleBatch {
  readonly count: number;
  /** Time at which ingest received it, Unix ms. */
  readonly receivedMs: number;
  readonly vms: readonly VmRef[];
  readonly layouts: readonly Layout[];
  /** Dictionary of boot ids and state reasons; entry 0 is always ''. */
  readonly strings: readonly string[];
  /** Index into `vms`. */
  readonly vm: Uint32Array;
  /** Index into `layouts`. */
  readonly layout: Uint32Array;
  readonly observedMs: Float64Array;
  /** The source's own counter of rows since its boot; orders rows if its clock goes back. */
  readonly sequence: Float64Array;
  /** Index into `strings`; '' = not reported. */
  readonly boot: Uint32Array;
  /** vCPUs observed with this row; NaN = not reported (only this column uses NaN for absent). */
  readonly vcpus: Float64Array;
  /** Index into `VM_STATES`. */
  readonly state: Uint8Array;
  /** Index into `strings`; '' = none. */
  readonly stateReason: Uint32Array;
  /** Length `count + 1`. */
  readonly valueOffset: Uint32Array;
  readonly values: Float64Array;
}

const PAIR = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** `seriesKey('a', {y: '1', x: '"'})` is `a{x="\"",y="1"}`; without labels just the name. */
export function seriesKey(name: string, labels: Readonly<Record<string, string>> = {}): SeriesKey {
  const pairs = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, value]) => `${label}="${escapeValue(value)}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
}

/** Labels of a canonical label part (`{a="b",c="d"}`, or ''). */
export function parseLabels(part: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name = '', value = ''] of part.matchAll(PAIR)) labels[name] = unescapeValue(value);
  return labels;
}

/** A label's value in the form used between the quotes of a key, and of an exposition line. */
export function escapeValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function unescapeValue(value: string): string {
  return value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}

const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]{0,127}$/;
const RESERVED_LABELS: ReadonlySet<string> = new Set(['project', 'vm', 'vm_name', 'datacenter']);

/** True for a label name, including reserved ones. */
export function isLabelName(name: string): boolean {
  return LABEL_NAME.test(name);
}

/** True for a label name that a sender of samples, or a rule, may use. */
export function isFreeLabelName(name: string): boolean {
  return isLabelName(name) && !name.startsWith('__') && !RESERVED_LABELS.has(name);
}

/**
 * Characters rejected in a key, whose values are escaped: a line break is `\n`, a backslash `\\`.
 */
const BAD_IN_KEY = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]|(?<!\\)(?:\\\\)*\\n/u;
const PLAIN_KEY = /^[ -[\]-~]*$/;

/**
 * True if every label value of the key stays on one line in text formats, tables and mails: it has
 * no control characters (CR, LF, NUL), separators, bidirectional controls or halves of surrogate
 * pairs.
 */
export function hasPlainValues(key: SeriesKey): boolean {
  return PLAIN_KEY.test(key) || !BAD_IN_KEY.test(key);
}

/** Splits a series key into the name and its canonical label part ('' or `{a="b"}`). */
export function splitSeriesKey(key: SeriesKey): { name: string; labels: string } {
  const brace = key.indexOf('{');
  return brace < 0
    ? { name: key, labels: '' }
    : { name: key.slice(0, brace), labels: key.slice(brace) };
}

/** One row before it is added to a batch. Times are Unix ms. */
export interface Row {
  readonly project: string;
  readonly vm: string;
  readonly observedMs: number;
  /** The source's own counter of rows since its boot. */
  readonly sequence: number;
  /** Boot id, '' = not reported. */
  readonly boot: string;
  /** NaN = not reported. */
  readonly vcpus: number;
  /** Index into `VM_STATES`. */
  readonly state: number;
  /** '' = none. */
  readonly stateReason: string;
  /** As many as `values`; passing the same array object again is fastest. */
  readonly series: readonly SeriesKey[];
  /**
   * Finite numbers only: anything else is a bug of this program, because ingest rejects such
   * samples.
   */
  readonly values: ArrayLike<number>;
}

/** A layout, and the size of its series keys. */
interface KnownLayout {
  readonly layout: Layout;
  readonly bytes: number;
}

/** Layouts cached across batches; beyond the bound the cache is emptied. */
const LAYOUTS_KEPT_MAX = 20_000;
/** Maximum characters of their series keys: usual layouts of a fleet take a few thousand. */
const LAYOUT_CHARACTERS_MAX = 4 * 1024 * 1024;
/** No series key contains this character, so it joins keys unambiguously. */
const SEPARATOR = '\n';

/**
 * A growing batch: rows and whole batches are added, and `build` returns the batch. Ingest merges
 * the rows of a few milliseconds this way: adding a row is a handful of array writes. Names are
 * interned, layouts even across batches, so that the history's head sees the same layout object
 * again and again.
 */
export class BatchBuilder {
  #rows = new RowColumns();
  #values = new Float64Array(256);
  #valueCount = 0;
  #vms: VmRef[] = [];
  #layouts: Layout[] = [];
  #strings: string[] = [''];
  /** Index of each VM, by project. */
  readonly #vmIndex = new Map<string, Map<string, number>>();
  readonly #layoutIndex = new Map<Layout, number>();
  readonly #stringIndex = new Map<string, number>([['', 0]]);
  readonly #layoutByKey = new Map<string, KnownLayout>();
  #layoutCharacters = 0;
  #layoutBySeries = new WeakMap<readonly SeriesKey[], KnownLayout>();
  #textBytes = 0;

  /** Number of rows so far. */
  get count(): number {
    return this.#rows.count;
  }

  /** Number of samples so far. */
  get samples(): number {
    return this.#valueCount;
  }

  /**
   * Rough encoded size of the batch, excluding `textBytes`, bytes: compared with the limit of
   * merging.
   */
  get approximateBytes(): number {
    return this.#valueCount * 6 + this.#rows.count * 12 + this.#vms.length * 24;
  }

  /**
   * Size of the names, texts and series keys that the batch holds once each, bytes. Usual ones are
   * encoded in a tenth of that; those of a hostile sender are not.
   */
  get textBytes(): number {
    return this.#textBytes;
  }

  /** Adds one row. Throws `RangeError` if a value is not finite or counts do not match. */
  add(row: Row): void {
    this.addTo(row.project, row);
  }

  /** Like `add`, for a row without its project. */
  addTo(project: string, row: Omit<Row, 'project'>): void {
    const { values, series } = row;
    if (values.length !== series.length) {
      throw new RangeError(`A row has ${values.length} values for ${series.length} series`);
    }
    // Values first: they throw before any part of the row is added.
    this.#appendFinite(values, series);
    const rows = this.#rows;
    const i = rows.next();
    rows.vm[i] = this.#vmOf(project, row.vm);
    rows.layout[i] = this.#layoutOf(series);
    rows.observedMs[i] = row.observedMs;
    rows.sequence[i] = row.sequence;
    rows.boot[i] = this.#stringOf(row.boot);
    rows.vcpus[i] = row.vcpus;
    rows.state[i] = row.state;
    rows.stateReason[i] = this.#stringOf(row.stateReason);
    rows.valueEnd[i] = this.#valueCount;
  }

  /** Adds all rows of a batch in order. Its receive time is not kept. */
  append(batch: SampleBatch): void {
    const vms = batch.vms.map((ref) => this.#vmOf(ref.project, ref.vm));
    const layouts = batch.layouts.map((layout) => this.#layoutOf(layout.series));
    const strings = batch.strings.map((text) => this.#stringOf(text));
    const rows = this.#rows;
    const base = this.#valueCount;
    this.#appendValues(batch.values);
    for (let from = 0; from < batch.count; from++) {
      const i = rows.next();
      // Casts below: the codec and this class guarantee that every index of a batch is in range.
      rows.vm[i] = vms[batch.vm[from] as number] as number;
      rows.layout[i] = layouts[batch.layout[from] as number] as number;
      rows.observedMs[i] = batch.observedMs[from] as number;
      rows.sequence[i] = batch.sequence[from] as number;
      rows.boot[i] = strings[batch.boot[from] as number] as number;
      rows.vcpus[i] = batch.vcpus[from] as number;
      rows.state[i] = batch.state[from] as number;
      rows.stateReason[i] = strings[batch.stateReason[from] as number] as number;
      rows.valueEnd[i] = base + (batch.valueOffset[from + 1] as number);
    }
  }

  /**
   * The batch of all rows added since the last build; the builder is empty afterwards.
   * @param receivedMs time at which ingest received it, Unix ms
   */
  build(receivedMs: number): SampleBatch {
    const count = this.#rows.count;
    const batch: SampleBatch = {
      count,
      receivedMs,
      vms: this.#vms,
      layouts: this.#layouts,
      strings: this.#strings,
      ...this.#rows.take(),
      values: this.#values.slice(0, this.#valueCount),
    };
    this.#valueCount = 0;
    this.#textBytes = 0;
    this.#vms = [];
    this.#layouts = [];
    this.#strings = [''];
    this.#vmIndex.clear();
    this.#layoutIndex.clear();
    this.#stringIndex.clear();
    this.#stringIndex.set('', 0);
    return batch;
  }

  #vmOf(project: string, vm: string): number {
    let vms = this.#vmIndex.get(project);
    if (vms === undefined) {
      vms = new Map();
      this.#vmIndex.set(project, vms);
      this.#textBytes += Buffer.byteLength(project);
    }
    const known = vms.get(vm);
    if (known !== undefined) return known;
    this.#textBytes += Buffer.byteLength(vm);
    vms.set(vm, this.#vms.length);
    return this.#vms.push({ project, vm }) - 1;
  }

  #stringOf(text: string): number {
    const known = this.#stringIndex.get(text);
    if (known !== undefined) return known;
    this.#textBytes += Buffer.byteLength(text);
    this.#stringIndex.set(text, this.#strings.length);
    return this.#strings.push(text) - 1;
  }

  #layoutOf(series: readonly SeriesKey[]): number {
    const { layout, bytes } = this.#internLayout(series);
    const known = this.#layoutIndex.get(layout);
    if (known !== undefined) return known;
    this.#textBytes += bytes;
    this.#layoutIndex.set(layout, this.#layouts.length);
    return this.#layouts.push(layout) - 1;
  }

  #internLayout(series: readonly SeriesKey[]): KnownLayout {
    const same = this.#layoutBySeries.get(series);
    if (same !== undefined) return same;
    const key = series.join(SEPARATOR);
    let known = this.#layoutByKey.get(key);
    if (known === undefined) {
      this.#layoutCharacters += key.length;
      const isMuch = this.#layoutCharacters > LAYOUT_CHARACTERS_MAX;
      if (isMuch || this.#layoutByKey.size >= LAYOUTS_KEPT_MAX) {
        this.#layoutByKey.clear();
        this.#layoutBySeries = new WeakMap();
        this.#layoutCharacters = key.length;
      }
      known = { layout: { series: [...series] }, bytes: Buffer.byteLength(key) };
      this.#layoutByKey.set(key, known);
    }
    this.#layoutBySeries.set(series, known);
    return known;
  }

  #appendFinite(values: ArrayLike<number>, series: readonly SeriesKey[]): void {
    const count = this.#valueCount;
    this.#growValues(count + values.length);
    const all = this.#values;
    for (let i = 0; i < values.length; i++) {
      const value = values[i] as number;
      if (!Number.isFinite(value)) throw new RangeError(`Value of ${series[i]} is not finite`);
      all[count + i] = value;
    }
    this.#valueCount = count + values.length;
  }

  #appendValues(values: ArrayLike<number>): void {
    this.#growValues(this.#valueCount + values.length);
    this.#values.set(values, this.#valueCount);
    this.#valueCount += values.length;
  }

  #growValues(wanted: number): void {
    if (wanted <= this.#values.length) return;
    const grown = new Float64Array(Math.max(wanted, this.#values.length * 2));
    grown.set(this.#values.subarray(0, this.#valueCount));
    this.#values = grown;
  }
}

/** The columns of a batch with one entry per row, growing together. */
class RowColumns {
  count = 0;
  #capacity = 16;
  vm = new Uint32Array(16);
  layout = new Uint32Array(16);
  observedMs = new Float64Array(16);
  sequence = new Float64Array(16);
  boot = new Uint32Array(16);
  vcpus = new Float64Array(16);
  state = new Uint8Array(16);
  stateReason = new Uint32Array(16);
  /** End of the row's values; they begin at the end of the previous row's. */
  valueEnd = new Uint32Array(16);

  /** Index of a new row. */
  next(): number {
    if (this.count === this.#capacity) this.#grow();
    return this.count++;
  }

  /** Copies of the columns, trimmed to the number of rows; the rows are removed. */
  take(): Omit<SampleBatch, 'count' | 'receivedMs' | 'vms' | 'layouts' | 'strings' | 'values'> {
    const count = this.count;
    this.count = 0;
    const valueOffset = new Uint32Array(count + 1);
    valueOffset.set(this.valueEnd.subarray(0, count), 1);
    return {
      vm: this.vm.slice(0, count),
      layout: this.layout.slice(0, count),
      observedMs: this.observedMs.slice(0, count),
      sequence: this.sequence.slice(0, count),
      boot: this.boot.slice(0, count),
      vcpus: this.vcpus.slice(0, count),
      state: this.state.slice(0, count),
      stateReason: this.stateReason.slice(0, count),
      valueOffset,
    };
  }

  #grow(): void {
    const size = this.#capacity * 2;
    this.#capacity = size;
    this.vm = grown32(this.vm, size);
    this.layout = grown32(this.layout, size);
    this.observedMs = grown64(this.observedMs, size);
    this.sequence = grown64(this.sequence, size);
    this.boot = grown32(this.boot, size);
    this.vcpus = grown64(this.vcpus, size);
    const state = new Uint8Array(size);
    state.set(this.state);
    this.state = state;
    this.stateReason = grown32(this.stateReason, size);
    this.valueEnd = grown32(this.valueEnd, size);
  }
}

function grown32(column: Uint32Array, size: number): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(size);
  grown.set(column);
  return grown;
}

function grown64(column: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(size);
  grown.set(column);
  return grown;
}
