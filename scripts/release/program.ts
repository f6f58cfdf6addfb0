/**
 * The unpacked program: its bundle and the dashboard, which the caller builds, the packages that are
 * not in the bundle, and its own Node.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXTERNAL } from '../build-program.mjs';
import { isUnused } from '../drop-unused.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Folders and files of the checkout that the program reads at run time, or that people read. */
const PARTS = ['bin', 'docs'];
const FILES = ['package.json', 'README.md', 'CHANGELOG.md', 'SECURITY.md'];

/** Packages of the running program. All others are in its bundle. */
const PACKAGES: readonly string[] = [...EXTERNAL, `node-linux-${process.arch}`];

/** Files of packages that are for programmers: types and pages. */
const FOR_PROGRAMMERS = /\.(map|md|markdown|d\.[cm]?ts)$/;

/** `bin/svc` runs with the Node beside it, wherever it is called from. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/../node_modules/node-linux-ARCH/bin/node" --disable-sigusr1 "$here/svc.js" "$@"
`;

/** Makes the tree in `folder`, which does not exist yet, except `dist`. */
export function assembleProgram(folder: string, version: string): void {
  const ofArch = (text: string) => text.replaceAll('ARCH', process.arch);
  for (const file of filesOf(PARTS)) copy(file, folder);
  for (const file of FILES) copy(file, folder);
  for (const name of PACKAGES) copy(`node_modules/${name}`, folder);
  // Its symbols are only for debuggers of Node itself.
  execFileSync('strip', [join(folder, ofArch('node_modules/node-linux-ARCH/bin/node'))]);
  writeFileSync(join(folder, 'bin/svc'), ofArch(LAUNCHER));
  chmodSync(join(folder, 'bin/svc'), 0o755);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  writeFileSync(
    join(folder, 'package.json'),
    `${JSON.stringify({ ...manifest, version, devDependencies: undefined, scripts: undefined }, null, 2)}\n`,
  );
}

/** Bytes of all files below. */
export function bytesOf(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0);
}

/** Only tracked files, so that stray files of a checkout are not shipped. */
function filesOf(parts: readonly string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', ...parts], { cwd: root, encoding: 'utf8' });
  return listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
}

function copy(path: string, folder: string): void {
  const to = join(folder, path);
  mkdirSync(dirname(to), { recursive: true });
  const filter = (from: string): boolean => {
    const [, inPackages] = /(?:^|\/)node_modules\/(.*)$/.exec(relative(root, from)) ?? [];
    if (inPackages === undefined) return true;
    return !isUnused(inPackages) && !FOR_PROGRAMMERS.test(inPackages);
  };
  cpSync(join(root, path), to, { recursive: true, dereference: true, filter });
}
