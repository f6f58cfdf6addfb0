/**
 * The frame of `svc agent` and `svc collect`: programs beside the service that send readings. Both
 * have a folder with an enrolment and buffers, a secret from the environment or standard input
 * (never from the command line, which every process on the machine can read), one running instance
 * per folder, and a status file.
 */
import { existsSync, rmSync } from 'node:fs';
import { FolderLocked, lockFolder } from '../../sqlite/platform/lock-file.ts';
import { createLog, type Log } from '../platform/log.ts';
import {
  EnrolmentUnusable,
  enrolmentPath,
  prepareFolder,
  readEnrolment,
  type StoredEnrolment,
} from '../vms/agent/enrolment-file.ts';
import type { Action, ActionContext } from './client/action.ts';
import type { Option } from './client/arguments.ts';
import { Fault, UsageError } from './client/faults.ts';
import { EXIT_OK, EXIT_USAGE } from './command.ts';
import { installOptions, installUnit } from './install.ts';

export interface ReporterParts {
  readonly command: 'agent' | 'collect';
  readonly noun: 'agent' | 'collector';
  /** Environment variables of the folder and of the secret. */
  readonly folderVariable: string;
  readonly secretVariable: string;
  readonly secretNoun: string;
  /** Options of `run`, which `install` writes into the unit. */
  readonly runOptions: readonly Option[];
  /** Files and folders beside the enrolment that belong to it. */
  readonly pathsIn: (folder: string) => readonly string[];
}

interface Running {
  /** Rejects if it cannot continue. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
  /** Called at SIGHUP. */
  reload?(): void;
}

/** Two readings more than 90 s apart are a gap, so a longer interval would produce only gaps. */
const INTERVAL_SECONDS_MAX = 30;
export const intervalOption: Option = {
  name: 'interval',
  takes: 'DURATION',
  help: `Interval between readings, 1s to ${INTERVAL_SECONDS_MAX}s; default 30s`,
};

/** Number of intervals without a change of the status file after which a program has stopped. */
const SILENT_INTERVALS = 3;

export class Reporter {
  readonly #parts: ReporterParts;
  readonly #folder: string;
  readonly folderOption: Option;

  constructor(parts: ReporterParts) {
    const { command, folderVariable } = parts;
    this.#parts = parts;
    this.#folder = `/var/lib/svc-${command}`;
    const help = `Folder of the enrolment and the queued rows; default: ${folderVariable}, or ${this.#folder}`;
    this.folderOption = { name: 'state', takes: 'FOLDER', help };
  }

  /** The folder; under systemd the one given to the unit. */
  folderOf({ input, environment }: ActionContext): string {
    // Several folders are separated by colons; the unit has one.
    const given = environment.STATE_DIRECTORY?.split(':')[0];
    return input.text('state') || environment[this.#parts.folderVariable] || given || this.#folder;
  }

  /** The last line of the given text, without surrounding blanks; '' for an empty text. */
  async readSecret({ environment, ports }: ActionContext): Promise<string> {
    const { secretVariable, secretNoun } = this.#parts;
    const given = environment[secretVariable]?.trim();
    if (given) return given;
    const text = ports.isInteractive ? await ports.ask(`${secretNoun}: `) : await ports.readInput();
    return text.trim().split('\n').at(-1)?.trim() ?? '';
  }

  /** The stored enrolment, or why it cannot be used. */
  enrolmentIn(folder: string): { enrolment?: StoredEnrolment; problem?: string } {
    try {
      return { enrolment: readEnrolment(folder, undefined, this.#parts.command) };
    } catch (error) {
      if (!(error instanceof EnrolmentUnusable)) throw error;
      return { problem: error.message };
    }
  }

  installAction(notes: string): Action {
    const { noun, runOptions } = this.#parts;
    return {
      name: 'install',
      summary: `Install and start the systemd unit of the ${noun}`,
      options: [...installOptions, ...runOptions],
      notes,
      async run(context) {
        const { input } = context;
        intervalSeconds(context);
        const flags = runOptions.flatMap(({ name, takes }) => {
          if (takes === undefined) return input.isOn(name) ? [`--${name}`] : [];
          const value = input.text(name);
          return value === undefined ? [] : [`--${name}`, value];
        });
        return installUnit(context, noun, flags);
      },
    };
  }

  /** Runs until a stop signal, or until it fails. Resolves to the exit code. */
  async run(context: ActionContext, start: (log: Log) => Running): Promise<number> {
    const { surroundings, ports } = context;
    const lock = this.#lock(this.folderOf(context));
    try {
      const log = createLog({
        level: 'info',
        readable: surroundings.isTerminal,
        clock: ports.clock,
        write: surroundings.log,
      });
      const running = start(log);
      const { promise: signalled, resolve } = Promise.withResolvers<void>();
      const forget = surroundings.onSignal((signal) => {
        if (signal === 'SIGHUP') running.reload?.();
        else resolve();
      });
      try {
        await Promise.race([signalled, running.ended]);
      } finally {
        forget();
        await running.stop();
      }
      return EXIT_OK;
    } catch (error) {
      if (!(error instanceof EnrolmentUnusable)) throw error;
      surroundings.stderr(`svc ${this.#parts.command} run: ${error.message}\n`);
      return EXIT_USAGE;
    } finally {
      lock.release();
    }
  }

  #lock(folder: string): ReturnType<typeof lockFolder> {
    try {
      return lockFolder(folder);
    } catch (error) {
      if (!(error instanceof FolderLocked)) throw error;
      const who = this.#parts.noun === 'agent' ? 'An agent' : 'A collector';
      throw new UsageError(`${who} is already running in ${folder}`);
    }
  }

  /** @param last line for people: how to end the key elsewhere */
  unenrolAction(last: (enrolment: StoredEnrolment | undefined) => string): Action {
    const { command, noun, pathsIn } = this.#parts;
    return {
      name: 'unenrol',
      summary: 'Delete the key and the queued rows',
      options: [this.folderOption],
      run: async (context) => {
        const folder = this.folderOf(context);
        const wasEnrolled = existsSync(enrolmentPath(folder));
        const { enrolment } = this.enrolmentIn(folder);
        for (const path of [enrolmentPath(folder), ...pathsIn(folder)]) {
          rmSync(path, { recursive: true, force: true });
        }
        if (!wasEnrolled) context.report(`There was no enrolment in ${folder}`);
        else {
          const stop = `Stop the ${noun}: systemctl disable --now svc-${command}`;
          context.report(`The key was deleted from this machine. ${stop}`);
          context.report(last(enrolment));
        }
        return EXIT_OK;
      },
    };
  }
}

/** Throws `UsageError` outside of the permitted range. */
export function intervalSeconds({ input }: ActionContext): number {
  const seconds = input.seconds('interval') ?? INTERVAL_SECONDS_MAX;
  if (seconds >= 1 && seconds <= INTERVAL_SECONDS_MAX) return seconds;
  throw new UsageError(`--interval must be 1s to ${INTERVAL_SECONDS_MAX}s, not ${seconds}s`);
}

/** To be called before the secret is used. */
export function makeWritable(folder: string): void {
  try {
    prepareFolder(folder);
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Fault(`${folder} is not writable: ${cause}`, {
      hint: 'Run this as root, or choose another folder with --state',
    });
  }
}

/** Whether the program that wrote a status still runs. */
export function isFresh(
  { writtenMs, intervalMs }: { readonly writtenMs: number; readonly intervalMs: number },
  nowMs: number,
): boolean {
  return nowMs - writtenMs <= SILENT_INTERVALS * intervalMs;
}
