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
  'better-sqlite3',
] as const;

/** Makes the package in `folder`: compiled modules with their types, and the guide. */
export function assembleSdk(folder: string, version: string): void {
  execFileSync(
    join(root, 'node_modules/.bin/tsc'),
    ['-p', 'tsconfig.sdk.json', '--outDir', join(folder, 'dist')],
    { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  cpSync(join(root, 'docs/sdk.md'), join(folder, 'README.md'));
  const entry = { types: './dist/src/sdk/index.d.ts', default: './dist/src/sdk/index.js' };
  const manifest = {
    name: 'svc-sdk',
    version,
    description: 'Programs that use the monitoring service: calls, webhooks, deduplication',
    type: 'module',
    exports: { '.': entry, './package.json': './package.json' },
    engines: packageJson.engines,
    dependencies: Object.fromEntries(
      DEPENDENCIES.map((name) => [name, packageJson.dependencies[name]]),
    ),
  };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
