/**
 * The parser against what Prometheus 3.5.3 answers: shapes, refusals with their exact words, and
 * every expression of the conformance scripts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { PromqlError } from '../../src/promql/errors.ts';
import { parseExpression } from '../../src/promql/parse/parse.ts';
import { componentPath, needs } from '../support/components.ts';

t.test('every expression of the conformance scripts parses', needs('shared folder'), async (t) => {
  const folder = join(componentPath('shared folder'), 'conformance/promql');
  let count = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.test'))) {
    for (const { expression, fails } of evalsOf(readFileSync(join(folder, file), 'utf8'))) {
      count++;
      const message = refusalOf(expression);
      if (message !== undefined && !fails) t.fail(`${file}: ${expression}: ${message}`);
    }
  }
  t.ok(count > 400, `${count} expressions`);
});

/** The expressions of a script, and whether they are expected to fail in some way. */
function evalsOf(script: string): { expression: string; fails: boolean }[] {
  const evals: { expression: string; fails: boolean }[] = [];
  for (const line of script.split('\n').map((text) => text.trim())) {
    const head = /^eval(_\w+)? (?:instant at \S+|range from \S+ to \S+ step \S+)\s+(.*)$/.exec(
      line,
    );
    const last = evals.at(-1);
    if (head !== null) evals.push({ expression: head[2] ?? '', fails: head[1] === '_fail' });
    else if (line.startsWith('expect fail') && last !== undefined) last.fails = true;
  }
  return evals;
}

function refusalOf(expression: string): string | undefined {
  try {
    parseExpression(expression);
    return undefined;
  } catch (error) {
    if (error instanceof PromqlError) return error.message;
    throw error;
  }
}
