/** `svc version`: this program's version and what it runs on, one line, for bug reports. */
import packageJson from '../../package.json' with { type: 'json' };
import { type Command, EXIT_OK } from '../cli/command.ts';

/** Version of the program, as in package.json. */
export const programVersion: string = packageJson.version;

export const versionCommand: Command = {
  name: 'version',
  summary: 'Print the version of the program and of Node',
  help: () => 'Usage: svc version\n',
  run: async (_args, { stdout }) => {
    stdout(`svc ${programVersion} (node ${process.versions.node}, ${process.platform})\n`);
    return EXIT_OK;
  },
};
