/**
 * The build of the dashboard: what reaches the browser, its size, and its licenses. Sizes are those
 * of `gzip -9`, in KiB.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { test } from 'tap';
import { buildDashboard } from '../../scripts/build-dashboard.mjs';
import { routes } from '../../src/dashboard/routes.ts';

const folder = t.testdir({});
const { manifest, metafile } = await buildDashboard({ folder: join(folder, 'dashboard') });
const built = (name: string) => readFileSync(join(folder, 'dashboard', name));
const packed = (names: readonly string[]) =>
  names.reduce((sum, name) => sum + built(`${name}.gz`).length, 0) / 1024;
const names = Object.keys(manifest.files);
const { entries, preload, pages } = manifest;

test('DASH-01: the overview loads at most 45 KB of scripts, 10 KB of styles and 12 requests', async (t) => {
  t.same(Object.keys(pages).sort(), routes.map(({ page }) => page).sort());
  const before = [...new Set([entries.main, entries.theme, ...preload, ...(pages.overview ?? [])])];
  t.ok(packed(before) <= 45, `${packed(before)} KB of scripts before the overview`);
  // The document, the style, the icon, and the first two calls.
  t.ok(before.length + 5 <= 12, `${before.length} scripts before the overview`);
  for (const [page, chunks] of Object.entries(pages)) {
    const largest = Math.max(...chunks.map((chunk) => packed([chunk])));
    t.ok(largest <= 30, `${page}: ${largest} KB in one of its chunks`);
  }
  t.ok(packed([entries.style]) <= 10, `${packed([entries.style])} KB of styles`);
});

test('no page loads more than 65 KB of scripts, and all together have at most 178 KB', async (t) => {
  for (const [page, chunks] of Object.entries(pages)) {
    const awaited = [...new Set([entries.main, entries.theme, ...preload, ...chunks])];
    t.ok(packed(awaited) <= 65, `${page}: ${packed(awaited)} KB`);
  }
  const scripts = names.filter((name) => name.endsWith('.js'));
  t.ok(packed(scripts) <= 178, `${packed(scripts)} KB`);
});

test('file names contain a content digest, and each file has both compressed forms', async (t) => {
  for (const name of names) t.match(name, /^[\w-]+-[A-Z0-9]{8}\.(js|css|svg)$/);
  const there = names.flatMap((name) => [name, `${name}.br`, `${name}.gz`]);
  t.same(
    readdirSync(join(folder, 'dashboard')).sort(),
    [...there, 'LICENSES.txt', 'manifest.json'].sort(),
  );
  const again = await buildDashboard({ folder: join(folder, 'again') });
  t.same(again.manifest, manifest);
});

test('bundled packages are under MIT or ISC, with their license texts', async (t) => {
  const inputs = Object.values(metafile.outputs).flatMap((file) => Object.keys(file.inputs));
  const packages = new Set(
    inputs.flatMap((path) => /node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  t.ok(packages.has('preact'));
  const licenses = built('LICENSES.txt').toString();
  for (const name of packages)
    t.match(licenses, new RegExp(`^${name} [\\d.]+ \\((MIT|ISC)\\)$`, 'm'));
  t.match(licenses, /^lucide, the icons\n\nISC License$/m);
});

test('DASH-01: the bundle has only browser code, without message values or server code', async (t) => {
  const others = Object.keys(metafile.inputs).filter(
    (path) => !/^(node_modules\/|src\/dashboard\/(?!serving\/))/.test(path),
  );
  t.same(others.sort(), [
    'src/audit/drawing/picture.ts',
    'src/delivery/api/notice-text.ts',
    'src/delivery/notify/kind-words.ts',
    'src/platform/time-text.ts',
  ]);
  for (const path of others) {
    t.notMatch(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'), /^import /m);
  }
});
