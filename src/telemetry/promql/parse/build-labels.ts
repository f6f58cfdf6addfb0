/** Lists of labels in parentheses, and how a binary operator matches by them. */
import type { SyntaxNode } from '@lezer/common';
import {
  GroupingLabels,
  GroupLeft,
  GroupRight,
  MatchingModifierClause,
  On,
} from '@prometheus-io/lezer-promql';
import type { VectorMatching } from '../ast.ts';
import { type BuildContext, childOf, childrenOf } from './build-context.ts';
import { stringOf } from './literal.ts';

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
