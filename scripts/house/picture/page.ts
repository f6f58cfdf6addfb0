/**
 * The generated parts of docs/architecture.md: the picture beside it, and the table of rooms
 * between two marks in its text. The rest of the page is written by hand.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Checkout, floors } from '../checkout.ts';
import { rooms } from '../rooms.ts';
import { type Grid, gridOf } from './grid.ts';
import { paintGrid } from './picture.ts';

const PAGE = 'docs/architecture.md';
const PICTURE = 'docs/architecture.svg';
const TABLE = /(<!-- rooms: written by npm run draw -->\n).*?(<!-- end of rooms -->)/s;

/** Expected generated files of the checkout, by path. */
function housePages(checkout: Checkout): Map<string, string> {
  const grid = gridOf(checkout);
  const page = readFileSync(join(checkout.root, PAGE), 'utf8');
  return new Map([
    [PICTURE, paintGrid(grid)],
    [PAGE, withTable(page, roomTable(grid, checkout.paths))],
  ]);
}

/** Paths of files that are missing or differ; with `write`, they are updated. */
export function stalePages(
  checkout: Checkout,
  { write }: { readonly write: boolean },
): readonly string[] {
  return [...housePages(checkout)].flatMap(([path, text]) => {
    const file = join(checkout.root, path);
    if (existsSync(file) && readFileSync(file, 'utf8') === text) return [];
    if (write) writeFileSync(file, text);
    return [path];
  });
}

/** Throws if the page has lost the marks around its table. */
export function withTable(page: string, table: string): string {
  if (!TABLE.test(page)) throw new Error(`${PAGE} has no marks around the table of rooms`);
  return page.replace(TABLE, (_, begin, end) => `${begin}${table}${end}`);
}

function roomTable({ cells }: Grid, paths: readonly string[]): string {
  const rows = rooms.flatMap(({ name, purpose }) => {
    const own = cells.filter(({ room }) => room === name);
    if (own.length === 0) return [];
    const sum = (of: 'files' | 'lines') => own.reduce((total, cell) => total + cell[of], 0);
    const places = own.map(({ floor }) => `[${floor}](../${floor}/${name})`).join(', ');
    const readme = [...floors]
      .reverse()
      .map((floor) => `${floor}/${name}/README.md`)
      .find((path) => paths.includes(path));
    const title = readme ? `[${name}](../${readme})` : name;
    // Hundreds of lines, because a table that is stale after each edit would not be read as one.
    const lines = (Math.round(sum('lines') / 100) * 100).toLocaleString('en');
    return [`| ${title} | ${purpose} | ${places} | ${sum('files')} | ${lines} |`];
  });
  return [
    '| room | purpose | floors | files | lines, about |',
    '| --- | --- | --- | --: | --: |',
    ...rows,
    '',
  ].join('\n');
}
