/**
 * Warnings and infos of one evaluation, each text once. They tell that an answer is right by the
 * rules and yet perhaps not what was meant (Prometheus, `util/annotations`).
 */
import type { Span } from './ast.ts';
import { positionOf } from './errors.ts';

export class Annotations {
  readonly #text: string;
  readonly #warnings = new Set<string>();
  readonly #infos = new Set<string>();

  /** `expression`: the text that spans point into. */
  constructor(expression: string) {
    this.#text = expression;
  }

  /** `message` without prefix and place: both are added as Prometheus does. */
  warn(message: string, span: Span): void {
    this.#warnings.add(`PromQL warning: ${message} (${positionOf(this.#text, span.from)})`);
  }

  info(message: string, span: Span): void {
    this.#infos.add(`PromQL info: ${message} (${positionOf(this.#text, span.from)})`);
  }

  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  get infos(): readonly string[] {
    return [...this.#infos];
  }
}
