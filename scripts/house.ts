/**
 * `npm run house`: figures of the readability of the checkout beside their goals, then lists of the
 * remaining work. With `--checkout DIR`, an older checkout (with its dependencies installed) is
 * measured first, in a column of its own. `--json` prints everything found, `--words` each old word
 * with its place. `--no-journeys` omits the figures that require starting a service. `--journey
 * NAME` prints the files of one journey, in the order of entry.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readCheckout } from './house/checkout.ts';
import { measureJourneys } from './house/journeys/journeys.ts';
import { measure } from './house/measure.ts';
import { findOldWords } from './house/old-words.ts';
import { type Column, reportText } from './house/report.ts';
import { walksOf } from './house/walks.ts';

const { values } = parseArgs({
  allowNegative: true,
  options: {
    checkout: { type: 'string' },
    json: { type: 'boolean', default: false },
    journey: { type: 'string' },
    journeys: { type: 'boolean', default: true },
    words: { type: 'boolean', default: false },
  },
});

if (values.words) printWords();
else if (values.journey !== undefined) await printJourney(values.journey);
else await printFigures();

function printWords(): void {
  for (const { place, reader, word, text } of findOldWords(readCheckout(process.cwd()))) {
    process.stdout.write(`${place} (${reader}, ${word}) ${text}\n`);
  }
}

/**
 * The journeys whose names contain `name`: each file with its number of lines and the place of its
 * import.
 */
async function printJourney(name: string): Promise<void> {
  const root = realpathSync(process.cwd());
  const { sources } = readCheckout(root);
  const journeys = (await measureJourneys(root)).filter((journey) => journey.name.includes(name));
  for (const { name, files } of journeys) {
    process.stdout.write(`${name}: ${files.length} files\n`);
    for (const file of files) {
      const importers = [...sources.values()].filter(({ imports }) => imports.includes(file));
      const by = importers.length === 1 ? (importers[0]?.path ?? '') : `${importers.length} files`;
      process.stdout.write(`  ${file}  ${sources.get(file)?.lines} lines, imported by ${by}\n`);
    }
  }
  if (journeys.length === 0) throw new Error(`No journey has ${name} in its name`);
}

async function printFigures(): Promise<void> {
  const columns: Column[] = [];
  if (values.checkout !== undefined) columns.push(await columnOf('before', values.checkout));
  columns.push(await columnOf('now', process.cwd()));
  process.stdout.write(values.json ? `${JSON.stringify(columns, null, 2)}\n` : reportText(columns));
}

async function columnOf(title: string, folder: string): Promise<Column> {
  // Files of the running service are known by their real paths.
  const root = realpathSync(folder);
  const page = join(root, 'docs/architecture.md');
  return {
    title,
    measure: measure(readCheckout(root)),
    walks: existsSync(page) ? walksOf(readFileSync(page, 'utf8')) : [],
    journeys: values.journeys ? await measureJourneys(root) : [],
  };
}
