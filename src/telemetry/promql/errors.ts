/**
 * Errors of expressions, in the kinds that Prometheus's HTTP API distinguishes (`errorType`).
 * `bad_data`: the expression or a parameter is invalid. `execution`: the data does not allow it
 * (many-to-many matching), or it needs too many resources. `timeout` and `canceled`: it was
 * stopped.
 */
import type { Span } from './ast.ts';

/**
 * `errorType` of the HTTP API. It determines the HTTP status: 400 for bad_data, 422 execution, 503
 * timeout, 499 canceled.
 */
export type PromqlErrorKind = 'bad_data' | 'execution' | 'timeout' | 'canceled';

/**
 * A failed query, with the text for clients. Any other exception during an evaluation is a bug of
 * this program.
 */
export class PromqlError extends Error {
  readonly kind: PromqlErrorKind;
  /** Position in the expression; null if the error has none. */
  readonly span: Span | null;

  constructor(kind: PromqlErrorKind, message: string, span: Span | null = null) {
    super(message);
    this.name = 'PromqlError';
    this.kind = kind;
    this.span = span;
  }
}

/** `line:column` of an offset, both from 1; columns in UTF-8 bytes, as Prometheus counts them. */
function positionOf(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  const column = Buffer.byteLength(before.slice(before.lastIndexOf('\n') + 1)) + 1;
  return `${line}:${column}`;
}

/** `span` null: no position; reported at the start. */
export function parseError(text: string, span: Span | null, message: string): PromqlError {
  const place = text === '' ? 'unknown position' : positionOf(text, span?.from ?? 0);
  return new PromqlError('bad_data', `${place}: parse error: ${message}`, span);
}

/**
 * Maximum number of different texts of one kind; one more text reports that others were left out.
 */
const KEPT_MAX = 1000;

/**
 * Collects warnings and infos of one evaluation, each text once. Operators report here instead of
 * failing, as Prometheus does.
 */
export class Annotations {
  readonly #text: string;
  readonly #warnings = new Set<string>();
  readonly #infos = new Set<string>();
  readonly #positions = new Map<number, string>();

  /** `expression`: the text that spans refer to. */
  constructor(expression: string) {
    this.#text = expression;
  }

  /** `message` has no prefix and no position: both are added as in Prometheus. */
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
