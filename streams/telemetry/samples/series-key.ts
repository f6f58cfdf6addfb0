/**
 * Series keys: the one spelling of a series, and the labels that senders may set. Labels are sorted
 * by name and values escaped as in Prometheus's text format, so that equal series are equal
 * strings. Two spellings of one series would be two series in history.
 *
 * Label names follow Prometheus's rules: a letter or an underscore, then digits too. Names with a
 * leading double underscore are Prometheus's own. The names that identify the VM are ours.
 */
import type { SeriesKey } from './batch.ts';

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

/** May a sender of samples, or a rule, have a label of this name? */
export function isFreeLabelName(name: string): boolean {
  return LABEL_NAME.test(name) && !name.startsWith('__') && !RESERVED_LABELS.has(name);
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
