/**
 * The series `ALERTS` and `ALERTS_FOR_STATE` of one project, as Prometheus writes them for its own
 * rules. They are built for each query from the records of incidents and the runs that are below
 * firing now. Nothing is invented: a run that never fired left no record and has no series once it
 * is over.
 */
import { recordsOf } from '../../../../actors/platform/host/host-port.ts';
import type { RecordReader } from '../../../../sqlite/platform/control/record-reader.ts';
import { parseLabels } from '../../../../streams/telemetry/samples/batch.ts';
import type { Budget } from '../../promql/budget.ts';
import type { Matcher } from '../../promql/matcher.ts';
import type { Selection, StoredSeries } from '../../promql/series-source.ts';
import { type LabelPair, Labels, STORED_SERIES_BYTES } from '../../promql/values.ts';

/** Name of the series with value 1 while an alert is pending or firing. */
const ALERTS = 'ALERTS';
/** Name of the series whose value is the time at which the alert became active, Unix seconds. */
const ALERTS_FOR_STATE = 'ALERTS_FOR_STATE';

/** Facts of an alert from which its labels are made. */
export interface AlertFacts {
  /** Rule id: two rules may share a name. */
  readonly rule: string;
  readonly ruleDisplayName: string;
  readonly severity: string;
  readonly ruleLabels?: Readonly<Record<string, string>>;
  /** '' for a condition of a whole data center. */
  readonly vm: string;
  readonly datacenter: string;
  /** Canonical label part of the watched series, '' or `{mountpoint="/"}`. */
  readonly labels: string;
}

/** An alert whose condition holds, but not for long enough yet. */
export interface PendingAlert extends AlertFacts {
  /** First breaching observation, Unix ms. */
  readonly sinceMs: number;
}

/** Names of VMs for the label `vm_name`; '' = unknown. */
export type VmNameOf = (vm: string) => string;

/**
 * Labels of an alert, without `__name__` and `alertstate`. Labels that identify the alert take
 * precedence over labels of the rule with the same name.
 */
export function alertLabels(project: string, alert: AlertFacts, vmName: VmNameOf): LabelPair[] {
  return [
    ...Object.entries(alert.ruleLabels ?? {}),
    ...Object.entries(parseLabels(alert.labels)),
    ['alertname', alert.ruleDisplayName],
    ['severity', alert.severity.toLowerCase()],
    ['rule', alert.rule],
    ['project', project],
    ['vm', alert.vm],
    ['vm_name', alert.vm === '' ? '' : vmName(alert.vm)],
    ['datacenter', alert.datacenter],
  ];
}

/** True if an expression names alert series, so that runs below firing must be collected. */
export function asksForAlerts(expression: string): boolean {
  return expression.includes(ALERTS);
}

export interface AlertSeriesOptions {
  readonly project: string;
  readonly records: Pick<RecordReader, 'read'>;
  readonly pending: readonly PendingAlert[];
  readonly vmName: VmNameOf;
  /** Earliest time of a sample, Unix ms. */
  readonly retainedFromMs: number;
  /** Latest time of a sample, Unix ms. */
  readonly nowMs: number;
}

/** Interval at which Prometheus would write samples, ms; far below every lookback. */
const SAMPLE_MS = 30_000;
/** Size of a sample: time, value, stale marker. */
const SAMPLE_BYTES = 17;

/** A time range in which a series has one value; after its end the series is stale. */
interface Stretch {
  readonly fromMs: number;
  /** Exclusive; `Infinity` while it lasts. */
  readonly toMs: number;
  readonly value: number;
}

interface AlertSeriesOf {
  readonly labels: Labels;
  /** In order of time; they do not overlap. */
  readonly stretches: Stretch[];
}

/** Built for one query and read at the first selector that can match an alert. */
export class AlertSeries {
  readonly #options: AlertSeriesOptions;
  #series: readonly AlertSeriesOf[] | undefined;

  constructor(options: AlertSeriesOptions) {
    this.#options = options;
  }

  /** Throws `PromqlError` if the samples exceed the limit of a query. */
  select({ matchers, afterMs, throughMs }: Selection, budget: Budget): readonly StoredSeries[] {
    const { retainedFromMs, nowMs } = this.#options;
    const fromMs = Math.max(afterMs + 1, retainedFromMs);
    const toMs = Math.min(throughMs, nowMs);
    const found: StoredSeries[] = [];
    for (const { labels, stretches } of this.#matching(matchers)) {
      budget.takeWork();
      const run = sampled(stretches, { fromMs, toMs }, budget);
      if (run.timesMs.length === 0) continue;
      budget.takeBytes(STORED_SERIES_BYTES);
      found.push({ labels, runs: [run] });
    }
    return found;
  }

