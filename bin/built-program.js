// The bundle that scripts/build-program.mjs writes, for bin/svc.js. Plain JavaScript that any Node
// can parse.
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Names the folder of the newest bundle, with a stamp for each file that it was built from. */
const MANIFEST = 'dist/program.json';
const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Size and time of the last change, and none for a file that does not exist. Like make, it reads no
 * content: a command would wait for a thousand files. Archives and images keep whole seconds.
 */
export function stampOf(path) {
  const file = statSync(path, { throwIfNoEntry: false });
  return file && `${file.size} ${secondOf(file)}`;
}

/** Second of the last change. */
export function secondOf({ mtimeMs }) {
  return Math.floor(mtimeMs / 1000);
}

/**
 * Name of the folder below `dist` with the bundle; undefined if there is none, or if a file that it
 * was built from has changed since. A release has no sources, and its bundle no stamps.
 */
export function builtProgram(folder = root) {
  let manifest;
  try {
    manifest = JSON.parse(readFileSync(`${folder}/${MANIFEST}`, 'utf8'));
  } catch {
    // Not built, or half a file after a crash: the sources run.
    return undefined;
  }
  const isCurrent = Object.entries(manifest.stamps).every(
    ([path, stamp]) => stampOf(`${folder}/${path}`) === stamp,
  );
  return isCurrent ? manifest.folder : undefined;
}
