/**
 * Preloaded into a service under observation (`node --import`): every function of the checkout in
 * HOUSE_ROOT writes a line into HOUSE_TRACE when it is entered, in all threads. A coverage report
 * would list the functions too, but not their order, which is needed for folder and floor changes.
 *
 * A line is `<time, ns of the monotonic clock> <path>:<line of the function>`. A function writes at
 * most once in five milliseconds.
 */
import { openSync, writeSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Node, parse } from 'acorn';
import { full } from 'acorn-walk';

const INTERVAL_NS = 5_000_000n;
const { HOUSE_ROOT: root = '', HOUSE_TRACE: trace = '' } = process.env;
const output = openSync(trace, 'a');
const entered = new Map<string, bigint>();

Object.assign(globalThis, {
  __entered(place: string) {
    const now = process.hrtime.bigint();
    if (now - (entered.get(place) ?? 0n) < INTERVAL_NS) return;
    entered.set(place, now);
    writeSync(output, `${now} ${place}\n`);
  },
});

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith('file:')) return loaded;
    const path = relative(root, fileURLToPath(url));
    if (!/^(machines|streams|sqlite|actors|src)\/.*\.ts$/.test(path)) return loaded;
    const source = withEntries(stripTypeScriptTypes(String(loaded.source)), path);
    return { format: 'module', source, shortCircuit: true };
  },
});

interface FunctionNode extends Node {
  readonly body: Node;
  readonly expression?: boolean;
}

/** The module with a call at the start of each function; line numbers stay the same. */
function withEntries(source: string, path: string): string {
  const insertions: { readonly at: number; readonly text: string }[] = [];
  const options = { ecmaVersion: 'latest', sourceType: 'module', locations: true } as const;
  full(parse(source, options), (node) => {
    if (!/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type))
      return;
    const { body, loc, expression } = node as FunctionNode;
    const call = `__entered('${path}:${loc?.start.line}')`;
    if (expression !== true) insertions.push({ at: body.start + 1, text: `${call};` });
    else {
      insertions.push({ at: body.start, text: `(${call},` }, { at: body.end, text: ')' });
    }
  });
  insertions.sort((a, b) => b.at - a.at);
  let text = source;
  for (const { at, text: inserted } of insertions) {
    text = text.slice(0, at) + inserted + text.slice(at);
  }
  return text;
}
