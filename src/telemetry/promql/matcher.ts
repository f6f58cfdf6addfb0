/**
 * A label matcher, compiled once per expression. Regular expressions are RE2 (linear in the length
 * of the text, whatever the pattern), anchored at both ends, with `.` matching line ends, as in
 * Prometheus.
 */
import { RE2JS, RE2JSException } from 're2js';
import { type RegexpSize, regexpSize } from './regexp-size.ts';

/** Equal, not equal, matches, does not match. */
export type MatchOp = '=' | '!=' | '=~' | '!~';

/**
 * One condition on one label. A label that a series does not have counts as the empty string, as in
 * Prometheus.
 */
export interface Matcher {
  readonly label: string;
  readonly op: MatchOp;
  readonly value: string;
  /** Whether a series with this label value matches; '' = the series has no such label. */
  matches(value: string): boolean;
  /**
   * The only values that it can accept, if that is a short list (`=`, `=~"a|b"`); otherwise null.
   */
  readonly accepted: readonly string[] | null;
  /** Approximate memory in use, bytes, including its cache of texts. */
  readonly bytes: number;
}

/** An invalid or too large regular expression. `message` uses Go's words where Go has some. */
export class RegexpError extends Error {}

/** A valid pattern that is too large to compile; `message` names the bound and what to change. */
export class RegexpTooLarge extends RegexpError {
  constructor(limit: string) {
    super(`error parsing regexp: expression too large: ${limit}`);
  }
}

/**
 * Throws `RegexpError`.
 * @param budget the budget of the whole expression; default: a budget of its own
 */
export function createMatcher(
  label: string,
  op: MatchOp,
  value: string,
  budget = new RegexpBudget(),
): Matcher {
  const common = { label, op, value, bytes: MATCHER_BYTES + label.length + value.length };
  if (op === '=') return { ...common, matches: (seen) => seen === value, accepted: [value] };
  if (op === '!=') return { ...common, matches: (seen) => seen !== value, accepted: null };
  const accepts = anchored(value, budget);
  return {
    ...common,
    matches: op === '=~' ? accepts.test : (seen) => !accepts.test(seen),
    accepted: op === '=~' ? accepts.list : null,
    get bytes() {
      return common.bytes + accepts.bytes();
    },
  };
}

/**
 * Budget shared by the regular expressions of one expression: their total size and their cache of
 * texts. An expression of 16 KiB can hold a thousand of them, each within its own bound.
 */
export class RegexpBudget {
  #instructions = 0;
  #expanded = 0;
  #unicodeClasses = 0;
  #seen = 0;

