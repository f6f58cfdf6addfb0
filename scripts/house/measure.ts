/**
 * Figures of a checkout's readability: its size by floor, circles of imports, files outside of
 * rooms, casts, comments, words of the old dialect.
 */
import { type Checkout, type Floor, floors } from './checkout.ts';
import { type FolderCircle, fileCircles, folderCircles } from './circles.ts';
import { findOldWords, type OldWordHit } from './old-words.ts';
import { circleFindings, placeFindings } from './plan.ts';
import { type CommentShare, commentShares } from './text-kinds.ts';

export interface Size {
  readonly files: number;
  readonly lines: number;
}

export interface Measure {
  /** Hand-written code; generated code is counted separately. */
  readonly floors: Readonly<Record<Floor, Size>>;
  readonly all: Size;
  /** Pages for the browser, which are part of the floor `src`. */
  readonly dashboard: Size;
  readonly generated: Size;
  readonly tests: Size;
  readonly fileCircles: readonly (readonly string[])[];
  readonly folderCircles: readonly FolderCircle[];
  /** Files and imports that violate the plan of rooms. */
  readonly outOfPlace: readonly string[];
  /** The circles again, with the imports to check first. */
  readonly circleFindings: readonly string[];
  /** Files of src that are in no folder. */
  readonly looseFiles: readonly string[];
  /** Uses of `as unknown as`, as `file:line`. */
  readonly casts: readonly string[];
  /** Share of the text, in characters and in lines; lines of code are longer. */
  readonly commentPercent: { readonly characters: number; readonly lines: number };
  readonly oldWords: readonly OldWordHit[];
}

export function measure(checkout: Checkout): Measure {
  const all = [...checkout.sources.values()];
  const written = all.filter(({ generated }) => !generated);
  const shares = written.map(({ text }) => commentShares(text));
  const sizeOf = (files: readonly { readonly lines: number }[]): Size => ({
    files: files.length,
    lines: sum(files.map(({ lines }) => lines)),
  });
  const ofFloor = (floor: Floor) => sizeOf(written.filter((file) => file.floor === floor));
  return {
    floors: Object.fromEntries(floors.map((floor) => [floor, ofFloor(floor)])) as Measure['floors'],
    all: sizeOf(written),
    dashboard: sizeOf(written.filter(({ path }) => path.startsWith('src/dashboard/'))),
    generated: sizeOf(all.filter(({ generated }) => generated)),
    tests: sizeOf(checkout.tests),
    fileCircles: fileCircles(checkout.sources),
    folderCircles: folderCircles(checkout.sources),
    outOfPlace: placeFindings(checkout),
    circleFindings: circleFindings(checkout),
    looseFiles: written.map(({ path }) => path).filter((path) => /^src\/[^/]+$/.test(path)),
    casts: written.flatMap(({ path, text }) =>
      text
        .split('\n')
        .flatMap((line, i) => (line.includes('as unknown as') ? [`${path}:${i + 1}`] : [])),
    ),
    commentPercent: {
      characters: percent(shares.map(({ characters }) => characters)),
      lines: percent(shares.map(({ lines }) => lines)),
    },
    oldWords: findOldWords(checkout),
  };
}

function percent(shares: readonly CommentShare[]): number {
  return (100 * sum(shares.map(({ comment }) => comment))) / sum(shares.map(({ all }) => all));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
