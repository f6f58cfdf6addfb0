/**
 * Processes that run test files, one after another (`batch.ts`). Their output goes to the report of
 * the running file. A file that takes too long is killed with everything that it has started, and
 * the files after it get another process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type EndOfFile, MarkReader } from './marks.ts';
import type { FileEnd, FileReport, Report } from './report.ts';
import type { NextTurn } from './turns.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Maximum duration of one file. */
const TIMEOUT_MS = 900_000;
/** Time to find the hanging test before it is killed. */
const LAST_WORDS_MS = 5_000;

/** The reason why a file needs its own process: a line of its header. */
const OWN_PROCESS = /^ \* Own process: \S/m;
/** The functions of test/support that start that service, or join it. */
const JOINS_SERVICE = /\b(?:join(?:Cli|Demo)World|joinService|sharedService)\(/;

type ProcessEnd = Pick<FileEnd, 'exitCode' | 'signal'>;

export class TestProcess {
  /** Processes that have not ended. */
  static readonly running = new Set<TestProcess>();
  readonly #child: ChildProcess;
  /** The process reads the next file's name here. */
  readonly #names: Writable;
  readonly #ended: Promise<ProcessEnd>;
  readonly #timeoutMs: number;
  #lines: FileReport | undefined;
  #endOfFile: ((end: EndOfFile) => void) | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#child = spawn(process.execPath, ['scripts/test/batch.ts'], {
      cwd: ROOT,
      env: {
        ...process.env,
        NODE_COMPILE_CACHE: join(ROOT, '.tap/compiled'),
        TAP_TIMEOUT: '600',
        TAP_SAVE_FIXTURE: '1',
      },
      stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
      // A group of its own, so that everything that it has started can be killed with it.
      detached: true,
    });
    TestProcess.running.add(this);
    const reader = new MarkReader({
      text: (text) => this.#lines?.write(text),
      end: (end) => this.#endOfFile?.(end),
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => reader.write(text));
    this.#names = this.#child.stdio[3] as Writable;
    // It may end before it has read a name; that end is reported.
    this.#names.on('error', () => {});
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (exitCode, signal) => {
        TestProcess.running.delete(this);
        reader.end();
        resolve({ exitCode, signal });
      });
    });
  }

  get isRunning(): boolean {
    return TestProcess.running.has(this);
  }

  /** Resolves when the file, or its process, has ended. */
  async run(file: string, lines: FileReport): Promise<void> {
    this.#lines = lines;
    const startedMs = performance.now();
    const deadline = this.#endAfter(this.#timeoutMs);
    const endOfFile = new Promise<EndOfFile>((resolve) => {
      this.#endOfFile = resolve;
    });
    this.#names.write(`${file}\n`);
    const end = await Promise.race([endOfFile, this.#ended]);
    const timedOut = deadline.stop();
    lines.end({ signal: null, ...end, timedOut, elapsedMs: performance.now() - startedMs });
  }

  /** No more files follow. Resolves when the process has ended. */
  end(): Promise<ProcessEnd> {
    this.#names.end();
    return this.#ended;
  }

  signal(signal: NodeJS.Signals): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
    } catch (error) {
      // It has already ended.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
    }
  }

  /** `stop` returns whether it was too late. */
  #endAfter(timeoutMs: number): { stop: () => boolean } {
    let timedOut = false;
    let killing: NodeJS.Timeout | undefined;
    const deadline = setTimeout(() => {
      timedOut = true;
      this.#child.kill('SIGALRM');
      killing = setTimeout(() => {
        this.signal('SIGKILL');
        // A process in another group may keep it open.
        this.#child.stdout?.destroy();
      }, LAST_WORDS_MS);
    }, timeoutMs);
    const stop = () => {
      clearTimeout(deadline);
      clearTimeout(killing);
      return timedOut;
    };
    return { stop };
  }
}

function needsOwnProcess(file: string): boolean {
  return OWN_PROCESS.test(readFileSync(join(ROOT, file), 'utf8'));
}

/** True if the file joins the service that the files of a process share. */
export function joinsService(file: string): boolean {
  return JOINS_SERVICE.test(readFileSync(join(ROOT, file), 'utf8'));
}

/** Runs one file after another, until no file is left. */
export async function runFiles(
  nextTurn: NextTurn,
  report: Report,
  { timeoutMs = TIMEOUT_MS } = {},
): Promise<void> {
  let shared: TestProcess | undefined;
  let last = '';
  for (let turn = await nextTurn(); turn !== undefined; turn = await nextTurn()) {
    const { file } = turn;
    if (needsOwnProcess(file)) {
      const own = new TestProcess(timeoutMs);
      await own.run(file, report.file(file));
      await endOf(own, file, report);
    } else {
      if (!shared?.isRunning) shared = new TestProcess(timeoutMs);
      await shared.run(file, report.file(file));
      last = file;
    }
    turn.end();
  }
  if (shared) await endOf(shared, last, report);
}

/** Reports a failure at the end of a process besides its files. */
async function endOf(process: TestProcess, last: string, report: Report): Promise<void> {
  if (!process.isRunning) return;
  const startedMs = performance.now();
  const end = await process.end();
  if (end.exitCode === 0) return;
  const elapsedMs = performance.now() - startedMs;
  const lines = report.file(`the end of the process that ran ${last}`);
  lines.end({ ...end, timedOut: false, elapsedMs });
}
