/**
 * `metadata`: type, help and unit of the metrics that the project has series of. What they mean is
 * in one table for everybody; which of them are listed comes from the project's own series.
 */
import {
  type SeriesDescriptor,
  seriesCatalogue,
} from '../../../streams/telemetry/metrics/series-catalogue.ts';
import { PromqlError } from '../promql/errors.ts';
import type { Parameters } from './parameters.ts';

export interface MetadataLimits {
  /** Metrics at most; negative = all. */
  readonly limit: number;
  /** '' = all. */
  readonly metric: string;
}

type Metadata = Pick<SeriesDescriptor, 'unit' | 'help'> & {
  readonly type: SeriesDescriptor['type'] | 'unknown';
};

/** Throws `PromqlError` bad_data, in Prometheus's words. */
export function metadataLimits(parameters: Parameters): MetadataLimits {
  const limit = numberOf(parameters, 'limit');
  // Each metric has one entry here, so no number of them per metric leaves any out.
  numberOf(parameters, 'limit_per_metric');
  return { limit, metric: parameters.get('metric') };
}

/** `names`: of the project's metrics. */
export function metadataOf(
  names: readonly string[],
  { limit, metric }: MetadataLimits,
): Record<string, readonly Metadata[]> {
  const asked = metric === '' ? names : names.filter((name) => name === metric);
  const kept = limit < 0 ? asked : asked.slice(0, limit);
  return Object.fromEntries(kept.map((name) => [name, [entryOf(name)]]));
}

function entryOf(name: string): Metadata {
  const known = seriesCatalogue.get(name);
  if (known === undefined) return { type: 'unknown', help: '', unit: '' };
  return { type: known.type, help: known.help, unit: known.unit };
}

function numberOf(parameters: Parameters, name: string): number {
  const text = parameters.get(name);
  if (text === '') return -1;
  if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
  throw new PromqlError('bad_data', `${name} must be a number`);
}
