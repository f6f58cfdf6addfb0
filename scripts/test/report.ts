/**
 * The report of a test run: one line per failed test with its explanation, one line per file, then
 * the skipped tests, and as the very last line `N passed, N failed` (`, N skipped`). A result is
 * one test at the top of its file. Nested tests only explain a failure.
 */
import { Parser, type Result } from 'tap-parser';
import type { FileTimes, Times } from './times.ts';

/** How the process of a file ended. */
export interface FileEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** True if it had to be killed. */
  readonly timedOut: boolean;
  readonly elapsedMs: number;
  /** CPU time of its process and its children, ms; absent if the process ended with it. */
  readonly cpuMs?: number;
  /** A fault besides its tests. */
  readonly message?: string;
}

/** Takes the output of one file. */
export interface FileReport {
  write(text: string): void;
  /** Called once, when the process has ended and all of its output was written. */
  end(end: FileEnd): void;
}

export class Report {
  readonly #print: (text: string) => void;
  readonly #skipped = new Map<string, string[]>();
  readonly #counts = new Map<string, { passed: number; failed: number }>();
  readonly #times = new Map<string, FileTimes>();

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  /** True if something passed and nothing failed. */
  get ok(): boolean {
    return this.#sum('passed') > 0 && this.#sum('failed') === 0;
  }

  /** Times of the files that have ended, if they could be measured. */
  get times(): Times {
    return this.#times;
  }

  /** `name` is the name of the file in the report. */
  file(name: string): FileReport {
    const parser = new Parser();
    let hasResults = false;
    let isExplained = false;
    let isWhole = false;
    parser.on('child', (test: Parser) => this.#explain(test, test.name));
    parser.on('assert', (result: Result) => {
      hasResults = true;
      isExplained ||= !result.ok && !result.skip;
      this.#count(name, result);
    });
    parser.on('complete', ({ ok }: { ok: boolean }) => {
      isWhole = ok && hasResults;
    });
    return {
      write: (text) => void parser.write(text),
      end: ({ elapsedMs, cpuMs, ...end }) => {
        parser.end();
        const ok = isWhole && end.exitCode === 0 && !end.timedOut;
        // A file that ends outside of its tests has no result of its own, so it counts as one
        // failure.
        if (!ok && !isExplained) this.#fail(name, `${name} as a whole`, { ...end, hasResults });
        this.#print(`${ok ? 'ok    ' : 'not ok'} ${name} (${Math.round(elapsedMs)} ms)\n`);
        if (cpuMs !== undefined) this.#times.set(name, { wallMs: elapsedMs, cpuMs });
      },
    };
  }

  /** Prints the end of the report. Call it once, when all files have ended. */
  end(): void {
    for (const [reason, names] of this.#skipped) {
      this.#print(`skipped ${names.length}: ${reason}\n`);
      for (const name of names) this.#print(`  ${name}\n`);
    }
    const skipped = [...this.#skipped.values()].flat().length;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    this.#print(`${this.#sum('passed')} passed, ${this.#sum('failed')} failed${tail}\n`);
  }

  #sum(kind: 'passed' | 'failed'): number {
    return [...this.#counts.values()].reduce((sum, counts) => sum + counts[kind], 0);
  }

  #countsOf(file: string): { passed: number; failed: number } {
    const counts = this.#counts.get(file) ?? { passed: 0, failed: 0 };
    this.#counts.set(file, counts);
    return counts;
  }

  #count(file: string, { ok, skip, name, diag }: Result): void {
    const path = `${file} > ${name}`;
    if (skip) {
      const reason = typeof skip === 'string' ? skip : 'no reason given';
      const names = this.#skipped.get(reason) ?? [];
      if (!names.includes(path)) this.#skipped.set(reason, [...names, path]);
    } else if (ok) this.#countsOf(file).passed++;
    else this.#fail(file, path, diag);
  }

  #fail(file: string, path: string, diagnosis: object | null): void {
    this.#countsOf(file).failed++;
    this.#print(`FAILED ${path}\n${described(diagnosis)}`);
  }

  /** Reports each failed assertion at its own position, regardless of nesting. */
  #explain(test: Parser, path: string): void {
    let isExplained = false;
    test.on('child', (inner: Parser) => {
      isExplained = false;
      inner.on('assert', ({ ok }: Result) => {
        isExplained ||= !ok;
      });
      this.#explain(inner, `${path} > ${inner.name}`);
    });
    test.on('assert', ({ ok, skip, todo, name, diag }: Result) => {
      if (!ok && !skip && !todo && !isExplained) {
        this.#print(`  not ok ${path} > ${name}\n${described(diag)}`);
      }
      isExplained = false;
    });
  }
}

const TOLD =
  'at message error diff found wanted cmd stdout stderr stack exitCode signal timedOut hasResults'.split(
    ' ',
  );

/** The observed and expected values of a failed assertion, shortened to what helps. */
function described(diagnosis: object | null): string {
  const facts = new Map(Object.entries(diagnosis ?? {}));
  const lines = TOLD.filter((key) => facts.has(key)).map((key) => {
    const value = facts.get(key);
    return `    ${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  return lines.length > 0 ? `${lines.join('\n').slice(0, 4000)}\n` : '';
}
