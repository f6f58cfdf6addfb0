/**
 * The documents refer to files that exist: every relative link, and every source path in code
 * marks. Generated pages are checked too. Placeholders (`...`, `*`, `<p>`) are not paths.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'tap';

const root = join(import.meta.dirname, '../..');
const FLOORS = 'machines|streams|sqlite|actors|src|test|scripts|docs|sdk|bench';

const listed = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' });

test('every link and every path in a document leads to a file or folder', async (t) => {
  for (const page of listed.split('\0').filter((page) => page && existsSync(join(root, page)))) {
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
    for (const [, target = ''] of text.matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      t.ok(existsSync(join(root, dirname(page), target)), `${page} links to ${target}`);
    }
    for (const [, path = ''] of text.matchAll(new RegExp(`\`((?:${FLOORS})/[\\w./-]+)\``, 'g'))) {
      t.ok(existsSync(join(root, path)), `${page} names ${path}`);
    }
  }
});

test('every anchor within a document leads to one of its headings', async (t) => {
  for (const page of listed.split('\0').filter((page) => page && existsSync(join(root, page)))) {
    const text = readFileSync(join(root, page), 'utf8');
    for (const [, target = '', anchor = ''] of text.matchAll(/\]\(([^)#\s:]*)#([^)]+)\)/g)) {
      const file = target === '' ? page : join(dirname(page), target);
      if (!file.endsWith('.md') || !existsSync(join(root, file))) continue;
      const headings = readFileSync(join(root, file), 'utf8').matchAll(/^#+ (.+)$/gm);
      const anchors = [...headings].map(([, heading = '']) => anchorOf(heading));
      t.ok(anchors.includes(anchor), `${page} links to ${file}#${anchor}`);
    }
  }
});

/** Anchor that GitHub makes from a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
