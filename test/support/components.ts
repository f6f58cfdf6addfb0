/**
 * Real components that tests need: programs of Debian, virtual machines, rights on this machine. This
 * table is the only list of them: `npm run components` shows and installs its rows. A missing component
 * skips its tests with a reason; `SVC_TEST_REQUIRE` makes them fail instead (see `isRequired`).
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HOST_PACKAGES, hasHostPrograms, labImage } from './lab/image.ts';
import { ownNetwork } from './places.ts';

/** Folder of traces and conformance suites; a clone does not have it, so only `componentPath` returns it. */
const sharedFolder = fileURLToPath(new URL('../../../shared', import.meta.url));

/** Folder of unpacked programs: `SUITE/PACKAGE/usr/bin/...`. */
export const componentCache = process.env.DEBIAN_BIN_CACHE ?? `${homedir()}/.cache/debian-bin`;

/** Origin of a component, which determines how it is installed. */
export type Source =
  /** Package of a Debian suite, unpacked into the cache and not installed. */
  | { readonly kind: 'suite'; readonly package: string; readonly suite: string }
  /** Packages of this machine's own suite, installed by apt-get. */
  | { readonly kind: 'machine'; readonly packages: readonly string[] }
  /** Packages as above, and the image of the virtual machines. */
  | { readonly kind: 'lab'; readonly packages: readonly string[] }
  /** It cannot be installed. */
  | { readonly kind: 'none' };

export interface Component {
  readonly source: Source;
  /** Absolute path, or undefined if it is missing. */
  readonly find: () => string | undefined;
  /** Completes the sentence `needs NAME: ...`. */
  readonly howToGet: string;
  /** Only version that is accepted, if it is fixed. */
  readonly version?: string;
  /** Absolute paths of programs of this name in any version, best first. */
  readonly candidates?: () => readonly string[];
}

const components = {
  'nats-server 2.10.27': unpacked({ program: 'nats-server', suite: 'trixie', version: '2.10.27' }),
  'nats-server 2.15.1': unpacked({ program: 'nats-server', suite: 'forky', version: '2.15.1' }),
  'prometheus 3.5.3': unpacked({ program: 'prometheus', suite: 'forky', version: '3.5.3' }),
  'promtool 3.5.3': unpacked({ program: 'promtool', suite: 'forky', version: '3.5.3' }),
  'nginx 1.22.1': unpacked({ program: 'nginx', suite: 'bookworm', version: '1.22.1' }),
  'nginx 1.26.3': unpacked({ program: 'nginx', suite: 'trixie', version: '1.26.3' }),
  'caddy 2.6.2': unpacked({ program: 'caddy', suite: 'trixie', version: '2.6.2' }),
  'caddy 2.11.4': unpacked({ program: 'caddy', suite: 'forky', version: '2.11.4' }),
  // Debian's builds of these three do not print their version. Tested with 1.145.0.
  vmalert: unpacked({ program: 'vmalert', suite: 'forky', package: 'victoria-metrics' }),
  vmagent: unpacked({ program: 'vmagent', suite: 'forky', package: 'victoria-metrics' }),
  'victoria-metrics': unpacked({ program: 'victoria-metrics', suite: 'forky' }),
  // Tested with 0.33.1.
  'prometheus-alertmanager': unpacked({ program: 'prometheus-alertmanager', suite: 'forky' }),
  openssl: installed('openssl', ['openssl']),
  // The shell renders no window, which takes a fifth less CPU for the same pages.
  chromium: installed('chromium', ['chromium-headless-shell', 'chromium']),
  curl: installed('curl', ['curl']),
  go: installed('go', ['go'], ['golang-go']),
  script: installed('script', ['script'], ['bsdutils']),
  // A library that programs are started with: it shifts their calendar clock.
  libfaketime: {
    source: { kind: 'machine', packages: ['libfaketime'] },
    find: () => globSync('/usr/lib/*/faketime/libfaketime.so.1')[0],
    howToGet: `as root, run "${commandFor('libfaketime')}"`,
  },
  strip: installed('strip', ['strip'], ['binutils']),
  dpkg: installed('dpkg', ['dpkg']),
  'systemd-analyze': installed('systemd-analyze', ['systemd-analyze'], ['systemd']),
  'systemd-nspawn': {
    source: { kind: 'machine', packages: ['systemd-container', 'systemd'] },
    find: () => (mayMount() ? onPath('systemd-nspawn') : undefined),
    howToGet: `as root of a machine that may mount a tmpfs, run "${commandFor('systemd-nspawn')}"`,
  },
  'tmpfs mounts': {
    source: { kind: 'none' },
    find: () => (mayMount() ? '/usr/bin/mount' : undefined),
    howToGet: 'run the tests as root of a machine (or container) that may mount a tmpfs',
  },
  'network-namespaces': {
    source: { kind: 'machine', packages: ['util-linux', 'iproute2'] },
    find: () => (hasOwnNetwork() ? onPath('unshare') : undefined),
    howToGet: `on a machine that allows network namespaces, run "${commandFor('network-namespaces')}" as root`,
  },
  'vm-lab': {
    source: { kind: 'lab', packages: HOST_PACKAGES },
    find: () => {
      const isReady = mayMount() && hasHostPrograms() && existsSync(labImage(componentCache));
      return isReady ? labImage(componentCache) : undefined;
    },
    howToGet: `as root of a machine that may mount a tmpfs, run "${commandFor('vm-lab')}"`,
  },
  'shared folder': {
    source: { kind: 'none' },
    find: () => [sharedFolder].find(existsSync),
    howToGet: 'a folder of requirements and traces beside the checkout; a clone works without it',
  },
} satisfies Record<string, Component>;

