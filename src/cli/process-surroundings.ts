/** The environment of a command that runs as its own process. */
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { SEQUENTIAL_ATTEMPT_MS } from '../platform/http/dial.ts';
import { standardErrorLines } from '../platform/log.ts';
import type { StopSignal, Surroundings } from './command.ts';

/** Also sets how long Node tries each address of a host, for every connection of the process. */
export function processSurroundings(): Surroundings {
  setDefaultAutoSelectFamilyAttemptTimeout(SEQUENTIAL_ATTEMPT_MS);
  return {
    environment: process.env,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    log: standardErrorLines(),
    isTerminal: process.stderr.isTTY === true,
    isStdoutTerminal: process.stdout.isTTY === true,
    stdoutColumns: process.stdout.columns,
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
