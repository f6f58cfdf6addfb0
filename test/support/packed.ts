/**
 * The package as a user installs it: packed by npm and unpacked into the node_modules of a separate
 * project, where Node strips no types. Its dependencies are linked from the checkout, so nothing is
 * fetched.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);
const bounded = { timeout: 600_000, killSignal: 'SIGKILL' } as const;

export interface PackedProject {
  readonly folder: string;
  /** Folder of the installed package. */
  readonly packageFolder: string;
  /** Paths in the package. */
  readonly files: readonly string[];
  /**
   * Runs a JavaScript module of the project. Resolves with its standard output. Throws if it fails.
   */
  runModule(name: string, source: string): Promise<string>;
  /**
   * Checks TypeScript modules, by name, against the package's types. One finding per line; '' =
   * none.
   */
  findings(sources: Readonly<Record<string, string>>): Promise<string>;
}

/** @param folder empty and outside the checkout; becomes the project */
export async function installPacked(folder: string): Promise<PackedProject> {
  const { stdout } = await run(
    'npm',
    ['pack', '--json', '--silent', '--pack-destination', folder],
    {
      cwd: root,
      ...bounded,
      env: { ...process.env, npm_config_cache: join(folder, '.npm') },
    },
  );
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  if (!packed) throw new Error(`npm pack printed ${stdout}`);
  const packageFolder = join(folder, 'node_modules/svc');
  mkdirSync(packageFolder, { recursive: true });
  const tarball = join(folder, packed.filename);
  await run('tar', ['-xzf', tarball, '-C', packageFolder, '--strip-components=1'], bounded);
  linkDependencies(folder, packageFolder);
  writeFileSync(join(folder, 'package.json'), '{"name": "consumer", "type": "module"}\n');
  return {
    folder,
    packageFolder,
    files: packed.files.map(({ path }) => path),
    async runModule(name, source) {
      const file = join(folder, `${name}.js`);
      writeFileSync(file, source);
      return (await run(process.execPath, [file], { cwd: folder, ...bounded })).stdout;
    },
    async findings(sources) {
      const files = Object.keys(sources).map((name) => `${name}.ts`);
      for (const [name, source] of Object.entries(sources)) {
        writeFileSync(join(folder, `${name}.ts`), source);
      }
      const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext'];
      const args = [...options, '--ignoreConfig', '--types', 'node', ...files];
      return run(join(root, 'node_modules/.bin/tsc'), args, { cwd: folder, ...bounded }).then(
        () => '',
        (error: { stdout?: string }) => error.stdout || String(error),
      );
    },
  };
}

/** Links them as `npm install` would, with Node's own types for the compiler. */
function linkDependencies(folder: string, packageFolder: string): void {
  const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
  for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
}
