/** The environment of a command that runs as its own process. */
import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { SEQUENTIAL_ATTEMPT_MS } from '../platform/http/dial.ts';
import { standardErrorLines } from '../platform/log.ts';
import { EXIT_FAULT, type StopSignal, type Surroundings } from './command.ts';

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
    onReaderGone: watchOutput(),
    exitNow: (code) => process.exit(code),
  };
}

/**
 * Handles failed writes, which otherwise end the process with a stack. A reader that has exited is
 * not a fault, and a full disk is one that a sentence describes.
 */
function watchOutput(): NonNullable<Surroundings['onReaderGone']> {
  const listeners: (() => void)[] = [];
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') {
      for (const listener of listeners) listener();
      return;
    }
    process.stderr.write(`Standard output could not be written: ${error.message}\n`);
    process.exit(EXIT_FAULT);
  });
  // Nothing is left to report to.
  process.stderr.on('error', () => {});
  return (listener) => void listeners.push(listener);
}
