/**
 * Syntax tree to typed tree. What Prometheus refuses while it reduces a rule (unknown functions,
 * misplaced modifiers, empty durations) is refused here, in the same order: children first, from
 * left to right. A node that this switch does not know is refused, never passed over.
 */
import type { SyntaxNode } from '@lezer/common';
import {
  AggregateExpr,
  AggregateModifier,
  BoolModifier,
  FunctionCall,
  FunctionCallBody,
  GroupingLabels,
  ParenExpr,
  PromQL,
  StringLiteral,
  VectorSelector,
  Without,
} from '@prometheus-io/lezer-promql';
import type { AggregateOp, BinaryOp, Expr, Span } from '../ast.ts';
import { functionSignatures } from '../functions/signatures.ts';
import { type BuildContext, childOf, childrenOf } from './build-context.ts';
import { labelsOf, matchingOf } from './build-labels.ts';
import { withModifier } from './build-modifiers.ts';
import { selectorOf } from './build-selector.ts';
import { numberLiteral, stringLiteral } from './literal.ts';
import { combine } from './operand-order.ts';
import { functionError } from './syntax-error.ts';
import type { Token } from './token.ts';

/** Throws `PromqlError` bad_data. Types are not yet checked. */
export function buildExpression(context: BuildContext, node: SyntaxNode): Expr {
  return combine<Expr>(node, {
    operand: (inner) => operandOf(context, inner),
    modified: (inner, operand) => withModifier(context, inner, operand),
    signed: (inner, operand) => signed(context.first(inner), operand),
    combined: (inner, lhs, rhs) => combined(context, inner, { lhs, rhs }),
    operatorOf: (inner) => operatorToken(context, inner).word,
  });
}

function operandOf(context: BuildContext, node: SyntaxNode): Expr {
  switch (node.type.id) {
    case PromQL:
      return buildExpression(context, onlyChild(node));
    case ParenExpr: {
      const expr = buildExpression(context, onlyChild(node));
      return { kind: 'paren', expr, span: context.span(node) };
    }
    // Numbers too: the canonical text writes every literal as a string.
    case StringLiteral: {
      const token = context.first(node);
      return token.kind === 'string' ? stringLiteral(token) : numberLiteral(context, token);
    }
    case VectorSelector:
      return selectorOf(context, node);
    case FunctionCall:
      return callOf(context, node);
    case AggregateExpr:
      return aggregateOf(context, node);
    default:
      throw context.refuseNode(node);
  }
}

function onlyChild(node: SyntaxNode): SyntaxNode {
  const [child, ...others] = childrenOf(node);
  if (child === undefined || others.length > 0) throw new Error(`${node.name} has not one child`);
  return child;
}

/** A sign in front of a number becomes part of it. */
function signed(sign: Token, operand: Expr): Expr {
  const span = { from: sign.from, to: operand.span.to };
  const op = sign.word === '-' ? '-' : '+';
  if (operand.kind !== 'number') return { kind: 'unary', op, expr: operand, span };
  return { ...operand, value: op === '-' ? -operand.value : operand.value, span };
}

function combined(
  context: BuildContext,
  node: SyntaxNode,
  sides: { readonly lhs: Expr; readonly rhs: Expr },
): Expr {
  return {
    kind: 'binary',
    // Nothing else has a level in the table of operators.
    op: operatorToken(context, node).word as BinaryOp,
    ...sides,
    bool: childOf(node, BoolModifier) !== undefined,
    matching: matchingOf(context, node),
    span: { from: sides.lhs.span.from, to: sides.rhs.span.to },
  };
}

function operatorToken(context: BuildContext, node: SyntaxNode): Token {
  const operator = node.firstChild?.nextSibling;
  if (!operator) throw new Error('A binary expression has no operator');
  return context.first(operator);
}

function callOf(context: BuildContext, node: SyntaxNode): Expr {
  const args = argumentsOf(context, node);
  const name = context.first(node);
  const func = functionSignatures.get(name.text);
  if (func !== undefined) return { kind: 'call', func, args, span: context.span(node) };
  throw functionError(context.text, name);
}

function argumentsOf(context: BuildContext, node: SyntaxNode): Expr[] {
  const body = childOf(node, FunctionCallBody);
  if (body === undefined) throw new Error(`${node.name} has no arguments`);
  return childrenOf(body).map((argument) => buildExpression(context, argument));
}

const WITH_PARAMETER = new Set(['topk', 'bottomk', 'count_values', 'quantile']);
const EXPERIMENTAL = new Set(['limitk', 'limit_ratio']);

function aggregateOf(context: BuildContext, node: SyntaxNode): Expr {
  const { word } = context.first(node);
  const span = context.span(node);
  const modifier = childOf(node, AggregateModifier);
  const labels = modifier && childOf(modifier, GroupingLabels);
  const grouping = labels === undefined ? [] : labelsOf(context, labels);
  const without = modifier !== undefined && childOf(modifier, Without) !== undefined;
  const args = argumentsOf(context, node);
  refuseArguments(context, { word, span, given: args.length });
  const expr = args.at(-1);
  if (expr === undefined) throw new Error('An aggregation of nothing was let through');
  const param = args.length === 2 ? (args[0] ?? null) : null;
  // An aggregator of the table of words, of which the experimental two were refused.
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
