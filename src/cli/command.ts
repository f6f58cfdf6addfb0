/**
 * A command of `svc` and its surroundings. A command takes environment, output and signals as an
 * argument and never reaches for the process, so that a test can run it whole.
 */
import type { Clock } from '../../streams/platform/clock.ts';
import type { Random } from '../../streams/platform/random.ts';

/** A command: `svc <name> [arguments]`. */
export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Text of `svc help <name>`. */
  readonly help: () => string;
  /** Text of `svc help <name> <action>`; undefined: it has no such action. */
  readonly helpOf?: (action: string) => string | undefined;
  /** What to print instead for an action that there is not; undefined: there is one, or none is needed. */
  readonly misnamed?: (action: string) => string | undefined;
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
  /** true: a person reads standard output; default: nobody knows who does. */
  readonly isStdoutTerminal?: boolean;
  /** Width of that terminal; default: 80. */
  readonly stdoutColumns?: number | undefined;
  /** Calls `listener` on each such signal; returns its undo. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => () => void;
  /** Ends the process at once, for a second signal during a stop. */
  readonly exitNow: (code: number) => void;
  /** What client commands need beyond this; default: this process's own. */
  readonly client?: ClientPorts;
}

/** A terminal on which results are shown. */
export interface Screen {
  readonly columns: number;
  readonly hasColour: boolean;
  /** Unix ms. */
  readonly nowMs: number;
}

/** The part of the process that client commands need beside output. */
export interface ClientPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly homeFolder: string;
  /** true: a person can be asked, because standard input and standard error are a terminal. */
  readonly isInteractive: boolean;
  /** All of standard input: for what must be on no command line. */
  readonly readInput: () => Promise<string>;
  /** Asks on the terminal; one line without its end, '' when the input has ended. */
  readonly ask: (prompt: string) => Promise<string>;
  /** Opens a page in the person's browser; false when there is none to open. */
  readonly openBrowser: (url: string) => Promise<boolean>;
  /** Runs one command to its end with this environment and our own standard streams. */
  readonly runChild: (child: ChildCommand) => Promise<ChildEnd>;
}

export interface ChildCommand {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly onSignal: Surroundings['onSignal'];
}

export type ChildEnd =
  | { readonly exitCode: number }
  /** It could not be started; `missing`: there is no such command. */
  | { readonly problem: string; readonly missing: boolean };

/** Exit codes: success, a fault while running, invalid arguments or settings. */
export const EXIT_OK = 0;
export const EXIT_FAULT = 1;
export const EXIT_USAGE = 2;

/** The arguments that are ours: what follows `--` is another command's. */
export function beforeDashes(args: readonly string[]): readonly string[] {
  const place = args.indexOf('--');
  return place < 0 ? args : args.slice(0, place);
}
