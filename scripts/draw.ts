/**
 * `npm run draw`: writes the drawings of every registered machine to docs/machines.
 * `node scripts/draw.ts --check` writes nothing, names the files that are out of date, and exits 1.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { renderDrawings, staleFiles } from './draw/drawings.ts';

const folder = fileURLToPath(new URL('../docs/machines', import.meta.url));
const drawings = await renderDrawings();
const stale = staleFiles(drawings, folder);

if (process.argv.includes('--check')) {
  for (const file of stale) console.error(`docs/machines/${file} is out of date: npm run draw`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else {
  mkdirSync(folder, { recursive: true });
  for (const file of stale) {
    const text = drawings.get(file);
    if (text === undefined) rmSync(join(folder, file));
    else writeFileSync(join(folder, file), text);
  }
  console.log(`${drawings.size} drawings in docs/machines, ${stale.length} changed`);
}
