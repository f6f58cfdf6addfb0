/**
 * `npm run draw`: writes the drawings of every registered machine to docs/machines, picture and table
 * of the rooms for docs/architecture.md, and the picture of docs/operations/sizing.md. `node scripts/draw.ts --check` writes nothing, names
 * the files that are out of date, and exits with code 1.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderDrawings, staleFiles } from './draw/drawings.ts';
import { paintSizing } from './draw/sizing.ts';
import { readCheckout } from './house/checkout.ts';
import { stalePages } from './house/picture/page.ts';

const folder = fileURLToPath(new URL('../docs/machines', import.meta.url));
const drawings = await renderDrawings();
const stale = staleFiles(drawings, folder);
const checkout = readCheckout(fileURLToPath(new URL('..', import.meta.url)));
const isCheck = process.argv.includes('--check');
const stalePaths = [...stalePages(checkout, { write: !isCheck })];
const SIZING = 'docs/operations/sizing.svg';
const sizing = join(checkout.root, SIZING);
if (!existsSync(sizing) || readFileSync(sizing, 'utf8') !== paintSizing()) {
  if (!isCheck) writeFileSync(sizing, paintSizing());
  stalePaths.push(SIZING);
}

if (isCheck) {
  const paths = [...stale.map((file) => `docs/machines/${file}`), ...stalePaths];
  for (const path of paths) console.error(`${path} is out of date: npm run draw`);
  process.exitCode = paths.length > 0 ? 1 : 0;
} else {
  mkdirSync(folder, { recursive: true });
  for (const file of stale) {
    const text = drawings.get(file);
    if (text === undefined) rmSync(join(folder, file));
    else writeFileSync(join(folder, file), text);
  }
  console.log(`${drawings.size} drawings in docs/machines, ${stale.length} changed`);
  for (const path of stalePaths) console.log(`written ${path}`);
}
