/**
 * A part of scripts/build.mjs: bundles the program for `bin/svc.js` into `dist/program-DIGEST`. Plain
 * JavaScript for any Node that runs npm (20 and newer), as the build of the dashboard.
 *
 *     main.js, NAME-thread.js   the program, and the entry of each of its threads
 *     *-HASH.js                 code that several entries share, or that is loaded when it is used
 *     *.js.lines                for stack traces: lines of the sources (src/platform/source-lines.ts)
 *     LICENSES.txt              licences of the bundled packages
 *
 * A running service loads files of its bundle later, so the bundle before this one remains.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { secondOf, stampOf } from '../bin/built-program.js';
import { packageFolder } from './build-dashboard.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Packages that stay beside the bundle: native code, and one whose licence is for unchanged use. */
export const EXTERNAL = ['better-sqlite3', 'elkjs'];

/** No module imports them: `threadEntry` and its like name them by their files. */
const THREADS = [
  'sqlite/platform/backup/copy-thread.ts',
  'sqlite/telemetry/history/store/read-thread.ts',
  'sqlite/telemetry/history/store/write-thread.ts',
  'src/admin/check/check-thread.ts',
  'src/replay/replay-thread.ts',
  'src/telemetry/export/export-thread.ts',
  'src/telemetry/query/list-thread.ts',
  'src/telemetry/query/query-thread.ts',
];

/** File systems take their times from a clock that is a few milliseconds behind. */
const MARGIN_MS = 20;

/** Files that modules read beside themselves. */
const BESIDE = ['src/cli/svc.service', 'src/cli/svc-agent.service', 'src/cli/svc-collect.service'];

/** What the bundle depends on beyond the modules. The last one is npm's list of what it installed. */
const ALSO = [
  ...BESIDE,
  'bin/built-program.js',
  'package.json',
  'scripts/build-program.mjs',
  'tsconfig.json',
  'node_modules/.package-lock.json',
];

/**
 * Builds into `folder`. A release is never compared with sources: `isRelease`. Throws if the sources
 * have a fault.
 */
