/**
 * `npm run release [-- --folder DIR] [--version V] [--sign KEY] [--builder NAME] [--fast]`: builds the artefacts of a release
 * from this checkout with its dependencies installed, and needs no network. `--fast` hardly compresses, for tests.
 *
 *     svc-VERSION-linux-ARCH.tar.gz   the program with its Node and all its dependencies: unpack
 *     and run bin/svc
 *     svc_VERSION_ARCH.deb            the same as a Debian package, with unit, user and /etc/svc
 *     svc-sdk-VERSION.tgz             only the SDK for TypeScript, for npm
 *     svc-VERSION-linux-ARCH.cdx.json its bill of materials, with the commit, builder and command
 *     SHA256SUMS                      checksums of these
 *     SHA256SUMS.sig                  their ssh signature, if a key is given
 *
 * The same checkout gives the same bytes: entries are sorted, and have the time of the last commit.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { buildDashboard } from './build-dashboard.mjs';
import { buildProgram } from './build-program.mjs';
import { COMPRESSION } from './release/compression.ts';
import { assembleDebian } from './release/debian.ts';
import { assembleProgram, bytesOf } from './release/program.ts';
import { assembleSdk } from './release/sdk-package.ts';
import { signSums } from './release/signature.ts';
import { billOfMaterials } from './supply/bill-of-materials.ts';
import { provenanceOf, withProvenance } from './supply/provenance.ts';

/** Maximum unpacked size of the program, bytes; more is a fault of the release. */
const PROGRAM_BYTES_MAX = 150e6;
/** Maximum unpacked size of the SDK, bytes. */
const SDK_BYTES_MAX = 5e6;

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: 'dist/release' },
    version: { type: 'string', default: packageJson.version },
    sign: { type: 'string' },
    builder: { type: 'string' },
    fast: { type: 'boolean', default: false },
  },
});
// Folders that are made here are readable by everyone, whatever the builder's umask; files follow
// in `archive`.
process.umask(0o022);
const folder = resolve(values.folder);
const { version } = values;
const compression = COMPRESSION[values.fast ? 'fast' : 'release'];
const scratch = mkdtempSync(join(tmpdir(), 'svc-release-'));
try {
  await release();
} finally {
  rmSync(scratch, { recursive: true });
}

async function release(): Promise<void> {
  const seconds = run('git', 'log', '-1', '--format=%ct').trim();
  process.env.SOURCE_DATE_EPOCH = seconds;
  mkdirSync(folder, { recursive: true });
  const names = [await programArchive(), debianPackage(), sdkPackage(), billOfRelease()];
  const sums = names.map((name) => {
    const digest = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    return `${digest}  ${name}\n`;
  });
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''));
  written('SHA256SUMS');
  rmSync(join(folder, 'SHA256SUMS.sig'), { force: true });
  if (values.sign !== undefined) {
    signSums(folder, values.sign);
    written('SHA256SUMS.sig');
  }

  async function programArchive(): Promise<string> {
    const name = `svc-${version}-linux-${process.arch}`;
    assembleProgram(join(scratch, name), version);
    // The checkout's own build may be in use, or replaced, at the same time.
    await buildDashboard({ folder: join(scratch, name, 'dist/dashboard') });
    await buildProgram({ folder: join(scratch, name, 'dist'), isRelease: true });
    assertSize(name, PROGRAM_BYTES_MAX);
    return archive(name, 'tar.gz');
  }

  function debianPackage(): string {
    const arch = process.arch === 'x64' ? 'amd64' : process.arch;
    const name = `svc_${version}_${arch}.deb`;
    const tree = join(scratch, 'debian');
    const program = join(scratch, `svc-${version}-linux-${process.arch}`);
    assembleDebian(tree, { program, version, arch, bytes: bytesOf(program) });
    const file = join(folder, name);
    run('dpkg-deb', '--root-owner-group', ...compression.debian, '--build', tree, file);
    return written(name);
  }

  function sdkPackage(): string {
    assembleSdk(join(scratch, 'package'), version);
    assertSize('package', SDK_BYTES_MAX);
    archive('package', 'tgz', `svc-sdk-${version}.tgz`);
    return `svc-sdk-${version}.tgz`;
  }

  function billOfRelease(): string {
    const name = `svc-${version}-linux-${process.arch}.cdx.json`;
    const command = 'npm ci && npm run release';
    const from = provenanceOf(root, { command, builder: values.builder });
    const bill = withProvenance(billOfMaterials(), from);
    writeFileSync(join(folder, name), `${JSON.stringify(bill, null, 2)}\n`);
    return written(name);
  }

  function archive(tree: string, ending: string, name = `${tree}.${ending}`): string {
    run('chmod', '--recursive', 'u=rwX,go=rX', join(scratch, tree));
    run(
      ...['tar', '--sort=name', `--mtime=@${seconds}`, '--owner=0', '--group=0', '--numeric-owner'],
      ...['-I', compression.archive, '-C', scratch, '-cf', join(folder, name), tree],
    );
    return written(name);
  }
}

function assertSize(tree: string, bytesMax: number): void {
  const bytes = bytesOf(join(scratch, tree));
  process.stdout.write(`${tree}: ${(bytes / 1e6).toFixed(1)} MB unpacked\n`);
  if (bytes > bytesMax)
    throw new Error(`${tree} has ${bytes} bytes; at most ${bytesMax} are allowed`);
}

function written(name: string): string {
  process.stdout.write(`written ${join(folder, name)}\n`);
  return name;
}

function run(...[program = '', ...args]: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
