/** The files of installed packages that `prepare` removes, and those that it keeps. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { dropUnused } from '../../scripts/drop-unused.mjs';

const { arch, platform } = process;
const node = `node-linux-${arch}`;

test('installed packages lose only their sources, headers and code for other machines', async (t) => {
  const folder = t.testdir({
    'better-sqlite3': {
      deps: { 'sqlite3.c': '' },
      lib: { 'database.js': '' },
      prebuilds: { [`${platform}-${arch}.node`]: '', 'plan9-mips.node': '' },
    },
    elkjs: { lib: { 'elk.bundled.js': '', 'elk-worker.js': '' } },
    [node]: { bin: { node: '' }, include: { node: { 'v8.h': '' } } },
    other: { src: { 'index.js': '' } },
  });
  dropUnused(folder);
  const left = (...paths: string[]) => paths.filter((path) => existsSync(join(folder, path)));
  const kept = [
    'better-sqlite3/lib/database.js',
    `better-sqlite3/prebuilds/${platform}-${arch}.node`,
    'elkjs/lib/elk.bundled.js',
    `${node}/bin/node`,
    'other/src/index.js',
  ];
  t.same(left(...kept), kept);
  t.same(
    left(
      'better-sqlite3/deps',
      'better-sqlite3/prebuilds/plan9-mips.node',
      'elkjs/lib/elk-worker.js',
      `${node}/include`,
    ),
    [],
  );
});
