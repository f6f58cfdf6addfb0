/** Figures of a checkout's readability: its size by floor, circles of imports, casts, comments. */
import { type Checkout, floors } from './checkout.ts';
import { fileCircles, folderCircles } from './circles.ts';
import { circleFindings, placeFindings } from './plan.ts';

export interface Measure {
  /** Name and value of each figure. Generated code counts only in its own row. */
  readonly figures: readonly (readonly [name: string, value: string])[];
  /** One line for each thing to repair: a file, an import, a circle, or a cast with its line. */
  readonly findings: readonly string[];
}

export function measure(checkout: Checkout): Measure {
  const all = [...checkout.sources.values()];
  const written = all.filter(({ generated }) => !generated);
  const texts = written.map(({ text }) => text);
  const places = placeFindings(checkout);
  const casts = written.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, i) => (line.includes('as unknown as') ? [`${path}:${i + 1}`] : [])),
  );
  return {
    figures: [
      ...floors.map(
        (floor) => [floor, sizeText(written.filter((file) => file.floor === floor))] as const,
      ),
      ['all floors', sizeText(written)],
      ['dashboard', sizeText(written.filter(({ path }) => path.startsWith('src/dashboard/')))],
      ['generated', sizeText(all.filter(({ generated }) => generated))],
      ['tests', sizeText(checkout.tests)],
      ['circles of files', String(fileCircles(checkout.sources).length)],
      ['circles of folders', String(folderCircles(checkout.sources).length)],
      ['imports and files out of place', String(places.length)],
      ['as unknown as', String(casts.length)],
      ['lines of comments', `${commentPercent(texts).toFixed(1)} %`],
    ],
    findings: [...places, ...circleFindings(checkout), ...casts],
  };
}

function sizeText(files: readonly { readonly lines: number }[]): string {
  const lines = files.reduce((total, file) => total + file.lines, 0);
  return `${files.length.toLocaleString('en')} files, ${lines.toLocaleString('en')} lines`;
}

/** Share of the lines that contain only comments, in percent of all lines that are not empty. */
export function commentPercent(texts: readonly string[]): number {
  const lines = texts.flatMap((text) => text.split('\n')).map((line) => line.trim());
  const written = lines.filter((line) => line !== '');
  const comments = written.filter((line) => /^(\/\/|\/\*|\*)/.test(line));
  return (100 * comments.length) / written.length;
}
