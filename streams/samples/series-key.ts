/**
 * The one way a series key is written: labels sorted by name, values escaped as in Prometheus's
 * text format, so that equal series are equal strings; and the way back.
 */
import type { SeriesKey } from './batch.ts';

const PAIR = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** Labels of a canonical label part; escapes are Prometheus's (\\, \", \n). */
export function parseLabels(part: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [, name = '', value = ''] of part.matchAll(PAIR)) labels[name] = unescapeValue(value);
  return labels;
}

/** The canonical series key of a name and its labels, sorted by label name. */
export function seriesKeyOf(name: string, labels: Readonly<Record<string, string>>): SeriesKey {
  const names = Object.keys(labels).sort();
  if (names.length === 0) return name;
  const pairs = names.map((label) => `${label}="${escapeValue(labels[label] ?? '')}"`);
  return `${name}{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  return value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
}

function unescapeValue(value: string): string {
  return value.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char));
}
