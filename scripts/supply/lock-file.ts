/** The npm lock file as a graph: what is installed, and what the running service needs of it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An entry of the lock file, as far as it is read here (package-lock-json(5), version 3). */
export interface LockedPackage {
  readonly name: string;
  /** Folder below the project, such as node_modules/ajv/node_modules/fast-uri. */
  readonly path: string;
  readonly version: string;
  /** Absent: nothing would notice another content under the same version. */
  readonly integrity?: string;
  /** Address it came from. The project's lock file has none. */
  readonly resolved?: string;
  readonly license?: string;
  /** Operating systems it is for; absent: all. */
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
  /** Every package but the project itself, by path. */
  readonly packages: ReadonlyMap<string, LockedPackage>;

  private constructor(root: LockedPackage, packages: ReadonlyMap<string, LockedPackage>) {
    this.root = root;
    this.packages = packages;
  }

  /** Of the project in `folder`. Throws when there is none, or one of another version. */
  static read(folder: string): LockFile {
    const { lockfileVersion, packages } = JSON.parse(
      readFileSync(join(folder, 'package-lock.json'), 'utf8'),
    );
    if (lockfileVersion !== 3) {
      throw new Error(`package-lock.json has version ${lockfileVersion}: version 3 can be read`);
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

  /** What a package finds when it requires its dependencies; optional ones may be missing. */
  dependenciesOf(from: LockedPackage): LockedPackage[] {
    const names = RUNTIME.flatMap((kind) => Object.keys(from[kind] ?? {}));
    return [...new Set(names)].flatMap((name) => this.#resolve(from.path, name) ?? []);
  }

  /** What the running service is made of, sorted by path: no development dependency. */
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
