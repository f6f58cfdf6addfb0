/**
 * Real components that some tests need. On a stranger's machine a missing one skips its tests and
 * says how to get it; in CI (`SVC_TEST_REQUIRE=all`) it fails them, so that nothing goes untested
 * unnoticed.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmdirSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownNetwork } from './places.ts';

/** The folder of requirements, traces and the VM lab; absent in a stranger's clone. */
export const sharedFolder = fileURLToPath(new URL('../../../shared', import.meta.url));

/** Programs of newer suites of Debian, unpacked. */
const debianCache = process.env.DEBIAN_BIN_CACHE ?? `${homedir()}/.cache/debian-bin`;

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
  'nginx 1.22.1': debianProgram('nginx', 'bookworm', '1.22.1'),
  'nginx 1.26.3': debianProgram('nginx', 'trixie', '1.26.3'),
  'caddy 2.6.2': debianProgram('caddy', 'trixie', '2.6.2'),
  'caddy 2.11.4': debianProgram('caddy', 'forky', '2.11.4'),
  openssl: { find: () => onPath('openssl'), howToGet: 'install openssl, the package of Debian' },
  // Debian's build does not say its version.
  vmalert: {
    find: () =>
      [`${debianCache}/forky/victoria-metrics/usr/bin/vmalert`].find(existsSync) ??
      onPath('vmalert'),
    howToGet: 'install victoria-metrics, the package of Debian: tried with 1.145.0',
  },
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
  'network namespaces': {
    find: () => (hasOwnNetwork() ? onPath('unshare') : undefined),
    howToGet: 'install util-linux and iproute2, on a machine that lets you make network namespaces',
  },
  'systemd-analyze': {
    find: () => onPath('systemd-analyze'),
    howToGet: 'it comes with systemd: install the package of that name',
  },
  'systemd-nspawn': {
    find: () => (process.getuid?.() === 0 && canMount() ? onPath('systemd-nspawn') : undefined),
    howToGet: 'as root of a machine that may mount a tmpfs, install systemd-container and systemd',
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

let networkable: boolean | undefined;

function hasOwnNetwork(): boolean {
  const [program = '', ...args] = [...ownNetwork, 'true'];
  networkable ??= spawnSync(program, args, { stdio: 'ignore' }).status === 0;
  return networkable;
}

/** A program of the given version: `SVC_TEST_BIN_<NAME>_<VERSION>`, the cache, or the PATH. */
function debianProgram(name: string, suite: string, version: string): Component {
  const variable = `SVC_TEST_${`${name}_${version}`.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
  return {
    find: () => {
      const cached = ['usr/bin', 'usr/sbin'].map(
        (dir) => `${debianCache}/${suite}/${name}/${dir}/${name}`,
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
  // nginx says it on standard error; old Caddy knows the word alone.
  const flag = { nginx: '-v', caddy: 'version' }[basename(path)] ?? '--version';
  const { stdout, stderr } = spawnSync(path, [flag], { encoding: 'utf8', timeout: 5_000 });
  return `${stdout}${stderr}`.includes(version);
}