  /**
   * Called before a pattern is compiled. Throws `RegexpTooLarge` if all patterns together would
   * expand beyond the bound.
   */
  takeExpansion({ instructions, unicodeClasses }: RegexpSize): void {
    this.#expanded += instructions;
    this.#unicodeClasses += unicodeClasses;
    if (this.#expanded > EXPANDED_TOGETHER_MAX) throw tooManyTogether();
    if (this.#unicodeClasses > UNICODE_CLASSES_MAX) throw tooManyUnicodeClasses();
  }

  /** Throws `RegexpTooLarge` beyond the bound. */
  takeInstructions(count: number): void {
    this.#instructions += count;
    if (this.#instructions > INSTRUCTIONS_TOGETHER_MAX) throw tooManyTogether();
  }

  /** True when one more text may be cached. */
  takeSeen(): boolean {
    if (this.#seen >= SEEN_MAX) return false;
    this.#seen++;
    return true;
  }
}

/**
 * Maximum number of instructions of a compiled expression; each may cost 30 ns per character of a
 * text. Lists of plain values (`a|b|c`) need none and are bounded only by the length of the
 * expression.
 */
const REGEXP_INSTRUCTIONS_MAX = 2_000;
/** Ten of the largest; the longest expression of a dashboard has some hundreds. */
const INSTRUCTIONS_TOGETHER_MAX = 20_000;
/**
 * Maximum number of instructions that a pattern may expand to before it is compiled. The longest
 * pattern without counted repetitions has fewer, and its alternatives may still compile to 2,000.
 * Compiling that many takes a tenth of a second.
 */
const EXPANDED_MAX = 20_000;
/** The same bound for all patterns of an expression together. */
const EXPANDED_TOGETHER_MAX = 40_000;
/** Maximum number of Unicode classes in the patterns of an expression: half a millisecond each. */
const UNICODE_CLASSES_MAX = 200;
/** Maximum number of texts whose result is cached, for all matchers of an expression. */
const SEEN_MAX = 20_000;

// Measured heap sizes: an object, a compiled expression, an instruction, an entry of the text
// cache.
const MATCHER_BYTES = 200;
const REGEXP_BYTES = 5_000;
const INSTRUCTION_BYTES = 200;
const TEXT_BYTES = 60;

interface Anchored {
  readonly test: (text: string) => boolean;
  readonly list: string[] | null;
  readonly bytes: () => number;
}

function anchored(pattern: string, budget: RegexpBudget): Anchored {
  const list = plainAlternatives(pattern);
  if (list !== null) {
    const accepted = new Set(list);
    const bytes = pattern.length + 2 * TEXT_BYTES * accepted.size;
    return { test: (text) => accepted.has(text), list: [...accepted], bytes: () => bytes };
  }
  const compiled = compileRegexp(pattern, budget);
  const instructions = compiled.programSize();
  budget.takeInstructions(instructions);
  // A regular expression costs 1 µs per text; label values repeat between series.
  const seen = new Map<string, boolean>();
  const test = (text: string) => {
    let answer = seen.get(text);
    if (answer === undefined) {
      answer = compiled.matches(text);
      if (budget.takeSeen()) seen.set(text, answer);
    }
    return answer;
  };
  const bytes = () => REGEXP_BYTES + INSTRUCTION_BYTES * instructions + TEXT_BYTES * seen.size;
  return { test, list: null, bytes };
}

/** Literal characters, and punctuation made literal by a backslash. */
const PLAIN = /^(?:[^\\.+*?()|[\]{}^$]|\\[!-/:-@[-`{-~])*$/u;

/** The texts of `a|b|c`, also in parentheses, if none has a special character; otherwise null. */
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

/**
 * Compiles a caller's pattern, with `.` matching line ends. The size to which it expands is bounded
 * before it is compiled. Throws `RegexpError`.
 */
export function compileRegexp(pattern: string, budget = new RegexpBudget()): RE2JS {
  const expanded = regexpSize(pattern);
  if (expanded.instructions > EXPANDED_MAX) {
    throw tooManyInstructions(`expands to about ${expanded.instructions}`);
  }
  budget.takeExpansion(expanded);
  const compiled = compileOrRefuse(pattern);
  const size = compiled.programSize();
  if (size > REGEXP_INSTRUCTIONS_MAX) throw tooManyInstructions(`has ${size}`);
  return compiled;
}

function tooManyInstructions(size: string): RegexpTooLarge {
  return new RegexpTooLarge(
    `it ${size} instructions, at most ${REGEXP_INSTRUCTIONS_MAX} are allowed: use smaller repetition counts or fewer alternatives`,
  );
}

function tooManyTogether(): RegexpTooLarge {
  return new RegexpTooLarge(
    `more than ${INSTRUCTIONS_TOGETHER_MAX} instructions in all regular expressions together: use fewer or shorter ones`,
  );
}

function tooManyUnicodeClasses(): RegexpTooLarge {
  return new RegexpTooLarge(
    `more than ${UNICODE_CLASSES_MAX} Unicode classes such as \\p{L} in all regular expressions together: use fewer`,
  );
}

function compileOrRefuse(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern, RE2JS.DOTALL);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    // Removes the flag that the library adds, and restores the argument that it omits.
    const displayed = error.message.replace('`(?s)', '`');
    throw new RegexpError(displayed.endsWith('`') ? displayed : `${displayed}: \`\``);
  }
}
