/**
 * The generated files of docs/machines as data, so that writing, checking and testing share one
 * rendering.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { toSvg } from '../../src/audit/drawing/svg.ts';
import { renderIndex } from './index-page.ts';

/** File name (inside docs/machines) to text: `<machine>.svg` and `README.md`. */
export async function renderDrawings(): Promise<Map<string, string>> {
  const definitions = [...machineDefinitions.values()];
  const files = new Map([['README.md', renderIndex(definitions)]]);
  for (const definition of definitions) {
    files.set(`${definition.name}.svg`, await toSvg(definition));
  }
  return files;
}

/** Names of files that are missing, differ, or no longer belong to a machine; sorted. */
export function staleFiles(drawings: ReadonlyMap<string, string>, folder: string): string[] {
  const present = existsSync(folder) ? readdirSync(folder) : [];
  const changed = [...drawings.keys()].filter((file) => {
    return (
      !present.includes(file) || readFileSync(join(folder, file), 'utf8') !== drawings.get(file)
    );
  });
  return [...changed, ...present.filter((file) => !drawings.has(file))].sort();
}
