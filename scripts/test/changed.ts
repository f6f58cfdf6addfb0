/**
 * `npm test -- --changed [REV]`: the test files that a change may break. All tests of a changed
 * room run. Tests of the rooms that may import it (`../house/rooms.ts`), and tests outside of the
 * rooms, run if their imports reach a changed file. Rooms that may not import a changed room are
 * omitted, so a whole run is still required before a change lands.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { floors, importsOf } from '../house/checkout.ts';
import { order, roomOf } from '../house/rooms.ts';
import { roomOfTest } from './times.ts';

/** A change to one of these can break any test. */
const EVERYWHERE = /^(?:package(?:-lock)?\.json|tsconfig\.json|scripts\/test\/)/;
/** Text that the tests may read, and code that they may import or start. */
const CODE = /\.(?:[cm]?[jt]s|tsx)$/;
/** The program that tests start. */
const PROGRAM = 'bin/svc.js';

/** The selection, and the reasons as lines for users. */
export interface Selection {
  readonly files: readonly string[];
  readonly reasons: readonly string[];
}

/** The code of a checkout, to determine the files that a test can reach. */
export interface Code {
  /** Texts of all code by path. */
  readonly texts: ReadonlyMap<string, string>;
}

/** Paths that differ from a git revision, including untracked files. */
export function changedSince(root: string, revision: string): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  return [
    ...git('diff', '--name-only', '--no-renames', '-z', revision, '--'),
    ...git('ls-files', '--others', '--exclude-standard', '-z'),
  ];
}

/** Reads the code of the checkout in `root`. */
export function readCode(root: string): Code {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const paths = listed
    .split('\0')
    .filter((path) => CODE.test(path) && existsSync(join(root, path)));
  return { texts: new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')])) };
}

/** Selects the files that the change may break from `tests`, the paths of test files. */
export function selectChanged(
  tests: readonly string[],
  changed: readonly string[],
  { texts }: Code,
): Selection {
  const everywhere = changed.find((path) => EVERYWHERE.test(path));
  if (everywhere !== undefined) {
    return { files: tests, reasons: [`all files: ${everywhere} can break any test`] };
  }
  const sources = changed.filter(isSource);
  const rooms = new Set(sources.map(roomOf));
  const first = Math.min(...[...rooms].map((room) => order.indexOf(room)));
  const reachesSource = reaching(sources, texts);
  const reachesOther = reaching(
    changed.filter((path) => !isSource(path)),
    texts,
  );
  const files: string[] = [];
  const reasons: string[] = [];
  for (const [testRoom, ofRoom] of Map.groupBy(tests, roomOfTest)) {
    const room = testRoom.replace(/^long\//, '');
    const place = order.indexOf(room);
    const mayImport = place < 0 || place > first;
    const isChanged = rooms.has(room);
    const selected = ofRoom.filter(
      (file) => isChanged || reachesOther(file) || (mayImport && reachesSource(file)),
    );
    files.push(...selected);
    const count = `${selected.length} of ${ofRoom.length} files of ${testRoom}`;
    if (isChanged) reasons.push(`runs ${testRoom}: it changed (${ofRoom.length} files)`);
    else if (selected.length > 0) reasons.push(`runs ${count}: they reach the change`);
    else if (mayImport) reasons.push(`leaves out ${testRoom}: no import reaches the change`);
    else reasons.push(`leaves out ${testRoom}: it may not import ${[...rooms].join(', ')}`);
  }
  return { files, reasons };
}

function isSource(path: string): boolean {
  return floors.some((floor) => path.startsWith(`${floor}/`));
}

/**
 * Returns whether a file, or something that it imports, starts or reads, is among `targets`. A
 * program is started by its path, and a document is read by its path or its name.
 */
function reaching(
  targets: readonly string[],
  texts: ReadonlyMap<string, string>,
): (file: string) => boolean {
  const wanted = new Set(targets);
  const documents = targets.filter((path) => !CODE.test(path)).map((path) => basename(path));
  const imports = new Map<string, readonly string[]>();
  const nextOf = (path: string, text: string) => {
    const known = imports.get(path);
    if (known !== undefined) return known;
    const program = text.includes(PROGRAM) ? [PROGRAM] : [];
    const found = [...importsOf(path, text, texts), ...program];
    imports.set(path, found);
    return found;
  };
  return (file) => {
    const seen = new Set([file]);
    for (const path of seen) {
      const text = texts.get(path);
      if (wanted.has(path)) return true;
      if (text === undefined) continue;
      if (!isSource(path) && documents.some((name) => text.includes(name))) return true;
      for (const next of nextOf(path, text)) seen.add(next);
    }
    return false;
  };
}
