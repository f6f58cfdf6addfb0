/**
 * The walks of docs/architecture.md: numbered steps, each a file and the function to read in it. A
 * walk is checked, so that it stays true: the file exists, the function is declared in it, and the
 * step is connected to the previous one, or to the one that it names, by an import or by a name.
 *
 *     3. [`actors/a.ts`](../actors/a.ts) `decide`, from 1, by `Port`: what happens there.
 *
 * `by` names something that both files mention if neither imports the other: a port, a stream, a
 * machine.
 */
import type { SourceFile } from './checkout.ts';

export interface Step {
  readonly number: number;
  readonly path: string;
  readonly name: string;
  /** Number of the step that leads here; the previous one unless another is named. */
  readonly from: number;
  readonly by: string | undefined;
}

export interface Walk {
  readonly title: string;
  readonly steps: readonly Step[];
}

const STEP =
  /^(\d+)\. \[`([^`]+)`\]\(\.\.\/([^)]+)\) `([^`]+)`(?:, from (\d+))?(?:, by `([^`]+)`)?: \S/;

/** Sections with numbered steps, in order. Throws if a step does not have the form above. */
export function walksOf(page: string): Walk[] {
  return page.split(/^## /m).flatMap((section) => {
    const [title = '', ...lines] = section.split('\n');
    const steps = lines.filter((line) => /^\d+\. /.test(line)).map(stepOf);
    return steps.length > 0 ? [{ title, steps }] : [];
  });
}

function stepOf(line: string): Step {
  const [, number = '', displayed, path = '', name = '', from, by] = STEP.exec(line) ?? [];
  if (displayed !== path) throw new Error(`Not a step with a file and a name: ${line}`);
  return { number: Number(number), path, name, from: Number(from ?? Number(number) - 1), by };
}

/** One line for each step that is no longer true. */
export function walkFindings(walk: Walk, sources: ReadonlyMap<string, SourceFile>): string[] {
  return walk.steps.flatMap((step, i) => {
    const at = `${walk.title}, step ${step.number}`;
    const findings = step.number === i + 1 ? [] : [`${at}: follows step ${i}`];
    const file = sources.get(step.path);
    if (file === undefined) return [...findings, `${at}: ${step.path} does not exist`];
    if (!declares(file.text, step.name)) {
      findings.push(`${at}: ${step.path} declares no ${step.name}`);
    }
    const before = sources.get(walk.steps[step.from - 1]?.path ?? '');
    if (before !== undefined && !isConnected(before, file, step.by)) {
      findings.push(`${at}: nothing connects ${before.path} and ${step.path}`);
    }
    return findings;
  });
}

function declares(text: string, name: string): boolean {
  const pattern = `(function\\*?|class|const|interface|type) ${name}\\b|^ +(async |static |#)*${name}\\(`;
  return new RegExp(pattern, 'm').test(text);
}

function isConnected(a: SourceFile, b: SourceFile, by: string | undefined): boolean {
  if (by === undefined) {
    return a.path === b.path || a.imports.includes(b.path) || b.imports.includes(a.path);
  }
  const word = new RegExp(`\\b${by}\\b`);
  return word.test(a.text) && word.test(b.text);
}
