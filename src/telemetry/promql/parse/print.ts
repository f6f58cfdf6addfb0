/**
 * The canonical text of an expression, as Prometheus 3.5 formats it (`promql/parser/printer.go`,
 * `prettier.go`): on one line, or broken and indented by nesting where a part exceeds 100 bytes.
 */
import {
  type Aggregate,
  type AtModifier,
  type Binary,
  type Expr,
  foldOperators,
  type Leaf,
  type NumberLiteral,
  type VectorSelector,
} from '../ast.ts';
import { PromqlError } from '../errors.ts';
import { goQuote } from '../format-go.ts';
import type { Matcher } from '../matcher.ts';
import { METRIC_NAME } from '../values.ts';
import { formatDuration } from './literal.ts';

/**
 * The result of `/api/v1/format_query`. Each operator indents its left side once more, so the text
 * of a chain grows with the square of its length. Throws `PromqlError` execution if the text would
 * exceed the maximum size of a response.
 */
export function formatExpression(expr: Expr): string {
  return new Printer().pretty(expr);
}

/** The expression on one line. */
export function printExpression(expr: Expr): string {
  return new Printer().line(expr).text;
}

/** A number without an exponent; `NaN`, `+Inf`, `-Inf` and `-0` as in Go. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const shortest = String(value);
  const [digits = '', exponent] = shortest.split('e');
  return exponent === undefined ? shortest : withoutExponent(digits, Number(exponent));
}

/** Maximum size of a part that stays on one line, bytes. */
const LINE_BYTES_MAX = 100;

/** Maximum length of a formatted text, characters; a response holds as many bytes. */
const FORMATTED_MAX = 4 * 1024 * 1024;

interface Line {
  readonly text: string;
  /** Running count; counting the bytes of each part again would take quadratic time. */
  readonly bytes: number;
}

/** A part that has not been laid out yet. */
interface Part {
  readonly expr: Expr;
  readonly level: number;
  /** True after a sign: the first line is not indented. */
  readonly isBare: boolean;
}

class Printer {
  /** Cached, because every enclosing part requests the line of each part. */
  readonly #lines = new Map<Expr, Line>();

  line(root: Expr): Line {
    const known = this.#lines.get(root);
    if (known !== undefined) return known;
    return foldOperators<Line>(root, {
      leaf: (expr) => this.#keep(expr, this.#leaf(expr)),
      unary: (expr, operand) => this.#keep(expr, joined(expr.op, operand)),
      binary: (expr, lhs, rhs) => this.#keep(expr, joined(lhs, ` ${operatorWith(expr)} `, rhs)),
    });
  }

  /**
   * Lays out the pieces from left to right. It is a loop, because an expression may be as deep as
   * it is long.
   */
  pretty(root: Expr): string {
    const texts: string[] = [];
    let length = 0;
    const pending: (string | Part)[] = [{ expr: root, level: 0, isBare: false }];
    for (let piece = pending.pop(); piece !== undefined; piece = pending.pop()) {
      if (typeof piece !== 'string') {
        pending.push(...this.#laidOut(piece).reverse());
        continue;
      }
      texts.push(piece);
      length += piece.length;
      if (length > FORMATTED_MAX) throw tooLong();
    }
    return texts.join('');
  }

  #laidOut({ expr, level, isBare }: Part): (string | Part)[] {
    const { text, bytes } = this.line(expr);
    const indent = '  '.repeat(level);
    const first = isBare ? '' : indent;
    // A sign and a subquery depend on their operand, not on their own length.
    if (expr.kind === 'unary') return [first + expr.op, { expr: expr.expr, level, isBare: true }];
    const fits = bytes <= LINE_BYTES_MAX;
    if (expr.kind === 'subquery') {
      return fits ? [text] : [{ expr: expr.expr, level, isBare }, subquerySuffix(expr)];
    }
    if (fits) return [first + text];
    const inner = (part: Expr): Part => ({ expr: part, level: level + 1, isBare: false });
    switch (expr.kind) {
      case 'aggregate': {
        const param = expr.param === null ? [] : [inner(expr.param), ',\n'];
        return [`${first}${aggregateHead(expr)}(\n`, ...param, inner(expr.expr), `\n${indent})`];
      }
      case 'binary': {
        const lhs = { ...inner(expr.lhs), isBare };
        return [lhs, `\n${indent}${operatorWith(expr)}\n`, inner(expr.rhs)];
      }
      case 'call': {
        const args = expr.args.flatMap((arg, i) => (i === 0 ? [inner(arg)] : [',\n', inner(arg)]));
        return [`${first}${expr.func.name}(\n`, ...args, `\n${indent})`];
      }
      case 'paren':
        return [`${first}(\n`, inner(expr.expr), `\n${indent})`];
      case 'number':
      case 'string':
      case 'vectorSelector':
      case 'matrixSelector':
        return [first + text];
    }
  }

