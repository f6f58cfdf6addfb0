/**
 * The ratchet: how many sentences of each room have a form of `patterns.ts`, beside the number that
 * the room may have (`limits.json`). A limit is only ever lowered.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Pattern, patternOf } from './patterns.ts';
import { sentencesOf } from './sentences.ts';

const READ = /\.(?:tsx?|mjs|md|proto)$/;
/** Generated pages and code follow their source; the patterns themselves quote such sentences. */
const SKIPPED =
  /\/gen\/|^docs\/(?:cli|errors|configuration|ci-claims)\.md|^docs\/machines\/|^sdk\/go|^action\/|^scripts\/voice\/patterns\.ts/;
const LIMITS = 'scripts/voice/limits.json';

/** A sentence to rewrite. */
export interface Finding {
  readonly path: string;
  readonly sentence: string;
  readonly pattern: Pattern;
}

/** `src/telemetry`, `docs`, or the name of a file at the top. */
export function roomOf(path: string): string {
  const [first = '', second = '', ...rest] = path.split('/');
  return rest.length > 0 ? `${first}/${second}` : first;
}

/** All findings in the files of the checkout that git knows. */
export function readFindings(folder: string): Finding[] {
  const options = { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 } as const;
  const listed = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard'],
    options,
  );
  const paths = listed.split('\n').filter((path) => READ.test(path) && !SKIPPED.test(path));
  return paths
    .filter((path) => existsSync(join(folder, path)))
    .flatMap((path) => findingsOf(path, readFileSync(join(folder, path), 'utf8')));
}

/** Findings in the text of one file. */
export function findingsOf(path: string, text: string): Finding[] {
  return sentencesOf(path, text).flatMap((sentence) => {
    const pattern = patternOf(sentence);
    return pattern ? [{ path, sentence, pattern }] : [];
  });
}

/** Findings by room, most first. */
export function countsOf(findings: readonly Finding[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { path } of findings) {
    counts.set(roomOf(path), (counts.get(roomOf(path)) ?? 0) + 1);
  }
  return new Map([...counts].sort(([, a], [, b]) => b - a));
}

export type Limits = Readonly<Record<string, number>>;

export function readLimits(folder: string): Limits {
  return JSON.parse(readFileSync(join(folder, LIMITS), 'utf8'));
}

/** Limits lowered to the counts. A room without a limit has none to exceed: its count is 0. */
export function lowered(limits: Limits, counts: ReadonlyMap<string, number>): Limits {
  const kept = Object.entries(limits)
    .map(([room, limit]) => [room, Math.min(limit, counts.get(room) ?? 0)] as const)
    .filter(([, limit]) => limit > 0)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(kept);
}

export function writeLimits(folder: string, limits: Limits): void {
  writeFileSync(join(folder, LIMITS), `${JSON.stringify(limits, null, 2)}\n`);
}

/** A line for each room over its limit, with its sentences. */
export function overLimit(findings: readonly Finding[], limits: Limits): string[] {
  return [...countsOf(findings)].flatMap(([room, count]) => {
    const limit = limits[room] ?? 0;
    if (count <= limit) return [];
    const sentences = findings
      .filter(({ path }) => roomOf(path) === room)
      .map(
        ({ path, sentence, pattern }) =>
          `  ${path}: "${sentence}" (${pattern.name}) ${pattern.instead}`,
      );
    const title = `${room} has ${count} sentences to rewrite, at most ${limit} are allowed: CONTRIBUTING.md, "One voice"`;
    return [title, ...sentences];
  });
}

/** Findings of `npm run verify`. */
export function voiceFindings(folder: string): string[] {
  return overLimit(readFindings(folder), readLimits(folder));
}
