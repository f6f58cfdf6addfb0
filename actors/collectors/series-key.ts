/**
 * The one way a series key is written: labels sorted by name, values escaped as in Prometheus's
 * text format. Two spellings of one series would be two series in history.
 */
import type { SeriesKey } from '../../streams/samples/batch.ts';

/** `seriesKey('a', {y: '1', x: '"'})` is `a{x="\"",y="1"}`; without labels just the name. */
export function seriesKey(name: string, labels: Readonly<Record<string, string>> = {}): SeriesKey {
  const pairs = Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, value]) => `${label}="${escapeValue(value)}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  if (!/[\\"\n]/.test(value)) return value;
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
