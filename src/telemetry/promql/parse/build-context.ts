/** Context for building a typed tree from a piece's syntax: the tokens of a node, and errors. */
import type { SyntaxNode } from '@lezer/common';
import type { Span } from '../ast.ts';
import { type PromqlError, parseError } from '../errors.ts';
import type { RegexpBudget } from '../matcher.ts';
import type { SyntaxTree } from './syntax-tree.ts';
import type { Token } from './token.ts';

/**
 * One piece of an expression while its tree is built. Positions are relative to the whole
 * expression.
 */
export class BuildContext {
  readonly text: string;
  /** Budget of the whole expression. */
  readonly regexps: RegexpBudget;
  readonly #tree: SyntaxTree;

  constructor(text: string, tree: SyntaxTree, regexps: RegexpBudget) {
    this.text = text;
    this.regexps = regexps;
    this.#tree = tree;
  }

  get root(): SyntaxNode {
    return this.#tree.root;
  }

  /** First token of a node. */
  first(node: SyntaxNode): Token {
    return this.#tree.first(node);
  }

  /** Last token of a node. */
  last(node: SyntaxNode): Token {
    return this.#tree.last(node);
  }

  /** Token before a node. */
  before(node: SyntaxNode): Token {
    return this.#tree.before(node);
  }

  span(node: SyntaxNode): Span {
    return { from: this.first(node).from, to: this.last(node).to };
  }

  refuse({ from, to }: Span, message: string): PromqlError {
    return parseError(this.text, { from, to }, message);
  }

  /** The error for a node that the grammar knows and this service does not support. */
  refuseNode(node: SyntaxNode): PromqlError {
    return this.refuse(this.span(node), `${node.name} is not supported`);
  }
}

/** Named nodes only; marks are left out. */
export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/** The child of one kind, if any. */
export function childOf(node: SyntaxNode, kind: number): SyntaxNode | undefined {
  return childrenOf(node).find((child) => child.type.id === kind);
}
