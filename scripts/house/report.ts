/** The table of `npm run house`: one row for each figure, one column for each checkout. */
import { floors } from './checkout.ts';
import type { Journey } from './journeys/journeys.ts';
import type { Measure } from './measure.ts';
import type { Reader } from './old-words.ts';
import type { Walk } from './walks.ts';

export interface Column {
  /** Title of the column. */
  readonly title: string;
  readonly measure: Measure;
  /** Empty if they were not measured. */
  readonly journeys: readonly Journey[];
  /** Empty if the checkout has no docs/architecture.md. */
  readonly walks: readonly Walk[];
}

interface Row {
  readonly figure: string;
  readonly goal: string;
  readonly of: (column: Column) => string;
}

/** Figures by row, then the remaining work of the last column, as lists. */
export function reportText(columns: readonly Column[]): string {
  const rows = [
    ...sizeRows(),
    ...structureRows(),
    ...wordRows(),
    ...journeyRows(columns),
    ...walkRows(columns),
  ];
  const table = [
    ['', ...columns.map(({ title }) => title), 'goal'],
    ...rows.map(({ figure, goal, of }) => [figure, ...columns.map(of), goal]),
  ];
  const last = columns.at(-1);
  return [...aligned(table), ...(last ? remains(last.measure) : []), ''].join('\n');
}

function sizeRows(): Row[] {
  const text = ({ files, lines }: { files: number; lines: number }) =>
    `${number(files)} files, ${number(lines)} lines`;
  return [
    ...floors.map((floor) => ({
      figure: floor,
      goal: '',
      of: ({ measure }: Column) => text(measure.floors[floor]),
    })),
    { figure: 'all floors', goal: '', of: ({ measure }) => text(measure.all) },
    { figure: 'of them the dashboard', goal: '', of: ({ measure }) => text(measure.dashboard) },
    {
      figure: 'all floors without the dashboard',
      goal: 'fewer',
      of: ({ measure: { all, dashboard } }) =>
        text({ files: all.files - dashboard.files, lines: all.lines - dashboard.lines }),
    },
    { figure: 'generated', goal: '', of: ({ measure }) => text(measure.generated) },
    { figure: 'tests', goal: '', of: ({ measure }) => text(measure.tests) },
  ];
}

function structureRows(): Row[] {
  return [
    {
      figure: 'circles of files',
      goal: '0',
      of: ({ measure }) => number(measure.fileCircles.length),
    },
    {
      figure: 'circles of folders',
      goal: '0',
      of: ({ measure }) => number(measure.folderCircles.length),
    },
    {
      figure: 'imports and files out of place',
      goal: '0',
      of: ({ measure }) => number(measure.outOfPlace.length),
    },
    {
      figure: 'loose files in src',
      goal: '1',
      of: ({ measure }) => number(measure.looseFiles.length),
    },
    {
      figure: 'as unknown as',
      goal: 'under 10',
      of: ({ measure }) => number(measure.casts.length),
    },
    {
      figure: 'comments, of all characters',
      goal: '20-35 %',
      of: ({ measure }) => `${measure.commentPercent.characters.toFixed(1)} %`,
    },
    {
      figure: 'comments, of all lines',
      goal: '',
      of: ({ measure }) => `${measure.commentPercent.lines.toFixed(1)} %`,
    },
  ];
}

const readers: readonly (readonly [Reader, string, string])[] = [
  ['people', 'messages, help, documents', '0'],
  ['tests', 'names of tests', ''],
  ['comments', 'comments', ''],
  ['code', 'identifiers', ''],
];

function wordRows(): Row[] {
  return readers.map(([reader, figure, goal]) => ({
    figure: `old words: ${figure}`,
    goal,
    of: ({ measure }) => number(measure.oldWords.filter((hit) => hit.reader === reader).length),
  }));
}

const journeyGoals: Readonly<Record<string, string>> = {
  'sample to webhook': '60 files',
  'PromQL query': '35 files',
  'CI assertion': '25 files',
};

function journeyRows(columns: readonly Column[]): Row[] {
  const names = new Set(columns.flatMap(({ journeys }) => journeys.map(({ name }) => name)));
  return [...names].flatMap((name) => {
    const row = (figure: string, goal: string, of: (journey: Journey) => string): Row => ({
      figure: `${name}: ${figure}`,
      goal,
      of({ journeys }) {
        const journey = journeys.find((one) => one.name === name);
        return journey ? of(journey) : 'not measured';
      },
    });
    return [
      row('files of its own', journeyGoals[name] ?? '', ({ files }) => number(files.length)),
      row('files of every call', '', ({ shared }) => number(shared.length)),
      row('folders', '', ({ folders }) => number(folders)),
      row('folder changes', '', ({ folderChanges }) => number(folderChanges)),
      row('floor changes', '', ({ floorChanges }) => number(floorChanges)),
    ];
  });
}

/** The code that a reader reads, step by step, of what the service runs. */
function walkRows(columns: readonly Column[]): Row[] {
  const titles = new Set(columns.flatMap(({ walks }) => walks.map(({ title }) => title)));
  return [...titles].map((title) => ({
    figure: `walk: ${title.replace(/, from.*/, '')}`,
    goal: '',
    of({ walks }) {
      const steps = walks.find((walk) => walk.title === title)?.steps;
      if (steps === undefined) return 'none';
      const floor = (i: number) => steps[i]?.path.split('/')[0];
      const changes = steps.filter((_, i) => i > 0 && floor(i) !== floor(i - 1)).length;
      const files = new Set(steps.map(({ path }) => path)).size;
      return `${files} files, ${changes} floor changes`;
    },
  }));
}

function remains({ outOfPlace, circleFindings, casts, oldWords }: Measure): string[] {
  return [
    ...section('Out of place', outOfPlace),
    ...section('Circles', circleFindings),
    ...section('as unknown as', casts),
    ...section(
      'Old words in what people read',
      oldWords
        .filter(({ reader }) => reader === 'people')
        .map(({ place, word, text }) => `${place} (${word}) ${text}`),
    ),
    ...section('Old words elsewhere', countsOf(oldWords)),
  ];
}

function countsOf(hits: Measure['oldWords']): string[] {
  const words = new Set(hits.map(({ word }) => word));
  return [...words].map((word) => {
    const of = (reader: Reader) =>
      hits.filter((hit) => hit.word === word && hit.reader === reader).length;
    return `${word}: ${of('tests')} in names of tests, ${of('comments')} in comments, ${of('code')} in code`;
  });
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)];
}

function aligned(table: readonly (readonly string[])[]): string[] {
  const widths = (table[0] ?? []).map((_, i) =>
    Math.max(...table.map((cells) => cells[i]?.length ?? 0)),
  );
  return table.map((cells) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

function number(value: number): string {
  return value.toLocaleString('en');
}
