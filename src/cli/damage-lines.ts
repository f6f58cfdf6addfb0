/** Findings of the check of databases, as lines of `svc audit verify` and `svc history check`. */
import type { FileCheck } from '../../sqlite/platform/file-check.ts';
import { type DataFile, damageText, WAYS_BACK } from '../admin/check/data-files.ts';
import { bytesText, count } from '../platform/table.ts';

/** Whether the check found damage in a file. */
export function isDamaged(files: readonly FileCheck[]): boolean {
  return files.some(({ damage }) => damage.length > 0);
}

/** The lines, each with its newline: the checked files, then the damage and the remedy. */
export function filesLines(files: readonly FileCheck[]): string[] {
  const lines = files.map(checkedLine);
  const damaged = files.filter(({ damage }) => damage.length > 0);
  if (damaged.length === 0) return lines.map(ended);
  const places = damaged.flatMap(({ damage }) => damage).map(damageText);
  return [
    ...lines,
    '',
    'Damaged:',
    ...places.map((place) => `  ${place}`),
    '',
    'What to do:',
    '  1. Check for a failing disk (dmesg, smartctl); if it is failing, move the data folder.',
    '  2. Keep a copy of the data folder as evidence, and stop the service.',
    ...damaged.map(({ file }) => `  3. ${file}: ${WAYS_BACK[file as DataFile]}.`),
  ].map(ended);
}

function checkedLine({ file, bytes, rows, unproven, damage }: FileCheck): string {
  const older = unproven === 0 ? '' : `, ${count(unproven)} rows older than the checksums`;
  const result = damage.length === 0 ? 'no damage' : `${count(damage.length)} damaged places`;
  return `${file}: ${bytesText(bytes)}, ${count(rows)} rows${older}: ${result}`;
}

function ended(line: string): string {
  return `${line}\n`;
}
