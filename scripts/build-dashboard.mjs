/**
 * `npm run dashboard`, and a part of scripts/build.mjs: builds the dashboard into `dist/dashboard`.
 * Plain JavaScript for any Node that runs npm (20 and newer), because `npm ci` runs it before the
 * pinned Node is used.
 *
 *     src/dashboard/main.tsx  -> main-HASH.js and a chunk for each page, loaded when it is opened
 *     src/dashboard/theme.ts  -> theme-HASH.js, a classic script that runs before anything is
 *     painted
 *     style/main.css          -> style-HASH.css
 *     each also as .br and .gz; manifest.json names them, LICENSES.txt lists their licences
 *
 * The same sources give the same bytes.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = join(root, 'src/dashboard');
/** The service looks for it here. */
export const dashboardFolder = join(root, 'dist/dashboard');

/** Allowed licences of packages that reach the browser. */
const LICENSES = ['MIT', 'ISC'];

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  metafile: true,
  write: false,
  outdir: join(root, 'dist/assets'),
  target: ['chrome120', 'firefox120', 'safari17.5'],
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'silent',
  assetNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  entryNames: '[name]-[hash]',
  loader: { '.svg': 'file' },
};

/**
 * Builds into `folder`, which is replaced as a whole. Returns the manifest and esbuild's metafile.
 * Throws if the sources have a fault, or a package has a licence other than MIT or ISC.
 */
