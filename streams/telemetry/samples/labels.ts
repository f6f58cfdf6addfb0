/**
 * Which labels may be set from outside: Prometheus's rules for names (data model: a letter or an
 * underscore, then digits too; a double underscore in front is Prometheus's own, `__name__` first of
 * all), less the names that say whose a reading is, which is ours to say.
 */
import type { SeriesKey } from './batch.ts';

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
