/**
 * The program of the composite action: only `svc auth ci`. `npm run generate` bundles it with its
 * dependencies into `action/exchange.cjs`, so that a job installs nothing.
 */
import { processSurroundings } from '../process-surroundings.ts';
import { authCommand } from './auth.ts';

void authCommand.run(process.argv.slice(2), processSurroundings()).then((code) => {
  process.exitCode = code;
});
