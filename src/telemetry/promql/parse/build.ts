/**
 * Builds a typed tree from syntax trees. Errors that Prometheus reports while it reduces a rule
 * (unknown functions, misplaced modifiers, empty durations) are reported here, in the same order:
 * children first, from left to right. A node that this switch does not know is rejected, never
 * ignored.
 */
import type { SyntaxNode } from '@lezer/common';
import {
  AggregateExpr,
  AggregateModifier,
  AtModifierPreprocessors,
  BoolModifier,
  DurationExpr,
  FunctionCall,
  GroupingLabels,
  GroupLeft,
  GroupRight,
  LabelMatchers,
  MatchingModifierClause,
  MatrixSelector,
  NumberDurationLiteral,
  NumberDurationLiteralInDurationContext,
  OffsetDurationExpr,
  OffsetExpr,
  On,
  ParenExpr,
  QuotedLabelMatcher,
  QuotedLabelName,
  StepInvariantExpr,
  StringLiteral,
  SubqueryExpr,
  UnaryOp,
  UnquotedLabelMatcher,
  VectorSelector,
  Without,
} from '@prometheus-io/lezer-promql';
import type {
  AggregateOp,
  AtModifier,
  BinaryOp,
  Expr,
  VectorSelector as SelectorExpr,
  Span,
  VectorMatching,
} from '../ast.ts';
import { goQuote } from '../format-go.ts';
import { functionSignatures } from '../functions/signatures.ts';
import {
  createMatcher,
  type Matcher,
  type MatchOp,
  RegexpBudget,
  RegexpError,
} from '../matcher.ts';
import { METRIC_NAME } from '../values.ts';
import { BuildContext, childOf, childrenOf } from './build-context.ts';
import { numberLiteral, stringLiteral, stringOf } from './literal.ts';
import { combine, type Piece, type Sequence } from './split.ts';
import { functionError } from './syntax-error.ts';
import type { ParsedExpression } from './syntax-tree.ts';
import type { Token } from './token.ts';

/** Throws `PromqlError` bad_data. Types are not checked yet. */
export function buildExpression(text: string, parsed: ParsedExpression): Expr {
  return new Builder(text, parsed).sequence(parsed.root);
}

class Builder {
  readonly #text: string;
  readonly #parsed: ParsedExpression;
  readonly #regexps = new RegexpBudget();

  constructor(text: string, parsed: ParsedExpression) {
    this.#text = text;
    this.#parsed = parsed;
  }

  sequence({ pieces }: Sequence): Expr {
    return combine<Expr>(pieces, {
      operand: (piece) => this.#operand(piece),
      signed: (sign, operand) => signed(this.#parsed.tokenOf(sign), operand),
      combined: (operator, lhs, rhs) => this.#combined(operator, lhs, rhs),
      operatorOf: (operator) => this.#parsed.tokenOf(operator).word,
    });
  }

  #context(piece: Piece): BuildContext {
    return new BuildContext(this.#text, this.#parsed.treeOf(piece), this.#regexps);
  }

  #combined(operator: Piece, lhs: Expr, rhs: Expr): Expr {
    const context = this.#context(operator);
    const node = onlyChild(context.root);
    return {
      kind: 'binary',
      // Only operators have a binding level.
      op: this.#parsed.tokenOf(operator).word as BinaryOp,
      lhs,
      rhs,
      bool: childOf(node, BoolModifier) !== undefined,
      matching: matchingOf(context, node),
      span: { from: lhs.span.from, to: rhs.span.to },
    };
  }

  /** An operand with its modifiers, which the grammar nests around it. */
  #operand(piece: Piece): Expr {
    const context = this.#context(piece);
    const modifiers: SyntaxNode[] = [];
    let node = onlyChild(context.root);
    for (; MODIFIERS.has(node.type.id); node = node.firstChild ?? node) modifiers.push(node);
    const bare = bareOperand(context, node, () => piece.inner.map((inner) => this.sequence(inner)));
    return modifiers.reduceRight((made, modifier) => withModifier(context, modifier, made), bare);
  }
}

const MODIFIERS = new Set([OffsetExpr, StepInvariantExpr, MatrixSelector, SubqueryExpr]);