  /** Label sets of series with a sample in the time range, both ends inclusive. */
  labelSets(
    matchers: readonly Matcher[],
    { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
    budget: Budget,
  ): readonly Labels[] {
    const from = Math.max(fromMs, this.#options.retainedFromMs);
    const matching = this.#matching(matchers).filter(({ stretches }) =>
      stretches.some((each) => each.fromMs <= toMs && each.toMs > from),
    );
    budget.takeWork(matching.length);
    budget.takeBytes(matching.length * STORED_SERIES_BYTES);
    return matching.map(({ labels }) => labels);
  }

  #matching(matchers: readonly Matcher[]): readonly AlertSeriesOf[] {
    const ofName = matchers.filter(({ label }) => label === '__name__');
    const isRequested = (name: string) => ofName.every((matcher) => matcher.matches(name));
    if (!isRequested(ALERTS) && !isRequested(ALERTS_FOR_STATE)) return [];
    this.#series ??= seriesOf(this.#options);
    return this.#series.filter(({ labels }) =>
      matchers.every((matcher) => matcher.matches(labels.get(matcher.label))),
    );
  }
}

function seriesOf(options: AlertSeriesOptions): AlertSeriesOf[] {
  const { project, records, pending, vmName } = options;
  const all = new Map<string, AlertSeriesOf>();
  const add = (pairs: readonly LabelPair[], stretch: Stretch): void => {
    if (stretch.toMs <= stretch.fromMs) return;
    const labels = Labels.of(pairs);
    const series = all.get(labels.key) ?? { labels, stretches: [] };
    all.set(labels.key, series);
    series.stretches.push(stretch);
  };
  const addAlert = (facts: AlertFacts, sinceMs: number, firedMs: number, endMs: number): void => {
    const pairs = alertLabels(project, facts, vmName);
    const ofState = (alertstate: string): LabelPair[] => [
      ...pairs,
      ['__name__', ALERTS],
      ['alertstate', alertstate],
    ];
    add(ofState('pending'), { fromMs: sinceMs, toMs: Math.min(firedMs, endMs), value: 1 });
    add(ofState('firing'), { fromMs: firedMs, toMs: endMs, value: 1 });
    const active = { fromMs: sinceMs, toMs: endMs, value: Math.floor(sinceMs / 1000) };
    add([...pairs, ['__name__', ALERTS_FOR_STATE]], active);
  };
  for (const { body } of recordsOf(records, project, 'incident')) {
    const facts = { ...body, datacenter: body.datacenter ?? body.vmDatacenter ?? '' };
    const endMs = body.recoveredMs ?? body.retiredMs ?? Number.POSITIVE_INFINITY;
    addAlert(facts, body.startedMs, body.firedMs, endMs);
  }
  const never = Number.POSITIVE_INFINITY;
  for (const alert of pending) addAlert(alert, alert.sinceMs, never, never);
  for (const { stretches } of all.values()) stretches.sort((a, b) => a.fromMs - b.fromMs);
  return [...all.values()];
}

/** Samples at the start of each range and on a grid of 30 s, and a stale marker at its end. */
function sampled(
  stretches: readonly Stretch[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  budget: Budget,
) {
  const times: number[] = [];
  const values: number[] = [];
  const stale: number[] = [];
  const add = (timeMs: number, value: number, isStale: boolean): void => {
    // Late samples can move the start of an incident before the end of the previous one.
    if (timeMs < fromMs || timeMs > toMs || timeMs <= (times.at(-1) ?? -1)) return;
    times.push(timeMs);
    values.push(value);
    stale.push(isStale ? 1 : 0);
  };
  for (const stretch of stretches) {
    if (stretch.toMs < fromMs || stretch.fromMs > toMs) continue;
    add(stretch.fromMs, stretch.value, false);
    const endMs = Math.min(stretch.toMs, toMs + 1);
    const firstMs = Math.max(stretch.fromMs + 1, fromMs);
    for (let ms = Math.ceil(firstMs / SAMPLE_MS) * SAMPLE_MS; ms < endMs; ms += SAMPLE_MS) {
      add(ms, stretch.value, false);
    }
    if (Number.isFinite(stretch.toMs)) add(stretch.toMs, Number.NaN, true);
  }
  budget.takeWork(times.length);
  budget.takeBytes(times.length * SAMPLE_BYTES);
  return {
    timesMs: Float64Array.from(times),
    values: Float64Array.from(values),
    stale: Uint8Array.from(stale),
  };
}
