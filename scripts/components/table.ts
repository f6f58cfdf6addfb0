/**
 * The components as rows for people and programs: their presence, the tests that need them, and how
 * to get them.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Component, ComponentName } from '../../test/support/components.ts';

export interface Row {
  readonly name: ComponentName;
  /** `other version`: the program is here, but the tests accept only another version. */
  readonly state: 'here' | 'missing' | 'other version';
  /** Absent if it is missing or has no version. */
  readonly version?: string;
  readonly path?: string;
  /** Test files and benchmarks that name it, as paths from the root of the checkout. */
  readonly neededBy: readonly string[];
  readonly howToGet: string;
}

/** Results of running programs for a component, passed in so that a row is a pure value. */
export interface Probe {
  /** Output of the program's version command. */
  readonly versionText: (path: string) => string;
  /** Version of the package that contains a program, if its own output has none. */
  readonly packageVersion: (component: Component) => string | undefined;
}

/** The row of one component. */
export function rowOf(
  name: ComponentName,
  component: Component,
  neededBy: readonly string[],
  probe: Probe,
): Row {
  const accepted = component.find();
  const other = accepted === undefined ? component.candidates?.()[0] : undefined;
  const path = accepted ?? other;
  const version =
    path === undefined || component.candidates === undefined
      ? undefined
      : (versionIn(probe.versionText(path)) ?? probe.packageVersion(component));
  return {
    name,
    state: accepted !== undefined ? 'here' : other !== undefined ? 'other version' : 'missing',
    ...(version === undefined ? {} : { version }),
    ...(path === undefined ? {} : { path }),
    neededBy,
    howToGet: component.howToGet,
  };
}

/** The first version in a text, e.g. `2.10.27` in `nats-server: v2.10.27`. */
export function versionIn(text: string): string | undefined {
  // A program that prints its help instead has no version in the first line.
  return /\d+(?:\.\d+)+/.exec(text.split('\n')[0] ?? '')?.[0];
}

/**
 * Test files and benchmarks of a checkout, by the component that they name. Their text is searched,
 * because a test file must declare its components.
 */
export function usesOf(
  root: string,
  names: readonly ComponentName[],
): Map<ComponentName, string[]> {
  const files = globSync('{test,bench}/**/*.ts', { cwd: root })
    .filter((file) => !file.startsWith('test/support/') && !file.startsWith('test/scripts/'))
    .sort();
  const texts = files
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))
    .filter(({ text }) => text.includes("/components.ts'"));
  return new Map(
    names.map((name) => [
      name,
      texts.filter(({ text }) => text.includes(`'${name}'`)).map(({ file }) => file),
    ]),
  );
}

/** The table for users: two or three lines per component. */
export function tableText(rows: readonly Row[], home: string): string {
  const width = Math.max(...rows.map(({ name }) => name.length));
  const indent = ' '.repeat('missing'.length + 2);
  return rows
    .map((row) => {
      const mark = row.state === 'here' ? 'here' : row.state === 'missing' ? 'missing' : 'other';
      const place = row.path?.replace(`${home}/`, '~/');
      const what = [row.version, place].filter((part) => part !== undefined).join('  ');
      const isOther = row.state === 'other version';
      const found = isOther ? `${what}: tests that need ${row.name} are skipped` : what;
      return [
        `${mark.padEnd('missing'.length)}  ${row.name.padEnd(width)}  ${found}`.trimEnd(),
        `${indent}needed by ${foldersText(row.neededBy)}`,
        ...(row.state === 'here' ? [] : [`${indent}to get it: ${row.howToGet}`]),
      ].join('\n');
    })
    .join('\n');
}

/** Number of files by folder, so that they fit on one line. */
function foldersText(files: readonly string[]): string {
  if (files.length === 0) return 'no test';
  const counts = new Map<string, number>();
  for (const file of files) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  return [...counts]
    .map(([folder, count]) => (count === 1 ? folder : `${folder} (${count})`))
    .join(', ');
}

/**
 * Components that the words of a command name: a full name, or a program for all versions of it.
 * Without words, all components. Throws RangeError for a word that names none.
 */
export function namedBy(
  words: readonly string[],
  names: readonly ComponentName[],
): readonly ComponentName[] {
  if (words.length === 0) return names;
  const chosen = words.map((word) => {
    const found = names.filter((name) => name === word || name.startsWith(`${word} `));
    if (found.length > 0) return found;
    throw new RangeError(`No component is called ${word}. Use one of: ${names.join(', ')}`);
  });
  return names.filter((name) => chosen.some((found) => found.includes(name)));
}
