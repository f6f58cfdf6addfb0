/**
 * The npm lock file as a graph: the installed packages, and those that the running service needs.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The part of a lock file entry that is read here (package-lock-json(5), version 3). */
export interface LockedPackage {
  readonly name: string;
  /** Folder below the project, such as node_modules/ajv/node_modules/fast-uri. */
  readonly path: string;
  readonly version: string;
  /** Absent: other content under the same version would not be detected. */
  readonly integrity?: string;
  /** Address of its download. The project's lock file has none. */
  readonly resolved?: string;
  readonly license?: string;
  /** Operating systems that it supports; absent: all. */
  readonly os?: string | readonly string[];
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Kinds of dependencies that npm installs without `--include dev`. */
const RUNTIME = ['dependencies', 'optionalDependencies', 'peerDependencies'] as const;

export class LockFile {
  readonly root: LockedPackage;
  /** Every package except the project itself, by path. */
  readonly packages: ReadonlyMap<string, LockedPackage>;

  private constructor(root: LockedPackage, packages: ReadonlyMap<string, LockedPackage>) {
    this.root = root;
    this.packages = packages;
  }

  /**
   * Reads the lock file of the project in `folder`. Throws if there is none, or one of another
   * version.
   */
  static read(folder: string): LockFile {
    const { lockfileVersion, packages } = JSON.parse(
      readFileSync(join(folder, 'package-lock.json'), 'utf8'),
    );
    if (lockfileVersion !== 3) {
      throw new Error(
        `package-lock.json has version ${lockfileVersion}; only version 3 can be read`,
      );
    }
    const all = new Map<string, LockedPackage>();
    for (const [path, entry] of Object.entries<Omit<LockedPackage, 'path'>>(packages)) {
      all.set(path, { ...entry, path, name: entry.name ?? path.replace(/^.*node_modules\//, '') });
    }
    const root = all.get('');
    if (root === undefined) throw new Error('package-lock.json does not describe the project');
    all.delete('');
    return new LockFile(root, all);
  }

  /** The packages that resolve a package's dependencies; optional ones may be missing. */
  dependenciesOf(from: LockedPackage): LockedPackage[] {
    const names = RUNTIME.flatMap((kind) => Object.keys(from[kind] ?? {}));
    return [...new Set(names)].flatMap((name) => this.#resolve(from.path, name) ?? []);
  }

  /** The packages of the running service, sorted by path, without development dependencies. */
  runtimePackages(): LockedPackage[] {
    const found = new Set<LockedPackage>();
    const open = this.dependenciesOf(this.root);
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (found.has(one)) continue;
      found.add(one);
      open.push(...this.dependenciesOf(one));
    }
    return [...found].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Node's own rule: the nearest node_modules on the way up. */
  #resolve(from: string, name: string): LockedPackage | undefined {
    const folders = from === '' ? [] : from.replace('node_modules/', '').split('/node_modules/');
    for (let depth = folders.length; depth >= 0; depth--) {
      const path = ['', ...folders.slice(0, depth), name].join('/node_modules/').slice(1);
      const found = this.packages.get(path);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}
