/**
 * A suite of Debian, newer or older than that of this machine, from the mirror in apt's configuration.
 * Its lists are in a folder of their own, so this machine's apt neither sees nor installs its packages;
 * they are downloaded, checked by Debian's signature, and unpacked. No rights are needed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { chooseVersion, dependenciesOf, mirrorOf, versionsOf } from './apt-text.ts';
import { CannotInstall } from './cannot-install.ts';

const keyrings = ['gpg', 'pgp'].map(
  (ending) => `/usr/share/keyrings/debian-archive-keyring.${ending}`,
);
/** File of a completely unpacked folder; it contains the version of Debian's package. */
const COMPLETE = '.complete';

/** Opens suites when they are first needed. Closing removes their lists. */
export class Suites implements Disposable {
  /** Temporary, on the file system of the cache. */
  readonly folder: string;
  readonly #opened = new Map<string, Suite>();

  /** @param cache existing folder, on the file system to which packages are unpacked */
  constructor(cache: string) {
    this.folder = mkdtempSync(join(cache, '.apt-'));
  }

  /** Throws CannotInstall if the mirror cannot be read. */
  suite(name: string): Suite {
    const suite = this.#opened.get(name) ?? new Suite(name, join(this.folder, name));
    this.#opened.set(name, suite);
    return suite;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

class Suite {
  readonly #name: string;
  readonly #folder: string;
  readonly #options: readonly string[];

  constructor(name: string, folder: string) {
    this.#name = name;
    this.#folder = folder;
    const options = aptOptions(folder);
    const sources = join(folder, 'sources.list');
    const address = mirror(join(folder, 'machine'));
    writeFileSync(sources, `deb [signed-by=${keyring()}] ${address} ${name} main\n`);
    this.#options = [
      '-qq',
      ...options,
      `-oDir::Etc::SourceList=${sources}`,
      '-oDir::Etc::SourceParts=/dev/null',
    ];
    this.#apt('apt-get', 'update');
  }

  /** Packages that a package depends on. */
  dependencies(name: string): string[] {
    return dependenciesOf(this.#apt('apt-cache', 'depends', name));
  }

  /** The version of a package to install. Throws CannotInstall if the suite does not have it. */
  version(name: string, wanted?: string): string {
    const version = chooseVersion(versionsOf(this.#apt('apt-cache', 'madison', name)), wanted);
    if (version !== undefined) return version;
    throw new CannotInstall(`Debian's suite ${this.#name} has no package ${name}`);
  }

  /** Unpacks a version of a package into a folder, which it makes. */
  unpack(name: string, version: string, folder: string): void {
    const downloads = mkdtempSync(join(this.#folder, 'download-'));
    this.#apt('apt-get', { cwd: downloads }, 'download', `${name}=${version}`);
    const [archive] = globSync('*.deb', { cwd: downloads });
    if (archive === undefined) throw new CannotInstall(`apt-get downloaded no package ${name}`);
    execFileSync('dpkg-deb', ['--extract', join(downloads, archive), folder]);
    rmSync(downloads, { recursive: true });
  }

  /**
   * Unpacks a version of a package into a folder of the cache. The folder is complete whenever it
   * exists, because another program may use it at the same time, or unpack the same.
   */
  unpackWhole(name: string, version: string, folder: string): void {
    const whole = mkdtempSync(join(this.#folder, 'whole-'));
    this.unpack(name, version, whole);
    writeFileSync(join(whole, COMPLETE), `${version}\n`);
    moveInto(whole, folder);
  }

  #apt(program: string, ...words: (string | { readonly cwd: string })[]): string {
    const cwd = words.find((word) => typeof word === 'object')?.cwd ?? this.#folder;
    const named = words.filter((word) => typeof word === 'string');
    const ran = spawnSync(program, [...this.#options, ...named], { cwd, encoding: 'utf8' });
    if (ran.status === 0) return ran.stdout;
    const said = ran.stderr.trim() || ran.error?.message;
    throw new CannotInstall(`"${program} ${named.join(' ')}" for ${this.#name} failed: ${said}`);
  }
}

/** The version of the package that was unpacked into a folder; undefined if it is incomplete. */
export function unpackedVersion(folder: string): string | undefined {
  const file = join(folder, COMPLETE);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
}

/** Moves a folder to its place and replaces an existing one. */
export function moveInto(folder: string, place: string): void {
  mkdirSync(dirname(place), { recursive: true });
  if (existsSync(place)) renameSync(place, `${folder}.replaced`);
  renameSync(folder, place);
}

/**
 * The mirror that this machine uses. Apt knows it only if it has lists of packages, which a new
 * container lacks; they are then read into `folder`.
 */
function mirror(folder: string): string {
  const apt = (...words: string[]): string =>
    spawnSync('apt-get', ['-qq', ...words], { encoding: 'utf8' }).stdout ?? '';
  const known = mirrorOf(apt('indextargets'));
  if (known !== undefined) return known;
  const options = aptOptions(folder);
  apt(...options, 'update');
  const found = mirrorOf(apt(...options, 'indextargets'));
  if (found !== undefined) return found;
  throw new CannotInstall(
    'No Debian mirror is in the configuration of apt. On another system, install the programs and ' +
      'name them: "npm run components" shows the variables',
  );
}

/** Options for lists and downloads in a folder, which is made, instead of those of this machine. */
function aptOptions(folder: string): string[] {
  for (const part of ['lists/partial', 'archives/partial']) {
    mkdirSync(join(folder, part), { recursive: true });
  }
  return [
    `-oDir::State::Lists=${join(folder, 'lists')}`,
    `-oDir::Cache=${folder}`,
    '-oAcquire::Languages=none',
    // As root, apt downloads as another user, who cannot write to these folders.
    '-oAPT::Sandbox::User=root',
  ];
}

function keyring(): string {
  const found = keyrings.find(existsSync);
  if (found !== undefined) return found;
  throw new CannotInstall("Debian's keys are missing: install the package debian-archive-keyring");
}
