/**
 * The dashboard as built by `npm run dashboard` in `dist/dashboard`, read into memory once.
 * Requests therefore never address files by name, and an update on disk never mixes two builds.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PageName, routes } from '../routes.ts';

/** Written by scripts/build-dashboard.mjs. */
interface Manifest {
  readonly entries: Readonly<Record<'main' | 'style' | 'theme' | 'icon', string>>;
  /** Static imports of `main`. */
  readonly preload: readonly string[];
  /** Additional files of the page's module. */
  readonly pages: Readonly<Record<PageName, readonly string[]>>;
  /** Content types by name. */
  readonly files: Readonly<Record<string, string>>;
}

export const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

export interface Asset {
  readonly contentType: string;
  readonly bodies: Readonly<Record<Coding | 'identity', Buffer>>;
}

export interface BuiltDashboard {
  readonly manifest: Pick<Manifest, 'entries' | 'preload' | 'pages'>;
  /** By the name in the address, which contains a digest of the content. */
  readonly assets: ReadonlyMap<string, Asset>;
  /** Licenses of the code in the assets. */
  readonly licenses: Buffer;
}

/** Output folder of the build, from this module in its three forms. */
const BUILT = fileURLToPath(new URL(besideThisModule(), import.meta.url));

function besideThisModule(): string {
  if (import.meta.url.endsWith('.ts')) return '../../../dist/dashboard';
  const isPackage = import.meta.url.endsWith('/src/dashboard/serving/built-dashboard.js');
  return isPackage ? '../../../dashboard' : '../dashboard';
}

/** Why there are no pages to serve. */
export type NoDashboard = 'NOT_BUILT' | 'BUILT_FROM_OTHER_VERSION' | 'UNREADABLE';

/** The reason in words, for the page, the banner and the log. */
export const noDashboard: Readonly<Record<NoDashboard, string>> = {
  NOT_BUILT: 'The dashboard is not built',
  BUILT_FROM_OTHER_VERSION: 'The dashboard was built from a different version of the program',
  UNREADABLE: 'The dashboard cannot be read',
};

/** Step that the operator must take. */
export const BUILD_IT = 'Run "npm run dashboard" in the project folder and restart the service';

/**
 * A build without a page of this version belongs to another one, for example after "git pull". It
 * is not served at all, because its pages were never tested with this API. Throws if it cannot be
 * read.
 */
export function loadDashboard(folder = BUILT): BuiltDashboard | Exclude<NoDashboard, 'UNREADABLE'> {
  if (!existsSync(join(folder, 'manifest.json'))) return 'NOT_BUILT';
  const read = (name: string): Buffer => readFileSync(join(folder, name));
  // Our own build wrote it, and replaces the folder as a whole.
  const manifest = JSON.parse(read('manifest.json').toString()) as Manifest;
  const pages = Object.keys(manifest.pages).sort().join();
  const expected = routes.map(({ page }) => page);
  if (pages !== expected.sort().join()) return 'BUILT_FROM_OTHER_VERSION';
  const assets = Object.entries(manifest.files).map(([name, contentType]): [string, Asset] => {
    const bodies = { identity: read(name), br: read(`${name}.br`), gzip: read(`${name}.gz`) };
    return [name, { contentType, bodies }];
  });
  return { manifest, assets: new Map(assets), licenses: read('LICENSES.txt') };
}
