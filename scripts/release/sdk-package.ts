/** The SDK for TypeScript as a separate package, without server, command or Node. */
import { execFileSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The imports of its modules. A test installs the package with nothing else. */
const DEPENDENCIES = [
  '@bufbuild/protobuf',
  '@connectrpc/connect',
  '@connectrpc/connect-node',
] as const;

/** Entries of the package, and their modules in `src/sdk`. */
const ENTRIES = {
  '.': 'index',
  './webhook': 'webhook',
  './sqlite': 'delivery-deduplicator',
} as const;

/** Of `@connectrpc/connect-node`, and of `node:sqlite` without a flag. */
const ENGINES = { node: '>=22.13' };

/** Makes the package in `folder`: compiled modules with their types, and the guide. */
export function assembleSdk(folder: string, version: string): void {
  execFileSync(
    join(root, 'node_modules/.bin/tsc'),
    ['-p', 'tsconfig.sdk.json', '--outDir', join(folder, 'dist')],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  cpSync(join(root, 'docs/sdk.md'), join(folder, 'README.md'));
  const entries = Object.entries(ENTRIES).map(([path, name]) => {
    const built = `./dist/src/sdk/${name}`;
    return [path, { types: `${built}.d.ts`, default: `${built}.js` }] as const;
  });
  // For `moduleResolution: node10`, which reads no exports.
  const olderTypes = entries.flatMap(([path, { types }]) =>
    path === '.' ? [] : [[path.slice(2), [types]] as const],
  );
  const manifest = {
    name: 'svc-sdk',
    version,
    description: 'Programs that use the monitoring service: calls, webhooks, deduplication',
    type: 'module',
    exports: { ...Object.fromEntries(entries), './package.json': './package.json' },
    types: './dist/src/sdk/index.d.ts',
    typesVersions: { '*': Object.fromEntries(olderTypes) },
    sideEffects: false,
    engines: ENGINES,
    dependencies: Object.fromEntries(
      DEPENDENCIES.map((name) => [name, packageJson.dependencies[name]]),
    ),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
