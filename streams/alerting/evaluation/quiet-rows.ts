/**
 * Stored rows that cannot change any instance of a rule on one VM, so that an evaluation leaves
 * them out. The values of all rows are derived at once, by the rule that the fold uses.
 *
 *     idle                         rows that do not breach
 *     firing, its incident open    rows that do not count towards recovery
 *
 * Any other instance is folded row by row. Before the next row that can matter, the fold continues
 * a gap tolerance earlier, because a value depends on an earlier observation only within that time.
 *
 * The power state of a VM decides whether its rows count at all. So rows that report another state
 * than running, and those shortly after them, are always folded.
 */
import { type EvaluationRule, GAP_TOLERANCE_MS } from '../../telemetry/entry.ts';
import { type Derivation, metricCatalogue } from '../../telemetry/metrics/catalogue.ts';
import { inputsOf, powerOf } from '../../telemetry/metrics/derive.ts';
import { observe } from '../../telemetry/metrics/derive-columns.ts';
import type { VmColumns } from '../../telemetry/samples/columns.ts';
import { type Instance, openIncident } from './instance.ts';
import { GOOD, isBreach, isGood, NONE, unevaluable } from './timeline.ts';

/** The row has a value; it breaches; it counts towards recovery. */
const VALUE = 1;
const BREACHES = 2;
const RECOVERS = 4;

const NO_FLAGS = new Uint8Array(0);

/** The rule and the rows of one VM. */
export interface QuietRowsOptions {
  readonly rule: EvaluationRule;
  readonly columns: VmColumns;
  /** true: each label set is observed at least once, and so has an instance. Default false. */
  readonly withInstances?: boolean;
}

/** The rows of one VM that can be left out, given the state of its instances. */
export class QuietRows {
  readonly #timesMs: Float64Array;
  /** 1 = always folded. */
  readonly #kept: Uint8Array;
  readonly #series = new Map<string, SeriesRows>();
  readonly #keptRows: NextRow;
  readonly #withInstances: boolean;

  constructor(derivation: Derivation, { rule, columns, withInstances = false }: QuietRowsOptions) {
    this.#timesMs = columns.timesMs;
    this.#kept = notRunning(columns);
    this.#withInstances = withInstances;
    const keys = [...columns.series.keys()];
    for (const input of inputsOf(derivation, keys)) {
      const flags = new Uint8Array(columns.timesMs.length);
      let isFirst = withInstances;
      observe(columns, { derivation, keys, input }, ({ i, value, out }) => {
        // Without the row before it, the value of such a row would count.
        if (isFirst || out.capacityChanged) this.#kept[i] = 1;
        isFirst = false;
        if (Number.isNaN(value)) return;
        const breaches = isBreach(rule, value);
        flags[i] = VALUE | (breaches ? BREACHES : 0) | (isGood(rule, value) ? RECOVERS : 0);
      });
      this.#series.set(input.labels, new SeriesRows(flags));
    }
    this.#keptRows = new NextRow(this.#kept, 1);
  }

  /** First row before `end` that the fold of the past needs; it begins without any state. */
  pastFrom(end: number): number {
    if (this.#withInstances || end === 0) return 0;
    let stop = Math.min(this.#keptRows.from(0), end - 1);
    for (const { breaches } of this.#series.values()) stop = Math.min(stop, breaches.from(0));
    return this.#reaching(stop);
  }

  /** The row to fold after row `i` (-1: none), given the instances as of then. */
  after(i: number, instances: Iterable<Instance>): number {
    const next = i + 1;
    if (next >= this.#timesMs.length || this.#kept[i] === 1) return next;
    let stop = Math.min(this.#keptRows.from(next), this.#timesMs.length - 1);
    const firing = new Set<string>();
    for (const instance of instances) {
      const { phase, firing: isFiring } = instance.current;
      const isOpen = openIncident(instance) !== undefined;
      if (isFiring !== isOpen || (isFiring ? phase === GOOD : phase !== NONE)) return next;
      if (isFiring) firing.add(instance.buffer.labels);
    }
    for (const [labels, { breaches, recovers }] of this.#series) {
      stop = Math.min(stop, (firing.has(labels) ? recovers : breaches).from(next));
    }
    const first = this.#reaching(stop);
    const lastMs = this.#timesMs[i] ?? Number.NEGATIVE_INFINITY;
    const isSevered = (this.#timesMs[first] ?? 0) - lastMs > GAP_TOLERANCE_MS;
    return first > next && isSevered ? first : next;
  }

  /** True if the metric has a value in row `i`; undefined: the fold decides. */
  hasValue(i: number): boolean | undefined {
    if (this.#kept[i] === 1) return undefined;
    for (const { flags } of this.#series.values()) if (flags[i]) return true;
    return false;
  }

  /** Times of the values of one label set from row `first` on, except where the fold decides. */
  valueTimes(labels: string, first: number): number[] {
    const { flags = NO_FLAGS } = this.#series.get(labels) ?? {};
    const timesMs: number[] = [];
    for (let i = first; i < flags.length; i++) {
      if (flags[i] && this.#kept[i] === 0) timesMs.push(this.#timesMs[i] ?? 0);
    }
    return timesMs;
  }

  /** The first row within the tolerance before row `i`. */
  #reaching(i: number): number {
    const fromMs = (this.#timesMs[i] ?? 0) - GAP_TOLERANCE_MS;
    let first = i;
    while (first > 0 && (this.#timesMs[first - 1] ?? 0) >= fromMs) first--;
    return first;
  }
}

/**
 * The rows of a rule that may be left out; undefined if it cannot be evaluated, or evaluates
 * silence.
 */
export function quietRows(options: QuietRowsOptions): QuietRows | undefined {
  const { rule } = options;
  const derivation = metricCatalogue.get(rule.metricId)?.derivation;
  if (derivation === undefined || derivation.from === 'age') return undefined;
  return unevaluable(rule) === undefined ? new QuietRows(derivation, options) : undefined;
}

/**
 * 1 for rows of another state than running, and those after them: within a tolerance a row may not
 * count, and within another one the row before it may not.
 */
function notRunning({ timesMs, state }: VmColumns): Uint8Array {
  const rows = new Uint8Array(timesMs.length);
  let lastMs = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < rows.length; i++) {
    const timeMs = timesMs[i] ?? 0;
    const power = powerOf({ state: state[i] ?? 0 });
    if (power !== 'RUNNING' && power !== 'UNREPORTED') lastMs = timeMs;
    if (timeMs - lastMs <= 2 * GAP_TOLERANCE_MS) rows[i] = 1;
  }
  return rows;
}

/** One label set. */
class SeriesRows {
  readonly flags: Uint8Array;
  readonly breaches: NextRow;
  readonly recovers: NextRow;

  constructor(flags: Uint8Array) {
    this.flags = flags;
    this.breaches = new NextRow(flags, BREACHES);
    this.recovers = new NextRow(flags, RECOVERS);
  }
}

/** Search for rows with a flag. Requested rows increase, so the search reads each row once. */
class NextRow {
  readonly #flags: Uint8Array;
  readonly #flag: number;
  #next = -1;

  constructor(flags: Uint8Array, flag: number) {
    this.#flags = flags;
    this.#flag = flag;
  }

  /** First such row at or after `i`; Infinity: none. */
  from(i: number): number {
    if (this.#next >= i) return this.#next;
    let next = i;
    while (next < this.#flags.length && ((this.#flags[next] ?? 0) & this.#flag) === 0) next++;
    this.#next = next < this.#flags.length ? next : Number.POSITIVE_INFINITY;
    return this.#next;
  }
}
