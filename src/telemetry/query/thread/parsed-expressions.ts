/**
 * Expressions that were parsed lately: dashboards ask the same again and again. The tree is frozen
 * and says nothing of whoever asked; each project keeps its own, so that none drops another's.
 */
import type { Expr } from '../../promql/ast.ts';
import type { Matcher } from '../../promql/matcher.ts';
import { parseExpression } from '../../promql/parse/parse.ts';
import { PARSED_BYTES_MAX, PROJECT_PARSED_BYTES_MAX } from '../limits.ts';
import { ProjectCache, type ProjectCacheOptions, type Weighed } from '../project-cache.ts';

/** Of a tree, for each character of its text: measured on a heap. */
const CHARACTER_BYTES = 100;

class ParsedExpression implements Weighed {
  readonly tree: Expr;
  readonly #textBytes: number;
  readonly #matchers: readonly Matcher[];

  constructor(text: string, tree: Expr) {
    this.tree = tree;
    this.#textBytes = CHARACTER_BYTES * text.length;
    this.#matchers = matchersOf(tree);
  }

  get bytes(): number {
    return this.#matchers.reduce((sum, { bytes }) => sum + bytes, this.#textBytes);
  }
}

const LIMITS = { bytesMax: PARSED_BYTES_MAX, projectBytesMax: PROJECT_PARSED_BYTES_MAX };

export class ParsedExpressions {
  readonly #kept: ProjectCache<ParsedExpression>;

  constructor(limits: ProjectCacheOptions = LIMITS) {
    this.#kept = new ProjectCache(limits);
  }

  /** Memory of what is kept, about, bytes. */
  get bytes(): number {
    this.#kept.settle();
    return this.#kept.bytes;
  }

  /** Throws `PromqlError` bad_data, every time anew. */
  parse(project: string, text: string): Expr {
    const known = this.#kept.get(project, text);
    if (known !== undefined) return known.tree;
    const parsed = new ParsedExpression(text, parseExpression(text));
    this.#kept.put(project, text, parsed);
    return parsed.tree;
  }
}

/** Without recursion: a text of 16 KiB can be a deep tree. */
function matchersOf(tree: Expr): readonly Matcher[] {
  const found: Matcher[] = [];
  const open: Expr[] = [tree];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    switch (node.kind) {
      case 'number':
      case 'string':
        break;
      case 'vectorSelector':
        found.push(...node.matchers);
        break;
      case 'matrixSelector':
        open.push(node.selector);
        break;
      case 'subquery':
      case 'unary':
      case 'paren':
        open.push(node.expr);
        break;
      case 'aggregate':
        open.push(node.expr);
        if (node.param !== null) open.push(node.param);
        break;
      case 'call':
        open.push(...node.args);
        break;
      case 'binary':
        open.push(node.lhs, node.rhs);
        break;
    }
  }
  return found;
}
