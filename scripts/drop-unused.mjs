/**
 * A part of `prepare`: removes files of installed packages that no program here reads, a third of
 * what runs the service. Plain JavaScript for any Node that runs npm.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** By package: files and folders in it. */
const UNUSED = {
  /** Its source, and the code for other machines. */
  'better-sqlite3': new RegExp(
    `^(deps|src|prebuilds/(?!${process.platform}(musl)?-${process.arch}\\.).*)$`,
  ),
  /** Forms of the same code for a thread in a browser. */
  elkjs: /^lib\/elk-worker(\.min)?\.js$/,
  /** Headers for compiling native packages, and manual pages. */
  [`node-linux-${process.arch}`]: /^(include|share)$/,
  rxjs: /^(src|dist\/(bundles|esm5))$/,
  fastify: /^(docs|examples|test)$/,
  bintrees: /^test$/,
};

/** Whether nothing reads the file or folder, a path below `node_modules`. */
export function isUnused(path) {
  return Object.entries(UNUSED).some(
    ([name, pattern]) => path.startsWith(`${name}/`) && pattern.test(path.slice(name.length + 1)),
  );
}

/** Removes them from the packages in `folder`. */
export function dropUnused(folder) {
  for (const name of Object.keys(UNUSED)) {
    for (const path of namesBelow(join(folder, name))) {
      if (isUnused(`${name}/${path}`)) rmSync(join(folder, name, path), { recursive: true });
    }
  }
}

/** Files and folders of a package and of its folders; none of an absent package. */
function namesBelow(folder) {
  return namesIn(folder).flatMap((name) => [
    name,
    ...namesIn(join(folder, name)).map((file) => `${name}/${file}`),
  ]);
}

function namesIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    // A file, or an optional package that is not installed.
    return [];
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  dropUnused(fileURLToPath(new URL('../node_modules', import.meta.url)));
}
