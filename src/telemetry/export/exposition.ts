/**
 * A shard as text: Prometheus's text format 0.0.4, or OpenMetrics 1.0. Lines of one metric are
 * adjacent, so VMs are added one after another and written metric by metric at the end. Values are
 * the shortest decimals that read back as the stored double; times are those of the observations.
 *
 * https://prometheus.io/docs/instrumenting/exposition_formats,
 * https://prometheus.io/docs/specs/om/open_metrics_spec
 */
import {
  type SeriesDescriptor,
  seriesCatalogue,
} from '../../../streams/telemetry/metrics/series-catalogue.ts';
import {
  escapeValue,
  type SeriesKey,
  splitSeriesKey,
} from '../../../streams/telemetry/samples/batch.ts';
import { acceptedRanges } from '../../platform/http/negotiation.ts';

/** `text` is Prometheus's text format; `openmetrics` is for clients that accept it. */
export type ExpositionFormat = 'text' | 'openmetrics';

/** The `content-type` of each format, with its version. */
export const CONTENT_TYPE: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** The VM of the samples: the labels of all its series. */
export interface ExportedVm {
  readonly project: string;
  readonly vm: string;
  readonly displayName: string;
  readonly datacenter: string;
}

/** One sample of a series; time in Unix ms. */
export interface ExportedSample {
  readonly key: SeriesKey;
  readonly timeMs: number;
  readonly value: number;
}

/** Builds the text of one shard: add VM by VM, then take the whole. */
export class Exposition {
  readonly #format: ExpositionFormat;
  readonly #lines = new Map<string, string[]>();
  #length = 0;

  constructor(format: ExpositionFormat) {
    this.#format = format;
  }

  /** Characters of the lines so far. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds a VM, which must not have been added before. Series outside the catalogue are left out.
   */
  add(vm: ExportedVm, samples: Iterable<ExportedSample>): void {
    const own = labelsOf(vm);
    for (const { key, timeMs, value } of samples) {
      const { name, labels } = splitSeriesKey(key);
      if (!seriesCatalogue.has(name)) continue;
      const all = labels === '' ? own : `${own},${labels.slice(1, -1)}`;
      const time = this.#format === 'text' ? String(timeMs) : String(timeMs / 1000);
      const line = `${name}{${all}} ${valueText(value)} ${time}\n`;
      this.#length += line.length;
      const lines = this.#lines.get(name);
      if (lines) lines.push(line);
      else this.#lines.set(name, [line]);
    }
  }

  text(): string {
    const parts: string[] = [];
    for (const descriptor of seriesCatalogue.values()) {
      const lines = this.#lines.get(descriptor.name);
      if (!lines) continue;
      parts.push(...headOf(descriptor, this.#format), ...lines);
    }
    if (this.#format === 'openmetrics') parts.push('# EOF\n');
    return parts.join('');
  }
}

/** OpenMetrics names a counter without its `_total`, which its samples keep. */
function headOf({ name, type, unit, help }: SeriesDescriptor, format: ExpositionFormat): string[] {
  if (format === 'text') return [`# HELP ${name} ${help}\n`, `# TYPE ${name} ${type}\n`];
  const family = type === 'counter' ? name.replace(/_total$/, '') : name;
  return [
    `# TYPE ${family} ${type}\n`,
    ...(unit === '' ? [] : [`# UNIT ${family} ${unit}\n`]),
    `# HELP ${family} ${help}\n`,
  ];
}

function labelsOf({ project, vm, displayName, datacenter }: ExportedVm): string {
  const labels = { datacenter, project, vm, vm_name: displayName };
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(',');
}

function valueText(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** The version written for each media type; a range without a version accepts it too. */
const FORMATS: readonly (readonly [type: string, version: string, format: ExpositionFormat])[] = [
  ['application/openmetrics-text', '1.0.0', 'openmetrics'],
  ['text/plain', '0.0.4', 'text'],
  ['text/*', '0.0.4', 'text'],
  ['*/*', '0.0.4', 'text'],
];

/**
 * The format of the range with the highest weight, the first among equals. Clients that accept
 * neither get the text format, as from exporters.
 */
export function formatFor(accept: string | undefined): ExpositionFormat {
  let best: { format: ExpositionFormat; weight: number } = { format: 'text', weight: 0 };
  for (const { name, parameters, weight } of acceptedRanges(accept)) {
    const version = parameters.get('version');
    const offer = FORMATS.find(
      ([offered, ours]) => offered === name && (version === undefined || version === ours),
    );
    if (offer && weight > best.weight) best = { format: offer[2], weight };
  }
  return best.format;
}