export async function buildDashboard({ folder = dashboardFolder } = {}) {
  const { build } = await import('esbuild');
  const [app, classic] = await Promise.all([
    build({
      ...shared,
      entryPoints: {
        main: join(sources, 'main.tsx'),
        style: join(sources, 'style/main.css'),
        icon: join(sources, 'style/icon.svg'),
      },
      format: 'esm',
      splitting: true,
      jsx: 'automatic',
      plugins: [foundationFirst],
      jsxImportSource: 'preact',
    }),
    build({ ...shared, entryPoints: { theme: join(sources, 'theme.ts') }, format: 'iife' }),
  ]);
  const outputs = { ...app.metafile.outputs, ...classic.metafile.outputs };
  const inputs = { ...app.metafile.inputs, ...classic.metafile.inputs };
  assertBrowserCode(Object.keys(inputs));
  const manifest = { sources: sourcesDigest(), ...manifestOf(outputs) };
  const files = [...app.outputFiles, ...classic.outputFiles].map(({ path, contents }) => ({
    name: relative(shared.outdir, path),
    contents: Buffer.from(contents),
  }));
  const licenses = licensesOf(outputs);
  writeAll(folder, [
    ...files.filter(({ name }) => Object.hasOwn(manifest.files, name)),
    { name: 'manifest.json', contents: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`) },
    { name: 'LICENSES.txt', contents: Buffer.from(licenses) },
  ]);
  return { manifest, metafile: { inputs, outputs } };
}

/** Folders that the entry and every page use. */
const FOUNDATION = ['components', 'data', 'layout', 'messages', 'router'];

/**
 * esbuild makes a chunk for each set of pages that share a module: a dozen requests before the
 * first page. The entry and all pages import the whole foundation, so that it is one chunk.
 */
const foundationFirst = {
  name: 'foundation-first',
  setup(build) {
    const pages = pageModules().map(([, module]) => join(root, module));
    const begins = new Set([join(sources, 'main.tsx'), ...pages]);
    build.onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
      if (!begins.has(path)) return undefined;
      const foundation = FOUNDATION.flatMap((folder) => filesBelow(join(sources, folder))).sort();
      const imports = foundation.map((file) => `import ${JSON.stringify(file)};`).join(' ');
      return { contents: `${imports} ${readFileSync(path, 'utf8')}`, loader: 'tsx' };
    });
  },
};

/** Files outside of the dashboard that the service and the browser run. */
const SHARED = [
  'src/audit/drawing/picture.ts',
  'src/delivery/api/notice-text.ts',
  'src/delivery/notify/kind-words.ts',
  'src/platform/time-text.ts',
];

/**
 * The build removes types, so the remaining imports are values. The server's code stays on the
 * server, and so do the messages of src/gen: the browser speaks JSON, without their schemas.
 */
function assertBrowserCode(inputs) {
  const alien = inputs.find(
    (path) =>
      !SHARED.includes(path) && !/^src\/dashboard\/(?!serving\/)|(^|\/)node_modules\//.test(path),
  );
  if (alien) throw new Error(`The dashboard imports a value of ${alien}. Import only its types`);
}

/**
 * Digest of everything that the build reads of this project; the versions of packages are in the
 * lock file.
 */
export function sourcesDigest() {
  const digest = createHash('sha256');
  const files = [
    ...filesBelow(sources).filter((file) => !file.startsWith(join(sources, 'serving'))),
    ...SHARED.map((file) => join(root, file)),
    join(root, 'package-lock.json'),
    fileURLToPath(import.meta.url),
  ];
  for (const file of files.sort()) {
    digest
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  }
  return digest.digest('hex');
}

/** True if `dist/dashboard` was built from the current sources. */
export function isCurrent(folder = dashboardFolder) {
  const path = join(folder, 'manifest.json');
  return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).sources === sourcesDigest();
}

function filesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/**
 * The facts about the files that the server needs: their types, and which of them a page needs
 * first.
 * @returns {{ entries: Record<'main' | 'style' | 'theme' | 'icon', string>, preload: string[],
 * pages: Record<string, string[]>, files: Record<string, string>, }}
 */
function manifestOf(outputs) {
  const names = new Map(
    Object.keys(outputs).map((path) => [path, path.replace('dist/assets/', '')]),
  );
  const entry = (source, ending) => {
    const found = Object.entries(outputs).find(
      ([path, { entryPoint }]) => entryPoint === source && path.endsWith(ending),
    );
    if (!found) throw new Error(`The build produced nothing from ${source}`);
    return found[0];
  };
  const main = entry('src/dashboard/main.tsx', '.js');
  const icon = [...names.keys()].find((path) => path.endsWith('.svg'));
  const first = staticImports(outputs, main);
  const pages = pageModules().map(([page, module]) => {
    const paths = staticImports(outputs, entry(module, '.js'));
    return [page, paths.filter((path) => !first.includes(path)).map((path) => names.get(path))];
  });
  const files = [...names.values()].filter((name) => !isEmptyEntry(name)).sort();
  return {
    entries: {
      main: names.get(main),
      style: names.get(entry('src/dashboard/style/main.css', '.css')),
      theme: names.get(entry('src/dashboard/theme.ts', '.js')),
      icon: names.get(icon),
    },
    /** Chunks that the entry imports, announced by the shell so that they load in parallel. */
    preload: first.slice(1).map((path) => names.get(path)),
    /** By page: the chunk of its module, then the imported chunks that are not loaded yet. */
    pages: Object.fromEntries(pages),
    files: Object.fromEntries(files.map((name) => [name, typeOf(name)])),
  };
}

/**
 * The module of each page, from pages/registry.ts, which is read as text because it is browser
 * code.
 */
function pageModules() {
  const text = readFileSync(join(sources, 'pages/registry.ts'), 'utf8');
  const row = /^ {2}(\w+): \(\) =>\s*import\('\.\/([^']+)'\),$/gm;
  return [...text.matchAll(row)].map(([, page, address]) => [
    page,
    `src/dashboard/pages/${address}`,
  ]);
}

/**
 * For an entry that is not a script, esbuild makes a module of its address, which is never loaded.
 */
function isEmptyEntry(name) {
  return /^icon-[^.]*\.js$/.test(name);
}

/** The path and its static imports, without duplicates. */
function staticImports(outputs, path, found = new Set()) {
  if (found.has(path)) return [...found];
  found.add(path);
  for (const { path: imported, kind } of outputs[path]?.imports ?? []) {
    if (kind === 'import-statement') staticImports(outputs, imported, found);
  }
  return [...found];
}

const TYPES = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

function typeOf(name) {
  const type = TYPES[name.split('.').at(-1)];
  if (!type)
    throw new Error(`The build made ${name}, a kind of file that the service does not serve`);
  return type;
}

/** Folder of the package that a module belongs to; undefined for a module of the project. */
export function packageFolder(path) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

/** The packages whose code is in the output, with their licences. */
function licensesOf(outputs) {
  const paths = Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [path] : [],
    ),
  );
  const folders = paths.flatMap((path) => packageFolder(path) ?? []);
  const parts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    );
    if (!LICENSES.includes(license)) {
      throw new Error(
        `${name} has the licence ${license}, but only ${LICENSES.join(' and ')} are allowed in the browser`,
      );
    }
    const file = readdirSync(join(root, folder)).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no licence file, whose text must be delivered with it`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(root, folder, file), 'utf8')}`;
  });
  const icons = readFileSync(join(sources, 'LICENSE-lucide.txt'), 'utf8');
  return [...parts, `lucide, the icons\n\n${icons}`].join(`\n${'-'.repeat(80)}\n\n`);
}

/**
 * Writes next to the folder first, so that concurrent readers find either the old build or the new
 * one.
 */
function writeAll(folder, files) {
  const next = `${folder}.new-${process.pid}`;
  const old = `${folder}.old-${process.pid}`;
  for (const path of [next, old]) rmSync(path, { recursive: true, force: true });
  mkdirSync(next, { recursive: true });
  for (const { name, contents } of files) {
    const path = join(next, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
    if (/\.(json|txt)$/.test(name)) continue;
    const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
    writeFileSync(`${path}.br`, brotliCompressSync(contents, quality));
    writeFileSync(`${path}.gz`, gzipSync(contents, { level: 9 }));
  }
  if (existsSync(folder)) renameSync(folder, old);
  renameSync(next, folder);
  rmSync(old, { recursive: true, force: true });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await buildDashboard();
