/**
 * `npm run generate`: TypeScript from the .proto files, every page that is made from a table in the
 * code, and the bundle of the composite action. With `--check`, nothing is written; stale files are
 * named and the exit code is 1. With `--baseline`, at a release, it also stores the messages with
 * which later ones are compared.
 */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { goFiles } from './go-messages.ts';
import { type Page, pages } from './pages.ts';
import { RELEASED_MESSAGES } from './released-messages.ts';

/** Only the version of package.json; the build tools are not part of the bundle. */
const versionAlone: Plugin = {
  name: 'version alone',
  setup: ({ onLoad }) =>
    onLoad({ filter: /package\.json$/ }, ({ path }) => {
      const { version } = JSON.parse(readFileSync(path, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    }),
};

/** Its runner has any Node from 20 on, and nothing else of this project installed. */
const actionBundle: Page = { path: 'action/exchange.cjs', text: () => bundle };
const { outputFiles } = await build({
  entryPoints: ['src/cli/ci/exchange.ts'],
  bundle: true,
  write: false,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  charset: 'utf8',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  lineLimit: 120,
  banner: { js: '// Made by "npm run generate" from src/cli/ci/exchange.ts: do not edit.' },
  plugins: [versionAlone],
});
const bundle = outputFiles[0]?.text ?? '';

const check = process.argv.includes('--check');
const stale = [...generateMessages(), ...generatePages([...pages, actionBundle]), ...generateGo()];
for (const file of stale) process.stdout.write(`${check ? 'stale' : 'written'} ${file}\n`);
process.exitCode = check && stale.length > 0 ? 1 : 0;
if (process.argv.includes('--baseline')) {
  execFileSync('buf', ['build', '--exclude-source-info', '--output', RELEASED_MESSAGES]);
}

/** src/gen from src/proto, through a scratch folder, so that a check writes nothing here. */
function generateMessages(): string[] {
  execFileSync('buf', ['lint'], { stdio: 'inherit' });
  const scratch = mkdtempSync(join(tmpdir(), 'svc-generate-'));
  try {
    execFileSync('buf', ['generate', '--output', scratch], { stdio: 'inherit' });
    const made = globSync('src/gen/**/*.ts', { cwd: scratch });
    const left = globSync('src/gen/**/*.ts').filter((file) => !made.includes(file));
    if (!check) for (const file of left) rmSync(file);
    const files = made.map((path) => {
      const text = withoutRepeatedComments(readFileSync(join(scratch, path), 'utf8'));
      return { path, text: () => text };
    });
    return [...left, ...generatePages(files)];
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** The comments in the JSON type of a message repeat those of its message type. */
function withoutRepeatedComments(text: string): string {
  return text.replaceAll(/^export type \w+Json = \{\n[\s\S]*?^\};$/gm, (type) =>
    type.replaceAll(/(?:\n *)?\n +\/\*\*[\s\S]*?\*\//g, ''),
  );
}

/** The Go module's part of the .proto files. */
function generateGo(): string[] {
  const files = goFiles();
  const left = globSync('sdk/go/*_messages.go').filter((file) =>
    files.every(({ path }) => path !== file),
  );
  if (!check) for (const file of left) rmSync(file);
  return [...left, ...generatePages(files.map(({ path, text }) => ({ path, text: () => text })))];
}

function generatePages(pages: readonly Page[]): string[] {
  return pages.flatMap(({ path, text }) => {
    if (textOf(path) === text()) return [];
    if (!check) {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text());
    }
    return [path];
  });
}

function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
