/** Modifiers of an operand: a range, a subquery, `offset` and `@`. */
import type { SyntaxNode } from '@lezer/common';
import {
  AtModifierPreprocessors,
  DurationExpr,
  MatrixSelector,
  NumberDurationLiteral,
  NumberDurationLiteralInDurationContext,
  OffsetDurationExpr,
  OffsetExpr,
  StepInvariantExpr,
  SubqueryExpr,
  UnaryOp,
} from '@prometheus-io/lezer-promql';
import type { AtModifier, Expr, Span } from '../ast.ts';
import { type BuildContext, childOf, childrenOf } from './build-context.ts';
import { numberLiteral } from './literal.ts';

/** `node` is the one of the modifier; what it stands after in the tree is not looked at. */
export function withModifier(context: BuildContext, node: SyntaxNode, operand: Expr): Expr {
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

/** The durations in brackets, and where the brackets are. */
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

/** What holds the modifiers of an operand that may have some. */
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
    if (preprocessor === undefined) throw new Error('A fixed time has none');
    return context.first(preprocessor).word === 'start' ? 'start' : 'end';
  }
  const isNegative = context.first(number).word === '-';
  const value = numberLiteral(context, context.last(number)).value * (isNegative ? -1 : 1);
  if (Number.isFinite(value) && Math.abs(value) < 2 ** 63)
    return { ms: roundHalfAway(value * 1000) };
  const message = `timestamp out of bounds for @ modifier: ${formatFixed(value)}`;
  throw context.refuse(operand, message);
}

/** As Go rounds; `Math.round` takes halves up. */
function roundHalfAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function formatFixed(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  return `${BigInt(value)}.000000`;
}

/** Of a range or step: more than nothing, and as times are in milliseconds here, one at least. */
function positiveMs(context: BuildContext, node: SyntaxNode): number {
  const ms = toMs(secondsOf(context, node));
  if (ms <= 0) throw context.refuse(context.span(node), 'duration must be greater than 0');
  return ms;
}

function toMs(seconds: number): number {
  return Math.trunc(roundHalfAway(seconds * 1e9) / 1e6);
}

/** `node` is a duration: a number with signs. Arithmetic is refused, as without its flag. */
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
