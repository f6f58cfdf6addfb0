/**
 * The program `svc`, as `bin/svc.js` starts it: hands the process's surroundings to the command.
 * Everything that decides is behind `runProgram`; a program that embeds the service imports
 * `service.ts` instead.
 */
import type { StopSignal, Surroundings } from './cli/command.ts';
import { runProgram } from './cli/program.ts';
import { standardErrorLines } from './platform/log.ts';

/** Runs the command line `argv` (without node and script); resolves to the exit code. */
export async function main(argv: string[]): Promise<number> {
  return runProgram(argv, processSurroundings());
}

function processSurroundings(): Surroundings {
  return {
    environment: process.env,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    log: standardErrorLines(),
    isTerminal: process.stderr.isTTY === true,
    isStdoutTerminal: process.stdout.isTTY === true,
    onSignal: (listener) => {
      const signals: StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
      for (const signal of signals) process.on(signal, listener);
      return () => {
        for (const signal of signals) process.off(signal, listener);
      };
    },
    exitNow: (code) => process.exit(code),
  };
}
