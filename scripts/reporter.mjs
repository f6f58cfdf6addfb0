// The report of a test run: one line a failed or skipped test, one line a file, and as the very
// last line `N passed, N failed` (`, N skipped`). A Transform, because tap pipes a reporter on to
// stdout; results come from tap-parser: level 0 are the files, level 1 the tests in them.
import { Transform } from 'node:stream';
import { Parser } from 'tap-parser';

export default class Report extends Transform {
  #parser = new Parser();
  #passed = 0;
  #failed = 0;
  #skipped = new Map();
  /** Files with a failed test of their own: their exit code says nothing more. */
  #explained = new Set();

  constructor() {
    super();
    this.#parser.on('child', (file) => this.#follow(file));
    this.#parser.on('assert', (result) => this.#fileEnded(result));
  }

  /** Results of one file: its direct tests count, whatever is nested below them does not. */
  #follow(file) {
    file.on('child', (test) => test.on('assert', (result) => this.#explain(test.name, result)));
    file.on('assert', (result) => {
      const name = `${file.name} > ${result.name}`;
      if (result.skip) this.#skip(result, name);
      else if (result.ok) this.#passed++;
      else {
        this.#failed++;
        this.#explained.add(file.name);
        this.push(`FAILED ${name}\n${describe(result.diag)}`);
      }
    });
  }

  #skip(result, name) {
    const reason = typeof result.skip === 'string' ? result.skip : 'no reason given';
    this.#skipped.set(reason, [...(this.#skipped.get(reason) ?? []), name]);
  }

  #explain(name, result) {
    if (!result.ok && !result.skip && !result.todo) {
      this.push(`  not ok ${name} > ${result.name}\n${describe(result.diag)}`);
    }
  }

  /** A file that dies before its first test has no result of its own: it counts as one failure. */
  #fileEnded(result) {
    if (!result.ok && !this.#explained.has(result.name)) {
      this.#failed++;
      this.push(`FAILED ${result.name} as a whole\n${describe(result.diag)}`);
    }
    this.push(
      `${result.ok ? 'ok    ' : 'not ok'} ${result.name} (${Math.round(result.time ?? 0)} ms)\n`,
    );
  }

  _transform(chunk, _encoding, done) {
    this.#parser.write(chunk);
    done();
  }

  _flush(done) {
    this.#parser.end();
    for (const [reason, names] of this.#skipped) {
      this.push(`skipped ${names.length}: ${reason}\n`);
      for (const name of names) this.push(`  ${name}\n`);
    }
    const skipped = [...this.#skipped.values()].flat().length;
    const tail = skipped > 0 ? `, ${skipped} skipped` : '';
    this.push(`${this.#passed} passed, ${this.#failed} failed${tail}\n`);
    done();
  }
}

/** What a failed assertion saw and wanted, shortened to what helps. */
function describe(diag) {
  if (!diag) return '';
  const { at, stack, diff, found, wanted, message, error, exitCode, signal } = diag;
  const parts = { at, message, error, diff, found, wanted, stack, exitCode, signal };
  const lines = Object.entries(parts)
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) => `    ${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
  return `${lines.join('\n').slice(0, 4000)}\n`;
}
