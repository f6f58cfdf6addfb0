/** The service on this machine that a command addresses: its data folder and thus its settings. */
import { lstatSync } from 'node:fs';
import { ConfigError, loadConfig } from '../platform/settings/config.ts';
import type { Settings } from '../platform/settings/settings.ts';
import type { Input, Option } from './client/arguments.ts';
import { UsageError } from './client/faults.ts';
import type { Surroundings } from './command.ts';

/** Data folder of a service started by hand. */
const HERE = './data';
/** Data folder of the unit written by the Debian package and `svc install`. */
const INSTALLED = '/var/lib/svc';

export const dataOption: Option = {
  name: 'data',
  takes: 'FOLDER',
  help: `Data folder of the service; default: SVC_DATA, or ${HERE} if it exists, or ${INSTALLED}`,
};

/**
 * Settings of the service whose data folder is given by the flags, or else by SVC_DATA. If neither
 * is given and there is no `./data`, those of the installed service. Throws `ConfigError`.
 *
 * @param flags empty, or `--data` with its value
 */
export function settingsOfService(
  flags: readonly string[],
  environment: Surroundings['environment'],
): Settings {
  const isSaid = flags.length > 0 || (environment.SVC_DATA ?? '').trim() !== '';
  const isInstalled = !isSaid && !exists(HERE) && exists(INSTALLED);
  return loadConfig(isInstalled ? ['--data', INSTALLED] : flags, environment).settings;
}

/** The same for the option `--data` of a command. Throws a `UsageError`. */
export function requestedSettings(
  input: Input,
  environment: Surroundings['environment'],
): Settings {
  const data = input.text('data');
  try {
    return settingsOfService(data === undefined ? [] : ['--data', data], environment);
  } catch (error) {
    if (error instanceof ConfigError) throw new UsageError(error.problems.join('\n'));
    throw error;
  }
}

/** Does not follow a link: the target may belong to the unit's user and be inaccessible. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