export async function buildProgram({ folder = join(root, 'dist'), isRelease = false } = {}) {
  mkdirSync(folder, { recursive: true });
  // Stamps have whole seconds: a file that was saved just before must not look as if saved later.
  if (!isRelease) await sleep(MARGIN_MS + 1000 - (Date.now() % 1000));
  const next = join(folder, `program.new-${process.pid}`);
  try {
    rmSync(next, { recursive: true, force: true });
    mkdirSync(next);
    const started = secondOf(statSync(next));
    const { metafile, outputFiles } = await bundle();
    const name = `program-${writeBundle(next, metafile, outputFiles)}`;
    moveTo(join(folder, name), next);
    const before = manifestIn(folder)?.folder;
    const stamps = isRelease ? {} : stampsOf(Object.keys(metafile.inputs), started);
    writeFileSync(join(folder, 'program.json'), `${JSON.stringify({ folder: name, stamps })}\n`);
    if (!isRelease && before !== name) removeOlder(folder, [name, before]);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}

/** Writes the files of the bundle, and returns their digest. */
function writeBundle(folder, metafile, outputFiles) {
  const digest = createHash('sha256');
  for (const { path, contents } of outputFiles) {
    const name = basename(path);
    const bytes = name.endsWith('.map') ? linesOf(Buffer.from(contents).toString()) : contents;
    writeFileSync(join(folder, name.replace(/\.map$/, '.lines')), bytes);
    digest.update(`${name}\0`).update(bytes);
  }
  for (const path of BESIDE) {
    const bytes = readFileSync(join(root, path));
    writeFileSync(join(folder, basename(path)), bytes);
    digest.update(`${path}\0`).update(bytes);
  }
  writeFileSync(join(folder, 'LICENSES.txt'), licensesOf(metafile));
  return digest.digest('hex').slice(0, 12);
}

/** A folder of that name has the same content: it was built before, or by another process. */
function moveTo(folder, next) {
  try {
    renameSync(next, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

async function bundle() {
  const { build } = await import('esbuild');
  return build({
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24.12',
    entryPoints: ['src/main.ts', ...THREADS],
    inject: ['src/platform/source-lines.ts'],
    outdir: join(root, 'dist/program'),
    entryNames: '[name]',
    chunkNames: '[name]-[hash]',
    external: [...EXTERNAL, join(root, 'package.json')],
    // Names of functions are kept, for stack traces and for what is printed by name. Node prints the
    // line of an uncaught error.
    minifyWhitespace: true,
    minifySyntax: true,
    lineLimit: 160,
    sourcemap: 'external',
    sourcesContent: false,
    charset: 'utf8',
    legalComments: 'none',
    // For packages in CommonJS that load modules of Node.
    banner: {
      js: "import{createRequire as svcRequire}from'node:module';const require=svcRequire(import.meta.url);",
    },
    metafile: true,
    write: false,
    logLevel: 'silent',
  });
}

/**
 * The stamp of each file of the project that the build read. One that changed meanwhile gets none
 * that it can ever have, so that the next start builds again. Packages change by installation only.
 */
function stampsOf(inputs, started) {
  const own = inputs.filter((path) => !/(^|\/)node_modules\//.test(path));
  return Object.fromEntries(
    [...own, ...ALSO].sort().map((path) => {
      const file = join(root, path);
      const isChanging = existsSync(file) && secondOf(statSync(file)) >= started;
      return [path, isChanging ? 'changed during the build' : stampOf(file)];
    }),
  );
}

function manifestIn(folder) {
  const path = join(folder, 'program.json');
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Bundles that nothing runs any more, and their compiled code. */
function removeOlder(folder, kept) {
  const cache = join(root, 'node_modules/.cache/svc-compiled');
  for (const place of [folder, cache]) {
    if (!existsSync(place)) continue;
    for (const name of readdirSync(place)) {
      const isOlder = /^program-[0-9a-f]{12}$/.test(name) && !kept.includes(name);
      if (isOlder) rmSync(join(place, name), { recursive: true, force: true });
    }
  }
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/**
 * A source map as `src/platform/source-lines.ts` reads it, which parses nothing: a standard map takes
 * a tenth of a second, and stops the service when it reports its first error. First the sources as
 * JSON, padded to 4 bytes by blanks, with its length before it; then 4 integers for each place where
 * the line of the source changes: line and column in the bundle, index of the source, line in it.
 */
function linesOf(map) {
  const { mappings, sources } = JSON.parse(map);
  const places = [];
  let [source, sourceLine] = [0, 0];
  mappings.split(';').forEach((segments, line) => {
    let column = 0;
    let last = '';
    for (const segment of segments.split(',')) {
      const [columns = 0, ofSource = 0, ofLine = 0] = numbersOf(segment);
      if (segment === '') continue;
      column += columns;
      source += ofSource;
      sourceLine += ofLine;
      const at = `${source} ${sourceLine}`;
      if (at !== last) places.push(line, column, source, sourceLine);
      last = at;
    }
  });
  // The map is beside the bundle in dist/program.
  const names = JSON.stringify(
    sources.map((path) => relative(root, join(root, 'dist/program', path))),
  );
  const header = Buffer.from(
    names.padEnd(names.length + ((4 - (Buffer.byteLength(names) % 4)) % 4)),
  );
  return Buffer.concat([
    Buffer.from(Int32Array.of(header.length).buffer),
    header,
    Buffer.from(Int32Array.from(places).buffer),
  ]);
}

/** Numbers of one segment of a source map, in base 64 VLQ. */
function numbersOf(segment) {
  const numbers = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

/** The bundled packages with their licences, whose texts are added where the packages have them. */
function licensesOf({ outputs }) {
  const folders = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? (packageFolder(path) ?? []) : [],
    ),
  );
  const parts = [...new Set(folders)].sort().map((folder) => {
    const of = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    const files = readdirSync(join(root, folder)).filter((one) =>
      /^(licen[cs]e|copying|notice)/i.test(one),
    );
    const texts = files.map((one) => `\n${readFileSync(join(root, folder, one), 'utf8')}`);
    return `${of.name} ${of.version} (${of.license})\n${texts.join('')}`;
  });
  return parts.join(`\n${'-'.repeat(80)}\n\n`);
}
