/** Vector selectors: a name, matchers in braces, or both. */
import type { SyntaxNode } from '@lezer/common';
import {
  GroupingLabels,
  GroupLeft,
  GroupRight,
  LabelMatchers,
  MatchingModifierClause,
  On,
  QuotedLabelMatcher,
  QuotedLabelName,
  UnquotedLabelMatcher,
} from '@prometheus-io/lezer-promql';
import type { VectorMatching, VectorSelector } from '../ast.ts';
import { METRIC_NAME } from '../labels.ts';
import { createMatcher, type Matcher, type MatchOp, RegexpError } from '../matcher.ts';
import { type BuildContext, childOf, childrenOf } from './build-context.ts';
import { stringOf } from './literal.ts';
import type { Token } from './token.ts';

export function selectorOf(context: BuildContext, node: SyntaxNode): VectorSelector {
  const first = context.first(node);
  const name = first.text === '{' ? '' : first.text;
  const braces = childOf(node, LabelMatchers);
  const matchers = braces === undefined ? [] : childrenOf(braces).map((m) => matcherOf(context, m));
  // The name in front comes last, as Prometheus lists it.
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
      if (!label || !op || !value) throw new Error('A matcher is not whole');
      // The grammar lets only these four stand there.
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

/** `node` is a `GroupingLabels`. Any text but the empty one may name a label (UTF-8 names). */
export function labelsOf(context: BuildContext, node: SyntaxNode): string[] {
  return childrenOf(node).map((child) => {
    const token = context.first(child);
    const label = token.kind === 'string' ? stringOf(token.text) : token.text;
    if (label === '') throw context.refuse(token, 'invalid label name for grouping: ""');
    return label;
  });
}

/** As written; `node` is a `BinaryExpr`. Whether the sides are vectors is seen later. */
export function matchingOf(context: BuildContext, node: SyntaxNode): VectorMatching {
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
