/**
 * Syntax trees to a typed tree. What Prometheus refuses while it reduces a rule (unknown functions,
 * misplaced modifiers, empty durations) is refused here, in the same order: children first, from
 * left to right. A node that this switch does not know is refused, never passed over.
 */
import type { SyntaxNode } from '@lezer/common';
import {
  AggregateExpr,
  AggregateModifier,
  BoolModifier,
  FunctionCall,
  GroupingLabels,
  MatrixSelector,
  OffsetExpr,
  ParenExpr,
  StepInvariantExpr,
  StringLiteral,
  SubqueryExpr,
  VectorSelector,
  Without,
} from '@prometheus-io/lezer-promql';
import type { AggregateOp, BinaryOp, Expr, Span } from '../ast.ts';
import { functionSignatures } from '../functions/signatures.ts';
import { RegexpBudget } from '../matcher.ts';
import { BuildContext, childOf, childrenOf } from './build-context.ts';
import { withModifier } from './build-modifiers.ts';
import { labelsOf, matchingOf, selectorOf } from './build-selector.ts';
import { numberLiteral, stringLiteral } from './literal.ts';
import { combine, type Piece, type Sequence } from './split.ts';
import { functionError } from './syntax-error.ts';
import type { ParsedExpression } from './syntax-tree.ts';
import type { Token } from './token.ts';

/** Throws `PromqlError` bad_data. Types are not yet checked. */
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
      // Nothing else has a level in the table of operators.
      op: this.#parsed.tokenOf(operator).word as BinaryOp,
      lhs,
      rhs,
      bool: childOf(node, BoolModifier) !== undefined,
      matching: matchingOf(context, node),
      span: { from: lhs.span.from, to: rhs.span.to },
    };
  }

  /** With its modifiers, which the grammar nests around it. */
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

/** `inner`: what it has in parentheses. */
function bareOperand(context: BuildContext, node: SyntaxNode, inner: () => Expr[]): Expr {
  switch (node.type.id) {
    case ParenExpr: {
      const [expr] = inner();
      if (expr === undefined) throw new Error('Empty parentheses were let through');
      return { kind: 'paren', expr, span: context.span(node) };
    }
    // Numbers too: every literal is shown to the grammar as a string.
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
