/**
 * A command of `svc` and its environment. A command receives environment, output and signals as an
 * argument and never accesses the process directly, so that a test can run it as a whole.
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
  /** Text of `svc help <name> <action>`; undefined if the action does not exist. */
  readonly helpOf?: (action: string) => string | undefined;
  /** Message for an unknown action; undefined if the action exists or no message is needed. */
  readonly misnamed?: (action: string) => string | undefined;
  /**
   * true: it continues when the reader of its standard output has exited, because its output is not
   * its result. Other commands end then.
   */
  readonly outlivesReader?: true;
  /** Runs the command; resolves to the exit code. */
  readonly run: (args: readonly string[], surroundings: Surroundings) => Promise<number>;
}

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Parts of the process that a command may use. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  /** Writes complete log lines; never waits for a slow reader. */
  readonly log: (line: string) => void;
  /** True if standard error is a terminal: logs are then text rather than JSON lines. */
  readonly isTerminal: boolean;
  /** True if standard output is a terminal; default: unknown. */
  readonly isStdoutTerminal?: boolean;
  /** Width of that terminal, columns; default 80. */
  readonly stdoutColumns?: number | undefined;
  /** Calls `listener` on each such signal; the returned function unregisters it. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => () => void;
  /**
   * Calls `listener` when the reader of standard output has exited, as in `svc ... | head`; later
   * output is discarded.
   */
  readonly onReaderGone?: (listener: () => void) => void;
  /** Ends the process at once: on a second signal during shutdown, or without a reader. */
  readonly exitNow: (code: number) => void;
  /** Additional ports of client commands; default: those of this process. */
  readonly client?: ClientPorts;
}

/** A terminal that shows results. */
export interface Screen {
  readonly columns: number;
  readonly hasColour: boolean;
  /** Unix ms. */
  readonly nowMs: number;
}

/** Parts of the process that client commands need besides output. */
export interface ClientPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly homeFolder: string;
  /** True if the user can be prompted, because standard input and standard error are terminals. */
  readonly isInteractive: boolean;
  /** Reads all of standard input, for values that must not be on a command line. */
  readonly readInput: () => Promise<string>;
  /** Prompts on the terminal; returns one line without its end, or '' at the end of input. */
  readonly ask: (prompt: string) => Promise<string>;
  /** Opens a page in the user's browser; false if there is none. */
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
  /** The command could not be started; `missing` if it does not exist. */
  | { readonly problem: string; readonly missing: boolean };

/** Exit codes: success, a fault while running, invalid arguments or settings. */
export const EXIT_OK = 0;
export const EXIT_FAULT = 1;
export const EXIT_USAGE = 2;

/** Our own arguments: those after `--` belong to another command. */
export function beforeDashes(args: readonly string[]): readonly string[] {
  const place = args.indexOf('--');
  return place < 0 ? args : args.slice(0, place);
}
