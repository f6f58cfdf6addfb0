/** `svc version`: this program's version and what it runs on, one line, for bug reports. */
import { programVersion } from '../platform/version.ts';
import { type Command, EXIT_OK } from './command.ts';

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version of the program and of Node',
  help: () => 'Usage: svc version\n',
  run: async (_args, { stdout }) => {
    stdout(`svc ${programVersion} (node ${process.versions.node}, ${process.platform})\n`);
    return EXIT_OK;
  },
};
