/**
 * Nothing that was promised lacks its test: each row of the interface document's tables of
 * transitions, errors and limits, each rule of its measurements, identities, endpoints,
 * authentication and events, each numbered case of evaluation.md, each point of webhooks.md. Beside
 * this file is which test stands for which; here, that a test of exactly that name is there, that
 * the name carries the row's words where the row has a name, and that no row was forgotten: what the
 * document has and the list has not is a failure, and so is the opposite.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { componentPath, needs } from '../support/components.ts';
import { cases } from './evaluation-cases.ts';
import { endpoints, events } from './interface-endpoints.ts';
import type { Covered } from './interface-identities.ts';
import { identities, rules } from './interface-identities.ts';
import { errors, limits } from './interface-limits.ts';
import { measurements, transitions } from './interface-rows.ts';
import { webhooks } from './webhook-points.ts';

const lists = {
  ...{ rules, identities, endpoints, errors, events, limits, measurements, transitions },
  ...{ cases, webhooks },
};

/** Names as they stand in the source, with `…` for what a name takes from a table. */
function namesIn(file: string): Set<string> {
  const text = readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  const calls = text.matchAll(/\btest\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs);
  return new Set(
    [...calls].map(([, , name = '']) => name.replace(/\$\{.*?\}/g, '…').replace(/\\(.)/g, '$1')),
  );
}

t.test('every test that stands for a row is there, under exactly its name', async (t) => {
  const known = new Map<string, Set<string>>();
  for (const [list, rows] of Object.entries(lists)) {
    for (const { row, tests } of rows) {
      t.ok(tests.length > 0, `${list}: ${row}`);
      for (const [file, name] of tests) {
        const names = known.get(file) ?? namesIn(file);
        known.set(file, names);
        t.ok(names.has(name), `${list}: ${row}: "${name}" in test/${file}`);
      }
    }
  }
});

t.test('a transition, an error, a limit and a case have a test named after them', async (t) => {
  for (const { row, tests } of [...transitions, ...errors, ...limits]) {
    const [, object, mover] = row.split('|');
    // A transition is named by what moves it as well, a sentence by itself.
    const isTransition = transitions.some((transition) => transition.row === row);
    const wanted = [object ?? row, ...(isTransition && mover ? [mover] : [])].map(plain);
    t.ok(
      tests.some(([, name]) => wanted.some((words) => plain(name).includes(words))),
      `${row} in a name`,
    );
  }
  for (const { row, tests } of cases) {
    for (const [, name] of tests) t.ok(name.startsWith(`case ${row}: `), `${row}: ${name}`);
  }
});

/** Words alone, so that a name may put a comma or a colon where the table has none. */
function plain(text: string): string {
  return text
    .replace(/\(.*?\)/g, '')
    .replace(/[^a-z0-9]+/gi, ' ')
    .trim()
    .toLowerCase();
}

t.test('no row of the interface document lacks its tests', needs('shared folder'), async (t) => {
  const path = join(componentPath('shared folder'), 'spec/interface.md');
  const sections = readFileSync(path, 'utf8').split(/^## /m);
  const section = (number: number) => sections[number] ?? '';
  const said = section(1).split('### Measurement semantics')[1] ?? '';
  allCovered(t, rowsAndPoints(said), measurements);
  const named = section(2).split('### Identities')[1]?.split('### ')[0] ?? '';
  allCovered(t, rowsAndPoints(named), identities);
  const [before = '', after = ''] = section(3).split(/(?=^Before sending)/m);
  const sentences = after.split('\n')[0]?.split(/(?<=\.) /) ?? [];
  allCovered(t, [...rowsAndPoints(before), ...sentences], transitions);
  sameNumbers(t, section(4), endpoints);
  sameNumbers(t, section(5), rules);
  sameNumbers(t, section(6), events);
  const troubles = section(7).split('\n');
  allCovered(
    t,
    [
      ...rowsAndPoints(section(7)),
      ...troubles.filter((line) => line.startsWith('Troubleshooting')),
    ],
    errors,
  );
  allCovered(t, rowsAndPoints(section(8)), limits);
});

t.test('no case of evaluation.md lacks its tests', needs('shared folder'), async (t) => {
  const text = readFileSync(join(componentPath('shared folder'), 'evaluation.md'), 'utf8');
  t.equal(cases.length, 24);
  sameNumbers(t, text, cases);
});

t.test('no point of webhooks.md lacks its tests', needs('shared folder'), async (t) => {
  const text = readFileSync(join(componentPath('shared folder'), 'webhooks.md'), 'utf8');
  const points = text
    .split(/^## /m)
    .slice(1)
    .flatMap((section) => {
      const [title = '', ...lines] = section.split('\n');
      const listed = lines.filter((line) => line.startsWith('- '));
      const heading = title.replace(/[(:].*/, '').trim();
      return [heading, ...listed.map((line) => `${heading} ${line}`)];
    });
  allCovered(t, points, webhooks);
});

/** Rows of tables, without their heads, and points of lists. */
function rowsAndPoints(text: string): string[] {
  const lines = text.split('\n');
  return lines.filter(
    (line, i) => /^(\| (?!---)|- )/.test(line) && !lines[i + 1]?.startsWith('| ---'),
  );
}

/** Each line belongs to the longest row that it begins with, and each row has its line. */
function allCovered(t: Test, lines: readonly string[], covered: readonly Covered[]): void {
  const met = new Set<string>();
  for (const line of lines) {
    const fitting = covered.map(({ row }) => row).filter((row) => line.startsWith(row));
    const [row] = fitting.sort((a, b) => b.length - a.length);
    t.ok(row !== undefined && !met.has(row), line);
    if (row !== undefined) met.add(row);
  }
  t.same(
    covered.map(({ row }) => row).filter((row) => !met.has(row)),
    [],
    'what the document no longer has',
  );
}

/** `1`, `2`, ... and `4.1`, ... of the points below a rule, from below the title on. */
function sameNumbers(t: Test, section: string, covered: readonly Covered[]): void {
  let rule = '';
  const numbers = section
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, indent, number] = /^( *)(\d+)\. /.exec(line) ?? [];
      if (number === undefined) return [];
      if (indent !== '') return [`${rule}.${number}`];
      rule = number;
      return [number];
    });
  t.ok(numbers.length > 0);
  t.same(
    covered.map(({ row }) => row),
    numbers,
  );
}
