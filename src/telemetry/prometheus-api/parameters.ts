/**
 * Parameters of a request, from its form body and its URL together. One rule decides what a name
 * given several times means, as Prometheus has it: the body goes before the URL, and of a parameter
 * that takes one value the first counts. Names are compared exactly: `query[]` is not `query`.
 */
import { PromqlError } from '../promql/errors.ts';

export class Parameters {
  readonly #values = new Map<string, string[]>();

  /** `forms`: form-encoded texts in order of precedence. Throws `PromqlError` bad_data. */
  constructor(forms: readonly string[]) {
    for (const form of forms) {
      for (const pair of form.split('&')) if (pair !== '') this.#add(pair);
    }
  }

  /** '' when it is not given, which means the same as an empty value. */
  get(name: string): string {
    return this.#values.get(name)?.[0] ?? '';
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  #add(pair: string): void {
    const at = pair.indexOf('=');
    const name = decode(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? '' : decode(pair.slice(at + 1));
    const values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, [value]);
    else values.push(value);
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    const message = 'error parsing form values: a percent escape is not one, or not UTF-8';
    throw new PromqlError('bad_data', message);
  }
}
