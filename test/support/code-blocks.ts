/** Blocks of code of a guide, so that tests run what the guide offers for pasting. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The block of `docs/<page>` whose first line is `# <name>` (or is just the first of its kind).
 * Throws when there is none.
 */
export function codeBlock(page: string, firstLine: string): string {
  const path = fileURLToPath(new URL(`../../docs/${page}`, import.meta.url));
  // In a list, a block is indented.
  const blocks = readFileSync(path, 'utf8').matchAll(/^( *)```\w+\n(.*?)^\1```$/gms);
  for (const [, indent = '', indented = ''] of blocks) {
    const block = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    if (block.startsWith(`${firstLine}\n`)) return block;
  }
  throw new Error(`docs/${page} has no block that begins with ${firstLine}`);
}
