/** Context for building a typed tree from a piece's syntax: the tokens of a node, how to refuse. */
import type { SyntaxNode } from '@lezer/common';
import type { Span } from '../ast.ts';
import { type PromqlError, parseError } from '../errors.ts';
import type { RegexpBudget } from '../matcher.ts';
import type { SyntaxTree } from './syntax-tree.ts';
import type { Token } from './token.ts';

/**
 * One piece of an expression while its tree is built. Positions are those of the whole expression.
 */
export class BuildContext {
  readonly text: string;
  /** Of the whole expression. */
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

  /** The token that a node begins with. */
  first(node: SyntaxNode): Token {
    return this.#tree.first(node);
  }

  /** The token that a node ends with. */
  last(node: SyntaxNode): Token {
    return this.#tree.last(node);
  }

  /** The token in front of a node. */
  before(node: SyntaxNode): Token {
    return this.#tree.before(node);
  }

  span(node: SyntaxNode): Span {
    return { from: this.first(node).from, to: this.last(node).to };
  }

  refuse({ from, to }: Span, message: string): PromqlError {
    return parseError(this.text, { from, to }, message);
  }

  /** A node that the grammar knows and we do not. */
  refuseNode(node: SyntaxNode): PromqlError {
    return this.refuse(this.span(node), `${node.name} is not supported`);
  }
}

/** Named nodes only; marks are none. */
export function childrenOf(node: SyntaxNode): SyntaxNode[] {
  const children: SyntaxNode[] = [];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) children.push(child);
  return children;
}

/** The child of one kind, if there is one. */
export function childOf(node: SyntaxNode, kind: number): SyntaxNode | undefined {
  return childrenOf(node).find((child) => child.type.id === kind);
}
