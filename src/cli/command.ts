/**
 * What a command of `svc` is. A command takes its surroundings as an argument (environment, output,
 * signals) rather than reaching for the process, so that a test can run it whole.
 */
import type { ClientPorts } from './client/ports.ts';

/** A command: `svc <name> [arguments]`. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Text of `svc help <name>`. */
  readonly help: () => string;
  /** Text of `svc help <name> <action>`; undefined: it has no such action. */
  readonly helpOf?: (action: string) => string | undefined;
  /** Runs it; resolves to the exit code once it is over. */
  readonly run: (args: readonly string[], surroundings: Surroundings) => Promise<number>;
}

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** What a command may touch of its process. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Takes complete lines of the log; never waits for a slow reader. */
  readonly log: (line: string) => void;
  /** true: a person reads standard error, so logs are text rather than JSON lines. */
  readonly isTerminal: boolean;
  /** Calls `listener` on each such signal; returns its undo. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => () => void;
  /** Ends the process at once, for a second signal during a stop. */
  readonly exitNow: (code: number) => void;
  /** What client commands need beyond this; default: this process's own. */
  readonly client?: ClientPorts;
}

/** Exit codes: success, a fault while running, arguments or settings that will not do. */
export const EXIT_OK = 0;
export const EXIT_FAULT = 1;
export const EXIT_USAGE = 2;
