/**
 * Runs every script of a folder and its subfolders, and checks that none was skipped: if the folder
 * has a `manifest.json` (evals by file), its numbers and lines must match.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { exemptionOf } from '../not-applicable.ts';
import { type EvalOutcome, runScript } from './run-script.ts';

export interface FileReport {
  /** Path relative to the folder. */
  readonly file: string;
  readonly outcomes: readonly EvalOutcome[];
  /** Reason why the file could not be run to its end; null = it was. */
  readonly fault: string | null;
}

interface ManifestEntry {
  readonly evals: number;
  readonly tags: Readonly<Record<string, readonly string[]>>;
}

/** Sorted paths of the scripts in a folder, relative to it; for a single script, its name. */
export function listScripts(path: string): string[] {
  if (statSync(path).isFile()) return [basename(path)];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test')).sort();
}

/** `path`: a folder or a single script. */
export function runFolder(path: string): FileReport[] {
  const folder = statSync(path).isFile() ? dirname(path) : path;
  return listScripts(path).map((file) => runFile(folder, file));
}

export function runFile(folder: string, file: string): FileReport {
  const path = resolve(folder, file);
  try {
    const text = readFileSync(path, 'utf8');
    const outcomes = runScript(text, (evaluation) => exemptionOf(path, evaluation));
    return { file, outcomes, fault: manifestFault(folder, file, outcomes) };
  } catch (error) {
    return { file, outcomes: [], fault: error instanceof Error ? (error.stack ?? '') : `${error}` };
  }
}

function manifestFault(
  folder: string,
  file: string,
  outcomes: readonly EvalOutcome[],
): string | null {
  const path = join(folder, 'manifest.json');
  if (!existsSync(path)) return null;
  const manifest: Record<string, ManifestEntry> = JSON.parse(readFileSync(path, 'utf8'));
  const entry = manifest[file];
  if (entry === undefined) return null;
  if (entry.evals !== outcomes.length) {
    return `the manifest names ${entry.evals} evals, ${outcomes.length} were run`;
  }
  const lines = new Set(outcomes.map(({ line }) => line));
  const missing = Object.keys(entry.tags).filter((line) => !lines.has(Number(line)));
  return missing.length === 0 ? null : `the manifest names evals at lines ${missing.join(', ')}`;
}
