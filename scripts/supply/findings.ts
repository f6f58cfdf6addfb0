/**
 * Checks of the dependencies in `npm run verify`: each is pinned, has the digest of its content,
 * runs no code at install time, has its reason in docs/dependencies.md, and is under a licence that
 * allows what a provider does with the service.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockedPackage, LockFile } from './lock-file.ts';

const EXACT_VERSION = /^\d+\.\d+\.\d+$/;

/** Of packages that the running service consists of, as they write it. */
const LICENSES = [
  ...['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'MIT-0', 'Unlicense'],
  // @bufbuild/protobuf; elkjs, which is used unchanged.
  ...['(Apache-2.0 AND BSD-3-Clause)', 'EPL-2.0 OR GPL-3.0-or-later'],
];

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

/** One sentence for each thing to mend, in the project in `folder`; empty when there is none. */
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
      findings.push(`docs/dependencies.md: ${name} is missing: write what it is for`);
    }
  }
  for (const [name, isAllowed] of Object.entries(allowScripts)) {
    if (isAllowed) findings.push(`package.json: ${name} may run a script at install: nothing may`);
  }
  return findings;
}

function lockFindings(one: LockedPackage, { allowScripts }: Manifest): string[] {
  const findings: string[] = [];
  if (one.integrity?.startsWith('sha512-') !== true) {
    findings.push(`package-lock.json: ${one.path} has no SHA-512 digest`);
  }
  if (one.resolved !== undefined) {
    findings.push(`package-lock.json: ${one.path} names the address it came from: remove it`);
  }
  if (one.hasInstallScript && allowScripts[one.name] !== false) {
    findings.push(
      `package-lock.json: ${one.path} has an install script: refuse it in allowScripts if the ` +
        'package works without it, or take another package',
    );
  }
  return findings;
}

function licenseFindings({ path, license }: LockedPackage): string[] {
  if (license !== undefined && LICENSES.includes(license)) return [];
  return [
    `package-lock.json: ${path} has the licence ${license ?? '(none)'}: ` +
      'see whether a provider may ship it, then add it to scripts/supply/findings.ts',
  ];
}
