/**
 * The software bill of materials of the running service: that of `npm sbom`, for a project without
 * development dependencies, because npm omits packages that a development dependency needs too.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly components?: readonly object[];
}

export interface BillOfMaterials {
  readonly components: readonly Component[];
}

/** Throws if this is not the pinned Node, whose parts it lists. */
export function billOfMaterials(): BillOfMaterials {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-sbom-'));
  try {
    // npm takes the name of the project from its folder.
    const folder = join(scratch, 'svc');
    mkdirSync(folder);
    const { devDependencies: _, ...manifest } = read('package.json');
    const lock = read('package-lock.json');
    delete lock.packages[''].devDependencies;
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
    const words = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'];
    const bill = JSON.parse(execFileSync('npm', words, { cwd: folder, encoding: 'utf8' }));
    return { ...bill, components: bill.components.map(withParts) };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function read(name: string) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

/** With the programs and libraries compiled into the package. */
function withParts(one: Component): Component {
  const components = Object.entries(partsOf(one)).map(([name, version]) => ({
    type: 'library',
    name,
    version,
    purl: `pkg:generic/${name}@${encodeURIComponent(version)}`,
  }));
  return components.length > 0 ? { ...one, components } : one;
}

function partsOf({ name, version }: Component): Readonly<Record<string, string>> {
  if (name === 'better-sqlite3') {
    const database = new Database(':memory:');
    const sqlite = database.prepare<[], string>('SELECT sqlite_version()').pluck().get() ?? '';
    database.close();
    return { sqlite };
  }
  if (!name.startsWith('node-linux-')) return {};
  if (version !== process.versions.node) {
    throw new Error(`This is Node ${process.versions.node}, not ${version}. Run "npm ci" first`);
  }
  // The version of Node itself and that of its native interface are not components.
  const { node: _node, modules: _modules, napi: _napi, ...parts } = process.versions;
  return Object.fromEntries(
    Object.entries(parts).filter((entry): entry is [string, string] => !!entry[1]),
  );
}
