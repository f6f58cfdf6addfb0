/**
 * Possible readings of a series: never below zero, never above its bound. An impossible one stays
 * stored, and every reader treats it as absent (MEAS-12). The bounds are those of `derive.ts`, for
 * readers of the series themselves: PromQL and exports.
 */
import { type SeriesKey, splitSeriesKey } from '../samples/batch.ts';
import { type Derivation, metricCatalogue } from './catalogue.ts';
import { CAPACITY_FACTOR_MAX, PERCENT_ROUNDING } from './derive.ts';

/** Largest possible value: `max` itself, or `max` times the series `of` with the same labels. */
export interface SeriesBound {
  readonly max: number;
  readonly of?: SeriesKey;
}

const bounds: ReadonlyMap<string, SeriesBound> = new Map(
  [...metricCatalogue.values()].flatMap(({ derivation }) => boundOf(derivation)),
);

function boundOf(derivation: Derivation): [string, SeriesBound][] {
  switch (derivation.from) {
    case 'gauge': {
      const { series, atMost } = derivation;
      if (atMost === undefined) return [[series, { max: Number.POSITIVE_INFINITY }]];
      return [[series, { max: 1 + PERCENT_ROUNDING / 100, of: atMost }]];
    }
    case 'utilization':
      return [[derivation.gauge, { max: 100 * CAPACITY_FACTOR_MAX }]];
    case 'memoryUsed': {
      const of = 'svc_vm_memory_total_bytes';
      return [['svc_vm_memory_used_bytes', { max: CAPACITY_FACTOR_MAX, of }]];
    }
    case 'running':
      return [[derivation.series, { max: 1 }]];
    default:
      return [];
  }
}

/** The bound of a series; undefined: it is not a gauge of the catalogue and is not checked. */
export function seriesBound(key: SeriesKey): SeriesBound | undefined {
  const { name, labels } = splitSeriesKey(key);
  const bound = bounds.get(name);
  return bound?.of === undefined || labels === '' ? bound : { ...bound, of: bound.of + labels };
}

/** @param other reading of the bound's `of` at that time; NaN: none, so the value is unbounded */
export function isPossible(value: number, { max, of }: SeriesBound, other: number): boolean {
  return !(value < 0 || value > (of === undefined ? max : max * other));
}
