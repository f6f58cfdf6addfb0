/**
 * Generated expressions of every kind, well typed, as text. They have no more parentheses than
 * their types need (a scalar before `* on (l)` needs them), so that precedence is under test too.
 * Labels of binary operators are plain, because Prometheus's printer does not quote them.
 */
import fc from 'fast-check';
import type { Expr } from '../../../src/telemetry/promql/ast.ts';
import { anyText } from '../../support/any-text.ts';

/** A tree to compare: without positions in the text, with matchers as data in one order. */
export function withoutPlaces(expr: Expr): unknown {
  return strip(expr);
}

function strip(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(strip);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key, inner]) => key !== 'span' && typeof inner !== 'function')
    .map(([key, inner]) => [key, key === 'matchers' ? sorted(inner) : strip(inner)]);
  return Object.fromEntries(entries);
}

function sorted(matchers: readonly unknown[]): unknown {
  return matchers.map((matcher) => JSON.stringify(strip(matcher))).sort();
}

const text = anyText({ maxLength: 8 })
  .filter((value) => !value.includes('\uFFFD'))
  .map((value) => JSON.stringify(value).replaceAll('\\/', '/'));
const name = fc.constantFrom(
  'a',
  'up',
  'http:requests',
  'sum',
  'by',
  'offset',
  'start',
  'and',
  'x_1',
);
const label = fc.constantFrom('l', 'on', 'instance', 'bool', '_x');
const anyLabel = fc.oneof(label, fc.constantFrom('"a.b"', '"é"', '"with space"'));
const duration = fc.constantFrom('5m', '1h30m', '90', '1w', '15ms', '1y2d', '0.5');
const signedDuration = fc.oneof(
  duration,
  duration.map((value) => `-${value}`),
);
const at = fc.constantFrom('1.5', '-7', '1e9', 'start()', 'end()', '10m');
const number = fc.oneof(
  fc.constantFrom('(Inf)', 'NaN', '0x1F', '5m', '1_000', '.5', '1e-9', '0'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);

const matcher = fc.tuple(anyLabel, fc.constantFrom('=', '!='), text).map((parts) => parts.join(''));
const regexp = fc
  .tuple(anyLabel, fc.constantFrom('=~', '!~'), fc.constantFrom('"a.*"', '"a|b"', "'(x+)?'"))
  .map((parts) => parts.join(''));
const braces = fc
  .array(fc.oneof(matcher, regexp), { maxLength: 3 })
  .map((list) => `{${list.join(', ')}}`);
const modifiers = fc
  .tuple(fc.option(at), fc.option(signedDuration))
  .map(
    ([time, offset]) =>
      `${time === null ? '' : ` @ ${time}`}${offset === null ? '' : ` offset ${offset}`}`,
  );
const selector = fc.tuple(name, fc.oneof(fc.constant(''), braces)).map((parts) => parts.join(''));
const labels = (list: fc.Arbitrary<string>) =>
  fc.array(list, { minLength: 1, maxLength: 3 }).map((names) => `(${names.join(', ')})`);
const grouping = fc
  .tuple(fc.constantFrom('by', 'without'), labels(anyLabel))
  .map((parts) => parts.join(' '));
const matching = fc.oneof(
  fc.constant(''),
  fc.tuple(fc.constantFrom('on', 'ignoring'), labels(label)).map((parts) => parts.join(' ')),
  labels(label).map((list) => `on ${list} group_left (copied)`),
);

const { vector } = fc.letrec<{ vector: string; scalar: string; matrix: string }>((tie) => ({
  scalar: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'nesting' },
    number,
    fc
      .tuple(tie('scalar'), fc.constantFrom('+', '-', '*', '^'), tie('scalar'))
      .map((p) => p.join(' ')),
    tie('scalar').map((inner) => `-(${inner})`),
    tie('vector').map((inner) => `scalar(${inner})`),
  ),
  matrix: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'nesting' },
    fc.tuple(selector, duration, modifiers).map(([s, d, m]) => `${s}[${d}]${m}`),
    fc
      .tuple(tie('vector'), duration, fc.option(duration), modifiers)
      .map(([v, d, step, m]) => `(${v})[${d}:${step ?? ''}]${m}`),
  ),
  vector: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'nesting' },
    fc.tuple(selector, modifiers).map((parts) => parts.join('')),
    fc
      .tuple(
        tie('vector'),
        fc.constantFrom('+', '*', '^', '/', 'atan2', '==', '>= bool'),
        matching,
        tie('vector'),
      )
      .map(([lhs, op, by, rhs]) =>
        by === '' ? `${lhs} ${op} ${rhs}` : `(${lhs}) ${op} ${by} ${rhs}`,
      ),
    fc
      .tuple(
        tie('vector'),
        fc.constantFrom('and', 'or', 'unless on (l)', 'and ignoring (l)'),
        tie('vector'),
      )
      .map((parts) => parts.join(' ')),
    fc.tuple(tie('vector'), fc.constantFrom('-', '%', '<'), tie('scalar')).map((p) => p.join(' ')),
    tie('vector').map((inner) => `-${inner}`),
    tie('vector').map((inner) => `(${inner})`),
    fc
      .tuple(
        fc.constantFrom('sum', 'avg', 'group', 'stddev'),
        fc.oneof(fc.constant(''), grouping),
        tie('vector'),
      )
      .map(([op, by, inner]) => `${op} ${by} (${inner})`),
    fc.tuple(grouping, tie('vector')).map(([by, inner]) => `max(${inner}) ${by}`),
    fc.tuple(tie('scalar'), tie('vector')).map(([k, inner]) => `topk(${k}, ${inner})`),
    fc.tuple(text, tie('vector')).map(([value, inner]) => `count_values(${value}, ${inner})`),
    tie('matrix').map((inner) => `rate(${inner})`),
    fc
      .tuple(tie('scalar'), tie('matrix'))
      .map(([q, inner]) => `quantile_over_time(${q}, ${inner})`),
    fc.tuple(tie('vector'), text, text).map(([v, a, b]) => `label_join(${v}, ${a}, ${b}, "c")`),
    tie('scalar').map((inner) => `vector(${inner})`),
  ),
}));

/** A vector that may contain every other kind. */
export const expressions: fc.Arbitrary<string> = vector;
