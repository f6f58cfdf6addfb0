/**
 * Flips bits of a database on disk, one at a time, and finds out what notices: the check of files,
 * the check of chunks, the verification of the log, or nothing. A flip that nothing notices must
 * leave every row of every table as it was.
 */
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { verifyOnDisk } from '../../src/admin/audit-routes.ts';
import { checkDataFile, type DataFile } from '../../src/admin/check/data-files.ts';
import { openHistoryOnDisk } from '../../src/admin/history-routes.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { fraction, type Random } from '../../streams/platform/random.ts';

/** One flipped bit, and what found it. */
export interface Flip {
  readonly page: number;
  readonly byte: number;
  readonly bit: number;
  /** The part that noticed it; `equal`: nothing did, and all rows are equal; `missed`: a fault. */
  readonly found: string;
  readonly detail: string;
}

export interface FlipOptions {
  readonly folder: string;
  readonly file: DataFile;
  readonly masterKey: Uint8Array;
  readonly random: Random;
  /** Flips in each page. */
  readonly each: number;
}

/** Flips bits of every page, one after the other; the file is as before afterwards. */
export async function flipEveryPage(options: FlipOptions): Promise<Flip[]> {
  const path = join(options.folder, options.file);
  const before = contentOf(path);
  const pageBytes = pageBytesOf(path);
  const pages = statSync(path).size / pageBytes;
  const flips: Flip[] = [];
  for (let page = 0; page < pages; page++) {
    for (let i = 0; i < options.each; i++) {
      const at = page * pageBytes + placeIn(pageOf(path, page, pageBytes), i, options.random);
      const bit = Math.floor(fraction(options.random) * 8);
      const undo = flipBit(path, at, bit);
      const found = await whatFinds(options, before);
      undo();
      flips.push({ page: page + 1, byte: at % pageBytes, bit, ...found });
    }
  }
  return flips;
}

function pageOf(path: string, page: number, pageBytes: number): Buffer {
  const descriptor = openSync(path, 'r');
  const bytes = Buffer.alloc(pageBytes);
  readSync(descriptor, bytes, 0, pageBytes, page * pageBytes);
  closeSync(descriptor);
  return bytes;
}

/** Three of four places are in use, which is never zero for long; the others are anywhere. */
function placeIn(bytes: Buffer, i: number, random: Random): number {
  const used = [...bytes.keys()].filter((at) => bytes[at] !== 0);
  const isAnywhere = i % 4 === 3 || used.length === 0;
  if (isAnywhere) return Math.floor(fraction(random) * bytes.length);
  return used[Math.floor(fraction(random) * used.length)] ?? 0;
}

/** Flips one bit in the file; returns the way back. */
export function flipBit(path: string, at: number, bit: number): () => void {
  const flip = (): void => {
    const descriptor = openSync(path, 'r+');
    const byte = Buffer.alloc(1);
    readSync(descriptor, byte, 0, 1, at);
    byte[0] = (byte[0] ?? 0) ^ (1 << bit);
    writeSync(descriptor, byte, 0, 1, at);
    closeSync(descriptor);
  };
  flip();
  return flip;
}

async function whatFinds({ folder, file, masterKey }: FlipOptions, before: string) {
  try {
    const [damage] = checkDataFile(folder, file, masterKey)?.damage ?? [];
    if (damage !== undefined) {
      const { kind, table, row, detail } = damage;
      return { found: kind, detail: `${table} ${row}: ${detail}` };
    }
    if (file === 'history.db') {
      const history = openHistoryOnDisk(join(folder, file));
      const { damaged } = await history.check(() => {});
      history.close();
      if (damaged[0]) return { found: 'chunk', detail: damaged[0].detail };
    }
    if (file === 'control.db' || file === 'events.db') {
      const { projects } = await verifyOnDisk({ folder, masterKey }, { clock: systemClock });
      const broken = projects.flatMap((project) => project.broken ?? []);
      if (broken[0]) return { found: 'chain', detail: broken[0].detail };
    }
  } catch (error) {
    return { found: 'open', detail: error instanceof Error ? error.message : String(error) };
  }
  const isEqual = contentOf(join(folder, file)) === before;
  return { found: isEqual ? 'equal' : 'missed', detail: '' };
}

/** Every row of every table, and the schema, as text. */
function contentOf(path: string): string {
  const database = new Database(path, { readonly: true });
  try {
    const schema = database
      .prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name')
      .all();
    const tables = schema as { type: string; name: string }[];
    const rows = tables
      .filter(({ type }) => type === 'table')
      .map(({ name }) => database.prepare(`SELECT * FROM ${name} NOT INDEXED`).raw().all());
    return JSON.stringify([schema, rows]);
  } finally {
    database.close();
  }
}

function pageBytesOf(path: string): number {
  const database = new Database(path, { readonly: true });
  try {
    return Number(database.pragma('page_size', { simple: true }));
  } finally {
    database.close();
  }
}

/** Counts by file and by what found the flips, as lines of a table. */
export function flipTable(flips: ReadonlyMap<string, readonly Flip[]>): string[] {
  const columns = ['open', 'structure', 'row', 'chunk', 'chain', 'equal', 'missed'];
  const lines = [`| file | pages | flips | ${columns.join(' | ')} |`];
  lines.push(`| --- |${' --: |'.repeat(columns.length + 2)}`);
  for (const [file, all] of flips) {
    const pages = new Set(all.map(({ page }) => page)).size;
    const counts = columns.map((name) => all.filter(({ found }) => found === name).length);
    lines.push(`| ${file} | ${pages} | ${all.length} | ${counts.join(' | ')} |`);
  }
  return lines;
}