/** `inner`: content of its parentheses. */
function bareOperand(context: BuildContext, node: SyntaxNode, inner: () => Expr[]): Expr {
  switch (node.type.id) {
    case ParenExpr: {
      const [expr] = inner();
      if (expr === undefined) throw new Error('Empty parentheses were not rejected');
      return { kind: 'paren', expr, span: context.span(node) };
    }
    // Numbers too: the grammar sees every literal as a string.
    case StringLiteral: {
      const token = context.first(node);
      return token.kind === 'string' ? stringLiteral(token) : numberLiteral(context, token);
    }
    case VectorSelector:
      return selectorOf(context, node);
    case FunctionCall:
      return callOf(context, node, inner());
    case AggregateExpr:
      return aggregateOf(context, node, inner);
    default:
      throw context.refuseNode(node);
  }
}

function onlyChild(node: SyntaxNode): SyntaxNode {
  const [child, ...others] = childrenOf(node);
  if (child === undefined || others.length > 0)
    throw new Error(`${node.name} does not have exactly one child`);
  return child;
}

/** A sign in front of a number becomes part of it. */
function signed(sign: Token, operand: Expr): Expr {
  const span = { from: sign.from, to: operand.span.to };
  const op = sign.word === '-' ? '-' : '+';
  if (operand.kind !== 'number') return { kind: 'unary', op, expr: operand, span };
  return { ...operand, value: op === '-' ? -operand.value : operand.value, span };
}

function callOf(context: BuildContext, node: SyntaxNode, args: Expr[]): Expr {
  const name = context.first(node);
  const func = functionSignatures.get(name.text);
  if (func !== undefined) return { kind: 'call', func, args, span: context.span(node) };
  throw functionError(context.text, name);
}

const WITH_PARAMETER = new Set(['topk', 'bottomk', 'count_values', 'quantile']);
const EXPERIMENTAL = new Set(['limitk', 'limit_ratio']);

function aggregateOf(context: BuildContext, node: SyntaxNode, inner: () => Expr[]): Expr {
  const { word } = context.first(node);
  const span = context.span(node);
  const modifier = childOf(node, AggregateModifier);
  const labels = modifier && childOf(modifier, GroupingLabels);
  const grouping = labels === undefined ? [] : labelsOf(context, labels);
  const without = modifier !== undefined && childOf(modifier, Without) !== undefined;
  const args = inner();
  refuseArguments(context, { word, span, given: args.length });
  const expr = args.at(-1);
  if (expr === undefined) throw new Error('An empty aggregation was not rejected');
  const param = args.length === 2 ? (args[0] ?? null) : null;
  // A known aggregator; the two experimental ones were rejected above.
  return { kind: 'aggregate', op: word as AggregateOp, expr, param, grouping, without, span };
}

function refuseArguments(
  context: BuildContext,
  { word, span, given }: { word: string; span: Span; given: number },
): void {
  if (given === 0) {
    throw context.refuse(span, 'no arguments for aggregate expression provided');
  }
  if (EXPERIMENTAL.has(word)) {
    const flag = '--enable-feature=promql-experimental-functions';
    throw context.refuse(span, `${word}() is experimental and must be enabled with ${flag}`);
  }
  const wanted = WITH_PARAMETER.has(word) ? 2 : 1;
  if (given !== wanted) {
    const counts = `expected ${wanted}, got ${given}`;
    const message = `wrong number of arguments for aggregate expression provided, ${counts}`;
    throw context.refuse(span, message);
  }
}

/** Vector selectors: a name, matchers in braces, or both. */
function selectorOf(context: BuildContext, node: SyntaxNode): SelectorExpr {
  const first = context.first(node);
  const name = first.text === '{' ? '' : first.text;
  const braces = childOf(node, LabelMatchers);
  const matchers = braces === undefined ? [] : childrenOf(braces).map((m) => matcherOf(context, m));
  // The name in front is last, as in Prometheus.
  if (name !== '') matchers.push(createMatcher(METRIC_NAME, '=', name));
  const span = context.span(node);
  return { kind: 'vectorSelector', name, matchers, offsetMs: 0, at: null, span };
}

function matcherOf(context: BuildContext, node: SyntaxNode): Matcher {
  switch (node.type.id) {
    case QuotedLabelName:
      return createMatcher(METRIC_NAME, '=', textOf(context.first(node)));
    case QuotedLabelMatcher:
    case UnquotedLabelMatcher: {
      const [label, op, value] = childrenOf(node).map((child) => context.first(child));
      if (!label || !op || !value) throw new Error('A matcher is incomplete');
      // The grammar allows only these four here.
      return compiled(context, { label, op: op.word as MatchOp, value });
    }
    default:
      throw context.refuseNode(node);
  }
}