export type ComponentName = keyof typeof components;

/** Every component by its name, in the order of the table. */
export const componentTable: ReadonlyMap<ComponentName, Component> = new Map(
  Object.entries(components) as [ComponentName, Component][],
);

/**
 * Options of a test that needs components: `test('...', needs('nats-server 2.15.1'), ...)`. Empty
 * if all are present, or if the missing ones are required: the test then fails in `componentPath`.
 * Otherwise a reason to skip, with instructions for the first missing one.
 */
export function needs(...names: ComponentName[]): { skip?: string } {
  const missing = names.find((name) => !isRequired(name) && components[name].find() === undefined);
  return missing === undefined ? {} : { skip: sentenceFor(missing) };
}

/**
 * True if tests fail without a component. `SVC_TEST_REQUIRE=all` requires every component, and
 * `SVC_TEST_REQUIRE=components` all but the shared folder, which a clone does not have.
 */
function isRequired(name: ComponentName): boolean {
  const required = process.env.SVC_TEST_REQUIRE;
  return required === 'all' || (required === 'components' && name !== 'shared folder');
}

/** Path of an optional component; undefined if it is missing. */
export function optionalPath(name: ComponentName): string | undefined {
  return components[name].find();
}

/** Path of a component. Throws with instructions if it is missing. */
export function componentPath(name: ComponentName): string {
  const path = components[name].find();
  if (path === undefined) throw new Error(sentenceFor(name));
  return path;
}

function sentenceFor(name: ComponentName): string {
  return `needs ${name}: ${components[name].howToGet}`;
}

/** Tried once, because root of a container often may not mount. */
let mountable: boolean | undefined;

function mayMount(): boolean {
  if (process.getuid?.() !== 0) return false;
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

interface Unpacked {
  readonly program: string;
  readonly suite: string;
  readonly version?: string;
  /** Default: the program's name. */
  readonly package?: string;
}

/** A program of a suite, from `SVC_TEST_<NAME>_<VERSION>`, else the cache, else the PATH. */
function unpacked({ program, suite, version, package: name = program }: Unpacked): Component {
  const words = version === undefined ? program : `${program}_${version}`;
  const variable = `SVC_TEST_${words.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
  const candidates = (): string[] => {
    const cached = ['usr/bin', 'usr/sbin'].map((folder) =>
      join(componentCache, suite, name, folder, program),
    );
    const paths = [process.env[variable], ...cached, onPath(program)];
    return paths.filter((path): path is string => path !== undefined && existsSync(path));
  };
  return {
    source: { kind: 'suite', package: name, suite },
    candidates,
    find: () => candidates().find((path) => version === undefined || hasVersion(path, version)),
    howToGet: `run "${commandFor(program)}", or name it in ${variable}`,
    ...(version === undefined ? {} : { version }),
  };
}

/** Any of `programs` on the PATH; `packages` install the first of them. */
function installed(
  name: string,
  programs: readonly string[],
  packages: readonly string[] = programs.slice(0, 1),
): Component {
  const candidates = (): string[] =>
    programs.map(onPath).filter((path): path is string => path !== undefined);
  return {
    source: { kind: 'machine', packages },
    candidates,
    find: () => candidates()[0],
    howToGet: `run "${commandFor(name)}" as root`,
  };
}

function commandFor(name: string): string {
  return `npm run components -- install ${name}`;
}

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(':');
  return folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path));
}

/** Outputs of programs that were run, by path and time of change: many tests ask for the same few. */
const versionTexts = new Map<string, string>();

function hasVersion(path: string, version: string): boolean {
  const program = `${path} ${statSync(path).mtimeMs}`;
  const text = versionTexts.get(program) ?? versionText(path);
  versionTexts.set(program, text);
  return text.includes(version);
}

/** Version output of a program; empty if it does not run. */
export function versionText(path: string): string {
  // Debian's builds of VictoriaMetrics print their help for any of these words.
  const words = { caddy: 'version', go: 'version', nginx: '-v', openssl: 'version' };
  const word = words[basename(path) as keyof typeof words] ?? '--version';
  const { stdout, stderr } = spawnSync(path, [word], { encoding: 'utf8', timeout: 600_000 });
  // nginx prints it to standard error.
  return `${stdout ?? ''}${stderr ?? ''}`;
}
