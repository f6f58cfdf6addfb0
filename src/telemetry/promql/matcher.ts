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
  /** Whether a series with this value of the label matches; '' = has no such label. */
  matches(value: string): boolean;
  /** The only values it can accept, where that is a short list (`=`, `=~"a|b"`); else null. */
  readonly accepted: readonly string[] | null;
  /** Memory it takes now, about, bytes: what it remembers of texts it has seen included. */
  readonly bytes: number;
}

/** An invalid or too large regular expression; `message` uses Go's words where Go has some. */
export class RegexpError extends Error {}

/** A valid pattern that is too large to compile; `message` names the bound and what to change. */
export class RegexpTooLarge extends RegexpError {
  constructor(limit: string) {
    super(`error parsing regexp: expression too large: ${limit}`);
  }
}

/**
 * @param budget of the expression that it is a part of; by itself it has one of its own
 * Throws `RegexpError`.
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
 * Budget shared by the regular expressions of one expression: their total size, and their cache of
 * texts. A text of 16 KiB can hold a thousand of them, each within its own bound.
 */
export class RegexpBudget {
  #instructions = 0;
  #expanded = 0;
  #unicodeClasses = 0;
  #seen = 0;

  /** Before a pattern is compiled. Throws `RegexpTooLarge` past what all of them may expand to. */
  takeExpansion({ instructions, unicodeClasses }: RegexpSize): void {
    this.#expanded += instructions;
    this.#unicodeClasses += unicodeClasses;
    if (this.#expanded > EXPANDED_TOGETHER_MAX) throw tooManyTogether();
    if (this.#unicodeClasses > UNICODE_CLASSES_MAX) throw tooManyUnicodeClasses();
  }

  /** Throws `RegexpTooLarge` past the bound. */
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
 * Instructions of a compiled expression: the worst cost of one character of a text, 30 ns each.
 * Lists of plain values (`a|b|c`) need none and are bounded only by the length of the expression.
 */
const REGEXP_INSTRUCTIONS_MAX = 2_000;
/** Ten of the largest; a dashboard's longest expression has some hundreds. */
const INSTRUCTIONS_TOGETHER_MAX = 20_000;
/**
 * Instructions that a pattern may expand to before it is compiled: more than the longest pattern
 * without counted repetitions has, whose alternatives may still compile to 2,000. Compiling so many
 * takes a tenth of a second.
 */
const EXPANDED_MAX = 20_000;
/** Those of all patterns of an expression, for the same reason. */
const EXPANDED_TOGETHER_MAX = 40_000;
/** Unicode classes in the patterns of an expression: half a millisecond each. */
const UNICODE_CLASSES_MAX = 200;
/** Texts whose result is cached, for all matchers of an expression. */
const SEEN_MAX = 20_000;

// Measured on a heap: what an object, a compiled expression, an instruction, a text of a map takes.
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
  // A regular expression costs a microsecond a text; label values repeat from series to series.
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

/** Literal characters, and punctuation that a backslash makes literal. */
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

/**
 * Compiles a caller's pattern, with `.` matching line ends. What it expands to is bounded before it
 * is compiled. Throws `RegexpError`.
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
    // Without the flag that the library puts in front, and with the argument that it leaves out.
    const shown = error.message.replace('`(?s)', '`');
    throw new RegexpError(shown.endsWith('`') ? shown : `${shown}: \`\``);
  }
}