function compiled(
  context: BuildContext,
  { label, op, value }: { label: Token; op: MatchOp; value: Token },
): Matcher {
  try {
    return createMatcher(textOf(label), op, textOf(value), context.regexps);
  } catch (error) {
    if (!(error instanceof RegexpError)) throw error;
    throw context.refuse({ from: label.from, to: value.to }, error.message);
  }
}

function textOf(token: Token): string {
  return token.kind === 'string' ? stringOf(token.text) : token.text;
}

/** `node` is a `GroupingLabels`. Any UTF-8 text except the empty one may name a label. */
function labelsOf(context: BuildContext, node: SyntaxNode): string[] {
  return childrenOf(node).map((child) => {
    const token = context.first(child);
    const label = token.kind === 'string' ? stringOf(token.text) : token.text;
    // Bytes that are not UTF-8 are lone surrogates.
    if (label !== '' && label.isWellFormed()) return label;
    throw context.refuse(token, `invalid label name for grouping: ${goQuote(label)}`);
  });
}

/**
 * Matching as written; `node` is a `BinaryExpr`. Whether the sides are vectors is checked later.
 */
function matchingOf(context: BuildContext, node: SyntaxNode): VectorMatching {
  const clause = childOf(node, MatchingModifierClause);
  if (clause === undefined) {
    return { cardinality: 'one-to-one', on: false, labels: [], include: [] };
  }
  const [labels, include] = childrenOf(clause)
    .filter((child) => child.type.id === GroupingLabels)
    .map((child) => labelsOf(context, child));
  return {
    cardinality: cardinalityOf(clause),
    on: childOf(clause, On) !== undefined,
    labels: labels ?? [],
    include: include ?? [],
  };
}

function cardinalityOf(clause: SyntaxNode): VectorMatching['cardinality'] {
  if (childOf(clause, GroupLeft) !== undefined) return 'many-to-one';
  return childOf(clause, GroupRight) !== undefined ? 'one-to-many' : 'one-to-one';
}

/** `node` is that of the modifier; its operand is not read from the tree. */
function withModifier(context: BuildContext, node: SyntaxNode, operand: Expr): Expr {
  switch (node.type.id) {
    case OffsetExpr:
      return withOffset(context, node, operand);
    case StepInvariantExpr:
      return withTime(context, node, operand);
    case MatrixSelector:
      return withRange(context, node, operand);
    case SubqueryExpr:
      return asSubquery(context, node, operand);
    default:
      throw context.refuseNode(node);
  }
}

function withRange(context: BuildContext, node: SyntaxNode, operand: Expr): Expr {
  const { rangeMs, brackets } = rangeOf(context, node);
  if (operand.kind !== 'vectorSelector') {
    throw context.refuse(brackets, 'ranges only allowed for vector selectors');
  }
  if (operand.offsetMs !== 0) {
    throw context.refuse(brackets, 'no offset modifiers allowed before range');
  }
  if (operand.at !== null && typeof operand.at === 'object') {
    throw context.refuse(brackets, 'no @ modifiers allowed before range');
  }
  const span = { from: operand.span.from, to: brackets.to };
  return { kind: 'matrixSelector', selector: operand, rangeMs, span };
}

function asSubquery(context: BuildContext, node: SyntaxNode, expr: Expr): Expr {
  const { rangeMs, stepMs, brackets } = rangeOf(context, node);
  const span = { from: expr.span.from, to: brackets.to };
  return { kind: 'subquery', expr, rangeMs, stepMs, offsetMs: 0, at: null, span };
}

/** The durations in brackets, and the position of the brackets. */
function rangeOf(context: BuildContext, node: SyntaxNode) {
  const [, ...durations] = childrenOf(node);
  const [rangeMs, stepMs] = durations.map((duration) => positiveMs(context, duration));
  const first = durations[0];
  if (first === undefined || rangeMs === undefined) throw new Error('A range has no duration');
  const brackets = { from: context.before(first).from, to: context.last(node).to };
  return { rangeMs, stepMs: stepMs ?? null, brackets };
}

