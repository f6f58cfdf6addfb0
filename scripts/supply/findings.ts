/**
 * Checks of the dependencies in `npm run verify`: each is pinned, has the digest of its content,
 * runs no code at install time, has its reason in docs/dependencies.md, and has a licence that
 * allows a provider's use of the service.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockedPackage, LockFile } from './lock-file.ts';

const EXACT_VERSION = /^\d+\.\d+\.\d+$/;

/** Licences of the packages of the running service, as written by them. */
const LICENSES = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
  // @bufbuild/protobuf; elkjs, which is used unchanged.
  '(Apache-2.0 AND BSD-3-Clause)',
  'EPL-2.0 OR GPL-3.0-or-later',
];

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

/** One sentence for each problem in the project in `folder`; empty if there is none. */
export function supplyFindings(folder: string): string[] {
  const text = (name: string) => readFileSync(join(folder, name), 'utf8');
  const manifest: Manifest = JSON.parse(text('package.json'));
  const lock = LockFile.read(folder);
  return [
    ...manifestFindings(manifest, text('docs/dependencies.md')),
    ...[...lock.packages.values()].flatMap((one) => lockFindings(one, manifest)),
    ...lock.runtimePackages().flatMap(licenseFindings),
  ];
}

function manifestFindings(manifest: Manifest, reasons: string): string[] {
  const { dependencies, optionalDependencies, devDependencies, allowScripts } = manifest;
  const findings: string[] = [];
  const mentioned = new Set(reasons.split(/[\s|,():;]+/));
  const direct = { ...dependencies, ...optionalDependencies, ...devDependencies };
  for (const [name, version] of Object.entries(direct)) {
    if (!EXACT_VERSION.test(version)) {
      findings.push(`package.json: ${name} is "${version}": pin one version, such as 1.2.3`);
    }
    // Type declarations belong to the package that they describe.
    const shortName = name.replace(/^@(?:connectrpc|bufbuild)\//, '');
    if (!name.startsWith('@types/') && !mentioned.has(name) && !mentioned.has(shortName)) {
      findings.push(`docs/dependencies.md: ${name} is missing: describe its purpose`);
    }
  }
  for (const [name, isAllowed] of Object.entries(allowScripts)) {
    if (isAllowed)
      findings.push(`package.json: ${name} may run a script at install; no package may`);
  }
  return findings;
}

function lockFindings(one: LockedPackage, { allowScripts }: Manifest): string[] {
  const findings: string[] = [];
  if (one.integrity?.startsWith('sha512-') !== true) {
    findings.push(`package-lock.json: ${one.path} has no SHA-512 digest`);
  }
  if (one.resolved !== undefined) {
    findings.push(`package-lock.json: ${one.path} has the address of its download: remove it`);
  }
  if (one.hasInstallScript && allowScripts[one.name] !== false) {
    findings.push(
      `package-lock.json: ${one.path} has an install script: refuse it in allowScripts if the ` +
        'package works without it, or use another package',
    );
  }
  return findings;
}

function licenseFindings({ path, license }: LockedPackage): string[] {
  if (license !== undefined && LICENSES.includes(license)) return [];
  return [
    `package-lock.json: ${path} has the licence ${license ?? '(none)'}: ` +
      'check whether a provider may ship it, then add it to scripts/supply/findings.ts',
  ];
}
