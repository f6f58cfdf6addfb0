/**
 * Results of all attempts by class: the final table, and for each failed try the request, the
 * answer, and the reason why it is wrong.
 */

export interface Failure {
  readonly class: string;
  /** The try in a few words. */
  readonly name: string;
  /** Why the answer is wrong. */
  readonly why: string;
  /** The request, truncated. */
  readonly request: string;
  /** The answer, truncated. */
  readonly answer: string;
}

export interface ClassResult {
  readonly class: string;
  readonly tries: number;
  readonly held: number;
  /** Tries answered by a rate limit: they held, but prove little. */
  readonly limited: number;
  readonly failures: readonly Failure[];
  /** Figures without a verdict, such as a neighbour's times under load. */
  readonly figures: readonly string[];
}

/** Failures kept in full, per kind and in total; the others are only counted. */
const FAILURES_KEPT_OF_A_KIND = 6;
const FAILURES_KEPT = 60;
const CUT = 600;

/** Results of one class. */
export class Tally {
  readonly #name: string;
  #tries = 0;
  #failed = 0;
  #limited = 0;
  readonly #failures: Failure[] = [];
  readonly #figures: string[] = [];

  constructor(name: string) {
    this.#name = name;
  }

  get tries(): number {
    return this.#tries;
  }

  get limited(): number {
    return this.#limited;
  }

  /** Records a try; `why` states the problem of its outcome, undefined if it held. */
  record(outcome: {
    readonly name: string;
    readonly why: string | undefined;
    readonly request?: string;
    readonly answer?: string;
    readonly isLimited?: boolean;
  }): void {
    const { name, why, request = '', answer = '', isLimited = false } = outcome;
    this.#tries++;
    if (isLimited) this.#limited++;
    if (why === undefined) return;
    this.#failed++;
    const alike = this.#failures.filter((failure) => kindOf(failure.why) === kindOf(why)).length;
    if (alike >= FAILURES_KEPT_OF_A_KIND || this.#failures.length >= FAILURES_KEPT) return;
    this.#failures.push({
      class: this.#name,
      name,
      why,
      request: request.slice(0, CUT),
      answer: answer.slice(0, CUT),
    });
  }

  figure(line: string): void {
    this.#figures.push(line);
  }

  result(): ClassResult {
    return {
      class: this.#name,
      tries: this.#tries,
      held: this.#tries - this.#failed,
      limited: this.#limited,
      failures: this.#failures,
      figures: this.#figures,
    };
  }
}

/** Reasons that differ only in numbers are the same kind. */
function kindOf(why: string): string {
  return why.replaceAll(/\d+/g, '#').slice(0, 60);
}

/** True if there is a result, and every class made tries that all held. */
export function hasHeld(results: readonly ClassResult[]): boolean {
  return results.length > 0 && results.every(({ tries, held }) => tries > 0 && tries === held);
}

/** The table, the figures, and a paragraph for each failure. */
export function reportOf(results: readonly ClassResult[], replay: string): string {
  const rows = results.map(({ class: name, tries, held, limited }) => [
    name,
    String(tries),
    String(held),
    String(tries - held),
    String(limited),
  ]);
  const head = ['class', 'tries', 'held', 'failed', 'answered 429'];
  const widths = head.map((text, i) =>
    Math.max(text.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join(' | ');
  const failures = results.flatMap((result) => result.failures);
  const figures = results.flatMap((result) =>
    result.figures.map((text) => `${result.class}: ${text}`),
  );
  const failureLines = failures.map(
    ({ class: name, name: tried, why, request, answer }) =>
      `\nNOT HELD ${name}: ${tried}\n  why:     ${why}\n  request: ${request}\n  answer:  ${answer}`,
  );
  return [
    ...figures,
    ...failureLines,
    ...(failureLines.length > 0 ? [`\nto replay: ${replay}`] : []),
    '',
    line(head),
    widths.map((width) => '-'.repeat(width)).join('-|-'),
    ...rows.map(line),
    '',
  ].join('\n');
}
