/** Version of the program, as in package.json. */
import packageJson from '../../package.json' with { type: 'json' };

export const programVersion: string = packageJson.version;
