/** Code blocks of a guide, so that tests run the text that readers paste. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The first block of `docs/<page>` that begins with this line, such as `# <name>`. Throws if there
 * is none.
 */
export function codeBlock(page: string, firstLine: string): string {
  const path = fileURLToPath(new URL(`../../docs/${page}`, import.meta.url));
  // A block in a list is indented.
  const blocks = readFileSync(path, 'utf8').matchAll(/^( *)```\w+\n(.*?)^\1```$/gms);
  for (const [, indent = '', indented = ''] of blocks) {
    const block = indented.replaceAll(new RegExp(`^${indent}`, 'gm'), '');
    if (block.startsWith(`${firstLine}\n`)) return block;
  }
  throw new Error(`docs/${page} has no block that begins with ${firstLine}`);
}
