/**
 * A label matcher, compiled once an expression. Regular expressions are RE2 (linear in the text,
 * whatever a caller writes), anchored at both ends, with `.` matching line ends, as Prometheus's.
 */
import { RE2JS, RE2JSException } from 're2js';

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

/** Not a regular expression, or too large a one; `message` in the words of Go where it has some. */
export class RegexpError extends Error {}

/** Throws `RegexpError`. */
export function createMatcher(label: string, op: MatchOp, value: string): Matcher {
  if (op === '=') {
    return { label, op, value, matches: (seen) => seen === value, accepted: [value] };
  }
  if (op === '!=') return { label, op, value, matches: (seen) => seen !== value, accepted: null };
  const accepts = anchored(value);
  if (op === '=~') return { label, op, value, matches: accepts.test, accepted: accepts.list };
  return { label, op, value, matches: (seen) => !accepts.test(seen), accepted: null };
}

/**
 * Instructions of a compiled expression: what one character of a text costs at worst, 30 ns each.
 * Lists of plain values (`a|b|c`) are none and have no bound but the expression's.
 */
const REGEXP_INSTRUCTIONS_MAX = 2_000;
/** Texts whose answer is remembered. */
const SEEN_MAX = 20_000;

function anchored(pattern: string): { test: (text: string) => boolean; list: string[] | null } {
  const list = plainAlternatives(pattern);
  if (list !== null) {
    const accepted = new Set(list);
    return { test: (text) => accepted.has(text), list: [...accepted] };
  }
  const compiled = compileRegexp(pattern);
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

/** Characters that stand for themselves, and punctuation that a backslash makes do so. */
const PLAIN = /^(?:[^\\.+*?()|[\]{}^$]|\\[!-/:-@[-`{-~])*$/u;

/** The texts of `a|b|c`, also in parentheses, with nothing special in them; else null. */
function plainAlternatives(pattern: string): string[] | null {
  const body = /^\((?:\?:)?(.*)\)$/s.exec(pattern)?.[1] ?? pattern;
  const list = [''];
  for (const [piece] of body.matchAll(/\\.|[^\\|]+|[\\|]/gsu)) {
    if (piece === '|') list.push('');
    else if (!PLAIN.test(piece)) return null;
    else list.push(`${list.pop() ?? ''}${piece.startsWith('\\') ? piece.slice(1) : piece}`);
  }
  return list;
}

/** With `.` matching line ends. Throws `RegexpError`. */
export function compileRegexp(pattern: string): RE2JS {
  const compiled = compileOrRefuse(pattern);
  const size = compiled.programSize();
  if (size <= REGEXP_INSTRUCTIONS_MAX) return compiled;
  const limit = `${size} instructions, at most ${REGEXP_INSTRUCTIONS_MAX} are allowed`;
  throw new RegexpError(`error parsing regexp: expression too large: ${limit}`);
}

function compileOrRefuse(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern, RE2JS.DOTALL);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    // Without the flag that the library puts in front, and with the argument that it leaves out.
    const shown = error.message.replace('`(?s)', '`');
    throw new RegexpError(shown.endsWith('`') ? shown : `${shown}: \`\``);
  }
}
