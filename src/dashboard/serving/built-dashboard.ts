/**
 * The dashboard as `npm run dashboard` left it in `dist/dashboard`, read into memory once: what a
 * browser asks for is then no file name of its own, and an update on disk never mixes two builds.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PageName, routes } from '../routes.ts';

/** Written by scripts/build-dashboard.mjs. */
interface Manifest {
  readonly entries: Readonly<Record<'main' | 'style' | 'theme' | 'icon', string>>;
  /** What `main` imports at once. */
  readonly preload: readonly string[];
  /** What the page's module is made of, beyond that. */
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
  /** By the name in the address, which has a digest of the content in it. */
  readonly assets: ReadonlyMap<string, Asset>;
  /** Licences of what the assets contain. */
  readonly licenses: Buffer;
}

/** Where the build leaves it: beside the compiled modules, where these are an installed package. */
const BUILT = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/dashboard' : '../../../dashboard',
    import.meta.url,
  ),
);

/** Why there are no pages to serve. */
export type NoDashboard = 'NOT_BUILT' | 'BUILT_FROM_OTHER_VERSION' | 'UNREADABLE';

/** In words, with what would do: for the page, the banner and the log. */
export const noDashboard: Readonly<Record<NoDashboard, string>> = {
  NOT_BUILT: 'The dashboard is not built',
  BUILT_FROM_OTHER_VERSION: 'The dashboard was built from another version of the program',
  UNREADABLE: 'The dashboard cannot be read',
};

/** What the person who runs the service does about it. */
export const BUILD_IT = 'Run "npm run dashboard" in the project folder and start the service again';

/**
 * A build that lacks a page of this version is of another one, as after "git pull": nothing of it is
 * served, because its pages and this API were never tried together. Throws when it cannot be read.
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
