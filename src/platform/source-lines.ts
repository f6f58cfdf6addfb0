/**
 * Stack traces of the bundled program, with files and lines of the sources. The build puts this
 * module in front of the program and of each thread; nothing else imports it. A table is read when
 * a stack of its file is first printed. Node's own `--enable-source-maps` reads and parses all of
 * them at the start.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Where the line of the source changes, as scripts/build-program.mjs writes it. */
interface Table {
  readonly sources: readonly string[];
  /** For each place: line and column in the bundle, index of the source, line in it; from 0. */
  readonly places: Int32Array;
}

const folder = new URL('.', import.meta.url).href;
const root = new URL('../..', import.meta.url).href;
const tables = new Map<string, Table | undefined>();
const plain = Error.prepareStackTrace;

Error.prepareStackTrace = (error, sites) =>
  plain?.(error, sites.map(sourceSite)) ??
  `${error}\n    at ${sites.map(sourceSite).join('\n    at ')}`;

/** The place in a form for `plain`, which only prints it. */
function sourceSite(site: NodeJS.CallSite): NodeJS.CallSite {
  const file = site.getFileName();
  const line = site.getLineNumber();
  const column = site.getColumnNumber();
  if (!file?.startsWith(folder) || line === null || column === null) return site;
  const source = sourceOf(file, line - 1, column - 1);
  if (source === undefined) return site;
  const text = String(site).replace(`${file}:${line}:${column}`, source);
  return Object.create(site, { toString: { value: () => text } });
}

function sourceOf(file: string, line: number, column: number): string | undefined {
  if (!tables.has(file)) tables.set(file, readTable(file));
  const { sources, places } = tables.get(file) ?? {};
  if (sources === undefined || places === undefined) return undefined;
  let low = 0;
  let high = places.length / 4;
  while (low < high) {
    const middle = (low + high) >> 1;
    const [atLine = 0, atColumn = 0] = places.subarray(middle * 4, middle * 4 + 2);
    if (atLine < line || (atLine === line && atColumn <= column)) low = middle + 1;
    else high = middle;
  }
  const [atLine, , source = -1, sourceLine = 0] = places.subarray((low - 1) * 4, low * 4);
  if (atLine !== line) return undefined;
  return `${root}${sources[source]}:${sourceLine + 1}`;
}

function readTable(file: string): Table | undefined {
  try {
    const bytes = readFileSync(fileURLToPath(`${file}.lines`));
    // A copy, because integers begin at a multiple of 4.
    const { buffer } = Uint8Array.from(bytes);
    const [headerBytes = 0] = new Int32Array(buffer, 0, 1);
    return {
      sources: JSON.parse(bytes.toString('utf8', 4, 4 + headerBytes)),
      places: new Int32Array(buffer, 4 + headerBytes),
    };
  } catch {
    // An error is being printed: it keeps the places in the bundle.
    return undefined;
  }
}
