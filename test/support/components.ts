/**
 * Real components that some tests need. On a stranger's machine a missing one skips its tests and
 * says how to get it; in CI (`SVC_TEST_REQUIRE=all`) it fails them, so that nothing goes untested
 * unnoticed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
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
  'shared folder': {
    find: () => (existsSync(sharedFolder) ? sharedFolder : undefined),
    howToGet: 'it lies beside the checkout where the project is developed',
  },
  'vm-lab': {
    find: () => {
      const script = `${sharedFolder}/lab/vm-lab`;
      const ready = existsSync('/usr/sbin/libvirtd') && existsSync('/usr/bin/qemu-system-x86_64');
      return ready && existsSync(script) ? script : undefined;
    },
    howToGet: 'as root, run "vm-lab install" of the VM lab beside the checkout',
  },
} satisfies Record<string, Component>;

export type ComponentName = keyof typeof components;

/**
 * Path of a component. When it is missing: undefined after telling `t` to skip, or a failure
 * under `SVC_TEST_REQUIRE=all`. Callers return at once on undefined.
 */
export function requireComponent(
  t: { fail(message: string): unknown; skip(reason: string): unknown },
  name: ComponentName,
): string | undefined {
  const component = components[name];
  const path = component.find();
  if (path !== undefined) return path;
  const sentence = `needs ${name}: ${component.howToGet}`;
  if (process.env.SVC_TEST_REQUIRE === 'all') t.fail(sentence);
  else t.skip(sentence);
  return undefined;
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
