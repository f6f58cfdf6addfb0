/**
 * Warnings and infos of one evaluation, each text once. They say that an answer is right by the
 * rules and yet perhaps not what was meant (Prometheus, `util/annotations`). There may be one a
 * series or a step, so that no more are kept than anybody reads.
 */
import type { Span } from './ast.ts';
import { positionOf } from './errors.ts';

/** Different texts of one kind; one more text after them says that there were others. */
const KEPT_MAX = 1000;

export class Annotations {
  readonly #text: string;
  readonly #warnings = new Set<string>();
  readonly #infos = new Set<string>();
  readonly #positions = new Map<number, string>();

  /** `expression`: the text that spans point into. */
  constructor(expression: string) {
    this.#text = expression;
  }

  /** `message` without prefix and place: both are added as Prometheus does. */
  warn(message: string, span: Span): void {
    this.#keep(this.#warnings, 'warning', message, span);
  }

  info(message: string, span: Span): void {
    this.#keep(this.#infos, 'info', message, span);
  }

  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  get infos(): readonly string[] {
    return [...this.#infos];
  }

  #keep(kept: Set<string>, kind: 'warning' | 'info', message: string, { from }: Span): void {
    if (kept.size > KEPT_MAX) return;
    const text = `PromQL ${kind}: ${message} (${this.#positionOf(from)})`;
    if (kept.size < KEPT_MAX || kept.has(text)) kept.add(text);
    else kept.add(`PromQL ${kind}: more than ${KEPT_MAX} different ones, the others are left out`);
  }

  #positionOf(offset: number): string {
    let position = this.#positions.get(offset);
    if (position === undefined) {
      position = positionOf(this.#text, offset);
      this.#positions.set(offset, position);
    }
    return position;
  }
}
