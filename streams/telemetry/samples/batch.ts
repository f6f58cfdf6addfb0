/**
 * Samples in memory: columns, not objects. A VM's readings arrive as a *row* (one observation
 * time, about a dozen values); a batch holds rows of many VMs and projects side by side. Ingest
 * builds batches, the stream carries them encoded, evaluator and history read them.
 *
 * Absent is absent: a row carries only what was observed, every value is finite.
 *
 * A series key is the one spelling of a series: labels are sorted by name and values escaped as in
 * Prometheus's text format, so that equal series are equal strings. Two spellings of one series would
 * be two series in history. Label names follow Prometheus's rules: a letter or an underscore, then
 * digits too. Names with a leading double underscore are Prometheus's own, and those that identify the
 * VM are ours.
 */
import { Buffer } from 'node:buffer';

/** Canonical key of a series within a VM: `name` or `name{label="value",...}`, labels sorted. */
export type SeriesKey = string;

/** Which series a row has, in order. Interned: equal lists are the same object within a batch. */
export interface Layout {
  readonly series: readonly SeriesKey[];
}

/** A VM by the ids that the log uses. */
export interface VmRef {
  /** Project id, e.g. `demo` (never the full resource name). */
  readonly project: string;
  /** VM id: the libvirt domain UUID, or a hash of this host's machine-id. */
  readonly vm: string;
}

/** Hypervisor's word on a VM; the code is stored. UNKNOWN = the source did not say. */
export const VM_STATES = ['UNKNOWN', 'RUNNING', 'PAUSED', 'STOPPED', 'CRASHED'] as const;
/** One of `VM_STATES`. Batches hold its index there. */
export type VmState = (typeof VM_STATES)[number];

/**
 * A batch of rows as columns; arrays of length `count` unless said otherwise. Times are Unix ms.
 * Row i has the values `values[valueOffset[i] .. valueOffset[i + 1])`, one for each series of
 * `layouts[layout[i]]`.
 */
export interface SampleBatch {
  readonly count: number;
  /** When ingest received it, Unix ms. */
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
  /** The source's own counter of rows since its boot; orders rows when its clock goes back. */
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

/** A label's value as it stands between the quotes of a key, and of an exposition line. */
export function escapeValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function unescapeValue(value: string): string {
  return value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}

const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]{0,127}$/;
const RESERVED_LABELS: ReadonlySet<string> = new Set(['project', 'vm', 'vm_name', 'datacenter']);

/** Is it a name of a label, perhaps of a reserved one? */
export function isLabelName(name: string): boolean {
  return LABEL_NAME.test(name);
}

/** May a sender of samples, or a rule, have a label of this name? */
export function isFreeLabelName(name: string): boolean {
  return isLabelName(name) && !name.startsWith('__') && !RESERVED_LABELS.has(name);
}

/** Of a key, where values are escaped: a break is written `\n`, and a backslash `\\`. */
const BAD_IN_KEY = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]|(?<!\\)(?:\\\\)*\\n/u;
const PLAIN_KEY = /^[ -[\]-~]*$/;

/**
 * Has every label of the key a value that stays one line, in text formats, tables and mails? Without
 * controls (CR, LF, NUL), separators, bidirectional controls and halves of surrogate pairs.
 */
export function hasPlainValues(key: SeriesKey): boolean {
  return PLAIN_KEY.test(key) || !BAD_IN_KEY.test(key);
}

/** A series key taken apart: the name, and its canonical label part ('' or `{a="b"}`). */
export function splitSeriesKey(key: SeriesKey): { name: string; labels: string } {
  const brace = key.indexOf('{');
  return brace < 0
    ? { name: key, labels: '' }
    : { name: key.slice(0, brace), labels: key.slice(brace) };
}

/** One row before it is in a batch. Times are Unix ms. */
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
  /** As many as `values`; handing in the same array object again is the fast way. */
  readonly series: readonly SeriesKey[];
  /** Finite numbers only: anything else is our own bug, ingest refuses such samples. */
  readonly values: ArrayLike<number>;
}

/** A layout, and bytes of its series keys. */
interface KnownLayout {
  readonly layout: Layout;
  readonly bytes: number;
}

/** Layouts remembered across batches; beyond it they are forgotten. */
const LAYOUTS_KEPT_MAX = 20_000;
/** And characters of their series keys: usual layouts of a fleet take a few thousand. */
const LAYOUT_CHARACTERS_MAX = 4 * 1024 * 1024;
/** No series key holds this character, which therefore joins them unambiguously. */
const SEPARATOR = '\n';

/**
 * One growing batch: rows and whole batches are added, `build` makes a batch of them. Ingest merges
 * the rows of a few milliseconds this way: adding a row is a handful of array writes. Names are
 * interned, layouts across batches too, so that the history's head sees the same layout object again
 * and again.
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

  /** Rows so far. */
  get count(): number {
    return this.#rows.count;
  }

  /** Samples so far. */
  get samples(): number {
    return this.#valueCount;
  }

  /**
   * Rough size of the batch once encoded, without what `textBytes` counts, bytes: what a limit of
   * merging compares.
   */
  get approximateBytes(): number {
    return this.#valueCount * 6 + this.#rows.count * 12 + this.#vms.length * 24;
  }

  /**
   * Bytes of the names, texts and series keys that the batch holds once each. Usual ones are encoded
   * in a tenth of that; those of a hostile sender are not.
   */
  get textBytes(): number {
    return this.#textBytes;
  }

  /** Adds one row. Throws `RangeError` when a value is not finite or counts do not match. */
  add(row: Row): void {
    this.addTo(row.project, row);
  }

  /** As `add`, for a row that does not itself say whose it is. */
  addTo(project: string, row: Omit<Row, 'project'>): void {
    const { values, series } = row;
    if (values.length !== series.length) {
      throw new RangeError(`A row has ${values.length} values for ${series.length} series`);
    }
    // Values first: they throw before anything of the row is in.
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

  /** Adds all rows of a batch, in their order. Its receive time is not kept. */
  append(batch: SampleBatch): void {
    const vms = batch.vms.map((ref) => this.#vmOf(ref.project, ref.vm));
    const layouts = batch.layouts.map((layout) => this.#layoutOf(layout.series));
    const strings = batch.strings.map((text) => this.#stringOf(text));
    const rows = this.#rows;
    const base = this.#valueCount;
    this.#appendValues(batch.values);
    for (let from = 0; from < batch.count; from++) {
      const i = rows.next();
      // Casts below: every index of a batch is in range, which the codec and this class guarantee.
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
   * @param receivedMs when ingest received it, Unix ms
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

/** The columns of a batch that have one entry a row, growing together. */
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
  /** Where the row's values end; they begin where those of the row before end. */
  valueEnd = new Uint32Array(16);

  /** Index of a new row. */
  next(): number {
    if (this.count === this.#capacity) this.#grow();
    return this.count++;
  }

  /** Copies of the columns, cut to length; the rows are gone afterwards. */
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
