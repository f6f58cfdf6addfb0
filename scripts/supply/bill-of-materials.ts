/**
 * The software bill of materials of the running service, as CycloneDX 1.6 JSON
 * (https://cyclonedx.org/docs/1.6/json/). It is made from the lock file, which has the digest of
 * every package: npm's own `npm sbom` omits packages that a development dependency needs too, and
 * tools that run `npm ls` omit the digests. The embedded parts of packages (SQLite; OpenSSL and
 * others in Node) are listed too, because most advisories are about them. The same lock file gives
 * the same bytes.
 */
import { createHash } from 'node:crypto';
import type { LockedPackage, LockFile } from './lock-file.ts';

export interface Component {
  readonly type: 'application' | 'library' | 'platform';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly scope?: 'required' | 'optional';
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
  readonly licenses?: readonly [
    { readonly license: { readonly id: string } } | { readonly expression: string },
  ];
  readonly components?: readonly Component[];
}

export interface BillOfMaterials {
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Programs and libraries compiled into packages, with names and versions. */
export interface Embedded {
  readonly sqlite: string;
  /** Like `process.versions` of the pinned Node. */
  readonly node: Readonly<Record<string, string>>;
}

export function billOfMaterials(lock: LockFile, embedded: Embedded): BillOfMaterials {
  const packages = lock.runtimePackages();
  const root = { ...identity(lock.root), type: 'application' } as const;
  const content = {
    metadata: { component: root },
    components: packages.map((one) => component(one, embedded)),
    dependencies: [lock.root, ...packages].map((one) => ({
      ref: reference(one),
      dependsOn: lock.dependenciesOf(one).map(reference).sort(),
    })),
  };
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${nameUuid(JSON.stringify(content))}`,
    version: 1,
    ...content,
  };
}

/** The path distinguishes two installed versions of one package. */
function reference({ name, version, path }: LockedPackage): string {
  return path === '' ? `${name}@${version}` : `${name}@${version} ${path}`;
}

function identity(one: LockedPackage) {
  const { name, version } = one;
  // The scope's @ is written as %40 (package-url specification, type npm).
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  return { 'bom-ref': reference(one), name, version, purl };
}

function component(one: LockedPackage, embedded: Embedded): Component {
  const isNode = /^node-linux-/.test(one.name);
  const inside = isNode
    ? embedded.node
    : one.name === 'better-sqlite3'
      ? { sqlite: embedded.sqlite }
      : {};
  const components = Object.entries(inside).map(([name, version]) => ({
    type: 'library' as const,
    'bom-ref': `${reference(one)} ${name}`,
    name,
    version,
    purl: `pkg:generic/${name}@${encodeURIComponent(version)}`,
  }));
  return {
    type: isNode ? 'platform' : 'library',
    ...identity(one),
    // One of the two Nodes is installed: that for the machine's processor.
    scope: one.os === undefined ? 'required' : 'optional',
    ...(one.integrity !== undefined && { hashes: [sha512(one.integrity)] }),
    ...(one.license !== undefined && { licenses: [license(one.license)] }),
    ...(components.length > 0 && { components }),
  };
}

/** An SPDX id, or an expression of several ids. */
function license(declared: string) {
  return declared.includes(' ') ? { expression: declared } : { license: { id: declared } };
}

function sha512(integrity: string) {
  const digest = Buffer.from(integrity.replace('sha512-', ''), 'base64');
  return { alg: 'SHA-512', content: digest.toString('hex') } as const;
}

/**
 * A UUID derived from the content (RFC 9562, version 8), so that the same content has the same
 * UUID.
 */
function nameUuid(content: string): string {
  const bytes = createHash('sha256').update(content).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
