/**
 * The report of a test run: one line a failed test with what explains it, one line a file, then
 * what was skipped, and as the very last line `N passed, N failed` (`, N skipped`). A result is one
 * test at the top of its file; whatever is nested below only explains a failure.
 */
import { Parser, type Result } from 'tap-parser';

/** How the process of a file ended. */
export interface FileEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** It had to be ended. */
  readonly timedOut: boolean;
  readonly elapsedMs: number;
  /** What else is wrong. */
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
  #passed = 0;
  #failed = 0;

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  /** Whether something passed and nothing failed. */
  get ok(): boolean {
    return this.#passed > 0 && this.#failed === 0;
  }

  /** `name` is the file's, as it is reported. */
  file(name: string): FileReport {
    const parser = new Parser();
    let hasResults = false;
    let isExplained = false;
    let isWhole = false;
    parser.on('child', (test: Parser) => this.#explain(test, test.name));
    parser.on('assert', (result: Result) => {
      hasResults = true;
      isExplained ||= !result.ok && !result.skip;
      this.#count(`${name} > ${result.name}`, result);
    });
    parser.on('complete', ({ ok }: { ok: boolean }) => {
      isWhole = ok && hasResults;
    });
    return {
      write: (text) => void parser.write(text),
      end: ({ elapsedMs, ...end }) => {
        parser.end();
        const ok = isWhole && end.exitCode === 0 && !end.timedOut;
        // A file that ends outside of its tests has no result of its own: it counts as one failure.
        if (!ok && !isExplained) this.#fail(`${name} as a whole`, { ...end, hasResults });
        this.#print(`${ok ? 'ok    ' : 'not ok'} ${name} (${Math.round(elapsedMs)} ms)\n`);
      },
    };
  }

  /** What is reported when all files have ended. */
  end(): void {
    for (const [reason, names] of this.#skipped) {
      this.#print(`skipped ${names.length}: ${reason}\n`);
      for (const name of names) this.#print(`  ${name}\n`);
    }
    const skipped = [...this.#skipped.values()].flat().length;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    this.#print(`${this.#passed} passed, ${this.#failed} failed${tail}\n`);
  }

  #count(name: string, { ok, skip, diag }: Result): void {
    if (skip) {
      const reason = typeof skip === 'string' ? skip : 'no reason given';
      this.#skipped.set(reason, [...(this.#skipped.get(reason) ?? []), name]);
    } else if (ok) this.#passed++;
    else this.#fail(name, diag);
  }

  #fail(name: string, diagnosis: object | null): void {
    this.#failed++;
    this.#print(`FAILED ${name}\n${described(diagnosis)}`);
  }

  /** Reports each failed assertion where it was made, whatever it is nested in. */
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

const TOLD = 'at message error diff found wanted stack exitCode signal timedOut hasResults'.split(
  ' ',
);

/** What a failed assertion saw and wanted, shortened to what helps. */
function described(diagnosis: object | null): string {
  const facts = new Map(Object.entries(diagnosis ?? {}));
  const lines = TOLD.filter((key) => facts.has(key)).map((key) => {
    const value = facts.get(key);
    return `    ${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  return lines.length > 0 ? `${lines.join('\n').slice(0, 4000)}\n` : '';
}
