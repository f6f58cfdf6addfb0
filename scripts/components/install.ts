/**
 * Brings missing components: packages of this machine's suite by apt-get, programs of other suites
 * into the cache, and the image of the virtual machines. Existing components cost nothing.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Component,
  type ComponentName,
  componentCache,
  versionText,
} from '../../test/support/components.ts';
import { GUEST_PACKAGES, GUEST_SUITE, labImage, makeImage } from '../../test/support/lab/image.ts';
import { upstreamOf } from './apt-text.ts';
import { CannotInstall } from './cannot-install.ts';
import { moveInto, type Suites, unpackedVersion } from './suite.ts';

export type Say = (line: string) => void;
type Named = readonly [ComponentName, Component];

/**
 * Installs, with apt-get, the packages of this machine's suite that the components need. Throws
 * CannotInstall, e.g. for a user without the rights.
 */
export function installOnMachine(components: readonly Named[], say: Say): void {
  const packages = components.flatMap(([, { source, find }]) =>
    'packages' in source && find() === undefined ? source.packages : [],
  );
  const missing = [...new Set(packages)].filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const words = ['install', '--yes', '--no-install-recommends', ...missing];
  if (process.getuid?.() !== 0) {
    throw new CannotInstall(`Run this as root first: apt-get ${words.join(' ')}`);
  }
  say(`apt-get: installing ${missing.join(', ')}`);
  // The lists of packages may be missing or old.
  if (aptGet(words) === undefined) return;
  say('apt-get: updating the lists of packages');
  const failure = aptGet(['update']) ?? aptGet(words);
  if (failure !== undefined) throw new CannotInstall(`apt-get failed: ${failure}`);
}

/** Returns the output of apt-get if it fails. */
function aptGet(words: readonly string[]): string | undefined {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = ['-qq', '-oDPkg::Lock::Timeout=300'];
  const ran = spawnSync('apt-get', [...options, ...words], {
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return ran.status === 0 ? undefined : ran.stderr?.trim() || String(ran.error?.message);
}

function isInstalled(name: string): boolean {
  const { stdout } = spawnSync('dpkg', ['--status', name], { encoding: 'utf8' });
  return /^Status: \S+ ok installed$/m.test(stdout ?? '');
}

/**
 * Brings one component that apt-get has not brought, and reports it. Throws CannotInstall with the
 * reason if it is still missing. A newer version than the tests accept is kept and reported.
 */
export function bring([name, component]: Named, suites: () => Suites, say: Say): void {
  const { source, find, howToGet } = component;
  if (find() !== undefined) say(`${name}: here`);
  else if (source.kind === 'suite') bringProgram([name, component], suites(), say);
  else {
    if (source.kind === 'lab') bringImage(name, suites(), say);
    if (find() === undefined) throw new CannotInstall(`${name} is still missing: ${howToGet}`);
  }
}

function bringProgram([name, component]: Named, suites: Suites, say: Say): void {
  const { source, find, version: wanted, candidates } = component;
  if (source.kind !== 'suite') return;
  const place = join(componentCache, source.suite, source.package);
  say(`${name}: looking for ${source.package} in ${source.suite}`);
  const suite = suites.suite(source.suite);
  const version = suite.version(source.package, wanted);
  if (unpackedVersion(place) !== version) {
    say(`${name}: downloading ${version}`);
    suite.unpackWhole(source.package, version, place);
  }
  if (find() !== undefined) say(`${name}: unpacked into ${place}`);
  else if (wanted !== undefined && upstreamOf(version) !== wanted) {
    say(`${name}: ${source.suite} has ${version}. Tests that need ${wanted} are skipped`);
  } else {
    const [program] = candidates?.() ?? [];
    const said = program === undefined ? 'the package has no such program' : versionText(program);
    throw new CannotInstall(`${name} does not run on this machine: ${said.trim() || program}`);
  }
}

function bringImage(name: string, suites: Suites, say: Say): void {
  const image = labImage(componentCache);
  if (existsSync(image)) return;
  say(`${name}: downloading the guests' kernel, agent and shell from ${GUEST_SUITE}`);
  const suite = suites.suite(GUEST_SUITE);
  const unpacked = mkdtempSync(join(suites.folder, 'guest-'));
  for (const named of GUEST_PACKAGES) {
    // The kernel's package is empty, and depends on that of its newest version.
    const isKernel = named.startsWith('linux-image-');
    const real = isKernel
      ? suite.dependencies(named).find((one) => one.startsWith('linux-image-'))
      : named;
    if (real === undefined) throw new CannotInstall(`${GUEST_SUITE} has no kernel for ${named}`);
    suite.unpack(real, suite.version(real), unpacked);
  }
  const made = join(suites.folder, 'image');
  mkdirSync(made);
  makeImage(unpacked, made);
  moveInto(made, image);
  say(`${name}: image made in ${image}`);
}
