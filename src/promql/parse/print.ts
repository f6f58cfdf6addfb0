/**
 * The text of an expression in one form for all who wrote it, as Prometheus 3.5 formats it
 * (`promql/parser/printer.go`, `prettier.go`): on one line, and where a part is longer than 100
 * bytes, broken and indented by its nesting.
 */
import type { Aggregate, AtModifier, Binary, Expr, NumberLiteral, VectorSelector } from '../ast.ts';
import { METRIC_NAME } from '../labels.ts';
import type { Matcher } from '../matcher.ts';
import { formatDuration } from './duration.ts';
import { goQuote } from './go-quote.ts';

/** What `/api/v1/format_query` answers. */
export function formatExpression(expr: Expr): string {
  return new Printer().pretty(expr, 0);
}

/** On one line. */
export function printExpression(expr: Expr): string {
  return new Printer().line(expr);
}

/** A number without exponent, `NaN`, `+Inf`, `-Inf` and `-0` as Go has them. */
export function formatNumber(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (Object.is(value, -0)) return '-0';
  const shortest = String(value);
  const [digits = '', exponent] = shortest.split('e');
  return exponent === undefined ? shortest : withoutExponent(digits, Number(exponent));
}

/** Bytes of a part that stay on one line. */
const LINE_BYTES_MAX = 100;

class Printer {
  /** Each part is asked for by every part around it. */
  readonly #lines = new Map<Expr, string>();

  line(expr: Expr): string {
    let line = this.#lines.get(expr);
    if (line === undefined) {
      line = this.#print(expr);
      this.#lines.set(expr, line);
    }
    return line;
  }

  pretty(expr: Expr, level: number): string {
    const line = this.line(expr);
    const indent = '  '.repeat(level);
    // A sign and a subquery look at what they stand at, whatever their own length.
    if (expr.kind === 'unary') return `${indent}${expr.op}${this.pretty(expr.expr, level).trim()}`;
    const fits = Buffer.byteLength(line) <= LINE_BYTES_MAX;
    if (expr.kind === 'subquery') {
      return fits ? line : `${this.pretty(expr.expr, level)}${subquerySuffix(expr)}`;
    }
    if (fits) return `${indent}${line}`;
    const inner = (part: Expr) => this.pretty(part, level + 1);
    switch (expr.kind) {
      case 'aggregate': {
        const param = expr.param === null ? '' : `${inner(expr.param)},\n`;
        return `${indent}${aggregateHead(expr)}(\n${param}${inner(expr.expr)}\n${indent})`;
      }
      case 'binary':
        return `${inner(expr.lhs)}\n${indent}${operatorWith(expr)}\n${inner(expr.rhs)}`;
      case 'call':
        return `${indent}${expr.func.name}(\n${expr.args.map(inner).join(',\n')}\n${indent})`;
      case 'paren':
        return `${indent}(\n${inner(expr.expr)}\n${indent})`;
      case 'number':
      case 'string':
      case 'vectorSelector':
      case 'matrixSelector':
        return `${indent}${line}`;
    }
  }

  #print(expr: Expr): string {
    switch (expr.kind) {
      case 'number':
        return printNumber(expr);
      case 'string':
        return goQuote(expr.value);
      case 'vectorSelector':
        return `${printSelector(expr)}${movedSuffix(expr)}`;
      case 'matrixSelector': {
        const range = `[${formatDuration(expr.rangeMs)}]`;
        return `${printSelector(expr.selector)}${range}${movedSuffix(expr.selector)}`;
      }
      case 'subquery':
        return `${this.line(expr.expr)}${subquerySuffix(expr)}`;
      case 'call':
        return `${expr.func.name}(${expr.args.map((arg) => this.line(arg)).join(', ')})`;
      case 'aggregate': {
        const param = expr.param === null ? '' : `${this.line(expr.param)}, `;
        return `${aggregateHead(expr)}(${param}${this.line(expr.expr)})`;
      }
      case 'binary':
        return `${this.line(expr.lhs)} ${operatorWith(expr)} ${this.line(expr.rhs)}`;
      case 'unary':
        return `${expr.op}${this.line(expr.expr)}`;
      case 'paren':
        return `(${this.line(expr.expr)})`;
    }
  }
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

/** Prometheus tells labels that need quotes by the rule for metrics: a colon needs none. */
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

/** `digits` with one digit before its point, or none, times a power of ten. */
function withoutExponent(digits: string, exponent: number): string {
  const sign = digits.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = digits.replace('-', '').split('.');
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction}${'0'.repeat(exponent - fraction.length)}`;
}

/** Order of UTF-8 bytes, which is that of code points. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
