/**
 * The program `svc`, as `bin/svc.js` starts it: hands the process's surroundings to the command.
 * All logic is in `runProgram`; a program that embeds the service imports
 * `service.ts` instead.
 */
import { processSurroundings } from './cli/process-surroundings.ts';
import { runProgram } from './cli/program.ts';

/** Runs the command line `argv` (without node and script); resolves to the exit code. */
export async function main(argv: string[]): Promise<number> {
  return runProgram(argv, processSurroundings());
}