  #keep(expr: Expr, line: Line): Line {
    this.#lines.set(expr, line);
    return line;
  }

  #leaf(expr: Leaf): Line {
    switch (expr.kind) {
      case 'number':
        return joined(printNumber(expr));
      case 'string':
        return joined(goQuote(expr.value));
      case 'vectorSelector':
        return joined(printSelector(expr), movedSuffix(expr));
      case 'matrixSelector': {
        const range = `[${formatDuration(expr.rangeMs)}]`;
        return joined(printSelector(expr.selector), range, movedSuffix(expr.selector));
      }
      case 'subquery':
        return joined(this.line(expr.expr), subquerySuffix(expr));
      case 'call': {
        const args = expr.args.flatMap((arg, i) => [i === 0 ? '' : ', ', this.line(arg)]);
        return joined(`${expr.func.name}(`, ...args, ')');
      }
      case 'aggregate': {
        const param = expr.param === null ? [] : [this.line(expr.param), ', '];
        return joined(`${aggregateHead(expr)}(`, ...param, this.line(expr.expr), ')');
      }
      case 'paren':
        return joined('(', this.line(expr.expr), ')');
    }
  }
}

function joined(...parts: readonly (string | Line)[]): Line {
  let text = '';
  let bytes = 0;
  for (const part of parts) {
    text += typeof part === 'string' ? part : part.text;
    bytes += typeof part === 'string' ? Buffer.byteLength(part) : part.bytes;
  }
  return { text, bytes };
}

function tooLong(): PromqlError {
  const message = `the formatted expression would be longer than ${FORMATTED_MAX} characters: its operators are nested too deep to indent them all`;
  return new PromqlError('execution', message);
}

function printNumber({ value, isDuration }: NumberLiteral): string {
  if (!isDuration) return formatNumber(value);
  const text = formatDuration(Math.round(Math.abs(value) * 1000));
  return value < 0 ? `-${text}` : text;
}

function printSelector({ name, matchers }: VectorSelector): string {
  const inBraces = matchers.filter(
    ({ label, op, value }) =>
      !(label === METRIC_NAME && op === '=' && value === name && name !== ''),
  );
  if (inBraces.length === 0) return name;
  return `${name}{${inBraces.map(printMatcher).sort(compareBytes).join(',')}}`;
}

function printMatcher({ label, op, value }: Matcher): string {
  const isPlain = /^[A-Za-z_][A-Za-z0-9_]*$/.test(label);
  return `${isPlain ? label : goQuote(label)}${op}${goQuote(value)}`;
}

interface Moved {
  readonly offsetMs: number;
  readonly at: AtModifier | null;
}

function movedSuffix({ offsetMs, at }: Moved): string {
  let text = '';
  if (typeof at === 'string') text += ` @ ${at}()`;
  else if (at !== null) text += ` @ ${(at.ms / 1000).toFixed(3)}`;
  if (offsetMs > 0) text += ` offset ${formatDuration(offsetMs)}`;
  if (offsetMs < 0) text += ` offset -${formatDuration(-offsetMs)}`;
  return text;
}

function subquerySuffix({
  rangeMs,
  stepMs,
  ...moved
}: Extract<Expr, { kind: 'subquery' }>): string {
  const step = stepMs === null ? '' : formatDuration(stepMs);
  return `[${formatDuration(rangeMs)}:${step}]${movedSuffix(moved)}`;
}

function aggregateHead({ op, grouping, without }: Aggregate): string {
  const labels = grouping.map((label) => (isMetricName(label) ? label : goQuote(label)));
  if (without) return `${op} without (${labels.join(', ')}) `;
  return labels.length > 0 ? `${op} by (${labels.join(', ')}) ` : op;
}

/** Prometheus applies the rule for metric names to labels: a colon needs no quotes. */
function isMetricName(text: string): boolean {
  return /^[A-Za-z_:][A-Za-z0-9_:]*$/.test(text);
}

function operatorWith({ op, bool, matching }: Binary): string {
  let text = bool ? `${op} bool` : op;
  if (matching === null || (matching.labels.length === 0 && !matching.on)) return text;
  const { on, labels, include, cardinality } = matching;
  text += ` ${on ? 'on' : 'ignoring'} (${labels.join(', ')})`;
  if (cardinality === 'many-to-one') text += ` group_left (${include.join(', ')})`;
  if (cardinality === 'one-to-many') text += ` group_right (${include.join(', ')})`;
  return text;
}

/** `digits`, with at most one digit before the point, times a power of ten. */
function withoutExponent(digits: string, exponent: number): string {
  const sign = digits.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = digits.replace('-', '').split('.');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction}${'0'.repeat(exponent - fraction.length)}`;
}

/** Compares in the order of UTF-8 bytes, which is that of code points. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
