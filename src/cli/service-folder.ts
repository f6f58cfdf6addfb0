/** The service of this machine that a command is about: its data folder, and so its settings. */
import { lstatSync } from 'node:fs';
import { ConfigError, loadConfig } from '../platform/settings/config.ts';
import type { Settings } from '../platform/settings/settings.ts';
import type { Input, Option } from './client/arguments.ts';
import { UsageError } from './client/faults.ts';
import type { Surroundings } from './command.ts';

/** Of a service that was started by hand. */
const HERE = './data';
/** Of the unit, which the Debian package and `svc install` write. */
const INSTALLED = '/var/lib/svc';

export const dataOption: Option = {
  name: 'data',
  takes: 'FOLDER',
  help: `Data folder of the service; else SVC_DATA, ${HERE}, or where that is not there ${INSTALLED}`,
};

/**
 * Settings of the service whose data folder the flags, or else SVC_DATA, name. Where neither does and
 * there is no `./data`, of the installed service. Throws `ConfigError`.
 *
 * @param flags none, or `--data` with its value
 */
export function settingsOfService(
  flags: readonly string[],
  environment: Surroundings['environment'],
): Settings {
  const isSaid = flags.length > 0 || (environment.SVC_DATA ?? '').trim() !== '';
  const isInstalled = !isSaid && !exists(HERE) && exists(INSTALLED);
  return loadConfig(isInstalled ? ['--data', INSTALLED] : flags, environment).settings;
}

/** The same by the option `--data` of a command. Throws a `UsageError`. */
export function settingsAsked(input: Input, environment: Surroundings['environment']): Settings {
  const data = input.text('data');
  try {
    return settingsOfService(data === undefined ? [] : ['--data', data], environment);
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.problems.join('\n'));
    throw error;
  }
}

/** Not by where a link leads: behind that of a unit's own user others may not look. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
