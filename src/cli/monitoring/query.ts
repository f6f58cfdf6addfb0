/**
 * `svc monitoring query`: the history of a VM's metrics, one row per step and one column per
 * series. The quality always comes first; a step without an observation is shown as such.
 */
import { create } from '@bufbuild/protobuf';
import {
  MonitoringService,
  type Quality,
  Quality_State,
  type QueryVMMonitoringResponse,
  type Series,
  SeriesSchema,
} from '../../gen/svc/monitoring/v1/monitoring_pb.ts';
import { type Action, type ActionContext, projectOption } from '../client/action.ts';
import type { Option } from '../client/arguments.ts';
import { UsageError } from '../client/faults.ts';
import { ofFirst, reads } from '../client/frames.ts';
import { facts, table } from '../client/output.ts';
import { enumText, localTime, NOT_OBSERVED } from '../client/texts.ts';

const RANGE_SECONDS_DEFAULT = 3_600;
/** Round steps; the first that yields a screenful of rows is used. */
const STEPS = [30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400];
const ROWS_WANTED = 60;

/** A time range, given by its ends or by its length up to now. */
export const rangeOptions: readonly Option[] = [
  { name: 'last', takes: 'DURATION', help: 'Range up to now, such as 6h; default 1h' },
  { name: 'start', takes: 'TIME', help: 'Start of the range: ISO time or Unix seconds' },
  { name: 'end', takes: 'TIME', help: 'End of the range; default now' },
  {
    name: 'step',
    takes: 'DURATION',
    help: 'At least 30s; default: a step that gives about 60 rows',
  },
];

export interface Range {
  readonly startUnix: number;
  readonly endUnix: number;
  readonly stepSeconds: number;
}

/** The range on the command line. Throws `UsageError`. */
export function rangeOf({ input, ports }: ActionContext): Range {
  if (input.isOn('last') && input.isOn('start')) {
    throw new UsageError('--last and --start cannot be combined');
  }
  const endUnix = input.time('end') ?? Math.floor(ports.clock.now() / 1000);
  const lastSeconds = input.seconds('last') ?? RANGE_SECONDS_DEFAULT;
  const startUnix = input.time('start') ?? endUnix - lastSeconds;
  if (startUnix > endUnix) throw new UsageError('The start is after the end');
  const fitting = STEPS.find((step) => (endUnix - startUnix) / step <= ROWS_WANTED);
  return { startUnix, endUnix, stepSeconds: input.seconds('step') ?? fitting ?? 86_400 };
}

const vmOf = ofFirst('vms');

export const queryAction: Action = {
  name: 'query',
  summary: 'Show the history of a VM',
  positionals: [{ name: 'VM' }],
  options: [
    {
      name: 'metric',
      takes: 'ID',
      multiple: true,
      help: 'Metric id; default cpu_utilization_pct and memory_used_bytes',
    },
    ...rangeOptions,
    { name: 'extremes', help: 'Also show the minimum and maximum of each step' },
    projectOption,
  ],
  notes: `"${NOT_OBSERVED}" means a step without an observation; it is not zero. Times are the ends of steps.`,
  run: reads({
    caller: 'any',
    method: MonitoringService.method.queryVMMonitoring,
    async request(context, api) {
      const { input } = context;
      const { startUnix, endUnix, stepSeconds } = rangeOf(context);
      const metrics = input.list('metric');
      return {
        ...(await vmOf(context, api)),
        metricIds: metrics.length > 0 ? [...metrics] : ['cpu_utilization_pct', 'memory_used_bytes'],
        startTimeUnix: BigInt(startUnix),
        endTimeUnix: BigInt(endUnix),
        stepSeconds,
        withExtremes: input.isOn('extremes'),
      };
    },
    text: (answer) => `${qualityText(answer)}\n${seriesTable(answer)}`,
  }),
};

function qualityText({
  quality,
  startTimeUnix,
  endTimeUnix,
  stepSeconds,
}: QueryVMMonitoringResponse) {
  const bounds = `${localTime(startTimeUnix)} to ${localTime(endTimeUnix)}, every ${stepSeconds} s`;
  if (!quality)
    return facts([
      ['range', bounds],
      ['quality', 'unknown'],
    ]);
  return facts([
    ['range', bounds],
    ['quality', `${enumText(Quality_State, quality.state)}${reasonsOf(quality)}`],
    ['last observed', localTime(quality.lastObservedUnix) || 'never'],
    ['data center', quality.datacenterState],
    ['samples', `${quality.observedSamples} of ${quality.expectedSamples} expected`],
    ...quality.metrics.map(({ metricId, state, reason, help }) => {
      const why = reason === '' ? '' : ` (${reason})`;
      const next = help === '' ? '' : `: ${help}`;
      return [metricId, `${enumText(Quality_State, state)}${why}${next}`] as const;
    }),
    ...quality.impossible.map(({ metricId, labels, timeUnix, value }) => {
      const name = titleOf({ metricId, unit: '', labels });
      return ['impossible', `${name} was ${valueText(value)} at ${localTime(timeUnix)}`] as const;
    }),
    ...quality.gaps.map(({ startUnix, endUnix, reason }) => {
      return ['gap', `${localTime(startUnix)} to ${localTime(endUnix)}: ${reason}`] as const;
    }),
  ]);
}

function reasonsOf({ reasons }: Quality): string {
  return reasons.length === 0 ? '' : `: ${reasons.join(', ')}`;
}

function seriesTable(answer: QueryVMMonitoringResponse): string {
  const series = [...answer.series, ...unobserved(answer)];
  const valuesOf = series.map(
    ({ points }) => new Map(points.map(({ timeUnix, value }) => [timeUnix, value])),
  );
  const times = [...new Set(valuesOf.flatMap((values) => [...values.keys()]))];
  times.sort((a, b) => (a < b ? -1 : 1));
  const columns = series.map((one) => ({ title: titleOf(one), align: 'right' as const }));
  const rows = times.map((time) => [
    localTime(time),
    ...valuesOf.map((values) => valueText(values.get(time))),
  ]);
  return table(['time', ...columns], rows, 'No observations in this range');
}

/** Requested metrics without series: empty columns rather than no columns. */
function unobserved({ series, quality }: QueryVMMonitoringResponse): Series[] {
  const silent = (quality?.metrics ?? []).filter(
    ({ metricId }) => !series.some((one) => one.metricId === metricId),
  );
  return silent.map(({ metricId }) => create(SeriesSchema, { metricId }));
}

function titleOf({ metricId, unit, labels }: Pick<Series, 'metricId' | 'unit' | 'labels'>): string {
  const named = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [metricId, ...named, unit && `[${unit}]`].filter(Boolean).join(' ');
}

function valueText(value: number | undefined): string {
  if (value === undefined) return NOT_OBSERVED;
  return Number.isInteger(value) ? String(value) : value.toPrecision(6);
}
