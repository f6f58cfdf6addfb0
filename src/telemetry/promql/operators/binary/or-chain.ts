/**
 * `a or b or c ...`, as dashboards are made to write it for thousands of selectors. Joined from the
 * left, each `or` would look again at all that was found before, and the whole take the square of
 * its length. `or` with one way of matching is associative at each step: a series is kept where no
 * operand before its own has one of its group. So neighbours are joined that are made of equally
 * many operands, and each series is looked at as often as their number can be halved.
 */
import type { Binary, VectorMatching } from '../../ast.ts';
import type { Value } from '../../values.ts';

type Join = (node: Binary, lhs: Value, rhs: Value) => Value;

export class OrChain {
  readonly #matching: VectorMatching | null;
  readonly #join: Join;
  /** From left to right, each made of more operands than the next. */
  readonly #parts: { readonly value: Value; readonly operands: number; readonly node: Binary }[] =
    [];

  /** `node` is the first `or`, `join` computes one. */
  constructor(node: Binary, lhs: Value, join: Join) {
    this.#matching = node.matching;
    this.#join = join;
    this.#parts.push({ value: lhs, operands: 1, node });
  }

  /** Whether another `or` may be added. */
  takes({ op, matching }: Binary): boolean {
    if (op !== 'or' || matching === null || this.#matching === null) return false;
    const { on, labels } = this.#matching;
    if (matching.on !== on || matching.labels.length !== labels.length) return false;
    return matching.labels.every((label, i) => label === labels[i]);
  }

  /** The right side of an `or` whose left side is all that was added before. */
  add(node: Binary, rhs: Value): void {
    this.#parts.push({ value: rhs, operands: 1, node });
    while ((this.#parts.at(-2)?.operands ?? 0) === this.#parts.at(-1)?.operands) this.#joinLast();
  }

  value(): Value {
    while (this.#parts.length > 1) this.#joinLast();
    return this.#parts[0]?.value ?? missing();
  }

  #joinLast(): void {
    const rhs = this.#parts.pop() ?? missing();
    const lhs = this.#parts.pop() ?? missing();
    const value = this.#join(rhs.node, lhs.value, rhs.value);
    this.#parts.push({ value, operands: lhs.operands + rhs.operands, node: lhs.node });
  }
}

function missing(): never {
  throw new Error('An or has no operand');
}
