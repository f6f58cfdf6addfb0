/**
 * A label matcher, compiled once an expression. Regular expressions are RE2 (linear in the text,
 * whatever a caller writes), anchored at both ends, with `.` matching line ends, as Prometheus's.
 */
import { RE2JS } from 're2js';

export type MatchOp = '=' | '!=' | '=~' | '!~';

export interface Matcher {
  readonly label: string;
  readonly op: MatchOp;
  readonly value: string;
  /** Whether a series with this value of the label matches; '' = has no such label. */
  matches(value: string): boolean;
  /** The only values it can accept, where that is a short list (`=`, `=~"a|b"`); else null. */
  readonly accepted: readonly string[] | null;
}

/** Throws `RE2JSException` when `value` is not a regular expression. */
export function createMatcher(label: string, op: MatchOp, value: string): Matcher {
  if (op === '=') {
    return { label, op, value, matches: (seen) => seen === value, accepted: [value] };
  }
  if (op === '!=') return { label, op, value, matches: (seen) => seen !== value, accepted: null };
  const accepts = anchored(value);
  if (op === '=~') return { label, op, value, matches: accepts.test, accepted: accepts.list };
  return { label, op, value, matches: (seen) => !accepts.test(seen), accepted: null };
}

/** Letters, digits and `_-` `:` ` ` stand for themselves in every regular expression. */
const PLAIN_ALTERNATIVES = /^\(?[\w\-: /]*(\|[\w\-: /]*)*\)?$/;

function anchored(pattern: string): { test: (text: string) => boolean; list: string[] | null } {
  const wrapped = pattern.startsWith('(') && pattern.endsWith(')');
  if (PLAIN_ALTERNATIVES.test(pattern) && wrapped === /^\(|\)$/.test(pattern)) {
    const list = (wrapped ? pattern.slice(1, -1) : pattern).split('|');
    const accepted = new Set(list);
    return { test: (text) => accepted.has(text), list: [...accepted] };
  }
  const compiled = RE2JS.compile(pattern, RE2JS.DOTALL);
  // A regular expression costs a microsecond a text; label values repeat from series to series.
  const seen = new Map<string, boolean>();
  const test = (text: string) => {
    let answer = seen.get(text);
    if (answer === undefined) {
      answer = compiled.matches(text);
      if (seen.size < SEEN_MAX) seen.set(text, answer);
    }
    return answer;
  };
  return { test, list: null };
}

const SEEN_MAX = 20_000;
