/**
 * Expressions that were parsed lately: dashboards ask the same again and again. The tree is frozen
 * and says nothing of whoever asked.
 */
import type { Expr } from '../../promql/ast.ts';
import { parseExpression } from '../../promql/parse/parse.ts';

/** Some panels of some dashboards each; a tree takes a few KB. */
const KEPT_MAX = 1000;

export class ParsedExpressions {
  readonly #trees = new Map<string, Expr>();

  /** Throws `PromqlError` bad_data, every time anew. */
  parse = (text: string): Expr => {
    let tree = this.#trees.get(text);
    if (tree === undefined) {
      tree = parseExpression(text);
      if (this.#trees.size >= KEPT_MAX) this.#dropOldest();
    } else this.#trees.delete(text);
    this.#trees.set(text, tree);
    return tree;
  };

  #dropOldest(): void {
    for (const text of this.#trees.keys()) {
      this.#trees.delete(text);
      return;
    }
  }
}