function withOffset(context: BuildContext, node: SyntaxNode, operand: Expr): Expr {
  const duration = childOf(node, OffsetDurationExpr);
  if (duration === undefined) throw new Error('An offset has no duration');
  const offsetMs = toMs(secondsOf(context, duration));
  const span = { from: operand.span.from, to: context.last(node).to };
  const target = targetOf(operand);
  if (target === undefined) {
    const message = 'offset modifier must be preceded by an instant vector selector';
    throw context.refuse(operand.span, `${message} ${OR_OTHERS}`);
  }
  if (target.offsetMs !== 0) {
    throw context.refuse(operand.span, 'offset may not be set multiple times');
  }
  return withTarget(operand, { offsetMs, at: target.at }, span);
}

function withTime(context: BuildContext, node: SyntaxNode, operand: Expr): Expr {
  const at = timeOf(context, node, operand.span);
  const span = { from: operand.span.from, to: context.last(node).to };
  const target = targetOf(operand);
  if (target === undefined) {
    const message = '@ modifier must be preceded by an instant vector selector';
    throw context.refuse(operand.span, `${message} ${OR_OTHERS}`);
  }
  if (target.at !== null) {
    throw context.refuse(operand.span, '@ <timestamp> may not be set multiple times');
  }
  return withTarget(operand, { offsetMs: target.offsetMs, at }, span);
}

const OR_OTHERS = 'or range vector selector or a subquery';

interface Moved {
  readonly offsetMs: number;
  readonly at: AtModifier | null;
}

/** The part of an operand that holds its modifiers; undefined if it may have none. */
function targetOf(operand: Expr): Moved | undefined {
  if (operand.kind === 'matrixSelector') return operand.selector;
  return operand.kind === 'vectorSelector' || operand.kind === 'subquery' ? operand : undefined;
}

function withTarget(operand: Expr, moved: Moved, span: Span): Expr {
  if (operand.kind === 'matrixSelector') {
    return { ...operand, selector: { ...operand.selector, ...moved }, span };
  }
  return { ...operand, ...moved, span } as Expr;
}

function timeOf(context: BuildContext, node: SyntaxNode, operand: Span): AtModifier {
  const number = childOf(node, NumberDurationLiteral);
  if (number === undefined) {
    const preprocessor = childOf(node, AtModifierPreprocessors);
    if (preprocessor === undefined) throw new Error('A fixed time has no function');
    return context.first(preprocessor).word === 'start' ? 'start' : 'end';
  }
  const isNegative = context.first(number).word === '-';
  const value = numberLiteral(context, context.last(number)).value * (isNegative ? -1 : 1);
  if (Number.isFinite(value) && Math.abs(value) < 2 ** 63)
    return { ms: roundHalfAway(value * 1000) };
  const message = `timestamp out of bounds for @ modifier: ${formatFixed(value)}`;
  throw context.refuse(operand, message);
}

/** Rounds like Go; `Math.round` rounds halves up. */
function roundHalfAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function formatFixed(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return `${BigInt(value)}.000000`;
}

/**
 * Duration of a range or step: positive, and at least 1 ms, because times are in milliseconds here.
 */
function positiveMs(context: BuildContext, node: SyntaxNode): number {
  const ms = toMs(secondsOf(context, node));
  if (ms <= 0) throw context.refuse(context.span(node), 'duration must be greater than 0');
  return ms;
}

function toMs(seconds: number): number {
  return Math.trunc(roundHalfAway(seconds * 1e9) / 1e6);
}

/**
 * `node` is a duration: a number with signs. Arithmetic is rejected, as in Prometheus without the
 * flag.
 */
function secondsOf(context: BuildContext, node: SyntaxNode): number {
  const [first, second, ...others] = childrenOf(node);
  if (first === undefined) throw context.refuseNode(node);
  if (first.type.id === NumberDurationLiteralInDurationContext) {
    const { value, span } = numberLiteral(context, context.first(first));
    if (!(Math.abs(value) <= SECONDS_MAX)) throw context.refuse(span, 'duration out of range');
    return value;
  }
  if (first.type.id === UnaryOp && second !== undefined && others.length === 0) {
    const value = secondsOf(context, second);
    return context.first(first).word === '-' ? -value : value;
  }
  for (const child of [first, second, ...others]) {
    if (child?.type.id === DurationExpr) secondsOf(context, child);
  }
  throw context.refuse(context.span(first), 'experimental duration expression is not enabled');
}

/** Nanoseconds in 63 bits. */
const SECONDS_MAX = 2 ** 63 / 1e9;
