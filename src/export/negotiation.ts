/**
 * Which format a scraper gets, from its Accept header (RFC 9110, section 12.5.1): OpenMetrics where
 * it is preferred, otherwise the text format, also for one who accepts neither, as exporters do.
 */
import type { ExpositionFormat } from './exposition.ts';

/** The version of each media type that we write; a range without a version takes it too. */
const OFFERED: readonly (readonly [type: string, version: string, format: ExpositionFormat])[] = [
  ['application/openmetrics-text', '1.0.0', 'openmetrics'],
  ['text/plain', '0.0.4', 'text'],
  ['text/*', '0.0.4', 'text'],
  ['*/*', '0.0.4', 'text'],
];

/** The format of the range with the highest weight; of equal ones the first. */
export function formatFor(accept: string | undefined): ExpositionFormat {
  let best: { format: ExpositionFormat; weight: number } = { format: 'text', weight: 0 };
  for (const range of (accept ?? '').split(',')) {
    const { type, parameters } = partsOf(range);
    const version = parameters.get('version');
    const offer = OFFERED.find(
      ([offered, ours]) => offered === type && (version === undefined || version === ours),
    );
    const weight = weightOf(parameters);
    if (offer && weight > best.weight) best = { format: offer[2], weight };
  }
  return best.format;
}

/** Does the Accept-Encoding header take gzip? */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  return (acceptEncoding ?? '').split(',').some((range) => {
    const { type, parameters } = partsOf(range);
    return type === 'gzip' && weightOf(parameters) > 0;
  });
}

function partsOf(range: string): { type: string; parameters: ReadonlyMap<string, string> } {
  const [type = '', ...rest] = range.split(';').map((part) => part.trim().toLowerCase());
  const parameters = rest.map((part) => {
    const [name = '', value = ''] = part.split('=', 2);
    return [name.trim(), value.trim().replace(/^"(.*)"$/, '$1')] as const;
  });
  return { type, parameters: new Map(parameters) };
}

function weightOf(parameters: ReadonlyMap<string, string>): number {
  const weight = Number(parameters.get('q') ?? 1);
  return Number.isNaN(weight) ? 0 : weight;
}
