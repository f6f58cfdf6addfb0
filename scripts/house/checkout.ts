/**
 * The sources of a checkout as data: each file of the five floors with its text and its
 * dependencies. A dependency is an import of any kind (including types), a re-export, or the entry
 * of a thread (`new URL('./x.ts', import.meta.url)`). The text is formatted by biome, so imports
 * are found by pattern; only addresses of files of the checkout count.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

/** Lowest first: a floor may import itself and the floors before it. */
export const floors = ['machines', 'streams', 'sqlite', 'actors', 'src'] as const;
export type Floor = (typeof floors)[number];

export interface SourceFile {
  /** From the root of the checkout, with `/`. */
  readonly path: string;
  readonly floor: Floor;
  readonly text: string;
  readonly lines: number;
  /** Written by a generator, and measured separately. */
  readonly generated: boolean;
  /** Paths of the files that it depends on, sorted, without duplicates. */
  readonly imports: readonly string[];
}

export interface Checkout {
  readonly root: string;
  /** Every tracked or new file of any kind that is not ignored; sorted. */
  readonly paths: readonly string[];
  /** TypeScript of the five floors by path, in the order of `paths`. */
  readonly sources: ReadonlyMap<string, SourceFile>;
  /** TypeScript of the tests, which may import everything. */
  readonly tests: readonly { readonly path: string; readonly lines: number }[];
}

/** Reads the checkout in `root` from disk. */
export function readCheckout(root: string): Checkout {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  const paths = [...new Set(listed.split('\n'))]
    .filter((path) => path !== '' && existsSync(join(root, path)))
    .sort();
  const texts = new Map(
    paths
      .filter((path) => floorOf(path) !== undefined && /\.tsx?$/.test(path))
      .map((path) => [path, readFileSync(join(root, path), 'utf8')]),
  );
  const tests = paths
    .filter((path) => /^test\/.*\.tsx?$/.test(path))
    .map((path) => ({ path, lines: linesOf(readFileSync(join(root, path), 'utf8')) }));
  return { root, paths, sources: sourcesOf(texts), tests };
}

/** Source files with their dependencies, from texts by path. */
export function sourcesOf(texts: ReadonlyMap<string, string>): Map<string, SourceFile> {
  const sources = new Map<string, SourceFile>();
  for (const [path, text] of texts) {
    const floor = floorOf(path);
    if (floor === undefined) continue;
    sources.set(path, {
      path,
      floor,
      text,
      lines: linesOf(text),
      generated: /(^|\/)gen\//.test(path),
      imports: importsOf(path, text, texts),
    });
  }
  return sources;
}

function linesOf(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

function floorOf(path: string): Floor | undefined {
  return floors.find((floor) => path.startsWith(`${floor}/`));
}

const IMPORT = /(?:\bfrom |\bimport |\bimport\()'(\.[^']+)'/g;
const THREAD_ENTRY = /new URL\(\s*['`]([^'`]+)['`],\s*import\.meta\.url,?\s*\)/g;

/**
 * Paths among `texts` that the file imports, or whose thread it starts; sorted, without duplicates.
 */
export function importsOf(
  path: string,
  text: string,
  texts: ReadonlyMap<string, string>,
): string[] {
  const folder = dirname(path);
  const found = new Set<string>();
  for (const [, address = ''] of text.matchAll(IMPORT)) found.add(normalize(join(folder, address)));
  for (const [, address = ''] of text.matchAll(THREAD_ENTRY)) {
    for (const entry of threadEntries(join(folder, address), text, texts)) found.add(entry);
  }
  found.delete(path);
  return [...found].filter((target) => texts.has(target)).sort();
}

/**
 * The files that a thread's address may refer to, because its extension or its whole name may be
 * computed.
 */
function threadEntries(
  address: string,
  text: string,
  texts: ReadonlyMap<string, string>,
): readonly string[] {
  const fixed = address.split('${')[0] ?? '';
  if (fixed === address) return [address];
  if (!fixed.endsWith('/')) return [`${fixed.replace(/\.$/, '')}.ts`];
  return [...texts.keys()].filter(
    (path) =>
      `${dirname(path)}/` === fixed && text.includes(`'${basename(path).replace(/\.ts$/, '')}'`),
  );
}
