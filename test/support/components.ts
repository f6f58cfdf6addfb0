/**
 * Real components that some tests need. On a stranger's machine a missing one skips its tests and
 * says how to get it; in CI (`SVC_TEST_REQUIRE=all`) it fails them, so that nothing goes untested
 * unnoticed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of requirements, traces and the VM lab; absent in a stranger's clone. */
export const sharedFolder = fileURLToPath(new URL('../../../shared', import.meta.url));

interface Component {
  /** Absolute path, or undefined when it is not here. */
  readonly find: () => string | undefined;
  readonly howToGet: string;
}

const components = {
  'nats-server 2.10.27': debianProgram('nats-server', 'trixie', '2.10.27'),
  'nats-server 2.15.1': debianProgram('nats-server', 'forky', '2.15.1'),
  'prometheus 3.5.3': debianProgram('prometheus', 'forky', '3.5.3'),
  'promtool 3.5.3': debianProgram('promtool', 'forky', '3.5.3'),
  // The shell draws nothing that only a window shows: a fifth less work for the same pages.
  chromium: {
    find: () => onPath('chromium-headless-shell') ?? onPath('chromium'),
    howToGet: 'install chromium-headless-shell, or chromium, the packages of Debian',
  },
  curl: { find: () => onPath('curl'), howToGet: 'install curl' },
  go: {
    find: () => onPath('go'),
    howToGet: 'install golang-go, the package of Debian, or Go 1.19 or newer',
  },
  script: { find: () => onPath('script'), howToGet: 'install script, of bsdutils or util-linux' },
  'shared folder': {
    find: () => (existsSync(sharedFolder) ? sharedFolder : undefined),
    howToGet: 'it lies beside the checkout where the project is developed',
  },
  'tmpfs mounts': {
    find: () => (process.getuid?.() === 0 && canMount() ? '/usr/bin/mount' : undefined),
    howToGet: 'run the tests as root of a machine (or container) that may mount a tmpfs',
  },
  'systemd-analyze': {
    find: () => onPath('systemd-analyze'),
    howToGet: 'it comes with systemd: install the package of that name',
  },
  'vm-lab': {
    find: () => {
      const script = `${sharedFolder}/lab/vm-lab`;
      const isRoot = process.getuid?.() === 0;
      const ready =
        isRoot && existsSync('/usr/sbin/libvirtd') && existsSync('/usr/bin/qemu-system-x86_64');
      return ready && existsSync(script) ? script : undefined;
    },
    howToGet: 'as root, run "vm-lab install" of the VM lab beside the checkout',
  },
} satisfies Record<string, Component>;

export type ComponentName = keyof typeof components;

/**
 * Options of a test that needs components: `t.test('...', needs('nats-server 2.15.1'), ...)`.
 * Empty when all are here, and under `SVC_TEST_REQUIRE=all`, where the test then fails in
 * `componentPath`; otherwise a reason to skip that says how to get the first missing one.
 */
export function needs(...names: ComponentName[]): { skip?: string } {
  if (process.env.SVC_TEST_REQUIRE === 'all') return {};
  const missing = names.find((name) => components[name].find() === undefined);
  return missing === undefined ? {} : { skip: sentenceFor(missing) };
}

/** Path of a component. Throws, with how to get it, when it is missing. */
export function componentPath(name: ComponentName): string {
  const path = components[name].find();
  if (path === undefined) throw new Error(sentenceFor(name));
  return path;
}

function sentenceFor(name: ComponentName): string {
  return `needs ${name}: ${components[name].howToGet}`;
}

/** Asked once, by doing it: a container's root often may not. */
let mountable: boolean | undefined;

function canMount(): boolean {
  if (mountable !== undefined) return mountable;
  const folder = mkdtempSync(join(tmpdir(), 'svc-mount-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'svc-test', folder], {
      stdio: 'ignore',
    });
    execFileSync('umount', [folder], { stdio: 'ignore' });
    mountable = true;
  } catch {
    mountable = false;
  } finally {
    rmdirSync(folder);
  }
  return mountable;
}

/** A program of the given version: `SVC_TEST_BIN_<NAME>_<VERSION>`, the cache, or the PATH. */
function debianProgram(name: string, suite: string, version: string): Component {
  const variable = `SVC_TEST_${`${name}_${version}`.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
  const cache = process.env.DEBIAN_BIN_CACHE ?? `${homedir()}/.cache/debian-bin`;
  return {
    find: () => {
      const cached = ['usr/bin', 'usr/sbin'].map(
        (dir) => `${cache}/${suite}/${name}/${dir}/${name}`,
      );
      const candidates = [process.env[variable], ...cached, onPath(name)];
      return candidates.find((path) => path && existsSync(path) && hasVersion(path, version));
    },
    howToGet: `install ${name} ${version} and name it in ${variable}`,
  };
}

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(':');
  return folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path));
}

function hasVersion(path: string, version: string): boolean {
  return execFileSync(path, ['--version'], { encoding: 'utf8', timeout: 5_000 }).includes(version);
}
