/**
 * A part of `prepare`, and with `--if-changed` of `npm start`: builds what the service runs from its
 * sources, the dashboard and the bundled program. Before a start it builds what has changed, so that
 * the service shows and runs what "git pull" fetched. If that fails, it starts with what there is.
 */
import process from 'node:process';
import { builtProgram } from '../bin/built-program.js';
import { buildDashboard, isCurrent } from './build-dashboard.mjs';
import { buildProgram } from './build-program.mjs';

const isBeforeStart = process.argv.includes('--if-changed');
try {
  if (!isBeforeStart || !isCurrent()) await buildDashboard();
} catch (error) {
  if (!isBeforeStart && !isWithoutEsbuild(error)) throw error;
  process.stderr.write(
    isWithoutEsbuild(error)
      ? 'The dashboard is not built, because esbuild is not installed (--omit=optional?): ' +
          'the service runs without its pages\n'
      : `The dashboard cannot be built: ${error.message}\n`,
  );
}
try {
  if (!isBeforeStart || builtProgram() === undefined) await buildProgram();
} catch (error) {
  if (!isBeforeStart && !isWithoutEsbuild(error)) throw error;
  process.stderr.write(
    isWithoutEsbuild(error)
      ? 'The program is not bundled, because esbuild is not installed: it runs from its sources\n'
      : `The program cannot be bundled, and runs from its sources: ${error.message}\n`,
  );
}

/** The native program is an optional dependency, and the service runs without it. */
function isWithoutEsbuild(error) {
  return error?.code === 'ERR_MODULE_NOT_FOUND' || /could not be found/.test(error?.message ?? '');
}
