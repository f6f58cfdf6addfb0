/**
 * The documents as a reader follows them: every shell block of the pages runs in reading order in
 * one new installation, so that a later page finds the results of the earlier ones. A page is one
 * terminal. A block that needs more than this machine has the reason in a comment before it; a
 * comment below the title holds for the whole page. The first page starts `svc` for each command;
 * later ones call one process (`command-server.ts`), because most of a command's time is its start.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test, test } from 'tap';
import { needs } from '../../support/components.ts';
import { dataFolder, startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const commandServer = fileURLToPath(new URL('../../support/command-server.ts', import.meta.url));

/** In reading order: each may use the results of the pages before it. */
const PAGES = [
  'README.md',
  'docs/guides/getting-started.md',
  'docs/alerting.md',
  'docs/first-rules.md',
  'docs/access.md',
  'docs/sources.md',
  'docs/reading.md',
  'docs/guides/from-prometheus.md',
  'docs/guides/from-zabbix.md',
  'docs/replay.md',
  'docs/ci.md',
  'docs/agent.md',
  'docs/sdk.md',
  'docs/embedding.md',
  'docs/chats.md',
  'docs/operations/tasks.md',
  'docs/operations/install.md',
  'docs/operations/https.md',
  'docs/operations/mail.md',
  'docs/operations/backup.md',
  'docs/operations/collect.md',
  'docs/operations/cluster.md',
  'CONTRIBUTING.md',
  'docs/first-change.md',
];
/** Generated from code, without commands to follow. */
const GENERATED = ['docs/cli.md'];

/** Time limit of a page with thirty commands, ms, on a machine with other work. */
const PAGE_MS = 600_000;

/** Characters shown from the end of a failed page. */
const SHOWN_CHARS = 2_000;

t.setTimeout(840_000);

interface Block {
  readonly code: string;
  /** Why it is not run; undefined: it is run. */
  readonly reason: string | undefined;
}

/** Shell blocks of a page, those in lists included. */
function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), 'utf8');
  const ofPage = /<!-- no block is run: (.+) -->/.exec(text)?.[1];
  const found = text.matchAll(/^( *)(?:<!-- not run: ([^\n]+) -->\n *)?```sh\n(.*?)^\1```$/gms);
  return [...found].map(([, indent = '', reason, indented = '']) => ({
    code: indented.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    reason: reason ?? ofPage,
  }));
}

test('every page with shell blocks has its place in the reading order', async (t) => {
  const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root })];
  const withBlocks = pages.filter((page) => blocksOf(page).length > 0);
  const known = [...PAGES, ...GENERATED];
  t.same(
    withBlocks.filter((page) => !known.includes(page)),
    [],
    'add it to PAGES',
  );
  t.same(
    PAGES.filter((page) => !withBlocks.includes(page)),
    [],
    'remove it from PAGES',
  );
  for (const page of PAGES) {
    const fences = readFileSync(join(root, page), 'utf8').match(/^ *```sh$/gm)?.length;
    t.equal(blocksOf(page).length, fences, `${page}: each block is found`);
  }
});

test('the blocks succeed one page after another', needs('curl'), async (t) => {
  const folder = dataFolder(t);
  const receiver = await startReceiver(t);
  // As `npm ci` leaves it: the command is in node_modules/.bin.
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(join(root, 'bin'), join(folder, 'bin'));
  const node = `node-linux-${process.arch}`;
  symlinkSync(join(root, 'node_modules', node), join(folder, 'node_modules', node));
  await run(folder, [join(root, 'scripts/link-node.js')], process.execPath);
  const { demo } = await startProgram(t, join(folder, 'data'), {
    SVC_COLLECT: 'host',
    SVC_WEBHOOK_ALLOW: '127.0.0.1',
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
  });
  const here = (code: string): string =>
    code
      .replaceAll('http://127.0.0.1:8080', demo.baseUrl)
      .replaceAll('http://127.0.0.1:9000/', new URL('/', receiver.url).href)
      .replaceAll('timeout 180', 'timeout 1');

  for (const page of PAGES) {
    const blocks = blocksOf(page).filter(({ reason }) => reason === undefined);
    if (blocks.length === 0) continue;
    const lines = blocks.flatMap(({ code }, place) => [`echo "# block ${place + 1}"`, here(code)]);
    const script = join(folder, 'page.sh');
    writeFileSync(script, `set -euo pipefail\n${lines.join('\n')}`);
    // Through a pipe, because a socket, as Node makes it, cannot be opened as /dev/stderr.
    const piped = 'set -o pipefail; bash --norc "$0" 2>&1 | cat';
    const { code, output } = await run(folder, ['-c', piped, script], 'bash');
    const end = code === 0 ? '' : ` ended with ${output.slice(-SHOWN_CHARS)}`;
    t.equal(code, 0, `${page}: ${blocks.length} blocks${end}`);
    if (page === PAGES[0]) await startCommandServer(t, folder);
  }
});

/** Replaces the command of the installation. */
async function startCommandServer(t: Test, folder: string): Promise<void> {
  const command = join(folder, 'node_modules/.bin/svc');
  rmSync(command);
  const child = spawn(process.execPath, [commandServer, command], {
    cwd: folder,
    env: environmentIn(folder),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  t.teardown(async () => {
    child.stdin.end();
    await ended;
  });
  await Promise.race([once(child.stdout, 'data'), ended]);
}

function environmentIn(folder: string) {
  return {
    PATH: `${join(folder, 'node_modules/.bin')}:${process.env.PATH}`,
    HOME: folder,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  };
}

/** Runs one program in the installation, as a user whose home folder is empty at first. */
function run(
  folder: string,
  args: readonly string[],
  program: string,
): Promise<{ readonly code: number; readonly output: string }> {
  const env = environmentIn(folder);
  return new Promise((resolve) => {
    const options = { cwd: folder, env, timeout: PAGE_MS, maxBuffer: 1e8 };
    execFile(program, [...args], options, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : Number(error !== null);
      resolve({ code, output: `${stdout}\n${stderr}` });
    });
  });
}
