/**
 * The program of the composite action: `svc auth ci` alone. `npm run generate` bundles it, with all
 * that it needs, into the one file `action/exchange.cjs`, so that a job installs nothing.
 */
import { processSurroundings } from '../process-surroundings.ts';
import { authCommand } from './auth.ts';

void authCommand.run(process.argv.slice(2), processSurroundings()).then((code) => {
  process.exitCode = code;
});
